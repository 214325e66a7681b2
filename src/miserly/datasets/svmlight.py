"""svmlight, LibSVM and LETOR files: one row per line, ``grade qid:7 1:0.5 3:2 # a comment``.

scikit-learn parses the numbers. Query ids are read here, because scikit-learn's way of collecting them takes
time that grows with the square of the rows, and because it lets lines without one pass.
"""

from __future__ import annotations

import bz2
import contextlib
import gzip
import math
import os
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

from miserly.costs import Costs
from miserly.datasets.dataset import Dataset
from miserly.errors import DataError
from miserly.utils.files import atomic_write

__all__ = ["read_svmlight", "write_svmlight"]

_OPENERS: dict[str, Any] = {".gz": gzip.open, ".bz2": bz2.open}
_QUERY = re.compile(rb"\S+\s+qid:(\S*)")
_NAME_BYTES = 100  # what the name of a column takes
_DIGITS = 19  # of a column that fits 64 bits
_COLUMN_ZERO = re.compile(rb"\s0+:")


def read_svmlight(path: str | Path, n_features: int | None = None, costs: Costs | None = None) -> Dataset:
    """Read a file, plain or compressed (`.gz`, `.bz2`), with or without query ids.

    Columns count from 1, or from 0 if any line has a column 0. What a line leaves out is zero. Give
    `n_features` to make a test set as wide as its training set. Mistakes are reported with file and line.
    """
    path = Path(path)
    try:
        found = _scan(path)
        qid, from_zero = found.qid, found.from_zero
        found.check_size(path, n_features)
        table, y = load_svmlight_file(
            str(path), n_features=n_features, dtype=np.float32, zero_based=from_zero
        )
    except (ValueError, OverflowError) as error:
        raise _explained(path, error) from None
    except (EOFError, zlib.error, OSError) as error:
        if getattr(error, "errno", None) is not None:  # no such file, and the like
            raise
        raise DataError(f"{path}: not a sound compressed file ({error})") from None
    if not len(y):
        raise DataError(f"{path}: no rows")
    if not np.isfinite(y).all():
        raise _explained(path, ValueError("a label that is not finite"))
    names = tuple(f"f{i + (not from_zero)}" for i in range(table.shape[1]))
    return Dataset(
        X=table.toarray(),
        y=y.astype(np.int64) if (y == np.rint(y)).all() else y,
        costs=None if costs is None else costs.bind(names),
        feature_names=names,
        qid=qid,
        description=str(path.name),
    )


def write_svmlight(path: str | Path, X: ArrayLike, y: ArrayLike, qid: ArrayLike | None = None) -> None:
    """Write a file, compressed if its name ends in `.gz` or `.bz2`; columns count from 1.

    Zeros are left out. Single-precision values are kept exactly, double-precision ones to 16 digits.
    """
    path = Path(path)
    X, y = np.asarray(X), np.asarray(y)
    if X.ndim != 2 or y.shape != (len(X),):
        raise DataError(f"rows of shape {X.shape} and labels of shape {y.shape} do not make a table")
    if not np.isfinite(X).all():
        row, column = np.argwhere(~np.isfinite(X))[0]
        raise DataError(f"row {row}, column {column}: svmlight files hold no missing or infinite values")
    if not np.isfinite(y).all():
        raise DataError(f"row {np.argmin(np.isfinite(y))}: the label is not a finite number")
    if qid is not None:
        qid = np.asarray(qid)
        if qid.shape != y.shape or not np.issubdtype(qid.dtype, np.integer):
            raise DataError(f"query ids are one whole number per row, not {qid.dtype} of shape {qid.shape}")
        qid = qid.astype(np.int64)
    with atomic_write(path) as raw, _compressed(raw, path) as file:
        dump_svmlight_file(X, y, file, zero_based=False, query_id=qid)


def _open(path: Path) -> IO[bytes]:
    file: IO[bytes] = _OPENERS.get(path.suffix.lower(), open)(path, "rb")
    return file


def _compressed(file: IO[bytes], path: Path) -> contextlib.AbstractContextManager[Any]:
    """What writes to an open file as the name of `path` ends."""
    if path.suffix.lower() == ".gz":
        return gzip.GzipFile(str(path), "wb", fileobj=file)
    return bz2.BZ2File(file, "wb") if path.suffix.lower() == ".bz2" else contextlib.nullcontext(file)


