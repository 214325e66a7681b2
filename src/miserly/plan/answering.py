"""From scores to answers: by the decision of a plan, or by its link."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from miserly.costs import read_outcomes
from miserly.errors import CostError, PlanError
from miserly.plan import links
from miserly.plan.decisions import Decision

if TYPE_CHECKING:
    from miserly.plan.plan import Plan

__all__ = ["Answering"]


class Answering:
    """The part of `Plan` that turns scores into answers."""

    @property
    def _plan(self) -> Plan:
        return cast("Plan", self)

    def labels_from(self, scores: NDArray[np.float64], classes: NDArray[Any] | None = None) -> NDArray[Any]:
        """Answers from scores: by the decision of the plan if it has one, else by its link.

        Parameters
        ----------
        scores : array of (n, n_outputs)
            Scores before the link.
        classes : array of (n_classes,), optional
            Labels to answer with instead of the plan's own.

        Returns
        -------
        array of (n,) or (n, n_outputs)
            Numbers, entries of the classes, or actions of the decision.
        """
        plan, known = self._plan, self._plan.classes if classes is None else classes
        if plan.decision is None:
            return links.labels(plan.link, scores, known)
        return plan.decision.labels(links.probabilities(plan.link, scores), known)

    def with_outcome_costs(self, outcome_costs: Any) -> Plan:
        """A copy that answers with the class or action of least expected cost. Nothing is trained.

        Parameters
        ----------
        outcome_costs : OutcomeCosts, mapping, matrix or None
            What each outcome costs, as for `miserly.OutcomeCosts`; None for the most probable class. Amounts
            per row need rows: give them to the `fit` of a learner.

        Returns
        -------
        Plan
            The same scores, purchases and probabilities, with other answers. Gates stay as they are.

        Raises
        ------
        PlanError
            If the plan has no class probabilities.
        CostError
            If the costs do not suit the classes, or differ from row to row.

        Examples
        --------
        >>> from miserly import Costs, Plan
        >>> from miserly.plan import Node, Raw
        >>> node = Node([0], [0], [1.0], [0.0])
        >>> plan = Plan(costs=Costs([1.0]), terms=[Raw(0)], nodes=[node], base=[0.0], link="logistic")
        >>> careful = plan.with_outcome_costs([[0, 1], [20, 0]])
        >>> plan.predict([[-2.0]]).tolist(), careful.predict([[-2.0]]).tolist()
        ([0], [1])
        """
        plan = self._plan
        old = plan.decision
        if outcome_costs is None and (old is None or not old.is_weighted):
            return plan.replace(decision=None)
        if not plan.has_probabilities:
            raise PlanError("costs of outcomes need class probabilities, which this plan does not have")
        classes = np.arange(max(2, plan.n_outputs)) if plan.classes is None else plan.classes
        given = 1.0 - np.eye(len(classes)) if outcome_costs is None else outcome_costs
        table = read_outcomes(given, classes)
        if table.n_rows is not None:
            raise CostError(
                f"costs of {table.n_rows} rows cannot decide about other rows: give them to fit with X and y"
            )
        weights = None if old is None else old.weights  # of training: they are taken back
        return plan.replace(decision=Decision(table.table[0], table.actions, weights))

    def chance_of(self, answer: Any, chances: Any) -> float | None:
        """The probability that an answer is right.

        Parameters
        ----------
        answer : object
            A class, or an action of the decision.
        chances : array of (n_classes,) or None
            The class probabilities.

        Returns
        -------
        float or None
            That of the class; None for an action, and without probabilities.
        """
        plan = self._plan
        if chances is None:
            return None
        if plan.decision is None:
            return float(max(chances))
        known = list(range(len(chances))) if plan.classes is None else plan.classes.tolist()
        return float(chances[known.index(answer)]) if answer in known else None

    def probabilities_from(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Class probabilities from scores, for links that have them.

        Parameters
        ----------
        scores : array of (n, n_outputs)
            Scores before the link.

        Returns
        -------
        array of (n, n_classes)
            One column per class. They are those of the rows, however classes were weighted in training.
        """
        linked = links.probabilities(self._plan.link, scores)
        return linked if self._plan.decision is None else self._plan.decision.probabilities(linked)
