"""A local server for the page over a memory-mapped model: everything at full size, made when it is asked for.

It reads and never writes. Only names of resources are understood, no paths. It answers to its own address alone: a request
with another Host, or from a page of another origin, is refused, so that no site on the web can read the model through a
visitor's browser. Time, size and number of requests are bounded.
"""

import contextlib
import ipaddress
import socket
import threading
from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

from wordtide.errors import SettingsError
from wordtide.explorer.browser_access import RemoteResources
from wordtide.explorer.making_once import MakingOnce
from wordtide.explorer.page import policy, remote_page

LOOPBACK = "127.0.0.1"
_PATIENCE = 10.0  # seconds for a request to arrive, or for an answer to be taken
_MOST_CONNECTIONS = 32
_EVERYWHERE = ("0.0.0.0", "::")
_PAGES = ("/", "/index.html")
_DATA = "/data/"


class ExplorerServer(ThreadingHTTPServer):
    """Serves the page and its resources at an address. Use it as a context, or call `server_close` at the end."""

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
    ) -> None:
        self.host = host.strip("[]").lower()
        self.address_family = socket.AF_INET6 if ":" in self.host else socket.AF_INET
        self._free = threading.BoundedSemaphore(_MOST_CONNECTIONS)
        self.page, self.policy = remote_page(page), f"{policy(page, remote=True)}; frame-ancestors 'none'"
        self.resources, self.made = resources, MakingOnce(resources.resource)
        self.complain = complain or (lambda problem: None)
        try:
            super().__init__((self.host, port), _Handler)
        except (OSError, OverflowError, UnicodeError) as error:
            reason = getattr(error, "strerror", None) or error
            raise SettingsError(
                f"The server cannot use {host} with port {port}: {reason}.",
                "Choose another --port, or none for any free one.",
            ) from None
        self.address = f"http://{f'[{self.host}]' if ':' in self.host else self.host}:{self.port}/"

    def is_own(self, host: str) -> bool:
        """Is this the Host of a request that is meant for this server?

        A server that listens at all addresses cannot list its names. There any plain address will do, which no foreign page
        can have for its own; a name must be this machine's.
        """
        try:
            parts = urlsplit(f"//{host}")
            name, port = parts.hostname, parts.port or 80
        except ValueError:
            return False
        if name is None or port != self.port or parts.netloc != host or parts.username is not None:
            return False
        if name == self.host:
            return True
        if self.host in _EVERYWHERE:
            own = socket.gethostname().lower()
            return _is_address(name) or name in ("localhost", own, f"{own}.local")
        return name in ("localhost", LOOPBACK, "::1") and self.is_private

    @property
    def is_private(self) -> bool:
        """Can nobody but this machine reach it?"""
        return self.host == "localhost" or _is_loopback(self.host)

    @property
    def port(self) -> int:
        """The port it listens to."""
        return int(self.server_address[1])

    def server_bind(self) -> None:
        """Bind without asking the name service who we are, which may take seconds."""
        socket.socket.setsockopt(self.socket, socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind(self.server_address)
        self.server_address = self.socket.getsockname()
        self.server_name, self.server_port = str(self.server_address[0]), int(self.server_address[1])

    def process_request(self, request: Any, client_address: Any) -> None:
        """Answer in a thread of its own, if not too many are at work: then the connection is closed at once."""
        if not self._free.acquire(blocking=False):
            self.shutdown_request(request)
            return
        try:
            super().process_request(request, client_address)
        except BaseException:
            self._free.release()
            raise

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Answer, then make room for another."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._free.release()

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing of connections that break: the next request is a new one."""


class _Handler(BaseHTTPRequestHandler):
    server: ExplorerServer
    protocol_version = "HTTP/1.1"
    server_version, sys_version = "wordtide", ""
    timeout = _PATIENCE
    disable_nagle_algorithm = (
        True  # headers and content are sent apart, and the second would wait for word of the first
    )
    error_message_format = "%(code)d %(message)s\n"
    error_content_type = "text/plain; charset=utf-8"

    def handle_one_request(self) -> None:
        """A request that does not arrive in time, be it byte by byte, is hung up on."""
        self._watch = threading.Timer(_PATIENCE, self._hang_up)
        self._watch.daemon = True
        self._watch.start()
        try:
            super().handle_one_request()
        finally:
            self._watch.cancel()

    def _hang_up(self) -> None:
        with contextlib.suppress(OSError):
            self.connection.shutdown(socket.SHUT_RDWR)

    def do_GET(self) -> None:
        """Answer with the page or a resource."""
        self._answer(with_body=True)

    def do_HEAD(self) -> None:
        """Answer as to GET, without the content."""
        self._answer(with_body=False)

    def _answer(self, with_body: bool) -> None:
        self._watch.cancel()
        self.close_connection = (
            self.close_connection or "content-length" in self.headers or "transfer-encoding" in self.headers
        )
        refused = self._refusal()
        if refused is not None:
            self._send(
                refused,
                "text/plain; charset=utf-8",
                f"{refused.value} {refused.phrase}\n".encode(),
                with_body,
            )
            return
        path = self.path.partition("?")[0]
        if path in _PAGES:
            self._send(HTTPStatus.OK, "text/html; charset=utf-8", self.server.page, with_body)
            return
        name = path.removeprefix(_DATA)
        if not path.startswith(_DATA) or not self.server.resources.has(name):
            self._send(HTTPStatus.NOT_FOUND, "text/plain; charset=utf-8", b"404 Not Found\n", with_body)
            return
        try:
            content = self.server.made.get(name)
        except (
            Exception
        ) as error:  # whatever a damaged model gives: the server lives on, and says so where it was started
            self.server.complain(f"{name} could not be made: {type(error).__name__}: {error}")
            message = b"500 This part of the model cannot be read.\n"
            self._send(HTTPStatus.INTERNAL_SERVER_ERROR, "text/plain; charset=utf-8", message, with_body)
            return
        self._send(HTTPStatus.OK, "application/octet-stream", content, with_body)

    def _refusal(self) -> HTTPStatus | None:
        """Why a request is not answered, if it is not."""
        hosts, origins = self.headers.get_all("host") or [], self.headers.get_all("origin") or []
        own = hosts[0].strip().lower() if len(hosts) == 1 else ""
        if not self.server.is_own(own):
            return HTTPStatus.MISDIRECTED_REQUEST
        if any(origin.strip().lower() != f"http://{own}" for origin in origins):
            return HTTPStatus.FORBIDDEN
        return None

    def _send(self, status: HTTPStatus, kind: str, content: bytes, with_body: bool) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if with_body:
            self.wfile.write(content)

    def end_headers(self) -> None:
        """The headers that every answer has."""
        self.send_header("Content-Security-Policy", self.server.policy)
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("Referrer-Policy", "no-referrer")
        self.send_header("Cross-Origin-Resource-Policy", "same-origin")
        self.send_header("Cache-Control", "no-store")
        super().end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """Requests are not worth a line."""


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _is_loopback(name: str) -> bool:
    return _is_address(name) and ipaddress.ip_address(name).is_loopback
