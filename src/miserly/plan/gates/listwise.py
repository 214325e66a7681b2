"""Gates that compare a document with the others of its query."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from miserly.errors import PlanError
from miserly.plan.gates.base import ListwiseGate, register
from miserly.plan.show.phrases import number, ordinal

if TYPE_CHECKING:
    from miserly.plan.show.wording import Wording

__all__ = ["Capacity", "Proximity", "Rank"]


@register
@dataclass(frozen=True)
class Proximity(ListwiseGate):
    """Documents whose score is more than `slack` below the `k`-th best of their query go low.

    Parameters
    ----------
    slack : float, default=1.0
        How far below a document may be.
    k : int, default=5
        Counted among the documents that have not left.
    """

    kind: ClassVar[str] = "proximity"
    code: ClassVar[int] = 3
    real_field: ClassVar[str | None] = "slack"
    whole_field: ClassVar[str | None] = "k"
    slack: float = 1.0
    k: int = 5

    def check(self) -> None:
        if not (self.slack >= 0.0 and self.k >= 1):
            raise PlanError(f"a proximity gate needs slack >= 0 and k >= 1, not {self}")

    def n_kept(self, n_query: int) -> int:
        return self.k

    def leave_below(self, scores: NDArray[np.float64], n_query: int) -> float:
        return super().leave_below(scores, n_query) - self.slack

    def up_words(self, words: Wording) -> str:
        return f"its score is within {number(self.slack)} of the {ordinal(self.k)} best still in its query"

    def low_words(self, words: Wording) -> str:
        best = f"the {ordinal(self.k)} best still in its query"
        return f"its score is more than {number(self.slack)} below {best}"

    def question(self, words: Wording) -> str:
        return f"within {number(self.slack)} of the {ordinal(self.k)} best?"


@register
@dataclass(frozen=True)
class Rank(ListwiseGate):
    """The `k` best documents of each query that have not left go up, others low.

    Parameters
    ----------
    k : int, default=10
        The number of documents that go up.
    """

    kind: ClassVar[str] = "rank"
    code: ClassVar[int] = 4
    whole_field: ClassVar[str | None] = "k"
    k: int = 10

    def check(self) -> None:
        if self.k < 1:
            raise PlanError(f"a rank gate must keep at least one document, not {self.k}")

    def n_kept(self, n_query: int) -> int:
        return self.k

    def up_words(self, words: Wording) -> str:
        return f"it is among the {self.k} best still in its query"

    def low_words(self, words: Wording) -> str:
        return f"it is not among the {self.k} best still in its query"

    def question(self, words: Wording) -> str:
        return f"among the {self.k} best?"


@register
@dataclass(frozen=True)
class Capacity(ListwiseGate):
    """The best `share` of the documents that each query began with go up, others low.

    Parameters
    ----------
    share : float, default=0.5
        Above 0 and at most 1.
    """

    kind: ClassVar[str] = "capacity"
    code: ClassVar[int] = 5
    real_field: ClassVar[str | None] = "share"
    share: float = 0.5

    def check(self) -> None:
        if not 0.0 < self.share <= 1.0:
            raise PlanError(f"a capacity gate keeps a share in (0, 1], not {self.share}")

    def n_kept(self, n_query: int) -> int:
        return max(1, int(np.ceil(self.share * n_query)))

    def up_words(self, words: Wording) -> str:
        return f"it is among the best {100 * self.share:.3g} % of its query"

    def low_words(self, words: Wording) -> str:
        return f"it is not among the best {100 * self.share:.3g} % of its query"

    def question(self, words: Wording) -> str:
        return f"among the best {100 * self.share:.3g} %?"
