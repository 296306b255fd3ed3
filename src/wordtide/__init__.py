"""wordtide: how the meaning of words moves through time, and how sure that is."""

from typing import TYPE_CHECKING, Any

from wordtide.counts.counts import Counts

if TYPE_CHECKING:
    from wordtide.counts.counting import count

__all__ = ["Counts", "__version__", "count"]
__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    """`wordtide.count` brings the compiler with it, so it is imported when first used."""
    if name == "count":
        from wordtide.counts.counting import count

        return count
    raise AttributeError(f"module 'wordtide' has no attribute {name!r}")
