"""A small HTTP server for a folder: with byte ranges, without, or one that closes connections early."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote


@contextmanager
def serving(folder: Path, ranges: bool = True, cut_short: bool = False) -> Iterator[tuple[str, list[str]]]:
    """The address of a server, and the list of its requests."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_HEAD(self) -> None:
            self.answer(body=False)

        def do_GET(self) -> None:
            self.answer(body=True)

        def answer(self, body: bool) -> None:
            path = folder / unquote(self.path.split("?")[0]).lstrip("/")
            asked.append(f"{self.command} {self.path} {self.headers.get('Range', '')}".strip())
            if path.is_dir():
                links = "".join(f'<a href="{name.name}">x</a>' for name in sorted(path.iterdir()))
                self.send(200, links.encode(), body, {"Content-Type": "text/html"})
            elif not path.is_file():
                self.send(404, b"", body, {})
            else:
                self.send_file(path.read_bytes(), body)

        def send_file(self, data: bytes, body: bool) -> None:
            wanted = self.headers.get("Range") if ranges else None
            headers = {"ETag": f'"{hash(data)}"', "Content-Type": "application/octet-stream"}
            if ranges:
                headers["Accept-Ranges"] = "bytes"
            if not wanted:
                self.send(200, data, body, headers)
                return
            first, last = wanted.removeprefix("bytes=").split("-")
            part = data[int(first) : int(last) + 1]
            headers["Content-Range"] = f"bytes {first}-{int(first) + len(part) - 1}/{len(data)}"
            self.send(206, part, body, headers)

        def send(self, status: int, data: bytes, body: bool, headers: dict[str, str]) -> None:
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            if body and cut_short:
                self.wfile.write(data[: len(data) // 2])
                self.close_connection = True
            elif body:
                self.wfile.write(data)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", asked
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
