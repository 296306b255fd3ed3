"""Two folders change names in one step of the system, where it has such a step: so a name never leads nowhere, not even for
an instant, and a process that is killed leaves the old folder or the new one.
"""

import ctypes
import errno
import os
import sys
from pathlib import Path

_HERE = -100  # AT_FDCWD: names are relative to the current folder
_EXCHANGE = 2  # RENAME_EXCHANGE
#: Not known to the system, not to the file system, or forbidden by a sandbox that does not know it.
_NOT_POSSIBLE = (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EPERM)


def exchange(first: Path, second: Path) -> bool:
    """Let each of two names lead to what the other led to, at once. False: this system or file system has no such step."""
    sys.audit("os.rename", str(first), str(second), -1, -1)
    rename = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if rename is None:
        return False
    if rename(_HERE, os.fsencode(first), _HERE, os.fsencode(second), _EXCHANGE) == 0:
        return True
    number = ctypes.get_errno()
    if number in _NOT_POSSIBLE:
        return False
    raise OSError(number, os.strerror(number), str(first), None, str(second))
