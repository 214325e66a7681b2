"""What a plan computes from features, once for each row."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from miserly.errors import PlanError
from miserly.plan.store.container import Arrays, Schema

if TYPE_CHECKING:
    from miserly.plan.show.wording import Wording

__all__ = ["TERMS", "Buy", "Sizes", "Term", "register"]

Buy: TypeAlias = Callable[[NDArray[np.int64], NDArray[np.int64]], NDArray[np.bool_]]
Sizes: TypeAlias = Mapping[str | int, int]  # dimensions of the arrays of a file, by name

TERMS: dict[str, type[Term]] = {}  # by kind, in the order of their codes
_Class = TypeVar("_Class", bound="type[Term]")


class Term(ABC):
    """Base class of terms: a value computed from features, at most once for each row.

    Attributes
    ----------
    kind : str
        The name of the term in messages.
    code : int
        The number of the term in files and compiled code. Codes of terms in files never change.
    by_path : bool
        Whether the values of features decide which features are read next, as in a tree.
    schemas : mapping of int to Schema
        The arrays of such terms in a file, by the version of the file that brought them.
    evaluation : float
        What evaluating the term costs, once its features are there.
    """

    kind: ClassVar[str]
    code: ClassVar[int]
    by_path: ClassVar[bool] = False
    schemas: ClassVar[Mapping[int, Schema]]
    evaluation: float

    @property
    @abstractmethod
    def features(self) -> NDArray[np.int64]:
        """The columns that some row may need, rising."""

    @property
    def reading_order(self) -> list[int]:
        """The features in the order in which they are first read."""
        return self.features.tolist()

    def problem_in(self, n_features: int) -> str | None:
        """Why the term cannot work in a plan, as the end of "term 3 ..."; None if it can.

        Parameters
        ----------
        n_features : int
            The number of input columns of the plan.

        Returns
        -------
        str or None
        """
        if self.features.size and not (self.features.min() >= 0 and self.features.max() < n_features):
            return f"reads a feature that is not among {n_features}"
        return None

    def with_evaluation(self, evaluation: float) -> Self:
        """The same term with another evaluation cost.

        Parameters
        ----------
        evaluation : float
            The new cost.

        Returns
        -------
        Term
        """
        return replace(self, evaluation=evaluation)  # type: ignore[type-var]

    # -- values --------------------------------------------------------------------------------------

    @abstractmethod
    def evaluate(self, X: NDArray[Any], rows: NDArray[np.int64]) -> NDArray[np.float64]:
        """The value for some rows whose features are all there.

        Parameters
        ----------
        X : array of (n, n_features)
            Encoded rows.
        rows : int array
            The rows to evaluate.

        Returns
        -------
        float array of the length of `rows`
        """

    @abstractmethod
    def evaluate_one(self, known: Mapping[int, float]) -> float:
        """The value for one row.

        Parameters
        ----------
        known : mapping of int to float
            The values of the features that the row needs, by column.

        Returns
        -------
        float
        """

    @property
    def bounds(self) -> tuple[float, float]:
        """The smallest and the largest value that any row can have; infinite where there is none."""
        return -np.inf, np.inf

    def reachable(
        self, X: NDArray[Any], rows: NDArray[np.int64], known: NDArray[np.bool_]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The smallest and the largest value that rows can have, given what is known of them.

        Parameters
        ----------
        X : array of (n, n_features)
            Encoded rows.
        rows : int array
            The rows to look at.
        known : bool array of (len(rows), n_features)
            The features that are known of each of them. No other value is read.

        Returns
        -------
        low, high : float arrays of the length of `rows`
            By default `bounds`.
        """
        low, high = self.bounds
        return np.full(len(rows), low), np.full(len(rows), high)

    def reads(self, known: Mapping[int, float]) -> Iterator[int]:
        """The features that one row needs, one after the other.

        Parameters
        ----------
        known : mapping of int to float
            Values by column. The value of each feature must be there before the next one is asked for.

        Yields
        ------
        int
            A column.
        """
        yield from self.features.tolist()

    def evaluate_paying(
        self, X: NDArray[Any], rows: NDArray[np.int64], buy: Buy
    ) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """For terms `by_path`: the value for some rows that pay for each feature they meet.

        Parameters
        ----------
        X : array of (n, n_features)
            Encoded rows.
        rows : int array
            The rows to evaluate.
        buy : callable
            Takes rows and the feature that each one needs now, gives which rows could pay.

        Returns
        -------
        tuple of float array and bool array
            The values, and which rows could pay for all they met.
        """
        raise NotImplementedError(f"{self.kind} terms read the same features for every row")

    # -- tables --------------------------------------------------------------------------------------

    @property
    def depth(self) -> int:
        """The longest walk through the term, in steps."""
        return 0

    @property
    def plain(self) -> bool:
        """Whether the term is a tree without categorical splits."""
        return False

    @property
    def table_fill(self) -> float:
        """The value in place of a missing one, where it is one number."""
        return 0.0

    @classmethod
    def lay_out(cls, terms: Sequence[Any], n_features: int) -> tuple[Any, list[int]]:
        """All terms of this class as one table of arrays for compiled code.

        Parameters
        ----------
        terms : sequence of Term
            Terms of this class.
        n_features : int
            The number of input columns of the plan.

        Returns
        -------
        tuple of NamedTuple and list of int
            The table (None if there is none), and the place of each term in it.
        """
        return None, [0] * len(terms)

    # -- files ---------------------------------------------------------------------------------------

    @property
    def file_version(self) -> int:
        """The oldest version of a file that can hold the term."""
        return 1

    @classmethod
    @abstractmethod
    def pack(cls, terms: Sequence[Any], n_features: int) -> Arrays:
        """All terms of this class as the arrays of a file.

        Parameters
        ----------
        terms : sequence of Term
            Terms of this class.
        n_features : int
            The number of input columns of the plan.

        Returns
        -------
        dict of str to array
            The arrays that `schemas` names.
        """

    @classmethod
    @abstractmethod
    def unpack(cls, arrays: Arrays, evaluations: Sequence[float]) -> Sequence[Term]:
        """The terms of this class in a file.

        Parameters
        ----------
        arrays : dict of str to array
            The arrays of the file.
        evaluations : sequence of float
            The evaluation cost of each of the terms.

        Returns
        -------
        sequence of Term
        """

    @classmethod
    @abstractmethod
    def check_arrays(cls, arrays: Arrays, sizes: Sizes) -> int:
        """Refuse arrays that do not fit each other.

        Parameters
        ----------
        arrays : dict of str to array
            The arrays of a file.
        sizes : mapping
            The sizes of their dimensions, by name.

        Returns
        -------
        int
            The number of terms in the arrays.

        Raises
        ------
        PlanFormatError
            If they do not fit.
        """

    # -- words ---------------------------------------------------------------------------------------

    @property
    def n_rules(self) -> int:
        """The number of cases that `rules` writes out; 0 where there are no rules."""
        return 0

    @abstractmethod
    def name_words(self, place: int, words: Wording) -> str:
        """The name of the term in a sum.

        Parameters
        ----------
        place : int
            Its place in the sum, from 1.
        words : Wording
            The words for the plan.

        Returns
        -------
        str
        """

    @classmethod
    @abstractmethod
    def sum_words(cls, terms: Sequence[Any], words: Wording) -> str:
        """Many terms of this class in one phrase: "3 trees over age and sex".

        Parameters
        ----------
        terms : sequence of Term
            Terms of this class.
        words : Wording
            The words for the plan.

        Returns
        -------
        str
        """

    def alone_words(self, words: Wording) -> str | None:
        """The term as the whole of a sum, if there is a shorter phrase for that.

        Parameters
        ----------
        words : Wording
            The words for the plan.

        Returns
        -------
        str or None
        """
        return None

    def rules(self, weight: float, words: Wording) -> list[str]:
        """The term written out as rules.

        Parameters
        ----------
        weight : float
            Values are multiplied by it.
        words : Wording
            The words for the plan.

        Returns
        -------
        list of str
            One rule per line.
        """
        return []


def register(term: _Class) -> _Class:
    """Make a class of terms known to files and tables; used as a decorator."""
    for other in TERMS.values():
        if term.kind == other.kind or term.code == other.code:
            raise PlanError(f"term {term.kind!r} (code {term.code}) exists: {other.__name__}")
    everything: list[type[Term]] = [*TERMS.values(), term]
    known = sorted(everything, key=lambda one: one.code)
    TERMS.clear()
    TERMS.update({one.kind: one for one in known})
    return term
