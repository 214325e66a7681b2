"""What pictures share: colours, fonts, saving, and the boxes of stages. Lengths are in inches."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from miserly.errors import DataError
from miserly.plan.flow import Flow, PlanStage
from miserly.plan.show.phrases import plain
from miserly.plan.show.wording import Wording
from miserly.utils.files import atomic_path

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["COLOURS", "FAINT", "INK", "LINE", "PALE", "SMALL", "SOFT", "STYLE", "TEXT", "StageBox",
           "class_colours", "dress", "label_words", "matplotlib", "money", "percent", "save", "stage_name",
           "subtitle", "width_of", "wrap", "write"]  # fmt: skip

INK, SOFT, FAINT, PALE = "#1f2933", "#6b7785", "#dde3ea", "#f5f7fa"
COLOURS = ("#1764ab", "#d1580b", "#2e7d4f", "#8a3ea8", "#b3261e", "#5f6b00")
STYLE = {
    "font.family": "sans-serif",
    "font.size": 10,
    "text.color": INK,
    "axes.edgecolor": SOFT,
    "axes.labelcolor": INK,
    "xtick.color": SOFT,
    "ytick.color": SOFT,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "svg.fonttype": "none",
    "svg.hashsalt": "miserly",  # the same picture has the same bytes
}


def matplotlib() -> tuple[Any, Any]:
    """`pyplot` and `rc_context`. `DataError` if matplotlib is not installed."""
    try:
        from matplotlib import pyplot, rc_context
    except ImportError:
        raise DataError("pictures need matplotlib: pip install 'miserly[report]'") from None
    return pyplot, rc_context


def save(figure: Figure, target: Any) -> None:
    """Write a figure to one or several files, without a date, so that equal pictures have equal bytes."""
    for path in [target] if isinstance(target, (str, Path)) else target or []:
        plain = {"Date": None} if str(path).lower().endswith(".svg") else {}
        target = Path(path)
        if not target.suffix:  # as matplotlib does
            target = target.with_name(f"{target.name}.{figure.canvas.get_default_filetype()}")
        with atomic_path(target) as draft:
            figure.savefig(draft, dpi=200, metadata=plain)


def dress(axes: Axes, x: str, y: str) -> None:
    """Set labels, a horizontal grid and no frame except the lower line."""
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    axes.grid(axis="y", color=FAINT, linewidth=0.8)
    axes.set_axisbelow(True)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.tick_params(axis="y", length=0)


def subtitle(axes: Axes, title: str, caption: str) -> None:
    """Set a bold title and a caption in small print below it."""
    axes.set_title(title, loc="left", fontsize=12.5, fontweight="bold", pad=26)
    axes.text(0, 1.03, caption, transform=axes.transAxes, fontsize=9, color=SOFT)


def money(amount: float, unit: str) -> str:
    """An amount in three digits, or all those before the point.

    >>> money(2.3456, "CAD"), money(1234.5, "")
    ('2.35 CAD', '1234')
    """
    digits = f"{amount:.0f}" if amount >= 100 else f"{amount:.3g}"
    return f"{digits} {unit}".strip()


def percent(share: float) -> str:
    """A share in per cent. Shares that round to 0 or 100 are shown as <1 and >99.

    >>> percent(0.25), percent(0.002), percent(0.0), percent(0.999)
    ('25 %', '<1 %', '0 %', '>99 %')
    """
    if 0.0 < share < 0.005:
        return "<1 %"
    if 0.995 <= share < 1.0 - 1e-12:
        return ">99 %"
    return f"{100 * share:.0f} %"


# -- boxes of stages -----------------------------------------------------------------------------------------

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
        self.name, self.paid = self._beside(stage_name(found.stages[i], not found.plan.has_forks), paid)
        self.lines = wrap([words.feature(f) for f in found.features[i]], wide - 3 * _PAD)
        self.classes = found.label[i] if found.classes and found.label is not None else None
        n_lines = 1 + len(self.lines) + (bool(self.label) and not inline)
        self.height = LINE * n_lines + 2 * _PAD + (0.06 if self.classes is not None else 0.0)

    def _beside(self, name: str, paid: str) -> tuple[str, str]:
        """The text beside the share: always the cost and, if they fit, its word and the name of the stage."""
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


# -- drawing -------------------------------------------------------------------------------------------------


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
