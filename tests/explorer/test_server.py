"""The local server: it answers what is its own, to its own address, whatever comes over the wire, and writes
nothing.
"""

import contextlib
import http.client
import random
import socket
import threading
import time

import pytest
from explorer.small_pages import PAGE, page_data, parsed, small_model

from wordtide.errors import SettingsError
from wordtide.explorer import server as serving
from wordtide.explorer.resources import RemoteResources
from wordtide.explorer.server import ExplorerServer, ResourceCache
from wordtide.explorer.single_file import policy, remote_page

RESOURCES = RemoteResources(page_data(small_model(words=12, slices=4)), words_per_chunk=4)


@contextlib.contextmanager
def serving_at(host="127.0.0.1", resources=RESOURCES, complain=None):
    """A server at work."""
    with ExplorerServer(PAGE, resources, host, 0, complain) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join(10)


@pytest.fixture
def server():
    with serving_at() as running:
        yield running


def ask(server, path="/", method="GET", headers=()):
    """Status, headers and content of an answer, with exactly these headers besides Host."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)
    try:
        given = dict(headers)
        connection.putrequest(method, path, skip_host="Host" in given, skip_accept_encoding=True)
        for name, value in given.items():
            if value is not None:
                connection.putheader(name, value)
        connection.endheaders()
        answer = connection.getresponse()
        return answer.status, answer.headers, answer.read()
    finally:
        connection.close()


def send_raw(server, content, patience=5.0):
    """What comes back for these bytes, up to the end or until nothing more comes."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=patience) as wire:
        answer = b""
        with contextlib.suppress(OSError):
            wire.sendall(content)
            wire.shutdown(socket.SHUT_WR)
            while part := wire.recv(65536):
                answer += part
        return answer


def test_the_page_and_every_resource_are_served(server):
    assert ask(server)[2] == ask(server, "/index.html")[2] == remote_page(PAGE)
    for name in RESOURCES.names():
        status, _, content = ask(server, f"/data/{name}")
        assert (status, content) == (200, RESOURCES.resource(name))
    assert parsed(ask(server, "/data/header.bin")[2])["embedded"] is False


def test_a_question_without_body_gets_the_same_headers(server):
    full, head = ask(server, "/data/cards.bin"), ask(server, "/data/cards.bin", "HEAD")
    assert head[2] == b""
    assert head[0] == 200
    assert head[1]["Content-Length"] == str(len(full[2]))


def test_a_question_mark_and_what_follows_are_no_part_of_a_name(server):
    assert ask(server, "/data/header.bin?v=1")[0] == 200


@pytest.mark.parametrize(
    "path",
    [
        "/data/", "/data/../../etc/passwd", "/etc/passwd", "/data/%2e%2e/header.bin", "/data/slices/../header.bin", "//x",
        "/data/slices/0004.bin", "/data/words/99999999999999999999.bin", "/data/header.bin/", "/data/header.bin%00", "*",
        "/data/map.bin", "/data/examples/0000.bin",
    ],
)  # fmt: skip
def test_what_is_no_resource_is_not_found(server, path):
    assert ask(server, path)[0] == 404


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "CONNECT", "TRACE", "get"])
def test_there_is_nothing_to_do_but_reading(server, method):
    assert ask(server, method=method)[0] == 501


@pytest.mark.parametrize("path", ["/", "/data/header.bin", "/nothing"])
def test_every_answer_forbids_what_the_page_does_not_need(server, path):
    headers = ask(server, path)[1]
    assert headers["Content-Security-Policy"] == policy(PAGE, remote=True) + "; frame-ancestors 'none'"
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Referrer-Policy"] == "no-referrer"
    assert headers["Cross-Origin-Resource-Policy"] == "same-origin"
    assert headers["Cache-Control"] == "no-store"
    assert "Access-Control-Allow-Origin" not in headers
    assert "Python" not in headers["Server"]


def test_its_own_names_are_answered(server):
    for name in ("127.0.0.1", "localhost", "LOCALHOST", "[::1]"):
        assert ask(server, headers={"Host": f"{name}:{server.port}"})[0] == 200


OTHER_HOSTS = [
    "evil.example:{port}", "evil.example", "localhost.evil.example:{port}", "128.0.0.1:{port}", "", "127.0.0.1:{port}@evil.example",
    "[", "user@127.0.0.1:{port}", "127.0.0.1:{port}/", "0.0.0.0:{port}", "127.0.0.1:x", None,
]  # fmt: skip


@pytest.mark.parametrize("host", OTHER_HOSTS)
def test_another_host_is_refused(server, host):
    named = None if host is None else host.format(port=server.port)
    assert ask(server, headers={"Host": named})[0] == 421


def test_two_hosts_are_refused(server):
    lines = f"GET / HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nHost: evil.example\r\n\r\n"
    assert b" 421 " in send_raw(server, lines.encode()).splitlines()[0]


def test_only_its_own_page_may_ask(server):
    own = f"127.0.0.1:{server.port}"
    assert ask(server, headers={"Origin": f"http://{own}"})[0] == 200
    for origin in (
        "http://evil.example",
        "null",
        f"https://{own}",
        f"http://localhost:{server.port}",
        f"http://{own}.evil.example",
        "",
    ):
        assert ask(server, "/data/header.bin", headers={"Origin": origin})[0] == 403


def test_a_server_for_all_addresses_takes_addresses_and_this_machines_name_but_no_other():
    with serving_at("0.0.0.0") as server:
        assert not server.is_private
        for name in ("127.0.0.1", "192.168.1.5", "localhost", socket.gethostname()):
            assert ask(server, headers={"Host": f"{name}:{server.port}"})[0] == 200
        assert ask(server, headers={"Host": f"evil.example:{server.port}"})[0] == 421


