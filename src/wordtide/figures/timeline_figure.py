"""Words that changed: the similarity of each over time to its nearest neighbors at the start and at the end.

This is the paper's first figure: the ten words that changed most, with the nearest words at the start in red
and at the end in blue. The verdict is shaded behind the curves: a step where the word jumped, a slope where
it changed gradually.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from wordtide.embeddings.states import Embeddings
from wordtide.errors import SettingsError
from wordtide.figures.curves import (
    MOST_PANELS,
    Curve,
    arrays_of,
    averaged,
    curves_of,
    draw_curve,
    draw_time_axis,
    end_of,
    fit_heights,
    is_erratic,
    panel_grid,
)
from wordtide.figures.labels import end_labels
from wordtide.figures.style import BLACK, END_COLOR, GREY, START_COLOR, shown, styled, text_widths
from wordtide.progress import Observer
from wordtide.questions.answers import question_period, shown_date
from wordtide.questions.change import changed
from wordtide.questions.divided import ALL, divided, group_views, groups_of
from wordtide.questions.effect import verdicts
from wordtide.questions.movement import shown_halfway
from wordtide.questions.neighbors import nearest
from wordtide.questions.similarity import similarity
from wordtide.questions.story import dated_change
from wordtide.questions.vectors import Vectors, vectors_of
from wordtide.timeline import Time
from wordtide.types import Floats, Integers

NEAREST = 5
_SIZE = 7.0  # points
_WIDEST = 85.0  # points
_SHADE = 0.08
_MARK = 0.95  # the height of the mark of a jump


@dataclass(frozen=True)
class Change:
    """A word's change according to its verdict: dates in float years, and a caption."""

    shape: str
    low: float
    date: float
    high: float
    second: float
    caption: str

    def course(self) -> list[tuple[float, float]]:
        """How much of the change has happened at which dates, from 0 to 1."""
        if self.shape == "two jumps":
            return [(self.date, 0.0), (self.date, 0.5), (self.second, 0.5), (self.second, 1.0)]
        if self.shape == "burst":
            return [(self.date, 0.0), (self.date, 1.0), (self.second, 1.0), (self.second, 0.0)]
        if self.shape == "jump":
            return [(self.date, 0.0), (self.date, 1.0)]
        return [(self.low, 0.0), (self.high, 1.0)]


@dataclass(frozen=True)
class Panel:
    """One word: curves to its nearest neighbors at the start and at the end, and how it changed.

    Without a verdict it has the interval of its half-way date.
    """

    word: str
    starts: Sequence[Curve]
    ends: Sequence[Curve]
    halfway: tuple[float, float] | None = None
    change: Change | None = None


def timeline_figure(panels: Sequence[Panel]) -> Figure:
    """Draw a panel per word.

    Names of start words are left of their lines, names of end words right of theirs. A word that is near at
    both ends has a black line and its name on both sides. Shades show how much of the change has happened, a
    mark the date of a jump with its interval. Without a verdict the half-way interval is shaded. There are no
    bands: ten of them in a small panel would hide all lines. Running means are drawn if curves are erratic.
    """
    panels = [_checked(panel) for panel in panels]
    erratic = any(is_erratic(curve) for panel in panels for curve in (*panel.starts, *panel.ends))
    if erratic:
        panels = [
            replace(
                panel,
                starts=[averaged(curve) for curve in panel.starts],
                ends=[averaged(curve) for curve in panel.ends],
            )
            for panel in panels
        ]
    with styled():
        figure, grid = panel_grid(len(panels), height=1.45)
        width = text_widths(figure, _SIZE)
        fit_heights(grid, [curve for panel in panels for curve in (*panel.starts, *panel.ends)], bands=False)
        for axes, panel in zip(grid, panels, strict=True):
            _draw_panel(axes, panel, width)
        _set_scale_aside(grid, panels, width)
        figure.supylabel("similarity (running means)" if erratic else "similarity", fontsize="medium")
        _draw_key(figure, panels)
    return figure


def _set_scale_aside(grid: Sequence[Axes], panels: Sequence[Panel], width: Callable[[str], float]) -> None:
    """Move the scale of the first column left of the names, and remove the same scale from other columns."""
    first = [
        place is not None and place.is_first_col() for place in (axes.get_subplotspec() for axes in grid)
    ]
    names = [
        _name(curve, width)
        for panel, leftmost in zip(panels, first, strict=True)
        if leftmost
        for curve in panel.starts
    ]
    widest = max((width(name) for name in names), default=0.0)
    for axes, leftmost in zip(grid, first, strict=True):
        axes.yaxis.set_major_locator(MaxNLocator(4, steps=[1, 2, 2.5, 5, 10]))
        if leftmost:
            axes.spines.left.set_position(("outward", widest + 12.0))
        else:
            axes.spines.left.set_visible(False)
            axes.tick_params(axis="y", left=False, labelleft=False)


