"""A small world in the form the page reads, made without a model: vectors, noise and stories that a test
knows.

Its words are untrusted on purpose: markup, names of object properties, right-to-left letters, emoji,
separators of addresses.
"""

import gzip
import json
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from wordtide.questions.similarity import Scaled, scaled

HOSTILE = (
    "</script><script>document.title='broken'</script>",
    "<img src=x onerror=document.title='broken'>",
    "__proto__",
    "constructor",
    "toString",
    "مرحبا",
    "🎉",
    "a,b",
    "100%",
    "a/b?c=d&e#f",
    '"quoted"',
    "bell\x07",
    "{@html}",
    "w" * 90,
)
ORDINARY = (
    "energy skill vigor oil solar clean power courage fuels zeal steam coal wind water light trade tax money bank land army "
    "navy treaty war peace school teacher nurse doctor he man she woman about white house"
).split()
WORDS = (*ORDINARY[:12], *HOSTILE, *ORDINARY[12:])
DIM = 8
SHOWN = ("1800", "1825", "1850", "1875", "1875", "1900", "1950", "1975", "2000")  # two slices are shown alike
LEFT_OUT = (
    "Left out: 1 slice and the 12 least frequent words (to stay within 40 MB). "
    "All answers on this page are based on the whole model."
)
NEARBY = 1
GROUPS = ("North", "<i>South</i>", "מערב")
DIVIDED = ("solar", "</script><script>document.title='broken'</script>", "war", "money", "مرحبا", "tax")
UNSURE = "No word changed by more than the noise between 1825 and 2000. All of them are <b>uncertain</b>."
TIMES = (1800.5, 1825.5, 1850.5, 1875.1, 1875.6, 1900.5, 1950.5, 1975.5, 2000.5)