@pytest.mark.parametrize(
    "host", ["localhost:9000", "127.0.0.1:1", "127.0.0.1", "127.0.1.1:8888", "[::1]:9000"]
)
def test_a_loopback_name_is_accepted_on_any_port_as_a_tunnel_has_it(server, host):
    assert ask(server, headers={"Host": host, "Origin": f"http://{host}"})[0] == 200


@pytest.mark.parametrize("host", ["0.0.0.0", "::"])
def test_a_server_on_all_addresses_shows_one_that_a_browser_can_open(host):
    with serving_at(host) as server:
        assert server.address not in (f"http://0.0.0.0:{server.port}/", f"http://[::]:{server.port}/")
        if ":" not in host:
            assert ask(server, headers={"Host": server.address.removeprefix("http://").rstrip("/")})[0] == 200


def test_a_port_that_is_taken_is_an_error_with_a_remedy(server):
    with pytest.raises(SettingsError, match="port"):
        ExplorerServer(PAGE, RESOURCES, port=server.port)


def test_an_address_that_is_not_ours_is_an_error():
    with pytest.raises(SettingsError, match=r"203\.0\.113\.1"):
        ExplorerServer(PAGE, RESOURCES, host="203.0.113.1")


def test_a_resource_is_made_once_however_many_ask():
    made = []

    def make(name):
        made.append(name)
        time.sleep(0.05)
        return name.encode()

    once = ResourceCache(make)
    answers = []
    threads = [threading.Thread(target=lambda: answers.append(once.get("a"))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert made == ["a"]
    assert answers == [b"a"] * 8


def test_what_was_not_asked_for_longest_is_made_again():
    made = []

    def make(name):
        made.append(name)
        return bytes(40)

    once = ResourceCache(make, most_bytes=100)
    for name in "abacab":
        once.get(name)
    assert "".join(made) == "abcb"


def test_what_failed_is_tried_again():
    attempts = iter([ValueError("once"), None])

    def make(name):
        if (error := next(attempts)) is not None:
            raise error
        return b"made"

    once = ResourceCache(make)
    with pytest.raises(ValueError, match="once"):
        once.get("a")
    assert once.get("a") == b"made"


class Broken(RemoteResources):
    """Resources of which one cannot be made."""

    def resource(self, name):
        if name == "cards.bin":
            raise ZeroDivisionError("secret path")
        return super().resource(name)


def test_a_part_that_cannot_be_made_is_an_error_of_its_own_and_the_server_lives_on():
    heard = []
    with serving_at(resources=Broken(RESOURCES.data), complain=heard.append) as server:
        status, _, content = ask(server, "/data/cards.bin")
        assert status == 500
        assert b"secret" not in content
        assert ask(server, "/data/header.bin")[0] == 200
    assert heard == ["cards.bin could not be made: ZeroDivisionError: secret path"]


def requests_of(generator, port):
    """Bytes that look more or less like a request."""
    parts = [
        b"GET", b"HEAD", b"POST", b" ", b"/", b"/data/", b"header.bin", b"slices/0000.bin", b"..", b"%00", b"\n", b"\0",
        b"HTTP/1.1", b"HTTP/0.9", b"HTTP/9.9", b"HTTP/1.1.1", b"Host: ", b"Host: 127.0.0.1:%d" % port, b"\r\n", b"\r\n\r\n",
        b"Content-Length: 99999999999", b"Content-Length: -1", b"Transfer-Encoding: chunked", b"Origin: null", b"\x80" * 9,
        b"Expect: 100-continue", b"a" * 70_000, b"X: y\r\n" * 150, bytes(generator.randrange(256) for _ in range(20)),
    ]  # fmt: skip
    return b"".join(generator.choice(parts) for _ in range(generator.randrange(1, 14)))


def test_random_bytes_neither_crash_nor_hang_it(server):
    generator = random.Random(7)
    for _ in range(150):
        answer = send_raw(server, requests_of(generator, server.port))
        assert not answer.startswith(b"HTTP/1.1 5") or b" 501 " in answer[:20] or b" 505 " in answer[:20]
    assert ask(server)[0] == 200


def test_one_byte_at_a_time_is_hung_up_on(monkeypatch):
    monkeypatch.setattr(serving, "_PATIENCE", 0.3)
    with serving_at() as server, socket.create_connection(("127.0.0.1", server.port), timeout=20) as wire:
        ended = False
        for letter in b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n" * 20:
            try:
                wire.sendall(bytes([letter]))
            except OSError:
                ended = True
                break
            time.sleep(0.02)
        assert ended
        assert ask(server)[0] == 200


def test_silent_connections_do_not_keep_others_waiting(server):
    silent = [socket.create_connection(("127.0.0.1", server.port), timeout=20) for _ in range(20)]
    try:
        assert ask(server)[0] == 200
    finally:
        for wire in silent:
            wire.close()


def test_of_too_many_connections_the_oldest_silent_ones_are_closed_at_once(server):
    silent = [
        socket.create_connection(("127.0.0.1", server.port), timeout=20)
        for _ in range(serving._MOST_CONNECTIONS + 8)
    ]
    try:
        started = time.monotonic()
        closed = [wire for wire in silent[:8] if wire.recv(1) == b""]
        assert (len(closed), time.monotonic() - started < serving._PATIENCE / 2) == (8, True)
        assert ask(server)[0] == 200
    finally:
        for wire in silent:
            wire.close()
    for _ in range(200):  # until the threads have seen that nobody is there
        with contextlib.suppress(OSError, http.client.HTTPException):
            assert ask(server)[0] == 200
            return
        time.sleep(0.05)
    raise AssertionError("no room was made")
