"""Folders that the tests of several commands begin with."""

import pytest
from cli.typed_lines import make_world
from evaluation.corpora import tiny_counts


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """A folder with texts, counts and a model, for typed lines."""
    return make_world(tmp_path_factory.mktemp("world"))


@pytest.fixture(scope="module")
def counts(tmp_path_factory):
    """A counts folder of six slices."""
    folder = tmp_path_factory.mktemp("counted") / "counts"
    tiny_counts().save(folder)
    return folder


@pytest.fixture
def place(tmp_path):
    """An empty folder for output."""
    folder = tmp_path / "place"
    folder.mkdir()
    return folder
