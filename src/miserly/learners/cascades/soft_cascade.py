"""Soft cascade: stages with features assigned by price, trained together by their joint likelihood.

V. C. Raykar, B. Krishnapuram, S. Yu, Designing Efficient Cascaded Classifiers: Tradeoff between Accuracy
and Cost, KDD 2010, as the Cronus paper compares with it. An example is of the second class if all stages
say so, with probability ``prod_k sigmoid(w_k . x + b_k)``; the negative log-likelihood, a ridge and
`tradeoff` times the expected cost are minimised (`solvers.tiered`). A stage may use the features of its
tier of prices and all cheaper ones, and pays for the whole tier. Stages that are not worth their price are
left out, the last ones first.

The score of a stage is what its gate reads, and says only what earlier stages left open: documents of
`make_ranking` ranked by the last stage alone had a precision@5 of 0.15 to 0.21, by the product of all stages
0.24. A plan adds up terms and knows no products, so the answer of a stage is a logistic regression of its
own on all features paid so far, fitted to the examples that come to it: 0.22 to 0.23.
"""

from __future__ import annotations

from typing import Any

from numpy.typing import ArrayLike
from sklearn.base import _fit_context

from miserly.learners.cascades.tiered import TieredCascade
from miserly.learners.common.samples import Given
from miserly.solvers.tiered import soft_cascade_loss

__all__ = ["SoftCascadeClassifier"]


class SoftCascadeClassifier(TieredCascade):
    """A soft cascade of linear classifiers for two classes.

    Parameters
    ----------
    costs : Costs, array, mapping of name to cost, or None
        What features cost; 1 each by default.
    tradeoff : float, default=1e-4
        What one unit of expected cost must bring in mean loss, the negative log-likelihood of an example.
    budget : float, optional
        A cap: no example ever pays more. Features that together cost no more are chosen by greedy least
        squares before they are assigned to stages. Several tradeoffs from `tradeoff` up are tried, and the
        one of the least log-loss on rows set aside is taken.
    mean_budget : float, optional
        What an example may cost on average: the smallest tradeoff from `tradeoff` up is taken that keeps to
        it on rows set aside. May be given together with `budget`.
    tiers : int or list of prices, default=4
        How features are assigned to stages: the upper bounds of the tiers, in the unit of the costs, or a
        number of tiers with about as many features each (where prices are the same, those that go most with
        the label first). Features dearer than the last bound are not used.
    positive_weight : float, default=1
        How much the loss of the second class counts.
    miss : float, default=0.02
        The share of the second class still there that a stage may lose: an example leaves if its score is not
        above 0, nor above that of this share of the second class.
    l2_regularization : float, default=0.001
    validation_fraction : float, default=0.2
        How much is set aside for a `budget` or `mean_budget`.
    random_state : int, RandomState or None
    verbose : int, default=0
        1 shows what the fit is at.

    Attributes
    ----------
    plan_ : Plan
        A chain; whoever scores low leaves, with the answer of the last stage it came to.
    tradeoff_ : float
        The tradeoff used.
    expected_cost_ : float
        What rows set aside pay on average, if there are any.

    Examples
    --------
    >>> import numpy as np
    >>> from miserly.learners import SoftCascadeClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(2000, 2))
    >>> y = (X[:, 0] > 1) & (X[:, 1] > 0)
    >>> model = SoftCascadeClassifier(costs=[1, 20], tradeoff=1e-3, tiers=2).fit(X, y)
    >>> bool(model.run(X).cost.mean() < 12), model.score(X, y) > 0.95
    (True, True)
    """

    _row_loss = staticmethod(soft_cascade_loss)

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(
        self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None, qid: ArrayLike | None = None
    ) -> SoftCascadeClassifier:
        """Fit to two classes; rows that share a `qid` are set aside together."""
        self._fit(X, Given(y, sample_weight, qid))
        return self
