"""A drawing sheet that is written as SVG: shapes, escaped text, and the width of text.

The SVG has no identifiers and no style sheets, so that one page can hold several drawings.
"""

from __future__ import annotations

import unicodedata
from html import escape

__all__ = ["FAINT", "INK", "LINE", "LOW", "OWN", "PAPER", "SETUP", "SOFT", "WORK", "Sheet", "fit", "width_of"]

PAPER, INK, SOFT, FAINT, LINE = "#ffffff", "#1f2933", "#5b6775", "#f4f6f8", "#d5dbe1"
OWN, SETUP, WORK, LOW = "#0f766e", "#e0a030", "#9aa5b1", "#be3455"  # own price, set-up, evaluation, leaving
_FONT = "Helvetica, Arial, 'Liberation Sans', sans-serif"


class Sheet:
    """Elements in the order they are drawn."""

    def __init__(self) -> None:
        self._elements: list[str] = []

    def rect(
        self,
        x: float,
        y: float,
        width: float,
        height: float,
        fill: str,
        *,
        stroke: str = "none",
        radius: float = 0.0,
        tip: str = "",
    ) -> None:
        """A rectangle; `tip` is shown when a mouse rests on it."""
        shape = f'x="{_n(x)}" y="{_n(y)}" width="{_n(width)}" height="{_n(height)}" rx="{_n(radius)}"'
        self._add("rect", f'{shape} fill="{fill}" stroke="{stroke}"', tip)

    def line(
        self,
        x1: float,
        y1: float,
        x2: float,
        y2: float,
        stroke: str,
        *,
        width: float = 1.0,
        dashes: str = "none",
    ) -> None:
        """A straight line; `dashes` as in SVG."""
        ends = f'x1="{_n(x1)}" y1="{_n(y1)}" x2="{_n(x2)}" y2="{_n(y2)}"'
        self._add("line", f'{ends} stroke="{stroke}" stroke-width="{_n(width)}" stroke-dasharray="{dashes}"')

    def curve(self, x1: float, y1: float, x2: float, y2: float, landing: float, stroke: str) -> None:
        """A curve between two points that is horizontal over the last `landing` units."""
        end, middle = x2 - landing, (x1 + x2 - landing) / 2
        bow = f"C {_n(middle)} {_n(y1)}, {_n(middle)} {_n(y2)}, {_n(end)} {_n(y2)}"
        path = f"M {_n(x1)} {_n(y1)} {bow} L {_n(x2)} {_n(y2)}"
        self._add("path", f'd="{path}" fill="none" stroke="{stroke}" stroke-width="1.5"')

    def diamond(self, x: float, y: float, radius: float, fill: str, tip: str = "") -> None:
        path = f"M {_n(x)} {_n(y - radius)} l {_n(radius)} {_n(radius)} l {_n(-radius)} {_n(radius)} "
        self._add("path", f'd="{path}l {_n(-radius)} {_n(-radius)} z" fill="{fill}"', tip)

    def dot(self, x: float, y: float, radius: float, fill: str, tip: str = "") -> None:
        self._add("circle", f'cx="{_n(x)}" cy="{_n(y)}" r="{_n(radius)}" fill="{fill}"', tip)

    def text(
        self,
        x: float,
        y: float,
        words: str,
        *,
        size: float = 12.0,
        fill: str = INK,
        anchor: str = "start",
        bold: bool = False,
        tip: str = "",
    ) -> None:
        look = f'font-size="{_n(size)}" fill="{fill}" text-anchor="{anchor}"'
        weight = ' font-weight="600"' if bold else ""
        title = f"<title>{escape(tip)}</title>" if tip else ""
        self._elements.append(f'<text x="{_n(x)}" y="{_n(y)}" {look}{weight}>{title}{escape(words)}</text>')

    def svg(self, width: float, height: float, title: str, description: str) -> str:
        """The complete SVG, with a white background of its own, for pages of any colour."""
        size = f'width="{_n(width)}" height="{_n(height)}" viewBox="0 0 {_n(width)} {_n(height)}"'
        card = (
            f'<rect x="0.5" y="0.5" width="{_n(width - 1)}" height="{_n(height - 1)}" rx="10" '
            f'fill="{PAPER}" stroke="{LINE}"/>'
        )
        lines = [
            f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" font-family="{_FONT}">',
            f"<title>{escape(title)}</title>",
            f"<desc>{escape(description)}</desc>",
            card,
            *self._elements,
            "</svg>",
        ]
        return "\n".join(lines) + "\n"

    def _add(self, name: str, attributes: str, tip: str = "") -> None:
        end = f"><title>{escape(tip)}</title></{name}>" if tip else "/>"
        self._elements.append(f"<{name} {attributes}{end}")


def width_of(words: str, size: float = 12.0) -> float:
    """Estimate the width of text in a sans-serif font. The estimate is too wide rather than too narrow.

    >>> width_of("iii") < width_of("nnn") < width_of("MMM")
    True
    """
    return size * sum(map(_width_of_character, words))


def fit(words: str, width: float, size: float = 12.0) -> str:
    """The words, cut with an ellipsis if they are wider than `width`.

    >>> fit("a short one", 200), fit("a rather long one", 60)
    ('a short one', 'a rather…')
    """
    if width_of(words, size) <= width:
        return words
    room = width - width_of("…", size)
    kept = 0
    for character in words:
        room -= size * _width_of_character(character)
        if room < 0:
            break
        kept += 1
    return words[:kept].rstrip() + "…"


def _width_of_character(character: str) -> float:
    if character in "iljt.,:;|!'()[]fr ":
        return 0.36
    if character in "mwMW@%":
        return 0.95
    if unicodedata.east_asian_width(character) in "WF":
        return 1.1
    if unicodedata.combining(character):
        return 0.0
    return 0.74 if character.isupper() else 0.6


def _n(value: float) -> str:
    """A coordinate rounded to a tenth, without trailing zeros."""
    text = f"{value:.1f}".removesuffix(".0")
    return "0" if text == "-0" else text
