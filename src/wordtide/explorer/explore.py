"""The explorer of a model as one file, as a folder for a web host, or from a server on this machine."""

import getpass
import importlib
import os
import socket
import sys
import threading
import webbrowser
from collections.abc import Callable
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

from wordtide.counts.counts import Counts
from wordtide.embeddings.states import Embeddings
from wordtide.errors import SettingsError
from wordtide.explorer.evidence import Evidence
from wordtide.explorer.page_data import Labels, PageData
from wordtide.explorer.page_views import (
    AS_REQUESTED,
    MAP_WORDS,
    check_has_story,
    left_out,
    select_all,
    select_requested,
)
from wordtide.explorer.resources import RemoteResources
from wordtide.explorer.server import LOOPBACK, ExplorerServer
from wordtide.explorer.single_file import Limits, built_page, embedded_resources, remote_page, single_file
from wordtide.progress import Observer
from wordtide.storage.folders import check_file_writable, check_writable, new_files, new_folder, real_target
from wordtide.storage.header import write_header

MAX_MB = 40.0
#: The kind and version of a folder for a web host.
KIND, VERSION = "explorer page", 1
_HEIGHT = 700  # pixels of the page in a notebook
_SERVED_WORDS = 4  # in a chunk: a server makes chunks on request, and stories take long


@dataclass(frozen=True)
class PageOptions:
    """What a page shows.

    Attributes:
        words: How many words to keep; None for all, or for as many as fit into a single file.
        slices: How many slices to keep; None for all, or for as many as fit into a single file.
        max_mb: The most megabytes of a single file.
        title: The title of the page; None for the name of the model folder.
        licence: A remark about the rights to the corpus.
        map_words: The most words on the map, 0 for no map.
        examples: A counts folder whose sentences are shown. They are the text of the corpus.
        threads: Threads for lists of neighbors and the map; None for all cores.
    """

    words: int | None = None
    slices: int | None = None
    max_mb: float = MAX_MB
    title: str | None = None
    licence: str | None = None
    map_words: int = MAP_WORDS
    examples: str | PathLike[str] | None = None
    threads: int | None = None

    def __post_init__(self) -> None:
        least = {"words": 10, "slices": 2, "threads": 1}
        for name, smallest in least.items():
            value = getattr(self, name)
            if value is not None and value < smallest:
                raise SettingsError(f"--{name} cannot be {value}.", f"Give {smallest} or more.")
        if not 0.1 <= self.max_mb <= 2000:  # false for NaN
            raise SettingsError(f"--max-mb cannot be {self.max_mb:g}.", "Give 0.1 to 2000 megabytes.")
        if self.map_words < 0:
            raise SettingsError(
                f"--map-words cannot be {self.map_words}.", "Give 10 or more, or 0 for no map."
            )


def save_html(
    model: Embeddings,
    output: str | PathLike[str],
    options: PageOptions | None = None,
    overwrite: bool = False,
    observer: Observer | None = None,
) -> Path:
    """Write the page with its data as one file, which needs no network.

    Args:
        model: The model.
        output: The file to write.
        options: What the page shows.
        overwrite: Whether to replace an existing file.
        observer: Receives the progress.

    Returns:
        The path of the file.
    """
    options, observer = options or PageOptions(), observer or Observer()
    target = real_target(output)
    check_file_writable(target, overwrite)
    page, data = built_page(), _page_data(model, options, observer)
    room = int(options.max_mb * 1e6) - len(page.encode("utf-8")) - 1000  # for the policy
    with new_files([target], overwrite) as (partial,):
        resources, held = embedded_resources(
            data, Limits(room, options.words, options.slices, options.max_mb), observer
        )
        _report_left_out(model, held, observer)
        with open(partial, "wb") as file:
            for part in single_file(page, resources):
                file.write(part)
    return target


def save_site(
    model: Embeddings,
    output: str | PathLike[str],
    options: PageOptions | None = None,
    overwrite: bool = False,
    observer: Observer | None = None,
) -> Path:
    """Write the page and its data as a folder for any web host; the arguments are those of `save_html`."""
    options, observer = options or PageOptions(), observer or Observer()
    target = real_target(output)
    check_writable(target, overwrite, KIND)
    data = _as_requested(_page_data(model, options, observer), options)
    _report_left_out(model, data, observer)
    resources = RemoteResources(data, at_once=True)
    with new_folder(target, overwrite, KIND) as site:
        (site / "index.html").write_bytes(remote_page(built_page()))
        write_header(site, KIND, VERSION, {"title": data.labels.title})  # so that it can be replaced later
        _write_resources(site / "data", resources, observer)
    return target


#: Computed together with all others of their kind.
_SLOW = ("stories/0000.bin", "slices/0000.bin", "nearest/0000.bin")


