"""What the charts of a report share: named colours, marks, short numbers and escaped names.

Charts are plain dicts in plotly's format. A colour such as "@ink" is a variable of the page's style sheet,
which differs between light and dark; the page's script looks it up.
"""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = ["LEGEND", "Chart", "Floats", "colour_of", "escaped", "mark_of", "short", "shortened"]

Chart: TypeAlias = dict[str, Any]
Floats: TypeAlias = NDArray[np.float64]

LEGEND: Chart = {
    "orientation": "h",
    "x": 0,
    "y": -0.2,
    "xanchor": "left",
    "yanchor": "top",
    "traceorder": "normal",
    "itemsizing": "constant",
}
_N_COLOURS = 8
_MARKS = ("circle", "square", "diamond", "triangle-up", "triangle-down", "x", "star", "pentagon")


def colour_of(place: int) -> str:
    """The colour of the learner with this number."""
    return f"@c{place % _N_COLOURS}"


def mark_of(place: int) -> str:
    """The mark of the learner with this number; where colours repeat, the marks differ."""
    return _MARKS[(place + place // _N_COLOURS) % len(_MARKS)]


def escaped(words: str) -> str:
    """Text for plotly, which would interpret tags.

    >>> escaped("a<b>c")
    'a&lt;b&gt;c'
    """
    return escape(words, quote=False)


def short(value: Any) -> float:
    """A number in five digits."""
    return float(f"{float(value):.5g}")


def shortened(values: Iterable[Any]) -> list[float]:
    return [short(value) for value in values]
