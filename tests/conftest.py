"""Shared by all tests."""

from hypothesis import settings

# Compilation and a busy machine make the first example slow: nothing here is judged by the clock.
settings.register_profile("wordtide", deadline=None, max_examples=60, derandomize=True)
settings.load_profile("wordtide")
