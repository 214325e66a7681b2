"""Where a plan decides: nodes that score, and gates that send an example on or let it leave.

A node adds weighted terms to its scores, one per channel, starting from the parent's scores if it
`inherits` and from its own `bias` in any case. The gate then reads the scores: *up* is the way on (or the
upper child of a tree of classifiers), *low* is the other child; where there is no such child the example
leaves, and the node's scores are its answer.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray

from miserly.errors import PlanError

__all__ = [
    "GATES",
    "LEAVE",
    "Capacity",
    "Confidence",
    "Gate",
    "Node",
    "Onward",
    "Proximity",
    "Rank",
    "Threshold",
]

LEAVE = -1  # the child that means: leave here, with this node's answer


@dataclass(frozen=True)
class Onward:
    """Everybody goes up."""

    kind: ClassVar[str] = "onward"
    listwise: ClassVar[bool] = False


@dataclass(frozen=True)
class Threshold:
    """Up if the score in `channel` is greater than `value`, else low."""

    kind: ClassVar[str] = "threshold"
    listwise: ClassVar[bool] = False
    value: float = 0.0
    channel: int = 0


@dataclass(frozen=True)
class Confidence:
    """Leave (low) once the most probable class has at least probability `level`, else up."""

    kind: ClassVar[str] = "confidence"
    listwise: ClassVar[bool] = False
    level: float = 0.9


@dataclass(frozen=True)
class Proximity:
    """Leave (low) if the score is more than `slack` below the `k`-th best of the query still in the run."""

    kind: ClassVar[str] = "proximity"
    listwise: ClassVar[bool] = True
    slack: float = 1.0
    k: int = 5


@dataclass(frozen=True)
class Rank:
    """Keep (up) the `k` best documents of each query still in the run; the others leave (low)."""

    kind: ClassVar[str] = "rank"
    listwise: ClassVar[bool] = True
    k: int = 10


@dataclass(frozen=True)
class Capacity:
    """Keep (up) the best `share` of each query's documents, of as many as the query began with."""

    kind: ClassVar[str] = "capacity"
    listwise: ClassVar[bool] = True
    share: float = 0.5


Gate: TypeAlias = Onward | Threshold | Confidence | Proximity | Rank | Capacity
GATES: dict[str, type[Any]] = {
    gate.kind: gate for gate in (Onward, Threshold, Confidence, Proximity, Rank, Capacity)
}


@dataclass(frozen=True, eq=False)
class Node:
    """``score[channels] += weights * value(terms)``, then the gate.

    Attributes
    ----------
    terms, channels, weights : arrays of one length
        Which terms to evaluate, in this order, and which score each one adds to.
    bias : array of n_scores
        Added to every score; the whole start of it if the node does not inherit.
    inherits : bool
        Whether the parent's scores (for the root, the plan's base) are the start.
    gate : Gate
    up, low : int
        Child nodes, or `LEAVE`.
    """

    terms: NDArray[np.int64]
    channels: NDArray[np.int64]
    weights: NDArray[np.float64]
    bias: NDArray[np.float64]
    inherits: bool = True
    gate: Gate = field(default_factory=Onward)
    up: int = LEAVE
    low: int = LEAVE

    def __post_init__(self) -> None:
        put = object.__setattr__
        put(self, "terms", np.ascontiguousarray(self.terms, dtype=np.int64))
        put(self, "channels", np.ascontiguousarray(self.channels, dtype=np.int64))
        put(self, "weights", np.ascontiguousarray(self.weights, dtype=np.float64))
        put(self, "bias", np.ascontiguousarray(self.bias, dtype=np.float64))
        shape = self.terms.shape
        if len(shape) != 1 or self.channels.shape != shape or self.weights.shape != shape:
            raise PlanError("a node's terms, channels and weights must be three lists of one length")
        if not np.isfinite(self.weights).all() or not np.isfinite(self.bias).all():
            raise PlanError("a node's weights and bias must be finite")
        check_gate(self.gate)


def check_gate(gate: Gate) -> None:
    """Refuse gates whose numbers make no sense."""
    if isinstance(gate, Threshold) and (np.isnan(gate.value) or gate.channel < 0):
        raise PlanError(f"a threshold gate needs a number and a channel, not {gate}")
    if isinstance(gate, Confidence) and not gate.level >= 0.0:
        raise PlanError(f"a confidence gate needs a level of 0 or more, not {gate.level}")
    if isinstance(gate, Proximity) and not (gate.slack >= 0.0 and gate.k >= 1):
        raise PlanError(f"a proximity gate needs slack >= 0 and k >= 1, not {gate}")
    if isinstance(gate, Rank) and gate.k < 1:
        raise PlanError(f"a rank gate must keep at least one document, not {gate.k}")
    if isinstance(gate, Capacity) and not 0.0 < gate.share <= 1.0:
        raise PlanError(f"a capacity gate keeps a share in (0, 1], not {gate.share}")
