"""What the operating system offers: processors, memory, and files that are safe to read whole.

Calls that only some systems have are made here, each with a fallback.
"""

import ctypes
import errno
import os
import signal
import stat
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from threadpoolctl import threadpool_limits

try:
    import resource
except ModuleNotFoundError:  # Windows
    resource = None  # type: ignore[assignment]

from wordtide.errors import InputError

#: How to open files by descriptor. On Windows line ends would be translated otherwise.
READING = os.O_RDONLY | getattr(os, "O_BINARY", 0)
APPENDING = os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0)


def available_processors() -> int:
    """The number of processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class _BlasLimit:
    """The limit on the threads of BLAS, which is one for the whole process."""

    def __init__(self) -> None:
        self._lock, self._blocks, self._limit = threading.Lock(), 0, ExitStack()

    @contextmanager
    def __call__(self) -> Iterator[None]:
        """Restrict BLAS to one thread within the block: it rounds differently on several.

        Blocks of several threads may overlap: the limit is lifted after the last one.
        """
        with self._lock:
            if self._blocks == 0:
                self._limit.enter_context(threadpool_limits(1, user_api="blas"))
            self._blocks += 1
        try:
            yield
        finally:
            with self._lock:
                self._blocks -= 1
                if self._blocks == 0:
                    self._limit.close()


one_blas_thread = _BlasLimit()


def data_limit() -> int | None:
    """The most bytes of data that this process may have (ulimit -d); None without a limit."""
    if resource is None:
        return None
    limit = resource.getrlimit(resource.RLIMIT_DATA)[0]
    return None if limit == resource.RLIM_INFINITY else int(limit)


def data_bytes() -> int:
    """The bytes of data that count towards the limit already; 0 if the system does not say."""
    return sum(_kilobytes("/proc/self/status", "VmData:")) << 10


def free_memory() -> int | None:
    """Bytes of memory that are free; those of the machine if only these are known, None if nothing is."""
    for available in _kilobytes("/proc/meminfo", "MemAvailable:"):
        return available << 10
    if hasattr(os, "sysconf"):
        try:
            return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        except (ValueError, OSError):
            return None
    return _free_on_windows()


def return_freed_memory() -> None:
    """Return memory that Python has freed to the system, where the C library keeps it (glibc)."""
    trim = None if sys.platform != "linux" else getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)


def read_at(descriptor: int, size: int, offset: int) -> bytes:
    """Read bytes of an open file from an offset. Not thread-safe on Windows."""
    if hasattr(os, "pread"):
        return os.pread(descriptor, size, offset)
    os.lseek(descriptor, offset, os.SEEK_SET)
    return os.read(descriptor, size)


@contextmanager
def interrupts_deferred() -> Iterator[None]:
    """Hold back Ctrl-C and termination requests until the block is done."""
    wanted = (signal.SIGINT, signal.SIGTERM)
    if hasattr(signal, "pthread_sigmask"):
        before = signal.pthread_sigmask(signal.SIG_BLOCK, wanted)
        try:
            yield
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
    elif threading.current_thread() is not threading.main_thread():
        yield  # other threads are not interrupted
    else:
        held: list[int] = []
        handlers = {one: signal.signal(one, lambda number, frame: held.append(number)) for one in wanted}
        try:
            yield
        finally:
            for one, handler in handlers.items():
                signal.signal(one, handler)
            for number in held:
                signal.raise_signal(number)


def read_text_file(path: str | os.PathLike[str], largest: int, remedy: str) -> str:
    """Read a text file (UTF-8) that a user names. Devices and pipes, which may never end, are refused.

    A file that cannot be read, or has more than `largest` bytes, is an InputError with the remedy.
    """
    try:
        facts = Path(path).stat()
        if not stat.S_ISREG(facts.st_mode):
            kind = "a folder" if stat.S_ISDIR(facts.st_mode) else "not a regular file"
            raise InputError(f"{path} is {kind}.", remedy)
        if facts.st_size > largest:
            raise InputError(f"{path} is too large: {facts.st_size:,} bytes, at most {largest:,}.", remedy)
        with open(path, "rb") as file:
            return file.read(largest).decode("utf-8-sig")
    except FileNotFoundError:
        raise InputError(f"{path} does not exist.", remedy) from None
    except UnicodeDecodeError as error:
        problem = f"{path} cannot be read: it is not a text file in UTF-8 ({error})."
        raise InputError(problem, remedy) from error
    except (OSError, ValueError) as error:
        raise InputError(
            f"{path} cannot be read: {getattr(error, 'strerror', None) or error}.", remedy
        ) from error


def _kilobytes(path: str, label: str) -> list[int]:
    """The numbers after a label in a file of Linux; none on other systems."""
    try:
        with open(path, encoding="ascii") as lines:
            return [int(line.split()[1]) for line in lines if line.startswith(label)]
    except OSError:
        return []


class _MemoryStatus(ctypes.Structure):
    """What Windows reports about its memory (MEMORYSTATUSEX)."""

    _fields_ = (
        ("length", ctypes.c_ulong),
        ("load", ctypes.c_ulong),
        ("physical", ctypes.c_ulonglong),
        ("free", ctypes.c_ulonglong),
        ("others", ctypes.c_ulonglong * 5),
    )


def _free_on_windows() -> int | None:
    libraries = getattr(ctypes, "windll", None)
    status = _MemoryStatus(length=ctypes.sizeof(_MemoryStatus))
    if libraries is None or not libraries.kernel32.GlobalMemoryStatusEx(ctypes.byref(status)):
        return None
    return int(status.free)


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
