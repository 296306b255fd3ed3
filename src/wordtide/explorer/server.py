"""A local server for the page over a memory-mapped model: everything at full size, made on request.

The server only reads. It accepts names of resources, never paths. It rejects requests with another Host or
from a page of another origin, so no website can read the model through a visitor's browser. Time, size and
number of requests are bounded.
"""

import contextlib
import ipaddress
import socket
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

from wordtide.errors import SettingsError
from wordtide.explorer.resources import RemoteResources
from wordtide.explorer.single_file import policy, remote_page

LOOPBACK = "127.0.0.1"
_PATIENCE = 10.0  # seconds for a request to arrive, or for a client to read the answer
_MOST_CONNECTIONS = 32
_SILENCE = 1.0  # seconds after which a client that does not read its answer gives way to others
_ELSEWHERE = ("192.0.2.1", "2001:db8::1")  # addresses reserved for documentation
#: Pages of this machine, on any port, and the windows of VS Code.
_OWN_FRAMES = "http://localhost:* http://127.0.0.1:* https://localhost:* vscode-webview:"
_MOST_BYTES = 256_000_000  # of resources in memory
_EVERYWHERE = ("0.0.0.0", "::")
_PAGES = ("/", "/index.html")
_DATA = "/data/"


class ResourceCache:
    """Resources by name, each made once even if several threads want it, within a number of bytes.

    The least recently used resources are dropped first.
    """

    def __init__(self, make: Callable[[str], bytes], most_bytes: int = _MOST_BYTES) -> None:
        self._make, self._most = make, most_bytes
        self._lock = threading.Lock()
        self._locks: dict[str, threading.Lock] = {}
        self._held: OrderedDict[str, bytes] = OrderedDict()

    def get(self, name: str) -> bytes:
        """The resource, from memory if it is there."""
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


