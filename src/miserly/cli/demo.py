"""`miserly demo`: heart disease with real prices; what each budget buys, and a patient stepped through."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from miserly.cli.console import amount, amounts, err, out, percent
from miserly.cli.showing import new_table, plan_panel, shortened
from miserly.datasets import Dataset, load_heart
from miserly.plan import Plan, load
from miserly.plan.trail import Trail
from miserly.selection import Point, one_standard_error, sweep

__all__ = ["run_demo"]

# Where another test, or another group of tests, comes within reach.
BUDGETS = (0, 1, 4, 12, 30, 95, 110, 200, 215, 325)
TRADEOFFS = (0.0, 0.0003)
FOLDS = 5
PATIENT = 0  # of the table, for the example
TESTS = {
    "age": "age",
    "sex": "sex",
    "cp": "type of chest pain",
    "trestbps": "blood pressure at rest",
    "chol": "cholesterol",
    "fbs": "blood sugar, fasting",
    "restecg": "ECG at rest",
    "thalach": "highest heart rate",
    "exang": "chest pain in exercise",
    "oldpeak": "ST depression in exercise",
    "slope": "ST slope in exercise",
    "ca": "vessels seen in fluoroscopy",
    "thal": "thallium scan",
}


def run_demo(folder: Path) -> None:
    """Everything the demo shows and saves."""
    started = time.perf_counter()
    folder.mkdir(parents=True, exist_ok=True)
    heart = load_heart()
    _introduce(heart)
    points = _learn(heart)
    chosen = one_standard_error(points)
    _print_frontier(points, chosen)
    plan = _save(folder, points, chosen)
    out.print(plan_panel(shortened(plan.describe()), "heart.miser"))
    _step_through(plan, heart)
    _print_files(folder, time.perf_counter() - started)


def _introduce(heart: Dataset) -> None:
    assert heart.costs is not None
    text = (
        f": {len(heart)} patients, {heart.X.shape[1]} tests with real prices in Canadian dollars. The first "
        "test of a group (blood, exercise, thallium) pays for its set-up; all together cost "
        f"{amount(heart.costs.total)} per patient. What does each budget buy?\n"
    )
    out.print(Text.assemble(("Heart disease", "bold"), text))


# -- learning ------------------------------------------------------------------------------------------------


def _learn(heart: Dataset) -> list[Point]:
    """The frontier, with a line that says what is going on."""
    from sklearn.base import clone

    from miserly.learners import GreedyMiserClassifier

    learner = GreedyMiserClassifier(max_depth=1, n_rounds=60)
    with Progress(
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        TimeElapsedColumn(),
        console=err,
        transient=True,
    ) as bar:
        task = bar.add_task("getting ready (compiles once on a new machine, half a minute)", total=None)
        clone(learner).set_params(n_rounds=1).fit(heart.X, heart.y)
        bar.update(task, description=f"learning, {len(BUDGETS)} budgets, {FOLDS} folds")
        return sweep(
            learner,
            heart.X,
            _labels(heart),
            costs=heart.costs,
            budgets=BUDGETS,
            tradeoffs=TRADEOFFS,
            choose_by="log_loss",
            cv=FOLDS,
            random_state=0,
            progress=lambda done, steps: bar.update(task, completed=done, total=steps),
        )


def _labels(heart: Dataset) -> NDArray[np.str_]:
    labels: NDArray[np.str_] = np.array(heart.classes)[heart.y]
    return labels


# -- showing -------------------------------------------------------------------------------------------------


def _print_frontier(points: Sequence[Point], chosen: Point) -> None:
    table = new_table("budget", "accuracy", "average bill", "tests used", right=("budget", "average bill"))
    bills = amounts(point.cost for point in points)
    for point, bill in zip(points, bills, strict=True):
        table.add_row(
            ("→ " if point is chosen else "") + amount(point.budget),
            f"{percent(point.value)} ± {100 * point.error:.1f}",
            bill,
            Text(", ".join(point.features) or "none"),
            style="bold" if point is chosen else "",
        )
    out.print(table)
    out.print(_legend(points))
    best = max(points, key=lambda point: point.value)
    out.print(
        f"\nMeasured on patients held out: {FOLDS}-fold cross-validation, tradeoff and rounds chosen within "
        f"each fold. [bold]Chosen: {amount(chosen.budget, chosen.unit)}[/], the cheapest within one standard "
        f"error of the best ({percent(best.value)} less {100 * best.error:.1f}).\n"
    )


def _legend(points: Sequence[Point]) -> Text:
    used = dict.fromkeys(feature for point in points for feature in point.features)
    return Text("; ".join(f"{name}: {TESTS[name]}" for name in used if TESTS[name] != name), style="dim")


def _step_through(plan: Plan, heart: Dataset) -> None:
    """One patient: what is asked, in which order, at what price, and what the plan thinks by then."""
    patient = dict(zip(heart.feature_names, heart.X[PATIENT].tolist(), strict=True))
    right = ("result", "price", "paid so far", "risk by then")
    table = new_table("asked", *right, right=right)
    trail, paid = plan.start(), 0.0
    while need := trail.next():
        price, paid = trail.cost - paid, trail.cost
        trail.tell({name: patient[str(name)] for name in need})
        asked = ", ".join(f"{name}: {TESTS[str(name)]}" for name in need)
        results = ", ".join(f"{patient[str(name)]:g}" for name in need)
        table.add_row(Text(asked), results, f"{price:.2f}", f"{paid:.2f}", percent(_chance(trail)))
    out.print(Text("\nOne patient of the table, step by step", style="bold"))
    out.print(table)
    out.print(
        f"Answer: [bold]{trail.answer().value}[/] of heart disease, "
        f"for {amount(trail.cost, plan.costs.unit)}. In truth: {_labels(heart)[PATIENT]}.\n"
    )


def _chance(trail: Trail) -> float:
    """The probability of disease by what is known so far."""
    probabilities = trail.answer().probabilities
    assert probabilities is not None
    return float(probabilities[1])


# -- keeping -------------------------------------------------------------------------------------------------


def _save(folder: Path, points: Sequence[Point], chosen: Point) -> Plan:
    """The plan and the pictures; gives the plan as it is read back."""
    from miserly.report import plot_frontier

    fitted: Plan = chosen.model.plan_
    info = {**fitted.info, "task": "classify", "target": "disease", "budget": chosen.budget}
    fitted.replace(info=info).save(folder / "heart.miser")
    plan = load(folder / "heart.miser")
    plan.draw().save(folder / "plan.svg")
    pictures = [folder / "frontier.png", folder / "frontier.svg"]
    plot_frontier(points, pictures, chosen=chosen, title="Heart disease: what each budget buys")
    return plan


def _print_files(folder: Path, seconds: float) -> None:
    table = Table.grid(padding=(0, 2))
    for name, what in {
        "heart.miser": f"the plan; see it with: miserly show {folder / 'heart.miser'}",
        "frontier.png, .svg": "what each budget buys",
        "plan.svg": "what the plan buys, and when",
    }.items():
        table.add_row(Text(f"  {name}"), Text(what, style="dim"))
    out.print(Text.assemble("Saved in ", (str(folder), "bold"), f" ({seconds:.0f} seconds in all):"))
    out.print(table)
