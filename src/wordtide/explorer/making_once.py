"""Things that take long to make: made once, however many ask for them at a time, and held within a number of bytes."""

import threading
from collections import OrderedDict
from collections.abc import Callable

_MOST_BYTES = 256_000_000


class MakingOnce:
    """Resources by name: each is made once, however many ask for it at a time; those not asked for longest go first."""

    def __init__(self, make: Callable[[str], bytes], most_bytes: int = _MOST_BYTES) -> None:
        self._make, self._most = make, most_bytes
        self._lock = threading.Lock()
        self._locks: dict[str, threading.Lock] = {}
        self._held: OrderedDict[str, bytes] = OrderedDict()

    def get(self, name: str) -> bytes:
        """The resource, made now or before."""
        with self._lock:
            lock = self._locks.setdefault(name, threading.Lock())
        with lock:
            with self._lock:
                if name in self._held:
                    self._held.move_to_end(name)
                    return self._held[name]
            made = self._make(name)
            with self._lock:
                self._held[name] = made
                while len(self._held) > 1 and sum(map(len, self._held.values())) > self._most:
                    self._held.popitem(last=False)
            return made