def _draw_key(figure: Figure, panels: Sequence[Panel]) -> None:
    handles: list[Artist] = [
        Line2D([], [], color=START_COLOR, label="nearest at the start"),
        Line2D([], [], color=END_COLOR, label="nearest at the end"),
        Line2D([], [], color=GREY, alpha=0.5, linewidth=0.7, label="faint: words seldom occur"),
    ]
    if any(_others(panel.starts) & _others(panel.ends) for panel in panels):
        handles.insert(2, Line2D([], [], color=BLACK, label="at both"))
    shaded = partial(Patch, color=BLACK, alpha=_SHADE, linewidth=0.0)
    if any(panel.change for panel in panels):
        handles.append(shaded(label="how much has changed"))
    if any(panel.change and panel.change.shape == "jump" for panel in panels):
        handles.append(
            Line2D([], [], color=BLACK, marker="v", markersize=4.0, linewidth=1.0, label="jump, 90% interval")
        )
    if any(panel.halfway and not panel.change for panel in panels):
        handles.append(shaded(label="half-way, 90% interval"))
    figure.legend(handles=handles, loc="outside lower center", ncols=len(handles) if len(handles) < 5 else 3)


def _checked(panel: Panel) -> Panel:
    """The panel, with arrays in place of lists."""
    if not panel.starts and not panel.ends:
        raise SettingsError(
            f"There is no word near {panel.word!r} to draw.", "Choose another word, or other times."
        )
    starts, ends = ([arrays_of(curve) for curve in curves] for curves in (panel.starts, panel.ends))
    return replace(panel, starts=starts, ends=ends)


def _draw_panel(axes: Axes, panel: Panel, width: Callable[[str], float]) -> None:
    curves = [*panel.starts, *panel.ends]
    starts, ends = _others(panel.starts), _others(panel.ends)
    colors = (
        dict.fromkeys(ends, END_COLOR)
        | dict.fromkeys(starts, START_COLOR)
        | dict.fromkeys(starts & ends, BLACK)
    )
    if panel.halfway and not panel.change:
        axes.axvspan(*panel.halfway, color=BLACK, alpha=_SHADE, linewidth=0.0, zorder=0.5)
    for curve in curves:
        draw_curve(axes, curve, colors[curve.other], width=1.1)
    axes.set_title(shown(panel.word), parse_math=False, fontweight="bold", pad=12.0 if panel.change else None)
    if panel.change:
        _draw_change(axes, panel.change, max(float(curve.times[-1]) for curve in curves))
    draw_time_axis(axes, np.concatenate([curve.times for curve in curves]), ticks=4)
    lefts = [(*end_of(curve, 0), _name(curve, width), colors[curve.other]) for curve in panel.starts]
    rights = [(*end_of(curve, -1), _name(curve, width), colors[curve.other]) for curve in panel.ends]
    end_labels(axes, lefts, "left", _SIZE)
    end_labels(axes, rights, "right", _SIZE)


def _draw_change(axes: Axes, change: Change, end: float) -> None:
    """Shade how much of the change has happened, mark the date of a jump, and say it in words."""
    years, heights = zip(*change.course(), strict=True)
    across = axes.get_xaxis_transform()
    axes.fill_between(
        [*years, max(end, years[-1])],
        [*heights, heights[-1]],
        color=BLACK,
        alpha=_SHADE,
        linewidth=0.0,
        zorder=0.5,
        transform=across,
    )
    if change.shape == "jump":
        axes.plot([change.low, change.high], [_MARK, _MARK], color=BLACK, linewidth=1.0, transform=across)
        axes.plot([change.date], [_MARK], color=BLACK, marker="v", markersize=4.0, transform=across)
    axes.annotate(
        change.caption,
        (0.5, 1.0),
        xycoords="axes fraction",
        xytext=(0.0, 3.5),
        textcoords="offset points",
        ha="center",
        fontsize=_SIZE + 0.5,
    )


def _name(curve: Curve, width: Callable[[str], float]) -> str:
    """The name beside a curve, shortened to leave room for curves between four columns of names."""
    name = cut = shown(curve.other)
    while width(cut) > _WIDEST and len(name) > 1:
        name = name[:-1]
        cut = f"{name}\u2026"
    return cut


