"""Parquet files in chunks, read by pyarrow or polars."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from miserly.cli.cells import Format
from miserly.cli.csv_files import Chunk, Source
from miserly.cli.tables import PARQUET
from miserly.errors import DataError

__all__ = ["ParquetFile"]

CELLS = 200_000  # of a chunk
FEWEST_ROWS = 64
_NUMBERS = ("int", "uint", "float", "double", "halffloat")


@dataclass(frozen=True)
class ParquetChunk(Chunk):
    """Some rows of a Parquet file; columns of numbers are not converted to text and back."""

    columns: dict[str, Any]

    def text(self, name: str) -> list[str]:
        return ["" if value is None else str(value) for value in self.values(name)]

    def values(self, name: str) -> list[Any]:
        column = self.columns[name]
        return list(column.to_pylist() if hasattr(column, "to_pylist") else column.to_list())

    def numbers(self, name: str, form: Format) -> NDArray[np.float64] | None:
        column = self.columns[name]
        is_arrow = hasattr(column, "to_pylist")
        if not str(column.type if is_arrow else column.dtype).lower().startswith(_NUMBERS):
            return super().numbers(name, Format())
        if is_arrow:
            return np.array(column.cast("float64", safe=False).to_numpy(zero_copy_only=False))
        import polars as pl

        return np.array(column.cast(pl.Float64).to_numpy())


class ParquetFile:
    """A Parquet file; rows count from 1."""

    unit = "row"

    def __init__(self, source: Source) -> None:
        self._source = source
        self.header = [str(name) for name in self._guarded(self._names)]

    def chunks(self, columns: Sequence[str]) -> Iterator[Chunk]:
        """Some columns, some rows at a time."""
        size = max(FEWEST_ROWS, CELLS // max(1, len(columns)))
        batches = self._batches(list(columns), size)
        first = 1
        while (batch := self._guarded(lambda: next(batches, None))) is not None:
            n_rows, values = batch
            yield ParquetChunk(list(range(first, first + n_rows)), {}, values)
            first += n_rows

    def _names(self) -> list[str]:
        if find_spec("pyarrow"):
            import pyarrow.parquet as pq

            return list(pq.read_schema(self._source.path).names)
        if find_spec("polars"):
            import polars as pl

            return list(pl.read_parquet_schema(self._source.path))
        raise DataError(f"{self._source.name}: reading {PARQUET}")

    def _batches(self, columns: list[str], size: int) -> Iterator[tuple[int, dict[str, Any]]]:
        if find_spec("pyarrow"):
            import pyarrow.parquet as pq

            with pq.ParquetFile(self._source.path) as file:
                size = min(size, max(1, file.metadata.num_rows))
                for batch in file.iter_batches(size, columns=columns):
                    yield batch.num_rows, {name: batch.column(name) for name in columns}
            return
        import polars as pl

        frame, start = pl.scan_parquet(self._source.path), 0
        total = frame.select(pl.len()).collect().item()
        size = min(size, max(1, total))
        while start < total:
            part = frame.select(columns).slice(start, size).collect()
            yield min(size, total - start), {name: part[name] for name in columns}
            start += size

    def _guarded(self, read: Any) -> Any:
        """Call a reader and translate the errors of its library for a broken file."""
        try:
            return read()
        except DataError:
            raise
        except Exception as error:
            reason = (str(error).splitlines() or [type(error).__name__])[0]
            raise DataError(f"{self._source.name}: not a sound Parquet file ({reason})") from None
