"""A kernel between a row and a vector."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from miserly.errors import PlanError
from miserly.plan import links
from miserly.plan.show.phrases import listing, plural
from miserly.plan.store.container import Arrays, Schema, check_codes, floats, ints, joined
from miserly.plan.terms.base import Sizes, Term, register

if TYPE_CHECKING:
    from miserly.plan.show.wording import Wording

__all__ = ["KERNELS", "Kernel", "Kernels"]

KERNELS = ("linear", "rbf", "poly", "sigmoid")  # their numbers in files: add at the end, never move one
_FEATURES_AT_A_TIME = 64


class Kernels(NamedTuple):
    """All kernel terms of a plan, for compiled code."""

    kind: NDArray[np.int8]
    vector: NDArray[np.float64]
    fill: NDArray[np.float64]
    scale: NDArray[np.float64]
    gamma: NDArray[np.float64]
    coef0: NDArray[np.float64]
    degree: NDArray[np.int64]


@register
@dataclass(frozen=True, eq=False)
class Kernel(Term):
    """A kernel between the row and `vector`, as in scikit-learn's `SVC`.

    Parameters
    ----------
    vector : array of n_features
        The vector that rows are compared with.
    kernel : {"linear", "rbf", "poly", "sigmoid"}, default="rbf"
    gamma : float, default=1.0
        Of rbf, poly and sigmoid.
    coef0 : float, default=0.0
        Of poly and sigmoid.
    degree : int, default=3
        Of poly.
    fill : array of n_features, optional
        The values where features are missing; zeros by default.
    evaluation : float, default=0.0
        What evaluating the term costs.
    scale : array of n_features, optional
        Of rbf: the difference in each feature is multiplied by its scale. A kernel behind a scaler is then a
        kernel of the raw features.
    """

    kind: ClassVar[str] = "kernel"
    code: ClassVar[int] = 2
    schemas: ClassVar[Mapping[int, Schema]] = {
        1: {
            "kernel_kind": ("|u1", ("kernels",)),
            "kernel_gamma": ("<f8", ("kernels",)),
            "kernel_coef0": ("<f8", ("kernels",)),
            "kernel_degree": ("<i8", ("kernels",)),
            "kernel_vector": ("<f8", ("kernels", "features")),
            "kernel_fill": ("<f8", ("kernels", "features")),
        },
        2: {"kernel_scale": ("<f8", ("kernels", "features"))},
    }
    vector: NDArray[np.float64]
    kernel: str = "rbf"
    gamma: float = 1.0
    coef0: float = 0.0
    degree: int = 3
    fill: NDArray[np.float64] | None = None
    evaluation: float = 0.0
    scale: NDArray[np.float64] | None = None

    def __post_init__(self) -> None:
        put = object.__setattr__
        put(self, "vector", np.ascontiguousarray(self.vector, dtype=np.float64))
        fill = np.zeros(len(self.vector)) if self.fill is None else self.fill
        put(self, "fill", np.ascontiguousarray(fill, dtype=np.float64))
        scale = np.ones(len(self.vector)) if self.scale is None else self.scale
        put(self, "scale", np.ascontiguousarray(scale, dtype=np.float64))
        if self.kernel not in KERNELS:
            raise PlanError(f"unknown kernel {self.kernel!r}: one of {', '.join(KERNELS)}")
        assert self.fill is not None and self.scale is not None
        if self.vector.ndim != 1 or {self.fill.shape, self.scale.shape} != {self.vector.shape}:
            raise PlanError("a kernel term needs one vector, one fill value and one scale per feature")
        if not np.isfinite(self.scale).all() or (self.kernel != "rbf" and (self.scale != 1.0).any()):
            raise PlanError("the scales of a kernel term must be finite, and 1 unless its kernel is rbf")
        if not np.isfinite([self.gamma, self.coef0]).all() or not np.isfinite(self.vector).all():
            raise PlanError("a kernel term's vector and parameters must be finite")
        if self.degree != int(self.degree) or not 0 <= self.degree <= 64:
            raise PlanError(f"a kernel's degree is a whole number from 0 to 64, not {self.degree!r}")

    @property
    def bounds(self) -> tuple[float, float]:
        return {"rbf": (0.0, 1.0), "sigmoid": (-1.0, 1.0)}.get(self.kernel, (-np.inf, np.inf))

    @property
    def features(self) -> NDArray[np.int64]:
        return np.arange(len(self.vector), dtype=np.int64)

    def problem_in(self, n_features: int) -> str | None:
        if len(self.vector) != n_features:
            return f"has a vector of {len(self.vector)} for {n_features} features"
        if not np.isfinite(self._fill).all():
            return "has fill values that are not, but must be finite"
        return None

    @property
    def _fill(self) -> NDArray[np.float64]:
        assert self.fill is not None
        return self.fill

    @property
    def _scale(self) -> NDArray[np.float64]:
        assert self.scale is not None
        return self.scale

    # -- values --------------------------------------------------------------------------------------

    def evaluate(self, X: NDArray[Any], rows: NDArray[np.int64]) -> NDArray[np.float64]:
        some = X[rows].astype(np.float64)
        total = np.zeros((len(some), 1))
        for first in range(0, some.shape[1], _FEATURES_AT_A_TIME):
            part = slice(first, first + _FEATURES_AT_A_TIME)
            value = np.where(np.isnan(some[:, part]), self._fill[part], some[:, part])
            if self.kernel == "rbf":
                difference = (value - self.vector[part]) * self._scale[part]
                parts = difference * difference
            else:
                parts = value * self.vector[part]
            total = np.add.accumulate(np.hstack([total, parts]), axis=1)[:, -1:]  # one after the other
        return self._of_sums(total[:, 0])

    def _of_sums(self, total: NDArray[np.float64]) -> NDArray[np.float64]:
        """The kernel from inner products with the vector, or for rbf from squared distances."""
        if self.kernel == "linear":
            return total
        if self.kernel == "rbf":
            return np.asarray(links.exp(-(self.gamma * total)))
        inner = self.gamma * total + self.coef0
        if self.kernel == "poly":
            power = np.ones(len(total))
            for _ in range(self.degree):
                power *= inner
            return power
        return np.asarray(1.0 - 2.0 / (links.exp(2.0 * inner) + 1.0))

    def evaluate_one(self, known: Mapping[int, float]) -> float:
        row = np.array([[known[f] for f in range(len(self.vector))]])
        return float(self.evaluate(row, np.zeros(1, dtype=np.int64))[0])

    # -- tables and files ----------------------------------------------------------------------------

    @classmethod
    def lay_out(cls, terms: Sequence[Kernel], n_features: int) -> tuple[Kernels, list[int]]:
        def table(name: str) -> NDArray[np.float64]:
            return np.array([getattr(term, name) for term in terms], dtype=float).reshape(-1, n_features)

        kernels = Kernels(
            kind=np.array([KERNELS.index(term.kernel) for term in terms], dtype=np.int8),
            vector=table("vector"),
            fill=table("fill"),
            scale=table("scale"),
            gamma=floats([term.gamma for term in terms]),
            coef0=floats([term.coef0 for term in terms]),
            degree=ints([term.degree for term in terms]),
        )
        return kernels, list(range(len(terms)))

    @property
    def file_version(self) -> int:
        return 2 if (self._scale != 1.0).any() else 1

    @classmethod
    def pack(cls, terms: Sequence[Kernel], n_features: int) -> Arrays:
        arrays: Arrays = {
            "kernel_kind": np.array([KERNELS.index(term.kernel) for term in terms], dtype=np.uint8),
            "kernel_gamma": floats([term.gamma for term in terms]),
            "kernel_coef0": floats([term.coef0 for term in terms]),
            "kernel_degree": ints([term.degree for term in terms]),
        }
        for name in ("vector", "fill", "scale"):
            rows = joined([getattr(term, name) for term in terms])
            arrays[f"kernel_{name}"] = rows.reshape(len(terms), n_features)
        return arrays

    @classmethod
    def unpack(cls, arrays: Arrays, evaluations: Sequence[float]) -> list[Kernel]:
        numbers = [arrays[f"kernel_{name}"].tolist() for name in ("kind", "gamma", "coef0", "degree")]
        columns = [arrays["kernel_vector"], *numbers, arrays["kernel_fill"], evaluations]
        scales = arrays.get("kernel_scale", np.ones_like(arrays["kernel_vector"]))
        return [
            cls(vector, KERNELS[kind], gamma, coef0, degree, fill, evaluation, scale)
            for vector, kind, gamma, coef0, degree, fill, evaluation, scale in zip(
                *columns, scales, strict=True
            )
        ]

    @classmethod
    def check_arrays(cls, arrays: Arrays, sizes: Sizes) -> int:
        check_codes(arrays, "kernel_kind", dict(enumerate(KERNELS)))
        return sizes["kernels"]

    # -- words ---------------------------------------------------------------------------------------

    def name_words(self, place: int, words: Wording) -> str:
        return f"{self.kernel} kernel {place}"

    @classmethod
    def sum_words(cls, terms: Sequence[Kernel], words: Wording) -> str:
        return f"{plural(len(terms), 'kernel')} ({listing(sorted({term.kernel for term in terms}))})"
