"""Talking to a person: where output goes, how numbers look, and how mistakes are said."""

from __future__ import annotations

import functools
import json
import os
import sys
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import typer
from rich.console import Console
from rich.markup import escape

from miserly.errors import MiserlyError

__all__ = ["amount", "amounts", "err", "friendly", "listing", "out", "percent", "print_json", "warn"]

out = Console(highlight=False)
err = Console(stderr=True, highlight=False)

Command = TypeVar("Command", bound=Callable[..., None])

USAGE = 2  # the exit code for mistakes in what was asked or given


def friendly(command: Command) -> Command:
    """Say what went wrong in one line and exit with 2; with `debug=True`, show where it happened.

    A mistake of our own is said to be one, and exits with 1.
    """

    @functools.wraps(command)
    def run(*args: Any, **options: Any) -> None:
        try:
            command(*args, **options)
        except BrokenPipeError:  # whoever reads our output has seen enough: `miserly predict ... | head`
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit(1) from None
        except (MiserlyError, OSError) as error:
            if options.get("debug"):
                raise
            _complain(_words(error))
            raise typer.Exit(USAGE) from None
        except KeyboardInterrupt:
            _complain("interrupted")
            raise typer.Exit(130) from None
        except Exception as error:
            if options.get("debug") or isinstance(error, typer.Exit):
                raise
            _complain(f"unexpected {type(error).__name__}: {error} (--debug shows where)")
            raise typer.Exit(1) from None

    return run  # type: ignore[return-value]


def _words(error: Exception) -> str:
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {(error.strerror or str(error)).lower()}"
    return str(error)


def _complain(message: str) -> None:
    err.print(f"[bold red]error:[/] {escape(' '.join(message.split()))}", soft_wrap=True)


def warn(message: str) -> None:
    err.print(f"[bold yellow]warning:[/] {escape(message)}", soft_wrap=True)


def print_json(record: Any) -> None:
    """A record for machines, on standard output and nothing else."""
    json.dump(record, sys.stdout, indent=2, allow_nan=False, ensure_ascii=False)
    sys.stdout.write("\n")


def amount(value: float, unit: str = "") -> str:
    """A cost as a person writes it.

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
    """Costs of one column, all with the same number of decimals.

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
    """Names separated by commas; of very many only the first.

    >>> listing(["a", "b", "c"], most=2)
    'a, b and 1 more'
    """
    if len(names) <= most:
        return ", ".join(names) or "nothing"
    return f"{', '.join(names[:most])} and {len(names) - most} more"
