"""Files behind URLs (http, https, s3, gs, hdfs, ...): found and read through fsspec, in bounded memory.

Failures become one kind of error, which names the URL. fsspec takes credentials from the environment or from
its configuration files.
"""

import io
import posixpath
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final, NamedTuple

from wordtide.errors import InputError, SettingsError, WordtideError

_URL: Final = re.compile(r"(?:[a-z][a-z0-9+.\-]*::)*([a-z][a-z0-9+.\-]*)://", re.IGNORECASE)
_READ_BYTES: Final = 8 << 20
_SILENCE: Final = 120  # seconds without a byte after which a connection is abandoned
_PACKAGES: Final = {
    "s3": "s3fs",
    "s3a": "s3fs",
    "gs": "gcsfs",
    "gcs": "gcsfs",
    "abfs": "adlfs",
    "az": "adlfs",
    "sftp": "paramiko",
}
_TAGS: Final = (
    *("etag", "last-modified", "lastmodified", "last_modified", "mtime", "modified", "updated", "created"),
    *("generation", "versionid", "version_id", "md5hash", "content-md5", "digest"),
)


class RemoteFile(NamedTuple):
    """A file in a store; `version` changes with its content, if the store reports one."""

    url: str
    size: int | None
    version: str


def is_url(name: str) -> bool:
    """Whether a name is a URL."""
    return _URL.match(name) is not None


def without_query(url: str) -> str:
    """Remove the query and the fragment of a URL."""
    return re.split("[?#]", url, maxsplit=1)[0] if _is_http(url) else url


def folder_of_pattern(pattern: str) -> str:
    """The part of a pattern before its first wildcard."""
    while _has_wildcards(pattern):
        pattern = posixpath.dirname(pattern)
    return pattern


def find_remote_files(url: str) -> tuple[list[RemoteFile], str | None]:
    """Find the files that a URL refers to, sorted by name, and their folder (None for a single file)."""
    files, path = _store(url)
    with explained_remote_errors(url):
        if _has_wildcards(url):
            return _listed(files, files.glob(path, detail=True)), folder_of_pattern(url)
        if url.endswith("/") or (not _is_http(url) and files.isdir(path)):
            return _listed(files, files.find(path, detail=True)), url.rstrip("/")
        return [_described(url, files.info(path))], None


@contextmanager
def open_url(url: str, start: int, stop: int | None) -> Iterator[io.RawIOBase]:
    """Open the bytes of a remote file from `start` to `stop`; reading raises an error if they end early."""
    files, path = _store(url)
    with explained_remote_errors(url):
        size = files.info(path).get("size")
        streamed = stop is None and _is_http(url)  # one request, which also works without byte ranges
        file = files.open(path, "rb", block_size=0 if streamed else _READ_BYTES)
    with file:
        if start:
            with explained_remote_errors(url):
                file.seek(start)
        expected = stop - start if stop is not None else size
        yield _RemoteBytes(file, url, expected)


@contextmanager
def open_seekable(url: str) -> Iterator[Any]:
    """Open a remote file for random access, which Parquet needs."""
    files, path = _store(url)
    with explained_remote_errors(url), files.open(path, "rb", block_size=_READ_BYTES) as file:
        if not file.seekable() or not _answers_ranges(file):
            raise InputError(
                f"{url} cannot be read as Parquet: the server does not support byte ranges.",
                "Fetch the file, and count your copy.",
            )
        yield file


def takes_ranges(url: str) -> bool:
    """Whether the server supports random access."""
    files, path = _store(url)
    with explained_remote_errors(url), files.open(path, "rb", block_size=_READ_BYTES) as file:
        return bool(file.seekable()) and _answers_ranges(file)


