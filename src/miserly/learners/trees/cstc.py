"""CSTC: cost-sensitive trees of classifiers, whose nodes are all learned together.

Z. Xu, M. J. Kusner, K. Q. Weinberger, M. Chen, Cost-Sensitive Tree of Classifiers, ICML 2013; Z. Xu,
Supervised Machine Learning under Test-Time Resource Constraints, thesis, 2014, chapter 3. Every node is a
linear classifier over terms, and sends rows on by its score. The objective is in `solvers.soft_tree`. Where
the text leaves things open:

- gates have the steepness 10 / (deviation of the node's score), which stays as it was at initialisation;
- thresholds begin in the middle of the gap between distinct scores that is nearest the median;
- fine-tuning fits the answers of every node anew, over all terms its path has paid for: those of its
  ancestors cost nothing any more. Gates go on reading the scores they were made for;
- the set-up of a group is a block of its own, over all terms that touch the group;
- several classes share one tree. A node then has a score for each class, and its gate reads their first
  principal component. One tree per class would not be a tree: rows would walk through all of them, and on
  two sets that was less accurate at every tradeoff tried (benchmarks/cstc.py).
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import _fit_context
from sklearn.utils._param_validation import StrOptions

from miserly.learners.base import PlanClassifier, PlanRegressor
from miserly.learners.common.calibration import steepness_of
from miserly.learners.common.labels import encode_classes
from miserly.learners.common.samples import Given, Samples
from miserly.learners.trees.soft_tree_fit import Targets
from miserly.learners.trees.soft_trees import SoftTreeLearner
from miserly.losses import Loss, MeanSquared, Squared, log_loss
from miserly.solvers.soft_tree import TreeShape

__all__ = ["CSTCClassifier", "CSTCRegressor"]


class CSTCRegressor(PlanRegressor, SoftTreeLearner):
    """A tree of linear classifiers for numbers, or for the grades of documents, learned as a whole.

    Parameters
    ----------
    costs : Costs, array, mapping of name to cost, or None
        What features cost; 1 each by default.
    tradeoff : float, default=0.001
        The paper's lambda: what one unit of expected cost weighs against the mean squared error, without the
        factor 1/2 that other learners' mean loss has. Costs enter as norms of weights, so it is the price of
        a weight of 1 on a column of deviation 1, and not a threshold on what a feature must bring: the same
        value buys something else than in a Greedy Miser.
    budget : float, optional
        A cap: no row ever pays more. No way through the tree costs more, counting whole terms: a node weighs
        only terms that still fit, those first that contribute most to its score per price. Several
        tradeoffs from `tradeoff` up are tried, and the best on rows that are set aside is taken.
    mean_budget : float, optional
        What rows may cost on average. The smallest tradeoff from `tradeoff` up is found with which rows
        that are set aside cost no more; it is then in `tradeoff_`. May be given together with `budget`.
    max_depth : int, default=3
        Levels of nodes: 3 are a root, two children, four grandchildren.
    terms : {"linear", "boosted"}, default="linear"
        What classifiers weigh: features as they are (brought to one scale inside), or trees boosted first.
    n_terms : int, default=100
        The number of boosted trees, and `step` their step.
    term_tradeoff : "falling", float or None, default="falling"
        The tradeoff of boosted trees themselves, which are Greedy Miser's: it falls from `tradeoff` for the
        first to a hundredth of it for the last, so that cheap trees come first and dear ones build on them;
        or it is one for all. With None or 0 they are plain boosted trees, as in the thesis.
    step : float, default=0.1
    l1_regularization : float, default=0
        A further price on every weight, of every node (the paper's rho).
    prune : bool, default=True
        Whether nodes are taken away that do not help on rows that are set aside.
    optimise : bool, default=True
        Whether the nodes are optimised together. If not, the tree stays as it was initialised: each node by
        itself.
    max_sweeps : int, default=10
        How often each node is optimised, at most.
    early_stopping : bool or int, default=False
        Stop optimising after so many sweeps (3 for True) without getting better on rows that are set aside,
        and keep the best.
    validation_fraction : float, default=0.2
        How much is set aside, where pruning, early stopping or a budget needs it; whole queries if there
        are any.
    metric : str or Metric, optional
        What getting better means: by default the mean squared error, and ndcg@5 if `fit` is given queries.
    random_state : int, RandomState or None
    n_jobs : int, optional
        Threads for boosted terms; all by default. The model does not depend on it.
    verbose : int, default=0
        1 shows what the fit is at.

    Attributes
    ----------
    plan_ : Plan
        A binary tree.
    cost_ : float
        What the costliest way through the tree costs.
    tradeoff_ : float
        The tradeoff used.
    expected_cost_ : float
        What the rows that were set aside cost on average, if there are any.
    objective_ : array
        The objective before optimising, and after each node that was optimised. It never rises.

    Examples
    --------
    Two cheap features say which of four expensive ones knows the answer:

    >>> from miserly.datasets import make_quadrants
    >>> from miserly.learners import CSTCRegressor
    >>> data = make_quadrants(1000, random_state=0)
    >>> model = CSTCRegressor(costs=data.costs, tradeoff=0.05, random_state=0).fit(data.X, data.y)
    >>> print(f"{model.score(data.X, data.y):.3f} {model.run(data.X).cost.mean():.2f}")
    1.000 12.00
    """

    def __init__(
        self,
        *,
        costs: Any = None,
        tradeoff: float = 0.001,
        budget: float | None = None,
        mean_budget: float | None = None,
        max_depth: int = 3,
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
    ) -> CSTCRegressor:
        """Fit to numbers `y`; rows that share a `qid` are set aside together, and judged as a ranking."""
        self._fit(X, Given(y, sample_weight, qid))
        return self

    def _shape(self) -> TreeShape:
        return TreeShape.full(self.max_depth)

    def _targets(self, samples: Samples) -> Targets:
        deviation = np.sqrt(np.cov(samples.y, aweights=samples.weight, ddof=0))
        unit = float(deviation) if deviation > 0 else 1.0
        return Targets(samples.y[:, None], unit, np.ones(len(samples)), MeanSquared())

    def _evaluated_by(self, samples: Samples) -> tuple[str, Loss]:
        return ("mse" if samples.qid is None else "ndcg@5"), Squared()


class CSTCClassifier(PlanClassifier, SoftTreeLearner):
    """A tree of linear classifiers for two or more classes, learned as a whole.

    Parameters
    ----------
    loss : {"log_loss", "squared"}, default="log_loss"
        The logistic loss (the multinomial one for several classes), or the squared error to 1 and -1, which
        is faster. Either way there are probabilities.
    tradeoff : float, default=0.001
        What one unit of expected cost weighs against the mean log-loss, or with loss="squared" against the
        mean squared error to 1 and -1, without a factor 1/2, summed over classes. As for `CSTCRegressor`,
        costs enter as norms of weights.
    costs, budget, mean_budget, max_depth, terms, n_terms, ... :
        As for `CSTCRegressor`. The metric is accuracy by default.

    Examples
    --------
    >>> from miserly.datasets import load_heart
    >>> from miserly.learners import CSTCClassifier
    >>> heart = load_heart()
    >>> model = CSTCClassifier(costs=heart.costs, mean_budget=30, random_state=0).fit(heart.X, heart.y)
    >>> model.expected_cost_ <= 30, model.score(heart.X, heart.y) > 0.75
    (True, True)
    """

    _classes = True

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **SoftTreeLearner._parameter_constraints,
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
        max_depth: int = 3,
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
    ) -> CSTCClassifier:
        """Fit to classes `y`; rows that share a `qid` are set aside together."""
        self._fit(X, Given(y, sample_weight, qid))
        return self

    def _shape(self) -> TreeShape:
        return TreeShape.full(self.max_depth)

    def _encode(self, y: NDArray[Any]) -> NDArray[np.float64]:
        self.classes_, codes = encode_classes(y)
        return codes

    def _targets(self, samples: Samples) -> Targets:
        return class_targets(samples.y, len(self.classes_), self.loss)

    def _squared_targets(self, samples: Samples) -> NDArray[np.float64] | None:
        if self.loss == "log_loss":
            return None
        return class_targets(samples.y, len(self.classes_), self.loss).values

    def _evaluated_by(self, samples: Samples) -> tuple[str, Loss]:
        return "accuracy", log_loss(len(self.classes_))

    def _answers(self, scores: NDArray[np.float64], samples: Samples) -> float:
        if self.loss == "log_loss":
            return 1.0
        return steepness_of(scores, samples.y, samples.weight)


def class_targets(codes: NDArray[np.float64], n_classes: int, loss: str) -> Targets:
    """Classes as the loss takes them; 1 and -1 for "squared", in one column for two classes, else one each.

    >>> class_targets(np.array([0.0, 1.0]), 2, "squared").values.tolist()
    [[-1.0], [1.0]]
    """
    emphasis = np.ones(len(codes))
    if loss == "log_loss":
        return Targets(codes, 1.0, emphasis, log_loss(n_classes))
    hot = codes[:, None] if n_classes == 2 else codes[:, None] == np.arange(n_classes)
    return Targets(2.0 * hot - 1.0, 1.0, emphasis, MeanSquared(hot.shape[1]))
