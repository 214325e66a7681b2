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
above all with the many terms that are free. Prices know groups and evaluations, and terms may be boosted
trees, none of which adds features for more than a node may spend. With several classes
each has a score (least squares on 1 and -1) and drops are summed; rows are divided along the first principal
component of the node's scores, which on letter, optdigits, dna and cifar10 did better than the score of the
most frequent class or the score that varies most (letter: accuracy 0.65 against 0.59 and 0.60); on covertype
the latter did better.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import _fit_context
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions

from miserly._frames import Table
from miserly.costs import Costs, fits
from miserly.errors import CostError
from miserly.learners._astc import TreeGrower, path_budget
from miserly.learners._base import PlanClassifier, PlanPredictor, PlanRegressor, as_columns, bind_costs
from miserly.learners._calibration import steepness_of
from miserly.learners._classifier_tree import ClassifierTree, build_plan
from miserly.learners._miser import categorical_columns
from miserly.learners._samples import Given, Samples, set_aside
from miserly.learners._terms import BoostedTerms, LinearTerms, Terms
from miserly.learners.cost_lasso import _encode_classes, _refuse_text
from miserly.learners.losses import Logistic, Loss, Multinomial, Squared
from miserly.plan import Plan
from miserly.plan.batch import run as run_plan
from miserly.solvers.gram import CodedColumns, Columns, DenseColumns
from miserly.solvers.greedy import Market

__all__ = ["ASTCClassifier", "ASTCRegressor"]

Floats: TypeAlias = NDArray[np.float64]

_ONE_OR_MORE = Interval(Integral, 1, None, closed="left")

EXACT = 1 << 21  # values: up to as many columns are in float64, beyond in float32
TERM_DEPTH = 4  # of boosted terms; a split less for several classes, as in Greedy Miser
PARTS = (1.0, 1.5, 2.0, 3.0)  # of which a node may spend one, where a budget is to be divided
HALVINGS = 6