def _write_resources(folder: Path, resources: RemoteResources, observer: Observer) -> None:
    """Write all resources, first the slow ones, which report their own progress."""
    names = list(resources.names())
    slow = [name for name in names if "/" not in name or name in _SLOW]
    for name in slow:
        _write(folder / name, resources.resource(name))
    rest = [name for name in names if name not in slow]
    with observer.stage("writing", len(rest), "files"):
        for name in rest:
            _write(folder / name, resources.resource(name))
            observer.step()


def _write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def page_server(
    model: Embeddings,
    options: PageOptions | None = None,
    host: str = LOOPBACK,
    port: int = 0,
    observer: Observer | None = None,
    framed: bool = False,
) -> ExplorerServer:
    """A server for the page, bound to its address. Call `serve_forever` to start it.

    `framed` allows other pages of this machine, such as a notebook, to show the page inside.
    """
    options, observer = options or PageOptions(), observer or Observer()
    if not 0 <= port <= 65535:
        raise SettingsError(f"--port cannot be {port}.", "Give 1 to 65535, or omit it to use any free port.")
    data = _as_requested(_page_data(model, options, Observer()), options)
    resources = RemoteResources(data, _SERVED_WORDS)
    return ExplorerServer(built_page(), resources, host, port, observer.message, framed)


def serve(
    model: Embeddings,
    options: PageOptions | None = None,
    host: str = LOOPBACK,
    port: int = 0,
    browser: bool = True,
    announce: Callable[[str], None] = print,
    observer: Observer | None = None,
) -> None:
    """Serve the page until Ctrl-C, and `announce` its address; port 0 is any free one."""
    observer = observer or Observer()
    with page_server(model, options, host, port, observer) as server:
        if not server.is_private:
            observer.message(
                f"warning: {host} is reachable from other machines. "
                "Anyone who can reach it can read this model."
            )
        announce(server.address)
        display = has_display()
        if browser and not display and server.is_private:
            observer.message(f"No display here. On your own computer, run: {tunnel(server)}")
            observer.message(f"and open http://localhost:{server.port}/ in a browser there.")
        observer.message("Press Ctrl-C to stop the server.")
        if browser and display:
            threading.Thread(target=webbrowser.open, args=(server.address,), daemon=True).start()
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            observer.message("The server has stopped.")


def has_display() -> bool:
    """Whether a browser that is opened here can be seen by the user."""
    if sys.platform in ("darwin", "win32", "cygwin"):
        return "SSH_CONNECTION" not in os.environ
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def tunnel(server: ExplorerServer) -> str:
    """The command that makes a server on this machine reachable from the user's own computer."""
    connection = os.environ.get("SSH_CONNECTION", "").split()
    machine = connection[2] if len(connection) == 4 else socket.gethostname()
    try:
        user = f"{getpass.getuser()}@"
    except (OSError, KeyError, ImportError):  # a user without a name, as in some containers
        user = ""
    host = f"[{server.host}]" if ":" in server.host else server.host
    return f"ssh -L {server.port}:{host}:{server.port} {user}{machine}"


@dataclass(frozen=True)
class InlinePage:
    """The explorer's page in a notebook, served from a thread of this process until `close` is called."""

    server: ExplorerServer

    @property
    def address(self) -> str:
        """The address of the page."""
        return self.server.address

    def close(self) -> None:
        """Stop the server."""
        self.server.shutdown()
        self.server.server_close()

    def __repr__(self) -> str:
        return f"<explorer at {self.address}; .close() stops it>"


def in_notebook() -> bool:
    """Whether this process is the kernel of a notebook."""
    ipython: Any = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return getattr(shell, "kernel", None) is not None


def show_inline(model: Embeddings, options: PageOptions | None, port: int) -> InlinePage:
    """Show the page in the output of a notebook's cell, and return at once."""
    server = page_server(model, options, port=port, framed=True)
    threading.Thread(target=server.serve_forever, name="wordtide explorer", daemon=True).start()
    display: Any = importlib.import_module("IPython.display")
    display.display(display.IFrame(server.address, "100%", _HEIGHT))
    return InlinePage(server)


def _page_data(model: Embeddings, options: PageOptions, observer: Observer) -> PageData:
    check_has_story(model)
    title = options.title or (model.path.resolve().name if model.path else "") or "wordtide"
    evidence = None if options.examples is None else Evidence(model, Counts.load(options.examples))
    labels = Labels(title, options.licence)
    return PageData(
        model, select_all(model), labels, options.map_words, evidence, "", options.threads, observer
    )


def _as_requested(data: PageData, options: PageOptions) -> PageData:
    """Keep the requested words and slices."""
    return data.keeping(select_requested(data.model, options.words, options.slices), AS_REQUESTED)


def _report_left_out(model: Embeddings, data: PageData, observer: Observer) -> None:
    why = left_out(model, data.kept, data.why)["why"]
    if why:
        observer.message(str(why))
