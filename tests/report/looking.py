"""What is written in a picture, and whether there is room for it."""

from __future__ import annotations

from itertools import combinations


def texts(figure):
    return [text.get_text() for axes in figure.axes for text in axes.texts]


def crowded(figure):
    """Pairs of texts that overlap, and texts that reach out of the picture."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    renderer = canvas.get_renderer()
    written = [text for axes in figure.axes for text in axes.texts if text.get_text()]
    boxes = [(text.get_text(), text.get_window_extent(renderer)) for text in written]
    page = figure.bbox
    outside = [
        name for name, box in boxes if box.x0 < 0 or box.y0 < 0 or box.x1 > page.x1 or box.y1 > page.y1
    ]
    return [(a, b) for (a, p), (b, q) in combinations(boxes, 2) if p.overlaps(q)] + outside