@contextmanager
def explained_remote_errors(url: str) -> Iterator[None]:
    """Turn the errors of storage libraries into an InputError with the URL."""
    try:
        yield
    except WordtideError:
        raise
    except FileNotFoundError as error:
        cause = f" ({error.__cause__})" if error.__cause__ else ""
        raise InputError(
            f"{url} does not exist, or cannot be reached{cause}.", "Check the URL and the network."
        ) from error
    except PermissionError as error:
        raise InputError(
            f"{url} cannot be read: {error}.", "Check your credentials for this store."
        ) from error
    except Exception as error:
        cause = " ".join(str(error).split()) or type(error).__name__
        if type(error).__name__ in ("ClientPayloadError", "ContentLengthError", "IncompleteRead"):
            raise InputError(
                f"{url} is cut short: the connection ended too early ({cause}).", "Try again."
            ) from error
        raise InputError(
            f"{url} cannot be read: {cause}.",
            "Check the URL, the network and your permissions, and try again.",
        ) from error


class _RemoteBytes(io.RawIOBase):
    """A remote file, or the rest of one, that checks its length."""

    def __init__(self, file: Any, url: str, expected: int | None) -> None:
        self._file = file
        self._url = url
        self._expected = expected
        self._read = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        """Read the next bytes."""
        wanted = len(buffer) if self._expected is None else min(len(buffer), self._expected - self._read)
        with explained_remote_errors(self._url):
            piece = self._file.read(wanted) if wanted > 0 else b""
        if wanted > 0 and not piece and self._expected is not None:
            raise InputError(
                f"{self._url} is cut short: {self._read:,} of {self._expected:,} bytes arrived.",
                "Try again, or download it.",
            )
        buffer[: len(piece)] = piece
        self._read += len(piece)
        return len(piece)


def _store(url: str) -> tuple[Any, str]:
    """The file system of a URL, and the path in it."""
    try:
        import fsspec  # only URLs need it
    except ImportError:
        raise SettingsError(
            f"Reading {url} needs fsspec.", "Install it: pip install 'wordtide[cluster]'"
        ) from None
    match = _URL.match(url)
    protocol = match[1].lower() if match else ""
    try:
        files, path = fsspec.core.url_to_fs(url, **_http_timeouts(url))
    except ImportError as error:
        package = "'wordtide[cluster]'" if _is_http(url) else _PACKAGES.get(protocol, "")
        remedy = f"Install what it needs: pip install {package}" if package else "Install what it needs."
        raise SettingsError(f"{url} cannot be read: {str(error).rstrip('.')}.", remedy) from error
    except ValueError as error:
        known = "http://, https://, s3://, gs://, hdfs:// and others of fsspec"
        raise SettingsError(
            f"{url} cannot be read: {str(error).rstrip('.')}.", f"Supported: {known}."
        ) from error
    except Exception as error:  # a store's library that cannot start: no Java, no credentials
        cause = " ".join(str(error).split())
        raise InputError(f"{url} cannot be read: {cause}.", "Check what this kind of store needs.") from error
    return files, str(path)


def _http_timeouts(url: str) -> dict[str, Any]:
    """HTTP options: a timeout for idle connections, not for whole files, which may be long."""
    if not _URL.match(url) or not _is_http(url):
        return {}
    import aiohttp  # as fsspec would

    return {
        "client_kwargs": {
            "timeout": aiohttp.ClientTimeout(total=None, sock_connect=_SILENCE, sock_read=_SILENCE)
        }
    }


def _answers_ranges(file: Any) -> bool:
    try:
        file.seek(1)
        file.read(1)
        file.seek(0)
    except ValueError:  # what fsspec says of a server that sends the whole file instead
        return False
    return True


def _listed(files: Any, found: Any) -> list[RemoteFile]:
    entries = [(name, info) for name, info in found.items() if info.get("type") != "directory"]
    return [_described(files.unstrip_protocol(name), info) for name, info in sorted(entries)]


def _described(url: str, info: dict[str, Any]) -> RemoteFile:
    tags = {str(name).lower(): str(value) for name, value in info.items() if value is not None}
    size = info.get("size")
    return RemoteFile(
        url, int(size) if size is not None else None, " ".join(tags[name] for name in _TAGS if name in tags)
    )


def _is_http(url: str) -> bool:
    return url.lower().startswith(("http://", "https://"))


def _has_wildcards(url: str) -> bool:
    return any(mark in url for mark in ("*" if _is_http(url) else "*?["))
