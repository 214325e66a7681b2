"""Costs as text: CSV, JSON and TOML to and from the record that `Costs.from_dict` takes.

Reading gives back exactly what was written, for all characters in names. CSV cannot hold names that begin or
end with blanks, or features without names; writing those to CSV is an error. Errors in a file name the line.
"""

from __future__ import annotations

import csv
import io
import json
import re
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

from miserly.costs.notes import KEYS, choices_text, parse_choices, read_note
from miserly.errors import CostError, did_you_mean
from miserly.utils.checks import read_price, refuse_duplicates
from miserly.utils.files import atomic_write

__all__ = ["read_file", "write_file"]

Record: TypeAlias = dict[str, Any]
Read = TypeVar("Read")

_PRICES = ("feature", "cost", "group", "setup")
_COLUMNS = (*_PRICES, *KEYS)
_MOST_PROBLEMS = 10  # that an error message lists


def read_file(path: str | Path, build: Callable[[Any], Read]) -> Read:
    """Read a CSV, JSON or TOML file, and build something of its record. Errors name the file."""
    path = Path(path)
    parse = _PARSERS.get(path.suffix.lower())
    if parse is None:
        raise CostError(f"{path}: costs are read from .csv, .json or .toml")
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            text = file.read()
        return build(parse(text))
    except UnicodeDecodeError as error:
        raise CostError(f"{path}: not a text file in UTF-8 ({error})") from None
    except CostError as error:
        raise CostError(f"{path}: {error}") from None


def write_file(path: str | Path, record: Record) -> None:
    """Write a record to a CSV, JSON or TOML file."""
    path = Path(path)
    formatter = _FORMATTERS.get(path.suffix.lower())
    if formatter is None:
        raise CostError(f"{path}: costs are written to .csv, .json or .toml")
    text = formatter(record)
    with atomic_write(path, "w", newline="", error=CostError) as file:
        file.write(text)


# -- CSV -------------------------------------------------------------------------------------------------


def _parse_csv(text: str) -> Record:
    stream = io.StringIO(text, newline="")
    notes, skipped = _read_notes(stream)
    reader = csv.reader(stream, skipinitialspace=True, strict=True)
    features: Record = {}
    groups: dict[str, Record] = {}
    problems: list[str] = []
    try:
        header = _read_header(next(reader, []))
        for cells in filter(None, reader):
            try:
                _read_row(header, cells, features, groups)
            except CostError as error:
                problems.append(f"line {skipped + reader.line_num}: {error}")
    except CostError as error:
        raise CostError(f"line {skipped + max(reader.line_num, 1)}: {error}") from None
    except csv.Error as error:
        problems.append(f"line {skipped + reader.line_num}: not a valid CSV file ({error})")
    if not problems:
        problems = [f"group {label!r} has no setup in any of its rows" for label, group in groups.items()
                    if group["setup"] is None]  # fmt: skip
    if problems:
        more = f"; and {len(problems) - _MOST_PROBLEMS} more" if len(problems) > _MOST_PROBLEMS else ""
        raise CostError("; ".join(problems[:_MOST_PROBLEMS]) + more)
    return {"features": features, "groups": groups, **notes}


def _read_notes(stream: io.StringIO) -> tuple[Record, int]:
    """Read the lines before the header. Returns the unit and evaluation, and the number of lines."""
    notes: Record = {}
    skipped = 0
    while True:
        start = stream.tell()
        line = stream.readline()
        if not line or (line.strip() and not line.lstrip().startswith("#")):
            stream.seek(start)
            return notes, skipped
        skipped += 1
        note = re.fullmatch(r"#\s*(unit|evaluation)\s*:\s*(.*?)", line.strip(), re.IGNORECASE)
        if note and note[1].lower() == "unit":
            notes["unit"] = note[2]
        elif note:
            try:
                notes["evaluation"] = _read_number(note[2], "evaluation")
            except CostError as error:
                raise CostError(f"line {skipped}: {error}") from None


def _read_header(cells: list[str]) -> list[str]:
    header = [cell.strip() for cell in cells]
    if "feature" not in header or "cost" not in header:
        raise CostError(
            f"the columns must be feature,cost[,group,setup], not {','.join(header) or 'nothing'}"
        )
    refuse_duplicates(header, "column")
    for name in header:
        if name not in _COLUMNS:
            raise CostError(f"unknown column {name!r}{did_you_mean(name, _COLUMNS)}")
    return header


def _read_row(header: list[str], cells: list[str], features: Record, groups: dict[str, Record]) -> None:
    if len(cells) > len(header):  # perhaps a decimal comma; a guess could change a price unnoticed
        raise CostError(f"{len(cells)} values for the {len(header)} columns {','.join(header)}")
    row = {column: cell.strip() for column, cell in zip(header, cells, strict=False)}
    name, label, setup = row["feature"], row.get("group", ""), row.get("setup", "")
    if not name:
        raise CostError("a row without a feature")
    if name in features:
        raise CostError(f"feature {name!r} appears twice")
    price = _read_number(row.get("cost", ""), f"feature {name!r}")
    note = _read_words(row, name)
    features[name] = {"cost": price, **note} if note else price
    if setup and not label:
        raise CostError(f"feature {name!r} has a setup but no group")
    if label:
        group = groups.setdefault(label, {"features": [], "setup": None})
        group["features"].append(name)
        _read_setup(group, setup, label)