class _ASTC(PlanPredictor):
    """What both share; subclasses say how labels are read and what they are fitted as."""

    node_budget_: NDArray[np.float64]
    expected_cost_: float
    budget_is_expected: ClassVar[bool] = True
    _numeric_target: ClassVar[bool]

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "costs": [None, Costs, Mapping, "array-like"],
        "node_budget": [Interval(Real, 0, None, closed="both"), "array-like", None],
        "budget": [Interval(Real, 0, None, closed="both"), None],
        "tradeoff": [Interval(Real, 0, None, closed="left")],
        "max_depth": [Interval(Integral, 1, 12, closed="both")],
        "min_samples_leaf": [_ONE_OR_MORE],
        "soft": ["boolean"],
        "terms": [StrOptions({"linear", "boosted"})],
        "n_terms": [_ONE_OR_MORE],
        "step": [Interval(Real, 0, None, closed="neither")],
        "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
        "random_state": ["random_state"],
        "n_jobs": [_ONE_OR_MORE, Interval(Integral, None, -1, closed="right"), None],
    }

    def __init__(
        self,
        *,
        costs: Any = None,
        node_budget: Any = None,
        budget: float | None = None,
        tradeoff: float = 0.0,
        max_depth: int = 5,
        min_samples_leaf: int = 20,
        soft: bool = False,
        terms: str = "linear",
        n_terms: int = 100,
        step: float = 0.1,
        validation_fraction: float = 0.1,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.costs = costs
        self.node_budget = node_budget
        self.budget = budget
        self.tradeoff = tradeoff
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.soft = soft
        self.terms = terms
        self.n_terms = n_terms
        self.step = step
        self.validation_fraction = validation_fraction
        self.random_state = random_state
        self.n_jobs = n_jobs

    # -- what subclasses say -------------------------------------------------------------------------

    _link: str
    _loss: Loss  # that boosted terms lower

    def _encode(self, y: NDArray[Any]) -> NDArray[np.float64]:
        """Labels as numbers, codes for classes."""
        raise NotImplementedError

    def _unit(self, samples: Samples) -> tuple[float, float]:
        """What targets are measured from, and in units of what."""
        return 0.0, 1.0

    def _targets(self, y: Floats, unit: tuple[float, float]) -> Floats:
        """What least squares is fitted to, (n, C)."""
        raise NotImplementedError

    def _scale(self, plan: Plan, samples: Samples, unit: tuple[float, float]) -> tuple[float, float]:
        """How the scores of a plan become answers: plus an offset, times a factor."""
        raise NotImplementedError

    def _plan_classes(self) -> NDArray[Any] | None:
        return None

    # -- fitting -------------------------------------------------------------------------------------

    def _fit(self, X: Any, given: Given) -> None:
        table = self._read(X, reset=True)
        if self.terms == "linear":
            _refuse_text(table)
        costs = bind_costs(self.costs, self.n_features_in_ if table.names is None else table.names)
        samples = given.checked(table.values, self, self._numeric_target).without_zero_weights()
        samples = replace(samples, y=self._encode(samples.y)).with_mean_weight_one()
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        unit = self._unit(samples)
        judging = None
        if self.budget is not None:
            classes = None if self._numeric_target else samples.y
            samples, judging = set_aside(samples, self.validation_fraction, seed, classes)
        least, most = self._node_budgets()
        terms = self._fit_terms(samples, table, costs, seed, float(least.max()), path_budget(most))
        grow = self._grower(
            samples, self._targets(samples.y, unit), terms, costs, self.tradeoff / unit[1] ** 2
        )
        if judging is None:
            self.node_budget_, tree = least, grow(least, np.inf)
        else:
            aims = self._targets(judging.y, unit)
            tree = self._search(grow, lambda tree: _judge(tree, terms, costs, judging, aims))
        self._keep(tree, terms, costs, samples, unit)

    @property
    def _n_threads(self) -> int:
        return self._threads or os.cpu_count() or 1

    def _node_budgets(self) -> tuple[Floats, Floats]:
        """The least and the most that nodes may spend: what is given, or what a budget might come to.

        If each of the nodes on a path spends its share of the budget at most, no row can pass it.
        """
        n_nodes = 2**self.max_depth - 1
        if self.budget is not None:
            if self.node_budget is not None:
                raise CostError("give node_budget or budget, not both")
            return np.full(n_nodes, self.budget / self.max_depth), np.full(n_nodes, float(self.budget))
        given = np.asarray(np.inf if self.node_budget is None else self.node_budget, dtype=np.float64)
        if given.ndim and given.shape != (n_nodes,):
            raise CostError(
                f"node_budget is one number, or one for each of the {n_nodes} nodes of {self.max_depth} "
                f"levels (the root, its upper and lower child, ...); its shape is {given.shape}"
            )
        if not (given >= 0.0).all():
            raise CostError(f"node_budget must be 0 or more, not {given.min():g}")
        budgets = np.broadcast_to(given, (n_nodes,))
        return budgets, budgets

    def _fit_terms(
        self, samples: Samples, table: Table, costs: Costs, seed: int, max_price: float, reach: float
    ) -> Terms:
        """The terms that some row might be able to pay for; dearer ones need not be looked at."""
        nothing = np.zeros(len(costs), dtype=np.bool_)
        if self.terms == "linear":
            payable = np.flatnonzero(_fit_in(costs.marginals(nothing), reach))
            return LinearTerms.fit(samples, costs, payable, self._n_threads)
        boosted = BoostedTerms.fit(
            samples,
            self._loss,
            costs,
            n_terms=self.n_terms,
            max_depth=TERM_DEPTH - (self._loss.n_scores > 1),
            step=self.step,
            tradeoff=self.tradeoff,
            min_samples_leaf=self.min_samples_leaf,
            max_price=max_price,
            categorical=categorical_columns("from_dtype", table, self.n_features_in_),
            seed=seed,
            n_threads=self._threads,
        )
        return boosted.take(_fit_in(boosted.prices(costs, nothing), reach))

    def _grower(
        self, samples: Samples, targets: Floats, terms: Terms, costs: Costs, tradeoff: float
    ) -> Callable[[Floats, float], ClassifierTree]:
        """What grows a tree for the budgets of its nodes and paths; the Gram of all rows is made once."""
        grower = TreeGrower(
            columns=_columns(terms, samples.X, self._n_threads),
            targets=targets,
            weight=samples.weight,
            max_depth=self.max_depth,
            min_rows=self.min_samples_leaf,
            freedom=terms.freedom,
            soft=bool(self.soft),
            n_threads=self._n_threads,
        )
        market = Market.of(terms.uses, terms.evaluation, costs)
        return lambda budgets, path: grower.grow(market, budgets, path, tradeoff)

    def _search(
        self,
        grow: Callable[[Floats, float], ClassifierTree],
        judge: Callable[[ClassifierTree], tuple[float, float]],
    ) -> ClassifierTree:
        """The tree of the least error on rows set aside among those whose cost there is within the budget.

        Nodes may spend some part of the budget each and all of it along a path; or as much as they can, the
        same for all nodes and whatever that comes to along a path, which is found by halving.
        """
        assert self.budget is not None
        n_nodes = 2**self.max_depth - 1
        best, least_error = None, np.inf

        def attempt(node_budget: float, path: float) -> bool:
            nonlocal best, least_error
            budgets = np.full(n_nodes, node_budget)
            tree = grow(budgets, path)
            cost, error = judge(tree)
            inside = fits(0.0, cost, self.budget)  # type: ignore[arg-type]
            if inside and error < least_error:
                best, least_error = tree, error
                self.node_budget_, self.expected_cost_ = budgets, cost
            return inside

        for parts in sorted({*PARTS, float(self.max_depth)}):
            attempt(self.budget / parts, self.budget)
        low, high = 1.0 / self.max_depth, 1.0
        for _ in range(HALVINGS):
            middle = 0.5 * (low + high)
            low, high = (middle, high) if attempt(middle * self.budget, np.inf) else (low, middle)
        assert best is not None
        return best

    def _keep(
        self, tree: ClassifierTree, terms: Terms, costs: Costs, samples: Samples, unit: tuple[float, float]
    ) -> None:
        mean = np.average(self._targets(samples.y, unit), axis=0, weights=samples.weight)
        offset, factor = self._scale(build_plan(tree, terms, costs, base=mean), samples, unit)
        self.plan_ = build_plan(
            tree.rescaled(factor, offset),
            terms,
            costs,
            link=self._link,
            base=factor * mean + offset,
            classes=self._plan_classes(),
            info={"learner": type(self).__name__},
            categories=self._categories,
        )


def _columns(terms: Terms, X: NDArray[Any], n_threads: int) -> Columns:
    """Ready columns: small ones in float64; large ones in float32, or as leaf codes."""
    dtype = np.float64 if len(X) * terms.n_terms <= EXACT else np.float32
    if isinstance(terms, BoostedTerms):
        return CodedColumns(terms.codes(X, n_threads), terms.decoder.astype(dtype))
    assert isinstance(terms, LinearTerms)
    return DenseColumns(terms.values(X, dtype, n_threads))


def _judge(
    tree: ClassifierTree, terms: Terms, costs: Costs, rows: Samples, aims: Floats
) -> tuple[float, float]:
    """What rows cost on average, and their mean squared error."""
    run = build_plan(tree, terms, costs).run(rows.X)
    error = ((as_columns(run.scores) - aims) ** 2).sum(axis=1)
    return float(np.average(run.cost, weights=rows.weight)), float(np.average(error, weights=rows.weight))


def _fit_in(prices: Floats, budget: float) -> NDArray[np.bool_]:
    return np.array([fits(0.0, price, budget) for price in prices], dtype=np.bool_)


class ASTCRegressor(PlanRegressor, _ASTC):
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
        What a row may cost on average, as judged by rows that are set aside. Several ways to divide it are
        tried (how much of it a node may spend; whether it also limits each way through the tree), and that
        of the least error on those rows is taken.
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
        How much is set aside if there is a `budget`; whole queries where there are queries.
    random_state : int, RandomState or None
    n_jobs : int, optional
        Threads; all by default. The model does not depend on it.

    Attributes
    ----------
    plan_ : Plan
        A binary tree.
    cost_ : float
        What the costliest way through the tree costs.
    node_budget_ : array
        What each node was allowed to spend; with a `budget`, as long as its ancestors had left so much.
    expected_cost_ : float
        What the rows that were set aside cost on average, if there was a `budget`.

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

    def _encode(self, y: NDArray[Any]) -> NDArray[np.float64]:
        return y

    def _unit(self, samples: Samples) -> tuple[float, float]:
        mean = float(np.average(samples.y, weights=samples.weight))
        deviation = float(np.sqrt(np.average((samples.y - mean) ** 2, weights=samples.weight)))
        return mean, deviation if deviation > 0.0 else 1.0

    def _targets(self, y: Floats, unit: tuple[float, float]) -> Floats:
        return ((y - unit[0]) / unit[1])[:, None]

    def _scale(self, plan: Plan, samples: Samples, unit: tuple[float, float]) -> tuple[float, float]:
        return unit


class ASTCClassifier(PlanClassifier, _ASTC):
    """A tree of linear classifiers for two or more classes, which share what is bought.

    Classifiers are fitted by least squares to 1 and -1; one factor for all scores, chosen by the log-loss of
    the training rows, makes probabilities of them and changes no label.

    Parameters
    ----------
    costs, node_budget, budget, tradeoff, max_depth, min_samples_leaf, soft, terms, n_terms, ... :
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
        self.classes_, codes = _encode_classes(y)
        return codes

    def _targets(self, y: Floats, unit: tuple[float, float]) -> Floats:
        if len(self.classes_) == 2:
            return (2.0 * y - 1.0)[:, None]
        return np.where(y[:, None] == np.arange(len(self.classes_)), 1.0, -1.0)

    def _scale(self, plan: Plan, samples: Samples, unit: tuple[float, float]) -> tuple[float, float]:
        scores = run_plan(plan, samples.X, n_threads=self._threads, account=False).scores
        return 0.0, steepness_of(as_columns(scores), samples.y, samples.weight)

    @property
    def _loss(self) -> Loss:  # type: ignore[override]
        return Logistic() if len(self.classes_) == 2 else Multinomial(len(self.classes_))

    @property
    def _link(self) -> str:  # type: ignore[override]
        return self._loss.link

    def _plan_classes(self) -> NDArray[Any]:
        return np.array(self.classes_.tolist())  # text as text, not as objects