@dataclass
class World:
    """Words at slices: q (W, S, d) as stored, rho (W, S), settled (W, S), occurrences (W, S)."""

    uncertain: bool = True
    #: Whether the words moved by more than the noise.
    sure: bool = True
    #: Whether noise differs from axis to axis.
    profiled: bool = True
    examples: bool = True
    groups: tuple[str, ...] = GROUPS
    words: tuple[str, ...] = WORDS
    profile: np.ndarray[Any, Any] = field(init=False)
    closeness: float = 3.0
    q: np.ndarray[Any, Any] = field(init=False)
    rho: np.ndarray[Any, Any] = field(init=False)
    settled: np.ndarray[Any, Any] = field(init=False)
    occurrences: np.ndarray[Any, Any] = field(init=False)
    #: Of the words that divide groups, as each group uses them, (G, K, S, d) and (G, K, S).
    group_q: np.ndarray[Any, Any] = field(init=False)
    group_rho: np.ndarray[Any, Any] = field(init=False)

    def __post_init__(self) -> None:
        generator = np.random.default_rng(5)
        size = (len(self.words), len(TIMES))
        shares = generator.uniform(0.3, 1.7, DIM)
        self.profile = shares / shares.mean() if self.profiled else np.ones(DIM)
        steps = generator.standard_normal((*size, DIM)) * 0.45
        steps[:, 0] = generator.standard_normal((len(self.words), DIM))
        paths = steps.cumsum(axis=1)
        self.q = np.rint(127 * paths / np.abs(paths).max(axis=(1, 2), keepdims=True)).astype(np.int8)
        self.q[self.number("coal"), 2] = 0  # a word without a direction
        noise = generator.uniform(0.02, 0.3, size).astype(np.float16)
        self.rho = noise if self.uncertain else np.zeros(size, dtype=np.float16)
        self.settled = (generator.random(size) > 0.1).astype(np.uint8)
        self.settled[self.number("coal"), 2] = 0
        self.occurrences = generator.poisson(2.0, size).astype("<u4")
        for place in range(len(self.words)):  # most words do not occur for a while
            self.occurrences[place, place % 7 : place % 7 + 4 * (place % 3)] = 0
        own = np.array([self.number(word) for word in DIVIDED if word in self.words], dtype=np.int64)
        shift = generator.integers(-40, 41, (len(self.groups), len(own), 1, DIM))
        self.group_q = np.clip(self.q[own].astype(np.int64) + shift, -127, 127).astype(np.int8)
        self.group_rho = np.broadcast_to(1.2 * self.rho[own], self.group_q.shape[:3]).astype(np.float16)

    def number(self, word: str) -> int:
        return self.words.index(word)

    def scaled(self, words: list[int] | np.ndarray[Any, Any], slice_number: int) -> Scaled:
        """The words as the library's formulas take them, with noise by the profile."""
        return self._scaled(self.q[words, slice_number], self.rho[words, slice_number])

    def group_scaled(self, group: int, place: int, slice_number: int) -> Scaled:
        """The same of one divided word in a group."""
        where = group, [place], slice_number
        return self._scaled(self.group_q[where], self.group_rho[where])

    def _scaled(self, stored: np.ndarray[Any, Any], noise: np.ndarray[Any, Any]) -> Scaled:
        mean = stored.astype(np.float64)
        mean /= np.linalg.norm(mean, axis=1, keepdims=True)
        variance = noise.astype(np.float64)[:, None] ** 2 * self.profile
        return scaled(mean, variance, closeness=self.closeness)

    def header(self, embedded: bool) -> dict[str, Any]:
        slices = [
            {
                "time": time,
                "label": f"{shown}s",
                "shown": shown,
                "tokens": 1000 * (1 + place % 4),
                "documents": place + 1,
            }
            for place, (time, shown) in enumerate(zip(TIMES, SHOWN, strict=True))
        ]
        return {
            "format": "wordtide-explorer",
            "version": 1,
            "title": "A world <b>of</b> tests",
            "estimand": "Similarity is the expected cosine under the posterior, with its 90 % interval.",
            "method": "smoothing" if self.uncertain else "independent",
            "uncertain": self.uncertain,
            "vectors": "sum",
            "dim": DIM,
            "words": list(self.words),
            "totals": [1000 - 3 * place for place in range(len(self.words))],
            "slices": slices,
            "all_slices": [{"time": one["time"], "tokens": one["tokens"]} for one in slices]
            + [{"time": 2010.5, "tokens": 17}],
            "left_out": {"words": 12, "slices": 1, "why": LEFT_OUT},
            "embedded": embedded,
            "words_per_chunk": 7,
            "map": True,
            "examples": self.examples,
            "groups": list(self.groups),
            "known": {"noise": 0.2, "often": 50},
            "slices_nearby": NEARBY,
            "noise_profile": self.profile.tolist() if self.profiled and self.uncertain else None,
            "closeness": self.closeness,
            "quantisation": {
                "similarity": 0.004,
                "spread": 0.05 if self.uncertain else None,
                "profiled_spread": 0.012 if self.uncertain else None,
            },
            "about": {
                "corpus": {
                    "documents": 45,
                    "tokens": 20000,
                    "distinct_words": 900,
                    "first": "1800s",
                    "last": "2000s",
                    "slices": 10,
                    "words": len(self.words) + 12,
                },
                "settings": {
                    "method": "smoothing",
                    "dim": DIM,
                    "diffusion": 0.001,
                    "seed": 0,
                    "note": "<i>no</i>",
                },
                "wordtide": "0.1.0",
                "licence": "CC0",
                "cite": ["Cite <b>this</b>."],
                "bibtex": "@software{wordtide}",
            },
        }

    def stories(self) -> list[dict[str, Any]]:
        return [self.story(number) for number in range(len(self.words))]

    def span(self, number: int) -> tuple[int, int]:
        """The first and the last slice of a word's own time."""
        return 1 + number % 3, 8 - number % 2

    def verdict(self, number: int) -> dict[str, Any]:
        """How a word changed: by turns gradually, by a jump, by two jumps, or for a while."""
        names = (
            "date",
            "date_low",
            "date_high",
            "second_date",
            "log_bayes_factor",
            "effect",
            "effect_low",
            "style",
        )
        unknown = dict.fromkeys(names)
        if not self.uncertain:
            return {"verdict": None, "shape": None, **unknown}
        if not self.sure:
            return {"verdict": "unsure", "shape": None, **unknown, "log_bayes_factor": -2.0}
        shape = ("gradual", "jump", "two jumps", "burst")[number % 4]
        second = 1951.5 if number % 4 > 1 else None
        numbers = (1890.5, 1875.6, 1900.5, second, 40.0, 0.3 - 0.005 * number, 0.2 - 0.003 * number, 0.01)
        return {
            "verdict": "gradual" if shape == "gradual" else "jump",
            "shape": shape,
            **dict(zip(names, numbers, strict=True)),
        }

    def story(self, number: int) -> dict[str, Any]:
        word, others = (
            self.words[number],
            [self.words[(number + step) % len(self.words)] for step in range(1, 13)],
        )
        start, end = others[:5], others[5:10]
        first, last = self.span(number)
        interval = (0.3 if self.sure else 0.0, 0.9) if self.uncertain else (None, None)
        moved = f"{word} moved from {', '.join(start[:3])} ({SHOWN[first]}) to {', '.join(end[:3])} ({SHOWN[last]}); "
        moved += f"half-way between 1875 and 1900; turned by 60°{' (46° to 84°)' if self.uncertain else ''}."
        stood = f"{word} may not have moved at all between {SHOWN[first]} and {SHOWN[last]}, and turned by at most 84°. "
        stood += f"Near it: {', '.join(start[:3])} ({SHOWN[first]}); {end[0]} ({SHOWN[last]})."
        return {
            "sentence": moved if self.sure else stood,
            **self.verdict(number),
            "since": TIMES[first],
            "until": TIMES[last],
            "change": 0.5,
            "low": interval[0],
            "high": interval[1],
            "halfway": 1890.0,
            "halfway_from": 1875.6 if self.uncertain else None,
            "halfway_to": 1900.5 if self.uncertain else None,
            "from": start,
            "to": end,
            "beside": [start[0], end[0], start[1], end[1], start[2], end[2]],
        }

    def changed(self) -> dict[str, Any]:
        numbers = list(range(len(self.words)))
        low = [0.6 - 0.01 * place if self.sure else 0.0 for place in numbers]
        none = [None] * len(numbers)
        significant = self.uncertain and self.sure
        dated = [place % 3 > 0 and significant for place in numbers]
        columns = {
            "word": numbers,
            "change": [0.9 - 0.01 * ((7 * place) % len(numbers)) for place in numbers],
            "low": low if self.uncertain else none,
            "high": [1.2] * len(numbers) if self.uncertain else none,
            "probability": [0.5] * len(numbers) if self.uncertain else none,
            "significant": [significant] * len(numbers),
            "since": [TIMES[self.span(place)[0]] for place in numbers],
            "until": [TIMES[self.span(place)[1]] for place in numbers],
            "halfway_from": [1875.6 if known else None for known in dated],
            "halfway_to": [1900.5 if known else None for known in dated],
            "from": [", ".join(self.story(place)["from"][:3]) for place in numbers],
            "to": [", ".join(self.story(place)["to"][:3]) for place in numbers],
            "occurrences": [int(row.sum()) for row in self.occurrences],
            **{name: [self.verdict(place)[name] for place in numbers] for name in self.verdict(0)},
        }
        edges = [float(edge) for edge in range(0, 95, 5)]
        histogram = {
            "edges": edges,
            "observed": list(range(18, 0, -1)),
            "expected": [float(n) for n in range(1, 19)],
        }
        notes = [UNSURE] if self.uncertain and not self.sure else []
        return {"min_occurrences": 20, "notes": notes, "columns": columns, "histogram": histogram}

    def divided(self) -> dict[str, Any]:
        """The words that divide groups: the first two groups, or the first and the last."""
        words = [self.number(word) for word in DIVIDED if word in self.words]
        count = len(words)
        near = [self.story(word)["from"][:3] for word in words]
        other = [self.story(word)["to"][:3] for word in words]
        columns = {
            "word": words,
            "group": [0] * count,
            "other": [1 + place % 2 for place in range(count)],
            "effect": [0.3 - 0.05 * place for place in range(count)],
            "effect_low": [0.2 - 0.04 * place for place in range(count)],
            "log_bayes_factor": [20.0] * count,
            "near": [", ".join(side) for side in near],
            "other_near": [", ".join(side) for side in other],
            "occurrences": [300] * count,
            "other_occurrences": [200] * count,
            "uses": [[300, 200, 200][: len(self.groups)]] * count,
        }
        return {"notes": [], "columns": columns}

    def group_block(self) -> bytes:
        deltas = np.diff(self.group_q.astype(np.int16), axis=2, prepend=0).astype(np.int8)
        settled = np.ones(self.group_q.shape[:3], dtype=np.uint8)
        return deltas.tobytes() + self.group_rho.astype("<f2").tobytes() + settled.tobytes()

    def inferred(self, slice_number: int) -> np.ndarray[Any, Any]:
        """Which words do not occur near a slice, (W,)."""
        near = self.occurrences[:, max(slice_number - NEARBY, 0) : slice_number + NEARBY + 1]
        return np.asarray(near.sum(axis=1) == 0)

    def map(self) -> dict[str, Any]:
        angle = np.linspace(0.0, 6.0, len(self.words))
        frames = [0, 4, 8]
        places = [(np.cos(angle + 0.2 * frame) * (0.4 + 0.01 * np.arange(len(angle)))) for frame in frames]
        heights = [(np.sin(angle + 0.2 * frame) * (0.4 + 0.01 * np.arange(len(angle)))) for frame in frames]
        return {
            "words": list(range(len(self.words))),
            "times": [TIMES[frame] for frame in frames],
            "shown": ["1800", "1875", "2000"],
            "x": [place.tolist() for place in places],
            "y": [place.tolist() for place in heights],
            "effect": [self.verdict(number)["effect"] for number in range(len(self.words))],
            "function": [word in ("he", "about", "she") for word in self.words],
            "region": [number % 4 for number in range(len(self.words))],
            "regions": [[region, region + 4] for region in range(4)],
        }

    def examples_of(self, numbers: range) -> dict[str, Any]:
        sentence = {
            "before": "Give me <b>more</b> ",
            "after": " & light.",
            "document": "A-1",
            "slice": 5,
            "shown": "1900",
            **({"group": self.groups[1]} if self.groups else {}),
        }
        early = {**sentence, "before": "Once upon ", "slice": 1, "shown": "1825", "shows": "old"}
        late = {**sentence, "before": "Today ", "after": " is all. " + "w" * 300, "slice": 8, "shown": "2000"}
        return {
            str(number): [
                {**one, "word": self.words[number]} for one in (early, sentence, {**late, "shows": "new"})
            ]
            for number in numbers
        }

    def block(self, words: slice, slices: slice) -> bytes:
        noise = self.rho[words, slices].astype("<f2")
        return self.q[words, slices].tobytes() + noise.tobytes() + self.settled[words, slices].tobytes()

    def embedded(self) -> dict[str, bytes]:
        """The resources of a single file."""
        deltas = np.diff(self.q.astype(np.int16), axis=1, prepend=0).astype(np.int8)
        vectors = deltas.tobytes() + self.rho.astype("<f2").tobytes() + self.settled.tobytes()
        found = {
            "header.bin": _json(self.header(embedded=True)),
            "occurrences.bin": _packed(self.occurrences.tobytes()),
            "stories.bin": _json(self.stories()),
            "changed.bin": _json(self.changed()),
            "cards.bin": _json(list(range(12, 24) if len(self.words) > 24 else range(6))),
            "map.bin": _json(self.map()),
            "vectors.bin": _packed(vectors),
        }
        if self.groups:
            found["divided.bin"] = _json(self.divided())
            found["groups.bin"] = _packed(self.group_block())
        if self.examples:
            found["examples.bin"] = _json(self.examples_of(range(len(self.words))))
        return found

    def remote(self) -> dict[str, bytes]:
        """The resources of a folder or a server."""
        found = self.embedded()
        for name in ("vectors.bin", "stories.bin", "examples.bin"):
            found.pop(name, None)
        found["header.bin"] = _json(self.header(embedded=False))
        for number in range(len(TIMES)):
            found[f"slices/{number:04}.bin"] = _packed(self.block(slice(None), slice(number, number + 1)))
        stories = self.stories()
        for chunk in range(-(-len(self.words) // 7)):
            part = slice(7 * chunk, 7 * chunk + 7)
            found[f"words/{chunk:04}.bin"] = _packed(self.block(part, slice(None)))
            found[f"stories/{chunk:04}.bin"] = _json(stories[part])
            found[f"examples/{chunk:04}.bin"] = _json(self.examples_of(range(len(self.words))[part]))
        return found


def _packed(content: bytes) -> bytes:
    return gzip.compress(content, mtime=0)


def _json(content: object) -> bytes:
    return _packed(json.dumps(content, ensure_ascii=False, allow_nan=False).encode("utf-8"))
