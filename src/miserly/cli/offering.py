"""How a frontier looks in a terminal, and as a record for machines."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.table import Table
from rich.text import Text

from miserly.cli.console import amount, amounts, listing, out, percent, shell_line, warn
from miserly.cli.searching import Choice, Found, stem
from miserly.cli.showing import bought_in_order, new_table

if TYPE_CHECKING:
    from miserly.selection import Frontier
    from miserly.selection.offers import Offer

__all__ = ["found_record", "offers_table", "print_found", "print_offers", "value_words"]

SHARES = ("accuracy", "balanced_accuracy")  # metrics that people read in percent
SELDOM = 0.05  # features that fewer rows buy are not listed
MOST_FEATURES = 5


def value_words(metric: str, value: float, error: float) -> str:
    """
    >>> value_words("accuracy", 0.8186, 0.012), value_words("mse", 0.25, 0.001)
    ('81.9 % ± 1.2', '0.25 ± 0.001')
    """
    if metric in SHARES:
        return f"{percent(value)} ± {100 * error:.1f}"
    return f"{value:.4g} ± {error:.2g}"


def offers_table(
    found: Frontier, offers: Sequence[Offer], marked: Offer | None = None, *, with_learner: bool, word: str
) -> Table:
    """What budgets buy; `word` heads the column of features."""
    word_of_budget = offers[0].wish.kind.replace("_", " ")
    right = (word_of_budget, "mean cost")
    learner = ("learner",) if with_learner else ()
    table = new_table(word_of_budget, found.metric, "mean cost", *learner, word, right=right)
    bills = amounts(one.cost for one in offers)
    for one, bill in zip(offers, bills, strict=True):
        if one.same_as is not None:
            _add_same(table, one, marked, len(learner))
            continue
        table.add_row(
            ("→ " if one is marked else "") + amount(one.budget),
            value_words(found.metric, one.value, one.error),
            bill,
            *([Text(stem(one.candidate.learner))] if with_learner else []),
            Text(listing(_bought(found, one), MOST_FEATURES)),
            style="bold" if one is marked else "",
        )
    return table


def _add_same(table: Table, one: Offer, marked: Offer | None, n_more: int) -> None:
    """A line that says of which smaller budget its model is."""
    words = [""] * n_more + [f"no better model found: same as {amount(one.same_as or 0.0)}"]
    table.add_row(
        ("→ " if one is marked else "") + amount(one.budget),
        "",
        "",
        *words,
        style="bold" if one is marked else "dim",
    )


def print_offers(found: Found) -> None:
    """The table of budgets, and how its figures came about."""
    front, unit = found.frontier, found.frontier.costs.unit
    n_rows, target = len(found.problem.y), found.problem.target
    asked = found.wanted.wish.amount if found.wanted.has_budget else None
    marked = next((one for one in found.offers if one.budget == asked), None)
    all_of_it = amount(front.costs.total, unit)
    out.print(
        Text(f"{target}, {n_rows:,} rows; all {len(front.costs)} features cost {all_of_it} a row"),
        soft_wrap=True,
    )
    out.print(offers_table(front, found.offers, marked, with_learner=True, word="buys"))
    out.print(
        Text(
            f"{front.metric} ± one standard error and mean cost are estimates from held-out rows: what a "
            f"budget buys of {len(front.candidates)} models of {len(front.learners)} learners. Features are "
            "those of the delivered model that at least one row in twenty buys.",
            style="dim",
        )
    )
    for learner in sorted({one.learner for one in front.failures}):
        told = next(one.error for one in front.failures if one.learner == learner)
        warn(f"{learner} failed: {told}")
    for why in dict.fromkeys(front.left_out.values()):
        names = [stem(learner) for learner, told in front.left_out.items() if told == why]
        warn(f"left out: {listing(names)}: {why}")


def print_found(found: Found, report: Path | None, saved: Path | None) -> None:
    """The model for what was wanted, and what was written; the table is there already."""
    facts = Table.grid(padding=(0, 2))
    facts.add_column(style="dim", no_wrap=True)
    facts.add_column(overflow="fold")
    if found.choice is not None:
        _add_choice(facts, found, found.choice)
    if report is not None:
        facts.add_row("report", Text(str(report)))
    if saved is not None and found.choice is not None:
        facts.add_row("saved", Text(f"{saved}; see it with: {shell_line('miserly', 'show', saved)}"))
    if facts.row_count:
        out.print()
        out.print(facts)


def _add_choice(facts: Table, found: Found, choice: Choice) -> None:
    metric, unit = found.frontier.metric, found.frontier.costs.unit
    facts.add_row("wanted", Text(_wanted(found)))
    facts.add_row("model", Text(choice.name))
    facts.add_row(
        "reaches",
        f"{metric} {value_words(metric, choice.value, choice.error)} for {amount(choice.cost, unit)} on "
        f"average, by models of its kind on held-out rows{', which chose it' if choice.flatters else ''}",
    )
    most = amount(choice.plan.max_cost, unit)
    facts.add_row("pays", f"{amount(choice.pays, unit)} on average over your rows, {most} at most")
    facts.add_row("buys", Text(listing(bought_in_order(choice.plan))))
    promises = [str(one) for one in choice.promises]
    facts.add_row("promised", Text("\n".join(promises) or "nothing; --confidence 0.95 asks for a promise"))


def _wanted(found: Found) -> str:
    wanted, unit = found.wanted, found.frontier.costs.unit
    words = []
    if wanted.budget is not None:
        words.append(f"no row costs more than {amount(wanted.budget, unit)}")
    if wanted.mean_budget is not None:
        words.append(f"{amount(wanted.mean_budget, unit)} or less on average")
    if wanted.max_loss is not None:
        words.append(f"{found.frontier.metric} at most {wanted.max_loss:g} worse than that of the best")
    return ", ".join(words)


def _bought(found: Frontier, one: Offer) -> list[str]:
    """Features, those that most rows buy first."""
    order = np.argsort(-one.share, kind="stable")
    return [str(found.costs.name(int(f))) for f in order if one.share[f] >= SELDOM]


# -- for machines --------------------------------------------------------------------------------------------


def found_record(found: Found, report: Path | None, saved: Path | None) -> dict[str, Any]:
    """What came of a search, for machines."""
    front = found.frontier
    return {
        "task": found.problem.task,
        "target": found.problem.target,
        "rows": len(found.problem.y),
        "metric": front.metric,
        "unit": front.costs.unit,
        "cost_of_all_features": front.costs.total,
        "learners": front.learners,
        "models": len(front.candidates),
        "seconds": round(front.seconds, 3),
        "failures": [
            {"learner": one.learner, "params": one.params, "error": one.error} for one in front.failures
        ],
        "left_out": front.left_out,
        "budgets": [_offer_record(front, one) for one in found.offers],
        "wanted": vars(found.wanted),
        "chosen": None if found.choice is None else _choice_record(found.choice),
        "refused": found.refusal,
        "report": None if report is None else str(report),
        "saved": None if saved is None or found.choice is None else str(saved),
    }


def _offer_record(found: Frontier, one: Offer) -> dict[str, Any]:
    return {
        one.wish.kind: one.budget,
        "learner": one.candidate.learner,
        "params": dict(one.candidate.params),
        "value": one.value,
        "value_low": one.low,
        "value_high": one.high,
        "mean_cost": one.cost,
        "cost_95": one.cost_95,
        "plan_cost": one.pays,
        "max_cost": one.max_cost,
        "note": one.note,
        "buys": {str(found.costs.name(f)): float(s) for f, s in enumerate(one.share) if s > 0},
    }


def _choice_record(choice: Choice) -> dict[str, Any]:
    return {
        "model": choice.name,
        "value": choice.value,
        "error": choice.error,
        "value_is_of_rows_that_chose": choice.flatters,
        "mean_cost": choice.cost,
        "plan_mean_cost": choice.pays,
        "plan_max_cost": choice.plan.max_cost,
        "buys": bought_in_order(choice.plan),
        "promises": [vars(one) for one in choice.promises],
    }