def _lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """The lines that hold a row, comments cut off, with their numbers."""
    with _open(path) as file:
        for number, line in enumerate(file, 1):
            row = line.partition(b"#")[0].strip()
            if row:
                yield number, row


@dataclass(frozen=True, eq=False)
class _Scan:
    """What a first look at a file finds; `widest` is its largest column, and `line` the first that has it."""

    qid: NDArray[np.int64] | None
    from_zero: bool
    n_rows: int
    widest: int
    line: int

    def check_size(self, path: Path, n_features: int | None) -> None:
        """Refuse a table that this machine has no memory for, before anything is made of it."""
        columns = self.widest if n_features is None else n_features
        needed = columns * (4 * self.n_rows + _NAME_BYTES)
        if needed > _memory():
            where = f", line {self.line}: column {self.widest} makes" if n_features is None else ":"
            raise DataError(
                f"{path}{where} a table of {self.n_rows} rows and {columns} columns, "
                f"{needed / 2**30:,.1f} GiB, and this machine has {_memory() / 2**30:,.1f} GiB; number the "
                "columns that are used from 1"
            )


def _memory() -> float:
    """The bytes of memory of this machine; unknown is as much as needed."""
    try:
        return float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, ValueError, OSError):
        return math.inf


def _last_column(row: bytes) -> int:
    """The last column of a row, which is its largest; 0 where there is none that can be read."""
    words = row.rpartition(b":")[0].rsplit(None, 1)
    return int(words[-1]) if words and words[-1].isdigit() and len(words[-1]) < _DIGITS else 0


def _scan(path: Path) -> _Scan:
    """What can be said of a file from a look at each line."""
    ids: list[int | None] = []
    from_zero = False
    widest = line = 0
    for number, row in _lines(path):
        if (column := _last_column(row)) > widest:
            widest, line = column, number
        query = _QUERY.match(row)
        ids.append(None if query is None else _query_id(query[1], path, number))
        if (ids[0] is None) != (query is None):
            raise DataError(f"{path}, line {number}: some rows have a query id and some have none")
        from_zero = from_zero or _COLUMN_ZERO.search(row) is not None
    has_ids = bool(ids) and ids[0] is not None
    return _Scan(np.array(ids, dtype=np.int64) if has_ids else None, from_zero, len(ids), widest, line)


def _query_id(text: bytes, path: Path, line: int) -> int:
    try:
        value = int(text)
    except ValueError:
        value = 2**63
    if not -(2**63) <= value < 2**63:
        raise DataError(f"{path}, line {line}: {_shown(text)} is no query id; give a whole number")
    return value


def _explained(path: Path, error: Exception) -> DataError:
    """Where and what the mistake is that made scikit-learn give up; its own words if we find none."""
    if isinstance(error, DataError):
        return error
    for number, row in _lines(path):
        complaint = _complaint(row.split())
        if complaint:
            return DataError(f"{path}, line {number}: {complaint}")
    return DataError(f"{path}: {error}")


def _complaint(parts: list[bytes]) -> str:
    """What is wrong with one row; an empty string if nothing is."""
    if not math.isfinite(_number(parts[0])):
        return f"the label {_shown(parts[0])} is no finite number"
    last = -1
    for part in parts[1:]:
        column, colon, value = part.partition(b":")
        if column == b"qid" and part is parts[1]:
            continue
        if not colon or not column.isdigit():
            return f"{_shown(part)} is not column:value"
        if len(column) >= _DIGITS or int(column) >= 2**31:
            return f"{_shown(part)} has too large a column; columns are numbered up to {2**31 - 1}"
        if int(column) <= last:
            return f"column {int(column)} comes after column {last}; columns must rise"
        last = int(column)
        if not value or (math.isnan(_number(value)) and value.lower() != b"nan"):
            return f"the value of column {last}, {_shown(value)}, is no number"
    return ""


def _number(text: bytes) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan


def _shown(text: bytes) -> str:
    return repr(text.decode("utf-8", "replace"))
