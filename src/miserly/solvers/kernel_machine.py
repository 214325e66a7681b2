"""Kernels, and the machines that are sums of them: what a support vector machine is once it is trained.

One convention holds here and in everything built on it, LibSVM's: a classifier of `C` classes has one
decision for each pair (i, j), i < j, in the order 01, 02, .., 12, ..; **a positive decision votes for class
i**, the first of the pair, and anything else for class j. So with two classes a positive decision means
``classes[0]``, and scikit-learn's `decision_function` is this one with the sign turned.

A `SmallMachine` is fitted to a `DecisionTarget`: the decisions wanted on rows, and which errors count.
`moving_vectors` has the losses and the symbols.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from miserly.errors import DataError
from miserly.plan import links
from miserly.plan.links import pairs_of
from miserly.plan.terms import KERNELS

__all__ = [
    "KERNELS",
    "KINDS",
    "DecisionTarget",
    "KernelFunction",
    "KernelMachine",
    "SmallMachine",
    "chunks",
    "pairs_of",
]

Floats: TypeAlias = NDArray[np.float64]

KINDS = ("classifier", "regressor", "one-class")
CHUNK_VALUES = 1 << 22  # of a kernel matrix that is only passed through: 32 MB
MANY_FEATURES = 256  # from here on single precision is exact enough for rbf, and twice as fast


@dataclass(frozen=True)
class KernelFunction:
    """A kernel of scikit-learn's `SVC`: linear, poly, rbf or sigmoid, with `gamma` as a number.

    With the inner product ``xv``: ``xv``, ``(gamma xv + coef0) ** degree``, ``exp(-gamma |x - v|^2)`` and
    ``tanh(gamma xv + coef0)``.

    >>> kernel = KernelFunction("rbf", gamma=0.5)
    >>> kernel(np.array([[0.0, 0.0]]), np.array([[0.0, 0.0], [1.0, 1.0]])).round(3).tolist()
    [[1.0, 0.368]]
    """

    name: str = "rbf"
    gamma: float = 1.0
    degree: int = 3
    coef0: float = 0.0

    def __post_init__(self) -> None:
        if self.name not in KERNELS:
            raise DataError(f"unknown kernel {self.name!r}: one of {', '.join(KERNELS)}")

    def __call__(self, X: NDArray[Any], V: NDArray[Any]) -> NDArray[Any]:
        """The kernel between rows of `X` and rows of `V`, (n, m), in the precision they have."""
        values: NDArray[Any] = X @ V.T
        if self.name == "linear":
            return values
        if self.name == "rbf":
            values *= 2.0
            values -= np.einsum("ij,ij->i", X, X)[:, None]
            values -= np.einsum("ij,ij->i", V, V)
            np.minimum(values, 0.0, out=values)  # rounding must not make a distance negative
            values *= self.gamma
            np.exp(values, out=values)
            return values
        values *= self.gamma
        values += self.coef0
        if self.name == "sigmoid":
            np.tanh(values, out=values)
        else:
            values **= self.degree
        return values

    def is_well_in_single(self, n_features: int) -> bool:
        """Whether single precision is exact enough and much faster, for rows about the origin."""
        return self.name == "rbf" and n_features >= MANY_FEATURES

    def with_slope(self, X: NDArray[Any], V: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
        """The kernel, and the slope of each value by what its vector does to it; see `pull_back`.

        The gradient of ``k(x, v)`` by ``v`` is the slope times ``x`` (times ``x - v`` for rbf).
        """
        if self.name == "linear":
            values = self(X, V)
            return values, np.ones_like(values)
        if self.name == "rbf":
            values = self(X, V)
            return values, 2.0 * self.gamma * values
        if self.name == "sigmoid":
            values = self(X, V)
            return values, self.gamma * (1.0 - values**2)
        inner = self.gamma * (X @ V.T) + self.coef0
        if self.degree == 0:
            return np.ones_like(inner), np.zeros_like(inner)
        rest = inner ** (self.degree - 1)
        return inner * rest, self.gamma * self.degree * rest

    def pull_back(self, steering: NDArray[Any], X: NDArray[Any], V: NDArray[Any]) -> NDArray[Any]:
        """The gradient (m, d) by `V` of something.

        `steering` (n, m) is its derivative by the values of the kernel, times their slope.
        """
        gradient: NDArray[Any] = steering.T @ X
        if self.name == "rbf":
            gradient -= steering.sum(axis=0)[:, None] * V
        return gradient


@dataclass(frozen=True, eq=False)
class KernelMachine:
    """``decisions(x) = coef @ k(vectors, x) + intercept``.

    Attributes
    ----------
    kernel : KernelFunction
    vectors : array of (m, d)
        Distinct: however many decisions use a vector, its kernel is evaluated once.
    coef : array of (K, m)
        One row per decision. Any decision may weigh any vector, also where LibSVM would not have it.
    intercept : array of (K,)
        Added (LibSVM's `rho` is subtracted: it is minus this).
    kind : {"classifier", "regressor", "one-class"}
        For a regressor the one decision is the answer; for a one-class machine positive means inlier.
    classes : array of (C,), optional
        For classifiers; K is C (C - 1) / 2.

    Examples
    --------
    >>> machine = KernelMachine(KernelFunction("linear"), np.eye(2), np.array([[1.0, -1.0]]), np.zeros(1),
    ...                         classes=np.array(["cat", "dog"]))
    >>> machine.decisions(np.array([[3.0, 1.0], [0.0, 1.0]])).tolist()
    [[2.0], [-1.0]]
    >>> machine.labels(np.array([[3.0, 1.0], [0.0, 1.0]])).tolist()
    ['cat', 'dog']
    """

    kernel: KernelFunction
    vectors: Floats
    coef: Floats
    intercept: Floats
    kind: str = "classifier"
    classes: NDArray[Any] | None = None

    def __post_init__(self) -> None:
        put = object.__setattr__
        put(self, "vectors", np.ascontiguousarray(self.vectors, dtype=np.float64))
        put(self, "coef", np.ascontiguousarray(self.coef, dtype=np.float64))
        put(self, "intercept", np.atleast_1d(np.asarray(self.intercept, dtype=np.float64)))
        if self.vectors.ndim != 2 or self.coef.shape != (len(self.intercept), len(self.vectors)):
            raise DataError(
                f"{self.vectors.shape} vectors and {self.intercept.shape} intercepts "
                f"need other coefficients than {self.coef.shape}"
            )
        if self.kind not in KINDS:
            raise DataError(f"unknown kind of kernel machine {self.kind!r}: one of {', '.join(KINDS)}")
        if self.kind == "classifier":
            if self.classes is None:
                raise DataError("a classifier needs classes")
            put(self, "classes", np.asarray(self.classes))
            wanted = len(pairs_of(len(self.classes)))
        else:
            wanted = 1
        if wanted != self.n_decisions:
            raise DataError(f"a {self.kind} with {wanted} decisions has coefficients for {self.n_decisions}")

    @property
    def n_vectors(self) -> int:
        return len(self.vectors)

    @property
    def n_features(self) -> int:
        return int(self.vectors.shape[1])

    @property
    def n_decisions(self) -> int:
        return len(self.intercept)

    def decisions(self, X: NDArray[Any]) -> Floats:
        """All decisions for every row, (n, K), some rows at a time."""
        X = np.asarray(X, dtype=np.float64)
        out = np.empty((len(X), self.n_decisions))
        for rows in chunks(len(X), self.n_vectors):
            out[rows] = self.kernel(X[rows], self.vectors) @ self.coef.T
        return out + self.intercept

    def rough_decisions(self, X: NDArray[Any]) -> Floats:
        """`decisions`; with many features and rbf in single precision, about the mean of the vectors."""
        if not self.kernel.is_well_in_single(self.n_features):
            return self.decisions(X)
        origin = self.vectors.mean(axis=0)
        vectors, coef = (self.vectors - origin).astype(np.float32), self.coef.T.astype(np.float32)
        out = np.empty((len(X), self.n_decisions))
        for rows in chunks(len(X), self.n_vectors):
            out[rows] = self.kernel((X[rows] - origin).astype(np.float32), vectors) @ coef
        return out + self.intercept

    def labels(self, X: NDArray[Any]) -> NDArray[Any]:
        """The answer of every row: its class by votes; a number; or 1 for inliers and -1 for outliers."""
        return self.labels_of(self.decisions(X))

    def labels_of(self, decisions: Floats) -> NDArray[Any]:
        """Answers from decisions (n, K)."""
        if self.kind == "regressor":
            return decisions[:, 0]
        if self.kind == "one-class":
            return np.where(decisions[:, 0] > 0, 1, -1)
        assert self.classes is not None
        if len(self.classes) == 2:
            winner = (decisions[:, 0] <= 0).astype(np.int64)
        else:
            winner = links.votes(decisions).argmax(axis=1)
        answers: NDArray[Any] = self.classes[winner]
        return answers

    def doubtful(self, X: NDArray[Any], decisions: Floats) -> NDArray[np.bool_]:
        """Rows (n,) with a decision so near zero that another order of adding up might turn its sign."""
        kernel = self.kernel
        longest = float(np.einsum("ij,ij->i", X, X).max(initial=0.0))
        longest = max(longest, float(np.einsum("ij,ij->i", self.vectors, self.vectors).max(initial=0.0)))
        if kernel.name == "rbf":
            largest, off = 1.0, 4.0 * kernel.gamma * longest
        elif kernel.name == "sigmoid":
            largest, off = 1.0, kernel.gamma * longest + abs(kernel.coef0)
        elif kernel.name == "linear":
            largest, off = longest, 0.0
        else:
            largest, off = (kernel.gamma * longest + abs(kernel.coef0)) ** kernel.degree, float(kernel.degree)
        rounding = 64.0 * np.finfo(np.float64).eps * (self.n_features + self.n_vectors + off)
        reach = np.abs(self.coef).sum(axis=1) * largest + np.abs(self.intercept)
        return np.asarray((np.abs(decisions) <= rounding * reach).any(axis=1))


def chunks(n: int, width: int) -> Iterator[slice]:
    """Slices of `n` rows, as many at a time as keep a matrix of `width` columns small."""
    size = max(1, CHUNK_VALUES // max(1, width))
    for first in range(0, n, size):
        yield slice(first, min(n, first + size))


@dataclass(frozen=True, eq=False)
class DecisionTarget:
    """Rows, and what decisions are wanted there.

    `wanted` is (n, K). `side` says where an error may be none: 1 where a larger decision is as good, -1 where
    a smaller one is, 0 elsewhere; None is 0 throughout. `weight` (n,) is that of rows, `emphasis` (n, K) that
    of decisions on top of it.
    """

    rows: Floats
    wanted: Floats
    side: NDArray[np.int8] | None = None
    weight: Floats | None = None
    emphasis: Floats | None = None

    @classmethod
    def squared(cls, rows: Floats, decisions: Floats, weight: Floats | None = None) -> DecisionTarget:
        """Decisions as they are."""
        return cls(rows, decisions, weight=weight)

    @classmethod
    def margin(
        cls, rows: Floats, decisions: Floats, weight: Floats | None = None, emphasis: Floats | None = None
    ) -> DecisionTarget:
        """Decisions cut off at -1 and 1, and no error beyond.

        >>> aim = DecisionTarget.margin(np.zeros((3, 1)), np.array([[2.0], [0.3], [-5.0]]))
        >>> aim.wanted.ravel().tolist(), aim.side.ravel().tolist()
        ([1.0, 0.3, -1.0], [1, 0, -1])
        >>> aim.errors(np.array([[3.0], [1.0], [-0.5]])).ravel().tolist()
        [0.0, 0.7, 0.5]
        """
        side = (np.sign(decisions) * (np.abs(decisions) >= 1.0)).astype(np.int8)
        return cls(rows, np.clip(decisions, -1.0, 1.0), side, weight, emphasis)

    def __len__(self) -> int:
        return len(self.rows)

    def take(self, rows: NDArray[Any]) -> DecisionTarget:
        """Some of the rows."""
        parts = [part if part is None else part[rows] for part in (self.side, self.weight, self.emphasis)]
        return DecisionTarget(self.rows[rows], self.wanted[rows], *parts)

    def shifted(self, offset: Floats) -> DecisionTarget:
        """The same with another origin."""
        return replace(self, rows=self.rows - offset)

    def errors(self, decisions: Floats) -> Floats:
        """What decisions (n, K) are off by; changes the array it is given."""
        decisions -= self.wanted
        if self.side is not None:
            decisions[(decisions * self.side) > 0.0] = 0.0
        return decisions

    def weigh(self, errors: Floats) -> Floats:
        """Errors times their weights, in a new array."""
        if self.weight is not None:
            errors = errors * self.weight[:, None]
        return errors if self.emphasis is None else errors * self.emphasis

    def loss(self, kernel: KernelFunction, small: SmallMachine) -> float:
        """The weighted mean square of the errors of a small machine."""
        errors = self.errors(kernel(self.rows, small.vectors) @ small.coef + small.intercept)
        return float(np.vdot(self.weigh(errors), errors)) / self.total

    @property
    def total(self) -> float:
        """The loss of deciding nothing; never zero."""
        squares = float(np.vdot(self.weigh(self.wanted), self.wanted))
        return squares if squares > 0.0 else 1.0


@dataclass(frozen=True, eq=False)
class SmallMachine:
    """Vectors (m, d), their coefficients (m, K), intercepts (K,), and how many steps they were moved."""

    vectors: Floats
    coef: Floats
    intercept: Floats
    n_iter: int = 0

    def __len__(self) -> int:
        return len(self.vectors)
