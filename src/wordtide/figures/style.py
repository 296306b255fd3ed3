"""The one look of all figures: colours, type, names beside lines, and writing a figure whole or not at all.

Words are untrusted text: they are drawn as they are, never as mathematics.
"""

import io
import os
import secrets
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import matplotlib as mpl
import numpy as np
import numpy.typing as npt
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.backend_bases import RendererBase
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.text import Text
from matplotlib.transforms import Bbox, IdentityTransform
from scipy.optimize import isotonic_regression

from wordtide.errors import OutputError, SettingsError
from wordtide.storage import explained_write_errors, real_target

WIDTH = 7.0  # inches: the text block of a page
BLUE, VERMILLION, GREEN, ORANGE = "#0072B2", "#D55E00", "#009E73", "#E69F00"
SKY, PURPLE, YELLOW, BLACK, GREY = "#56B4E9", "#CC79A7", "#F0E442", "#000000", "#777777"
#: Okabe and Ito's colours, which colour-blind readers tell apart. Yellow is last: as a line it is faint on white.
OKABE_ITO = (BLUE, VERMILLION, GREEN, ORANGE, SKY, PURPLE, BLACK, YELLOW)
START_COLOUR, END_COLOUR = VERMILLION, BLUE  # what is nearest at the start, at the end
METHOD_COLOURS = {"smoothing": BLUE, "filtering": VERMILLION, "warm-start": GREEN, "independent": ORANGE, "static": BLACK}
Dashes = str | tuple[float, tuple[float, ...]]
METHOD_DASHES: dict[str, Dashes] = {
    "smoothing": "-",
    "filtering": (0, (5, 1.5)),
    "warm-start": (0, (3, 1.2, 1, 1.2)),
    "independent": (0, (1, 1.2)),
    "static": (0, (8, 2)),
}
_DASH_CYCLE: tuple[Dashes, ...] = ("-", (0, (5, 1.5)), (0, (3, 1.2, 1, 1.2)), (0, (1, 1.2)))

ENDINGS = ("png", "svg", "pdf")
_NO_DATE: dict[str, dict[str, Any]] = {"png": {}, "svg": {"Date": None}, "pdf": {"CreationDate": None}}
_LOOK: dict[Any, Any] = {
    "font.family": "DejaVu Sans",  # comes with matplotlib, so a figure looks the same everywhere
    "font.size": 8.0,
    "axes.titlesize": 9.0,
    "axes.labelsize": 8.0,
    "xtick.labelsize": 7.0,
    "ytick.labelsize": 7.0,
    "legend.fontsize": 7.0,
    "legend.frameon": False,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.6,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "axes.axisbelow": True,
    "axes.grid": True,
    "grid.color": "#E4E4E4",
    "grid.linewidth": 0.5,
    "lines.linewidth": 1.2,
    "axes.unicode_minus": True,
    "figure.constrained_layout.use": True,
    "figure.dpi": 150.0,
    "savefig.dpi": 300.0,
    "svg.fonttype": "none",
    "svg.hashsalt": "wordtide",
    "pdf.fonttype": 42,
    "text.usetex": False,
}


@contextmanager
def styled() -> Iterator[None]:
    """Figures made and drawn inside have the one look. A glyph that the font lacks is drawn as a box, without a warning."""
    with mpl.rc_context(), warnings.catch_warnings():
        mpl.rcdefaults()
        mpl.rcParams.update(_LOOK)
        warnings.filterwarnings("ignore", message="Glyph .* missing from font", category=UserWarning)
        yield


