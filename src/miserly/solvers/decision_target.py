"""What a small kernel machine is fitted to: the decisions wanted on rows, and which errors count.

`moving_vectors` has the losses and the symbols.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from miserly.solvers.kernel_machine import KernelFunction

__all__ = ["DecisionTarget", "SmallMachine"]

Floats: TypeAlias = NDArray[np.float64]


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
