"""What people type: values, categories, prices and commands."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from miserly.cli.cells import Format, Known
from miserly.cli.console import Misuse, listing, warn
from miserly.costs import Costs
from miserly.errors import DataError, did_you_mean
from miserly.plan import Plan
from miserly.plan.facts import FeatureFacts, feature_facts

__all__ = ["BACK", "DECLINE", "HELP", "NOTHING", "STOP", "are_booleans", "category_list",
           "prices_of_file", "read_command", "read_known", "read_prices", "read_value"]  # fmt: skip

MOST_CATEGORIES = 12  # listed with each question; ? lists all
YES = {"y": True, "yes": True, "n": False, "no": False}
# Commands. A category of the same name comes first; a slash before the command makes it a command.
DECLINE, NOTHING, BACK, STOP, HELP = "-", "none", "back", "stop", "?"
COMMANDS = {
    **{word: word for word in (DECLINE, NOTHING, BACK, STOP, HELP)},
    "": DECLINE, "quit": STOP, "exit": STOP, "help": HELP, "undo": BACK,
}  # fmt: skip


# -- options -------------------------------------------------------------------------------------------------


def read_known(plan: Plan, given: Sequence[str]) -> dict[Any, Any]:
    """The values of ``--known NAME=VALUE``; a value that is left out is known to be missing."""
    known: dict[Any, Any] = {}
    for one in given:
        name, text = _pair(one, "--known", "age=61")
        f = _column(plan, name, "--known")
        try:
            value = None if not text else read_value(text, feature_facts(plan, f))
        except ValueError as error:
            raise DataError(f"--known {name}: {error}") from None
        known[plan.costs.name(f)] = value
    return known


def read_prices(plan: Plan, given: Sequence[str]) -> dict[Any, float]:
    """The prices of ``--prices``: each is ``NAME=PRICE``, or a file of costs. Later ones replace earlier."""
    prices: dict[Any, float] = {}
    for one in given:
        if Path(one).suffix.lower() in (".csv", ".json", ".toml") and "=" not in one:
            prices |= prices_of_file(plan.costs, Path(one))
            continue
        name, text = _pair(one, "--prices", "chol=2.5, or a file of costs")
        key = name if name in plan.costs.group_names else plan.costs.name(_column(plan, name, "--prices"))
        try:
            prices[key] = float(text)
        except ValueError:
            raise DataError(f"--prices {name}: {text!r} is not a number") from None
    return prices


def prices_of_file(costs: Costs, path: Path) -> dict[Any, float]:
    """The prices of a file of costs, of the features and groups that `costs` has."""
    if not path.is_file():
        raise DataError(f"{path}: no such file")
    given = Costs.read(path)
    found = {given.name(f): float(given.feature[f]) for f in range(len(given))}
    found |= {name: float(given.setup[g]) for g, name in enumerate(given.group_names)}
    names = {costs.name(f) for f in range(len(costs))} | set(costs.group_names)
    strange = [str(name) for name in found if name not in names]
    if strange:
        warn(f"{path}: no feature or group of the plan: {listing(strange)}; ignored")
    return {name: price for name, price in found.items() if name in names}


def _pair(text: str, option: str, example: str) -> tuple[str, str]:
    name, sign, value = text.partition("=")
    if not sign or not name:
        raise Misuse(f"{option} takes NAME=VALUE, such as {example}; not {text!r}")
    return name.strip(), value.strip()


def _column(plan: Plan, name: str, option: str) -> int:
    names = [str(plan.costs.name(f)) for f in range(plan.n_features)]
    if name not in names:
        raise DataError(f"{option}: the plan has no feature {name!r}{did_you_mean(name, names)}")
    return names.index(name)


# -- answers -------------------------------------------------------------------------------------------------


def read_value(text: str, facts: FeatureFacts) -> Any:
    """The value that a text means: a number, a category, its label, or its number in the list.

    >>> read_value("2", FeatureFacts(categories=("fixed", "normal"))), read_value("1e2", FeatureFacts())
    ('normal', 100.0)
    >>> read_value("Flat", FeatureFacts(choices=((1.0, "up"), (2.0, "flat"))))
    2.0
    >>> read_value("ten", FeatureFacts())
    Traceback (most recent call last):
    ValueError: 'ten' is not a number
    """
    if not facts.categories:
        try:
            number = Format().number(text)
        except ValueError:
            value = _labelled(text, facts)
            if value is not None:
                return value
            wanted = f"none of its values: {category_list(facts)}" if facts.choices else "not a number"
            raise ValueError(f"{text!r} is {wanted}") from None
        if not math.isfinite(number):
            raise ValueError(f"{text!r} is not a number that the plan can use")
        return number
    known = Known(facts.categories, Format())
    if text in known:
        return known(text)
    if are_booleans(facts) and text.lower() in YES:
        return YES[text.lower()]
    for value in facts.categories:
        if str(value).lower() == text.lower():
            return value
    value = _labelled(text, facts)
    if value is not None:
        return value
    if _is_numbered(facts) and text.isascii() and text.isdigit() and 1 <= int(text) <= len(facts.categories):
        return facts.categories[int(text) - 1]
    known_texts = [str(value) for value in facts.categories] + [label for _, label in facts.choices]
    near = did_you_mean(text, known_texts)
    raise ValueError(f"{text!r} is none of its values{near or ': ' + category_list(facts)}")


def _labelled(text: str, facts: FeatureFacts) -> Any:
    """The value of the choice with this label; None if there is no such label, or more than one."""
    found = [value for value, label in facts.choices if label.lower() == text.lower()]
    return found[0] if len(found) == 1 else None


def are_booleans(facts: FeatureFacts) -> bool:
    return set(facts.categories) <= {False, True}


def _is_numbered(facts: FeatureFacts) -> bool:
    """Whether categories can be chosen by their number: none of them looks like a number."""
    texts = [value for value in facts.categories if isinstance(value, str)]
    return len(texts) == len(facts.categories) and all(Format().numbers([text]) is None for text in texts)


def category_list(facts: FeatureFacts, most: int = MOST_CATEGORIES) -> str:
    """The allowed values in one line: categories, or choices with their labels."""
    if facts.categories and are_booleans(facts) and not facts.choices:
        return "yes or no"
    shown = [_with_label(value, facts) for value in facts.categories[:most]]
    if facts.categories and _is_numbered(facts):
        shown = [f"{place} {value}" for place, value in enumerate(shown, 1)]
    if not facts.categories:
        shown = [f"{value:.6g} {label}" for value, label in facts.choices[:most]]
    more = len(facts.categories or facts.choices) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more else "")


def _with_label(value: Any, facts: FeatureFacts) -> str:
    label = facts.label_of(value)
    return f"{value} ({label})" if label and label != str(value) else str(value)


def read_command(text: str, facts: FeatureFacts) -> str | None:
    """The command that a text is; None if it is a value, or cannot be used.

    >>> [read_command(text, FeatureFacts()) for text in ("", "QUIT", "5")]
    ['-', 'stop', None]
    >>> facts = FeatureFacts(categories=("none", "typical"))
    >>> read_command("none", facts), read_command("/none", facts)
    (None, 'none')
    """
    if text.startswith("/") and text[1:].lower() in COMMANDS:
        text = text[1:]
    else:
        with contextlib.suppress(ValueError):
            read_value(text, facts)
            return None
    return COMMANDS.get(text.lower())
