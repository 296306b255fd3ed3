"""Requests to the server of `wordtide explore`: it answers or closes the connection, and goes on."""

import contextlib
import socket
import sys
import threading

from targets.modelling import small_model
from wordtide.explorer.page_data import Labels, PageData
from wordtide.explorer.page_views import select_all
from wordtide.explorer.resources import RemoteResources
from wordtide.explorer.server import ExplorerServer

_PAGE = (
    "<!doctype html><html><head><!--wordtide:policy--><style>p { margin: 0 }</style></head>"
    "<body><!--wordtide:data--><script>1;</script></body></html>\n"
)
_HOST = b" HTTP/1.1\r\nHost: localhost:PORT\r\n\r\n"
SEEDS = [
    b"GET /" + _HOST,
    b"GET /data/header.bin" + _HOST + b"HEAD /data/words/0000.bin" + _HOST,
    b"GET /data/../../etc/passwd HTTP/1.0\r\nHost: evil\r\nOrigin: null\r\n\r\n",
    b"POST /data/slices/0001.bin HTTP/1.1\r\nHost: [::1]:PORT\r\nContent-Length: 99999999999\r\n\r\nx",
    b"GET /data/stories/0000.bin?x HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\nTransfer-Encoding: chunked\r\n\r\nffffffff\r\n",
    b"GET\x00 \xff\r\n" + b"A: b\r\n" * 200,
]


class _Strict(ExplorerServer):
    """Keeps what its threads raise, but for connections that break."""

    problems: list[BaseException]

    def handle_error(self, request: object, client_address: object) -> None:
        """Keep it for the thread that asked."""
        error = sys.exc_info()[1]
        if error is not None and not isinstance(error, OSError):
            self.problems.append(error)

    def complained(self, problem: str) -> None:
        """What the server says of a resource that could not be made."""
        self.problems.append(AssertionError(problem))


def _server() -> _Strict:
    model = small_model("smoother")
    server = _Strict(
        _PAGE, RemoteResources(PageData(model, select_all(model), Labels("A title")), words_per_chunk=2)
    )
    server.problems, server.complain = [], server.complained
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    return server


_SERVER = _server()


def try_input(data: bytes) -> None:
    """Send the bytes, with the server's port in place of PORT, and take what comes until it hangs up."""
    with (
        contextlib.suppress(OSError),
        socket.create_connection(("127.0.0.1", _SERVER.port), timeout=15) as wire,
    ):
        wire.sendall(data.replace(b"PORT", str(_SERVER.port).encode()))
        wire.shutdown(socket.SHUT_WR)
        while wire.recv(1 << 16):
            pass
    if _SERVER.problems:
        raise _SERVER.problems.pop()
