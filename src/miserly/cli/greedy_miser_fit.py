"""`miserly fit`: one Greedy Miser fitted to a table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from miserly.cli.training_table import TrainingTable, noted
from miserly.plan import Plan
from miserly.plan.engine.effort import engine_for

__all__ = ["FitOptions", "FitResult", "fit_greedy_miser"]

SCORES = {"classes": "accuracy", "numbers": "r2", "ranking": "ndcg@5"}  # what a fit is reported by


@dataclass(frozen=True)
class FitOptions:
    """The hyperparameters of a fit."""

    budget: float | None
    tradeoff: float
    rounds: int
    depth: int
    validation: float
    seed: int
    verbose: bool


@dataclass(frozen=True, eq=False)
class FitResult:
    """A fitted plan; `value` and `mean_cost` are those of the validation set, if there is one."""

    plan: Plan
    stopped_by: str
    metric: str
    value: float | None
    mean_cost: float | None
    n_validation: int


def fit_greedy_miser(table: TrainingTable, options: FitOptions) -> FitResult:
    """Fit a Greedy Miser. The number of rounds is chosen on the validation set, if there is one."""
    learner = _learner(table, options)
    if not options.validation:
        fitted = learner.fit(table.X, table.y, **_ranked(table.qid))
        plan = _finished(fitted.plan_, table)
        return FitResult(plan, fitted.stopped_by_, SCORES[table.task], None, None, 0)
    from miserly.data.holdout import validation_mask

    classes = table.y if table.task == "classes" else None
    is_validation = validation_mask(len(table.y), options.validation, options.seed, classes, table.qid)
    X, y, qid = table.take(~is_validation)
    X_val, y_val, qid_val = table.take(is_validation)
    given = {"X_val": X_val, "y_val": y_val, **_ranked(qid), **_ranked(qid_val, "_val")}
    fitted = learner.fit(X, y, **given)
    plan = _finished(fitted.plan_, table)
    mean_cost = float(fitted.plan_.run(X_val, compiled=engine_for(plan, len(X_val))).cost.mean())
    value = float(fitted.score(X_val, y_val, **_ranked(qid_val)))
    return FitResult(plan, fitted.stopped_by_, SCORES[table.task], value, mean_cost, int(is_validation.sum()))


def _learner(table: TrainingTable, options: FitOptions) -> Any:
    from miserly import learners

    kinds = {
        "classes": learners.GreedyMiserClassifier,
        "numbers": learners.GreedyMiserRegressor,
        "ranking": learners.GreedyMiserRanker,
    }
    return kinds[table.task](
        costs=table.costs,
        budget=options.budget,
        tradeoff=options.tradeoff,
        n_rounds=options.rounds,
        max_depth=options.depth,
        categorical_features=sorted(table.categories),
        early_stopping=bool(options.validation),
        metric="log_loss" if table.task == "classes" else None,  # accuracy is too coarse on few rows
        random_state=options.seed,
        verbose=int(options.verbose),
    )


def _ranked(qid: NDArray[Any] | None, note: str = "") -> dict[str, Any]:
    return {} if qid is None else {f"qid{note}": qid}


def _finished(plan: Plan, table: TrainingTable) -> Plan:
    """The plan with its categories and a note about the table."""
    return noted(plan.replace(categories=table.categories), table)
