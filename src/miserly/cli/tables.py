"""Tables in files: CSV and Parquet to columns of numbers or text, by one rule whatever library reads them.

A column is numbers if all its values are; truth values if all are `true` or `false`; else text. Empty cells,
NA, N/A, NaN, nan, null and None are missing; a question mark is a word. pandas reads if it is installed, else
polars, else (CSV only) the standard library; the columns are the same.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from miserly.errors import DataError, did_you_mean

__all__ = ["FORMATS", "MISSING", "Columns", "place_of", "read_table", "refuse_strays", "words_to_numbers",
           "write_csv", "write_table"]  # fmt: skip

MISSING = ("", "NA", "N/A", "NaN", "nan", "null", "None")
FORMATS = (".csv", ".parquet")
_NEARLY_ALL = 0.9  # of the values: a column with so many numbers was meant to hold nothing else
_PARQUET = "Parquet needs pandas with pyarrow, or polars: pip install 'miserly[parquet]'"


@dataclass(frozen=True, eq=False)
class Columns:
    """The columns of a file by name: float64 with NaN, or objects (text, truth values) with None."""

    path: Path
    values: dict[str, NDArray[Any]]
    header: tuple[str, ...] = ()  # every column of the file, also those left out

    @property
    def columns(self) -> list[str]:
        return list(self.values)

    def __len__(self) -> int:
        return len(next(iter(self.values.values()), ()))

    def __getitem__(self, name: str) -> NDArray[Any]:
        if name not in self.values:
            raise DataError(f"{self.path}: no column {name!r}{did_you_mean(name, self.header)}")
        return self.values[name]

    def without(self, names: Collection[str]) -> Columns:
        for name in names:
            self[name]
        kept = {name: values for name, values in self.values.items() if name not in names}
        return Columns(self.path, kept, self.header)


def read_table(
    path: Path, *, text: Collection[str] = (), numbers: Collection[str] = (), only: Collection[str] = ()
) -> Columns:
    """The columns of a file.

    Columns named in `text` are kept as text although they may look like numbers; columns named in `numbers`
    must be numbers, and whatever is not is reported with its line. With `only`, other columns are left out.
    """
    kind = path.suffix.lower()
    if kind not in FORMATS:
        raise DataError(f"{path}: tables are read from {' and '.join(FORMATS)} files")
    if not path.is_file():
        raise DataError(f"{path}: {'this is a folder' if path.is_dir() else 'no such file'}")
    raw = _read_parquet(path) if kind == ".parquet" else _read_csv(path, text)
    kept = {name: values for name, values in raw.items() if not only or name in only}
    settled = {name: _settle(values, name in text) for name, values in kept.items()}
    table = Columns(path, settled, tuple(raw))
    if not any(len(values) for values in raw.values()):
        raise DataError(f"{path}: no rows")
    for name in numbers:
        if name in settled:
            settled[name] = words_to_numbers(table, name)
    return table


def place_of(path: Path, row: int, column: str) -> str:
    """Where the value of row number `row` (from 0) is to be found in a file."""
    if path.suffix.lower() != ".csv":
        return f"{path}, row {row + 1}, column {column!r}"
    line = next(line for place, (line, _) in enumerate(_lines(path)) if place == row + 1)
    return f"{path}, line {line}, column {column!r}"


def write_table(path: Path, columns: Mapping[str, Sequence[Any]]) -> None:
    """Write columns to a .csv or .parquet file, as its name ends."""
    kind = path.suffix.lower()
    if kind not in FORMATS:
        raise DataError(f"{path}: tables are written to {' and '.join(FORMATS)} files")
    if kind == ".csv":
        with path.open("w", encoding="utf-8", newline="") as file:
            write_csv(file, columns)
    elif find_spec("pandas") and find_spec("pyarrow"):
        import pandas as pd

        pd.DataFrame(dict(columns)).to_parquet(path, index=False)
    elif find_spec("polars"):
        import polars as pl

        pl.DataFrame(dict(columns)).write_parquet(path)
    else:
        raise DataError(f"{path}: writing {_PARQUET}")


def write_csv(file: Any, columns: Mapping[str, Iterable[Any]]) -> None:
    """Write columns as CSV to an open file."""
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))


# -- reading -------------------------------------------------------------------------------------------------


def _read_csv(path: Path, text: Collection[str]) -> dict[str, Any]:
    header = _check_csv(path)
    named = [raw for raw in header if raw.strip() in text]
    if find_spec("pandas"):
        raw = _read_csv_with_pandas(path, named)
    elif find_spec("polars"):
        raw = _read_csv_with_polars(path, named)
    else:
        raw = _read_csv_plainly(path)
    return {name.strip(): raw[name] for name in header}


def _lines(path: Path) -> Iterator[tuple[int, list[str]]]:
    """The lines of a CSV file that are not blank, as cells, with their numbers."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        reader = csv.reader(file, strict=True)
        try:
            for cells in reader:
                if cells:
                    yield reader.line_num, cells
        except csv.Error as error:
            raise DataError(f"{path}, line {reader.line_num}: not a sound CSV file ({error})") from None
        except UnicodeDecodeError:
            raise DataError(
                f"{path}, line {_strange_line(path)}: not a text file in UTF-8; save it as such"
            ) from None


def _strange_line(path: Path) -> int:
    """The number of the first line that is not UTF-8."""
    with path.open("rb") as file:
        return next(number for number, line in enumerate(file, 1) if not _is_utf8(line))


