"""The common style of all figures: colors, type, and writing files.

Words are untrusted text and are never interpreted as mathematics.
"""

import io
import os
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.backend_bases import RendererBase
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Text

from wordtide.errors import SettingsError
from wordtide.spelling import either
from wordtide.storage.folders import check_file_writable, new_files, real_target

WIDTH = 7.0  # inches: the text block of a page
BLUE, VERMILLION, GREEN, ORANGE = "#0072B2", "#D55E00", "#009E73", "#E69F00"
SKY, PURPLE, YELLOW, BLACK, GREY = "#56B4E9", "#CC79A7", "#F0E442", "#000000", "#777777"
#: Okabe and Ito's colors, which color-blind readers can distinguish. Yellow is last, because it is faint on
#: white.
OKABE_ITO = (BLUE, VERMILLION, GREEN, ORANGE, SKY, PURPLE, BLACK, YELLOW)
START_COLOR, END_COLOR = VERMILLION, BLUE  # neighbors at the start and at the end
METHOD_COLORS = {
    "smoothing": BLUE,
    "filtering": VERMILLION,
    "warm-start": GREEN,
    "independent": ORANGE,
    "static": BLACK,
}
Dashes = str | tuple[float, tuple[float, ...]]
METHOD_DASHES: dict[str, Dashes] = {
    "smoothing": "-",
    "filtering": (0, (5, 1.5)),
    "warm-start": (0, (3, 1.2, 1, 1.2)),
    "independent": (0, (1, 1.2)),
    "static": (0, (8, 2)),
}
_DASH_CYCLE: tuple[Dashes, ...] = ("-", (0, (5, 1.5)), (0, (3, 1.2, 1, 1.2)), (0, (1, 1.2)))

ENDINGS = (".png", ".svg", ".pdf")
DPI = 300
_SCREEN_DPI = 110
_DPI_RANGE = (50, 1200)  # 350 pixels across, up to the resolution of print
_LONGEST = 24  # characters of a name
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
    "savefig.dpi": DPI,
    "svg.fonttype": "none",
    "svg.hashsalt": "wordtide",
    "pdf.fonttype": 42,
    "text.usetex": False,
}


@contextmanager
def styled() -> Iterator[None]:
    """Apply the common style to figures made and drawn inside.

    Glyphs missing from the font are drawn as boxes, silently.
    """
    with mpl.rc_context(), warnings.catch_warnings():
        mpl.rcdefaults()
        mpl.rcParams.update(_LOOK)
        warnings.filterwarnings("ignore", message="Glyph .* missing from font", category=UserWarning)
        yield


def cycle_style(number: int) -> tuple[str, Dashes]:
    """Color and dashes of a line by number: first the colors vary, then the dashes."""
    colors = OKABE_ITO[:-1]
    return colors[number % len(colors)], _DASH_CYCLE[number // len(colors) % len(_DASH_CYCLE)]


def method_style(method: str, number: int = 0) -> tuple[str, Dashes]:
    """Color and dashes of a method.

    Unknown methods get those of their `number`, with dashes that no known method has.
    """
    if method in METHOD_COLORS:
        return METHOD_COLORS[method], METHOD_DASHES[method]
    return (PURPLE, SKY, GREY, YELLOW)[number % 4], (0, (2, 1, 6, 1)) if number % 8 < 4 else (0, (2, 3))


def printable(text: str) -> str:
    """A text with replacement marks for unprintable characters, which some formats cannot store."""
    return "".join(
        character if character.isprintable() else "\N{REPLACEMENT CHARACTER}" for character in text
    )


def shown(name: str) -> str:
    """A printable name, shortened if it would leave no room for its line."""
    return printable(name if len(name) <= _LONGEST else f"{name[: _LONGEST - 1]}\u2026")


def text_widths(figure: Figure, size: float) -> Callable[[str], float]:
    """A function that returns the width of a text of this size, in points."""
    renderer: RendererBase = FigureCanvasAgg(figure).get_renderer()  # type: ignore[no-untyped-call]
    point = float(np.asarray(renderer.points_to_pixels(1.0)))

    def width(text: str) -> float:
        drawn = Text(0, 0, text, fontsize=size, parse_math=False, figure=figure)
        return float(drawn.get_window_extent(renderer).width) / point

    return width


def check_figure_path(path: str | os.PathLike[str], dpi: float = DPI) -> Path:
    """Check, before long work, that a figure can be written; returns the path to write.

    Raises:
        SettingsError: The format is unknown or the resolution is out of range.
        OutputError: The file cannot be written.
    """
    ending = Path(path).suffix.lower()
    if ending not in ENDINGS:
        named = f"the ending {ending}" if ending else "no ending"
        raise SettingsError(
            f"{path} has {named}, so the format of the figure is unknown.", f"Use {either(ENDINGS)}."
        )
    if not _DPI_RANGE[0] <= dpi <= _DPI_RANGE[1]:
        raise SettingsError(
            f"A resolution of {dpi} dots per inch is out of range.",
            f"Give {_DPI_RANGE[0]} to {_DPI_RANGE[1]} dots.",
        )
    target = real_target(path)
    check_file_writable(target, overwrite=True)
    return target


class NotebookFigure(Figure):
    """A figure that notebooks display, whichever backend matplotlib has there."""

    def _repr_png_(self) -> bytes:
        return render(self, "png", _SCREEN_DPI)


def save_figure(figure: Figure, path: str | os.PathLike[str], dpi: float = DPI) -> Path:
    """Write a figure as png, svg or pdf. The same figure gives the same bytes.

    Args:
        figure: The figure.
        path: The file to write; its extension chooses the format.
        dpi: The resolution of a png, and of the points of a map.

    Returns:
        The path of the file.
    """
    target = check_figure_path(path, dpi)
    picture = render(figure, Path(path).suffix.lower().removeprefix("."), dpi)
    with new_files([target], overwrite=True) as (partial,):
        partial.write_bytes(picture)
    return target


def render(figure: Figure, ending: str, dpi: float) -> bytes:
    """The content of a figure's file, without a date, so that the same figure gives the same bytes."""
    picture = io.BytesIO()
    with styled():
        figure.savefig(picture, format=ending, dpi=dpi, metadata=_NO_DATE[ending])
    return picture.getvalue()
