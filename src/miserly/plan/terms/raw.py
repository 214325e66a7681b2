"""The value of one feature."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from miserly.plan.show.phrases import plural
from miserly.plan.store.container import Arrays, Schema, floats, ints
from miserly.plan.terms.base import Sizes, Term, register

if TYPE_CHECKING:
    from miserly.plan.show.wording import Wording

__all__ = ["Raw"]


@register
@dataclass(frozen=True)
class Raw(Term):
    """The value of one feature.

    Parameters
    ----------
    feature : int
        The column.
    fill : float, default=0.0
        The value where the feature is missing.
    evaluation : float, default=0.0
        What evaluating the term costs.
    """

    kind: ClassVar[str] = "raw"
    code: ClassVar[int] = 0
    schemas: ClassVar[Mapping[int, Schema]] = {
        1: {"raw_feature": ("<i8", ("raws",)), "raw_fill": ("<f8", ("raws",))}
    }
    feature: int
    fill: float = 0.0
    evaluation: float = 0.0

    @property
    def features(self) -> NDArray[np.int64]:
        return np.array([self.feature], dtype=np.int64)

    def problem_in(self, n_features: int) -> str | None:
        if not np.isfinite(self.fill):
            return f"has the fill value {self.fill}, which must be finite"
        return super().problem_in(n_features)

    def evaluate(self, X: NDArray[Any], rows: NDArray[np.int64]) -> NDArray[np.float64]:
        values = X[rows, self.feature].astype(np.float64)
        return np.where(np.isnan(values), self.fill, values)

    def reachable(
        self, X: NDArray[Any], rows: NDArray[np.int64], known: NDArray[np.bool_]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        values = self.evaluate(X, rows)
        there = known[:, self.feature]
        return np.where(there, values, -np.inf), np.where(there, values, np.inf)

    def evaluate_one(self, known: Mapping[int, float]) -> float:
        value = known[self.feature]
        return self.fill if np.isnan(value) else value

    @property
    def table_fill(self) -> float:
        return self.fill

    @classmethod
    def lay_out(cls, terms: Sequence[Raw], n_features: int) -> tuple[None, list[int]]:
        return None, [term.feature for term in terms]

    @classmethod
    def pack(cls, terms: Sequence[Raw], n_features: int) -> Arrays:
        return {
            "raw_feature": ints([term.feature for term in terms]),
            "raw_fill": floats([term.fill for term in terms]),
        }

    @classmethod
    def unpack(cls, arrays: Arrays, evaluations: Sequence[float]) -> list[Raw]:
        columns = arrays["raw_feature"].tolist(), arrays["raw_fill"].tolist(), evaluations
        return [cls(*row) for row in zip(*columns, strict=True)]

    @classmethod
    def check_arrays(cls, arrays: Arrays, sizes: Sizes) -> int:
        return sizes["raws"]

    def name_words(self, place: int, words: Wording) -> str:
        return words.feature(self.feature)

    @classmethod
    def sum_words(cls, terms: Sequence[Raw], words: Wording) -> str:
        return f"{plural(len(terms), 'feature')} ({words.features([term.feature for term in terms])})"
