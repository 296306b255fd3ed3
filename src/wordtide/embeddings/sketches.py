"""Small pictures of numbers for notebooks, as inline SVG that loads nothing and suits light and dark pages.

Only numbers are drawn, never words, so no picture can contain text from a corpus.
"""

import math
from collections.abc import Callable, Iterable

import numpy as np

from wordtide.types import Floats

_BLUE, _GREY = "#2b8cbe", "#888"  # legible on white and on black
_THIN = f'stroke="{_GREY}" stroke-width=".5"'
_MOST_BARS = 120

Scale = Callable[[float], float]


def whisker(low: float, value: float, high: float, span: tuple[float, float]) -> str:
    """A value as a dot on the line of its interval, scaled from `span[0]` to `span[1]`; empty if unknown."""
    width = 80
    if not math.isfinite(value):
        return ""
    place = _scale(span, (4.0, width - 4.0))
    line = ""
    if math.isfinite(low) and math.isfinite(high):
        line = _line(place(low), 7, place(high), 7, f'stroke="{_BLUE}" stroke-width="2" opacity=".5"')
    zero = ""
    if span[0] < 0.0 < span[1]:
        zero = _line(place(0.0), 0, place(0.0), 14, _THIN)
    return _svg(width, 14, f'{zero}{line}<circle cx="{place(value):.1f}" cy="7" r="3" fill="{_BLUE}"/>')


def curve(times: Floats, values: Floats, lows: Floats, highs: Floats, span: tuple[float, float]) -> str:
    """A curve over time with the band of its intervals, on a scale from `span[0]` to `span[1]`."""
    width, height = 280, 56
    across = _scale((float(times[0]), float(times[-1])), (3.0, width - 3.0))
    up = _scale(span, (height - 3.0, 3.0))
    parts = []
    if span[0] < 0.0 < span[1]:
        parts.append(_line(0, up(0.0), width, up(0.0), _THIN))
    if np.isfinite(lows).all() and np.isfinite(highs).all():
        band = _points(times, highs, across, up) + " " + _points(times[::-1], lows[::-1], across, up)
        parts.append(f'<polygon points="{band}" fill="{_BLUE}" opacity=".2"/>')
    known = np.isfinite(values)
    line = _points(times[known], values[known], across, up)
    parts.append(f'<polyline points="{line}" fill="none" stroke="{_BLUE}" stroke-width="1.5"/>')
    return _svg(width, height, "".join(parts))


def bars(times: Floats, values: Floats) -> str:
    """Bars at the times, with heights in proportion to the values; bars that would overlap are added up."""
    width, height = 360, 40
    if not len(times):
        return ""
    length, gaps = float(times[-1] - times[0]), np.diff(times)
    places = min(_MOST_BARS, 1 + round(length / float(gaps.min()))) if len(gaps) else 1
    across = _scale((float(times[0]), float(times[-1])), (0.0, places - 1.0))
    heights = np.zeros(places)
    np.add.at(heights, [round(across(float(time))) for time in times], values)
    room, top = width / places, max(float(heights.max()), 1e-300)
    drawn = [
        _rectangle(place * room, height * (1 - share), room * 0.8, height * share)
        for place, share in enumerate(np.maximum(heights / top, np.where(heights > 0.0, 0.02, 0.0)))
        if share > 0.0
    ]
    return _svg(width, height, f'<g fill="{_BLUE}" opacity=".7">{"".join(drawn)}</g>')


def stretch(since: float, until: float, earliest: float, latest: float) -> str:
    """A period as a line, with the part between `earliest` and `latest` marked; empty if that is unknown."""
    if not (math.isfinite(earliest) and math.isfinite(latest) and until > since):
        return ""
    width, place = 360, _scale((since, until), (4.0, 356.0))
    left, right = place(max(earliest, since)), place(min(latest, until))
    marked = _rectangle(left, 2, max(right - left, 2.0), 10, f'fill="{_BLUE}" opacity=".6"')
    return _svg(width, 14, _line(4, 7, 356, 7, f'stroke="{_GREY}"') + marked)


def _line(x1: float, y1: float, x2: float, y2: float, look: str) -> str:
    return f'<line x1="{x1:.1f}" x2="{x2:.1f}" y1="{y1:.1f}" y2="{y2:.1f}" {look}/>'


def _rectangle(x: float, y: float, width: float, height: float, look: str = "") -> str:
    return f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" {look}/>'


def _svg(width: int, height: int, content: str) -> str:
    """A picture that keeps its size in a narrow cell. Screen readers skip it: its numbers are beside it."""
    return (
        f'<svg width="{width}" height="{height}" viewBox="0 0 {width} {height}" aria-hidden="true" '
        f'style="vertical-align:middle;max-width:none">{content}</svg>'
    )


def _scale(span: tuple[float, float], places: tuple[float, float]) -> Scale:
    """Map a range of numbers to a range of places; numbers outside the range map to its ends."""
    start, length = span[0], span[1] - span[0] or 1.0

    def place(value: float) -> float:
        share = min(max((value - start) / length, 0.0), 1.0)
        return places[0] + share * (places[1] - places[0])

    return place


def _points(times: Floats, values: Floats, across: Scale, up: Scale) -> str:
    return " ".join(f"{across(float(t)):.1f},{up(float(v)):.1f}" for t, v in zip(times, values, strict=True))


def span_of(*columns: Iterable[float]) -> tuple[float, float]:
    """The range of all finite numbers in some columns; (0, 0) if there are none."""
    numbers = np.array([number for column in columns for number in column], dtype=np.float64)
    numbers = numbers[np.isfinite(numbers)]
    return (float(numbers.min()), float(numbers.max())) if len(numbers) else (0.0, 0.0)
