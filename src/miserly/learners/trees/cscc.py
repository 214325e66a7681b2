"""CSCC: cost-sensitive cascades of classifiers, for problems with few positives.

Z. Xu, Supervised Machine Learning under Test-Time Resource Constraints, thesis, 2014, section 3.5: CSTC
with one node per level. Rows whose score is at most a node's threshold leave there, as negatives for the
most part; the others go on to the next one, and the last node answers for all that remain. The loss of a
row at a node counts by its probability of *leaving* there, and classes may have weights (in the loss, not
in the costs). Everything else is as in `cstc`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import _fit_context
from sklearn.utils import compute_class_weight
from sklearn.utils._param_validation import StrOptions

from miserly.learners.common.calibration import steepness_of
from miserly.learners.common.cascade import CascadeClassifier
from miserly.learners.common.samples import Given, Samples
from miserly.learners.trees.cstc import class_targets
from miserly.learners.trees.soft_tree_fit import Targets
from miserly.learners.trees.soft_trees import SoftTreeLearner
from miserly.losses import Logistic, Loss
from miserly.solvers.soft_tree import TreeShape

__all__ = ["CSCCClassifier"]


class CSCCClassifier(CascadeClassifier, SoftTreeLearner):
    """A cascade of linear classifiers for two classes, learned as a whole.

    Parameters
    ----------
    class_weight : mapping of class to weight, "balanced", or None
        How much the loss of each class counts; "balanced" makes both count the same in all. The accuracy by
        which nodes are pruned, optimising is stopped early and a tradeoff is chosen is weighed in the same
        way, unless a `metric` is given.
    max_depth : int, default=4
        The number of classifiers.
    loss : {"log_loss", "squared"}, default="log_loss"
    tradeoff : float, default=0.001
        What one unit of expected cost weighs against the mean log-loss, class weights included, or with
        loss="squared" against the mean squared error to 1 and -1, without a factor 1/2. As for
        `CSTCRegressor`, costs enter as norms of weights.
    costs, budget, mean_budget, terms, n_terms, ... :
        As for `CSTCClassifier`. With queries, a metric such as "precision@5" looks at each of them.

    Attributes
    ----------
    plan_ : Plan
        A chain; whoever scores low leaves.
    cost_, tradeoff_, expected_cost_, objective_ :
        As for `CSTCClassifier`.

    Examples
    --------
    >>> import numpy as np
    >>> from miserly.learners import CSCCClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(2000, 2))
    >>> y = (X[:, 0] > 1) & (X[:, 1] > 0)
    >>> model = CSCCClassifier(costs=[1, 20], tradeoff=0.002, random_state=0).fit(X, y)
    >>> run = model.run(X)
    >>> bool(run.cost.mean() < 10.0), model.cost_
    (True, 21.0)
    """

    _classes = True
    _on_exit = True

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **SoftTreeLearner._parameter_constraints,
        "class_weight": [StrOptions({"balanced"}), Mapping, None],
        "loss": [StrOptions({"log_loss", "squared"})],
    }

    def __init__(
        self,
        *,
        costs: Any = None,
        tradeoff: float = 0.001,
        budget: float | None = None,
        mean_budget: float | None = None,
        loss: str = "log_loss",
        class_weight: Any = None,
        max_depth: int = 4,
        terms: str = "linear",
        n_terms: int = 100,
        term_tradeoff: float | str | None = "falling",
        step: float = 0.1,
        l1_regularization: float = 0.0,
        prune: bool = True,
        optimise: bool = True,
        max_sweeps: int = 10,
        early_stopping: bool | int = False,
        validation_fraction: float = 0.2,
        metric: Any = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.costs = costs
        self.tradeoff = tradeoff
        self.budget = budget
        self.mean_budget = mean_budget
        self.loss = loss
        self.class_weight = class_weight
        self.max_depth = max_depth
        self.terms = terms
        self.n_terms = n_terms
        self.term_tradeoff = term_tradeoff
        self.step = step
        self.l1_regularization = l1_regularization
        self.prune = prune
        self.optimise = optimise
        self.max_sweeps = max_sweeps
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.metric = metric
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(
        self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None, qid: ArrayLike | None = None
    ) -> CSCCClassifier:
        """Fit to two classes; rows that share a `qid` are set aside together."""
        self._fit(X, Given(y, sample_weight, qid))
        return self

    def _shape(self) -> TreeShape:
        return TreeShape.chain(self.max_depth)

    def _targets(self, samples: Samples) -> Targets:
        targets, weight = class_targets(samples.y, 2, self.loss), self._class_weights(samples)
        return targets if weight is None else replace(targets, emphasis=weight[samples.y.astype(np.int64)])

    def _class_weights(self, samples: Samples) -> NDArray[np.float64] | None:
        if self.class_weight is None:
            return None
        labels = self.classes_[samples.y.astype(np.int64)]
        return np.asarray(compute_class_weight(self.class_weight, classes=self.classes_, y=labels))

    def _squared_targets(self, samples: Samples) -> NDArray[np.float64] | None:
        return None if self.loss == "log_loss" else class_targets(samples.y, 2, self.loss).values

    def _evaluated_by(self, samples: Samples) -> tuple[str, Loss]:
        return "accuracy", Logistic()

    def _answers(self, scores: NDArray[np.float64], samples: Samples) -> float:
        if self.loss == "log_loss":
            return 1.0
        return steepness_of(scores, samples.y, samples.weight)
