"""Rows and tables of calls: raw inputs as models take them, and columns as a frame."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from miserly.costs import Costs
from miserly.data.frames import is_frame
from miserly.errors import CostError, DataError

__all__ = [
    "Columns",
    "RowMaker",
    "frame_of",
    "numbers",
    "ordinary_columns",
    "own_costs",
    "row_count",
    "row_of",
]

Columns: TypeAlias = dict[str, Any]  # by name: an array of numbers, or a list of text and None


@dataclass(frozen=True)
class RowMaker:
    """Puts raw inputs of requests together as the rows that models take.

    Attributes
    ----------
    kind : {"list", "array", "frame"}
        What the training rows were.
    header : frame or None
        A frame without rows, of the library and with the columns of the training rows.
    """

    kind: str
    header: Any = None

    @classmethod
    def of(cls, X: Any) -> RowMaker:
        """Read from the training rows what the models take."""
        if hasattr(X, "toarray"):
            raise DataError(
                "sparse rows are no raw inputs; give what they were made from, with the vectoriser in a "
                "pipeline, or call .toarray() on them"
            )
        if is_frame(X):
            return cls("frame", X[:0])
        return cls("array" if isinstance(X, np.ndarray) and X.ndim > 1 else "list")

    def __call__(self, raws: Sequence[Any]) -> Any:
        if self.kind == "list":
            return list(raws)
        if self.kind == "array":
            return np.stack([np.asarray(raw) for raw in raws])
        import narwhals as nw

        header = nw.from_native(self.header, eager_only=True)
        columns = {name: [raw[name] for raw in raws] for name in header.columns}
        return nw.from_dict(columns, schema=header.schema, backend=header.implementation).to_native()


def row_count(X: Any) -> int:
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)


def row_of(X: Any, i: int) -> Any:
    """One row as a request would bring it: of a frame a mapping, else an item."""
    if is_frame(X):
        import narwhals as nw

        return nw.from_native(X, eager_only=True)[i : i + 1].rows(named=True)[0]
    return X.iloc[i] if hasattr(X, "iloc") else X[i]


def ordinary_columns(features: Any, costs: Any, n: int) -> Columns:
    """The ordinary features by name. Columns of arrays have the names of their costs, or x0, x1, ..."""
    if features is None:
        return {}
    if row_count(features) != n:
        raise DataError(f"{n} rows, but {row_count(features)} rows of features")
    if is_frame(features):
        import narwhals as nw

        frame = nw.from_native(features, eager_only=True)
        return {name: frame[name].to_list() for name in frame.columns}
    values = np.asarray(features)
    given = costs.names if isinstance(costs, Costs) else list(costs) if isinstance(costs, Mapping) else None
    names = given or [f"x{i}" for i in range(values.shape[1])]
    if len(names) != values.shape[1]:
        raise CostError(f"{len(names)} costs for {values.shape[1]} features")
    return dict(zip(names, values.T, strict=True))


def own_costs(costs: Any, ordinary: Columns) -> Costs | None:
    if not ordinary:
        return None
    if costs is None:
        return Costs.uniform(list(ordinary), 0.0)
    return (costs if isinstance(costs, Costs) else Costs(costs)).bind(list(ordinary))


def numbers(values: Iterable[Any]) -> Any:
    return np.array([np.nan if value is None else value for value in values], dtype=np.float64)


def frame_of(columns: Columns, like: Any) -> Any:
    """Columns as a frame of the library of `like`, else of pandas or polars."""
    import narwhals as nw

    if like is not None and is_frame(like):
        return nw.from_dict(columns, backend=nw.from_native(like, eager_only=True).implementation).to_native()
    for library in ("pandas", "polars"):
        try:
            return nw.from_dict(columns, backend=library).to_native()
        except ImportError:
            continue
    raise DataError("a table with names needs pandas or polars; install miserly[frames]")
