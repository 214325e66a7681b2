"""And-or cascade: positives must satisfy every stage, negatives need to fail only one.

M. M. Dundar, J. Bi, Joint Optimization of Cascaded Classifiers for Computer Aided Detection, CVPR 2007, as
the Cronus paper compares with it. An example of the second class pays the loss of its worst stage, one of
the first the product of its losses over all stages (squared hinges), and `tradeoff` times the expected cost
is added, stages passing on with probability ``sigmoid(score)`` (`solvers.tiered`). Features are assigned to
stages by price, as in `soft_cascade`.
"""

from __future__ import annotations

from typing import Any

from numpy.typing import ArrayLike
from sklearn.base import _fit_context

from miserly.learners.cascades.tiered import TieredCascade
from miserly.learners.common.samples import Given
from miserly.solvers.tiered import and_or_loss

__all__ = ["AndOrCascadeClassifier"]


class AndOrCascadeClassifier(TieredCascade):
    """An and-or cascade of linear classifiers for two classes.

    Parameters
    ----------
    tradeoff : float, default=1e-4
        What one unit of expected cost must bring in mean loss: squared hinges, the worst of its stages for an
        example of the second class, their product for one of the first.
    costs, budget, mean_budget, tiers, positive_weight, miss, l2_regularization, ... :
        As for `SoftCascadeClassifier`.

    Examples
    --------
    >>> import numpy as np
    >>> from miserly.learners import AndOrCascadeClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(2000, 2))
    >>> y = (X[:, 0] > 1) & (X[:, 1] > 0)
    >>> model = AndOrCascadeClassifier(costs=[1, 20], tradeoff=1e-3, tiers=2).fit(X, y)
    >>> bool(model.run(X).cost.mean() < 15), model.score(X, y) > 0.9
    (True, True)
    """

    _row_loss = staticmethod(and_or_loss)

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(
        self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None, qid: ArrayLike | None = None
    ) -> AndOrCascadeClassifier:
        """Fit to two classes; rows that share a `qid` are set aside together."""
        self._fit(X, Given(y, sample_weight, qid))
        return self
