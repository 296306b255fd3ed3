"""Names in a panel that do not overlap: in a column beside the ends of lines, or each beside its point.

Words are untrusted text: they are drawn as they are, never as mathematics.
"""

import math
from collections.abc import Sequence
from typing import Literal

import numpy as np
import numpy.typing as npt
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.backend_bases import RendererBase
from matplotlib.lines import Line2D
from matplotlib.text import Annotation, Text
from matplotlib.transforms import Bbox, IdentityTransform

from wordtide.figures.style import BLACK, printable
from wordtide.types import Floats

_POINT_SIZE = 5.5
#: The places of a name beside its word: (direction right, direction up) times a distance in points, the best
#: place first.
_DIRECTIONS = [(1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (-1, 1), (1, -1), (-1, -1)]
_DISTANCES = [3.0, 7.0, 12.0, 18.0]


def end_labels(
    axes: Axes,
    labels: Sequence[tuple[float, float, str, str]],
    side: Literal["right", "left"] = "right",
    size: float = 7.0,
) -> None:
    """Write names, (x, y, text, color) in data units, in a column beside the ends of lines.

    Names that would touch are pushed apart in the order of their heights; a thin line leads to each one that
    moved. An end that is not a number gets no name.
    """
    kept = [label for label in labels if np.isfinite(label[0]) and np.isfinite(label[1])]
    if kept:
        names = axes.add_artist(_EndLabels(axes, sorted(kept, key=lambda label: label[1]), side, size))
        names.set_clip_on(False)  # only what may leave the axes is given room by the layout


def spread_apart(heights: npt.ArrayLike, gap: float, low: float, high: float) -> Floats:
    """The positions nearest to sorted `heights` (n,) that are `gap` apart, within [low, high] if possible.

    If that is impossible, they overhang both ends by the same amount.
    """
    heights = np.asarray(heights, dtype=np.float64)
    offsets = gap * np.arange(len(heights))
    lacking = max(0.0, offsets[-1] - (high - low))
    low, high = low - lacking / 2.0, high + lacking / 2.0
    # places - offsets may only grow: a regression on growing sequences, whose bounded optimum is the clipped
    # one
    return np.clip(_nearest_growing(heights - offsets), low, max(low, high - offsets[-1])) + offsets


def _nearest_growing(values: Floats) -> Floats:
    """The nondecreasing sequence with the least squared distance from `values` (n,) (isotonic regression).

    SciPy has this too (`isotonic_regression`), but importing that takes longer than drawing a figure's names.
    """
    runs: list[tuple[float, int]] = []
    for value in values.tolist():
        mean, size = value, 1
        while runs and runs[-1][0] >= mean:
            before, length = runs.pop()
            mean, size = (before * length + mean * size) / (length + size), length + size
        runs.append((mean, size))
    return np.repeat([mean for mean, _ in runs], [size for _, size in runs])


class _EndLabels(Artist):
    """Names beside lines, positioned when they are drawn, because the axes have their size only then."""

    def __init__(
        self, axes: Axes, labels: Sequence[tuple[float, float, str, str]], side: str, size: float
    ) -> None:
        super().__init__()
        self.set_figure(axes.get_figure(root=False))  # type: ignore[arg-type]
        self.ends = np.array([label[:2] for label in labels], dtype=np.float64)
        self.side, self.size, self.host = side, size, axes
        self.texts = [
            Text(0, 0, printable(text), color=color, fontsize=size, parse_math=False, va="center_baseline")
            for _, _, text, color in labels
        ]
        self.leaders = [Line2D([], [], color=color, linewidth=0.4, alpha=0.7) for _, _, _, color in labels]
        for part in (*self.texts, *self.leaders):
            part.set_figure(axes.get_figure(root=False))  # type: ignore[arg-type]
            part.set_transform(IdentityTransform())
        self.set_zorder(5)

    def place(self, renderer: RendererBase) -> None:
        """Set the position of every text and leader, in pixels."""
        point = float(np.asarray(renderer.points_to_pixels(1.0)))
        ends = self.host.transData.transform(self.ends)
        frame = self.host.get_window_extent(renderer)
        gap = 1.25 * self.size * point
        heights = spread_apart(ends[:, 1], gap, frame.y0 + gap / 2.0, frame.y1 - gap / 2.0)
        right = self.side == "right"
        moved = np.abs(heights - ends[:, 1]) > 1.5 * point
        away = point * (8.0 if moved.any() else 3.0) * (1.0 if right else -1.0)
        column = (ends[:, 0].max() if right else ends[:, 0].min()) + away
        inset = point * (1.0 if right else -1.0)
        for text, leader, end, height, has_moved in zip(
            self.texts, self.leaders, ends, heights, moved, strict=True
        ):
            text.set_position((column, height))
            text.set_horizontalalignment("left" if right else "right")
            leader.set_data(*([end[0] + inset, column - inset], [end[1], height]) if has_moved else ([], []))

    def get_tightbbox(self, renderer: RendererBase | None = None) -> Bbox | None:
        """The box of all texts, which the layout keeps free."""
        if renderer is None or not self.get_visible():
            return None
        self.place(renderer)
        return Bbox.union([text.get_window_extent(renderer) for text in self.texts])

    def draw(self, renderer: RendererBase) -> None:
        """Draw texts and leaders at positions for the current axes."""
        if self.get_visible():
            self.place(renderer)
            for part in (*self.leaders, *self.texts):
                part.draw(renderer)
        self.stale = False


def place_names(axes: Axes, places: Floats, names: Sequence[str], renderer: RendererBase) -> None:
    """Write each name at the first free position beside its word; names without one are omitted."""
    frame = axes.get_window_extent(renderer)
    points = axes.transData.transform(places)
    pixels = float(np.asarray(renderer.points_to_pixels(1.0)))
    dots = [Bbox.from_bounds(x - pixels, y - pixels, 2.0 * pixels, 2.0 * pixels) for x, y in points]
    written: list[Bbox] = []
    for number, name in enumerate(names):
        note = _name_at(axes, places[number], name)
        # without padding, adjacent names would read as one
        size = Text.get_window_extent(note, renderer).padded(0.5 * pixels)
        spots = (
            (_spot(points[number], size.width, size.height, direction, distance * pixels), distance)
            for distance in _DISTANCES
            for direction in _DIRECTIONS
        )
        taken = [*dots[:number], *dots[number + 1 :], *written]
        spot, distance = next((found for found in spots if _is_free(found[0], frame, taken)), (None, 0.0))
        if spot is None:
            note.remove()
            continue
        written.append(spot)
        note.set_position(
            tuple((np.array([spot.x0 + spot.x1, spot.y0 + spot.y1]) / 2.0 - points[number]) / pixels)
        )
        if note.arrow_patch is not None:
            note.arrow_patch.set_visible(distance > _DISTANCES[0])


def _name_at(axes: Axes, place: Floats, name: str) -> Annotation:
    """A name centered on a point, to be moved by an offset in points, with a thin leader line."""
    note = axes.annotate(
        printable(name),
        xy=(float(place[0]), float(place[1])),
        xytext=(0.0, 0.0),
        textcoords="offset points",
        ha="center",
        va="center",
        fontsize=_POINT_SIZE,
        color=BLACK,
        parse_math=False,
        bbox={"facecolor": "white", "alpha": 0.65, "linewidth": 0.0, "pad": 0.2},
        arrowprops={"arrowstyle": "-", "linewidth": 0.3, "color": BLACK, "shrinkA": 0.0, "shrinkB": 1.0},
        zorder=6,
    )
    note.set_in_layout(False)
    return note


def _spot(point: Floats, width: float, height: float, direction: tuple[int, int], distance: float) -> Bbox:
    """The box of a name at a distance from its word in a direction, in pixels."""
    reach = distance / math.hypot(*direction)
    center_x = point[0] + direction[0] * (reach + width / 2.0)
    center_y = point[1] + direction[1] * (reach + height / 2.0)
    return Bbox.from_bounds(center_x - width / 2.0, center_y - height / 2.0, width, height)


def _is_free(spot: Bbox, frame: Bbox, taken: Sequence[Bbox]) -> bool:
    inside = frame.x0 <= spot.x0 and spot.x1 <= frame.x1 and frame.y0 <= spot.y0 and spot.y1 <= frame.y1
    return inside and not any(spot.overlaps(other) for other in taken)
