"""Sizes and names: ``python -m tests.sizes [room ...]`` finds what is too long, and class names used twice.

A module has at most 400 lines, a function at most 60 without its docstring. A class name is used once in the
package. Rooms are those of `tests.rooms`. Without a name every room outside `UNFINISHED` is searched;
``--all`` includes those.
"""

from __future__ import annotations

import ast
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from tests.rooms import Finding, report, room_named

SOURCES = Path(__file__).parent.parent / "src" / "miserly"
MODULE_LINES, FUNCTION_LINES = 400, 60

# Rooms that are not within these limits yet. This list only gets shorter.
UNFINISHED: tuple[str, ...] = ()

# Functions that may be longer, and why.
ALLOWED: dict[tuple[str, str], str] = {}


def findings(root: Path = SOURCES) -> list[Finding]:
    """Everything beyond the limits in the modules below `root`."""
    found: list[Finding] = []
    classes: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for path in sorted(root.rglob("*.py")):
        name, room = path.relative_to(root).as_posix(), room_named(path.relative_to(root).parent.parts)
        text = path.read_text(encoding="utf-8")
        tree = ast.parse(text)
        if (n_lines := text.count("\n")) > MODULE_LINES:
            found.append(Finding(room, f"{name}: {n_lines} lines"))
        for function, length in long_functions(tree):
            if (name, function) not in ALLOWED:
                found.append(Finding(room, f"{name}: {function} has {length} lines without its docstring"))
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                classes[node.name].append((room, name))
    for name, places in sorted(classes.items()):
        if len(places) > 1:
            where = ", ".join(place for _, place in places)
            found += [Finding(room, f"class {name} is in {where}") for room in sorted({r for r, _ in places})]
    return found


def long_functions(tree: ast.Module) -> Iterator[tuple[str, int]]:
    """Functions and their lines without the docstring, where these are more than the limit."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            length = (node.end_lineno or node.lineno) - node.lineno + 1
            if ast.get_docstring(node) is not None:
                length -= (node.body[0].end_lineno or 0) - node.body[0].lineno + 1
            if length > FUNCTION_LINES:
                yield node.name, length


if __name__ == "__main__":
    sys.exit(report(findings(), UNFINISHED, sys.argv[1:]))
