"""What the rows of a run cost and how good their answers were, in a few numbers for any number of rows."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from miserly.cli.batches import Batch
from miserly.plan.engine.batch import Run

__all__ = ["ExactSum", "RunTotals"]

_UNIT = 1200  # sums are whole multiples of 2**-1200, below the last bit of any float
_LOW = 26  # bits that are summed apart, so that no sum of a batch overflows


class ExactSum:
    """A sum of floats without rounding errors: the same in any order and in any batches.

    Parameters
    ----------
    units : int, default=0
        The sum so far, as a multiple of 2**-1200.

    Examples
    --------
    >>> total = ExactSum()
    >>> for batch in ([1e300, 0.1], [0.2], [-1e300]):
    ...     total.add(np.array(batch))
    >>> total.over(1)
    0.30000000000000004
    """

    def __init__(self, units: int = 0) -> None:
        self.units = units

    def add(self, values: NDArray[np.float64]) -> None:
        fraction, exponent = np.frexp(values)
        whole = np.ldexp(fraction, 53).astype(np.int64)  # exact: a float has 53 bits
        for power in np.unique(exponent).tolist():
            some = whole[exponent == power]
            high, low = int((some >> _LOW).sum()), int((some & ((1 << _LOW) - 1)).sum())
            self.units += ((high << _LOW) + low) << (power - 53 + _UNIT)

    def over(self, n: int) -> float:
        """The sum divided by a whole number, correctly rounded."""
        return self.units / (n << _UNIT)


@dataclass(eq=False)
class RunTotals:
    """The costs of all rows, and the metric of their predictions."""

    metric: str | None = None  # accuracy, mse or a metric of queries
    n_rows: int = 0
    n_features: int = 0
    n_stopped: int = 0
    max_cost: float = 0.0
    n_scored: int = 0  # rows, or queries that the metric is defined for
    n_unlabelled: int = 0
    cost: ExactSum = field(default_factory=ExactSum)
    score: ExactSum = field(default_factory=ExactSum)

    @property
    def mean_cost(self) -> float:
        return self.cost.over(self.n_rows)

    def add(self, run: Run, batch: Batch, predicted: NDArray[Any]) -> None:
        """Count a batch, which in ranking holds whole queries."""
        self.n_rows += len(batch)
        self.cost.add(run.cost)
        self.max_cost = max(self.max_cost, float(run.cost.max(initial=0.0)))
        self.n_features += int(run.acquired.sum())
        self.n_stopped += int(run.stopped.sum())
        if self.metric is None or batch.truth is None:
            return
        self.n_unlabelled += sum(one is None or one != one for one in batch.truth.tolist())
        if not self.n_unlabelled:
            scores = _scores(self.metric, batch, predicted)
            self.score.add(scores)
            self.n_scored += len(scores)

    def value(self) -> float | None:
        """The metric over all rows; None if there is none, or the label of some row is missing."""
        if self.metric is None or self.n_unlabelled or not self.n_scored:
            return None
        return self.score.over(self.n_scored)

    # -- a run that goes on later ----------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """The totals as JSON."""
        return {**vars(self), "cost": hex(self.cost.units), "score": hex(self.score.units)}

    @classmethod
    def of(cls, state: dict[str, Any]) -> RunTotals:
        """The totals with a state."""
        sums = {name: ExactSum(int(state[name], 16)) for name in ("cost", "score")}
        return cls(**{**state, **sums})


def _scores(metric: str, batch: Batch, predicted: NDArray[Any]) -> NDArray[np.float64]:
    """The metric of each row, or of each query that it is defined for."""
    truth = np.asarray(batch.truth)
    if metric == "accuracy":
        pairs = zip(truth.tolist(), predicted.tolist(), strict=True)
        return np.array([float(one == other) for one, other in pairs])
    if metric == "mse":
        errors = np.abs(truth.astype(np.float64) - predicted)
        squares: NDArray[np.float64] = np.square(np.minimum(errors, 1e150))  # finite
        return squares
    from miserly.metrics import per_query

    assert batch.qid is not None
    _, values = per_query(metric, truth, predicted, batch.qid)
    return values[~np.isnan(values)]
