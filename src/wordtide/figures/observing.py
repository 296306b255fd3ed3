"""How long work tells of its progress."""

from collections.abc import Callable

#: Told after each step how many of how many are done; the last call has both alike.
Observer = Callable[[int, int], None]
