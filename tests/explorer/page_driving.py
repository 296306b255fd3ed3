"""Chromium, driven by Playwright: where neither is to be had, tests that need them are skipped and say why."""

import atexit
import functools
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from explorer.page_world import World

from wordtide.explorer.single_file import built_page, remote_page, single_file

PATIENCE = 15.0  # seconds; a busy machine is slow
_ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"]
_NAMES = ("chromium", "chromium-browser", "google-chrome")


@functools.cache
def chromium() -> Any:
    """One browser for all tests of a run."""
    sync_api = pytest.importorskip(
        "playwright.sync_api", reason="playwright is not installed: the page is not tested"
    )
    executable = next((found for name in _NAMES if (found := shutil.which(name))), None)
    if executable is None:
        pytest.skip("no Chromium is installed: the page is not tested")
    driver = sync_api.sync_playwright().start()
    browser = driver.chromium.launch(executable_path=executable, args=_ARGUMENTS)

    def close() -> None:
        browser.close()
        driver.stop()

    atexit.register(close)
    return browser


@dataclass
class Opened:
    """A page that is open, with what it said and asked for on the way."""

    page: Any
    address: str
    complaints: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    def go(self, route: str) -> "Opened":
        """Show another place; the address is set as a reader would follow a link."""
        self.page.evaluate("route => { location.hash = route }", route)
        self.page.wait_for_timeout(50)
        self.page.wait_for_selector("main h1")
        return self

    def wait(self, condition: str, argument: object = None) -> None:
        """Until an expression, or a function of the argument, is true.

        Asked from outside: the page's policy allows no eval.
        """
        until = time.monotonic() + PATIENCE
        while not self.page.evaluate(condition, argument):
            assert time.monotonic() < until, f"never true: {condition}"
            self.page.wait_for_timeout(25)

    def text(self, selector: str) -> str:
        return str(self.page.locator(selector).first.inner_text())

    def ask(self, script: str, argument: object = None) -> Any:
        return self.page.evaluate(script, argument)


@contextmanager
def opened(
    address: str, route: str = "#/", width: int = 1280, height: int = 800, **settings: Any
) -> Iterator[Opened]:
    """The page at an address, in a context of its own. At the end it must not have complained."""
    context = chromium().new_context(
        viewport={"width": width, "height": height},
        accept_downloads=True,
        reduced_motion="reduce",
        **settings,
    )
    context.set_default_timeout(1000 * PATIENCE)
    page = context.new_page()
    found = Opened(page, address)
    page.on(
        "console",
        lambda message: (
            found.complaints.append(message.text) if message.type in ("error", "warning") else None
        ),
    )
    page.on("pageerror", lambda error: found.complaints.append(str(error)))
    page.on("request", lambda request: found.requests.append(request.url))
    try:
        page.goto(f"{address}{route}")
        page.wait_for_selector("main h1")
        yield found
        assert found.complaints == []
    finally:
        context.close()


@functools.cache
def single_file_of(folder: Path, make: Callable[[], World] = World) -> str:
    """The address of a single file with a world's data."""
    path = folder / f"{make.__name__}.html"
    path.write_bytes(b"".join(single_file(built_page(), make().embedded())))
    return path.as_uri()


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *arguments: object) -> None:
        pass


@contextmanager
def folder_served(folder: Path, resources: dict[str, bytes]) -> Iterator[str]:
    """The address of a folder with the page and its data, as any web host serves it."""
    (folder / "index.html").write_bytes(remote_page(built_page()))
    for name, content in resources.items():
        path = folder / "data" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    server = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(_Quiet, directory=str(folder)))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/index.html"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