def _is_utf8(line: bytes) -> bool:
    try:
        line.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _check_csv(path: Path) -> list[str]:
    """The header of a sound file. Libraries fill up short lines and rename columns without a word."""
    lines = _lines(path)
    _, header = next(lines, (1, []))
    if not header:
        raise DataError(f"{path}: the first line must name the columns")
    names = [name.strip() for name in header]
    if len(names) == 1 and (mark := re.search(r"[;\t|]", names[0])):
        raise DataError(f"{path}, line 1: columns are separated by commas, not by {mark[0]!r}")
    for place, name in enumerate(names, 1):
        if not name:
            raise DataError(f"{path}, line 1: column {place} has no name")
        if names.count(name) > 1:
            raise DataError(f"{path}, line 1: two columns are named {name!r}")
    for line, cells in lines:
        if len(cells) != len(header):
            raise DataError(f"{path}, line {line}: {len(cells)} values for {len(header)} columns")
    return header


def _read_csv_with_pandas(path: Path, text: Collection[str]) -> dict[str, Any]:
    import pandas as pd

    frame = pd.read_csv(
        path,
        encoding="utf-8-sig",
        keep_default_na=False,
        na_values=list(MISSING),
        dtype=dict.fromkeys(text, str),
        low_memory=False,
    )
    return {str(name): frame[name] for name in frame.columns}


def _read_csv_with_polars(path: Path, text: Collection[str]) -> dict[str, Any]:
    import polars as pl

    frame = pl.read_csv(
        path,
        null_values=list(MISSING),
        infer_schema_length=None,
        schema_overrides=dict.fromkeys(text, pl.String),
    )
    return {name: frame[name] for name in frame.columns}


def _read_csv_plainly(path: Path) -> dict[str, Any]:
    (_, header), *rows = _lines(path)
    columns = zip(*(cells for _, cells in rows), strict=True) if rows else [()] * len(header)
    return dict(zip(header, columns, strict=True))


def _read_parquet(path: Path) -> dict[str, Any]:
    try:
        if find_spec("pandas") and find_spec("pyarrow"):
            import pandas as pd

            frame = pd.read_parquet(path)
            return {str(name): frame[name] for name in frame.columns}
        if find_spec("polars"):
            import polars as pl

            table = pl.read_parquet(path)
            return {name: table[name] for name in table.columns}
    except Exception as error:  # each library has its own family of errors for a broken file
        raise DataError(f"{path}: not a sound Parquet file ({str(error).splitlines()[0]})") from None
    raise DataError(f"{path}: reading {_PARQUET}")


# -- one rule for all ----------------------------------------------------------------------------------------


def _settle(values: Any, as_text: bool) -> NDArray[Any]:
    """A column as numbers if it can be, else as truth values, else as text."""
    if not as_text and _is_numeric(values):
        return _as_float(values)
    cells = [_cell(value) for value in (values.to_list() if hasattr(values, "to_list") else values)]
    numbers = None if as_text else _numbers(cells)
    if numbers is not None:
        return numbers
    settled = np.empty(len(cells), dtype=object)
    if not as_text and all(cell is None or str(cell).lower() in ("true", "false") for cell in cells):
        settled[:] = [None if cell is None else str(cell).lower() == "true" for cell in cells]
    else:
        settled[:] = [None if cell is None else str(cell) for cell in cells]
    return settled


def _is_numeric(values: Any) -> bool:
    """Whether a library has made numbers of a column; pandas' types have a kind, polars' an answer."""
    dtype = getattr(values, "dtype", None)
    return getattr(dtype, "kind", "") in ("i", "u", "f") or bool(getattr(dtype, "is_numeric", bool)())


def _as_float(values: Any) -> NDArray[np.float64]:
    if hasattr(values, "cast"):  # polars
        import polars as pl

        return np.array(values.cast(pl.Float64).to_numpy())
    return np.asarray(values.to_numpy(dtype=np.float64, na_value=np.nan))


def _cell(value: Any) -> Any:
    """A value as text, number or truth value; None where it is missing."""
    if value is None or type(value).__name__ in ("NAType", "NaTType") or value != value:
        return None
    if isinstance(value, str):
        stripped = value.strip()
        return None if stripped in MISSING else stripped
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    return value if isinstance(value, (int, float)) else str(value)


def _numbers(cells: Sequence[Any]) -> NDArray[np.float64] | None:
    """The cells as numbers; None if some are not."""
    if any(isinstance(cell, bool) for cell in cells):
        return None
    try:
        return np.array([np.nan if cell is None else float(cell) for cell in cells], dtype=np.float64)
    except ValueError:
        return None


def words_to_numbers(table: Columns, name: str) -> NDArray[np.float64]:
    """A column that must be numbers; what is not is reported with its line."""
    values = table[name]
    if values.dtype != object:
        return values
    for row, value in enumerate(values.tolist()):
        if value is not None and _numbers([value]) is None:
            raise DataError(f"{place_of(table.path, row, name)}: {value!r} is not a number")
    return np.full(len(values), np.nan)  # nothing but missing values


def refuse_strays(table: Columns, name: str) -> None:
    """Refuse a column of numbers with a few values that are none: it would turn into words in silence."""
    words = {row: value for row, value in enumerate(table[name].tolist()) if isinstance(value, str)}
    strays = [row for row, value in words.items() if _numbers([value]) is None]
    n_numbers = len(words) - len(strays)
    if strays and n_numbers >= _NEARLY_ALL * len(words):
        raise DataError(
            f"{place_of(table.path, strays[0], name)}: {words[strays[0]]!r} is not a number, as "
            f"{n_numbers:,} others are; leave a missing value empty, or give --words {name} if all are words"
        )
