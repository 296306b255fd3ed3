"""The explorer's doors: a model as one file, as a folder for a web host, or from a server on this machine."""

import threading
import webbrowser
from collections.abc import Callable
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

from wordtide.counts.counts import Counts
from wordtide.embeddings.states import Embeddings
from wordtide.errors import SettingsError
from wordtide.explorer.browser_access import RemoteResources
from wordtide.explorer.evidence import Evidence
from wordtide.explorer.layout import write_site
from wordtide.explorer.page import built_page, single_file
from wordtide.explorer.page_cache import AS_ASKED, asked_for, check_has_story, everything, left_out
from wordtide.explorer.page_data import PageData
from wordtide.explorer.page_header import Labels
from wordtide.explorer.server import LOOPBACK, ExplorerServer
from wordtide.explorer.single_file import Limits, embedded_resources
from wordtide.explorer.word_map import MAP_WORDS
from wordtide.exports.export import ExportObserver
from wordtide.storage.files import check_file_writable, new_files
from wordtide.storage.folders import check_writable, real_target

MAX_MB = 40.0
_SERVED_WORDS = 4  # in a chunk: a server makes what is asked for, and stories take long


@dataclass(frozen=True)
class PageOptions:
    """What a page shows.

    `words`, `slices`: how many to keep; None is all, or for a single file as many as fit into `max_mb`. `map_words`: on the map
    at most, 0 for no map. `examples`: a counts folder whose sentences are shown; they are the corpus's own text.
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
                f"--map-words cannot be {self.map_words}.", "Give 10 or more, or --no-map for no map."
            )


def save_html(
    model: Embeddings,
    output: str | PathLike[str],
    options: PageOptions | None = None,
    overwrite: bool = False,
    observer: ExportObserver | None = None,
) -> Path:
    """Write the page with its data as one file, which needs no network, and return its path."""
    options, observer = options or PageOptions(), observer or ExportObserver()
    target = real_target(output)
    check_file_writable(target, overwrite)
    page, data = built_page(), _page_data(model, options, observer)
    room = int(options.max_mb * 1e6) - len(page.encode("utf-8")) - 1000  # for the policy
    with new_files([target], overwrite) as (partial,):
        resources, held = embedded_resources(
            data, Limits(room, options.words, options.slices, options.max_mb), observer
        )
        _tell_left_out(model, held, observer)
        with open(partial, "wb") as file:
            for part in single_file(page, resources):
                file.write(part)
    return target


def save_site(
    model: Embeddings,
    output: str | PathLike[str],
    options: PageOptions | None = None,
    overwrite: bool = False,
    observer: ExportObserver | None = None,
) -> Path:
    """Write the page and its data as a folder for any web host, and return its path."""
    options, observer = options or PageOptions(), observer or ExportObserver()
    check_writable(real_target(output), overwrite)
    data = _as_asked(_page_data(model, options, observer), options)
    _tell_left_out(model, data, observer)
    return write_site(output, built_page(), RemoteResources(data, at_once=True), overwrite, observer)


def page_server(
    model: Embeddings,
    options: PageOptions | None = None,
    host: str = LOOPBACK,
    port: int = 0,
    observer: ExportObserver | None = None,
) -> ExplorerServer:
    """A server for the page, bound to its address; `serve_forever` makes it work."""
    options, observer = options or PageOptions(), observer or ExportObserver()
    if not 0 <= port <= 65535:
        raise SettingsError(f"--port cannot be {port}.", "Give 1 to 65535, or leave it out for any free one.")
    data = _as_asked(_page_data(model, options, ExportObserver()), options)
    return ExplorerServer(built_page(), RemoteResources(data, _SERVED_WORDS), host, port, observer.tell)


def serve(
    model: Embeddings,
    options: PageOptions | None = None,
    host: str = LOOPBACK,
    port: int = 0,
    browser: bool = True,
    announce: Callable[[str], None] = print,
    observer: ExportObserver | None = None,
) -> None:
    """Serve the page until Ctrl-C, after its address was announced, and opened in a browser if wanted."""
    observer = observer or ExportObserver()
    with page_server(model, options, host, port, observer) as server:
        if not server.is_private:
            observer.tell(
                f"warning: {host} is not this machine alone. Whoever reaches it can read this model and its words."
            )
        announce(server.address)
        observer.tell("Ctrl-C ends the server.")
        if browser:
            threading.Thread(target=webbrowser.open, args=(server.address,), daemon=True).start()
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            observer.tell("The server has ended.")


def _page_data(model: Embeddings, options: PageOptions, observer: ExportObserver) -> PageData:
    check_has_story(model)
    title = options.title or (model.path.resolve().name if model.path else "") or "wordtide"
    evidence = None if options.examples is None else Evidence(model, Counts.load(options.examples))
    labels = Labels(title, options.licence)
    return PageData(
        model, everything(model), labels, options.map_words, evidence, "", options.threads, observer
    )


def _as_asked(data: PageData, options: PageOptions) -> PageData:
    """The words and slices that were asked for."""
    return data.keeping(asked_for(data.model, options.words, options.slices), AS_ASKED)


def _tell_left_out(model: Embeddings, data: PageData, observer: ExportObserver) -> None:
    why = left_out(model, data.kept, data.why)["why"]
    if why:
        observer.tell(str(why))
