"""Outcome costs in files: CSV with a line for each outcome, or JSON."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeAlias

from miserly.errors import CostError
from miserly.utils.checks import shown

__all__ = ["read_outcome_file"]

Cells: TypeAlias = dict[Any, Any]

_COLUMNS = ("actual", "predicted", "cost")
_EVERY = ("", "*")  # in place of an actual class


def read_outcome_file(path: str | Path) -> Cells:
    """Outcome costs of a file, as the mapping that `OutcomeCosts` takes. Errors name the file and line."""
    path = Path(path)
    parse = _PARSERS.get(path.suffix.lower())
    if parse is None:
        raise CostError(f"{path}: outcome costs are read from .csv or .json")
    try:
        return parse(path.read_text(encoding="utf-8-sig"))
    except UnicodeDecodeError as error:
        raise CostError(f"{path}: not a text file in UTF-8 ({error})") from None
    except CostError as error:
        raise CostError(f"{path}: {error}") from None


def _parse_csv(text: str) -> Cells:
    lines = csv.reader(io.StringIO(text, newline=""), skipinitialspace=True, strict=True)
    cells: Cells = {}
    header: list[str] | None = None
    try:
        for line in lines:
            given = [cell.strip() for cell in line]
            if not any(given) or given[0].startswith("#"):
                continue
            if header is None:
                header = _read_header(given)
                continue
            where = f"line {lines.line_num}"
            if len(given) != len(header):
                raise CostError(f"{where}: {len(given)} cells, where {len(header)} are expected")
            _add(cells, dict(zip(header, given, strict=True)), where)
    except csv.Error as error:
        raise CostError(f"line {lines.line_num}: not a valid CSV file ({error})") from None
    if not cells:
        raise CostError(f"no outcome costs: lines with {','.join(_COLUMNS)} are expected")
    return cells


def _read_header(cells: list[str]) -> list[str]:
    if sorted(cells) != sorted(_COLUMNS):
        raise CostError(f"the columns must be {','.join(_COLUMNS)}, not {','.join(cells)}")
    return cells


def _parse_json(text: str) -> Cells:
    try:
        found = json.loads(text)
    except json.JSONDecodeError as error:
        raise CostError(f"not valid JSON ({error})") from None
    if isinstance(found, Mapping):
        return {key: value for key, value in found.items() if key != "unit"}
    if not isinstance(found, list):
        raise CostError("JSON of outcome costs is {actual: {predicted: cost}} or a list of records")
    cells: Cells = {}
    for number, record in enumerate(found, start=1):
        if not isinstance(record, Mapping) or not {"predicted", "cost"} <= set(record) <= set(_COLUMNS):
            raise CostError(f"record {number} must have actual, predicted and cost, not {shown(record)}")
        _add(cells, record, f"record {number}")
    return cells


def _add(cells: Cells, record: Mapping[str, Any], where: str) -> None:
    """One outcome; its key is the answer alone where it holds for every class."""
    actual, answer, cost = record.get("actual", ""), record["predicted"], record["cost"]
    if answer in ("", None):
        raise CostError(f"{where}: `predicted` is empty")
    key = answer if actual is None or actual in _EVERY else (actual, answer)
    if key in cells:
        raise CostError(f"{where}: the cost of {shown(key)} is given twice")
    cells[key] = _number_or_column(cost, where)


def _number_or_column(cost: Any, where: str) -> Any:
    """A number, or the text that names a column of amounts."""
    if not isinstance(cost, str):
        return cost
    if not cost:
        raise CostError(f"{where}: `cost` is empty")
    try:
        return float(cost)
    except ValueError:
        return cost


_PARSERS: dict[str, Callable[[str], Cells]] = {".csv": _parse_csv, ".json": _parse_json}
