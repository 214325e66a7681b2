"""From scores to answers: by the decision of a plan, or by its link."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from miserly.costs import OutcomeCosts, OutcomeTable, read_outcomes
from miserly.costs.amounts import AmountCells
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

    @property
    def amount_columns(self) -> tuple[int, ...]:
        """The columns whose values are amounts that mistakes cost. They are acquired before anything else."""
        return () if self._plan.decision is None else self._plan.decision.columns

    def labels_from(
        self,
        scores: NDArray[np.float64],
        classes: NDArray[Any] | None = None,
        amounts: NDArray[np.float64] | None = None,
    ) -> NDArray[Any]:
        """Answers from scores: by the decision of the plan if it has one, else by its link.

        Parameters
        ----------
        scores : array of (n, n_outputs)
            Scores before the link.
        classes : array of (n_classes,), optional
            Labels to answer with instead of the plan's own.
        amounts : array of (n, n_columns), optional
            The values of `amount_columns` that rows have acquired, as `run` gives them. By default none is
            known, and the decision takes the mean amounts of the classes.

        Returns
        -------
        array of (n,) or (n, n_outputs)
            Numbers, entries of the classes, or actions of the decision.
        """
        plan, known = self._plan, self._plan.classes if classes is None else classes
        if plan.decision is None:
            return links.labels(plan.link, scores, known)
        return plan.decision.labels(links.probabilities(plan.link, scores), known, amounts)

    def with_outcome_costs(self, outcome_costs: Any) -> Plan:
        """A copy that answers with the class or action of least expected cost. Nothing is trained.

        Parameters
        ----------
        outcome_costs : OutcomeCosts, mapping, matrix or None
            What each outcome costs, as for `miserly.OutcomeCosts`; None for the most probable class. Costs
            may be in columns that are features of the plan, with a typical amount of each. Arrays of amounts
            need rows: give them to the `fit` of a learner.

        Returns
        -------
        Plan
            The same scores, purchases and probabilities, with other answers. Gates stay as they are.

        Raises
        ------
        PlanError
            If the plan has no class probabilities.
        CostError
            If the costs do not suit the classes, name a column that the plan does not have, or are arrays
            with an amount for each row.

        Examples
        --------
        >>> from miserly import Costs, OutcomeCosts, Plan
        >>> from miserly.plan import Node, Raw
        >>> node = Node([0], [0], [1.0], [0.0])
        >>> plan = Plan(costs=Costs([1.0]), terms=[Raw(0)], nodes=[node], base=[0.0], link="logistic")
        >>> careful = plan.with_outcome_costs([[0, 1], [20, 0]])
        >>> plan.predict([[-2.0]]).tolist(), careful.predict([[-2.0]]).tolist()
        ([0], [1])

        A mistake may cost the amount of a row:

        >>> priced = Plan(costs=Costs({"sign": 1.0, "amount": 0.0}), terms=[Raw(0)], nodes=[node],
        ...               base=[0.0], link="logistic")
        >>> costs = OutcomeCosts({(1, 0): "amount", (0, 1): 15}, typical={"amount": 100})
        >>> priced.with_outcome_costs(costs).predict([[-2.0, 900.0], [-2.0, 20.0]]).tolist()
        [1, 0]
        """
        plan = self._plan
        old = plan.decision
        if outcome_costs is None and (old is None or not old.is_weighted):
            return plan.replace(decision=None)
        if not plan.has_probabilities:
            raise PlanError("costs of outcomes need class probabilities, which this plan does not have")
        classes = np.arange(max(2, plan.n_outputs)) if plan.classes is None else plan.classes
        given = 1.0 - np.eye(len(classes)) if outcome_costs is None else outcome_costs
        if not isinstance(given, OutcomeTable):
            given = (given if isinstance(given, OutcomeCosts) else OutcomeCosts(given)).at_typical()
        table = read_outcomes(given, classes)
        if table.n_rows is not None:
            raise CostError(
                f"costs of {table.n_rows} rows cannot decide about other rows: give them to fit with X and y"
            )
        weights = None if old is None else old.weights  # of training: they are taken back
        return plan.replace(decision=Decision(table.table[0], table.actions, weights, self._amounts(table)))

    def _amounts(self, table: OutcomeTable) -> AmountCells | None:
        """The costs of a table that are in columns, by the columns of the plan."""
        if table.amounts is None:
            return None
        names = self._plan.costs.names
        for name in table.names:
            if names is None or name not in names:
                raise CostError(f"outcome costs name the column {name!r}, which is no feature of the plan")
        return table.amounts.moved({i: self._plan.costs.index(name) for i, name in enumerate(table.names)})

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
