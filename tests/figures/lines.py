"""Curves, panels and tables for figures of lines, and what is to be seen in such a figure."""

import numpy as np
import pandas as pd
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import LineCollection

from wordtide.figures.labels import _EndLabels
from wordtide.figures.style import styled
from wordtide.figures.timeline_figure import Panel

YEARS = np.linspace(1800.0, 2000.0, 41)


def curve_of(other, first, last, observed=None, band=0.1):
    heights = np.linspace(first, last, len(YEARS))
    return (other, YEARS, heights, heights - band, heights + band, observed)


def panel_of(
    word="word", starts=("left one", "left two"), ends=("right one", "right two"), halfway=(1880.0, 1920.0)
):
    return Panel(
        word,
        [curve_of(other, 0.9 - 0.01 * n, 0.1 + 0.1 * n) for n, other in enumerate(starts)],
        [curve_of(other, 0.1 + 0.1 * n, 0.9 - 0.01 * n) for n, other in enumerate(ends)],
        halfway,
    )


def table_of(*lines, times=YEARS, **columns):
    """Lines are (method, word, other, height, has a band)."""
    parts = []
    for method, word, other, height, band in lines:
        heights = height + 0.05 * np.sin(times)
        reach = 0.1 if band else np.nan
        parts.append(
            pd.DataFrame(
                {"time": times, "word": word, "other": other, "similarity": heights, "low": heights - reach}
                | {"high": heights + reach, "occurrences": 3, "other_occurrences": 2, "method": method}
                | columns
            )
        )
    return pd.concat(parts, ignore_index=True)


def drawn(figure):
    with styled():
        FigureCanvasAgg(figure).draw()
    return figure


def names_in(axes, side):
    return [
        text.get_text()
        for art in axes.artists
        if isinstance(art, _EndLabels) and art.side == side
        for text in art.texts
    ]


def curves_in(axes):
    return [art for art in axes.collections if isinstance(art, LineCollection) and art.zorder in (2, 3)]


def shown_panels(figure):
    return [axes for axes in figure.axes if axes.axison]


def assert_all_text_is_inside(figure):
    renderer = figure.canvas.get_renderer()
    frame = figure.bbox
    for axes in shown_panels(figure):
        texts = [text for art in axes.artists if isinstance(art, _EndLabels) for text in art.texts]
        first, last = axes.get_xlim()
        ticks = [
            label
            for label, place in zip(axes.get_xticklabels(), axes.get_xticks(), strict=True)
            if first <= place <= last
        ]
        for text in (axes.title, *texts, *ticks):
            box = text.get_window_extent(renderer)
            assert frame.x0 - 1 <= box.x0, text.get_text()
            assert box.x1 <= frame.x1 + 1, text.get_text()
            assert frame.y0 - 1 <= box.y0, text.get_text()
            assert box.y1 <= frame.y1 + 1, text.get_text()
