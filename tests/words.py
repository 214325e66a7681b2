"""Plain words: ``python -m tests.words [room ...]`` finds words that a newcomer would have to look up.

Every line of ``src``, ``tests``, ``benchmarks``, the README, the guide, CONTRIBUTING and CHANGELOG is split
into words, names such as ``new_bench`` and ``RowsAside`` included. Tests, benchmarks and documents are the
rooms ``tests``, ``benchmarks`` and ``docs``; other rooms are in `tests.rooms`. Without a name every room
outside `UNFINISHED` is searched; ``--all`` includes those.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tests.rooms import Finding, report, room_named

ROOT = Path(__file__).parent.parent
SOURCES = ROOT / "src" / "miserly"
OTHERS = {
    "docs": ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "docs/*.md", "docs/benchmarks/*.md"),
    "tests": ("tests/**/*.py",),
    "benchmarks": ("benchmarks/**/*.py",),
    "examples": ("examples/**/*.py",),
}

# Rooms that still use such words. This list only gets shorter.
UNFINISHED: tuple[str, ...] = ()

# Words to avoid, as regular expressions, and what to write instead.
WORDS = {
    "dial(s|led)?": "hyperparameter",
    "dear(er|est)?": "expensive",
    "judg(e|es|ed|ing|ement|ements)": "evaluate, validation set",
    "promis(e|es|ed|ing)": "guarantee",
    "wits?": "the condition that is checked",
    "anew": "again",
    "crews?": "workers",
    "purses?": "BudgetState, money left",
    "workshops?": "Buffers",
    "contenders?": "candidate learner",
    "pilot(s|ed|ing)?": "screening",
    "bench(es)?": "evaluator, evaluation data, buffers",
    "wish(es|ed|ing)?": "request",
    "(whoever|whomever|nobody|everybody)": "rows that ..., no row, every row",
    "(thrifty|thriftier|thriftiest|lavish|lavishly)": "cheap end, expensive end",
    "surpris(e|es|ed|ing)": "log loss",
    "(told|said)": "reported, given, passed to",
    "aside": "validation set, held-out rows",
}

# Uses that are meant: a file (or *), and a regular expression that the use must be a part of.
ALLOWED = [
    ("*", r"\b(miserly|make) bench\b|\[bench\]|`bench`"),  # a command, a target, an extra
    ("src/miserly/cli/__init__.py", r"\| bench \||\bsearch_commands\.bench\b"),
    ("src/miserly/cli/search_commands.py", r'^bench$|"bench"|\bdef bench\b'),
    ("docs/README.md", r"\bcompress, bench, datasets\b"),
    ("CHANGELOG.md", r"`[\w.]*(?i:promis|judg)\w+`"),  # old names
    ("src/miserly/plan/plan.py", r'"promises(_of)?"'),  # in files of earlier versions
    ("tests/plan/store/test_guarantees.py", r'"promises(_of)?"'),
    ("tests/cli/test_bench.py", r"\b(test_)?(bench|BENCH)(?![a-z])"),  # tests of the command
    ("tests/cli/test_frontier.py", r'"bench"|\btest_bench_'),
    ("tests/cli/test_commands.py", r'"bench"'),
    ("tests/cli/test_terminal.py", r'"bench"'),
    ("tests/plan/engine/test_stepping.py", r"\btest_what_is_told_"),  # by `Trail.tell`
    ("tests/words.py", r".*"),  # these lists and their tests
    ("tests/test_lint_tools.py", r".*"),
]

_FORBIDDEN = {re.compile(word): instead for word, instead in WORDS.items()}
_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")


class Use(NamedTuple):
    """One use of a word to avoid."""

    path: str
    line: int
    word: str
    instead: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.word} (rather: {self.instead})"


def words_of(line: str) -> Iterator[tuple[str, int, int]]:
    """Words of a line in small letters, with their places; parts of names are words.

    >>> [word for word, _, _ in words_of("rows = new_bench(RowsAside)")]
    ['rows', 'new', 'bench', 'rows', 'aside']
    """
    for found in _PARTS.finditer(line):
        yield found[0].lower(), found.start(), found.end()


def instead_of(word: str) -> str | None:
    """What to write instead of a word, or None where the word is plain.

    >>> instead_of("judged"), instead_of("benchmarks"), instead_of("dialog")
    ('evaluate, validation set', None, None)
    """
    for pattern, instead in _FORBIDDEN.items():
        if pattern.fullmatch(word):
            return instead
    return None


def is_allowed(path: str, line: str, start: int, end: int) -> bool:
    """Whether a use is one of `ALLOWED`."""
    return any(
        found.start() <= start and end <= found.end()
        for where, pattern in ALLOWED
        if where in ("*", path)
        for found in re.finditer(pattern, line)
    )


def files() -> Iterator[tuple[str, Path]]:
    """Rooms and files that are searched."""
    for path in sorted(SOURCES.rglob("*")):
        if path.suffix in {".py", ".js", ".css", ".html"}:
            parts = path.relative_to(SOURCES).parent.parts
            yield room_named([part for part in parts if part != "assets"]), path
    for room, patterns in OTHERS.items():
        for pattern in patterns:
            for path in sorted(ROOT.glob(pattern)):
                yield room, path


def uses_in(path: Path) -> Iterator[Use]:
    """Uses of words to avoid in one file, its name included."""
    name = path.relative_to(ROOT).as_posix()
    lines = [path.stem, *path.read_text(encoding="utf-8").splitlines()]
    for number, line in enumerate(lines):
        for word, start, end in words_of(line):
            instead = instead_of(word)
            if instead and not is_allowed(name, line, start, end):
                yield Use(name, number, word, instead)


def findings() -> list[Finding]:
    """Uses in all rooms."""
    return [Finding(room, str(use)) for room, path in files() for use in uses_in(path)]


if __name__ == "__main__":
    sys.exit(report(findings(), UNFINISHED, sys.argv[1:]))
