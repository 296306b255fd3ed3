"""The cloud of words at several times side by side, with a trail from each word's previous position.

Where the model is smooth, few words move and most stay (the paper's figure of word clouds).
"""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backend_bases import RendererBase
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.cm import ScalarMappable
from matplotlib.collections import LineCollection
from matplotlib.colors import LinearSegmentedColormap, Normalize
from matplotlib.figure import Figure

from wordtide.embeddings.states import Embeddings
from wordtide.errors import SettingsError
from wordtide.figures.dynamic_tsne import FEWEST_WORDS, dynamic_tsne
from wordtide.figures.labels import place_names
from wordtide.figures.style import BLUE, ORANGE, VERMILLION, WIDTH, NotebookFigure, printable, styled
from wordtide.progress import Observer
from wordtide.questions.answers import shown_year
from wordtide.questions.vectors import vectors_of
from wordtide.timeline import Time
from wordtide.types import Array, Floats, Integers

Row = dict[str, str | float]

PANELS = 4
_MOST_PANELS = 6
_FEWEST_OCCURRENCES = 5
_MOST_LABELS = 14  # what a panel of a quarter of a page's width can hold
_CLOUD, _BORDER = "#9A9A9A", "#C4C4C4"
_TRAIL = 0.3  # width in points
_INK = 0.25  # the share of a panel that trails may cover
_TRAILS = LinearSegmentedColormap.from_list("trails", ["#D5D5D5", ORANGE, VERMILLION])


def map_figure(
    layout: Floats,
    words: Sequence[str],
    times: Sequence[str],
    labelled: Sequence[str] | None = None,
    sizes: Array | None = None,
) -> Figure:
    """Draw a panel per time from the positions (T, N, 2) of words, with the same limits.

    The `times` are the titles of the panels.

    Trails are colored by how far a word moved, in standard deviations of the layout. The `labelled` words are
    named where there is room, the first ones first; None: those that moved furthest. `sizes` (N,), say
    numbers of occurrences, weigh that choice and make the points of frequent words larger.
    """
    layout = np.asarray(layout, dtype=np.float64)
    _check_layout(layout, words, times, sizes)
    spread = float(np.sqrt(((layout - layout.mean(axis=1, keepdims=True)) ** 2).sum(axis=2).mean())) or 1.0
    moved = np.linalg.norm(np.diff(layout, axis=0), axis=2) / spread
    chosen = _labelled_words(words, labelled, moved, sizes)
    far = float(np.quantile(moved, 0.995)) if moved.size else 1.0
    colors = ScalarMappable(Normalize(0.0, far or 1.0), _TRAILS)
    with styled():
        figure = NotebookFigure(figsize=(WIDTH, _height(layout)))
        panels = figure.subplots(1, len(layout), squeeze=False)[0]
        for t, axes in enumerate(panels):
            _frame(axes, layout, times[t])
            if t:
                _draw_trails(axes, layout[t - 1 : t + 1], moved[t - 1], colors, chosen, len(layout))
            areas = 0.35 if sizes is None else _areas(np.asarray(sizes, dtype=np.float64))
            axes.scatter(*layout[t].T, s=areas, color=_CLOUD, linewidths=0.0, rasterized=True, zorder=2)
            axes.scatter(*layout[t][chosen].T, s=5.0, color=BLUE, linewidths=0.0, zorder=4)
        if len(layout) > 1:
            bar = figure.colorbar(
                colors, ax=panels.tolist(), location="bottom", shrink=0.4, aspect=45, pad=0.03, extend="max"
            )
            bar.set_label("moved since the panel before (sd of the map)", fontsize=7.0)
            bar.outline.set_linewidth(0.0)
        renderer: RendererBase = FigureCanvasAgg(figure).get_renderer()  # type: ignore[no-untyped-call]
        # names are placed by pixels, so the panels must have their final size
        figure.draw_without_rendering()
        for t, axes in enumerate(panels):
            place_names(axes, layout[t][chosen], [words[number] for number in chosen], renderer)
    return figure


def map_slices(model: Embeddings, times: Sequence[Time] | None = None) -> list[float]:
    """The times of a map in order, as float years; by default four slices spread over the model."""
    if times is None:
        wanted = np.linspace(model.times[0], model.times[-1], min(PANELS, len(model)))
        nearest = {int(np.argmin(np.abs(model.times - time))) for time in wanted}
        return [float(model.times[t]) for t in sorted(nearest)]
    years = [model.year(time) for time in times]
    if not 1 <= len(years) <= _MOST_PANELS or sorted(set(years)) != years:
        listed = ", ".join(str(time) for time in times)
        raise SettingsError(
            f"Cannot draw a map for these times: {listed or 'none'}.",
            f"Give 1 to {_MOST_PANELS} different times, from early to late.",
        )
    return years


def map_of(
    model: Embeddings,
    times: Sequence[Time] | None = None,
    labelled: Sequence[str] | None = None,
    top: int = 10_000,
    seed: int = 0,
    observer: Observer | None = None,
) -> tuple[Figure, list[Row]]:
    """Map the words of a model at several times by dynamic t-SNE.

    The map shows the `top` most frequent words that occur at least five times, and the labelled ones. Vectors
    are means, scaled to length 1, so that words of similar use are near each other.
    """
    years = map_slices(model, times)
    numbers, totals = _mapped_words(model, labelled, top)
    chosen = vectors_of(model)  # those that similarity compares
    vectors = np.stack([chosen.means_at(year, numbers) for year in years])
    lengths = np.linalg.norm(vectors, axis=2, keepdims=True)
    layout = dynamic_tsne(
        np.divide(vectors, lengths, out=vectors, where=lengths > 0.0), seed=seed, observer=observer
    )
    shown = [model.words[number] for number in numbers]
    titles = [shown_year(model, year) for year in years]
    names = None if labelled is None else [model.words[model.word_number(word)] for word in labelled]
    rows: list[Row] = [
        {"word": word, "time": year, "x": float(layout[t, n, 0]), "y": float(layout[t, n, 1])}
        for n, word in enumerate(shown)
        for t, year in enumerate(years)
    ]
    return map_figure(layout, shown, titles, names, totals), rows


