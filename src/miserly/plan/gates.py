"""Gates: how a node sends each row up, sends it low, or lets it leave.

*Up* is the way on, or the upper child in a tree of classifiers. *Low* is the other child. Where there is no
such child the row leaves, and the scores of the node are its answer.

A gate is one class. It holds its fields and their check, its number in files and compiled code, its rule in
NumPy and its words. To add a gate, write a class here, decorate it with `register`, and write its compiled
rule in `engine.compiled_gates`. Without a compiled rule, plans with the gate run in NumPy.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray

from miserly.errors import PlanError
from miserly.plan import links
from miserly.plan.show.phrases import number, ordinal

if TYPE_CHECKING:
    from miserly.plan.show.wording import Wording

__all__ = [
    "GATES",
    "Capacity",
    "Confidence",
    "Gate",
    "ListwiseGate",
    "Onward",
    "Proximity",
    "Rank",
    "Threshold",
    "gate_from_numbers",
    "register",
]

GATES: dict[str, type[Gate]] = {}  # by kind
_Class = TypeVar("_Class", bound="type[Gate]")


class Gate(ABC):
    """Base class of gates: a gate reads the scores of a node and decides where each row goes.

    Attributes
    ----------
    kind : str
        The name of the gate in messages.
    code : int
        The number of the gate in files and compiled code. Codes of gates in files never change.
    real_field, whole_field : str or None
        The field that files keep as a real number, and the field that they keep as a whole number.
    listwise : bool
        Whether the gate compares a document with the others of its query.
    decides : bool
        Whether rows may go both ways.
    """

    kind: ClassVar[str]
    code: ClassVar[int]
    real_field: ClassVar[str | None] = None
    whole_field: ClassVar[str | None] = None
    listwise: ClassVar[bool] = False
    decides: ClassVar[bool] = True

    # -- checks --------------------------------------------------------------------------------------

    @abstractmethod
    def check(self) -> None:
        """Raise `PlanError` if a field has no meaning."""

    def problem_in(self, n_scores: int, link: str) -> str | None:
        """Why the gate cannot work in such a plan, as the end of "node 3 has ..."; None if it can."""
        return None

    # -- files and tables ----------------------------------------------------------------------------

    def numbers(self) -> tuple[float, int]:
        """The fields as one real and one whole number, zero where there is no such field."""
        real = 0.0 if self.real_field is None else getattr(self, self.real_field)
        whole = 0 if self.whole_field is None else getattr(self, self.whole_field)
        if not 0 <= whole < 2**63 or whole != int(whole):
            raise PlanError(f"{self} needs a whole number from 0 to 2**63 as {self.whole_field}")
        return float(real), int(whole)

    @classmethod
    def from_numbers(cls, real: float, whole: int) -> Gate:
        """The gate whose `numbers` these are."""
        fields: dict[str, Any] = {}
        for name, value in ((cls.real_field, real), (cls.whole_field, whole)):
            if name is not None:
                fields[name] = value
            elif value != 0:
                raise PlanError(f"a gate of kind {cls.kind!r} carries numbers that it has no use for")
        return cls(**fields)

    # -- the rule ------------------------------------------------------------------------------------

    @abstractmethod
    def goes_up(self, scores: NDArray[np.float64], link: str, n_outputs: int) -> NDArray[np.bool_]:
        """Which rows go up, from their scores (n, n_scores); the first `n_outputs` are answers."""

    # -- words ---------------------------------------------------------------------------------------

    @abstractmethod
    def up_words(self, words: Wording) -> str:
        """When a row goes up, as the end of a sentence that begins with "if"."""

    @abstractmethod
    def low_words(self, words: Wording) -> str:
        """When a row goes low, as the end of a sentence that begins with "if"."""

    @abstractmethod
    def question(self, words: Wording) -> str:
        """What the gate asks, for a box in a drawing."""

    @property
    def up_label(self) -> str:
        """The way up in one or two words, for an arrow in a drawing."""
        return "yes"

    @property
    def low_label(self) -> str:
        """The way low in one or two words."""
        return "no"


class ListwiseGate(Gate):
    """Base class of gates that keep the best documents of each query; the others go low."""

    listwise: ClassVar[bool] = True

    @abstractmethod
    def n_kept(self, n_query: int) -> int:
        """How many documents stay of a query that began with `n_query` documents."""

    def leave_below(self, scores: NDArray[np.float64], n_query: int) -> float:
        """The score below which documents of a query go low.

        Documents with the same score as the last one kept are kept too, so that the order of the rows does
        not matter.

        Parameters
        ----------
        scores : array
            The scores of the documents of the query that have not left.
        n_query : int
            The number of documents that the query began with.
        """
        keep = self.n_kept(n_query)
        return -np.inf if keep > len(scores) else float(np.sort(scores)[len(scores) - keep])

    def goes_up(self, scores: NDArray[np.float64], link: str, n_outputs: int) -> NDArray[np.bool_]:
        """Which documents of one query go up, all of them being there."""
        return ~(scores[:, 0] < self.leave_below(scores[:, 0], len(scores)))


def register(gate: _Class) -> _Class:
    """Make a class of gates known to files, tables and drawings; used as a decorator.

    Raises
    ------
    PlanError
        If there is a gate with the same `kind` or `code`.
    """
    for other in GATES.values():
        if gate.kind == other.kind or gate.code == other.code:
            raise PlanError(f"gate {gate.kind!r} (code {gate.code}) exists: {other.__name__}")
    GATES[gate.kind] = gate
    return gate


def gate_from_numbers(code: int, real: float, whole: int) -> Gate:
    """The gate that a file keeps as these numbers."""
    for gate in GATES.values():
        if gate.code == code:
            return gate.from_numbers(real, whole)
    raise PlanError(f"there is no gate of code {code}")


@register
@dataclass(frozen=True)
class Onward(Gate):
    """All rows go up."""

    kind: ClassVar[str] = "onward"
    code: ClassVar[int] = 0
    decides: ClassVar[bool] = False

    def check(self) -> None:
        pass

    def goes_up(self, scores: NDArray[np.float64], link: str, n_outputs: int) -> NDArray[np.bool_]:
        return np.ones(len(scores), dtype=np.bool_)

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

    def goes_up(self, scores: NDArray[np.float64], link: str, n_outputs: int) -> NDArray[np.bool_]:
        return scores[:, self.channel] > self.value

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
        if links.has_probabilities(link):
            return None
        return f"a confidence gate, but link {link!r} has no probabilities"

    def goes_up(self, scores: NDArray[np.float64], link: str, n_outputs: int) -> NDArray[np.bool_]:
        return ~(links.confidence(link, scores[:, :n_outputs]) >= self.level)

    def up_words(self, words: Wording) -> str:
        return f"no class has a probability of {number(self.level)} or more yet"

    def low_words(self, words: Wording) -> str:
        return f"a class has a probability of at least {number(self.level)}"

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
        """As for other list-wise gates, less the slack."""
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
