"""A folder for any web host: the page and its resources as plain files, written whole or not at all."""

import os
from pathlib import Path

from wordtide.counts.workers import Observer
from wordtide.explorer.browser_access import RemoteResources
from wordtide.explorer.page import remote_page
from wordtide.storage.folders import new_folder, real_target
from wordtide.storage.header import write_header

KIND, VERSION = "explorer page", 1


def write_site(
    target: str | os.PathLike[str], page: str, resources: RemoteResources, overwrite: bool, observer: Observer
) -> Path:
    """Write index.html and data/, and return where they are."""
    place = real_target(target)
    with new_folder(place, overwrite) as site:
        (site / "index.html").write_bytes(remote_page(page))
        write_header(
            site, KIND, VERSION, {"title": resources.data.labels.title}
        )  # by which it can be replaced later
        _write_resources(site / "data", resources, observer)
    return place


def _write_resources(folder: Path, resources: RemoteResources, observer: Observer) -> None:
    """Write all resources; first those that take long, and tell the observer of it themselves."""
    names = list(resources.names())
    slow = [name for name in names if "/" not in name or name in ("stories/0000.bin", "slices/0000.bin")]
    for name in slow:
        _write(folder / name, resources.resource(name))
    rest = [name for name in names if name not in slow]
    observer.start("writing", len(rest), "files")
    try:
        for name in rest:
            _write(folder / name, resources.resource(name))
            observer.advance(1)
    finally:
        observer.finish()


def _write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
