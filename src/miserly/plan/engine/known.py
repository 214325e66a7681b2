"""What is known of one row, by column."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

__all__ = ["KnownValues"]


class KnownValues(Mapping[int, float]):
    """The values of the columns, by number."""

    __slots__ = ("_first", "_n", "_numbers")

    def __init__(self, numbers: Any, first: int, n: int) -> None:
        self._numbers, self._first, self._n = numbers, first, n

    def __getitem__(self, f: int) -> float:
        return float(self._numbers[self._first + f])

    def __iter__(self) -> Iterator[int]:
        return iter(range(self._n))

    def __len__(self) -> int:
        return self._n
