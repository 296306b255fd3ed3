"""Where the texts of a figure are, and whether they cover one another."""

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.text import Text


def boxes_of(figure, texts):
    renderer = FigureCanvasAgg(figure).get_renderer()
    figure.draw_without_rendering()
    return [Text.get_window_extent(text, renderer) for text in texts]  # without the line that leads to it


def no_two_overlap(boxes):
    return not any(one.overlaps(other) for number, one in enumerate(boxes) for other in boxes[:number])
