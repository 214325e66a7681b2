"""svmlight, LibSVM and LETOR files: one row per line, ``grade qid:7 1:0.5 3:2 # a comment``.

scikit-learn parses the numbers. Query ids are read here, because scikit-learn's way of collecting them takes
time that grows with the square of the rows, and because it lets lines without one pass.
"""

from __future__ import annotations

import bz2
import contextlib
import gzip
import math
import re
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

from miserly._files import atomic_write
from miserly.costs import Costs
from miserly.datasets.dataset import Dataset
from miserly.errors import DataError

__all__ = ["read_svmlight", "write_svmlight"]

_OPENERS: dict[str, Any] = {".gz": gzip.open, ".bz2": bz2.open}
_QUERY = re.compile(rb"\S+\s+qid:(\S*)")
_COLUMN_ZERO = re.compile(rb"\s0+:")


def read_svmlight(path: str | Path, n_features: int | None = None, costs: Costs | None = None) -> Dataset:
    """Read a file, plain or compressed (`.gz`, `.bz2`), with or without query ids.

    Columns count from 1, or from 0 if any line has a column 0. What a line leaves out is zero. Give
    `n_features` to make a test set as wide as its training set. Mistakes are reported with file and line.
    """
    path = Path(path)
    try:
        qid, from_zero = _scan(path)
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


def _scan(path: Path) -> tuple[NDArray[np.int64] | None, bool]:
    """The query id of every row, if the rows have one, and whether columns count from 0."""
    ids: list[int | None] = []
    from_zero = False
    for number, row in _lines(path):
        query = _QUERY.match(row)
        ids.append(None if query is None else _query_id(query[1], path, number))
        if (ids[0] is None) != (query is None):
            raise DataError(f"{path}, line {number}: some rows have a query id and some have none")
        from_zero = from_zero or _COLUMN_ZERO.search(row) is not None
    has_ids = bool(ids) and ids[0] is not None
    return (np.array(ids, dtype=np.int64) if has_ids else None), from_zero


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
        if not colon or not column.isdigit() or len(column) > 9:
            return f"{_shown(part)} is not column:value"
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
