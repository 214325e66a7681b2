"""The boxes of stages in a picture: their text, and how they are drawn. Lengths are in inches."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from miserly.plan.flow import Flow, PlanStage, is_chain
from miserly.plan.show.phrases import plain
from miserly.plan.show.wording import Wording
from miserly.report.style import COLOURS, FAINT, INK, PALE, SOFT, money, percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = [
    "LINE",
    "SMALL",
    "TEXT",
    "StageBox",
    "class_colours",
    "label_words",
    "stage_name",
    "width_of",
    "wrap",
    "write",
]

LINE, _PAD = 0.19, 0.09
TEXT, SMALL = 9.0, 8.0  # sizes of text, in points
_LONGEST, _LONGEST_UNIT = 18, 12  # letters of a class and of a unit in a box


def stage_name(stage: PlanStage, chain: bool) -> str:
    """The name of a stage: nodes of a tree count from 0, steps of a chain from 1, as in `Plan.describe`."""
    first, last = stage.nodes[0] + chain, stage.nodes[-1] + chain
    word = "step" if chain else "node"
    return f"{word} {first}" if first == last else f"{word}s {first}-{last}"


class StageBox:
    """The text in the box of one stage; `inline` puts the labels on the first line."""

    def __init__(self, found: Flow, i: int, wide: float, inline: bool) -> None:
        words = Wording(found.plan)
        self.wide, self.inline = wide, inline
        self.share = f"{percent(found.reached[i])} of {found.rows}"
        self.label = label_words(found, found.label, i)
        paid = money(found.cost[i], plain(words.unit, _LONGEST_UNIT))
        self.name, self.paid = self._beside(stage_name(found.stages[i], is_chain(found.stages)), paid)
        self.lines = wrap([words.feature(f) for f in found.features[i]], wide - 3 * _PAD)
        self.classes = found.label[i] if found.classes and found.label is not None else None
        n_lines = 1 + len(self.lines) + (bool(self.label) and not inline)
        self.height = LINE * n_lines + 2 * _PAD + (0.06 if self.classes is not None else 0.0)

    def _beside(self, name: str, paid: str) -> tuple[str, str]:
        """The text that fits beside the share: the cost always, then its word, then the name of the stage."""
        room = self.wide - 3 * _PAD - 0.2 - width_of(self.share, TEXT, True)
        if self.label and self.inline:
            room -= width_of(self.label, TEXT) + 0.2
        for words in ((name, f"paid {paid}"), (name, paid), ("", paid)):
            if width_of(words[0], SMALL) + width_of(words[1], TEXT) <= room:
                return words
        self.share = self.share.partition(" of ")[0]  # the heading names the rows
        return "", paid

    def draw(self, axes: Axes, x: float, y: float, colour: Any) -> None:
        from matplotlib.patches import Rectangle

        style: dict[str, Any] = {"facecolor": PALE, "edgecolor": FAINT, "linewidth": 0.8, "zorder": 3}
        axes.add_patch(Rectangle((x, y), self.wide, self.height, **style))
        axes.add_patch(Rectangle((x, y), 0.05, self.height, color=colour, linewidth=0, zorder=4))
        left, right, line = x + 1.6 * _PAD, x + self.wide - _PAD, y + _PAD + 0.5 * LINE
        beside = left + width_of(self.share, TEXT, True) + 0.08
        write(axes, left, line, self.share, weight="bold")
        write(axes, beside, line, self.name, SMALL, SOFT)
        write(axes, right, line, self.paid, ha="right")
        if self.label and self.inline:
            free = beside + width_of(self.name, SMALL), right - width_of(self.paid, TEXT)
            write(axes, sum(free) / 2, line, self.label, ha="center")
        elif self.label:
            line += LINE
            write(axes, left, line, self.label)
        for text in self.lines:
            line += LINE
            write(axes, left, line, text, SMALL, INK if text.startswith("+") else SOFT)
        if self.classes is not None:
            _bar(axes, left, y + self.height - 0.1, self.wide - 2.6 * _PAD, self.classes)


def wrap(names: Sequence[str], room: float, most: int = 2) -> list[str]:
    """Names on at most `most` lines, each beginning with a plus. Names that do not fit are counted."""
    lines: list[str] = []
    while names and len(lines) < most:
        line, n_taken = _one_line(names, room, final=len(lines) == most - 1)
        lines.append(line)
        names = names[n_taken:]
    return lines or ["nothing new"]


def _one_line(names: Sequence[str], room: float, final: bool) -> tuple[str, int]:
    """As many names as fit, and their number. The final line counts the others."""
    line = ""
    for i, name in enumerate(names):
        after = len(names) - i - 1
        more = f", +{after} more" if final and after else ""
        longer = f"{line}, {name}" if line else f"+ {name}"
        if width_of(longer + more, SMALL) > room:
            if line:
                return f"{line}, +{after + 1} more" if final else line, i
            longer = _cut(longer, room - width_of(more, SMALL))
        line = longer
    return line, len(names)


def _cut(text: str, room: float) -> str:
    kept = int(len(text) * room / width_of(text, SMALL))
    while kept > 1 and width_of(text[:kept] + "…", SMALL) > room:
        kept -= 1
    return text[:kept] + "…"


def label_words(found: Flow, label: Any, i: int) -> str:
    """The labels at a stage: the share of the second of two classes or of the top class, or the mean."""
    if label is None or np.isnan(label[i]).any():
        return ""
    if not found.classes:
        return f"mean label {label[i][0]:.{_decimals(found)}f}"
    best = 1 if len(found.classes) == 2 else int(np.argmax(label[i]))
    return f"{plain(found.classes[best], _LONGEST)}: {percent(label[i][best])}"


def _decimals(found: Flow) -> int:
    """The decimals that show mean labels in three digits."""
    largest = float(np.nanmax(np.abs(found.label))) if found.label is not None else 0.0
    return int(np.clip(2 - np.floor(np.log10(largest)), 0, 6)) if largest > 0 else 0


@lru_cache(maxsize=4096)
def width_of(text: str, size: float, bold: bool = False) -> float:
    """How wide a text is, in inches."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import TextPath

    if not text:
        return 0.0
    path = TextPath((0, 0), text, size=size, prop=FontProperties(weight="bold" if bold else "normal"))
    return float(path.get_extents().x1) / 72.0


# -- drawing -----------------------------------------------------------------------------------------------


def class_colours(n_classes: int) -> list[Any]:
    """A different colour for each class."""
    from matplotlib import colormaps

    if n_classes <= len(COLOURS):
        return list(COLOURS[:n_classes])
    return list(colormaps["turbo"](np.linspace(0.05, 0.95, n_classes)))


def _bar(axes: Axes, x: float, y: float, wide: float, shares: Any) -> None:
    """The classes as pieces of one bar."""
    from matplotlib.patches import Rectangle

    for share, colour in zip(shares, class_colours(len(shares)), strict=True):
        axes.add_patch(Rectangle((x, y), wide * share, 0.05, color=colour, linewidth=0, zorder=4))
        x += wide * share


def write(
    axes: Axes, x: float, y: float, text: str, size: float = TEXT, colour: str = INK, **more: Any
) -> None:
    axes.text(x, y, text, fontsize=size, color=colour, va="center_baseline", zorder=5, **more)
