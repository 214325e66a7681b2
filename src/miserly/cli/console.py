"""Output for people: streams, tables, the format of numbers, and problems of the input."""

from __future__ import annotations

import functools
import json
import math
import os
import shlex
import sys
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import typer
from rich import box
from rich.table import Table
from rich.text import Text

from miserly.errors import DataError, MiserlyError
from miserly.utils.files import check_writable
from miserly.utils.terminal import CONTROLS, Terminal, visible

__all__ = ["ManyProblems", "Misuse", "Problems", "also_in", "amount", "amounts", "check_output", "err",
           "friendly", "json_text", "listing", "new_table", "note", "out", "percent", "print_json",
           "refuse_twice", "shell_line", "shell_word", "warn"]  # fmt: skip

out = Terminal()
err = Terminal(stderr=True)

Command = TypeVar("Command", bound=Callable[..., None])

# Exit codes, the same for every command.
TROUBLE = 1  # with data, prices or a budget
USAGE = 2  # options that do not go together
INTERRUPTED = 130


class Misuse(MiserlyError):
    """Options that do not go together."""


def friendly(command: Command) -> Command:
    """Report an error in one line and exit with its code; with `debug=True`, show the traceback."""

    @functools.wraps(command)
    def run(*args: Any, **options: Any) -> None:
        try:
            with warnings.catch_warnings():
                warnings.showwarning = lambda message, *place: warn(" ".join(str(message).split()))
                command(*args, **options)
        except BrokenPipeError:  # the reader of our output has closed it: `miserly predict ... | head`
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit(TROUBLE) from None
        except (MiserlyError, OSError) as error:
            if options.get("debug"):
                raise
            for line in error.problems if isinstance(error, ManyProblems) else [_words(error)]:
                _print_error(line)
            raise typer.Exit(USAGE if isinstance(error, Misuse) else TROUBLE) from None
        except KeyboardInterrupt as stop:
            _print_error("; ".join(["interrupted", *getattr(stop, "__notes__", ())]))
            raise typer.Exit(INTERRUPTED) from None
        except Exception as error:
            if options.get("debug") or isinstance(error, typer.Exit):
                raise
            _print_error(f"unexpected {type(error).__name__}: {error} (--debug shows the traceback)")
            raise typer.Exit(TROUBLE) from None

    return run  # type: ignore[return-value]


def _words(error: Exception) -> str:
    if isinstance(error, OSError) and error.filename is not None:
        text = f"{error.filename}: {(error.strerror or str(error)).lower()}"
        return "; ".join([text, *getattr(error, "__notes__", ())])
    return str(error)


def _print_error(message: str) -> None:
    err.print(Text.assemble(("error:", "bold red"), f" {' '.join(message.split())}"), soft_wrap=True)


def note(message: str) -> None:
    err.print(Text.assemble(("note:", "bold"), f" {message}"), soft_wrap=True)


def warn(message: str) -> None:
    err.print(Text.assemble(("warning:", "bold yellow"), f" {message}"), soft_wrap=True)


def print_json(record: Any) -> None:
    """Print JSON on standard output; numbers that are not finite are null."""
    sys.stdout.write(f"{json_text(record, indent=2)}\n")


def json_text(record: Any, indent: int | None = None) -> str:
    """JSON with escapes for characters that would control a terminal."""
    text = json.dumps(_plain(record), indent=indent, allow_nan=False, ensure_ascii=False)
    return text.translate({code: f"\\u{code:04x}" for code in CONTROLS if code >= 0x7F})


def _plain(record: Any) -> Any:
    if isinstance(record, Mapping):
        return {str(key): _plain(value) for key, value in record.items()}
    if isinstance(record, (list, tuple)):
        return [_plain(value) for value in record]
    if hasattr(record, "tolist"):
        return _plain(record.tolist())
    return None if isinstance(record, float) and not math.isfinite(record) else record


def check_output(
    path: Path, endings: Sequence[str] = (), inputs: Iterable[Path | None] = (), force: bool = False
) -> None:
    """Refuse an output file that cannot be written, before a long computation.

    A file that is also one of the `inputs` is refused, unless `force` is set.
    """
    if endings and path.suffix.lower() not in endings:
        raise Misuse(f"{path}: the name must end in {' or '.join(endings)}")
    check_writable(path)
    given = [one for one in inputs if one is not None and one.exists()]
    if not force and path.exists() and any(map(path.samefile, given)):
        raise Misuse(f"{path}: this file is also read; give another name, or --force to replace it")


