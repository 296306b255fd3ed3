"""Shared by all tests."""

import shutil
import signal

import pytest
from hypothesis import settings

# Compilation and a busy machine make the first example slow: nothing here is judged by the clock.
settings.register_profile("wordtide", deadline=None, max_examples=60, derandomize=True)
settings.load_profile("wordtide")

# A shell starts background jobs with Ctrl-C ignored, and the commands that tests start would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def here(world, tmp_path, monkeypatch):
    """A copy of the folder that the test's file calls `world`, as the current folder."""
    copy = tmp_path / "world"
    shutil.copytree(world, copy)
    monkeypatch.chdir(copy)
    return copy