def cycle_style(number: int) -> tuple[str, Dashes]:
    """Colour and dashes of the line with this number: first the colours change, then the dashes too."""
    colours = OKABE_ITO[:-1]
    return colours[number % len(colours)], _DASH_CYCLE[number // len(colours) % len(_DASH_CYCLE)]


def method_style(method: str, number: int = 0) -> tuple[str, Dashes]:
    """Colour and dashes of a method; one that has none of its own gets those of its `number`, dashed as no known method is."""
    if method in METHOD_COLOURS:
        return METHOD_COLOURS[method], METHOD_DASHES[method]
    return (PURPLE, SKY, GREY, YELLOW)[number % 4], (0, (2, 1, 6, 1)) if number % 8 < 4 else (0, (2, 3))


def printable(text: str) -> str:
    """Text as it can be drawn and stored in any format: characters that have no shape become a replacement mark."""
    return "".join(character if character.isprintable() else "\N{REPLACEMENT CHARACTER}" for character in text)


def check_figure_path(path: str | os.PathLike[str]) -> Path:
    """The file that a figure will be written to; an error, before long work, where that cannot be."""
    ending = Path(path).suffix.lower().removeprefix(".")
    if ending not in ENDINGS:
        named = f"the ending .{ending}" if ending else "no ending"
        raise SettingsError(f"{path} has {named}, so the figure's format is not known.", f"Use {_listed(ENDINGS)}.")
    target = real_target(path)
    with explained_write_errors(target):
        is_folder, has_parent = target.is_dir(), target.parent.is_dir()
    if is_folder:
        raise OutputError(f"{target} is a folder.", "Choose another name for the figure.")
    if not has_parent:
        raise OutputError(f"The folder {target.parent} does not exist.", f"Make it first: mkdir -p {target.parent}")
    if not os.access(target.parent, os.W_OK):
        raise OutputError(f"The folder {target.parent} cannot be written to.", "Choose another place for the output.")
    return target


def save_figure(figure: Figure, path: str | os.PathLike[str]) -> Path:
    """Write a figure as png (300 dpi), svg or pdf, whole or not at all; a figure made anew gives the same bytes."""
    target = check_figure_path(path)
    ending = Path(path).suffix.lower().removeprefix(".")
    picture = io.BytesIO()
    with styled():
        figure.savefig(picture, format=ending, dpi=300, metadata=_NO_DATE[ending])
    partial = target.with_name(f".figure.partial-{os.getpid()}-{secrets.token_hex(4)}")
    with explained_write_errors(target):
        try:
            partial.write_bytes(picture.getbuffer())
            os.replace(partial, target)
        finally:
            partial.unlink(missing_ok=True)
    return target


def end_labels(
    axes: Axes, labels: Sequence[tuple[float, float, str, str]], side: Literal["right", "left"] = "right", size: float = 7.0
) -> None:
    """Names beside the ends of lines, as (x, y, text, colour) with x and y in data units, in a column at the right or left.

    Names that would touch are pushed apart in the order of their heights; a thin line leads to each one that moved. An end that
    is not a number gets no name.
    """
    kept = [label for label in labels if np.isfinite(label[0]) and np.isfinite(label[1])]
    if kept:
        names = axes.add_artist(_EndLabels(axes, sorted(kept, key=lambda label: label[1]), side, size))
        names.set_clip_on(False)  # only what may leave the axes is given room by the layout


def spread_apart(heights: npt.ArrayLike, gap: float, low: float, high: float) -> npt.NDArray[np.float64]:
    """The places nearest to sorted `heights` (n,) that are at least `gap` apart and within [low, high], if there is room.

    Where there is not, they overhang both ends alike.
    """
    heights = np.asarray(heights, dtype=np.float64)
    offsets = gap * np.arange(len(heights))
    lacking = max(0.0, offsets[-1] - (high - low))
    low, high = low - lacking / 2.0, high + lacking / 2.0
    # places - offsets may only grow: a regression on growing sequences, whose bounded optimum is the clipped one
    growing = isotonic_regression(heights - offsets).x
    return np.clip(growing, low, max(low, high - offsets[-1])) + offsets


class _EndLabels(Artist):
    """Texts that find their places when they are drawn, since only then the size of the axes is known."""

    def __init__(self, axes: Axes, labels: Sequence[tuple[float, float, str, str]], side: str, size: float) -> None:
        super().__init__()
        self.set_figure(axes.get_figure(root=False))  # type: ignore[arg-type]
        self.ends = np.array([label[:2] for label in labels], dtype=np.float64)
        self.side, self.size, self.host = side, size, axes
        self.texts = [
            Text(0, 0, printable(text), color=colour, fontsize=size, parse_math=False, va="center_baseline")
            for _, _, text, colour in labels
        ]
        self.leaders = [Line2D([], [], color=colour, linewidth=0.4, alpha=0.7) for _, _, _, colour in labels]
        for part in (*self.texts, *self.leaders):
            part.set_figure(axes.get_figure(root=False))  # type: ignore[arg-type]
            part.set_transform(IdentityTransform())
        self.set_zorder(5)

    def place(self, renderer: RendererBase) -> None:
        """Give every text and leader its place in pixels."""
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
        for text, leader, end, height, has_moved in zip(self.texts, self.leaders, ends, heights, moved, strict=True):
            text.set_position((column, height))
            text.set_horizontalalignment("left" if right else "right")
            leader.set_data(*([end[0] + inset, column - inset], [end[1], height]) if has_moved else ([], []))

    def get_tightbbox(self, renderer: RendererBase | None = None) -> Bbox | None:
        """The room that all texts need, which the layout leaves free."""
        if renderer is None or not self.get_visible():
            return None
        self.place(renderer)
        return Bbox.union([text.get_window_extent(renderer) for text in self.texts])

    def draw(self, renderer: RendererBase) -> None:
        """Draw texts and leaders at the places that suit the axes as they are now."""
        if self.get_visible():
            self.place(renderer)
            for part in (*self.leaders, *self.texts):
                part.draw(renderer)
        self.stale = False


def _listed(endings: Sequence[str]) -> str:
    return ", ".join(f".{ending}" for ending in endings[:-1]) + f" or .{endings[-1]}"
