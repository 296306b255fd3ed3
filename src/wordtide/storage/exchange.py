"""Two names that swap what they lead to, in one step of the system."""

import ctypes
import errno
import os
import sys
from pathlib import Path

_HERE = -100  # AT_FDCWD: names are relative to the current folder
_EXCHANGE = 2  # RENAME_EXCHANGE
#: Unknown to the system or the file system, or forbidden by a sandbox that does not know it.
_NOT_POSSIBLE = (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EPERM)


def exchange(first: Path, second: Path) -> bool:
    """Swap what two names lead to. Returns False if the system or the file system cannot."""
    sys.audit("os.rename", str(first), str(second), -1, -1)
    try:
        rename = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    except (OSError, TypeError):  # Windows has no library of this kind
        return False
    if rename is None:
        return False
    if rename(_HERE, os.fsencode(first), _HERE, os.fsencode(second), _EXCHANGE) == 0:
        return True
    number = ctypes.get_errno()
    if number in _NOT_POSSIBLE:
        return False
    raise OSError(number, os.strerror(number), str(first), None, str(second))
