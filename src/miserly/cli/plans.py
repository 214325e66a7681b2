"""Plans: a Greedy Miser fitted to a table, and plans in a terminal and as JSON."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from miserly.cli.console import amount, amounts, listing, new_table, out
from miserly.cli.outcome_costs import check_task, read_outcome_costs
from miserly.cli.training_table import TrainingTable, noted
from miserly.plan import Plan
from miserly.plan.engine.batch import engine_for
from miserly.plan.purchases import purchases

if TYPE_CHECKING:
    from miserly.costs import OutcomeTable
    from miserly.data.rows import Rows
    from miserly.selection.evaluation import Evaluation

__all__ = ["FitOptions", "FitResult", "bought_in_order", "fit_greedy_miser", "fit_record", "plan_panel",
           "plan_record", "print_fit", "print_plan", "shortened"]  # fmt: skip

_TOTAL = "total_cost"
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
    outcome_costs: Path | None = None


@dataclass(frozen=True, eq=False)
class FitResult:
    """A fitted plan, and what it reached and cost on the validation set, if there is one."""

    plan: Plan
    stopped_by: str
    metric: str
    estimate: Evaluation | None = None
    n_validation: int = 0

    @property
    def total(self) -> dict[str, Any] | None:
        """What a row of the validation set costs for tests and mistakes; None without outcome costs."""
        if self.estimate is None or self.metric != _TOTAL:
            return None
        from miserly.selection.totals import total_parts, total_words

        parts: dict[str, Any] = total_parts(self.estimate)
        return {**parts, "words": total_words(parts, self.plan.costs.unit)}


def fit_greedy_miser(table: TrainingTable, options: FitOptions) -> FitResult:
    """Fit a Greedy Miser. The number of rounds is chosen on the validation set, if there is one."""
    learner, metric = _learner(table, options), SCORES[table.task]
    check_task(table.task, options.outcome_costs)
    outcomes = None
    if options.outcome_costs is not None:
        metric, outcomes = _TOTAL, read_outcome_costs(options.outcome_costs, table)
    if not options.validation:
        priced = {} if outcomes is None else {"outcome_costs": outcomes}
        fitted = learner.fit(table.X, table.y, **_ranked(table.qid), **table.terms(), **priced)
        plan = _finished(fitted.plan_, table)
        return FitResult(plan, fitted.stopped_by_, metric)
    from miserly.data.rows import Rows, validation_mask
    from miserly.metrics import get_metric
    from miserly.selection.certification import evaluate_once
    from miserly.selection.plan_budgets import budgets_on_rows, with_budgets
    from miserly.selection.row_values import RowValues

    classes = table.y if table.task == "classes" else None
    is_validation = validation_mask(len(table.y), options.validation, options.seed, classes, table.qid)
    X, y, qid = table.take(~is_validation)
    X_val, y_val, qid_val = table.take(is_validation)
    given = {"X_val": X_val, "y_val": y_val, **_ranked(qid), **_ranked(qid_val, "_val")}
    given |= table.terms(~is_validation)
    own = None if table.row_costs is None else table.row_costs.take(is_validation)
    held = Rows(X_val, y_val, qid=qid_val, row_costs=own)
    if outcomes is not None:
        held = replace(held, outcomes=outcomes.take(is_validation))
        given |= _priced(learner, held, outcomes.take(~is_validation))
    fitted = learner.fit(X, y, **given)
    plan = _finished(fitted.plan_, table)
    estimate = evaluate_once(fitted.plan_, held, RowValues(get_metric(metric), y_val), 1.0)
    what = "validation set, which also chose the number of rounds"
    plan = with_budgets(plan, budgets_on_rows(fitted.plan_, held, metric, what))
    if qid is None:  # documents of a query are not independent
        plan = _with_reference(plan, fitted.plan_, held)
    return FitResult(plan, fitted.stopped_by_, metric, estimate, len(held))


def _priced(learner: Any, held: Rows, outcomes: OutcomeTable) -> dict[str, Any]:
    """The outcome costs of a fit; the rows of its validation set are weighted by them as those to learn."""
    from miserly.learners.base.outcomes import price_mistakes

    own = price_mistakes(learner, held.X, held.y, None, held.outcomes)
    return {"outcome_costs": outcomes, "sample_weight_val": None if own is None else own.weight}


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


def _with_reference(plan: Plan, on_codes: Plan, rows: Rows) -> Plan:
    """The plan with what it did on the validation set, for a `Monitor`; `on_codes` reads codes."""
    from miserly.runtime import Reference

    run = on_codes.run(rows.X, compiled=engine_for(plan, len(rows)), **rows.own_costs)
    return replace(Reference.of(on_codes, run), plan=plan.digest).attach(plan)


def _finished(plan: Plan, table: TrainingTable) -> Plan:
    """The plan with its categories and a note about the table."""
    return noted(plan.replace(categories=table.categories), table)


# -- plans in a terminal and as JSON -------------------------------------------------------------------------


def bought_in_order(plan: Plan) -> list[str]:
    """The features a plan may buy, in the order of buying."""
    names = [str(plan.costs.name(item.feature)) for step in purchases(plan) for item in step.items]
    return list(dict.fromkeys(names))


def plan_panel(description: str, title: str) -> Panel:
    """The description of a plan in a frame as wide as the terminal."""
    text = Text(reflowed(description, out.width - 4))
    return Panel(text, title=Text(title), title_align="left", border_style="dim")


def reflowed(text: str, width: int) -> str:
    """Text wrapped to a width. Indented lines are not joined.

    >>> print(reflowed("one two\\nthree\\n  four five six", 12))
    one two
    three
      four five
            six
    """
    lines: list[str] = []
    for line in text.splitlines():
        goes_on = lines and lines[-1] and line and not line.startswith(" ") and not lines[-1].startswith(" ")
        if goes_on and not lines[-1].endswith((".", ":")):
            lines[-1] += f" {line}"
        else:
            lines.append(line)
    return "\n".join(_broken(line, width) for line in lines)


def _broken(line: str, width: int) -> str:
    if len(line) <= width:
        return line
    hanging = " " * (8 if line.startswith(" ") else 0)
    return textwrap.fill(
        line, width, subsequent_indent=hanging, replace_whitespace=False, drop_whitespace=True
    )


def shortened(description: str) -> str:
    """A description without the details of single steps."""
    parts = description.split("\n\n")
    return "\n\n".join(
        part for part in parts if not part.startswith(("How the steps", "How the first steps"))
    )


def costs_table(plan: Plan, everything: bool) -> Table:
    """What features cost; those that the plan never buys only with `everything`."""
    costs = plan.costs
    used = set(plan.features.tolist())
    listed = [f for f in range(len(costs)) if f in used or everything]
    cost, setup = (f"{word} ({costs.unit})" if costs.unit else word for word in ("cost", "set-up"))
    table = new_table("feature", cost, "group", setup, "bought", right=(cost, setup))
    prices = amounts(float(costs.feature[f]) for f in listed)
    setups = amounts(costs.setup.tolist())
    for f, price in zip(listed, prices, strict=True):
        groups = costs.groups_of(f)
        names = Text(", ".join(costs.group_names[group] for group in groups))
        paid = " + ".join(setups[group] for group in groups)
        table.add_row(Text(str(costs.name(f))), price, names, paid, "yes" if f in used else "never")
    return table


def plan_record(plan: Plan) -> dict[str, Any]:
    """A plan as JSON."""
    return {
        "steps": len(plan.nodes),
        "terms": len(plan.terms),
        "link": plan.link,
        "classes": None if plan.classes is None else plan.classes.tolist(),
        "max_cost": plan.max_cost,
        "buys": bought_in_order(plan),
        "costs": plan.costs.to_dict(),
        "categories": {str(plan.costs.name(f)): list(values) for f, values in plan.categories.items()},
        "info": plan.info,
    }


def print_plan(plan: Plan, title: str, everything: bool) -> None:
    """The description of a plan, and its costs."""
    out.print(plan_panel(plan.describe(), title))
    out.print(costs_table(plan, everything))
    unused = np.setdiff1d(np.arange(plan.n_features), plan.features)
    if len(unused) and not everything:
        names = listing([str(plan.costs.name(int(f))) for f in unused])
        out.print(Text(f"Never bought: {names}.", style="dim"))


# -- fits ----------------------------------------------------------------------------------------------------


def fit_record(table: TrainingTable, fitted: FitResult, path: Path) -> dict[str, Any]:
    """The result of `fit` as JSON."""
    plan = fitted.plan
    return {
        "model": str(path),
        "task": table.task,
        "target": table.target,
        "rows": len(table.y),
        "validation_rows": fitted.n_validation,
        "rounds": len(plan.nodes),
        "stopped_by": fitted.stopped_by,
        "unit": plan.costs.unit,
        "max_cost": plan.max_cost,
        "buys": bought_in_order(plan),
        "metric": fitted.metric,
        "validation_value": None if fitted.estimate is None else fitted.estimate.mean_value,
        "validation_mean_cost": None if fitted.estimate is None else fitted.estimate.mean_cost,
        "total": fitted.total,
    }


def print_fit(table: TrainingTable, fitted: FitResult, path: Path) -> None:
    """The result of `fit` as text."""
    plan, unit = fitted.plan, fitted.plan.costs.unit
    facts = Table.grid(padding=(0, 2))
    facts.add_column(style="dim", no_wrap=True)
    facts.add_column(overflow="fold")
    facts.add_row("learned", Text(f"{table.target} ({_what(table)}) from {len(table.y):,} rows"))
    facts.add_row("rounds", f"{len(plan.nodes)} ({_why(fitted)})")
    facts.add_row("buys", Text(listing(bought_in_order(plan))))
    facts.add_row(
        "costs", f"at most {amount(plan.max_cost, unit)} of {amount(plan.costs.total, unit)} for all"
    )
    if (found := fitted.estimate) is not None:
        rows = f"on a validation set of {fitted.n_validation:,} rows, which also chose the number of rounds"
        if (total := fitted.total) is not None:
            between = f"95 % interval {total['total_low']:.2f} to {total['total_high']:.2f}"
            facts.add_row("total", Text(f"{total['words']} ({between})"))
        else:
            reached = f"{fitted.metric} {found.mean_value:.4g} for {amount(found.mean_cost, unit)} on average"
            facts.add_row("reaches", reached)
        facts.add_row("", Text(rows, style="dim"))
    facts.add_row("saved", Text(str(path)))
    out.print(facts)


def _what(table: TrainingTable) -> str:
    if table.task == "classes":
        classes = [str(label) for label in np.unique(table.y)]
        return f"{len(classes)} classes: {listing(classes, most=5)}"
    if table.task == "ranking":
        return f"a ranking within {len(np.unique(np.asarray(table.qid))):,} queries"
    return "a number"


def _why(fitted: FitResult) -> str:
    reasons = {
        "rounds": "the largest number allowed",
        "early stopping": "the best on the validation set",
        "no split": "nothing more was worth its price",
        "budget": "the budget was spent",
    }
    return reasons.get(fitted.stopped_by, fitted.stopped_by)