def _read_words(row: Mapping[str, str], name: str) -> Mapping[str, Any]:
    """The note of a row, checked here so that an error names the line."""
    note: Record = {key: row[key] for key in KEYS if row.get(key)}
    if "choices" in note:
        note["choices"] = parse_choices(note["choices"])
    return read_note(note, f"feature {name!r}")


def _read_setup(group: Record, text: str, label: str) -> None:
    """Read the set-up of a group. Rows may leave it out, but those that have it must agree."""
    if not text:
        return
    setup = _read_number(text, f"setting up group {label!r}")
    if group["setup"] not in (None, setup):
        raise CostError(f"group {label!r} has two set-ups, {group['setup']:g} and {setup:g}")
    group["setup"] = setup


def _read_number(text: str, what: str) -> float:
    try:
        number = float(text)
    except ValueError:
        raise CostError(f"the cost of {what} must be a number, not {text!r}") from None
    return read_price(number, what)


def _format_csv(record: Record) -> str:
    features = record["features"]
    if not isinstance(features, dict):
        raise CostError("a CSV file needs feature names; bind the costs to columns first")
    group_of: dict[str, str] = {}
    for label, group in record["groups"].items():
        for name in group["features"]:
            if group_of.setdefault(name, label) != label:
                raise CostError(f"CSV cannot hold the two groups of feature {name!r}; write .json or .toml")
    for name in (*features, *record["groups"]):
        if not name or name != name.strip():
            raise CostError(f"CSV does not keep the blanks around {name!r}; write .json or .toml")
    has_notes = any(isinstance(value, dict) for value in features.values())
    columns = _COLUMNS if has_notes else _PRICES
    lines = [f"# unit: {record['unit']}", f"# evaluation: {record['evaluation']!r}", ",".join(columns)]
    for name, value in features.items():
        note = value if isinstance(value, dict) else {"cost": value}
        label = group_of.get(name, "")
        setup = repr(record["groups"][label]["setup"]) if label else ""
        cells = [name, repr(note["cost"]), label, setup]
        if has_notes:
            cells += [note.get(key, "") for key in KEYS if key != "choices"]
            cells.append(choices_text(note.get("choices", {})))
        lines.append(",".join(map(_quoted, cells)))
    return "\n".join(lines) + "\n"


def _quoted(text: str) -> str:
    return '"' + text.replace('"', '""') + '"' if re.search(r'[",\r\n]', text) else text


# -- JSON ------------------------------------------------------------------------------------------------


def _parse_json(text: str) -> Any:
    try:
        return json.loads(text, object_pairs_hook=_no_duplicates)
    except json.JSONDecodeError as error:
        raise CostError(f"line {error.lineno}: not valid JSON ({error.msg})") from None


def _no_duplicates(pairs: list[tuple[str, Any]]) -> Record:
    refuse_duplicates([key for key, _ in pairs], "entry")
    return dict(pairs)


def _format_json(record: Record) -> str:
    return json.dumps(record, indent=2) + "\n"


# -- TOML ------------------------------------------------------------------------------------------------


def _parse_toml(text: str) -> Record:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        place = re.search(r"line (\d+)", str(error))
        line = text.split("\n")[int(place[1]) - 1].strip() if place else "the end"
        raise CostError(f"not valid TOML: {error}: {line}") from None


def _format_toml(record: Record) -> str:
    features = record["features"]
    lines = [f"unit = {_toml(record['unit'])}", f"evaluation = {record['evaluation']!r}"]
    if isinstance(features, list):
        lines.append(f"features = [{', '.join(map(_toml_value, features))}]")
    else:
        lines += ["", "[features]"]
        lines += [f"{_toml(name)} = {_toml_value(value)}" for name, value in features.items()]
    for label, group in record["groups"].items():
        members = ", ".join(_toml(name) for name in group["features"])
        lines += ["", f"[groups.{_toml(label)}]", f"features = [{members}]", f"setup = {group['setup']!r}"]
    return "\n".join(lines) + "\n"


def _toml(value: str | int) -> str:
    """A TOML string. It is a JSON string, except that TOML has no surrogate pairs and forbids a bare DEL."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _toml_value(value: Any) -> str:
    """A price, a text, or an inline table of them."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_toml(key)} = {_toml_value(one)}" for key, one in value.items()) + "}"
    return _toml(value) if isinstance(value, str) else repr(value)


_PARSERS: Mapping[str, Callable[[str], Any]] = {
    ".csv": _parse_csv,
    ".json": _parse_json,
    ".toml": _parse_toml,
}
_FORMATTERS: Mapping[str, Callable[[Record], str]] = {
    ".csv": _format_csv,
    ".json": _format_json,
    ".toml": _format_toml,
}
