"""Nodes: where a plan scores rows and sends them on.

A node adds weighted terms to its scores, one per channel. It starts from its `bias`, added to the scores of
its parent if it `inherits`. Its gate then decides where each row goes. A node with an acquisition chooses its
purchases for each row, and adds the scores that they give. A node that reads what is bought acquires nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from miserly.errors import PlanError
from miserly.plan.acquisition import MixtureAcquisition
from miserly.plan.gates import Gate, Onward

__all__ = ["LEAVE", "Node"]

LEAVE = -1  # in place of a child: the row leaves, and the node's scores are its answer


@dataclass(frozen=True, eq=False)
class Node:
    """``score[channels] += weights * value(terms)``, then the gate.

    Parameters
    ----------
    terms, channels, weights : arrays of one length
        The terms to evaluate, in this order, the score that each one adds to, and its weight.
    bias : array of n_scores
        Added to the scores at the start of the node.
    inherits : bool, default=True
        Whether the node starts from the scores of its parent (the root: from the plan's base) or from zero.
    gate : Gate, default=Onward()
        Decides whether a row goes up or low.
    up, low : int, default=LEAVE
        The child nodes, by number. `LEAVE` means that the row leaves.
    single : bool, default=False
        Whether the values of terms, every product and every sum are rounded to float32, for models that
        compute in single precision.
    acquisition : MixtureAcquisition, optional
        Chooses for each row what to buy, and adds the logarithms of the class probabilities to the scores
        (with one output, the log odds of the second class). Such a node has no terms.
    bought_only : bool, default=False
        Whether the terms read only what the row has bought or knows. They acquire nothing: a value that the
        row does not have counts as missing. The terms must be trees that cost nothing to evaluate.
    """

    terms: NDArray[np.int64]
    channels: NDArray[np.int64]
    weights: NDArray[np.float64]
    bias: NDArray[np.float64]
    inherits: bool = True
    gate: Gate = field(default_factory=Onward)
    up: int = LEAVE
    low: int = LEAVE
    single: bool = False
    acquisition: MixtureAcquisition | None = None
    bought_only: bool = False

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
        if not isinstance(self.gate, Gate):
            raise PlanError(f"the gate of a node must be a Gate, not {type(self.gate).__name__}")
        self.gate.check()
        if self.acquisition is not None and (shape != (0,) or self.single):
            raise PlanError("a node with an acquisition has no terms, and is not in single precision")
        if self.bought_only and (self.acquisition is not None or self.single):
            raise PlanError(
                "a node that reads only what is bought has no acquisition, and is not in single precision"
            )

    @property
    def paid_terms(self) -> list[int]:
        """The terms that acquire what they read, with repetitions; none if only what is bought is read."""
        return [] if self.bought_only else self.terms.tolist()

    @property
    def is_exit(self) -> bool:
        """Whether rows may leave at this node although it has a child."""
        passes = not self.gate.decides and self.up != LEAVE
        return (self.up == LEAVE) != (self.low == LEAVE) and not passes
