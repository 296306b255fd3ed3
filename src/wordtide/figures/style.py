"""The one look of all figures: colours, type, and writing a figure whole or not at all.

Words are untrusted text: they are drawn as they are, never as mathematics.
"""

import io
import os
import warnings
from collections.abc import Callable, Iterator, Sequence
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
from wordtide.storage.folders import check_file_writable, new_files, real_target

WIDTH = 7.0  # inches: the text block of a page
BLUE, VERMILLION, GREEN, ORANGE = "#0072B2", "#D55E00", "#009E73", "#E69F00"
SKY, PURPLE, YELLOW, BLACK, GREY = "#56B4E9", "#CC79A7", "#F0E442", "#000000", "#777777"
#: Okabe and Ito's colours, which colour-blind readers tell apart. Yellow is last: as a line it is faint on white.
OKABE_ITO = (BLUE, VERMILLION, GREEN, ORANGE, SKY, PURPLE, BLACK, YELLOW)
START_COLOUR, END_COLOUR = VERMILLION, BLUE  # what is nearest at the start, at the end
METHOD_COLOURS = {
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

ENDINGS = ("png", "svg", "pdf")
DPI = 300
_DPI_RANGE = (50, 1200)  # a page has 350 pixels across, or as many as can be printed
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
    return "".join(
        character if character.isprintable() else "\N{REPLACEMENT CHARACTER}" for character in text
    )


def shown(name: str) -> str:
    """A name as it is drawn: an endless one, which would leave no room for its line, is cut."""
    return printable(name if len(name) <= _LONGEST else f"{name[: _LONGEST - 1]}\u2026")


def text_widths(figure: Figure, size: float) -> Callable[[str], float]:
    """What tells the width of a text in points, if it is drawn in this size."""
    renderer: RendererBase = FigureCanvasAgg(figure).get_renderer()  # type: ignore[no-untyped-call]
    point = float(np.asarray(renderer.points_to_pixels(1.0)))

    def width(text: str) -> float:
        drawn = Text(0, 0, text, fontsize=size, parse_math=False, figure=figure)
        return float(drawn.get_window_extent(renderer).width) / point

    return width


def check_figure_path(path: str | os.PathLike[str], dpi: float = DPI) -> Path:
    """The file that a figure will be written to; an error, before long work, where that cannot be."""
    ending = Path(path).suffix.lower().removeprefix(".")
    if ending not in ENDINGS:
        named = f"the ending .{ending}" if ending else "no ending"
        raise SettingsError(
            f"{path} has {named}, so the figure's format is not known.", f"Use {_listed(ENDINGS)}."
        )
    if not _DPI_RANGE[0] <= dpi <= _DPI_RANGE[1]:
        raise SettingsError(
            f"{dpi} dots an inch cannot be drawn.", f"Give {_DPI_RANGE[0]} to {_DPI_RANGE[1]} dots."
        )
    target = real_target(path)
    check_file_writable(target, overwrite=True)
    return target


def save_figure(figure: Figure, path: str | os.PathLike[str], dpi: float = DPI) -> Path:
    """Write a figure as png, svg or pdf, whole or not at all; a figure made anew gives the same bytes.

    `dpi` are the dots an inch of a png, and of the points of a map.
    """
    target = check_figure_path(path, dpi)
    ending = Path(path).suffix.lower().removeprefix(".")
    picture = io.BytesIO()
    with styled():
        figure.savefig(picture, format=ending, dpi=dpi, metadata=_NO_DATE[ending])
    with new_files([target], overwrite=True) as (partial,):
        partial.write_bytes(picture.getbuffer())
    return target


def _listed(endings: Sequence[str]) -> str:
    return ", ".join(f".{ending}" for ending in endings[:-1]) + f" or .{endings[-1]}"
