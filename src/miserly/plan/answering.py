"""From scores to answers: by the decision of a plan, or by its link."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from miserly.plan import links

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
