"""What all gates share, and the register of gates."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray

from miserly.errors import PlanError

if TYPE_CHECKING:
    from miserly.plan.show.wording import Wording

__all__ = ["GATES", "Gate", "ListwiseGate", "gate_from_numbers", "register"]

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
    needs_rest : bool
        Whether the gate looks at what the rest of the chain can still add, and not at scores alone. Such a
        gate has a field `known`: whether to take into account the features that the row has bought.
    """

    kind: ClassVar[str]
    code: ClassVar[int]
    real_field: ClassVar[str | None] = None
    whole_field: ClassVar[str | None] = None
    listwise: ClassVar[bool] = False
    decides: ClassVar[bool] = True
    needs_rest: ClassVar[bool] = False

    # -- checks --------------------------------------------------------------------------------------

    @abstractmethod
    def check(self) -> None:
        """Raise `PlanError` if a field has no meaning."""

    def problem_in(self, n_scores: int, link: str) -> str | None:
        """Why the gate cannot work in a plan, as the end of "node 3 has ..."; None if it can.

        Parameters
        ----------
        n_scores : int
            The number of scores of the plan.
        link : str
            The link of the plan.

        Returns
        -------
        str or None
        """
        return None

    @property
    def looks_at_known(self) -> bool:
        """Whether the gate decides by what the row has bought, and not by scores alone."""
        return self.needs_rest and bool(getattr(self, "known", False))

    # -- files and tables ----------------------------------------------------------------------------

    def numbers(self) -> tuple[float, int]:
        """The fields as numbers for files and compiled code.

        Returns
        -------
        tuple of float and int
            The values of `real_field` and `whole_field`; zero where there is no such field.
        """
        real = 0.0 if self.real_field is None else getattr(self, self.real_field)
        whole = 0 if self.whole_field is None else getattr(self, self.whole_field)
        if not 0 <= whole < 2**63 or whole != int(whole):
            raise PlanError(f"{self} needs a whole number from 0 to 2**63 as {self.whole_field}")
        return float(real), int(whole)

    @classmethod
    def from_numbers(cls, real: float, whole: int) -> Gate:
        """The gate with these `numbers`.

        Parameters
        ----------
        real : float
            The value of `real_field`.
        whole : int
            The value of `whole_field`.

        Returns
        -------
        Gate
        """
        fields: dict[str, Any] = {}
        for name, value in ((cls.real_field, real), (cls.whole_field, whole)):
            if name is not None:
                fields[name] = value
            elif value != 0:
                raise PlanError(f"a gate of kind {cls.kind!r} has numbers that it does not use")
        return cls(**fields)

    # -- the rule ------------------------------------------------------------------------------------

    def values(self, scores: NDArray[np.float64], link: str, n_outputs: int) -> NDArray[np.float64]:
        """The number of each row that the gate decides by; the first score by default.

        Parameters
        ----------
        scores : array of (n, n_scores)
            The scores of the node for each row.
        link : str
            The link of the plan.
        n_outputs : int
            How many of the scores are answers.

        Returns
        -------
        array of (n,)
        """
        return scores[:, 0]

    @abstractmethod
    def sends_up(self, values: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Which rows go up, given their `values`.

        Parameters
        ----------
        values : array of (n,)
            The number of each row; of a list-wise gate, of each document of one query.

        Returns
        -------
        bool array of (n,)
        """

    def goes_up(self, scores: NDArray[np.float64], link: str, n_outputs: int) -> NDArray[np.bool_]:
        """Which rows go up, given their scores.

        Parameters
        ----------
        scores : array of (n, n_scores)
            The scores of the node for each row; of a list-wise gate, for each document of one query.
        link : str
            The link of the plan.
        n_outputs : int
            How many of the scores are answers.

        Returns
        -------
        bool array of (n,)
        """
        return self.sends_up(self.values(scores, link, n_outputs))

    def shifted(self, offset: NDArray[np.float64], scale: NDArray[np.float64]) -> Gate:
        """The gate that lets the same rows leave if all scores are multiplied by `scale`, plus `offset`.

        Parameters
        ----------
        offset : array of (n_scores,)
            What is added to each score.
        scale : array of (n_scores,)
            What each score is multiplied by before; above 0.

        Returns
        -------
        Gate
        """
        raise PlanError(f"a plan with a {self.kind} gate cannot be shifted: it would let other rows leave")

    # -- words ---------------------------------------------------------------------------------------

    @abstractmethod
    def up_words(self, words: Wording) -> str:
        """When a row goes up, as the end of a sentence that begins with "if".

        Parameters
        ----------
        words : Wording
            The words for the plan.

        Returns
        -------
        str
        """

    @abstractmethod
    def low_words(self, words: Wording) -> str:
        """When a row goes low, as the end of a sentence that begins with "if".

        Parameters
        ----------
        words : Wording
            The words for the plan.

        Returns
        -------
        str
        """

    @abstractmethod
    def question(self, words: Wording) -> str:
        """What the gate asks, for a box in a drawing.

        Parameters
        ----------
        words : Wording
            The words for the plan.

        Returns
        -------
        str
        """

    @property
    def up_label(self) -> str:
        """The way up in one or two words, for an arrow in a drawing."""
        return "yes"

    @property
    def low_label(self) -> str:
        """The way low in one or two words."""
        return "no"


class ListwiseGate(Gate):
    """Base class of gates that keep the best documents of each query; the others go low.

    Attributes
    ----------
    slack : float
        How far below the last one kept documents are kept too.
    """

    listwise: ClassVar[bool] = True
    slack: float = 0.0

    def shifted(self, offset: NDArray[np.float64], scale: NDArray[np.float64]) -> Gate:
        return self  # documents are compared with each other

    @abstractmethod
    def n_kept(self, n_query: NDArray[np.int64]) -> NDArray[np.int64]:
        """How many documents of each query go up.

        Parameters
        ----------
        n_query : int array of (n_queries,)
            The number of documents that each query began with.

        Returns
        -------
        int array of (n_queries,)
        """

    def cuts(
        self,
        values: NDArray[np.float64],
        query: NDArray[np.int64],
        n_query: NDArray[np.int64],
        rising: NDArray[np.int64],
    ) -> NDArray[np.float64]:
        """The value of each query below which its documents go low; -inf where all of them go up.

        Documents with the same value as the last one kept are kept too, so that the order of the rows does
        not matter.

        Parameters
        ----------
        values : array of (n,)
            The value of each document.
        query : int array of (n,)
            The query of each document, counted from 0.
        n_query : int array of (n_queries,)
            The number of documents that each query began with.
        rising : int array
            The documents that have not left, query by query, those of a query by rising value.

        Returns
        -------
        array of (n_queries,)
        """
        n_present = np.bincount(query[rising], minlength=len(n_query))
        keep = self.n_kept(n_query)
        enough = keep <= n_present
        found = np.full(len(n_query), -np.inf)
        found[enough] = values[rising[(np.cumsum(n_present) - keep)[enough]]]
        return found - self.slack

    def sends_up_of_queries(
        self,
        values: NDArray[np.float64],
        query: NDArray[np.int64],
        n_query: NDArray[np.int64],
        rising: NDArray[np.int64],
    ) -> NDArray[np.bool_]:
        """Which documents of several queries go up; the parameters are those of `cuts`.

        Parameters
        ----------
        values : array of (n,)
            The value of each document.
        query : int array of (n,)
            The query of each document, counted from 0.
        n_query : int array of (n_queries,)
            The number of documents that each query began with.
        rising : int array
            The documents that have not left, query by query, those of a query by rising value.

        Returns
        -------
        bool array of (n,)
        """
        return ~(values < self.cuts(values, query, n_query, rising)[query])

    def leave_below(self, values: NDArray[np.float64], n_query: int) -> float:
        """The value below which documents of one query go low.

        Parameters
        ----------
        values : array
            The values of the documents of the query that have not left.
        n_query : int
            The number of documents that the query began with.

        Returns
        -------
        float
        """
        query = np.zeros(len(values), dtype=np.int64)
        return float(self.cuts(values, query, np.array([n_query]), np.argsort(values))[0])

    def sends_up(self, values: NDArray[np.float64]) -> NDArray[np.bool_]:
        return ~(values < self.leave_below(values, len(values)))


def register(gate: _Class) -> _Class:
    """Make a class of gates known to files, tables and drawings; used as a decorator.

    Parameters
    ----------
    gate : subclass of Gate
        The class, with a `kind` and a `code` of its own.

    Returns
    -------
    subclass of Gate
        The same class.

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
    """The gate that a file keeps as these numbers.

    Parameters
    ----------
    code : int
        The code of its class.
    real : float
        The value of its `real_field`.
    whole : int
        The value of its `whole_field`.

    Returns
    -------
    Gate
    """
    for gate in GATES.values():
        if gate.code == code:
            return gate.from_numbers(real, whole)
    raise PlanError(f"there is no gate of code {code}")
