"""Decisions: the answer of least expected cost, from class probabilities and the costs of outcomes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from miserly.costs.outcome_table import expected_costs
from miserly.errors import PlanError
from miserly.plan.show.phrases import listing, number

if TYPE_CHECKING:
    from miserly.plan.show.wording import Wording

__all__ = ["Decision"]

Floats: TypeAlias = NDArray[np.float64]

_KEYS = ("actions", "costs", "weights")
_MOST_COST = 1e100  # sums of products with probabilities are finite up to here
_MOST_SHOWN = 4  # classes up to which descriptions list all costs


@dataclass(frozen=True, eq=False)
class Decision:
    """Answers with the class or action of least expected cost.

    The expected cost of answer `a` is ``sum_k p_k costs[k, a]``, where ``p_k`` is the probability of class
    `k`. The first of equals is taken.

    Parameters
    ----------
    costs : array of (n_classes, n_answers)
        What each answer costs, by the actual class. Answers are the classes, then the actions.
    actions : sequence of str, default=()
        Answers that are no classes, such as "refer".
    weights : array of (n_classes,), optional
        How much rows of each class counted in training. The link then gives the probabilities of a
        distribution in which class `k` is ``weights[k]`` times as frequent, and these are divided by the
        weights. All classes counted the same by default.

    Examples
    --------
    A missed case costs 100, a false alarm 10, and asking an expert 6:

    >>> decision = Decision([[0, 10, 6], [100, 0, 6]], actions=["expert"])
    >>> chances = np.array([[0.99, 0.01], [0.8, 0.2], [0.1, 0.9]])
    >>> decision.codes(chances).tolist(), decision.expected(chances).min(axis=1).round(2).tolist()
    ([0, 2, 1], [1.0, 6.0, 1.0])
    """

    costs: Floats
    actions: tuple[str, ...] = ()
    weights: Floats | None = None

    def __post_init__(self) -> None:
        costs = np.array(self.costs, dtype=np.float64)
        if costs.ndim != 2 or not len(costs) >= 2:
            raise PlanError(f"a decision needs a matrix of costs with a line per class, not {costs.shape}")
        weights = np.ones(len(costs)) if self.weights is None else np.array(self.weights, dtype=np.float64)
        actions = tuple(self.actions)
        if costs.shape[1] != len(costs) + len(actions) or weights.shape != (len(costs),):
            raise PlanError(
                f"a decision among {len(costs)} classes and {len(actions)} actions needs as many columns of "
                f"costs and one weight per class, not {costs.shape[1]} and {weights.shape}"
            )
        if not ((costs >= 0.0) & (costs <= _MOST_COST)).all():
            raise PlanError(f"the costs of a decision must be numbers from 0 to {_MOST_COST:g}")
        if not ((weights > 0.0) & np.isfinite(weights)).all():
            raise PlanError("the weights of a decision must be finite and above 0")
        if not all(isinstance(name, str) and name for name in actions) or len({*actions}) < len(actions):
            raise PlanError("the actions of a decision must be different texts")
        put = object.__setattr__
        put(self, "costs", costs)
        put(self, "actions", actions)
        put(self, "weights", weights / weights.max())

    @property
    def n_classes(self) -> int:
        """The number of classes."""
        return len(self.costs)

    @property
    def is_weighted(self) -> bool:
        """Whether some class counts more than another in the probabilities of the link."""
        assert self.weights is not None
        return bool((self.weights != 1.0).any())

    def check(self, n_labels: int, classes: NDArray[Any] | None, has_probabilities: bool) -> None:
        """Raise `PlanError` if a plan cannot decide by it.

        Parameters
        ----------
        n_labels : int
            The number of classes of the plan.
        classes : array of (n_classes,) or None
            The classes.
        has_probabilities : bool
            Whether the link gives probabilities.
        """
        if not has_probabilities:
            raise PlanError("a decision by expected costs needs a link with class probabilities")
        if self.n_classes != n_labels:
            raise PlanError(f"a decision among {self.n_classes} classes in a plan of {n_labels}")
        for label in [] if classes is None else classes.tolist():
            if str(label) in self.actions:
                raise PlanError(f"{label!r} is a class, so no action can have that name")

    # -- deciding ------------------------------------------------------------------------------------

    def probabilities(self, linked: Floats) -> Floats:
        """Class probabilities of the rows, however classes were weighted in training.

        Parameters
        ----------
        linked : array of (n, n_classes)
            Probabilities that the link gives.

        Returns
        -------
        array of (n, n_classes)
            Probabilities.
        """
        assert self.weights is not None
        if not self.is_weighted:
            return linked
        parts = linked / self.weights
        total = np.zeros(len(parts))
        for k in range(parts.shape[1]):
            total += parts[:, k]
        return np.asarray(parts / total[:, None])

    def expected(self, linked: Floats) -> Floats:
        """The expected cost of each answer.

        Parameters
        ----------
        linked : array of (n, n_classes)
            Probabilities that the link gives.

        Returns
        -------
        array of (n, n_answers)
            Costs, in the unit of the plan.
        """
        return expected_costs(self.probabilities(linked), self.costs[None])

    def codes(self, linked: Floats) -> NDArray[np.int64]:
        """The answers as numbers.

        Parameters
        ----------
        linked : array of (n, n_classes)
            Probabilities that the link gives.

        Returns
        -------
        array of (n,)
            Numbers of classes, then of actions.
        """
        return self.expected(linked).argmin(axis=1)

    def labels(self, linked: Floats, classes: NDArray[Any] | None) -> NDArray[Any]:
        """The answers.

        Parameters
        ----------
        linked : array of (n, n_classes)
            Probabilities that the link gives.
        classes : array of (n_classes,) or None
            The classes; their numbers by default.

        Returns
        -------
        array of (n,)
            Classes and actions.
        """
        codes = self.codes(linked)
        known = np.arange(self.n_classes) if classes is None else classes
        if not self.actions:
            return known[codes]
        if known.dtype.kind in "UT":
            return np.array([*known.tolist(), *self.actions])[codes]
        answers = np.empty(self.costs.shape[1], dtype=object)
        answers[:] = [*known.tolist(), *self.actions]
        return answers[codes]

    # -- files and words -----------------------------------------------------------------------------

    def record(self) -> dict[str, Any]:
        """Plain values for a file.

        Returns
        -------
        dict
            What `from_record` takes.
        """
        assert self.weights is not None
        return {"actions": list(self.actions), "costs": self.costs.tolist(), "weights": self.weights.tolist()}

    @classmethod
    def from_record(cls, record: Any) -> Decision:
        """The decision of a record.

        Parameters
        ----------
        record : mapping
            Plain values, maybe of a damaged file.

        Returns
        -------
        Decision
            The decision; `PlanError` if the record is none.
        """
        if not isinstance(record, Mapping) or sorted(record) != list(_KEYS):
            raise PlanError(f"a decision must hold {', '.join(_KEYS)}, and nothing else")
        actions, costs, weights = (record[key] for key in _KEYS)
        lines = [*costs, weights] if isinstance(costs, list) else [None]
        for line in lines:
            if not isinstance(line, list) or any(type(one) not in (int, float) for one in line):
                raise PlanError("the costs and weights of a decision must be lists of numbers")
        if not isinstance(actions, list) or len({len(line) for line in costs}) != 1:
            raise PlanError("a decision needs a list of actions, and lines of costs of one length")
        return cls(np.array(costs, dtype=np.float64), tuple(actions), np.array(weights, dtype=np.float64))

    def words(self, words: Wording) -> str:
        """How the answer is decided, in sentences.

        Parameters
        ----------
        words : Wording
            The words of the plan.

        Returns
        -------
        str
            One sentence or two.
        """
        names = [words.label(k) for k in range(self.n_classes)] + [f'"{name}"' for name in self.actions]
        text = "The answer is the one of least expected cost"
        if self.actions:
            text += f"; {listing(names[self.n_classes :])} is an answer that is no class"
        if self.n_classes > _MOST_SHOWN:
            return f"{text}."
        unit = f" {words.unit}" if words.unit else ""
        parts = [
            f"{names[a]} costs {number(float(self.costs[k, a]))}{unit} where {names[k]} is true"
            for k in range(self.n_classes)
            for a in range(len(names))
            if self.costs[k, a] > 0.0
        ]
        return f"{text}: {listing(parts)}." if parts else f"{text}."