def _others(curves: Sequence[Curve]) -> set[str]:
    return {curve.other for curve in curves}


def timeline_of(
    model: Embeddings,
    words: Iterable[str] | None = None,
    since: Time = "first",
    until: Time = "last",
    top: int = 10,
    observer: Observer | None = None,
) -> list[Panel]:
    """The panels of words, or of the `top` words that changed most between two times."""
    start, end, _ = question_period(model, since, until)
    named = None if words is None else [model.word_number(word) for word in words]
    asked = top if named is None else len(named)
    if asked > MOST_PANELS:
        raise SettingsError(f"{asked} words do not fit into one figure.", f"Choose {MOST_PANELS} or fewer.")
    if named is None:
        named = [model.index[word] for word in changed(model, start, end, top).columns["word"]]
    if not named:
        raise SettingsError("There is no word to draw.", "Name words, or choose a longer period.")
    chosen = vectors_of(model)
    vectors = _CachedMeans(**vars(chosen))
    panels, observer = [], observer or Observer()
    with observer.stage("drawing", len(named), "words"):
        for number in named:
            panels.append(_panel_of(model, vectors, number, start, end))
            observer.step()
    return panels


def timeline_by_group(
    model: Embeddings, words: Sequence[str] | None, since: Time, until: Time, top: int
) -> list[Panel]:
    """The panels of words as each group uses them, or of the `top` words that groups use most differently."""
    if words is None:
        most = max(1, MOST_PANELS // len(groups_of(model).names))
        words = list(divided(model, at=until, top=min(top, most)).columns["word"])
    if not words:
        raise SettingsError(
            "No word differs significantly between groups, so there is nothing to draw.", "Name words."
        )
    views = [(word, group, view) for word in words for group, view in group_views(model, word)[0].items()]
    if len(views) > MOST_PANELS:
        raise SettingsError(
            f"{len(views)} panels, one for each word and group, do not fit into one figure.",
            f"Choose fewer words: {MOST_PANELS} panels fit.",
        )
    panels = [(group, timeline_of(view, [word], since, until)[0]) for word, group, view in views]
    return [
        panel if group == ALL else replace(panel, word=f"{panel.word} ({group})") for group, panel in panels
    ]


@dataclass(frozen=True)
class _CachedMeans(Vectors):
    """Vectors that cache the means of all words at a time, because every panel needs the same two times."""

    kept: dict[float, Floats] = field(default_factory=dict)

    def means_at(self, time: float, words: Integers | None = None) -> Floats:
        """Means of some words, or of all, at one time, (n, d)."""
        if words is not None:
            return super().means_at(time, words)
        if time not in self.kept:
            self.kept[time] = super().means_at(time)
        return self.kept[time]


def _panel_of(model: Embeddings, vectors: Vectors, number: int, start: float, end: float) -> Panel:
    word = model.words[number]
    starts, ends = (
        [model.words[near] for near in nearest(model, vectors, number, year, NEAREST)]
        for year in (start, end)
    )
    near = dict.fromkeys([*starts, *ends])
    inner = model.times[(model.times > start) & (model.times < end)].tolist()
    curves = curves_of(similarity(model, word, *near, times=[start, *inner, end]).columns) if near else {}
    by_name = {other: curve for (_, _, other), curve in curves.items()}
    lefts, rights = ([by_name[name] for name in names] for names in (starts, ends))
    change = _change_of(model, number, start, end)
    interval = None if change else _half_way(model, vectors, number, start, end)
    return Panel(word, lefts, rights, interval, change)


def _change_of(model: Embeddings, number: int, start: float, end: float) -> Change | None:
    """How a word changed between two times, by its verdict."""
    facts = {name: values[0] for name, values in verdicts(model, np.array([number])).items()}
    if facts["shape"] is None or not start <= facts["date"] <= end:
        return None
    low, date, high, second = (
        float(facts[name]) for name in ("date_low", "date", "date_high", "second_date")
    )
    return Change(facts["shape"], low, date, high, second, dated_change(facts, partial(shown_date, model)))


def _half_way(
    model: Embeddings, vectors: Vectors, number: int, start: float, end: float
) -> tuple[float, float] | None:
    """The interval of the half-way date of a word without a verdict."""
    (found,) = shown_halfway(model, vectors, np.array([number]), start, end)
    return (found.earliest, found.latest) if math.isfinite(found.earliest) else None
