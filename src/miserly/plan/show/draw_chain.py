"""A chain as a timeline of purchases, from top to bottom, along an axis of the price so far.

Each row of the drawing is a feature, several features that are bought close together, or steps without a
purchase. Its bar begins at the total before the purchase and ends at the total after it. Diamonds mark where
a row may leave early.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from miserly.plan.purchases import Purchase, chain_bill, purchases
from miserly.plan.show.phrases import plural
from miserly.plan.show.svg import FAINT, INK, LINE, LOW, OWN, PAPER, SETUP, SOFT, WORK, Sheet, fit, width_of
from miserly.plan.show.wording import Wording, exits

if TYPE_CHECKING:
    from miserly.plan.plan import Plan

__all__ = ["draw_chain"]

WIDTH = 900.0
_LEFT, _NAME, _AXIS, _AXIS_END, _TOTAL, _EXIT = 28.0, 92.0, 256.0, 690.0, 790.0, 846.0
_ROW = 25.0
_MOST_BARS = 28
_MOST_EXPENSIVE = 10  # purchases that keep a row of their own when there are too many
_MOST_MARKS = 200  # on the line of steps


@dataclass(frozen=True)
class Bar:
    """One row: steps `first` to `last`, the features bought, and how their price is made up."""

    first: int
    last: int
    features: tuple[int, ...]
    start: float
    setup: float
    own: float
    evaluation: float

    @property
    def price(self) -> float:
        return self.setup + self.own + self.evaluation

    @property
    def end(self) -> float:
        return self.start + self.price


def draw_chain(plan: Plan, sheet: Sheet, words: Wording, top: float) -> tuple[float, float]:
    """Draw a chain below `top`; gives the width and height of the whole picture."""
    bought = purchases(plan)
    bars = _bars(plan, bought)
    totals = max(width_of(words.amount(bar.end)) for bar in bars)
    scale = _Scale(bars[-1].end, label_end=_TOTAL - totals - 10)
    first, bottom = top + 26, top + 26 + _ROW * len(bars)
    for i in range(len(bars)):
        sheet.rect(_LEFT - 8, first + _ROW * i + 2, WIDTH - 2 * _LEFT + 16, _ROW - 4, FAINT, radius=4)
    _grid(sheet, words, scale, top + 22, bottom)
    _headings(sheet, top + 10, leaving=any(node.is_exit for node in plan.nodes))
    for i, bar in enumerate(bars):
        y = first + _ROW * i
        following = bars[i + 1].first if i + 1 < len(bars) else len(plan.nodes)
        if i + 1 < len(bars):
            sheet.line(scale(bar.end), y + 19, scale(bar.end), y + _ROW + 6, SOFT, dashes="1 2")
        _row(sheet, words, scale, bar, y, new_step=not i or (bar.first, bar.last) != (bars[i - 1].first,) * 2)
        _exit_mark(plan, sheet, range(bar.first, following), y)
    bottom = _step_line(plan, sheet, bought, bottom + 34) if len(plan.nodes) > 1 else bottom + 24
    bottom = _legend(sheet, plan, bars, bottom + 14)
    return WIDTH, _exit_notes(plan, sheet, words, bottom)


# -- which rows ----------------------------------------------------------------------------------------------


def _bars(plan: Plan, bought: Sequence[Purchase]) -> list[Bar]:
    """One bar for each feature bought and for each long pause; neighbours merged where they are too many."""
    bars: list[Bar] = []
    for row in chain_bill(plan, bought):
        items, evaluation = row.purchase.items, row.purchase.evaluation
        spent = bars[-1].end if bars else 0.0
        if not items:
            bars.append(Bar(row.first, row.last, (), spent, 0.0, 0.0, evaluation))
        for item in items:
            last = evaluation if item is items[-1] else 0.0
            bars.append(Bar(row.first, row.last, (item.feature,), spent, item.setup, item.own, last))
            spent = bars[-1].end
    if len(bars) <= _MOST_BARS:
        return bars
    bars = [bar for bar in bars if bar.features or bar.evaluation or bar is bars[-1]]
    return bars if len(bars) <= _MOST_BARS else _condensed(bars)


def _condensed(bars: list[Bar]) -> list[Bar]:
    """Expensive purchases keep their own rows; others share one with neighbours, first those of one step."""
    prices = [bar.own + bar.setup for bar in bars]
    ranked = sorted(range(len(bars)), key=lambda i: (-prices[i], i))
    expensive = {i for i in ranked[:_MOST_EXPENSIVE] if prices[i] >= 2 * math.fsum(prices) / len(bars)}
    share = math.ceil((len(bars) - len(expensive)) / (_MOST_BARS - 2 * len(expensive)))
    out: list[Bar] = []
    size = 0  # bars in the last row; none may join an expensive one
    for i, bar in enumerate(bars):
        joins = size and i not in expensive and (size < share or bar.first == out[-1].last)
        out.append(_merged(out.pop(), bar) if joins else bar)
        size = 0 if i in expensive else size + 1 if joins else 1
    return out


def _merged(a: Bar, b: Bar) -> Bar:
    return Bar(
        a.first,
        b.last,
        a.features + b.features,
        a.start,
        a.setup + b.setup,
        a.own + b.own,
        a.evaluation + b.evaluation,
    )


# -- drawing them --------------------------------------------------------------------------------------------


class _Scale:
    """The horizontal position of a price."""

    def __init__(self, total: float, label_end: float) -> None:
        self.total = total
        self.label_end = label_end  # how far a label may reach to the right
        step = _round_step(total / 5) if total > 0 else 1.0
        self.ticks = [step * i for i in range(int(total / step + 1e-9) + 1)] if total > 0 else [0.0]

    def __call__(self, price: float) -> float:
        share = min(price / self.total, 1.0) if self.total > 0 else 0.0
        return _AXIS + share * (_AXIS_END - _AXIS)


def _round_step(wanted: float) -> float:
    """The next larger of 1, 2, 5 times a power of ten."""
    power = 10.0 ** math.floor(math.log10(wanted))
    return next((m * power for m in (1.0, 2.0, 5.0) if m * power >= wanted), 10.0 * power)


def _grid(sheet: Sheet, words: Wording, scale: _Scale, top: float, bottom: float) -> None:
    for tick in scale.ticks:
        sheet.line(scale(tick), top, scale(tick), bottom + 4, LINE)
        sheet.text(scale(tick), bottom + 18, f"{tick:.10g}", size=11, fill=SOFT, anchor="middle")
    unit = f"price so far, {words.unit}" if words.unit else "price so far"
    sheet.text(_NAME, bottom + 18, fit(unit, _AXIS - _NAME - 30, 11), size=11, fill=SOFT)


def _headings(sheet: Sheet, y: float, leaving: bool) -> None:
    sheet.text(_NAME - 14, y, "step", size=11, fill=SOFT, anchor="end")
    sheet.text(_NAME, y, "buys", size=11, fill=SOFT)
    sheet.text(_TOTAL, y, "total", size=11, fill=SOFT, anchor="end")
    if leaving:
        sheet.text(_EXIT, y, "leave?", size=11, fill=SOFT, anchor="middle")


def _row(sheet: Sheet, words: Wording, scale: _Scale, bar: Bar, y: float, new_step: bool) -> None:
    if new_step:
        steps = f"{bar.first + 1}" if bar.first == bar.last else f"{bar.first + 1}-{bar.last + 1}"
        sheet.text(_NAME - 14, y + 17, steps, size=11, fill=SOFT, anchor="end")
    name, color, tip = "nothing new", SOFT, ""
    if bar.features:
        more = f" + {len(bar.features) - 1} more" if len(bar.features) > 1 else ""
        first = fit(words.feature(bar.features[0]), _AXIS - _NAME - 14 - width_of(more))
        name, color, tip = first + more, INK, words.features(bar.features, limit=40)
    sheet.text(_NAME, y + 17, name, fill=color, tip=tip)
    _bar(sheet, words, scale, bar, y)
    sheet.text(_TOTAL, y + 17, words.amount(bar.end), anchor="end", bold=True)


def _bar(sheet: Sheet, words: Wording, scale: _Scale, bar: Bar, y: float) -> None:
    at = bar.start
    for part, color, what in (
        (bar.setup, SETUP, "set-up"),
        (bar.own, OWN, "own price"),
        (bar.evaluation, WORK, "evaluation"),
    ):
        if part:
            x = scale(at)
            tip = f"{what}: {words.price(part)}"
            sheet.rect(x, y + 6, max(scale(at + part) - x, 1.5), _ROW - 12, color, radius=1, tip=tip)
            at += part
    if bar.price or bar.features:
        _price_label(sheet, words, scale, bar, y + 16.5)
    if not bar.price:
        sheet.dot(scale(bar.start), y + 12.5, 3.5, OWN if bar.features else WORK)


def _price_label(sheet: Sheet, words: Wording, scale: _Scale, bar: Bar, y: float) -> None:
    """The price to the right of the bar, or inside it, or to its left, where there is room."""
    label = words.amount(bar.price) if bar.price else "free"
    room = width_of(label, 11) + 8
    start, end = scale(bar.start), scale(bar.end)
    if end + room <= scale.label_end:
        sheet.text(end + 7, y, label, size=11, fill=SOFT)
    elif end - start >= room + 8:
        inside = scale(bar.end - bar.evaluation) if bar.own > bar.evaluation else end
        sheet.text(inside - 7, y, label, size=11, fill=PAPER, anchor="end")
    else:
        sheet.text(start - 6, y, label, size=11, fill=SOFT, anchor="end")


def _exit_mark(plan: Plan, sheet: Sheet, steps: range, y: float) -> None:
    count = sum(plan.nodes[k].is_exit for k in steps)
    if count == 1:
        sheet.diamond(_EXIT, y + 12.5, 5, LOW)
    elif count:
        sheet.diamond(_EXIT - 10, y + 12.5, 5, LOW)
        sheet.text(_EXIT, y + 16.5, f"{count}", size=11, fill=LOW)


# -- below the rows ------------------------------------------------------------------------------------------


def _step_line(plan: Plan, sheet: Sheet, bought: Sequence[Purchase], y: float) -> float:
    """All steps on one line: where something is bought, and where a row may leave."""
    n = len(plan.nodes)

    def place(k: int) -> float:
        return _AXIS + (_AXIS_END - _AXIS) * k / (n - 1)

    sheet.text(_NAME, y + 4, "along the steps", size=11, fill=SOFT)
    sheet.line(_AXIS, y, _AXIS_END, y, LINE, width=3)
    buying = [k for k, purchase in enumerate(bought) if purchase.items]
    for k in buying[:: 1 + len(buying) // _MOST_MARKS]:
        sheet.line(place(k), y - 6, place(k), y + 6, OWN, width=1.5)
    leaving = [k for k, node in enumerate(plan.nodes) if node.is_exit]
    for k in leaving[:: 1 + len(leaving) // _MOST_MARKS]:
        sheet.diamond(place(k), y + 11, 3.5, LOW)
    sheet.text(_AXIS - 10, y + 4, "1", size=11, fill=SOFT, anchor="end")
    sheet.text(_AXIS_END + 10, y + 4, f"{n}", size=11, fill=SOFT)
    return y + 20


def _legend(sheet: Sheet, plan: Plan, bars: Sequence[Bar], y: float) -> float:
    shown = [
        (any(bar.own for bar in bars), OWN, "the feature itself"),
        (any(bar.setup for bar in bars), SETUP, "setting up its group"),
        (any(bar.evaluation for bar in bars), WORK, "evaluating terms"),
    ]
    x = _NAME
    for present, color, text in shown:
        if present:
            sheet.rect(x, y - 1, 11, 11, color, radius=2)
            sheet.text(x + 17, y + 9, text, size=11, fill=SOFT)
            x += 34 + width_of(text, 11)
    if any(node.is_exit for node in plan.nodes):
        sheet.diamond(x + 5, y + 4.5, 5, LOW)
        sheet.text(x + 17, y + 9, "a row may leave here", size=11, fill=SOFT)
    return y + 24


def _exit_notes(plan: Plan, sheet: Sheet, words: Wording, y: float) -> float:
    lines = exits(plan, range(len(plan.nodes)), words, "step")
    shown = lines if len(lines) <= 4 else lines[:3]
    for line in shown:
        sheet.text(_NAME, y + 9, fit(f"leaves {line}", WIDTH - _NAME - _LEFT, 11), size=11, fill=SOFT)
        y += 16
    if len(lines) > len(shown):
        more = f"... and for {plural(len(lines) - len(shown), 'more reason')}"
        sheet.text(_NAME, y + 9, more, size=11, fill=SOFT)
        y += 16
    return y + 12
