"""A contract for import-linter: no room imports an underscore name of another room."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from importlinter import Contract, ContractCheck, output

ROOT = Path(__file__).parent.parent / "src"


def room_of(module: str) -> str:
    """The room of a module: the first name after the package.

    >>> room_of("miserly.plan.engine.batch"), room_of("miserly.errors")
    ('plan', 'errors')
    """
    return module.split(".")[1] if "." in module else module


def private_imports(path: Path, module: str) -> Iterator[str]:
    """Imports of underscore modules or names of another room in a file, as lines of a report."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "miserly":
            target = node.module or ""
            if room_of(target) == room_of(module):
                continue
            names = [alias.name for alias in node.names]
            if any(
                part.startswith("_") and not part.startswith("__") for part in (*target.split("."), *names)
            ):
                yield f"{module}, line {node.lineno}: from {target} import {', '.join(names)}"


class PrivateNames(Contract):
    """Broken where a room imports a name that starts with an underscore from another room."""

    def check(self, graph: Any, verbose: bool) -> ContractCheck:
        found = []
        for path in sorted(ROOT.rglob("*.py")):
            module = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
            found += private_imports(path, module)
        return ContractCheck(kept=not found, metadata={"found": found})

    def render_broken_contract(self, check: ContractCheck) -> None:
        for line in check.metadata["found"]:
            output.print_error(line)
