"""`miserly demo`: heart disease with real prices; what each budget buys, and one patient step by step."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.table import Table
from rich.text import Text

from miserly.cli.console import amount, err, new_table, out, percent
from miserly.cli.frontier_output import offers_table, value_words
from miserly.cli.plans import plan_panel, shortened
from miserly.costs import Costs, Feature
from miserly.datasets import Dataset, load_heart
from miserly.plan import Plan, load
from miserly.plan.engine.stepping import Trail
from miserly.plan.facts import range_facts
from miserly.plan.metadata import FEATURES, merge_notes
from miserly.selection import Frontier, frontier
from miserly.selection.offers import Offer, offers, suggested
from miserly.selection.plan_budgets import budgets_of_offer, with_budgets
from miserly.selection.requests import Request

__all__ = ["run_demo"]

# At these budgets another test, or another group of tests, becomes affordable.
BUDGETS = (0, 1, 4, 12, 30, 110, 215, 323.97)
MAX_FITS = 24
PATIENT = 0  # of the table, for the example
WORDS: dict[str, Any] = {  # for people who are asked; those of the tests are in the cost file
    "title": "Heart disease check",
    "target": "heart disease",
    "about": (
        "Estimates whether a patient has heart disease, and orders a test only when it is worth its price. "
        "Fitted to the 270 patients of the Statlog heart data (UCI). A demonstration: not for medical use."
    ),
    "classes": {"absence": "No heart disease", "presence": "Heart disease"},
}


def run_demo(folder: Path) -> None:
    """Run the demo: print its tables and save its files in a folder."""
    started = time.perf_counter()
    folder.mkdir(parents=True, exist_ok=True)
    heart = load_heart()
    _introduce(heart)
    found = _learn(heart)
    made = offers(found, [Request(budget=budget) for budget in BUDGETS])
    chosen = made[suggested(made, greater_is_better=True)]
    _print_frontier(found, made, chosen)
    plan = _save(folder, found, chosen)
    out.print(plan_panel(shortened(plan.describe()), "heart.miser"))
    _step_through(plan, heart)
    _print_files(folder, time.perf_counter() - started)


def _introduce(heart: Dataset) -> None:
    assert heart.costs is not None
    text = (
        f": {len(heart)} patients, {heart.X.shape[1]} tests with real prices in Canadian dollars. The first "
        "test of a group (blood, exercise, thallium) pays for its set-up. All tests together cost "
        f"{amount(heart.costs.total)} per patient. What does each budget buy? A budget is a cap: no patient "
        "costs more.\n"
    )
    out.print(Text.assemble(("Heart disease", "bold"), text))


# -- learning ------------------------------------------------------------------------------------------------


def _learn(heart: Dataset) -> Frontier:
    """The frontier of some quick learners, with progress."""
    from miserly.learners import CostLassoClassifier, EarlyExit, GreedyMiserClassifier

    miser = GreedyMiserClassifier(max_depth=1, n_rounds=60)
    with err.status("compiling (once on a new machine, half a minute)"):
        GreedyMiserClassifier(max_depth=1, n_rounds=1).fit(heart.X, heart.y)
    return frontier(
        [miser, CostLassoClassifier(), EarlyExit(miser)],
        heart.X,
        _labels(heart),
        costs=heart.costs,
        budgets=BUDGETS,
        max_fits=MAX_FITS,
        certify=0,
        random_state=0,
        verbose=1,
    )


def _labels(heart: Dataset) -> NDArray[np.str_]:
    labels: NDArray[np.str_] = np.array(heart.classes)[heart.y]
    return labels


# -- showing -------------------------------------------------------------------------------------------------


def _print_frontier(found: Frontier, made: Sequence[Offer], chosen: Offer) -> None:
    out.print(offers_table(found, made, chosen, with_learner=False, word="tests used"))
    out.print(_legend(found, made))
    best = max(made, key=lambda one: one.value)
    reached = value_words("accuracy", best.value, best.error)
    out.print(
        "\nAccuracy ± one standard error and mean cost are estimates from held-out patients. They are for "
        f"the best of {len(found.points)} models of {len(found.learners)} learners inside each budget. Tests "
        f"are those of the delivered plan. [bold]Chosen: "
        f"{amount(chosen.budget, found.costs.unit)}[/], the cheapest within one standard error of the best "
        f"({reached}).\n",
        markup=True,
    )


def _legend(found: Frontier, made: Sequence[Offer]) -> Text:
    share = np.max([one.share for one in made], axis=0)
    used = [found.costs.name(int(f)) for f in np.flatnonzero(share)]
    return Text("; ".join(f"{name}: {_label(found.costs, name)}" for name in used), style="dim")


def _label(costs: Costs, name: Feature) -> str:
    return str(costs.notes[name]["label"])


def _step_through(plan: Plan, heart: Dataset) -> None:
    """One patient: the tests in order, their prices, and the probability of disease so far."""
    patient = dict(zip(heart.feature_names, heart.X[PATIENT].tolist(), strict=True))
    assert heart.costs is not None
    right = ("result", "price", "paid so far", "risk so far")
    table = new_table("asked", *right, right=right)
    trail, paid = plan.start(), 0.0
    while need := trail.next():
        trail.tell({name: patient[str(name)] for name in need})
        price, paid = trail.cost - paid, trail.cost
        asked = ", ".join(f"{name}: {_label(heart.costs, name)}" for name in need)
        results = ", ".join(f"{patient[str(name)]:g}" for name in need)
        table.add_row(Text(asked), results, f"{price:.2f}", f"{paid:.2f}", percent(_chance(trail)))
    out.print(Text("\nOne patient of the table, step by step", style="bold"))
    out.print(table)
    out.print(
        f"Answer: [bold]{trail.answer().value}[/] of heart disease, "
        f"for {amount(trail.cost, plan.costs.unit)}. The true label is {_labels(heart)[PATIENT]}.\n",
        markup=True,
    )


def _chance(trail: Trail) -> float:
    """The probability of disease so far."""
    probabilities = trail.answer().probabilities
    assert probabilities is not None
    return float(probabilities[1])


# -- keeping -------------------------------------------------------------------------------------------------


def _save(folder: Path, found: Frontier, chosen: Offer) -> Plan:
    """Save the plan, its drawing and the report. Returns the plan as loaded from its file."""
    fitted = chosen.plan
    facts = merge_notes(fitted.info, range_facts(fitted, load_heart().X))
    info = {**fitted.info, "task": "classes", "budget": chosen.budget, FEATURES: facts}
    noted = with_budgets(fitted.replace(info=info), budgets_of_offer(found, chosen))
    noted.with_metadata(**WORDS).save(folder / "heart.miser")
    plan = load(folder / "heart.miser")
    plan.draw().save(folder / "plan.svg")
    found.to_html(folder / "report.html", chosen.budget, title="Heart disease: what a budget buys")
    return plan


def _print_files(folder: Path, seconds: float) -> None:
    table = Table.grid(padding=(0, 2))
    for name, what in {
        "report.html": "what each budget buys, for a browser",
        "heart.miser": f"the plan; try it with: miserly ask {folder / 'heart.miser'}",
        "": f"or in a browser: miserly serve {folder / 'heart.miser'}",
        "plan.svg": "what the plan buys, in which order",
    }.items():
        table.add_row(Text(f"  {name}"), Text(what, style="dim"))
    out.print(Text.assemble("Saved in ", (str(folder), "bold"), f" ({seconds:.0f} seconds):"))
    out.print(table)
