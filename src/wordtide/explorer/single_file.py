"""The page as a single file: data within a given number of bytes, inserted with a content security policy.

The page is one HTML file with one inline script and one inline style. The policy allows these two by their
hashes and nothing else, so nothing in a corpus or a model can run. Data are base64 text inside elements that
browsers never execute.

Vectors are stored as differences along time. A sample of words gives an estimate of what fits. A file that is
too large has fewer slices, as long as curves look right; then coarser vectors and two sentences per word;
then fewer words; and only then so few slices that curves suffer.
"""

import base64
import hashlib
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from importlib import resources

import numpy as np
import numpy.typing as npt

from wordtide.errors import FolderError, SettingsError
from wordtide.explorer.evidence import FEW, PAIR
from wordtide.explorer.nearest_lists import lists_block, nearest_lists
from wordtide.explorer.page_data import PageData, gzipped, packed_json
from wordtide.explorer.page_views import (
    AS_REQUESTED,
    ENOUGH_SLICES,
    ENOUGH_WORDS,
    FEWEST_SLICES,
    PageSelection,
    select_requested,
    thin_slices,
)
from wordtide.explorer.quantization import (
    LEVELS,
    Sample,
    SampledBlock,
    differences_along_time,
    join_blocks,
    quantization_facts,
    quantize,
    word_blocks,
)
from wordtide.progress import Observer
from wordtide.types import Floats, Integers

POLICY_MARK, DATA_MARK = "<!--wordtide:policy-->", "<!--wordtide:data-->"
_REMEDY = (
    "Install wordtide again; from its sources, build the page first: npm run build in the folder explorer."
)
_RESOURCE_NAME = re.compile(r"[a-z]+(?:/[0-9]+)?\.bin")


def built_page() -> str:
    """The page that ships with the package."""
    place = resources.files("wordtide.explorer") / "page" / "explorer.html"
    try:
        return place.read_text(encoding="utf-8")
    except OSError:
        raise FolderError("This installation lacks the page of the explorer.", _REMEDY) from None


def policy(page: str, remote: bool) -> str:
    """The content security policy: the page's own script, style and images, and its host if it is remote."""
    hashes = {name: f"'sha256-{_digest(_inline(page, name))}'" for name in ("script", "style")}
    rules = [
        "default-src 'none'",
        f"script-src {hashes['script']}",
        f"style-src {hashes['style']}",
        "img-src data: blob:",
        *(["connect-src 'self'"] if remote else []),
        "base-uri 'none'",
        "form-action 'none'",
    ]
    return "; ".join(rules)


def remote_page(page: str) -> bytes:
    """The page for a folder or a server, which fetches its data."""
    before, after = _around_data(_with_policy(page, remote=True))
    return (before + after).encode("utf-8")


def single_file(page: str, embedded: Mapping[str, bytes]) -> Iterator[bytes]:
    """The page with embedded data, in parts."""
    before, after = _around_data(_with_policy(page, remote=False))
    yield before.encode("utf-8")
    for name, content in embedded.items():
        if not _RESOURCE_NAME.fullmatch(name):
            raise ValueError(f"{name!r} is not the name of a resource")
        yield f'<script type="application/octet-stream" data-resource="{name}">'.encode("ascii")
        yield base64.b64encode(content)
        yield b"</script>\n"
    yield after.encode("utf-8")


def _with_policy(page: str, remote: bool) -> str:
    if page.count(POLICY_MARK) != 1 or page.count(DATA_MARK) != 1:
        raise FolderError(
            "The page of the explorer is damaged: the marks for policy and data are missing.", _REMEDY
        )
    tag = f'<meta http-equiv="Content-Security-Policy" content="{policy(page, remote)}">'
    return page.replace(POLICY_MARK, tag)


def _around_data(page: str) -> tuple[str, str]:
    before, _, after = page.partition(DATA_MARK)
    return before, after


def _inline(page: str, name: str) -> str:
    """The content of the only inline script or style."""
    found = re.findall(rf"<{name}[^>]*>(.*?)</{name}>", page, re.DOTALL)
    if len(found) != 1:
        raise FolderError(
            f"The page of the explorer is damaged: it has {len(found)} {name} elements, not one.", _REMEDY
        )
    return str(found[0])


