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
        """Why the term cannot work in such a plan, as the end of "term 3 ..."; None if it can."""
        if self.features.size and not (self.features.min() >= 0 and self.features.max() < n_features):
            return f"reads a feature that is not among {n_features}"
        return None

    def with_evaluation(self, evaluation: float) -> Self:
        """The same term with another evaluation cost."""
        return replace(self, evaluation=evaluation)  # type: ignore[type-var]

    # -- values --------------------------------------------------------------------------------------

    @abstractmethod
    def evaluate(self, X: NDArray[Any], rows: NDArray[np.int64]) -> NDArray[np.float64]:
        """The value for each of some rows of `X`, all features being there."""

    @abstractmethod
    def evaluate_one(self, known: Mapping[int, float]) -> float:
        """The value for one row, from the values of its features."""

    def reads(self, known: Mapping[int, float]) -> Iterator[int]:
        """The features that one row needs, one after the other.

        The value of each feature must be in `known` before the next one is asked for.
        """
        yield from self.features.tolist()

    def evaluate_paying(
        self, X: NDArray[Any], rows: NDArray[np.int64], buy: Buy
    ) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """For terms `by_path`: values, and which rows could pay for the features that they met.

        `buy` takes rows and the feature that each one needs now, and gives which could pay.
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
        """All terms of this class as one table of arrays for compiled code, and where each one starts."""
        return None, [0] * len(terms)

    # -- files ---------------------------------------------------------------------------------------

    @property
    def file_version(self) -> int:
        """The oldest version of a file that can hold the term."""
        return 1

    @classmethod
    @abstractmethod
    def pack(cls, terms: Sequence[Any], n_features: int) -> Arrays:
        """All terms of this class as the arrays of a file."""

    @classmethod
    @abstractmethod
    def unpack(cls, arrays: Arrays, evaluations: Sequence[float]) -> Sequence[Term]:
        """The terms of this class in a file, whose evaluation costs are given."""

    @classmethod
    @abstractmethod
    def check_arrays(cls, arrays: Arrays, sizes: Sizes) -> int:
        """Refuse arrays that do not fit each other; gives the number of terms in them."""

    # -- words ---------------------------------------------------------------------------------------

    @property
    def n_rules(self) -> int:
        """The number of cases that `rules` writes out; 0 where there are no rules."""
        return 0

    @abstractmethod
    def name_words(self, place: int, words: Wording) -> str:
        """The name of the term, the `place`-th (from 1) of a sum."""

    @classmethod
    @abstractmethod
    def sum_words(cls, terms: Sequence[Any], words: Wording) -> str:
        """Many terms of this class in one phrase: "3 trees over age and sex"."""

    def alone_words(self, words: Wording) -> str | None:
        """The term as the whole of a sum, if there is a shorter phrase for that."""
        return None

    def rules(self, weight: float, words: Wording) -> list[str]:
        """The term written out as rules, times `weight`, one line each."""
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
