"""wordtide: how the meaning of words moves through time, with credible intervals."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from wordtide.version import __version__

if TYPE_CHECKING:
    from wordtide.api import DynamicEmbeddings, NoteWarning, fit, load
    from wordtide.counts.count import count
    from wordtide.counts.counts import Counts

__all__ = ["Counts", "DynamicEmbeddings", "NoteWarning", "__version__", "count", "fit", "load"]

_PLACES = {
    "Counts": "counts.counts",
    "DynamicEmbeddings": "api",
    "NoteWarning": "api",
    "count": "counts.count",
    "fit": "api",
    "load": "api",
}


def __getattr__(name: str) -> Any:
    """Import the public names when first used: all need NumPy, `count` and `fit` also the compiler."""
    if name not in _PLACES:
        raise AttributeError(f"module 'wordtide' has no attribute {name!r}")
    return getattr(import_module(f"wordtide.{_PLACES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
