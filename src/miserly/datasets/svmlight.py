"""svmlight, LibSVM and LETOR files: one row per line, ``grade qid:7 1:0.5 3:2 # a comment``.

scikit-learn parses the numbers. Query ids are read here, because scikit-learn takes time quadratic in the
number of rows to collect them, and accepts files where some lines have none.
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
_NAME_BYTES = 100  # memory of the name of a column
_DIGITS = 19  # digits of a column number that fits 64 bits
_COLUMN_ZERO = re.compile(rb"\s0+:")


def read_svmlight(path: str | Path, n_features: int | None = None, costs: Costs | None = None) -> Dataset:
    """Read an svmlight, LibSVM or LETOR file, with or without query ids.

    Columns are numbered from 1, or from 0 if any line has a column 0. A column that a line omits is zero.

    Parameters
    ----------
    path : str or Path
        The file, plain or compressed (`.gz`, `.bz2`).
    n_features : int, optional
        Number of columns, for a test set that must be as wide as its training set. By default the largest
        column of the file.
    costs : Costs, optional
        Costs of the columns, by position or by the names ``f1``, ``f2``, ...

    Returns
    -------
    Dataset
        Features in single precision, labels (integers if all are whole numbers), and query ids if the file
        has them.

    Raises
    ------
    DataError
        If a line cannot be read, or the table does not fit the memory of the machine. The message names the
        file and the line.
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
    """Write an svmlight file, with columns numbered from 1 and without zeros.

    Single-precision values are written exactly, double-precision values to 16 digits.

    Parameters
    ----------
    path : str or Path
        The file; it is compressed if its name ends in `.gz` or `.bz2`.
    X : array-like of shape (n_rows, n_features)
        Features, without missing or infinite values.
    y : array-like of shape (n_rows,)
        Labels, which must be finite numbers.
    qid : array-like of int of shape (n_rows,), optional
        Query of each row.

    Raises
    ------
    DataError
        If shapes do not match, or a value cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "rows.txt.gz"
    >>> write_svmlight(path, [[0.5, 0.0], [0.0, 2.0]], [1, 0])
    >>> read_svmlight(path).X.tolist()
    [[0.5, 0.0], [0.0, 2.0]]
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


def _compressed(file: IO[bytes], path: Path) -> contextlib.AbstractContextManager[Any]:
    """Open file that compresses as the suffix of `path` asks."""
    if path.suffix.lower() == ".gz":
        return gzip.GzipFile(str(path), "wb", fileobj=file)
    return bz2.BZ2File(file, "wb") if path.suffix.lower() == ".bz2" else contextlib.nullcontext(file)


def _lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """Numbers and texts of the lines that hold a row, without comments."""
    with _OPENERS.get(path.suffix.lower(), open)(path, "rb") as file:
        for number, line in enumerate(file, 1):
            row = line.partition(b"#")[0].strip()
            if row:
                yield number, row


@dataclass(frozen=True, eq=False)
class _Scan:
    """Result of a first pass over a file; `widest` is its largest column, `line` the first line with it."""

    qid: NDArray[np.int64] | None
    from_zero: bool
    n_rows: int
    widest: int
    line: int

    def check_size(self, path: Path, n_features: int | None) -> None:
        """Raise if the dense table would not fit the memory of the machine."""
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
    """Bytes of memory of this machine, infinite where it is not known."""
    try:
        return float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, ValueError, OSError):
        return math.inf


def _last_column(row: bytes) -> int:
    """Last column of a row, which is its largest; 0 if it cannot be read."""
    parts = row.rpartition(b":")[0].rsplit(None, 1)
    return int(parts[-1]) if parts and parts[-1].isdigit() and len(parts[-1]) < _DIGITS else 0


def _scan(path: Path) -> _Scan:
    """Query ids, first column number and size of a file, from one pass over its lines."""
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
        raise DataError(f"{path}, line {line}: {_shown(text)} is not a query id; give a whole number")
    return value


def _explained(path: Path, error: Exception) -> DataError:
    """Error that names the line scikit-learn could not read; scikit-learn's message if none is found."""
    if isinstance(error, DataError):
        return error
    for number, row in _lines(path):
        complaint = _complaint(row.split())
        if complaint:
            return DataError(f"{path}, line {number}: {complaint}")
    return DataError(f"{path}: {error}")


def _complaint(parts: list[bytes]) -> str:
    """Description of what is wrong with one row; an empty string if nothing is."""
    if not math.isfinite(_number(parts[0])):
        return f"the label {_shown(parts[0])} is not a finite number"
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
            return f"the value of column {last}, {_shown(value)}, is not a number"
    return ""


def _number(text: bytes) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan


def _shown(text: bytes) -> str:
    return repr(text.decode("utf-8", "replace"))
