"""Colours and fonts of the pictures, and how they are saved."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from miserly.errors import DataError
from miserly.utils.files import atomic_path

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = [
    "COLOURS",
    "FAINT",
    "INK",
    "PALE",
    "SOFT",
    "STYLE",
    "dress",
    "matplotlib",
    "money",
    "percent",
    "save",
    "subtitle",
]

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
