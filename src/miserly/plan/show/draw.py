"""A drawing of a plan: a timeline of purchases for a chain, boxes and edges for a tree of classifiers.

`draw_chain` draws the timeline. A tree is drawn from left to right, the upper branch above the lower one. A
box is a sequence of nodes without a fork. It shows the features that are bought there for the first time, the
total paid after it, and the condition that decides where a row goes. Every box has its own horizontal strip
of the page, which also holds all boxes after it, so boxes cannot overlap.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from miserly.errors import PlanError
from miserly.plan.purchases import Item, Purchase, Stretch, purchases, stretches
from miserly.plan.show.draw_chain import WIDTH, draw_chain
from miserly.plan.show.phrases import plural
from miserly.plan.show.svg import FAINT, INK, LINE, LOW, OWN, SOFT, Sheet, fit, width_of
from miserly.plan.show.wording import Wording
from miserly.utils.files import atomic_write

if TYPE_CHECKING:
    from miserly.plan.plan import Plan

__all__ = ["Drawing", "draw"]

_TITLE = "What this plan may buy, and when"
_MARGIN = 28.0
_BOX, _GAP, _LANDING, _BETWEEN = 196.0, 116.0, 74.0, 16.0
_LINE = 17.0
_MOST_ITEMS = 4  # features named in a box
_MOST_BOXES = 31
_MOST_LEVELS = 7
_STUB = 26.0  # height of the label that replaces boxes that are not shown


@dataclass(frozen=True)
class Drawing:
    """A drawing in SVG. Notebooks display it."""

    svg: str

    def _repr_svg_(self) -> str:
        return self.svg

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the drawing to a `.svg` file, or to an `.html` page for a browser."""
        path = Path(path)
        if path.suffix.lower() not in (".svg", ".html", ".htm"):
            raise PlanError(f"{path}: a drawing is saved as .svg or .html")
        with atomic_write(path, "w", error=PlanError) as file:
            file.write(self.svg if path.suffix.lower() == ".svg" else _page(self.svg))

    def __repr__(self) -> str:
        return f"Drawing(<svg of {len(self.svg)} characters>)"


def draw(plan: Plan) -> Drawing:
    """A picture of what a plan may buy, in which order, for how much, and where it may stop.

    >>> from miserly import Costs, Plan
    >>> draw(Plan(costs=Costs({"age": 1}), terms=[], nodes=[], base=[0.0])).svg[:39]
    '<svg xmlns="http://www.w3.org/2000/svg"'
    """
    words = Wording(plan)
    sheet = Sheet()
    parts = len(stretches(plan))
    summary = _summary(plan, words, parts)
    sheet.text(_MARGIN, 38, _TITLE, size=17, bold=True)
    width, height = WIDTH, 100.0
    if parts == 0:
        sheet.text(_MARGIN, 86, "It has no steps and always gives the same answer, at no cost.")
        height = 116.0
    elif parts == 1:
        width, height = draw_chain(plan, sheet, words, top=92.0)
    else:
        width, height = _draw_tree(plan, sheet, words, top=88.0)
    sheet.text(_MARGIN, 59, fit(summary, width - 2 * _MARGIN), fill=SOFT)
    return Drawing(sheet.svg(width, height, _TITLE, summary))


def _summary(plan: Plan, words: Wording, parts: int) -> str:
    size = plural(len(plan.nodes), "step" if parts <= 1 else "node")
    features = f"{len(plan.features)} of {plural(plan.n_features, 'feature')}"
    chosen = " · the order depends on the row" if plan.acquires else ""
    return f"{size} · {features} · at most {words.price(plan.max_cost)}{chosen}"


def _page(svg: str) -> str:
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f"<title>{escape(_TITLE)}</title>\n</head>\n"
        f'<body style="margin: 2em; overflow-x: auto">\n{svg}</body>\n</html>\n'
    )


# -- trees of classifiers ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Box:
    """The text of a box, and the boxes that follow it."""

    title: str
    total: str
    items: tuple[tuple[str, str], ...]
    footer: str
    buys: bool
    children: tuple[int, ...]
    ways: tuple[str, ...]  # labels of the edges to the children

    @property
    def height(self) -> float:
        return _LINE * (len(self.items) + 2) + 14


def _draw_tree(plan: Plan, sheet: Sheet, words: Wording, top: float) -> tuple[float, float]:
    """Draw a tree below `top`; gives the width and height of the whole picture."""
    parts = stretches(plan)
    levels = _levels(parts)
    boxes = _boxes(plan, words, parts, levels)
    middles, bottom = _places(boxes, top)
    for i, box in boxes.items():
        x = _MARGIN + levels[i] * (_BOX + _GAP)
        for child, way in zip(box.children, box.ways, strict=True):
            _way(sheet, x + _BOX, middles[i], middles[child], fit(way, _LANDING - 8, 11))
            if child not in boxes:
                _stub(sheet, x + _BOX + _GAP, middles[child], _size(parts, child))
        _box(sheet, box, x, middles[i])
    caption = "In each box: what it newly buys; in bold, what has been paid by then."
    sheet.text(_MARGIN, bottom + 30, caption, size=11, fill=SOFT)
    deepest = max(levels[child] for box in boxes.values() for child in box.children)
    return 2 * _MARGIN + deepest * (_BOX + _GAP) + _BOX, bottom + 50


# -- what the boxes say --------------------------------------------------------------------------------------