def refuse_twice(*paths: Path | None) -> None:
    """Refuse two outputs to the same file."""
    given = [path for path in paths if path is not None]
    for place, path in enumerate(given):
        if any(path.resolve() == other.resolve() for other in given[:place]):
            raise Misuse(f"{path}: two results cannot go to one file")


def shell_word(text: str) -> str:
    """A word quoted for a shell.

    >>> print(shell_word("chol"), shell_word("blood pressure"), shell_word("a\x1bb"))
    chol 'blood pressure' $'a\\x1bb'
    """
    if visible(text) == text and "\n" not in text:
        return shlex.quote(text)
    return "$" + repr(text.replace("'", "\u0000")).replace("\\x00", "\\'")


def shell_line(*words: object) -> str:
    """A command quoted for a shell.

    >>> print(shell_line("miserly", "show", "my plan.miser"))
    miserly show 'my plan.miser'
    """
    return " ".join(shell_word(str(word)) for word in words)


def new_table(*columns: str, right: tuple[str, ...] = (), title: str | None = None) -> Table:
    """A plain table; numbers are right-aligned."""
    table = Table(box=box.SIMPLE_HEAD, title=title, title_justify="left", title_style="bold", pad_edge=False)
    for column in columns:
        table.add_column(column, justify="right" if column in right else "left", overflow="fold")
    return table


def amount(value: float, unit: str = "") -> str:
    """A cost with its unit.

    >>> amount(102.9, "CAD"), amount(4), amount(0.00125, "s"), amount(17000)
    ('102.90 CAD', '4', '0.00125 s', '17,000')
    """
    if value == round(value):
        text = f"{value:,.0f}"
    elif abs(value) >= 0.1:
        text = f"{value:,.2f}"
    else:
        text = f"{value:.3g}"
    return f"{text} {unit}".strip()


def amounts(values: Iterable[float]) -> list[str]:
    """Costs of one column, with the same number of decimals.

    >>> amounts([1, 102.9]), amounts([1, 20]), amounts([0.001, 2.5])
    (['1.00', '102.90'], ['1', '20'], ['0.001', '2.5'])
    """
    listed = list(values)
    if all(value == round(value) for value in listed):
        return [f"{value:,.0f}" for value in listed]
    if all(value == 0 or abs(value) >= 0.01 for value in listed):
        return [f"{value:,.2f}" for value in listed]
    return [f"{value:.4g}" for value in listed]


def percent(value: float) -> str:
    """
    >>> percent(0.8186)
    '81.9 %'
    """
    return f"{100 * value:.1f} %"


def listing(names: list[str], most: int = 12) -> str:
    """Names separated by commas; of many only the first.

    >>> listing(["a", "b", "c"], most=2)
    'a, b and 1 more'
    """
    if len(names) <= most:
        return ", ".join(names) or "nothing"
    return f"{', '.join(names[:most])} and {len(names) - most} more"


# -- problems of the input -----------------------------------------------------------------------------------

MOST = 20  # problems that are reported
MOST_LINES = 5  # lines that are named for one problem


class ManyProblems(DataError):
    """Several problems; `problems` has a line for each."""

    def __init__(self, problems: Sequence[str]) -> None:
        super().__init__("\n".join(problems))
        self.problems = tuple(problems)


class Problems:
    """The problems that were found so far.

    >>> problems = Problems()
    >>> problems.add("line 2: 2 values for 3 columns")
    >>> problems.settle()
    Traceback (most recent call last):
    miserly.errors.DataError: line 2: 2 values for 3 columns
    """

    def __init__(self) -> None:
        self._found: list[str] = []

    def add(self, problem: str) -> None:
        self._found.append(problem)

    def settle(self) -> None:
        """Raise the problems, if there are any."""
        if len(self._found) == 1:
            raise DataError(self._found[0])
        if self._found:
            more = len(self._found) - MOST
            raise ManyProblems([*self._found[:MOST], *([f"and {more} more problems"] if more > 0 else [])])


def also_in(places: Sequence[int], what: str = "line", n_places: int | None = None) -> str:
    """The other places of a problem, for the end of a sentence; of very many, `places` may be the first.

    >>> also_in([]), also_in([7]), also_in([7, 9, 12, 13, 20, 31, 44])
    ('', '; also in line 7', '; also in lines 7, 9, 12, 13, 20 and 2 more')
    """
    if not places:
        return ""
    n_places = n_places or len(places)
    named = ", ".join(map(str, places[:MOST_LINES]))
    more = f" and {n_places - MOST_LINES} more" if n_places > MOST_LINES else ""
    return f"; also in {what}{'s' * (len(places) > 1)} {named}{more}"
