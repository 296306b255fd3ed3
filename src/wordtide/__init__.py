"""wordtide: how the meaning of words moves through time, and how sure that is."""

from typing import TYPE_CHECKING, Any

from wordtide.counts.counts import Counts
from wordtide.embeddings.embeddings import DynamicEmbeddings, NoteWarning, load

if TYPE_CHECKING:
    from wordtide.counts.counting import count
    from wordtide.inference.fitting import fit

__all__ = ["Counts", "DynamicEmbeddings", "NoteWarning", "__version__", "count", "fit", "load"]
__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    """`count` brings the compiler with it and `fit` PyTorch, so they are imported when first used."""
    if name == "count":
        from wordtide.counts.counting import count

        return count
    if name == "fit":
        from wordtide.inference.fitting import fit

        return fit
    raise AttributeError(f"module 'wordtide' has no attribute {name!r}")
