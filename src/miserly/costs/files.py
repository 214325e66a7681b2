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
from typing import Any, TypeAlias

from miserly.errors import CostError, did_you_mean
from miserly.utils.checks import read_price, refuse_duplicates

__all__ = ["FORMATTERS", "PARSERS"]

Record: TypeAlias = dict[str, Any]

_COLUMNS = ("feature", "cost", "group", "setup")
_MOST_PROBLEMS = 10  # that an error message lists


# -- CSV -------------------------------------------------------------------------------------------------


def _parse_csv(text: str) -> Record:
    stream = io.StringIO(text, newline="")
    notes, skipped = _read_notes(stream)
    reader = csv.reader(stream, skipinitialspace=True, strict=True)
    features: dict[str, float] = {}
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


def _read_row(
    header: list[str], cells: list[str], features: dict[str, float], groups: dict[str, Record]
) -> None:
    if len(cells) > len(header):  # perhaps a decimal comma; a guess could change a price unnoticed
        raise CostError(f"{len(cells)} values for the {len(header)} columns {','.join(header)}")
    row = {column: cell.strip() for column, cell in zip(header, cells, strict=False)}
    name, label, setup = row["feature"], row.get("group", ""), row.get("setup", "")
    if not name:
        raise CostError("a row without a feature")
    if name in features:
        raise CostError(f"feature {name!r} appears twice")
    features[name] = _read_number(row.get("cost", ""), f"feature {name!r}")
    if setup and not label:
        raise CostError(f"feature {name!r} has a setup but no group")
    if label:
        group = groups.setdefault(label, {"features": [], "setup": None})
        group["features"].append(name)
        _read_setup(group, setup, label)


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
    group_of = {name: label for label, group in record["groups"].items() for name in group["features"]}
    for name in (*features, *record["groups"]):
        if not name or name != name.strip():
            raise CostError(f"CSV does not keep the blanks around {name!r}; write .json or .toml")
    lines = [f"# unit: {record['unit']}", f"# evaluation: {record['evaluation']!r}", ",".join(_COLUMNS)]
    for name, cost in features.items():
        label = group_of.get(name, "")
        setup = repr(record["groups"][label]["setup"]) if label else ""
        lines.append(",".join([_quoted(name), repr(cost), _quoted(label), setup]))
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
        lines.append(f"features = {features!r}")
    else:
        lines += ["", "[features]"]
        lines += [f"{_toml(name)} = {cost!r}" for name, cost in features.items()]
    for label, group in record["groups"].items():
        members = ", ".join(_toml(name) for name in group["features"])
        lines += ["", f"[groups.{_toml(label)}]", f"features = [{members}]", f"setup = {group['setup']!r}"]
    return "\n".join(lines) + "\n"


def _toml(value: str | int) -> str:
    """A TOML string. It is a JSON string, except that TOML has no surrogate pairs and forbids a bare DEL."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


PARSERS: Mapping[str, Callable[[str], Any]] = {".csv": _parse_csv, ".json": _parse_json, ".toml": _parse_toml}
FORMATTERS: Mapping[str, Callable[[Record], str]] = {
    ".csv": _format_csv,
    ".json": _format_json,
    ".toml": _format_toml,
}
