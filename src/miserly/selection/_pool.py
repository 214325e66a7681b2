"""Who takes part in a frontier: learners, and the dial of each that trades cost for quality."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.utils import get_tags
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import has_fit_parameter

from miserly import learners as every
from miserly.costs import Costs
from miserly.errors import CostError, DataError
from miserly.learners._staged import StagedClassifier
from miserly.plan import Plan
from miserly.plan.handover import handing_over_at
from miserly.plan.nodes import Confidence
from miserly.plan.purchases import purchases
from miserly.selection._choosing import parameter_paths
from miserly.selection._splits import Rows

__all__ = [
    "Contender",
    "Dial",
    "Task",
    "cheapest_feature",
    "contenders_for",
    "n_nodes",
    "numbers_of_nodes",
    "pool_for",
    "takes_text",
    "task_of",
    "viewed",
    "viewed_plan",
]

Task = Literal["two classes", "several classes", "numbers", "documents"]
# How a fitted model is looked at: a beginning of its plan, a threshold of exits, or one of handing over.
View = Mapping[str, float]

_N_START = 2  # values of a dial that are tried before any is chosen
_N_ROUNDS_SEEN = 5  # numbers of rounds at which one boosted model is judged
_N_COSTS_SEEN = 16  # costs at which one anytime model is judged
_THRESHOLDS = (0.6, 0.7, 0.8, 0.9, 0.95, 0.98)


@dataclass(frozen=True)
class Dial:
    """One parameter between thrift and spending, on a logarithmic scale."""

    name: str
    path: str  # as `set_params` wants it
    thrifty: float
    lavish: float

    def start(self, n: int) -> list[float]:
        """The first values to try, three at most: the lavish end, the middle, the thrifty end."""
        return [self.lavish, float(np.sqrt(self.lavish * self.thrifty)), self.thrifty][:n]


@dataclass(frozen=True, eq=False)
class Contender:
    """A learner with one of its dials: how to fit it, and which views of a fit are worth judging."""

    name: str
    learner: Any
    dial: Dial | None  # None where there is nothing to turn
    costs: Costs
    seed: int
    views: tuple[View, ...] = ({},)
    n_start: int = _N_START
    fixed: Mapping[str, Any] = field(default_factory=dict)

    def ready(self, value: float) -> Any:
        """A clone that is ready to be fitted, with the dial at `value`."""
        paths = parameter_paths(self.learner)
        params = {paths["costs"]: self.costs, **self.fixed}
        if self.dial is not None:
            params[self.dial.path] = value
        for path, given in self.learner.get_params(deep=True).items():
            if path.rpartition("__")[2] == "random_state" and given is None:
                params[path] = self.seed
        return clone(self.learner).set_params(**params)

    def fit(self, rows: Rows, value: float) -> Any:
        """A fitted clone, with the dial at `value`."""
        model = self.ready(value)
        asks = rows.qid is not None and has_fit_parameter(model, "qid")
        return model.fit(rows.X, rows.y, **({"qid": rows.qid} if asks else {}))

    def start(self) -> list[float]:
        return [np.nan] if self.dial is None else self.dial.start(self.n_start)

    def params(self, value: float, view: View) -> dict[str, Any]:
        """What tells this model from others of its learner."""
        turned = {} if self.dial is None else {self.dial.name: value}
        fixed = {path: given for path, given in self.fixed.items() if path not in view}
        return {**turned, **fixed, **view}


# -- views of a fitted model ---------------------------------------------------------------------------------


def viewed(model: Any, view: View) -> Any:
    """The model as a view shows it."""
    if not view:
        return model
    other = copy(model)
    other.plan_ = viewed_plan(model.plan_, view)
    if "threshold" in view:
        other.threshold = other.threshold_ = view["threshold"]
    if "handover" in view:
        other.threshold = view["handover"]
    return other


def viewed_plan(plan: Plan, view: View) -> Plan:
    """A plan as a view shows it: as it is, a beginning of it, or with other exits along it."""
    if not view:
        return plan
    if "handover" in view:
        return handing_over_at(plan, view["handover"])
    if "threshold" not in view:
        return plan.prefix(n_nodes(plan, view))
    gate = Confidence(view["threshold"])
    moved = [replace(node, gate=gate) if isinstance(node.gate, Confidence) else node for node in plan.nodes]
    return plan.replace(nodes=moved)


def n_nodes(plan: Plan, view: View) -> int:
    """How many nodes of a chain a view keeps: a number of rounds, or all that fit under a cost."""
    return numbers_of_nodes(plan, [view])[0]


def numbers_of_nodes(plan: Plan, views: Sequence[View]) -> list[int]:
    """How many nodes of a chain each view keeps."""
    if "rounds" in views[0]:
        return [min(int(view["rounds"]), len(plan.nodes)) for view in views]
    totals = [purchase.total for purchase in purchases(plan)]
    limits = [view["up_to_cost"] * (1.0 + 1e-12) for view in views]
    return [int(n) for n in np.searchsorted(totals, limits, side="right")]


def _views(learner: Any, costs: Costs) -> tuple[View, ...]:
    if isinstance(learner, every.EarlyExit):
        chosen = learner.threshold is not None or learner.saving is not None or learner.rule != "confidence"
        return ({},) if chosen else tuple({"threshold": value} for value in _THRESHOLDS)
    if isinstance(learner, StagedClassifier):
        limits = np.geomspace(*_prices(costs, learner), _N_COSTS_SEEN)
        return tuple({"up_to_cost": float(limit)} for limit in limits)
    most = learner.get_params().get("n_rounds")
    if most is None:
        return ({},)
    rounds = {round(number) for number in np.geomspace(min(5, most), most, _N_ROUNDS_SEEN)}
    return tuple({"rounds": number} for number in sorted(rounds))


# -- dials ---------------------------------------------------------------------------------------------------


def _dials(learner: Any, rows: Rows, costs: Costs) -> list[Dial]:
    """The dials of a learner: the budget of a node, a tradeoff, or a budget; the Miser has the last two."""
    paths = parameter_paths(learner)
    given = learner.get_params(deep=True)
    low, high = _prices(costs, learner)
    budget = [Dial("budget", paths["budget"], low, high)] if "budget" in paths else []
    if "costs" not in paths:
        raise DataError(f"{type(learner).__name__} has no parameter 'costs', so no price reaches it")
    if "node_budget" in paths:
        return [Dial("node_budget", paths["node_budget"], low, high)]
    if "tradeoff" in paths and given[paths["tradeoff"]] is not None:
        tradeoff = Dial("tradeoff", paths["tradeoff"], *_tradeoffs(learner, rows, costs))
        both = paths.get("lookahead") == "lookahead" and given["budget"] is None
        return [tradeoff, *(budget if both else [])]
    if not budget:
        raise DataError(f"{type(learner).__name__} has no tradeoff and no budget: nothing to sweep over")
    return budget


def _prices(costs: Costs, learner: Any) -> tuple[float, float]:
    """What the cheapest feature costs, and everything."""
    everything = costs.total + costs.evaluation * learner.get_params().get("n_rounds", 1)
    if not everything > 0:
        raise CostError("everything is free: there is no cost to trade")
    return cheapest_feature(costs), float(everything)


def cheapest_feature(costs: Costs) -> float:
    """The least that a row can pay, if it pays anything."""
    prices = costs.marginals(np.zeros(len(costs), dtype=np.bool_)) + costs.evaluation
    return float(prices[prices > 0].min())


def _tradeoffs(learner: Any, rows: Rows, costs: Costs) -> tuple[float, float]:
    """The tradeoff at which not even the cheapest feature can pay, and one that hardly counts.

    What there is to gain is the loss of a constant answer.
    """
    if is_classifier(learner):
        share = np.unique(rows.y, return_counts=True)[1] / len(rows)
        loss = -float(share @ np.log(share))
    else:
        loss = 0.5 * float(np.var(rows.y.astype(np.float64)))
    cheapest, everything = _prices(costs, learner)
    return 0.5 * loss / max(cheapest, 1e-3 * everything), 1e-3 * loss / everything


# -- who takes part ------------------------------------------------------------------------------------------


def task_of(rows: Rows, metric: str | None) -> Task:
    """What is asked for, from the labels; whole numbers are classes unless the metric says otherwise."""
    if rows.qid is not None:
        return "documents"
    kind = type_of_target(rows.y)
    if metric in ("mse", "mae", "r2") or kind.startswith("continuous"):
        return "numbers"
    if kind not in ("binary", "multiclass"):
        raise DataError(f"labels of the kind {kind!r}: give classes or numbers, one per row")
    return "two classes" if kind == "binary" else "several classes"


def pool_for(task: Task) -> list[Any]:
    """The learners of "auto", roughly those that are quick to fit first."""
    if task == "documents":
        return [every.GreedyMiserRanker(), every.ASTCRegressor(), every.CSTCRegressor()]
    if task == "numbers":
        return [
            every.CostLassoRegressor(),
            every.GreedyMiserRegressor(),
            every.ASTCRegressor(),
            every.ASTCRegressor(terms="boosted"),
            every.CSTCRegressor(),
        ]
    pool = [
        every.GreedyMiserClassifier(),
        every.CostLassoClassifier(),
        every.EarlyExit(every.GreedyMiserClassifier()),
        every.SpeedBoostClassifier(),
        every.ASTCClassifier(),
        every.ASTCClassifier(terms="boosted"),
        every.AdaBoostBTClassifier(base="tree"),
        every.SoftCascadeClassifier(),
        every.CSCCClassifier(),
        every.CSTCClassifier(),
        every.CronusClassifier(),
        every.BudgetedTreeClassifier(),
        every.AFRClassifier(),
    ]
    return pool if task == "two classes" else [learner for learner in pool if _takes_several(learner)]


def _takes_several(learner: Any) -> bool:
    return bool(get_tags(getattr(learner, "estimator", learner)).classifier_tags.multi_class)


def takes_text(learner: Any) -> bool:
    """Whether a learner splits by category; linear ones need numbers."""
    given = learner.get_params(deep=True)
    return given.get("terms") == "boosted" or any(path.endswith("categorical_features") for path in given)


def contenders_for(pool: Sequence[Any], task: Task, rows: Rows, costs: Costs, seed: int) -> list[Contender]:
    """Every learner with every dial of its own, after an answer that buys nothing."""
    found = [_nothing(task, costs, seed)]
    for name, learner in zip(_names(pool), pool, strict=True):
        _check(learner, task)
        views = _views(learner, costs)
        n_start = 1 if "up_to_cost" in views[0] else _N_START  # an anytime model is a whole curve
        for dial in _dials(learner, rows, costs):
            fixed: dict[str, Any] = {}
            if "threshold" in views[0]:
                fixed["threshold"] = views[0]["threshold"]  # all others are seen from the same fit
            if dial.name == "budget" and "lookahead" in learner.get_params() and task != "documents":
                fixed["lookahead"] = True
            found.append(Contender(name, learner, dial, costs, seed, views, n_start, fixed))
    return found


def _nothing(task: Task, costs: Costs, seed: int) -> Contender:
    """The best that can be said without paying."""
    miser = {"documents": every.GreedyMiserRanker, "numbers": every.GreedyMiserRegressor}.get(
        task, every.GreedyMiserClassifier
    )
    return Contender("nothing paid", miser(budget=0.0), None, costs, seed)


def _check(learner: Any, task: Task) -> None:
    if not hasattr(learner, "get_params"):
        raise DataError(f'learners are "auto" or a list of estimators, not {learner!r}')
    inner = getattr(learner, "estimator", learner)
    wants_classes = task in ("two classes", "several classes")
    if is_classifier(inner) != wants_classes or (task == "numbers" and not is_regressor(inner)):
        raise DataError(f"{type(learner).__name__} is not for labels that are {task}")


def _names(pool: Sequence[Any]) -> list[str]:
    """Class names; where several learners are of one class, with what sets them apart."""
    names = [type(learner).__name__ for learner in pool]
    alike = Counter(names)
    told = [
        name if alike[name] == 1 else " ".join(repr(learner).split()).removesuffix("()")
        for name, learner in zip(names, pool, strict=True)
    ]
    seen: Counter[str] = Counter()
    for place, name in enumerate(told):
        seen[name] += 1
        told[place] = name if seen[name] == 1 else f"{name} ({seen[name]})"
    return told
