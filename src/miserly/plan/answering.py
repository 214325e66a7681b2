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
