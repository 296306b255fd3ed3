"""One forking process and one small world for all tests of faults."""

import pytest
from faults.forking import Forker
from faults.killing import Killer


@pytest.fixture(scope="session")
def killer(tmp_path_factory):
    with Forker() as forker:
        yield Killer(tmp_path_factory.mktemp("faults"), forker)
