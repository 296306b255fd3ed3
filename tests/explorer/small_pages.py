"""Small models with words of all sorts, a page without a program, and pages of data read back as the page
reads them.
"""

import base64
import gzip
import json
import re

import numpy as np
from embeddings.models import diffusion_of, model_of, posterior_of
from oracles.questions import planted

from wordtide.embeddings.posterior import Posterior
from wordtide.explorer.nearest_lists import FRESH, LISTED, NONE, SAME
from wordtide.explorer.page_data import Labels, PageData
from wordtide.explorer.page_views import select_all

#: Kinds of posterior with separate contexts, and two with tied ones.
KINDS = ("smoother", "filter", "point", "tied smoother", "tied filter")
#: The share of axes on which words and tied contexts agree.
_POSITIVE = 2 / 3
#: Words that mean something to a browser or to a reader of JSON.
HOSTILE = [
    "</script>", "<!--", "]]>", "__proto__", "constructor", "שלום", "\u202ertl", "🌊", "nul\0", "'\"&`", "\\u0041", "\u2028",
]  # fmt: skip
PAGE = (
    '<!doctype html>\n<html lang="en"><head><!--wordtide:policy--><style>p { margin: 0 }</style></head>'
    "<body><!--wordtide:data--><script>document.title = 'é';</script></body></html>\n"
)


def small_model(kind="smoother", words=30, slices=9, dim=6, seed=0, names=None, **facts):
    """A model whose words occur at some of the slices, a few at none or at one; of smooth and well-known
    trajectories.
    """
    generator = np.random.default_rng(seed)
    names = names or [f"w{n}" for n in range(words)]
    seen = [np.flatnonzero(generator.random(slices) < share) for share in generator.random(len(names))]
    places = {word: list(map(int, there)) for word, there in zip(names, seen, strict=True)}
    times = 1900.0 + np.cumsum(generator.uniform(0.5, 6.0, slices))
    tied, kind = kind.startswith("tied "), kind.removeprefix("tied ")
    posterior = posterior_of(kind, places, dim=dim, seed=seed)
    drift = np.repeat(generator.standard_normal((len(names), dim)), [len(there) for there in seen], axis=0)
    for mean in (posterior.mean_u, posterior.mean_v):
        mean *= 0.3
        mean += drift.astype(np.float32)
    if tied:
        signs = np.where(np.arange(dim) < _POSITIVE * dim, 1.0, -1.0).astype(np.float32)
        spreads = {"variance_u": posterior.variance_u, "precision_u": posterior.precision_u}
        posterior = Posterior(kind, posterior.knots, posterior.mean_u, signs=signs, **spreads)
    facts = {"values": generator.integers(1, 400, len(posterior.knots)), **facts}
    return model_of(kind, places, diffusion_of(times), posterior=posterior, **facts)


def moving_model(kind="smoother", words=24, slices=6):
    """A model in which every second word surely moves; words occur once in each of their first slices, so
    times differ.
    """
    generator = np.random.default_rng(4)
    starts, ends = generator.standard_normal((2, words, 1, 8))
    ends[1::2] = starts[1::2]
    share = np.linspace(0.0, 1.0, slices)[:, None]
    occurrences = np.full((words, slices), 40)
    for number in range(words):
        occurrences[number, : number % 3] = 1
    spread = {"smoother": 500.0, "filter": 0.002, "point": None}[kind]
    times = 1900.5 + 10.0 * np.arange(slices)
    return planted(
        kind, (1.0 - share) * starts + share * ends, spread, times=times, values=occurrences.ravel()
    )


def page_data(model, **facts):
    return PageData(model, select_all(model), facts.pop("labels", Labels("A title")), **facts)


def opened(packed):
    return gzip.decompress(packed)


def parsed(packed):
    """JSON as a strict reader takes it."""

    def refuse(name):
        raise AssertionError(f"{name} is no JSON")

    return json.loads(opened(packed).decode("utf-8"), parse_constant=refuse)


def block_of(packed, rows, dim):
    """Directions (rows, d), noise and flags of a packed block."""
    content = opened(packed)
    assert len(content) == rows * (dim + 3)
    directions = np.frombuffer(content, np.int8, rows * dim).reshape(rows, dim)
    return (
        directions,
        np.frombuffer(content, "<f2", rows, rows * dim),
        np.frombuffer(content, np.uint8, rows, rows * (dim + 2)),
    )


def lists_of(packed, slices):
    """Positions of the words in lists of neighbors, by word and slice."""
    content = opened(packed)
    (number,) = np.frombuffer(content, "<u4", 1)
    fresh = iter(np.frombuffer(content, "<u4", number, 4).tolist())
    codes, lists = iter(content[4 + 4 * int(number) :]), []
    for code in codes:
        before = lists[-1] if len(lists) % slices else []
        if code == SAME:
            lists.append(before)
        else:
            stored = [code, *(next(codes) for _ in range(LISTED - 1))]
            lists.append([next(fresh) if one == FRESH else before[one] for one in stored if one != NONE])
    assert not list(fresh)
    return lists


def undone(differences, slices):
    """Directions from differences along time, as the page adds them up: byte by byte, without carrying."""
    directions = differences.reshape(-1, slices, differences.shape[1]).astype(np.int64)
    return ((np.cumsum(directions, axis=1) + 128) % 256 - 128).reshape(differences.shape)


def blocks_in(html):
    """The data blocks of a page by name."""
    found = re.findall(
        rb'<script type="application/octet-stream" data-resource="([^"]*)">([^<]*)</script>', html
    )
    return {name.decode(): base64.b64decode(content, validate=True) for name, content in found}


def sum_of(model, word, time):
    """Mean and variance (d,) of the sum of a word's and its context's vector."""
    mean = model.mean(word, time) + model.context_mean(word, time)
    signs = model.fitted.posterior.signs
    if signs is not None:  # u + S u
        return mean, model.variance(word, time) * (1.0 + signs) ** 2
    return mean, model.variance(word, time) + model.context_variance(word, time)
