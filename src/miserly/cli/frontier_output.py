"""The result of `miserly frontier` in a terminal and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.table import Table
from rich.text import Text

from miserly.cli.console import amount, amounts, listing, new_table, out, percent, shell_line, warn
from miserly.cli.frontier_search import ChosenModel, FrontierResult, has_budget
from miserly.cli.plans import bought_in_order
from miserly.report.page.content import SHARES
from miserly.selection.tables import short_name, shown

if TYPE_CHECKING:
    from miserly.selection import Frontier
    from miserly.selection.offers import Offer

__all__ = ["offers_table", "print_offers", "print_result", "result_record", "value_words"]

_RARE = 0.05  # features that fewer rows buy are not listed
_MOST_FEATURES = 5


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
    """What budgets buy. `word` is the heading of the column of features."""
    word_of_budget = offers[0].request.kind.replace("_", " ")
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
            *([Text(short_name(one.candidate.learner))] if with_learner else []),
            Text(listing(_bought(found, one), _MOST_FEATURES)),
            style="bold" if one is marked else "",
        )
    return table


def _add_same(table: Table, one: Offer, marked: Offer | None, n_more: int) -> None:
    """A line that refers to the smaller budget with the same model."""
    words = [""] * n_more + [f"no better model found: same as {amount(one.same_as or 0.0)}"]
    table.add_row(
        ("→ " if one is marked else "") + amount(one.budget),
        "",
        "",
        *words,
        style="bold" if one is marked else "dim",
    )


def print_offers(result: FrontierResult) -> None:
    """The table of budgets, and how its figures were estimated."""
    front, unit = result.frontier, result.frontier.costs.unit
    n_rows, target = len(result.table.y), result.table.target
    asked = result.request.amount if has_budget(result.request) else None
    marked = next((one for one in result.offers if one.budget == asked), None)
    total = amount(front.costs.total, unit)
    out.print(
        Text(f"{target}, {n_rows:,} rows; all {len(front.costs)} features cost {total} a row"),
        soft_wrap=True,
    )
    out.print(offers_table(front, result.offers, marked, with_learner=True, word="buys"))
    out.print(
        Text(
            f"{front.metric} ± one standard error and mean cost are estimates from held-out rows. They are "
            f"for the best of {len(front.candidates)} models of {len(front.learners)} learners inside each "
            "budget. Features are those of the delivered model that at least 5 % of rows buy.",
            style="dim",
        )
    )
    for learner in sorted({one.learner for one in front.failures}):
        error = next(one.error for one in front.failures if one.learner == learner)
        warn(f"{learner} failed: {error}")
    for why in dict.fromkeys(front.left_out.values()):
        names = [short_name(learner) for learner, reason in front.left_out.items() if reason == why]
        warn(f"left out: {listing(names)}: {why}")


def print_result(result: FrontierResult, report: Path | None, saved: Path | None) -> None:
    """The model for the request, and the files that were written. `print_offers` has printed the table."""
    facts = Table.grid(padding=(0, 2))
    facts.add_column(style="dim", no_wrap=True)
    facts.add_column(overflow="fold")
    if result.chosen is not None:
        _add_chosen(facts, result, result.chosen)
    total = _total(result)
    if total is not None:
        between = f"95 % interval {total['total_low']:.2f} to {total['total_high']:.2f}"
        facts.add_row("least total", Text(f"{total['words']} ({between})"))
    if report is not None:
        facts.add_row("report", Text(str(report)))
    if saved is not None and result.chosen is not None:
        facts.add_row("saved", Text(f"{saved}; see it with: {shell_line('miserly', 'show', saved)}"))
    if facts.row_count:
        out.print()
        out.print(facts)


def _add_chosen(facts: Table, result: FrontierResult, chosen: ChosenModel) -> None:
    metric, unit, offer = result.frontier.metric, result.frontier.costs.unit, chosen.offer
    facts.add_row("wanted", Text(_wanted(result)))
    facts.add_row("model", Text(shown(offer.candidate)))
    rows = "the held-out rows that chose it" if chosen.is_optimistic else "held-out rows"
    facts.add_row(
        "reaches",
        f"{metric} {value_words(metric, chosen.value, chosen.error)} for {amount(offer.cost, unit)} on "
        f"average, estimated from {rows}",
    )
    most = amount(chosen.plan.max_cost, unit)
    facts.add_row("pays", f"{amount(offer.pays, unit)} on average on your rows, {most} at most")
    facts.add_row("buys", Text(listing(bought_in_order(chosen.plan))))
    guarantees = [str(one) for one in offer.model.guarantee_]
    missing = "nothing; --confidence 0.95 asks for a guarantee"
    facts.add_row("guaranteed", Text("\n".join(guarantees) or missing))


def _total(result: FrontierResult) -> dict[str, Any] | None:
    """What a row costs in all with the best model for the request; None without outcome costs."""
    request = result.request
    if result.frontier.rows.outcomes is None or result.refusal is not None:
        return None
    limits = (None if amount == np.inf else amount for amount in (request.budget, request.mean_budget))
    budget, mean_budget = limits
    return result.frontier.total(budget, mean_budget=mean_budget)


def _wanted(result: FrontierResult) -> str:
    request, unit = result.request, result.frontier.costs.unit
    words = []
    if request.is_capped:
        words.append(f"no row costs more than {amount(request.budget, unit)}")
    if request.mean_budget < np.inf:
        words.append(f"{amount(request.mean_budget, unit)} or less on average")
    if request.max_loss is not None:
        words.append(f"{result.frontier.metric} at most {request.max_loss:g} worse than that of the best")
    return ", ".join(words) or f"the best {result.frontier.metric}"


def _bought(found: Frontier, one: Offer) -> list[str]:
    """The features that rows buy, the most bought first."""
    order = np.argsort(-one.share, kind="stable")
    return [str(found.costs.name(int(f))) for f in order if one.share[f] >= _RARE]


# -- JSON ----------------------------------------------------------------------------------------------------


def result_record(result: FrontierResult, report: Path | None, saved: Path | None) -> dict[str, Any]:
    """The result as JSON."""
    front = result.frontier
    return {
        "task": result.table.task,
        "target": result.table.target,
        "rows": len(result.table.y),
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
        "budgets": [_offer_record(front, one) for one in result.offers],
        "wanted": vars(result.request),
        "chosen": None if result.chosen is None else _chosen_record(result.chosen),
        "refused": result.refusal,
        "total": _total(result),
        "report": None if report is None else str(report),
        "saved": None if saved is None or result.chosen is None else str(saved),
    }


def _offer_record(found: Frontier, one: Offer) -> dict[str, Any]:
    return {
        one.request.kind: one.budget,
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


def _chosen_record(chosen: ChosenModel) -> dict[str, Any]:
    offer = chosen.offer
    return {
        "model": shown(offer.candidate),
        "value": chosen.value,
        "error": chosen.error,
        "value_is_of_rows_that_chose": chosen.is_optimistic,
        "mean_cost": offer.cost,
        "plan_mean_cost": offer.pays,
        "plan_max_cost": chosen.plan.max_cost,
        "buys": bought_in_order(chosen.plan),
        "guarantees": [vars(one) for one in offer.model.guarantee_],
    }