def _mapped_words(model: Embeddings, labelled: Sequence[str] | None, top: int) -> tuple[Integers, Floats]:
    """The numbers of the words on a map (n,) in order, and their total occurrences (n,)."""
    totals: Floats = model.total_occurrences.astype(np.float64)
    frequent = np.argsort(-totals, kind="stable")[: max(0, top)]
    numbers = set(frequent[totals[frequent] >= _FEWEST_OCCURRENCES].tolist())
    numbers |= {model.word_number(word) for word in labelled or ()}
    if len(numbers) < FEWEST_WORDS:
        raise SettingsError(
            f"{len(numbers)} words are too few for a map.",
            f"Show at least {FEWEST_WORDS} with a larger --top.",
        )
    chosen = np.array(sorted(numbers), dtype=np.int64)
    return chosen, totals[chosen]


def _check_layout(layout: Floats, words: Sequence[str], times: Sequence[str], sizes: Array | None) -> None:
    if layout.shape != (len(times), len(words), 2) or not layout.size or not np.isfinite(layout).all():
        raise SettingsError(
            f"A layout of shape {layout.shape} does not fit {len(times)} times and {len(words)} words.",
            "Give finite positions (times, words, 2).",
        )
    if len(times) > _MOST_PANELS:
        raise SettingsError(
            f"{len(times)} panels are too small to read.", f"Give {_MOST_PANELS} times at most."
        )
    if sizes is not None and (np.shape(sizes) != (len(words),) or not (np.asarray(sizes) >= 0).all()):
        raise SettingsError("The sizes do not fit the words.", "Give one number per word, 0 or more.")


def _labelled_words(
    words: Sequence[str], labelled: Sequence[str] | None, moved: Floats, sizes: Array | None
) -> Integers:
    """The numbers of the words to label, the most important first."""
    if labelled is None:
        weights = np.ones(len(words)) if sizes is None else np.log1p(np.asarray(sizes, dtype=np.float64))
        importance = weights * moved.sum(axis=0) if len(moved) else weights
        return np.argsort(-importance, kind="stable")[:_MOST_LABELS].astype(np.int64)
    index = {word: number for number, word in enumerate(words)}
    missing = [word for word in labelled if word not in index]
    if missing:
        raise SettingsError(f"{missing[0]!r} is not on the map.", "Label only words that are on the map.")
    return np.array([index[word] for word in dict.fromkeys(labelled)], dtype=np.int64)


def _limits(layout: Floats) -> tuple[Floats, Floats]:
    """The lower left and upper right corner of all panels, (2,) each."""
    low, high = layout.min(axis=(0, 1)), layout.max(axis=(0, 1))
    margin = 0.04 * float((high - low).max()) or 1.0
    return low - margin, high + margin


def _height(layout: Floats) -> float:
    """The height in inches of panels, titles and color bar, without empty stripes."""
    low, high = _limits(layout)
    shape = float(np.clip((high[1] - low[1]) / (high[0] - low[0]), 0.3, 1.2))
    return shape * WIDTH / len(layout) + (0.7 if len(layout) > 1 else 0.25)


def _frame(axes: Axes, layout: Floats, title: str) -> None:
    low, high = _limits(layout)
    axes.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), xticks=[], yticks=[])
    axes.set_aspect("equal")
    axes.grid(False)
    axes.set_title(printable(title), parse_math=False)
    for spine in axes.spines.values():
        spine.set(visible=True, linewidth=0.4, color=_BORDER)


def _draw_trails(
    axes: Axes,
    places: Floats,
    moved: Floats,
    colors: ScalarMappable,
    chosen: Integers,
    panels: int,
) -> None:
    order = np.argsort(moved, kind="stable")  # the longest on top
    trails = places.transpose(1, 0, 2)[order]
    shades = np.asarray(colors.to_rgba(moved[order]))
    shades[:, 3] = _opacity(axes, places, panels)
    named = places.transpose(1, 0, 2)[chosen]
    axes.add_collection(
        LineCollection(list(trails), colors=shades, linewidths=_TRAIL, rasterized=True, zorder=1),
        autolim=False,
    )
    axes.add_collection(LineCollection(list(named), colors=BLUE, linewidths=0.8, zorder=3), autolim=False)


def _opacity(axes: Axes, places: Floats, panels: int) -> float:
    """The opacity of trails: strong for a few, faint for thousands, so that they do not hide the cloud."""
    units_per_point = (axes.get_xlim()[1] - axes.get_xlim()[0]) / (72.0 * WIDTH / panels)
    lengths = np.linalg.norm(places[1] - places[0], axis=1) / units_per_point
    extent = np.prod([np.ptp(limits) for limits in (axes.get_xlim(), axes.get_ylim())]) / units_per_point**2
    return float(np.clip(_INK * extent / max(float(lengths.sum()) * _TRAIL, 1e-300), 0.03, 0.8))


def _areas(sizes: Floats) -> Floats:
    """Areas of points, in square points, growing with the root of the size."""
    return 0.2 + 2.0 * np.sqrt(sizes / max(float(sizes.max()), 1e-300))