def _levels(parts: Sequence[Stretch]) -> list[int]:
    levels = [0] * len(parts)
    for i, part in enumerate(parts):  # stretches come after the one they follow
        for child in _following(part):
            levels[child] = levels[i] + 1
    return levels


def _following(part: Stretch) -> tuple[int, ...]:
    return () if part.up is None or part.low is None else (part.up, part.low)


def _size(parts: Sequence[Stretch], i: int) -> int:
    """The number of nodes in a stretch and in all stretches after it."""
    ahead, size = [i], 0
    while ahead:
        part = parts[ahead.pop()]
        size += len(part.nodes)
        ahead += _following(part)
    return size


def _boxes(plan: Plan, words: Wording, parts: Sequence[Stretch], levels: Sequence[int]) -> dict[int, _Box]:
    """The boxes that are shown: level by level from the root, until there are too many."""
    bought = purchases(plan)
    shown = [i for i in range(min(len(parts), _MOST_BOXES)) if levels[i] < _MOST_LEVELS]
    return {i: _content(plan, words, parts[i], bought) for i in shown}


def _content(plan: Plan, words: Wording, part: Stretch, bought: Sequence[Purchase]) -> _Box:
    first, last = part.nodes[0], part.nodes[-1]
    items = [item for k in part.nodes for item in bought[k].items]
    gate = plan.nodes[last].gate
    lines = _item_lines(items, words) or [("nothing new", "")]
    evaluation = sum(bought[k].evaluation for k in part.nodes)
    if evaluation:
        lines.append(("evaluating terms", words.amount(evaluation)))
    children = _following(part)
    leaving = sum(plan.nodes[k].is_exit for k in part.nodes)
    footer = gate.question(words) if children else "answers"
    if leaving:
        footer = f"{plural(leaving, 'early exit')}; {footer}"
    return _Box(
        title=f"node {first}" if first == last else f"nodes {first}-{last}",
        total=words.price(bought[last].total),
        items=tuple(lines),
        footer=footer,
        buys=bool(items),
        children=children,
        ways=(gate.up_label, gate.low_label) if children else (),
    )


def _item_lines(items: Sequence[Item], words: Wording) -> list[tuple[str, str]]:
    shown = items if len(items) <= _MOST_ITEMS else items[: _MOST_ITEMS - 1]
    lines = [
        (f"+ {words.feature(item.feature)}", words.amount(item.price) if item.price else "free")
        for item in shown
    ]
    rest = items[len(shown) :]
    if rest:
        lines.append((f"+ {len(rest)} more", words.amount(sum(item.price for item in rest))))
    return lines


# -- where they stand ----------------------------------------------------------------------------------------


def _places(boxes: dict[int, _Box], top: float) -> tuple[dict[int, float], float]:
    """The middle of every box and stub, and the lower end of all.

    The height of the strip of each box is computed from the last box to the first. Positions are then
    assigned from the first box to the last.
    """
    strips: dict[int, float] = {}
    for i in sorted(boxes, reverse=True):
        below = [strips.get(child, _STUB) for child in boxes[i].children]
        strips[i] = max(boxes[i].height, sum(below) + _BETWEEN * max(len(below) - 1, 0))
    middles = {0: top + strips[0] / 2}
    for i in sorted(boxes):
        children = boxes[i].children
        heights = [strips.get(child, _STUB) for child in children]
        y = middles[i] - (sum(heights) + _BETWEEN * max(len(heights) - 1, 0)) / 2
        for child, height in zip(children, heights, strict=True):
            middles[child] = y + height / 2
            y += height + _BETWEEN
    return middles, top + strips[0]


# -- drawing them --------------------------------------------------------------------------------------------


def _box(sheet: Sheet, box: _Box, x: float, middle: float) -> None:
    y = middle - box.height / 2
    sheet.rect(x, y, _BOX, box.height, FAINT, stroke=LINE, radius=6)
    sheet.rect(x, y, 4, box.height, OWN if box.buys else LINE, radius=2)
    room = _BOX - 26
    total = fit(box.total, room * 0.6)
    sheet.text(x + 14, y + 18, fit(box.title, room - width_of(total) - 6, 11), size=11, fill=SOFT)
    sheet.text(x + _BOX - 12, y + 18, total, anchor="end", bold=True, tip="paid so far")
    for i, (name, price) in enumerate(box.items):
        line = y + 18 + _LINE * (i + 1)
        label = fit(name, room - width_of(price) - 6)
        sheet.text(x + 14, line, label, fill=INK if price else SOFT, tip=name if label != name else "")
        if price:
            sheet.text(x + _BOX - 12, line, price, anchor="end", fill=SOFT)
    footer = fit(box.footer, room, 11)
    bottom = y + box.height - 9
    sheet.text(x + 14, bottom, footer, size=11, fill=SOFT if box.children else OWN, tip=box.footer)


def _way(sheet: Sheet, x: float, y: float, child: float, label: str) -> None:
    sheet.curve(x, y, x + _GAP, child, _LANDING, SOFT)
    above = child <= y
    sheet.text(x + _GAP - 6, child - 5 if above else child + 14, label, size=11, fill=LOW, anchor="end")


def _stub(sheet: Sheet, x: float, middle: float, hidden: int) -> None:
    text = f"+ {plural(hidden, 'more node')}"
    sheet.rect(x, middle - 11, width_of(text, 11) + 20, 22, FAINT, stroke=LINE, radius=11)
    sheet.text(x + 10, middle + 4, text, size=11, fill=SOFT)