def _digest(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode("ascii")


_SAMPLED = 150  # words whose size is measured
_SAFETY = 1.02  # a margin for the error of the estimate
_FEWEST_WORDS = 10
#: Estimated bytes of a word's story, of a sentence, of a word's positions on the map, and (compressed) of a
#: row's noise and flag.
_WORD_BYTES, _SENTENCE_BYTES, _MAP_BYTES, _NOISE_BYTES = 200, 140, 90, 1.4
_COARSE = 63  # of a light file: similarities are off by twice as much


@dataclass(frozen=True)
class Content:
    """What a file holds: words and slices, the largest value of a coordinate, and sentences per word."""

    kept: PageSelection
    levels: int = LEVELS
    sentences: int = FEW


@dataclass(frozen=True)
class Limits:
    """Limits of a single file: bytes of data, and the requested numbers of words and slices (None: as many as
    fit).

    `megabytes` is the size of the whole file, for messages.
    """

    size: int
    words: int | None = None
    slices: int | None = None
    megabytes: float = 0.0

    @property
    def why(self) -> str:
        """The reason for leaving something out."""
        return f"to stay within {self.megabytes:g} MB"

    def check(self, words: int) -> None:
        """Check that enough words fit: some, or as many as were requested together with slices."""
        if self.words is not None and self.slices is not None:
            raise SettingsError(
                f"{self.words:,} words and {self.slices:,} slices do not fit into {self.megabytes:g} MB.",
                "Give fewer --words or --slices, or a larger --max-mb.",
            )
        if words < _FEWEST_WORDS:
            raise SettingsError(
                f"{self.megabytes:g} MB is too small for a page of this model.",
                "Give a larger --max-mb, or --map-words 0 for no map.",
            )


def embedded_resources(
    data: PageData, limits: Limits, observer: Observer
) -> tuple[dict[str, bytes], PageData]:
    """Make the resources of a single file, by name, the header first.

    Also returns the data with the words and slices that fit.
    """
    whole = data.keeping(select_requested(data.model, limits.words, limits.slices), AS_REQUESTED)
    content = fitting_content(whole, limits)
    found: dict[str, bytes] = {}
    words, chosen = 0, whole
    while True:
        kept = content.kept
        chosen = chosen.keeping(kept, whole.why if kept is whole.kept else limits.why)
        found |= _depending_on_slices(chosen, content)
        if words != len(kept.words):
            found |= _depending_on_words(chosen)
            words = len(kept.words)
        found["vectors.bin"], sampled = _vectors(chosen, content.levels, observer)
        facts = quantization_facts(chosen.vectors, sampled)
        shape = {"words_per_chunk": words, "nearest": (words, len(kept.slices))}
        header = chosen.header(embedded=True, **shape, **facts)
        total = stored_size({"header.bin": header, **found})
        if total <= limits.size:
            return {"header.bin": header, **found}, chosen
        content = replace(content, kept=_less(whole, limits, kept, total))


def stored_size(resources: dict[str, bytes]) -> int:
    """The size of resources in the file, in base64."""
    return sum(_base64_size(len(content)) + 100 for content in resources.values())


def _base64_size(size: int) -> int:
    return -(-size // 3) * 4


def _depending_on_slices(data: PageData, content: Content) -> dict[str, bytes]:
    found = {"occurrences.bin": data.packed_occurrences(), "nearest.bin": data.packed_nearest()}
    if data.evidence is not None:
        found["examples.bin"] = data.packed_examples(content.sentences)
    if "groups" in data.group_resources:
        found["groups.bin"] = data.packed_groups(content.levels)
    return found


def _depending_on_words(data: PageData) -> dict[str, bytes]:
    found = {"stories.bin": packed_json(data.stories)}
    shown = {"changed": True, "cards": True, "map": data.words_on_map > 0, "divided": bool(data.groups)}
    return found | {f"{name}.bin": data.packed_view(name) for name, is_shown in shown.items() if is_shown}


def fitting_content(data: PageData, limits: Limits) -> Content:
    """What probably fits into a file, by an estimate from a sample of words."""
    kept, times, richness = data.kept, data.model.times, data.model.slice_occurrences
    most, every = len(kept.slices), len(kept.words)
    rows = np.unique(np.linspace(0, every - 1, _SAMPLED).astype(np.int64))
    sample, lists = kept.words[rows], nearest_lists(data.vectors, kept, data.threads, asked=rows)
    means = data.vectors.means_at_places(np.repeat(sample, most), np.tile(kept.slices, len(sample)))
    directions = [
        quantize(means, most, levels).reshape(len(sample), most, -1) for levels in (LEVELS, _COARSE)
    ]
    occurrences = _base64_size(len(data.packed_occurrences())) / (every * most)

    def size(words: int, slices: int, light: bool) -> float:
        places = np.searchsorted(kept.slices, _thinned(kept, times, richness, slices))
        vectors = _packed_size(directions[light][:, places]) / len(sample)
        sentences = _SENTENCE_BYTES * (PAIR if light else FEW) if data.evidence else 0
        each = _WORD_BYTES + sentences + occurrences * slices
        each += _SAFETY * 4.0 / 3.0 * (vectors + len(gzipped([lists_block(lists[:, places])])) / len(sample))
        return words * each + _MAP_BYTES * min(data.words_on_map, words)

    def fits_slices(words: int, light: bool, slices: int) -> bool:
        return size(words, slices, light) <= limits.size

    enough = min(every, limits.words or ENOUGH_WORDS)
    some, few = (min(number, most) for number in (ENOUGH_SLICES, FEWEST_SLICES))
    forms = [(every, some, most, light) for light in (False, True)]
    forms += [(enough, some, some, True), (enough, few, some, True)]
    for words, low, high, light in forms:
        low, high = (low, high) if limits.slices is None else (most, most)
        slices = _largest(low, high, partial(fits_slices, words, light))
        if size(words, slices, light) <= limits.size:
            break
    fewest = enough if size(enough, slices, light) <= limits.size else 0
    words = _largest(fewest, every, lambda number: size(number, slices, light) <= limits.size)
    if words < every:
        limits.check(words)
    form = Content(kept, _COARSE, PAIR) if light else Content(kept)
    if (words, slices) == (every, most):
        return form
    return replace(form, kept=PageSelection(kept.words[:words], _thinned(kept, times, richness, slices)))


def _largest(low: int, high: int, fits: Callable[[int], bool]) -> int:
    """The largest number that fits, between one that is assumed to fit and another."""
    if fits(high):
        return high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


def _less(data: PageData, limits: Limits, kept: PageSelection, total: int) -> PageSelection:
    """A smaller selection, after an estimate that was too low."""
    share = 0.98 * limits.size / total
    slices, words = int(len(kept.slices) * share), int(len(kept.words) * share)
    least = ENOUGH_SLICES if words >= (limits.words or ENOUGH_WORDS) else FEWEST_SLICES
    if limits.slices is None and slices >= least:
        return PageSelection(
            kept.words, _thinned(data.kept, data.model.times, data.model.slice_occurrences, slices)
        )
    limits.check(words)
    return kept.most_frequent(words)


def _thinned(kept: PageSelection, times: Floats, richness: Floats, number: int) -> Integers:
    return kept.slices[thin_slices(times[kept.slices], richness[kept.slices], number)]


def _packed_size(curves: npt.NDArray[np.int8]) -> float:
    """The compressed size of directions (n, S, d), with noise and flags."""
    rows = int(curves.shape[0] * curves.shape[1])
    stored = differences_along_time(curves.reshape(rows, -1), curves.shape[1]).tobytes()
    return len(gzipped([stored])) + _NOISE_BYTES * rows


def _vectors(data: PageData, levels: int, observer: Observer) -> tuple[bytes, SampledBlock]:
    """The compressed block of all words, and a sample of it for measuring its errors."""
    kept, slices = data.kept, len(data.kept.slices)
    sample = Sample.draw(len(kept.words), slices)
    noise, settled, sampled = [], [], []

    def parts() -> Iterator[bytes]:
        for places, block in word_blocks(
            data.vectors, data.model.times, kept.words, kept.slices, one_scale=True, levels=levels
        ):
            noise.append(block.noise)
            settled.append(block.settled)
            chosen = np.flatnonzero(np.isin(places, sample.words))
            sampled.append(block.take((chosen[:, None] * slices + sample.slices).ravel()))
            observer.step(len(places))
            yield differences_along_time(block.directions, slices).tobytes()
        yield np.concatenate(noise).astype("<f2").tobytes()
        yield np.concatenate(settled).tobytes()

    with observer.stage("vectors", len(kept.words), "words"):
        packed = gzipped(parts())
    return packed, SampledBlock(kept.words[sample.words], kept.slices[sample.slices], join_blocks(sampled))
