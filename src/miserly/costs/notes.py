"""Words for people about features: label, unit, help and choices, as `Costs` and cost files hold them.

A note changes no price. `choices` gives the meaning of values: ``{"1": "typical angina", "2": "no pain"}``. A
cell of a CSV file holds it as ``1=typical angina; 2=no pain``, or as a JSON object.
"""

from __future__ import annotations

import json
from collections.abc import Hashable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, TypeAlias

from miserly.costs.reading import Feature, position
from miserly.errors import CostError, did_you_mean
from miserly.utils.checks import refuse_duplicates, shown

__all__ = ["KEYS", "Note", "choices_text", "parse_choices", "plain_note", "read_note", "read_notes",
           "split_features"]  # fmt: skip

Note: TypeAlias = Mapping[str, Any]

KEYS = ("label", "unit", "help", "choices")
_CHOICES = "choices are written as 'value=label; value=label'"


def read_note(note: Any, what: str) -> Note:
    """Check the note of one feature. Blanks around texts are removed, and empty texts left out.

    Parameters
    ----------
    note : mapping
        Any of `KEYS`.
    what : str
        The feature, for error messages.

    Returns
    -------
    mapping
        Read-only.

    Examples
    --------
    >>> dict(read_note({"unit": " mg/dl ", "help": ""}, "feature 'chol'"))
    {'unit': 'mg/dl'}
    """
    if not isinstance(note, Mapping):
        raise CostError(f"{what}: words are given as {{'label': ..., 'unit': ...}}, not {shown(note)}")
    found: dict[str, Any] = {}
    for key, value in note.items():
        if key not in KEYS:
            raise CostError(f"{what}: unknown entry {key!r}{did_you_mean(str(key), KEYS)}")
        if key == "choices":
            read: Any = _read_choices(value, what)
        else:
            read = _read_text(value, f"{what}: the {key}")
        if key in ("label", "unit") and len(read.splitlines()) > 1:
            raise CostError(f"{what}: the {key} must be one line of text, not {shown(value)}")
        if read:
            found[key] = read
    return MappingProxyType({key: found[key] for key in KEYS if key in found})


def read_notes(notes: Any, names: Sequence[str] | None, n_features: int) -> dict[Feature, Note]:
    """Check notes by feature. Empty ones are left out.

    Parameters
    ----------
    notes : mapping or None
        By name or by column.
    names : sequence of str or None
        The names of the features, if they have names.
    n_features : int
        The number of features.

    Returns
    -------
    dict of feature to mapping
        By name, or by column if there are no names.
    """
    if notes is None:
        return {}
    if not isinstance(notes, Mapping):
        raise CostError(f"notes are given as {{feature: {{'label': ..., 'unit': ...}}}}, not {shown(notes)}")
    index: dict[Hashable, int] = {name: i for i, name in enumerate(names or ())}
    found: dict[Feature, Note] = {}
    for feature, note in notes.items():
        column = position(feature, index, n_features, "notes")
        read = read_note(note, f"feature {feature!r}")
        if read:
            found[names[column] if names is not None else column] = read
    return found


def plain_note(note: Note) -> dict[str, Any]:
    """A note in plain values, for JSON."""
    return {key: dict(value) if isinstance(value, Mapping) else value for key, value in note.items()}


def _read_text(value: Any, what: str) -> str:
    if not isinstance(value, str):
        raise CostError(f"{what} must be text, not {shown(value)}")
    return value.strip()


def _read_choices(value: Any, what: str) -> Note:
    if not isinstance(value, Mapping):
        raise CostError(f"{what}: choices are given as {{value: label}}, not {shown(value)}")
    choices = {
        _read_text(str(key) if isinstance(key, (int, float)) else key, f"{what}: a choice"): _read_text(
            label, f"{what}: the label of choice {key!r}"
        )
        for key, label in value.items()
    }
    for key, label in choices.items():
        if not key or not label:
            raise CostError(f"{what}: choice {key!r} needs a value and a label")
    if len(choices) < len(value):
        raise CostError(f"{what}: two choices have the same value")
    return MappingProxyType(choices)


def split_features(features: Any) -> tuple[Any, dict[Any, Any]]:
    """The costs of features, and the notes of those that are given as tables: ``{"cost": 5, "label": ...}``.

    Parameters
    ----------
    features : mapping, sequence or object
        As in a JSON or TOML file. What is neither a mapping nor a list is returned as it is.

    Returns
    -------
    features : object
        The same with numbers only.
    notes : dict
        By name, or by column if there are no names.

    Examples
    --------
    >>> split_features({"age": 1.0, "chol": {"cost": 5.0, "unit": "mg/dl"}})
    ({'age': 1.0, 'chol': 5.0}, {'chol': {'unit': 'mg/dl'}})
    """
    if isinstance(features, Mapping):
        pairs: list[tuple[Any, Any]] = list(features.items())
    elif isinstance(features, (list, tuple)):
        pairs = list(enumerate(features))
    else:
        return features, {}
    tables = {name: dict(value) for name, value in pairs if isinstance(value, Mapping) and value}
    for name, table in tables.items():
        if "cost" not in table:
            raise CostError(f"feature {name!r} needs an entry 'cost'")
    prices = {name: tables[name].pop("cost") if name in tables else value for name, value in pairs}
    return (prices if isinstance(features, Mapping) else list(prices.values())), tables


# -- cells of CSV files --------------------------------------------------------------------------------------


def parse_choices(text: str) -> dict[str, str]:
    """The choices in a cell of a CSV file.

    >>> parse_choices("1=typical angina; 2=other pain")
    {'1': 'typical angina', '2': 'other pain'}
    """
    if text.startswith("{"):
        try:
            found = json.loads(text, object_pairs_hook=_pairs)
        except json.JSONDecodeError as error:
            raise CostError(f"the choices are not valid JSON ({error.msg}); {_CHOICES}") from None
        return dict(found)
    parts = [part for part in text.split(";") if part.strip()]
    choices: list[tuple[str, str]] = []
    for part in parts:
        value, sign, label = (one.strip() for one in part.partition("="))
        if not sign or not value or not label:
            raise CostError(f"{_CHOICES}, not {part.strip()!r}")
        choices.append((value, label))
    return _pairs(choices)


def _pairs(pairs: Sequence[tuple[str, str]]) -> dict[str, str]:
    refuse_duplicates([value for value, _ in pairs], "choice")
    return dict(pairs)


def choices_text(choices: Note) -> str:
    """The cell of a CSV file for these choices; `parse_choices` gives them back.

    >>> choices_text({"1": "up", "2": "flat"}), choices_text({"1": "a; b"})
    ('1=up; 2=flat', '{"1": "a; b"}')
    """
    plain = "; ".join(f"{value}={label}" for value, label in choices.items())
    try:
        if parse_choices(plain) == dict(choices):
            return plain
    except CostError:
        pass
    return json.dumps(dict(choices), ensure_ascii=False)
