"""The resources of the single file: everything, with vectors as differences along time, within a given number of bytes.

How many slices and words fit is estimated from a sample of words. Slices are thinned first, because neighbouring slices tell
nearly the same; words go only when a dozen slices of all of them are too many.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from wordtide.counts.workers import Observer
from wordtide.errors import SettingsError
from wordtide.explorer.blocks import along_time, joined, word_blocks
from wordtide.explorer.evidence import FEW
from wordtide.explorer.packing import gzipped, packed_json
from wordtide.explorer.page_cache import (
    AS_ASKED,
    FEWEST_SLICES,
    Kept,
    asked_for,
    thinned_slices,
    tokens_of_slices,
)
from wordtide.explorer.page_data import PageData
from wordtide.explorer.page_size import Sample, Sampled, measured
from wordtide.model.knots import Integers
from wordtide.model.prior import Floats

_SAMPLED = 150  # words whose size is measured
_SAFETY = 1.02  # the sample's error, mostly
_FEWEST_WORDS = 10
_WORD_BYTES, _EXAMPLES_BYTES, _MAP_BYTES = (
    200,
    900,
    90,
)  # of a word's story, of its sentences, and of its places on the map


@dataclass(frozen=True)
class Limits:
    """What a single file may hold: bytes of data, and numbers of words and slices that a user asks for (None: what fits).

    `megabytes` is how the size of the whole file is said.
    """

    size: int
    words: int | None = None
    slices: int | None = None
    megabytes: float = 0.0

    @property
    def why(self) -> str:
        """The reason to leave something out."""
        return f"to stay within {self.megabytes:g} MB"

    def check(self, words: int) -> None:
        """An error if so few words fit that there is no page, or if less fits than was asked for in both ways."""
        if self.words is not None and self.slices is not None:
            raise SettingsError(
                f"{self.words:,} words and {self.slices:,} slices do not fit into {self.megabytes:g} MB.",
                "Give fewer --words or --slices, or a larger --max-mb.",
            )
        if words < _FEWEST_WORDS:
            raise SettingsError(
                f"{self.megabytes:g} MB are too few for a page of this model.",
                "Give a larger --max-mb, or --no-map.",
            )


def embedded_resources(
    data: PageData, limits: Limits, observer: Observer
) -> tuple[dict[str, bytes], PageData]:
    """The resources of a single file by name, together within the limits, the header first; and what of the data they hold."""
    whole = data.keeping(asked_for(data.model, limits.words, limits.slices), AS_ASKED)
    kept, why = _fitting(whole, limits)
    found: dict[str, bytes] = {}
    words = 0
    while True:
        chosen = whole.keeping(kept, why)
        found |= _depending_on_slices(chosen)
        if words != len(kept.words):
            found |= _depending_on_words(chosen)
            words = len(kept.words)
        found["vectors.bin"], sampled = _vectors(chosen, observer)
        header = chosen.header(embedded=True, words_per_chunk=words, **measured(chosen.vectors, sampled))
        total = stored_size({"header.bin": header, **found})
        if total <= limits.size:
            return {"header.bin": header, **found}, chosen
        kept, why = _less(whole, limits, kept, total), limits.why


def stored_size(resources: dict[str, bytes]) -> int:
    """Bytes of resources in the file, where four letters stand for three bytes."""
    return sum(_in_letters(len(content)) + 100 for content in resources.values())


def _in_letters(size: int) -> int:
    return -(-size // 3) * 4


def _depending_on_slices(data: PageData) -> dict[str, bytes]:
    found = {"occurrences.bin": data.packed_occurrences()}
    if data.evidence is not None:
        found["examples.bin"] = data.packed_examples(FEW)
    return found


def _depending_on_words(data: PageData) -> dict[str, bytes]:
    found = {
        "stories.bin": packed_json(data.stories),
        "changed.bin": data.packed_changed(),
        "cards.bin": data.packed_cards(),
    }
    if data.words_on_map:
        found["map.bin"] = data.packed_map()
    return found


def _expected_size(data: PageData) -> int:
    """About how many bytes all but the vectors will take in the file. They take long to make, so this must be guessed."""
    words = _WORD_BYTES + (_EXAMPLES_BYTES if data.evidence else 0)
    return (
        words * len(data.kept.words)
        + _MAP_BYTES * data.words_on_map
        + _in_letters(len(data.packed_occurrences()))
    )


def _fitting(data: PageData, limits: Limits) -> tuple[Kept, str]:
    """The words and slices that are estimated to fit, and why others do not."""
    kept, times, richness = data.kept, data.model.times, tokens_of_slices(data.model)
    sample = kept.words[np.unique(np.linspace(0, len(kept.words) - 1, _SAMPLED).astype(np.int64))]
    blocks = [block for _, block in word_blocks(data.vectors, times, sample, kept.slices, one_scale=True)]
    curves = joined(blocks).directions.reshape(len(sample), len(kept.slices), -1)
    rest = _expected_size(data)

    def size(slices: int) -> float:
        places = np.searchsorted(kept.slices, _thinned(kept, times, richness, slices))
        return rest + _SAFETY * 4.0 / 3.0 * _packed_size(curves[:, places]) * len(kept.words) / len(sample)

    most = len(kept.slices)
    if size(most) <= limits.size:
        return kept, data.why
    low = high = most
    if limits.slices is None:
        low = min(FEWEST_SLICES, most)
    while high - low > 1:  # size(low) is taken to fit, size(high) does not
        middle = (low + high) // 2
        low, high = (middle, high) if size(middle) <= limits.size else (low, middle)
    words = min(len(kept.words), int(len(kept.words) * limits.size / size(low)))
    limits.check(words)
    return Kept(kept.words[:words], _thinned(kept, times, richness, low)), limits.why


def _less(data: PageData, limits: Limits, kept: Kept, total: int) -> Kept:
    """A little less, after an estimate that was too low."""
    share = 0.98 * limits.size / total
    slices, words = int(len(kept.slices) * share), int(len(kept.words) * share)
    limits.check(words)
    if limits.slices is None and slices >= FEWEST_SLICES:
        return Kept(kept.words, _thinned(data.kept, data.model.times, tokens_of_slices(data.model), slices))
    return kept.with_words(words)


def _thinned(kept: Kept, times: Floats, richness: Floats, number: int) -> Integers:
    return kept.slices[thinned_slices(times[kept.slices], richness[kept.slices], number)]


def _packed_size(curves: npt.NDArray[np.int8]) -> int:
    """Bytes that directions (n, S, d) take, with noise and flags."""
    rows = int(curves.shape[0] * curves.shape[1])
    return len(gzipped([along_time(curves.reshape(rows, -1), curves.shape[1]).tobytes()])) + 2 * rows


def _vectors(data: PageData, observer: Observer) -> tuple[bytes, Sampled]:
    """The block of all words, packed; and a sample of it, to measure its errors."""
    kept, slices = data.kept, len(data.kept.slices)
    sample = Sample.of(len(kept.words), slices)
    noise, settled, sampled = [], [], []

    def parts() -> Iterator[bytes]:
        for places, block in word_blocks(
            data.vectors, data.model.times, kept.words, kept.slices, one_scale=True
        ):
            noise.append(block.noise)
            settled.append(block.settled)
            chosen = np.flatnonzero(np.isin(places, sample.words))
            sampled.append(block.taken((chosen[:, None] * slices + sample.slices).ravel()))
            observer.advance(len(places))
            yield along_time(block.directions, slices).tobytes()
        yield np.concatenate(noise).astype("<f2").tobytes()
        yield np.concatenate(settled).tobytes()

    observer.start("vectors", len(kept.words), "words")
    try:
        packed = gzipped(parts())
    finally:
        observer.finish()
    return packed, Sampled(kept.words[sample.words], kept.slices[sample.slices], joined(sampled))
