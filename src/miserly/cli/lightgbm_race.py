"""`miserly bench`: the frontier against LightGBM on the rows of a file, with the same prices for both.

A quarter of the rows (queries) is the test set, which neither sees before. At each budget both give the model
that they would choose for it. The frontier uses `best`. LightGBM takes the penalty and the number of rounds
that are best on a validation set, a quarter of the training rows, and is fitted again to all training rows.
Rows of both pay for the features that they meet.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.text import Text
from sklearn.utils import _safe_indexing

from miserly.cli.console import amount, err, new_table, out
from miserly.cli.frontier_search import check_rows, frame_of, metric_for, refuse_failure, run_frontier
from miserly.cli.options import SearchOptions
from miserly.cli.training_table import TrainingTable
from miserly.costs import Costs, mean_fits
from miserly.data.rows import Rows, validation_mask
from miserly.errors import DataError
from miserly.metrics import Queries, get_metric
from miserly.plan import Plan
from miserly.plan.engine.batch import engine_for
from miserly.plan.engine.ranking import ranked
from miserly.selection.intervals import mean_and_error
from miserly.selection.row_values import RowValues

__all__ = ["PENALTIES", "ROUNDS", "BoostedStage", "Race", "features_met", "fit_lightgbm", "print_race",
           "race", "race_record", "stages"]  # fmt: skip

N_BUDGETS = 8
HELD_OUT = 0.25

Floats = NDArray[np.float64]
Numbers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class RaceEntry:
    """The model of one side at a budget: the metric by test row (query), and the mean cost."""

    values: Floats
    cost: float

    @property
    def value(self) -> float:
        return float(np.nanmean(self.values))


@dataclass(frozen=True, eq=False)
class Race:
    """The result; `lead` is the mean over budgets of how much better the frontier is."""

    metric: str
    unit: str
    budgets: tuple[float, ...]
    ours: tuple[RaceEntry, ...]
    theirs: tuple[RaceEntry, ...]
    lead: float
    error: float
    n_train: int
    n_test: int


@dataclass(frozen=True, eq=False)
class RaceData:
    """The training rows and the test rows of a race, by number."""

    table: TrainingTable
    learn: Numbers
    test: Numbers
    values: RowValues
    classes: NDArray[Any] | None

    def evaluated(self, plan: Plan, scores: Floats, rows: Numbers) -> Floats:
        """The metric of scores (n, K) by row (query), with the link and the classes of a plan."""
        qid = None if self.table.qid is None else self.table.qid[rows]
        labelled = Rows(scores, self.table.y[rows])
        return self.values(plan, scores, labelled, Queries(qid, len(rows)), np.zeros(len(rows)))


def race(table: TrainingTable, how: SearchOptions) -> Race:
    """Let both choose a model for every budget, and evaluate the models on the test set."""
    if find_spec("lightgbm") is None:
        raise DataError("--against lightgbm: LightGBM is not installed: pip install lightgbm")
    check_rows(table)
    classes = np.unique(table.y) if table.task == "classes" else None
    is_test = _held_out(table, np.arange(len(table.y)), how.seed)
    test = np.flatnonzero(is_test)
    metric = get_metric(metric_for(table.task, how.metric))
    values = RowValues(metric, table.y[test])
    data = RaceData(table, np.flatnonzero(~is_test), test, values, classes)
    budgets = _budgets(table)
    ours, theirs = _frontier(data, how, budgets), _lightgbm(data, how, budgets)
    gaps = [metric.sign * (a.values - b.values) for a, b in zip(ours, theirs, strict=True)]
    lead, error = mean_and_error(np.mean(gaps, axis=0))
    return Race(values.metric.name, table.costs.unit, budgets, tuple(ours), tuple(theirs), lead, error,
                len(data.learn), len(test))  # fmt: skip


def _held_out(table: TrainingTable, rows: Numbers, seed: int) -> NDArray[np.bool_]:
    """A quarter of some rows: whole queries, the same share of every class."""
    classes = table.y[rows] if table.task == "classes" else None
    return validation_mask(len(rows), HELD_OUT, seed, classes, None if table.qid is None else table.qid[rows])


def _budgets(table: TrainingTable) -> tuple[float, ...]:
    """Budgets with equal ratios, from the cheapest feature to all features."""
    paid = [price for price in map(table.costs.marginal, table.names) if price > 0]
    ladder = np.geomspace(min(paid), table.costs.total, N_BUDGETS)
    return tuple(sorted({float(f"{budget:.3g}") for budget in ladder[:-1]} | {table.costs.total}))


# -- the frontier --------------------------------------------------------------------------------------------


def _frontier(data: RaceData, how: SearchOptions, budgets: Sequence[float]) -> list[RaceEntry]:
    table = data.table
    found = run_frontier(table, how, rows=data.learn, mean_budgets=budgets, certify=0)
    refuse_failure(found)
    rows = frame_of(table) if table.categories else table.X
    test = _safe_indexing(rows, data.test)
    with err.status("the frontier's models"):
        return [_run(data, found.best(mean_budget=budget).plan_, test) for budget in budgets]


def _run(data: RaceData, plan: Plan, X: Any) -> RaceEntry:
    qid = None if data.table.qid is None else data.table.qid[data.test]
    done = plan.run(X, qid=qid, compiled=engine_for(plan, len(data.test)), unknown="missing")
    scores = ranked(done, qid)
    table = (scores[:, None] if scores.ndim == 1 else scores)[:, : plan.n_outputs]
    return RaceEntry(data.evaluated(plan, table, data.test), float(done.cost.mean()))


# -- LightGBM ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class PenaltyTrial:
    """A penalty and a number of rounds, with their gain and mean cost on the validation set."""

    gain: float
    cost: float
    penalty: float
    rounds: int


def _lightgbm(data: RaceData, how: SearchOptions, budgets: Sequence[float]) -> list[RaceEntry]:
    """For each budget the penalty and rounds that are best on the validation set, fitted to all rows."""
    table, classes = data.table, data.classes
    y = table.y if classes is None else np.searchsorted(classes, table.y)
    rows = Rows(table.X, y, qid=table.qid)
    n_classes, categorical = 0 if classes is None else len(classes), sorted(table.categories)

    def fit(numbers: Numbers, penalty: float) -> Any:
        return fit_lightgbm(rows.take(numbers), table.costs, n_classes, penalty, categorical, how.seed)

    is_validation = _held_out(table, data.learn, how.seed)
    some, others = data.learn[~is_validation], data.learn[is_validation]
    with err.status("LightGBM"):
        tried = [
            PenaltyTrial(
                data.values.metric.sign * float(np.nanmean(_evaluated(data, stage, others))),
                stage.cost.mean(),
                penalty,
                stage.rounds,
            )
            for penalty in PENALTIES
            for stage in stages(fit(some, penalty), table.X[others], table.costs)
        ]
        return _chosen(data, tried, budgets, lambda penalty: fit(data.learn, penalty))


def _chosen(
    data: RaceData, tried: Sequence[PenaltyTrial], budgets: Sequence[float], fit: Callable[[float], Any]
) -> list[RaceEntry]:
    """The best inside each budget. If it costs more when fitted to all rows, the next best is taken."""
    again: dict[float, dict[int, tuple[float, RaceEntry]]] = {}
    found = []
    for budget in budgets:
        entry = _nothing(data)
        for one in sorted(tried, key=lambda one: (-one.gain, one.cost)):
            if not mean_fits(one.cost, budget):
                continue
            if one.penalty not in again:
                again[one.penalty] = _learned(data, fit(one.penalty))
            cost, made = again[one.penalty].get(one.rounds, (np.inf, entry))
            if mean_fits(cost, budget):
                entry = made
                break
        found.append(entry)
    return found


def _learned(data: RaceData, booster: Any) -> dict[int, tuple[float, RaceEntry]]:
    """For each number of rounds, the mean cost of training rows, and the entry on test rows."""
    X, costs = data.table.X, data.table.costs
    both = zip(stages(booster, X[data.learn], costs), stages(booster, X[data.test], costs), strict=True)
    return {
        stage.rounds: (
            float(before.cost.mean()),
            RaceEntry(_evaluated(data, stage, data.test), float(stage.cost.mean())),
        )
        for before, stage in both
    }


def _evaluated(data: RaceData, stage: BoostedStage, rows: Numbers) -> Floats:
    classes = data.classes
    link = "identity" if classes is None else "logistic" if len(classes) == 2 else "softmax"
    # A plan without nodes has the link and the classes of the scores.
    n_outputs = len(classes) if classes is not None and link == "softmax" else 1
    plan = Plan(
        costs=data.table.costs, terms=[], nodes=[], base=np.zeros(n_outputs), link=link, classes=classes
    )
    return data.evaluated(plan, stage.scores, rows)


def _nothing(data: RaceData) -> RaceEntry:
    """The prediction that costs nothing: the shares of the classes, or the mean."""
    y, n = data.table.y[data.learn], len(data.test)
    if data.classes is None:
        scores = np.array([np.mean(y)])
    else:
        share = np.array([np.mean(y == label) for label in data.classes])
        scores = np.log(share) if len(share) > 2 else np.log(share[1:] / share[:1])
    return RaceEntry(_evaluated(data, BoostedStage(0, np.tile(scores, (n, 1)), np.zeros(n)), data.test), 0.0)


# -- output --------------------------------------------------------------------------------------------------


def race_record(done: Race) -> dict[str, Any]:
    """The result as JSON."""
    lines = zip(done.budgets, done.ours, done.theirs, strict=True)
    return {
        "metric": done.metric,
        "unit": done.unit,
        "rows_learned": done.n_train,
        "rows_test": done.n_test,
        "budgets": [
            {
                "budget": budget,
                "frontier": {"value": ours.value, "mean_cost": ours.cost},
                "lightgbm": {"value": theirs.value, "mean_cost": theirs.cost},
            }
            for budget, ours, theirs in lines
        ],
        "lead": done.lead,
        "lead_error": done.error,
    }


def print_race(done: Race) -> None:
    """The result as text."""
    right = ("budget", "frontier", "pays", "LightGBM", "pays ")
    table = new_table(*right, right=right)
    for budget, ours, theirs in zip(done.budgets, done.ours, done.theirs, strict=True):
        cells = [f"{ours.value:.4f}", amount(ours.cost), f"{theirs.value:.4f}", amount(theirs.cost)]
        table.add_row(amount(budget), *cells)
    out.print(table)
    unit = f" ({done.unit})" if done.unit else ""
    out.print(
        Text(
            f"{done.metric} and mean cost{unit} on {done.n_test:,} test rows, learned from "
            f"{done.n_train:,} others. Lead of the frontier: {done.lead:+.4f} ± {done.error:.4f}, mean "
            "over budgets and standard error over test rows. This is one split: other training rows may "
            "change the lead by more."
        )
    )


# -- LightGBM with its own penalties on features (CEGB) ------------------------------------------------------
#
# A row pays once for each feature that it meets in the trees so far, and for the set-ups of their groups.
# LightGBM's penalties do not know groups: each feature is penalised by its cost with the set-up of its group.

ROUNDS = (1, 2, 3, 5, 8, 12, 18, 27, 40, 60, 100)  # numbers of rounds at which a model is evaluated
PENALTIES = (0.0, *np.geomspace(1e-7, 1e-1, 11).tolist())  # from none to one that allows no feature
_SETTINGS = {"learning_rate": 0.1, "max_depth": 4, "num_leaves": 16, "max_bin": 255, "num_threads": 1,
             "verbose": -1, "deterministic": True}  # fmt: skip


@dataclass(frozen=True, eq=False)
class BoostedStage:
    """A model after some rounds: raw scores (n, K), and the cost of each row."""

    rounds: int
    scores: Floats
    cost: Floats


def fit_lightgbm(
    rows: Rows, costs: Costs, n_classes: int, penalty: float, categorical: list[int], seed: int
) -> Any:
    """Boosted trees. The gain of a split on a new feature must exceed a penalty.

    LightGBM's gain is twice the decrease of the summed loss, so `penalty` has the meaning of `tradeoff`.
    """
    import lightgbm as lgb

    rows = rows if rows.qid is None else rows.take(np.argsort(rows.qid, kind="stable"))
    settings = {**_SETTINGS, **_objective(rows, n_classes), "seed": seed}
    if penalty > 0:
        settings["cegb_tradeoff"] = 2 * len(rows.y) * penalty
        settings["cegb_penalty_feature_coupled"] = [costs.marginal(costs.name(f)) for f in range(len(costs))]
    sizes = None if rows.qid is None else np.unique(rows.qid, return_counts=True)[1]
    data = lgb.Dataset(rows.X, rows.y, group=sizes, params=settings, categorical_feature=categorical)
    return lgb.train(settings, data, ROUNDS[-1])


def _objective(rows: Rows, n_classes: int) -> dict[str, Any]:
    if n_classes == 2:
        return {"objective": "binary"}
    if n_classes > 2:
        return {"objective": "multiclass", "num_class": n_classes}
    grades = (
        rows.qid is not None and (rows.y == np.rint(rows.y)).all() and 0 <= rows.y.min() <= rows.y.max() < 31
    )
    return {"objective": "lambdarank" if grades else "regression"}


def stages(booster: Any, X: Floats, costs: Costs) -> Iterator[BoostedStage]:
    """The model after each number of rounds in `ROUNDS`."""
    trees = [features_met(tree, X.shape[1]) for tree in booster.dump_model()["tree_info"]]
    leaves = booster.predict(X, pred_leaf=True).reshape(len(X), -1)
    each, last = booster.num_model_per_iteration(), booster.current_iteration()
    met = np.zeros(X.shape, dtype=np.bool_)
    done = 0
    for rounds in (r for r in ROUNDS if r <= last):
        for k in range(done * each, rounds * each):
            met |= trees[k][leaves[:, k]]
        done = rounds
        scores = booster.predict(X, num_iteration=rounds, raw_score=True).reshape(len(X), -1)
        yield BoostedStage(rounds, scores, costs.of_each(met) + costs.evaluation * rounds * each)


def features_met(tree: dict[str, Any], n_features: int) -> NDArray[np.bool_]:
    """The features on the path to each leaf: (leaves, n_features)."""
    found = np.zeros((tree["num_leaves"], n_features), dtype=np.bool_)
    waiting: list[tuple[dict[str, Any], tuple[int, ...]]] = [(tree["tree_structure"], ())]
    while waiting:
        node, seen = waiting.pop()
        if "split_feature" in node:
            seen = (*seen, int(node["split_feature"]))
            waiting += [(node["left_child"], seen), (node["right_child"], seen)]
        else:
            found[node.get("leaf_index", 0), list(seen)] = True
    return found
