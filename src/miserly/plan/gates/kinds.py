"""The kinds of gates: those that look at one row, then those that compare the documents of a query."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from miserly.errors import PlanError
from miserly.plan import links
from miserly.plan.gates.base import Gate, ListwiseGate, register
from miserly.plan.show.phrases import number, ordinal

if TYPE_CHECKING:
    from miserly.plan.show.wording import Wording

__all__ = ["Capacity", "Confidence", "Onward", "Proximity", "Rank", "Settled", "SettledTop", "Threshold"]


@register
@dataclass(frozen=True)
class Onward(Gate):
    """All rows go up."""

    kind: ClassVar[str] = "onward"
    code: ClassVar[int] = 0
    decides: ClassVar[bool] = False

    def check(self) -> None:
        pass

    def sends_up(self, values: NDArray[np.float64]) -> NDArray[np.bool_]:
        return np.ones(len(values), dtype=np.bool_)

    def shifted(self, offset: NDArray[np.float64], scale: NDArray[np.float64]) -> Gate:
        return self

    def up_words(self, words: Wording) -> str:
        return "always"

    def low_words(self, words: Wording) -> str:
        return "never"

    def question(self, words: Wording) -> str:
        return "all go up"


@register
@dataclass(frozen=True)
class Threshold(Gate):
    """Rows whose score in `channel` is above `value` go up, others low.

    Parameters
    ----------
    value : float, default=0.0
        The threshold.
    channel : int, default=0
        Which of the scores to look at.
    """

    kind: ClassVar[str] = "threshold"
    code: ClassVar[int] = 1
    real_field: ClassVar[str | None] = "value"
    whole_field: ClassVar[str | None] = "channel"
    value: float = 0.0
    channel: int = 0

    def check(self) -> None:
        if np.isnan(self.value) or self.channel < 0:
            raise PlanError(f"a threshold gate needs a number and a channel, not {self}")

    def problem_in(self, n_scores: int, link: str) -> str | None:
        return None if self.channel < n_scores else f"a gate on score {self.channel} of {n_scores}"

    def values(self, scores: NDArray[np.float64], link: str, n_outputs: int) -> NDArray[np.float64]:
        return scores[:, self.channel]

    def sends_up(self, values: NDArray[np.float64]) -> NDArray[np.bool_]:
        return values > self.value

    def shifted(self, offset: NDArray[np.float64], scale: NDArray[np.float64]) -> Gate:
        return replace(self, value=self.value * scale[self.channel] + offset[self.channel])

    def up_words(self, words: Wording) -> str:
        return f"{words.score(self.channel)} is above {number(self.value)}"

    def low_words(self, words: Wording) -> str:
        return f"{words.score(self.channel)} is at most {number(self.value)}"

    def question(self, words: Wording) -> str:
        return f"{words.score(self.channel).removeprefix('the ')} above {number(self.value)}?"

    @property
    def up_label(self) -> str:
        return f"> {number(self.value)}"

    @property
    def low_label(self) -> str:
        return f"≤ {number(self.value)}"


@register
@dataclass(frozen=True)
class Confidence(Gate):
    """Rows whose most probable class has at least probability `level` go low (leave), others up.

    Parameters
    ----------
    level : float, default=0.9
        A level above 1 lets no row leave.
    """

    kind: ClassVar[str] = "confidence"
    code: ClassVar[int] = 2
    real_field: ClassVar[str | None] = "level"
    level: float = 0.9

    def check(self) -> None:
        if not self.level >= 0.0:
            raise PlanError(f"a confidence gate needs a level of 0 or more, not {self.level}")

    def problem_in(self, n_scores: int, link: str) -> str | None:
        if links.has_confidence(link):
            return None
        return f"a confidence gate, but link {link!r} has no probabilities that sum to 1"

    def values(self, scores: NDArray[np.float64], link: str, n_outputs: int) -> NDArray[np.float64]:
        return links.confidence(link, scores[:, :n_outputs])

    def sends_up(self, values: NDArray[np.float64]) -> NDArray[np.bool_]:
        return ~(values >= self.level)

    def up_words(self, words: Wording) -> str:
        return f"no class has {_what(words)} of {number(self.level)} or more yet"

    def low_words(self, words: Wording) -> str:
        return f"a class has {_what(words)} of at least {number(self.level)}"

    def question(self, words: Wording) -> str:
        return f"surer than {number(self.level)}?"

    @property
    def up_label(self) -> str:
        return "not yet"

    @property
    def low_label(self) -> str:
        return "surer"


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

    def shifted(self, offset: NDArray[np.float64], scale: NDArray[np.float64]) -> Gate:
        return replace(self, slack=self.slack * float(scale[0]))

    def n_kept(self, n_query: NDArray[np.int64]) -> NDArray[np.int64]:
        return np.full(len(n_query), self.k)

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

    def n_kept(self, n_query: NDArray[np.int64]) -> NDArray[np.int64]:
        return np.full(len(n_query), self.k)

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

    def n_kept(self, n_query: NDArray[np.int64]) -> NDArray[np.int64]:
        return np.maximum(1, np.ceil(self.share * n_query)).astype(np.int64)

    def up_words(self, words: Wording) -> str:
        return f"it is among the best {100 * self.share:.3g} % of its query"

    def low_words(self, words: Wording) -> str:
        return f"it is not among the best {100 * self.share:.3g} % of its query"

    def question(self, words: Wording) -> str:
        return f"among the best {100 * self.share:.3g} %?"


# -- gates that look at the rest of the chain ----------------------------------------------------------------


@register
@dataclass(frozen=True)
class Settled(Gate):
    """Rows whose class no later node can change go low (leave), others up.

    The engine computes what later nodes can add to each score, at least and at most, with a margin for
    rounding. A row that leaves has the class that it would have at the end of the chain, and at every node on
    the way there, so a budget cannot change its class either. Scores and probabilities are those so far.

    Parameters
    ----------
    known : int, default=1
        With 1, leaves that the row cannot reach, given the features that it has bought, do not count. With 0
        all leaves count: fewer rows leave, and the check takes no time that grows with the chain.
    """

    kind: ClassVar[str] = "settled"
    code: ClassVar[int] = 6
    whole_field: ClassVar[str | None] = "known"
    needs_rest: ClassVar[bool] = True
    known: int = 1

    def check(self) -> None:
        if self.known not in (0, 1):
            raise PlanError(f"a settled gate has known=0 or known=1, not {self.known}")

    def problem_in(self, n_scores: int, link: str) -> str | None:
        if not links.gives_numbers(link):
            return None
        return f"a settled gate, but link {link!r} gives numbers and not classes"

    def sends_up(self, values: NDArray[np.float64]) -> NDArray[np.bool_]:
        raise PlanError("a settled gate decides by the rest of the chain, which only a run of its plan knows")

    def up_words(self, words: Wording) -> str:
        return "later steps can still change the answer"

    def low_words(self, words: Wording) -> str:
        return "no later step can change the answer"

    def question(self, words: Wording) -> str:
        return "answer settled?"

    @property
    def up_label(self) -> str:
        return "not yet"

    @property
    def low_label(self) -> str:
        return "settled"


@register
@dataclass(frozen=True)
class SettledTop(ListwiseGate):
    """Documents that can no longer be among the `k` best of their query go low, others up.

    A document goes low if `k` documents of its query will have a higher score at the end, whatever later
    nodes add. The `k` best documents, their scores and their order are those at the end of the chain.

    Parameters
    ----------
    k : int, default=10
        The number of documents that matter.
    known : float, default=1
        With 1, leaves that the document cannot reach, given the features that it has bought, do not count.
        With 0 all leaves count.
    """

    kind: ClassVar[str] = "settled top"
    code: ClassVar[int] = 7
    real_field: ClassVar[str | None] = "known"
    whole_field: ClassVar[str | None] = "k"
    needs_rest: ClassVar[bool] = True
    k: int = 10
    known: float = 1

    def check(self) -> None:
        if self.k < 1 or self.known not in (0, 1):
            raise PlanError(f"a settled-top gate needs k >= 1, and known=0 or known=1, not {self}")

    def n_kept(self, n_query: NDArray[np.int64]) -> NDArray[np.int64]:
        return np.full(len(n_query), self.k)

    def up_words(self, words: Wording) -> str:
        return f"it can still be among the {self.k} best of its query"

    def low_words(self, words: Wording) -> str:
        return f"it can no longer be among the {self.k} best of its query"

    def question(self, words: Wording) -> str:
        return f"can be among the {self.k} best?"


def _what(words: Wording) -> str:
    """What a confidence gate compares: with a decision, classes count by the cost of their mistakes."""
    decision = words.plan.decision
    return "a probability" if decision is None or not decision.is_weighted else "a share of the expected cost"
