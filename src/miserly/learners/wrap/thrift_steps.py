"""`thrift`: an additive model made cheaper without fitting it again, and what each step saved."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import is_classifier, is_regressor
from sklearn.frozen import FrozenEstimator

from miserly.data.target import check_queries, check_target
from miserly.errors import DataError
from miserly.learners.base import PlanEstimator, as_columns, bind_costs
from miserly.learners.base.arguments import class_codes
from miserly.learners.common.training import measure
from miserly.learners.common.tree_order import order_of_terms
from miserly.learners.wrap.adopt import adopt
from miserly.learners.wrap.early_exit import EarlyExit
from miserly.learners.wrap.exits import StagedScores, has_own_amounts, lossless_exits
from miserly.learners.wrap.sure_exits import sure_threshold, values_of_units
from miserly.metrics import Metric, Queries, get_metric
from miserly.plan import LEAVE, Plan, links
from miserly.plan.additive import exact_sums, is_additive, merge_trees, sum_of, summands_of
from miserly.plan.engine.batch import Run
from miserly.plan.engine.ranking import ranked
from miserly.utils.checks import shown

__all__ = ["Thrift", "ThriftStep", "thrift"]

N_EXITS = 50  # if `every` is not given


@dataclass(frozen=True)
class ThriftStep:
    """What a model costs and answers after one step.

    Attributes
    ----------
    name : str
        What was done.
    cost : float
        Mean price of a row.
    trees : float
        Mean number of terms that a row evaluates.
    changed : int
        Number of rows whose answer differs from that of the model as it was; of a ranking, number of queries
        whose list of the `k` best differs.
    metric : float
        The metric.
    """

    name: str
    cost: float
    trees: float
    changed: int
    metric: float


@dataclass(frozen=True, eq=False)
class Thrift:
    """A model made cheaper, and what each step saved. Printing it shows the steps as a table.

    Attributes
    ----------
    estimator : estimator
        Fitted, with the last plan as `plan_`.
    steps : tuple of ThriftStep
        The model as it was, then one entry for each step.
    plans : tuple of Plan
        The plan after each step.
    metric : str
        The name of the metric.
    unit : str
        The unit of the costs.
    """

    estimator: Any
    steps: tuple[ThriftStep, ...]
    plans: tuple[Plan, ...]
    metric: str
    unit: str = ""

    @property
    def plan(self) -> Plan:
        """The plan after the last step."""
        return self.plans[-1]

    def __str__(self) -> str:
        price = f"price ({self.unit})" if self.unit else "price"
        head = ("step", price, "saved", "trees", "changed", self.metric)
        full = self.steps[0].cost
        rows = [
            (
                step.name,
                f"{step.cost:.2f}",
                f"{100.0 * (1.0 - step.cost / full) if full else 0.0:.1f} %",
                f"{step.trees:.1f}",
                str(step.changed),
                f"{step.metric:.4f}",
            )
            for step in self.steps
        ]
        wide = [max(len(row[i]) for row in (head, *rows)) for i in range(len(head))]
        return "\n".join(
            "  ".join(
                cell.ljust(w) if i == 0 else cell.rjust(w)
                for i, (cell, w) in enumerate(zip(row, wide, strict=True))
            )
            for row in (head, *rows)
        )


def thrift(
    model: Any,
    X: Any,
    y: ArrayLike,
    qid: ArrayLike | None = None,
    *,
    costs: Any = None,
    tolerance: float = 0.0,
    confidence: float | None = 0.95,
    k: int = 5,
    every: int | None = None,
    metric: Any = None,
    random_state: int = 0,
) -> Thrift:
    """Make a fitted additive model cheaper to run, without fitting it again.

    The steps are: merge trees with the same splits; evaluate the trees that contribute most per cost first;
    let rows leave once nothing can change their answer. None of them changes a class or the `k` best
    documents of a query. With a `tolerance`, rows that are sure enough leave as well.

    Parameters
    ----------
    model : estimator, booster, str or Path
        A fitted learner of miserly whose plan is a sum, such as `GreedyMiserClassifier`, or anything that
        `adopt` reads, such as a LightGBM model.
    X : array or frame of (n, n_features)
        Rows to choose the order by and to measure costs on. The model should not have been fitted to them.
    y : array of (n,)
        Their labels. They are used for the metric and for the `tolerance` alone.
    qid : array of (n,), optional
        Query of each row, for rankings.
    costs : Costs, array, mapping of name to cost or None, default=None
        Costs of the features. By default those of the plan, or 1 for each.
    tolerance : float, default=0.0
        By how much the metric may be worse on new rows. With 0 no answer changes.
    confidence : float or None, default=0.95
        The probability that it is not worse by more than the `tolerance`, at least. More rows (or queries)
        allow more exits. With None the metric on the given rows decides, and on new rows it may be worse.
    k : int, default=5
        Number of best documents of a query that must not change.
    every : int or None, default=None
        Number of trees between two exits. By default there are about 50 exits.
    metric : str, Metric or None, default=None
        By default "accuracy" for classifiers, "total_cost" for those that decide by the costs of outcomes,
        "ndcg@5" for rankings and "mse" for regressors.
    random_state : int, default=0
        Random seed of the rows that decide the order, if there are very many.

    Returns
    -------
    Thrift
        With `estimator`, `plan` and `steps`.

    Raises
    ------
    DataError
        If the plan of the model is not a sum of terms.

    Notes
    -----
    Sums of floating point numbers depend on their order in the last bits. The leaves are therefore rounded
    first, by less than ``2 ** -52`` of the largest score, such that no sum is rounded (see
    `miserly.plan.additive.exact_sums`). From then on all plans of a step give the same bits for rows that
    stay to the end.

    The exits look at the leaves that later trees can still reach, given what a row has bought. This walks
    those trees. It is done where features cost something and evaluating trees is free. Where evaluations have
    a cost, the exits count all leaves.

    Probabilities and the scores of rows that leave are those so far. Where the model decides by the costs of
    outcomes, rows leave once no tree can change the answer of least expected cost. Numbers of a regressor are
    never settled, so only their order of evaluation changes.

    Examples
    --------
    >>> import numpy as np
    >>> from miserly import GreedyMiserClassifier, thrift
    >>> X = np.random.default_rng(0).normal(size=(3000, 4))
    >>> y = X @ [3.0, 1.0, 0.3, 0.1] > 0
    >>> model = GreedyMiserClassifier(costs=[1, 2, 4, 8], n_rounds=40, max_depth=2).fit(X[:2000], y[:2000])
    >>> done = thrift(model, X[2000:], y[2000:])
    >>> [step.changed for step in done.steps], bool(done.steps[-1].cost < done.steps[0].cost)
    ([0, 0, 0, 0], True)
    """
    if not isinstance(tolerance, Real) or not 0.0 <= float(tolerance) < np.inf:
        raise DataError(f"tolerance must be a number of 0 or more, got {shown(tolerance)}")
    fitted = _fitted(model, costs)
    _check(fitted, tolerance)
    evaluation = _Evaluation(fitted, X, y, qid, k, metric)
    names, plans = ["as it was"], [fitted.plan_]

    def add(name: str, plan: Plan) -> Plan:
        names.append(name)
        plans.append(plan)
        return plan

    plan = add("merged", merge_trees(exact_sums(fitted.plan_)))
    summands = summands_of(plan)
    order = order_of_terms(plan, evaluation.rows, random_state)
    plan = add("reordered", sum_of(plan, [summands[t] for t in order]))
    estimator = copy(fitted)
    estimator.plan_ = plan
    if evaluation.can_settle:
        step = -(-len(plan.nodes) // N_EXITS) if every is None else every
        early = EarlyExit(FrozenEstimator(estimator), rule="lossless", every=step, k=k)
        estimator = early.fit(X, y, qid=qid)
        estimator.plan_ = add("lossless exits", estimator.plan_)
        if tolerance > 0.0:
            sure = _read_confidence(confidence)
            estimator.plan_ = add("early exits", evaluation.lossy(plan, estimator, step, tolerance, sure))
    elif tolerance > 0.0:
        raise DataError("tolerance lets rows leave early, which needs a classifier, or a ranking and its qid")
    steps = tuple(evaluation.measure(name, one) for name, one in zip(names, plans, strict=True))
    return Thrift(estimator, steps, tuple(plans), evaluation.metric.name, fitted.plan_.costs.unit)


def _check(fitted: Any, tolerance: float) -> None:
    """Raise an error if the steps cannot be applied to a model."""
    plan = fitted.plan_
    if not is_additive(plan):
        raise DataError(
            f"thrift needs a model whose plan is a sum of terms, and that of {type(fitted).__name__} is not; "
            "give a booster, or a model of another library"
        )
    if links.gives_numbers(plan.link) and plan.n_outputs > 1:
        raise DataError(
            "thrift needs a sum with one number as its answer; a forest that averages numbers has no such sum"
        )
    if has_own_amounts(plan):
        raise DataError(
            "thrift compares costs of outcomes that are the same for all rows, but the model decides by the "
            "amount of each row; use EarlyExit(..., rule='confidence')"
        )
    if tolerance > 0.0 and plan.decision is not None:
        raise DataError(
            "tolerance compares classes, but the model decides by the costs of outcomes: leave it at 0, or "
            "use EarlyExit(..., rule='confidence')"
        )
    if tolerance > 0.0 and is_classifier(fitted) and not links.has_confidence(plan.link):
        raise DataError(
            "tolerance lets rows leave by the probability of their class, but the model has none, or "
            "one-versus-rest ones, which exits do not support: leave it at 0"
        )


def _read_confidence(confidence: Any) -> float | None:
    if confidence is None or (isinstance(confidence, Real) and 0.0 < float(confidence) < 1.0):
        return None if confidence is None else float(confidence)
    raise DataError(f"confidence must be a number between 0 and 1, or None, got {confidence!r}")


def _fitted(model: Any, costs: Any) -> Any:
    """The model as a fitted estimator with a plan, with these costs."""
    if not isinstance(model, PlanEstimator):
        return adopt(model, costs=costs)
    plan = model.fitted_plan()
    if costs is None:
        return model
    names = plan.costs.names
    bound = bind_costs(costs, plan.n_features if names is None else list(names))
    priced = copy(model)
    priced.plan_ = plan.replace(
        costs=bound, terms=[term.with_evaluation(bound.evaluation) for term in plan.terms]
    )
    return priced


class _Evaluation:
    """The rows, and what plans cost and answer on them."""

    def __init__(self, model: Any, X: Any, y: Any, qid: Any, k: int, metric: Any) -> None:
        self.model, self.k, self.X = model, k, X
        self.rows = model.read_rows(X)
        self.classifies = is_classifier(model)
        self.y = check_target(y, self.rows, model, numeric=not self.classifies)
        if self.classifies:
            self.codes: NDArray[Any] = class_codes(self.y, model.classes_)
        else:
            self.codes = self.y
        ranks = not self.classifies and (qid is not None or not is_regressor(model))
        self.qid = check_queries(qid, len(self.rows)) if ranks else None
        by_class = "accuracy" if model.plan_.decision is None else "total_cost"
        default = by_class if self.classifies else "ndcg@5" if ranks else "mse"
        self.metric: Metric = get_metric(metric or default)
        self._before: Any = None

    @property
    def can_settle(self) -> bool:
        """Whether rows can leave early: not from numbers, which every tree changes."""
        return self.qid is not None or self.classifies

    def lossy(
        self, plan: Plan, lossless: Any, every: int, tolerance: float, confidence: float | None
    ) -> Plan:
        """The plan with exits of the rows that are sure enough, and lossless exits one tree later."""
        rule = "confidence" if self.classifies else "proximity"
        threshold = None
        if confidence is not None:
            threshold = self._sure_threshold(plan, rule, every, tolerance, confidence)
            if np.isinf(threshold):
                return lossless.fitted_plan()
        early = EarlyExit(
            lossless.estimator,
            rule=rule,
            threshold=threshold,
            every=every,
            k=self.k,
            tolerance=tolerance,
            metric=self.metric,
        ).fit(self.X, self.y, qid=self.qid)
        gates = lossless_exits(plan, 1, self.k).nodes
        nodes = list(early.plan_.nodes)
        for i in range(every, len(nodes) - 1, every):
            nodes[i] = replace(nodes[i], gate=gates[i].gate, low=LEAVE)
        return early.plan_.replace(nodes=nodes)

    def _sure_threshold(
        self, plan: Plan, rule: str, every: int, tolerance: float, confidence: float
    ) -> float:
        queries = None if self.qid is None else Queries(self.qid)
        stops = range(every, len(plan.nodes), every)
        staged = StagedScores.of(plan, self.rows, stops, queries, None)
        values = values_of_units(self.metric, staged, self.codes, self.qid)
        return sure_threshold(rule, staged, self.k, values, tolerance, confidence)

    def measure(self, name: str, plan: Plan) -> ThriftStep:
        run = plan.run(self.rows, qid=self.qid, encoded=True)
        scores = as_columns(ranked(run, self.qid))
        answers = self._answers(plan, scores, run.amounts)
        if self._before is None:
            self._before = answers
        value, differ = self._value(plan, scores, run), self._differ(answers)
        return ThriftStep(name, float(run.cost.mean()), _trees(plan, run), int(differ.sum()), value)

    def _value(self, plan: Plan, scores: NDArray[np.float64], run: Run) -> float:
        """The metric, of the answers that the plan gives: with costs of outcomes, those of least cost."""
        if plan.decision is None or self.metric.needs != "label":
            return float(measure(self.metric, plan.link, scores, self.codes, self.qid, None))
        codes = plan.decision.codes(links.probabilities(plan.link, scores[:, : plan.n_outputs]))
        if self.metric.name not in ("outcome_cost", "total_cost"):
            return self.metric(self.codes, codes, classes=np.arange(plan.decision.n_classes))
        mistakes = float(plan.decision.costs[self.codes, codes].mean())
        return mistakes + float(run.cost.mean()) if self.metric.name == "total_cost" else mistakes

    def _answers(self, plan: Plan, scores: NDArray[np.float64], amounts: Any) -> Any:
        """Classes, numbers, or the best documents of each query in their order."""
        if self.qid is None:
            return plan.labels_from(scores[:, : plan.n_outputs], amounts=amounts)
        order = np.lexsort((np.arange(len(scores)), -scores[:, 0], self.qid))
        _, first = np.unique(self.qid[order], return_index=True)
        return [tuple(some[: self.k].tolist()) for some in np.split(order, first[1:])]

    def _differ(self, answers: Any) -> NDArray[np.bool_]:
        if self.qid is not None:
            return np.array([one != other for one, other in zip(answers, self._before, strict=True)])
        if self.classifies:
            return np.asarray(answers != self._before)
        return ~np.isclose(answers, self._before, rtol=1e-9, atol=1e-12)


def _trees(plan: Plan, run: Run) -> float:
    """The mean number of terms that rows evaluate."""
    met: set[int] = set()
    count = [0]
    for node in plan.nodes:
        met.update(node.terms.tolist())
        count.append(len(met))
    return float(np.array(count)[run.exit + 1].mean())