class ExplorerServer(ThreadingHTTPServer):
    """Serves the page and its resources. Use it as a context manager, or call `server_close` at the end."""

    daemon_threads = True
    block_on_close = False
    request_queue_size = 64

    def __init__(
        self,
        page: str,
        resources: RemoteResources,
        host: str = LOOPBACK,
        port: int = 0,
        complain: Callable[[str], None] | None = None,
        framed: bool = False,
    ) -> None:
        self.host = host.strip("[]").lower()
        self.address_family = socket.AF_INET6 if ":" in self.host else socket.AF_INET
        self._free = threading.BoundedSemaphore(_MOST_CONNECTIONS)
        self._idle: dict[Any, float] = {}  # connections that wait for a client, and since when they may go
        self._idle_lock = threading.Lock()
        frames = _OWN_FRAMES if framed else "'none'"  # which pages may show this one inside
        self.page, self.policy = remote_page(page), f"{policy(page, remote=True)}; frame-ancestors {frames}"
        self.resources, self.cache = resources, ResourceCache(resources.resource)
        self.complain = complain or (lambda problem: None)
        try:
            super().__init__((self.host, port), _Handler)
        except (OSError, OverflowError, UnicodeError) as error:
            reason = getattr(error, "strerror", None) or error
            raise SettingsError(
                f"The server cannot use {host} with port {port}: {reason}.",
                "Choose another --port, or omit it to use any free one.",
            ) from None
        shown = _own_address(self.address_family) if self.host in _EVERYWHERE else self.host
        self.address = f"http://{f'[{shown}]' if ':' in shown else shown}:{self.port}/"

    def is_own(self, host: str) -> bool:
        """Whether a request with this Host is meant for this server.

        A server that listens at all addresses cannot list its names. It accepts any plain IP address, which
        no foreign page can have as its origin; names must be this machine's.
        """
        try:
            parts = urlsplit(f"//{host}")
            name, port = parts.hostname, parts.port or 80
        except ValueError:
            return False
        if name is None or parts.netloc != host or parts.username is not None:
            return False
        everywhere = self.host in _EVERYWHERE
        if name == "localhost" or _is_loopback(name):  # through a tunnel (ssh -L) the port is another one
            return self.is_private or everywhere
        if everywhere and _is_address(name):
            return True
        own = socket.gethostname().lower()
        names = (own, f"{own}.local") if everywhere else (self.host,)
        return port == self.port and name in names

    @property
    def is_private(self) -> bool:
        """Whether only this machine can reach the server."""
        return self.host == "localhost" or _is_loopback(self.host)

    @property
    def port(self) -> int:
        """The port that the server listens on."""
        return int(self.server_address[1])

    def server_bind(self) -> None:
        """Bind without a name lookup, which may take seconds."""
        socket.socket.setsockopt(self.socket, socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind(self.server_address)
        self.server_address = self.socket.getsockname()
        self.server_name, self.server_port = str(self.server_address[0]), int(self.server_address[1])

    def process_request(self, request: Any, client_address: Any) -> None:
        """Answer in a new thread. If too many connections are open, close one whose client is silent."""
        if not self._free.acquire(blocking=False) and not (
            self._hang_up_on_idle() and self._free.acquire(timeout=_SILENCE)
        ):
            self.shutdown_request(request)
            return
        self.waits_for_client(request)
        try:
            super().process_request(request, client_address)
        except BaseException:
            self._free.release()
            raise

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Answer, then free the slot for another connection."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self.works_for_client(request)
            self._free.release()

    def waits_for_client(self, connection: Any, patience: float = 0.0) -> None:
        """Note that a connection waits for its client; after `patience` seconds another may take its slot."""
        with self._idle_lock:
            self._idle.pop(connection, None)
            self._idle[connection] = time.monotonic() + patience

    def works_for_client(self, connection: Any) -> None:
        """Note that a connection no longer waits for its client."""
        with self._idle_lock:
            self._idle.pop(connection, None)

    def _hang_up_on_idle(self) -> bool:
        """Close the connection that has waited longest for its client, if there is one."""
        now = time.monotonic()
        with self._idle_lock:
            silent = next((one for one, since in self._idle.items() if since <= now), None)
            if silent is None:
                return False
            del self._idle[silent]
        _hang_up(silent)
        return True

    def handle_error(self, request: object, client_address: object) -> None:
        """Ignore broken connections."""


class _Handler(BaseHTTPRequestHandler):
    server: ExplorerServer
    protocol_version = "HTTP/1.1"
    server_version, sys_version = "wordtide", ""
    timeout = _PATIENCE
    disable_nagle_algorithm = True  # content must not wait until the headers are acknowledged
    error_message_format = "%(code)d %(message)s\n"
    error_content_type = "text/plain; charset=utf-8"

    def handle_one_request(self) -> None:
        """Close the connection if the request does not arrive in time, even if it arrives byte by byte."""
        self._watch = threading.Timer(_PATIENCE, _hang_up, [self.connection])
        self.server.waits_for_client(self.connection)
        self._watch.daemon = True
        self._watch.start()
        try:
            super().handle_one_request()
        finally:
            self._watch.cancel()

    def do_GET(self) -> None:
        """Answer with the page or a resource."""
        self._answer(with_body=True)

    def do_HEAD(self) -> None:
        """Answer as to GET, without the content."""
        self._answer(with_body=False)

    def _answer(self, with_body: bool) -> None:
        self._watch.cancel()
        self.server.works_for_client(self.connection)
        self.close_connection = (
            self.close_connection or "content-length" in self.headers or "transfer-encoding" in self.headers
        )
        refused, path = self._refusal(), self.path.partition("?")[0]
        name = path.removeprefix(_DATA)
        status, kind, content = HTTPStatus.OK, "application/octet-stream", b""
        if refused is not None:
            status = refused
        elif path in _PAGES:
            kind, content = "text/html; charset=utf-8", self.server.page
        elif not path.startswith(_DATA) or not self.server.resources.has(name):
            status = HTTPStatus.NOT_FOUND
        else:
            try:
                content = self.server.cache.get(name)
            except Exception as error:  # a damaged model can raise anything; the server continues
                self.server.complain(f"{name} could not be made: {type(error).__name__}: {error}")
                status = HTTPStatus.INTERNAL_SERVER_ERROR
        if status is not HTTPStatus.OK:
            broken = status is HTTPStatus.INTERNAL_SERVER_ERROR
            problem = "This part of the model cannot be read." if broken else status.phrase
            kind, content = "text/plain; charset=utf-8", f"{status.value} {problem}\n".encode()
        self._send(status, kind, content, with_body)

    def _refusal(self) -> HTTPStatus | None:
        """The reason for rejecting a request, if there is one."""
        hosts, origins = self.headers.get_all("host") or [], self.headers.get_all("origin") or []
        own = hosts[0].strip().lower() if len(hosts) == 1 else ""
        if not self.server.is_own(own):
            return HTTPStatus.MISDIRECTED_REQUEST
        if any(origin.strip().lower() != f"http://{own}" for origin in origins):
            return HTTPStatus.FORBIDDEN
        return None

    def _send(self, status: HTTPStatus, kind: str, content: bytes, with_body: bool) -> None:
        self.server.waits_for_client(self.connection, _SILENCE)
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if with_body:
            self.wfile.write(content)

    def end_headers(self) -> None:
        """Add the headers common to all answers."""
        self.send_header("Content-Security-Policy", self.server.policy)
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("Referrer-Policy", "no-referrer")
        self.send_header("Cross-Origin-Resource-Policy", "same-origin")
        self.send_header("Cache-Control", "no-store")
        super().end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """Do not log requests."""


def _hang_up(connection: socket.socket) -> None:
    with contextlib.suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)


def _own_address(family: int) -> str:
    """The address under which other machines are likely to reach this one."""
    elsewhere = _ELSEWHERE[family == socket.AF_INET6]
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.connect((elsewhere, 9))  # chooses a network interface, and sends nothing
            return str(probe.getsockname()[0])
    except OSError:  # no network
        return "::1" if family == socket.AF_INET6 else LOOPBACK


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _is_loopback(name: str) -> bool:
    return _is_address(name) and ipaddress.ip_address(name).is_loopback
