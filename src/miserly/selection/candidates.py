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
from miserly.costs import Costs, fits
from miserly.data.rows import Rows
from miserly.data.target import check_classes
from miserly.data.tasks import Taken
from miserly.errors import CostError, DataError
from miserly.learners.common.staged import StagedClassifier
from miserly.plan import Plan
from miserly.plan.compose import handing_over_at
from miserly.plan.gates import Confidence
from miserly.plan.purchases import purchases
from miserly.selection.asked import Asked

__all__ = [
    "Contender",
    "Dial",
    "Task",
    "cheapest_feature",
    "contenders_for",
    "n_nodes",
    "numbers_of_nodes",
    "parameter_paths",
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
_ANY = Asked()


@dataclass(frozen=True)
class Dial:
    """One parameter between thrift and spending, on a logarithmic scale."""

    name: str
    path: str  # as `set_params` wants it
    thrifty: float
    lavish: float

    @property
    def is_budget(self) -> bool:
        """Whether its value is what a model may cost."""
        return self.name in ("budget", "mean_budget")

    def start(self, n: int) -> list[float]:
        """The first values to try, three at most: the lavish end, the middle, the thrifty end."""
        return [self.lavish, float(np.sqrt(self.lavish * self.thrifty)), self.thrifty][:n]


@dataclass(frozen=True, eq=False)
class Contender:
    """A learner with one of its dials: how to fit it, and which views of a fit are worth judging.

    Attributes
    ----------
    budgets : tuple of float
        Values of the dial, a budget, that were asked for: these are fitted before any others.
    searches : bool
        Whether each fit at a budget is a search of its own, and so takes much longer than others.
    is_quick : bool
        Whether a fit grows a single tree, so that fits at all budgets take hardly any time.
    cautious : bool
        Whether the dial begins in the middle: beyond the largest budget nothing is of interest.
    """

    name: str
    learner: Any
    dial: Dial | None  # None where there is nothing to turn
    costs: Costs
    seed: int
    views: tuple[View, ...] = ({},)
    n_start: int = _N_START
    fixed: Mapping[str, Any] = field(default_factory=dict)
    budgets: tuple[float, ...] = ()
    searches: bool = False
    is_quick: bool = False
    cautious: bool = False

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
        """The values to try first; none where budgets that were asked for come in their place."""
        return [] if self.budgets else self.first_values()

    def first_values(self) -> list[float]:
        """The values to try first, whether budgets were asked for or not."""
        if self.dial is None:
            return [np.nan]
        values = self.dial.start(self.n_start)
        return [*values[1:2], *values[:1], *values[2:]] if self.cautious else values

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
    totals = (
        [purchase.total for purchase in purchases(plan)]
        if any("up_to_cost" in view for view in views)
        else []
    )

    def number(view: View) -> int:
        if "rounds" in view:
            return min(int(view["rounds"]), len(plan.nodes))
        return int(fits(0.0, np.array(totals), view["up_to_cost"]).sum())

    return [number(view) for view in views]


def _views(learner: Any, costs: Costs, asked: Asked) -> tuple[View, ...]:
    """How a fitted model is looked at; every budget asked for is one at which a chain may end."""
    if isinstance(learner, every.EarlyExit):
        chosen = learner.threshold is not None or learner.saving is not None or learner.rule != "confidence"
        return ({},) if chosen else tuple({"threshold": value} for value in _THRESHOLDS)
    if isinstance(learner, StagedClassifier) and not isinstance(learner, every.GreedyMiserClassifier):
        limits = np.geomspace(*_prices(costs, learner, asked), _N_COSTS_SEEN)
        wanted = {float(limit) for limit in limits} | {b for b in asked.budgets if 0.0 < b < np.inf}
        return tuple({"up_to_cost": limit} for limit in sorted(wanted))
    most = learner.get_params().get("n_rounds")
    if most is None:
        return ({},)
    rounds = {round(number) for number in np.geomspace(min(5, most), most, _N_ROUNDS_SEEN)}
    smaller = [budget for budget in asked.budgets if 0.0 < budget < asked.limit]
    return (*({"rounds": number} for number in sorted(rounds)), *({"up_to_cost": b} for b in smaller))


# -- dials ---------------------------------------------------------------------------------------------------


def parameter_paths(learner: Any) -> dict[str, str]:
    """Where each parameter is set: its own, or that of an estimator inside (`estimator__budget`)."""
    paths: dict[str, str] = {}
    for path in sorted(learner.get_params(deep=True), key=lambda path: path.count("__")):
        paths.setdefault(path.rpartition("__")[2], path)
    return paths


def _dials(learner: Any, rows: Rows, costs: Costs, asked: Asked) -> list[Dial]:
    """The dials of a learner: the budget of a node, a tradeoff, or a budget; the Miser has the last two.

    No dial reaches beyond the largest budget asked for.
    """
    paths = parameter_paths(learner)
    given = learner.get_params(deep=True)
    low, high = _prices(costs, learner, asked)
    budget = [Dial("budget", paths["budget"], low, high)] if "budget" in paths else []
    if "costs" not in paths:
        raise DataError(f"{type(learner).__name__} has no parameter 'costs', so no price reaches it")
    if "node_budget" in paths:
        return [Dial("node_budget", paths["node_budget"], low, high)]
    if "tradeoff" in paths and given[paths["tradeoff"]] is not None:
        tradeoff = Dial("tradeoff", paths["tradeoff"], *_tradeoffs(learner, rows, costs, asked))
        both = paths.get("lookahead") == "lookahead" and given["budget"] is None
        return [tradeoff, *(budget if both else [])]
    if not budget:
        raise DataError(f"{type(learner).__name__} has no tradeoff and no budget: nothing to sweep over")
    return budget


def _dial_of_budget(learner: Any, costs: Costs, asked: Asked) -> Dial | None:
    """The budget of a learner that has another dial; None if it has none, or its own is given."""
    paths = parameter_paths(learner)
    given = learner.get_params(deep=True)
    names = [name for name in ("budget", "mean_budget") if name in paths]
    if not names or any(given[paths[name]] is not None for name in names):
        return None
    return Dial(names[0], paths[names[0]], *_prices(costs, learner, asked))


def _prices(costs: Costs, learner: Any, asked: Asked) -> tuple[float, float]:
    """What the cheapest feature costs, and everything; no more than the largest budget asked for."""
    everything = costs.total + costs.evaluation * learner.get_params().get("n_rounds", 1)
    if not everything > 0:
        raise CostError("everything is free: there is no cost to trade")
    most = min(float(everything), asked.limit or np.inf)
    return min(cheapest_feature(costs), most), most


def cheapest_feature(costs: Costs) -> float:
    """The least that a row can pay, if it pays anything."""
    prices = costs.marginals(np.zeros(len(costs), dtype=np.bool_)) + costs.evaluation
    return float(prices[prices > 0].min())


def _tradeoffs(learner: Any, rows: Rows, costs: Costs, asked: Asked) -> tuple[float, float]:
    """The tradeoff at which not even the cheapest feature can pay, and one that hardly counts.

    What there is to gain is the loss of a constant answer.
    """
    if is_classifier(learner):
        share = np.unique(rows.y, return_counts=True)[1] / len(rows)
        loss = -float(share @ np.log(share))
    else:
        loss = 0.5 * float(np.var(rows.y.astype(np.float64)))
    cheapest, everything = _prices(costs, learner, asked)
    return 0.5 * loss / max(cheapest, 1e-3 * everything), 1e-3 * loss / everything


# -- who takes part ------------------------------------------------------------------------------------------


def task_of(rows: Rows, taken: Taken) -> Task:
    """What is asked for, with labels taken for what they are."""
    if taken.task == "ranking":
        return "documents"
    if taken.task == "classes" and rows.y.dtype == object:
        check_classes(rows.y)
    kind = type_of_target(rows.y)
    if kind not in ("binary", "multiclass") and not (kind == "continuous" and taken.task == "numbers"):
        raise DataError(f"labels of the kind {kind!r}: give classes or numbers, one per row")
    if taken.task == "numbers":
        return "numbers"
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


def contenders_for(
    pool: Sequence[Any], task: Task, rows: Rows, costs: Costs, seed: int, asked: Asked = _ANY
) -> list[Contender]:
    """Every learner with every dial of its own, after an answer that buys nothing.

    Where budgets are asked for, a learner whose dial is no budget takes part with its budget too.
    """
    for learner in pool:
        _check(learner, task)
    found = [_nothing(task, costs, seed)]
    if asked.limit < np.min(costs.marginals(np.zeros(len(costs), dtype=np.bool_)) + costs.evaluation):
        return found  # nothing else can be had
    for name, learner in zip(_names(pool), pool, strict=True):
        views = _views(learner, costs, asked)
        everything = _prices(costs, learner, _ANY)[1]
        wanted = asked.to_fit_at(everything)
        is_quick = isinstance(learner, every.BudgetedTreeClassifier)
        one = Contender(
            name, learner, None, costs, seed, views, is_quick=is_quick, cautious=asked.limit < everything
        )
        for dial in _dials(learner, rows, costs, asked):
            # an anytime model is a whole curve
            alone = "up_to_cost" in views[0]
            budgets = (wanted[:1] if alone else wanted) if dial.is_budget else ()
            fixed = _fixed(learner, views, dial, task)
            found.append(
                replace(one, dial=dial, n_start=1 if alone else _N_START, fixed=fixed, budgets=budgets)
            )
        held = any(contender.budgets for contender in found if contender.learner is learner)
        dial_of_budget = _dial_of_budget(learner, costs, asked)
        # a budget that pays for everything is none: the other dial does as well
        wanted = tuple(budget for budget in wanted if budget < everything)
        if not held and wanted and dial_of_budget is not None:
            fixed = _fixed(learner, views, dial_of_budget, task)
            searches = "lookahead" not in parameter_paths(learner)
            found.append(replace(one, dial=dial_of_budget, fixed=fixed, budgets=wanted, searches=searches))
    return found


def _fixed(learner: Any, views: Sequence[View], dial: Dial, task: Task) -> dict[str, Any]:
    """Parameters that are set to what a dial, or the views of a fit, ask for."""
    fixed: dict[str, Any] = {}
    if "threshold" in views[0]:
        fixed["threshold"] = views[0]["threshold"]  # all others are seen from the same fit
    ahead = parameter_paths(learner).get("lookahead")
    if dial.is_budget and ahead is not None and task != "documents":
        fixed[ahead] = True
    return fixed


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
        hint = "" if task == "documents" else "; task= says what labels are"
        raise DataError(f"{type(learner).__name__} is not for labels that are {task}{hint}")


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
