"""ASTC: trees of classifiers, grown greedily from the root.

M. J. Kusner, W. Chen, Q. Zhou, Z. Xu, K. Q. Weinberger, Y. Chen, Feature-Cost Sensitive Learning with
Submodular Trees of Classifiers, AAAI 2014. Every node is a linear classifier over terms. It has for nothing
what its ancestors have paid, and adds terms by

    (drop of the squared error of least squares) / (price of the term now)

(eq. 7) until its own budget, the paper's B^k, is spent. Rows whose score is above the threshold, the paper's
theta^k, go to the upper child, the others to the lower one; about half go each way. Algorithm 1 of the paper
compares p_i^k with theta^k, and the score x_i . beta^k is meant; the budget must hold *after* a term is
added.

What the paper leaves open is settled as follows. The threshold is the middle of that gap between different
scores that is nearest the median, as the median itself may be the score of many rows. A term that no longer
fits is passed over. A term must take away four times as much of the squared error left as a column of noise
would (a boosted tree so much for each of its leaves but one): without that, nodes with few rows fit noise,
above all with the many terms that are free. Of twice, four and eight times as much none was best throughout
(three to six splits, three budgets): on ann_thyroid, page_blocks, magic and dna they were within half a point
of accuracy, twice was two points worse on heart_cleveland, eight times one on optdigits. A child starts from
its parent's classifier and fits what that leaves over, so that it is no worse where it has too few rows to
say more. Prices know groups and evaluations, and terms may be boosted trees, none of which adds features for
more than a node may spend.

With several classes each has a score (least squares on 1 and -1) and drops are summed; rows are divided along
the first principal component of the mean scores of the answers: in the direction that tells them apart. On
letter, dna, covertype and optdigits (three splits each that were not looked at before, three budgets) that
was 0.4 to 2.1 points more accurate than the first principal component of the scores, on ann_thyroid the same
and on page_blocks 0.2 less. The score of the most frequent answer, and that which varies most, were 1 to 6
points worse on letter and optdigits and 1.4 better on covertype.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import _fit_context

from miserly.learners.base import PlanClassifier, PlanRegressor, as_columns
from miserly.learners.common.calibration import steepness_of
from miserly.learners.common.labels import encode_classes
from miserly.learners.common.samples import Given, Samples
from miserly.learners.trees.astc_base import ASTC
from miserly.losses import Loss, Squared, log_loss
from miserly.plan import Plan

__all__ = ["ASTCClassifier", "ASTCRegressor"]

Floats: TypeAlias = NDArray[np.float64]


class ASTCRegressor(PlanRegressor, ASTC):
    """A tree of linear classifiers for numbers, or for the grades of documents.

    Parameters
    ----------
    costs : Costs, array, mapping of name to cost, or None
        What features cost; 1 each by default.
    node_budget : float, or one for each node, optional
        What a node may spend on features (and terms) that its ancestors have not paid. One number for all
        nodes, or ``2**max_depth - 1`` numbers: the root, its upper child, its lower child, the children of
        the upper child, ... No limit by default.
    budget : float, optional
        A cap: no row ever pays more, as no way through the tree costs more. Without a `node_budget`, several
        ways to divide it are tried (how much of it a node may spend), and that of the least error on rows
        that are set aside is taken.
    mean_budget : float, optional
        What rows may cost on average, as judged by rows that are set aside. Several ways to divide it are
        tried (how much of it a node may spend; whether it also limits each way through the tree), and that
        of the least error on those rows is taken. May be given together with `budget`, not with
        `node_budget`.
    tradeoff : float, default=0
        What one unit of cost must bring: a node buys a term of price `c` only if that lowers the mean loss of
        its rows (half the squared error) by more than ``tradeoff * c``. Boosted terms are grown with it too.
    max_depth : int, default=5
        Levels of nodes: 3 are a root, two children, four grandchildren.
    min_samples_leaf : int, default=20
        Nodes with fewer rows are not made.
    soft : bool, default=False
        Whether a row helps to train both children, with weights that say how far from the threshold it is.
    terms : {"linear", "boosted"}, default="linear"
        What classifiers weigh: features as they are (brought to one scale inside), or trees boosted first.
    n_terms : int, default=100
        The number of boosted trees, and `step` their step.
    step : float, default=0.1
    validation_fraction : float, default=0.1
        How much is set aside to divide a `budget` or `mean_budget`; whole queries where there are queries.
    random_state : int, RandomState or None
    n_jobs : int, optional
        Threads; all by default. The model does not depend on it.
    verbose : int, default=0
        1 shows what the fit is at.

    Attributes
    ----------
    plan_ : Plan
        A binary tree.
    cost_ : float
        What the costliest way through the tree costs.
    node_budget_ : array
        What each node was allowed to spend; with a `budget`, as long as its ancestors had left so much.
    expected_cost_ : float
        What the rows that were set aside cost on average, if there are any.

    Examples
    --------
    Two cheap features tell which of four expensive ones says everything:

    >>> from miserly.datasets import make_quadrants
    >>> from miserly.learners import ASTCRegressor
    >>> train, test = make_quadrants(1000, random_state=0), make_quadrants(1000, random_state=1)
    >>> model = ASTCRegressor(costs=train.costs, max_depth=3, node_budget=[2, 0, 0, 10, 10, 10, 10])
    >>> run = model.fit(train.X, train.y).run(test.X)
    >>> run.cost.mean(), round(model.score(test.X, test.y), 3)
    (np.float64(12.0), 1.0)
    """

    _numeric_target = True
    _link = "identity"
    _loss = Squared()

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(
        self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None, qid: ArrayLike | None = None
    ) -> ASTCRegressor:
        """Fit to numbers `y`; rows that share a `qid` are set aside together."""
        self._fit(X, Given(y, sample_weight, qid))
        return self

    def _unit(self, samples: Samples) -> tuple[float, float]:
        mean = float(np.average(samples.y, weights=samples.weight))
        deviation = float(np.sqrt(np.average((samples.y - mean) ** 2, weights=samples.weight)))
        return mean, deviation if deviation > 0.0 else 1.0

    def _targets(self, y: Floats, unit: tuple[float, float]) -> Floats:
        return ((y - unit[0]) / unit[1])[:, None]

    def _scale(self, plan: Plan, samples: Samples, unit: tuple[float, float]) -> tuple[float, float]:
        return unit


class ASTCClassifier(PlanClassifier, ASTC):
    """A tree of linear classifiers for two or more classes, which share what is bought.

    Classifiers are fitted by least squares to 1 and -1; one factor for all scores, chosen by the log-loss of
    the training rows, makes probabilities of them and changes no label.

    Parameters
    ----------
    tradeoff : float, default=0
        What one unit of cost must bring in mean loss: half the squared error to 1 and -1, summed over
        classes.
    costs, node_budget, budget, mean_budget, max_depth, min_samples_leaf, soft, terms, ... :
        As for `ASTCRegressor`.

    Examples
    --------
    >>> from miserly.datasets import load_heart
    >>> from miserly.learners import ASTCClassifier
    >>> heart = load_heart()
    >>> model = ASTCClassifier(costs=heart.costs, max_depth=3, node_budget=5).fit(heart.X, heart.y)
    >>> model.cost_ <= 15, model.score(heart.X, heart.y) > 0.75
    (True, True)
    """

    _numeric_target = False

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(
        self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None, qid: ArrayLike | None = None
    ) -> ASTCClassifier:
        """Fit to classes `y`; rows that share a `qid` are set aside together."""
        self._fit(X, Given(y, sample_weight, qid))
        return self

    def _encode(self, y: NDArray[Any]) -> NDArray[np.float64]:
        self.classes_, codes = encode_classes(y)
        return codes

    def _targets(self, y: Floats, unit: tuple[float, float]) -> Floats:
        if len(self.classes_) == 2:
            return (2.0 * y - 1.0)[:, None]
        return np.where(y[:, None] == np.arange(len(self.classes_)), 1.0, -1.0)

    def _scale(self, plan: Plan, samples: Samples, unit: tuple[float, float]) -> tuple[float, float]:
        scores = plan.run(samples.X, n_threads=self._threads, account=False, encoded=True).scores
        return 0.0, steepness_of(as_columns(scores), samples.y, samples.weight)

    @property
    def _loss(self) -> Loss:  # type: ignore[override]
        return log_loss(len(self.classes_))

    @property
    def _link(self) -> str:  # type: ignore[override]
        return self._loss.link
