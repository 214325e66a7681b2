"""Numbers, names and lists as text, for the words of plans and reports.

Names come from data or from files that are not trusted. Characters that cannot be printed, or that change the
direction of text in a terminal, are written as escapes. Long names are cut.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

__all__ = ["listing", "number", "ordinal", "plain", "plural"]

_LONGEST = 40


def plain(text: Any, longest: int = _LONGEST) -> str:
    """Text that can be printed in one line, cut if it is long.

    >>> plain("a\\nb"), plain("x" * 50)[-3:]
    ('a\\\\nb', 'xx…')
    """
    text = str(text)[: longest + 1]
    if not text.isprintable():
        text = text.encode("unicode_escape").decode("ascii")
    return text if len(text) <= longest else text[: longest - 1] + "…"


def number(value: float) -> str:
    """A number with up to six significant digits.

    >>> number(240.0), number(-0.0), number(1 / 3)
    ('240', '0', '0.333333')
    """
    return f"{value + 0.0:.6g}"


def listing(words: Sequence[str], more: int = 0, last: str = "and") -> str:
    """Words with commas, and `last` before the last one.

    >>> listing(["age"]), listing(["age", "sex"], last="or"), listing(["age", "sex"], more=3)
    ('age', 'age or sex', 'age, sex and 3 more')
    """
    words = [*words, f"{more} more"] if more else list(words)
    if len(words) > 1:
        return f"{', '.join(words[:-1])} {last} {words[-1]}"
    return words[0] if words else "nothing"


def plural(count: int, word: str) -> str:
    """A count and its word.

    >>> plural(1, "tree"), plural(2, "tree")
    ('1 tree', '2 trees')
    """
    return f"{count} {word}" if count == 1 else f"{count} {word}s"


def ordinal(k: int) -> str:
    """A place in an order.

    >>> ordinal(1), ordinal(12), ordinal(23)
    ('1st', '12th', '23rd')
    """
    ending = "th" if k % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(k % 10, "th")
    return f"{k}{ending}"
