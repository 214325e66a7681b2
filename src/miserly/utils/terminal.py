"""Text for a terminal, with visible control characters.

Names of columns, cells, units and messages come from files. Escape sequences in them could move the cursor,
rename the window or reverse text, and square brackets would be markup.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rich.console import Console
from rich.segment import Segment

__all__ = ["CONTROLS", "Terminal", "visible"]

# Characters that a terminal acts on instead of showing them: controls, and those that reverse text.
CONTROLS = {
    **{code: chr(0x2400 + code) for code in range(0x20) if chr(code) not in "\t\n"},
    0x7F: "\u2421",
    **dict.fromkeys([*range(0x80, 0xA0), *range(0x202A, 0x202F), *range(0x2066, 0x206A)], "\ufffd"),
}


def visible(text: str) -> str:
    """Return a text with a visible symbol in place of every control character.

    >>> visible("\x1b[31mred")
    '\u241b[31mred'
    """
    return text.translate(CONTROLS)


class Terminal(Console):
    """Console that shows texts literally: control characters are visible, and nothing is markup."""

    def __init__(self, **given: Any) -> None:
        super().__init__(**{"highlight": False, "markup": False, **given})

    def render(self, *args: Any, **given: Any) -> Iterable[Segment]:
        for segment in super().render(*args, **given):
            yield segment if segment.control else Segment(visible(segment.text), segment.style)
