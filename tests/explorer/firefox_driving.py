"""The system's Firefox, driven by its own remote protocol (Marionette): a length, a colon, and JSON."""

import contextlib
import json
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

_NAMES = ("firefox-esr", "firefox")
_PATIENCE = 120.0  # seconds until it has started


class Firefox:
    """A session of a browser that listens at a port."""

    def __init__(self, port: int) -> None:
        self._socket, self._number, self._held = _connected(port), 0, b""
        self._read()
        self.ask("WebDriver:NewSession", {"capabilities": {}})
        self.ask("WebDriver:SetTimeouts", {"script": round(1000 * _PATIENCE)})

    def ask(self, command: str, arguments: dict[str, Any]) -> Any:
        """The answer to a command."""
        self._number += 1
        message = json.dumps([0, self._number, command, arguments]).encode()
        self._socket.sendall(str(len(message)).encode() + b":" + message)
        _, _, error, found = self._read()
        assert error is None, error
        return found

    def go(self, address: str) -> None:
        self.ask("WebDriver:Navigate", {"url": address})

    def run(self, script: str, *arguments: object) -> Any:
        """The result of the body of an asynchronous function of `given`."""
        body = "const given = [...arguments], done = given.pop();"
        body += f"(async () => {{ {script} }})().then(done, error => done(`error: ${{error}}`))"
        sent = {"script": body, "args": list(arguments), "sandbox": None}
        return self.ask("WebDriver:ExecuteAsyncScript", sent)["value"]

    def close(self) -> None:
        self._socket.close()

    def _read(self) -> Any:
        while b":" not in self._held:
            self._held += self._socket.recv(1 << 16)
        size, _, rest = self._held.partition(b":")
        while len(rest) < int(size):
            rest += self._socket.recv(1 << 16)
        self._held = rest[int(size) :]
        return json.loads(rest[: int(size)])


def _connected(port: int) -> socket.socket:
    until = time.monotonic() + _PATIENCE
    while True:
        try:
            return socket.create_connection(("127.0.0.1", port), timeout=_PATIENCE)
        except OSError:
            assert time.monotonic() < until, "Firefox does not listen"
            time.sleep(0.2)


@contextmanager
def firefox(profile: Path) -> Iterator[Firefox]:
    """Firefox with a profile of its own; tests are skipped where it is not installed."""
    executable = next((found for name in _NAMES if (found := shutil.which(name))), None)
    if executable is None:
        pytest.skip("no Firefox is installed: the page is not tested in it")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    (profile / "user.js").write_text(f'user_pref("marionette.port", {port});\n')
    process = subprocess.Popen(
        [executable, "--headless", "--marionette", "--no-remote", "--profile", str(profile)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "HOME": str(profile)},
    )
    try:
        session = Firefox(port)
        yield session
        session.close()
    finally:
        process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(20)
        process.kill()
