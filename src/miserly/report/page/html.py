"""Pieces of HTML: escaped text, tables, and data that cannot end its script element."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

__all__ = [
    "Column",
    "data_script",
    "details",
    "figure",
    "paragraph",
    "section",
    "table",
    "text",
    "tied",
    "unbroken",
]


@dataclass(frozen=True)
class Column:
    """The head of a column, and whether it holds numbers or wide text."""

    head: str
    kind: str = ""  # "number" or "wide"


def text(words: Any) -> str:
    """Escaped text.

    >>> text('a < b & "c"')
    'a &lt; b &amp; &quot;c&quot;'
    """
    return escape(tied(str(words)), quote=True)


def tied(words: str) -> str:
    """Text without a line break between a number and its per cent sign.

    >>> tied("5 % of 20 rows") == "5\\N{NO-BREAK SPACE}% of 20 rows"
    True
    """
    return words.replace(" %", "\N{NO-BREAK SPACE}%")


def unbroken(words: Any) -> str:
    """Text without a line break inside a number: 2.13e-06 has a hyphen.

    >>> unbroken("tradeoff 2.13e-06, lookahead")
    'tradeoff <span class="whole">2.13e-06,</span> lookahead'
    """
    return re.sub(r"\S*\d\S*", lambda part: f'<span class="whole">{part[0]}</span>', text(words))


def paragraph(words: str, look: str = "") -> str:
    return f'<p class="{look}">{text(words)}</p>' if look else f"<p>{text(words)}</p>"


def table(
    caption: str,
    columns: Sequence[Column],
    lines: Iterable[Sequence[Any]],
    name: str = "",
    tall: bool = False,
) -> str:
    """A table that scrolls on a narrow page. If a cell has two parts, the second is in small print."""
    heads = "".join(f'<th scope="col"{_look(column)}>{text(column.head)}</th>' for column in columns)
    body = "".join(
        f"<tr>{''.join(_cell(column, cell) for column, cell in zip(columns, line, strict=True))}</tr>\n"
        for line in lines
    )
    mark = f' id="{text(name)}"' if name else ""
    frame = f'class="scroll{" tall" if tall else ""}" tabindex="0" role="region" aria-label="{text(caption)}"'
    return (
        f"<div {frame}><table{mark}><caption><span>{text(caption)}</span></caption>"
        f"<thead><tr>{heads}</tr></thead>\n<tbody>\n{body}</tbody></table></div>\n"
    )


def _look(column: Column) -> str:
    return f' class="{column.kind}"' if column.kind else ""


def _cell(column: Column, cell: Any) -> str:
    large, small = cell if isinstance(cell, tuple) else (cell, "")
    more = f"<small>{unbroken(small)}</small>" if small else ""
    return f"<td{_look(column)}>{text(large)}{more}</td>"


def section(name: str, heading: str, inside: str) -> str:
    """A section with a heading and an id for links."""
    return (
        f'<section id="{name}" aria-labelledby="{name}-title">\n'
        f'<h2 id="{name}-title">{text(heading)}</h2>\n{inside}</section>\n'
    )


def figure(name: str, heading: str, caption: str, says: str) -> str:
    """The element of a chart, with a description for screen readers."""
    return (
        f"<figure><h3>{text(heading)}</h3><figcaption>{text(caption)}</figcaption>"
        f'<div class="chart" id="chart-{name}" role="img" aria-label="{text(says)}"></div></figure>\n'
    )


def details(heading: str, inside: str, on_paper: bool = True) -> str:
    """Content that opens on demand; with `on_paper` it is always printed."""
    look = ' class="print"' if on_paper else ""
    return f"<details{look}><summary>{text(heading)}</summary>\n{inside}</details>\n"


def data_script(record: Any) -> str:
    """Data for the page's script. No name in it can end the script element.

    >>> data_script(["</script>"])
    '<script type="application/json" id="data">["\\\\u003c/script\\\\u003e"]</script>'
    """
    plain = json.dumps(record, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    for character in "<>&":
        plain = plain.replace(character, f"\\u{ord(character):04x}")
    return f'<script type="application/json" id="data">{plain}</script>'
