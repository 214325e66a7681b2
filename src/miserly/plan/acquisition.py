"""Acquisitions: nodes that choose for each row which feature to buy next.

A node with an acquisition scores the features of a pool by what is known of the row so far, buys the best
one, observes its value, and begins again. It ends when it is sure enough of the class, or when no feature
that fits the budget is worth its price. `MixtureAcquisition` holds the model of the features, and
`engine.beliefs` runs it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from miserly.errors import PlanError
from miserly.utils.inputs import as_input

__all__ = ["MixtureAcquisition", "MixtureTable"]

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
Ints = NDArray[np.int64]

_MOST = 1e6  # bound on standardised means and covariances, so that no computation overflows


class MixtureTable(NamedTuple):
    """The arrays of a `MixtureAcquisition`, for the engines."""

    pool: Ints  # the features, each once
    first: Ints  # feature p has the columns first[p] to first[p + 1]
    category: Ints
    centre: Floats
    scale: Floats
    weight: Floats
    start: Ints  # class k has the components start[k] to start[k + 1]
    mean: Singles
    covariance: Singles
    numbers: Floats  # price_exponent, confidence, tradeoff, clip, sharpness
    ratio: Floats  # (n_columns,) how well each column tells the classes apart, while nothing is known
    drop: Floats  # (n_columns,) the expected decrease of the Brier score, while nothing is known


@dataclass(frozen=True, eq=False)
class MixtureAcquisition:
    """Buys, one after the other, the features that separate the classes best, by a Gaussian mixture.

    Each class is a mixture of Gaussian components over the columns of a pool of features. After each purchase
    the components are conditioned on its value.

    Parameters
    ----------
    feature : array of (n_columns,)
        The feature of each column. Columns of one feature follow one another.
    category : array of (n_columns,)
        -1 for a column of numbers, else the code of a category: the column is 1 where the feature has it, and
        else 0.
    centre, scale : arrays of (n_columns,)
        A value `x` becomes ``(x - centre) / scale``, clipped to plus or minus `clip`.
    mean : array of (n_components, n_columns)
        Means of the components. They are kept in single precision, as `covariance` is, and rows are
        conditioned in single precision.
    covariance : array of (n_components, n_columns, n_columns)
        Covariances of the components: symmetric and positive definite.
    weight : array of (n_components,)
        Probabilities of the components.
    label : array of (n_components,)
        The class of each component, in rising order from 0.
    price_exponent : float, default=1.0
        Features are compared by their gain divided by ``price ** price_exponent``, from 0 to 1.
    confidence : float, default=1.0
        The node ends when the probability of a class reaches it.
    tradeoff : float, default=0.0
        A feature is bought only if it is expected to lower the Brier score by `tradeoff` times its price.
    clip : float, default=6.0
        Largest absolute value of a standardised value.
    sharpness : {0.25, 0.5, 0.75, 1.0}, default=1.0
        The power of the density of each observed value. Below 1 it makes up for what the mixture does not
        know about how values depend on each other, which would make it too sure.

    Notes
    -----
    With probabilities `p_k` of the classes given what was observed, and the covariance `c_k` between a column
    and the indicator of class `k`, the gain of a column is ``sum_k c_k^2 / sqrt(p_k) / variance``. It lies
    between the share of the variance that is between the classes, ``sum_k c_k^2 / p_k / variance``, which
    asks for features that tell improbable classes apart, and the decrease of the Brier score by a linear
    prediction from the column, ``sum_k c_k^2 / variance``. For two classes all three give the same order. A
    feature has the largest values of its columns.

    Features that the row has already bought, or knows, are observed first, in the order of the pool, for
    nothing. A missing value is paid and teaches nothing. Features that do not fit what is left of the budget
    are passed over: the node ends when none fits, and its scores count. Ties go to the first in the pool.

    The cost of a row never falls as its budget rises. At the first step where the purchases under two budgets
    differ, the larger one buys a feature that the smaller one cannot pay. It has then paid more than the
    smaller budget.

    Examples
    --------
    >>> from miserly import Costs, Plan
    >>> from miserly.plan import Node
    >>> cheap_and_good = MixtureAcquisition(
    ...     feature=[0, 1], category=[-1, -1], centre=[0.0, 0.0], scale=[1.0, 1.0],
    ...     mean=[[-1.0, -2.0], [1.0, 2.0]], covariance=[[[1.0, 0.0], [0.0, 1.0]]] * 2,
    ...     weight=[0.5, 0.5], label=[0, 1], confidence=0.95)
    >>> node = Node([], [], [], [0.0], inherits=False, acquisition=cheap_and_good)
    >>> plan = Plan(costs=Costs([1.0, 3.0]), terms=[], nodes=[node], base=[0.0], link="logistic")
    >>> run = plan.run([[2.0, 2.0], [0.1, 2.0]])  # log odds of 2 x0 + 4 x1
    >>> run.cost.tolist(), run.scores.round(3).tolist()
    ([1.0, 4.0], [4.0, 8.2])
    """

    feature: Ints
    category: Ints
    centre: Floats
    scale: Floats
    mean: NDArray[Any]
    covariance: NDArray[Any]
    weight: Floats
    label: Ints
    price_exponent: float = 1.0
    confidence: float = 1.0
    tradeoff: float = 0.0
    clip: float = 6.0
    sharpness: float = 1.0

    def __post_init__(self) -> None:
        put = object.__setattr__
        for name in ("feature", "category", "label"):
            put(self, name, np.ascontiguousarray(getattr(self, name), dtype=np.int64))
        for name in ("centre", "scale", "weight"):
            put(self, name, np.ascontiguousarray(getattr(self, name), dtype=np.float64))
        for name in ("mean", "covariance"):
            with np.errstate(over="ignore"):
                put(self, name, np.ascontiguousarray(getattr(self, name), dtype=np.float32))
        self._check_columns()
        self._check_numbers()
        self._check_components()

    def _check_columns(self) -> None:
        n = len(self.feature)
        if not n or any(getattr(self, name).shape != (n,) for name in ("category", "centre", "scale")):
            raise PlanError(
                "an acquisition needs a feature, a category, a centre and a scale for each column"
            )
        changes = np.count_nonzero(np.diff(self.feature)) + 1
        if self.feature.min() < 0 or changes != len(np.unique(self.feature)):
            raise PlanError("the columns of a feature of an acquisition must follow one another")
        if self.category.min() < -1 or len(np.unique(self._places)) != n:
            raise PlanError("an acquisition has a column twice, or a category below -1")
        if not (np.isfinite(self.centre).all() and np.isfinite(self.scale).all() and (self.scale > 0).all()):
            raise PlanError("centres of an acquisition must be finite, and scales finite and above 0")

    @property
    def _places(self) -> list[str]:
        return [f"{f} {c}" for f, c in zip(self.feature.tolist(), self.category.tolist(), strict=True)]

    def _check_numbers(self) -> None:
        if not 0.0 <= self.price_exponent <= 1.0 or not 0.0 < self.confidence <= 1.0:
            raise PlanError("an acquisition needs a price exponent from 0 to 1, and a confidence up to 1")
        if not (np.isfinite(self.tradeoff) and self.tradeoff >= 0.0):
            raise PlanError("the tradeoff of an acquisition must be a finite number, 0 or more")
        if not 0.0 < self.clip <= _MOST:
            raise PlanError(f"an acquisition clips values at a number above 0, at most {_MOST:g}")
        if self.sharpness not in (0.25, 0.5, 0.75, 1.0):  # powers that square roots give, to the last bit
            raise PlanError("the sharpness of an acquisition must be 0.25, 0.5, 0.75 or 1")

    def _check_components(self) -> None:
        n, c = len(self.feature), len(self.weight)
        shapes = self.mean.shape, self.covariance.shape, self.label.shape
        if shapes != ((c, n), (c, n, n), (c,)):
            raise PlanError("an acquisition needs a mean, a covariance and a class for each component")
        classes = np.unique(self.label)
        if len(classes) < 2 or classes.tolist() != list(range(len(classes))):
            raise PlanError("an acquisition needs components of two or more classes, numbered from 0")
        if (self.label[1:] < self.label[:-1]).any():
            raise PlanError("the components of an acquisition must be in the order of their classes")
        if not (np.isfinite(self.weight).all() and (self.weight > 0.0).all() and self.weight.max() <= 1.0):
            raise PlanError("the weights of components must be above 0, and at most 1")
        if not (np.abs(self.mean) <= _MOST).all() or not (np.abs(self.covariance) <= _MOST).all():
            raise PlanError(f"means and covariances of components must be from -{_MOST:g} to {_MOST:g}")
        if (self.covariance != self.covariance.transpose(0, 2, 1)).any():
            raise PlanError("the covariances of components must be symmetric")
        try:
            np.linalg.cholesky(self.covariance.astype(np.float64))
        except np.linalg.LinAlgError:
            raise PlanError("the covariances of components must be positive definite") from None

    # -- what it needs ---------------------------------------------------------------------------------

    @property
    def n_classes(self) -> int:
        """The number of classes."""
        return int(self.label[-1]) + 1

    @cached_property
    def pool(self) -> tuple[int, ...]:
        """The features that it may buy, each once, in their order.

        Returns
        -------
        tuple of int
        """
        return tuple(dict.fromkeys(self.feature.tolist()))

    @cached_property
    def table(self) -> MixtureTable:
        """Its arrays, for the engines: read-only, also where they were not read from a file.

        Returns
        -------
        MixtureTable
        """
        from miserly.plan.engine.beliefs import prior_gains  # the engine imports this module

        first = np.flatnonzero(np.diff(self.feature, prepend=-1))
        table = MixtureTable(
            pool=np.array(self.pool, dtype=np.int64),
            first=np.append(first, len(self.feature)).astype(np.int64),
            category=self.category,
            centre=self.centre,
            scale=self.scale,
            weight=self.weight,
            start=np.searchsorted(self.label, np.arange(self.n_classes + 1)).astype(np.int64),
            mean=self.mean,
            covariance=self.covariance,
            numbers=np.array(
                [self.price_exponent, self.confidence, self.tradeoff, self.clip, self.sharpness]
            ),
            ratio=np.zeros(len(self.feature)),
            drop=np.zeros(len(self.feature)),
        )
        return MixtureTable(*[as_input(part) for part in prior_gains(table)])

    def problem_in(self, n_features: int, n_outputs: int) -> str | None:
        """Why it does not suit a plan with so many features and outputs; None if it does.

        Parameters
        ----------
        n_features : int
            Number of features of the plan.
        n_outputs : int
            Number of outputs of the plan.

        Returns
        -------
        str or None
        """
        if max(self.pool) >= n_features:
            return f"an acquisition of feature {max(self.pool)}, which is not among {n_features}"
        if self.n_classes != max(2, n_outputs):
            return f"an acquisition for {self.n_classes} classes, but {n_outputs} outputs"
        return None

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name not in ("pool", "table")}
