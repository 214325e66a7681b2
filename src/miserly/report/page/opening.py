"""The top of a report: what to do first, then what to expect and why."""

from __future__ import annotations

import numpy as np

from miserly.plan.show.phrases import plural
from miserly.report.page.actions import actions
from miserly.report.page.content import ReportContent
from miserly.report.page.html import paragraph, text
from miserly.selection.guarantee import Guarantee
from miserly.selection.offers import Offer

__all__ = ["opening"]


def opening(content: ReportContent, title: str) -> str:
    """Title, what to do, what to expect of it, guarantee, comparison, and the facts in short."""
    return "\n".join(
        [
            f"<h1>{text(title)}</h1>",
            f'<p class="lead">{_what_to_do(content)}</p>',
            paragraph(f"{_figures(content)} {_tail(content, content.chosen)}"),
            *(paragraph(words, "guarantee") for words in _guarantees(content)),
            paragraph(_comparison(content)),
            _facts(content),
        ]
    )


def _what_to_do(content: ReportContent) -> str:
    """The purchases for the budget, as HTML."""
    words, purchases = content.words, actions(content.chosen, content.words)
    budget = f"{words.budget} of {words.price(content.chosen.budget)} per {words.row}"
    if content.was_asked:
        return f"{text(f'For a {budget}')}, {purchases}"
    suggestion = (
        f"No budget was given. The suggestion is a {budget}: the smallest one whose {words.metric} is within "
        "one standard error of the best."
    )
    return f"{text(suggestion)} {purchases[:1].upper()}{purchases[1:]}"


def _figures(content: ReportContent) -> str:
    words, one = content.words, content.chosen
    reach = "The model reaches" if one.is_second else "Expect"
    return (
        f"{reach} {words.a_metric} of {words.value(one.value)} (95 % interval "
        f"{words.interval(one.low, one.high)}) for {words.price(one.cost)} per {words.row} on average. Both "
        f"are estimates from held-out {words.rows}.{_otherwise(content)}"
    )


def _otherwise(content: ReportContent) -> str:
    """The cost of the delivered plan if it differs, and whether a smaller budget is enough."""
    words, one = content.words, content.chosen
    paid = f" On the given {words.rows} the delivered plan costs {words.price(one.pays)} on average."
    note = paid if one.pays_otherwise else ""
    if one.same_as is not None:
        note += f" No better model was found than the one for {words.price(one.same_as)}."
    return note


def _tail(content: ReportContent, one: Offer) -> str:
    """The 95th percentile of the price, and the maximum."""
    words, upper = content.words, one.max_cost
    if np.isclose(one.cost_95, upper) or np.ptp(one.run.cost) == 0.0:
        return f"No {words.row} pays more than {words.price(upper)}."
    return (
        f"95 % of {words.rows} pay {words.price(one.cost_95)} or less. "
        f"No {words.row} pays more than {words.price(upper)}."
    )


def _guarantees(content: ReportContent) -> list[str]:
    return [_guarantee(content, one) for one in content.guarantees]


def _guarantee(content: ReportContent, one: Guarantee) -> str:
    words = content.words
    if one.kind == "each row":
        most = words.price(one.limit)
        return f"Guaranteed: no {words.row} ever pays more than {most}. The plan stops there."
    units = "queries" if words.is_ranking else words.rows
    what = f"a {words.row} (by the mean of its query)" if words.is_ranking else f"a {words.row}"
    return (
        f"Guaranteed with {100 * one.confidence:g} % confidence: on new {words.rows} like these, {what} "
        f"costs {words.price(one.limit)} or less on average. {one.n_units:,} {units} that were not used for "
        f"training or selection paid {words.price(one.seen)} on average, which gives an upper bound of "
        f"{words.price(one.bound)}."
    )


def _comparison(content: ReportContent) -> str:
    """The answer without any purchase, the best model at any price, and the price of all features."""
    words, best, chosen = content.words, content.best, content.chosen
    parts = []
    if content.free is not None and chosen is not content.free:
        parts.append(f"Without paying anything, {words.metric} is {words.value(content.free.value)}.")
    if best.budget > chosen.budget:
        reach, price = words.value(best.value), words.price(best.cost)
        parts.append(f"The best found at any price reaches {reach} for {price} on average.")
    costs = content.found.costs
    total = words.price(costs.total)
    parts.append(f"Buying all {len(costs):,} features for a {words.row} would cost {total}.")
    return " ".join(parts)


def _facts(content: ReportContent) -> str:
    found, words, rows = content.found, content.words, content.found.rows
    queries = "" if rows.qid is None else f" in {len(np.unique(rows.qid)):,} queries"
    better = "higher is better" if found.greater_is_better else "lower is better"
    facts = {
        "Metric": f"{words.metric} ({better})",
        "Prices in": words.unit or "units of cost",
        "Data": f"{len(rows):,} {words.rows}{queries}, {len(found.costs):,} features",
        "Tried": f"{plural(len(found.candidates), 'model')} of {plural(len(found.learners), 'learner')}",
        "Evaluated": _measured(content),
    }
    if found.n_kept:
        facts["Kept for guarantees"] = f"{found.n_kept:,} of the {words.rows}"
    inside = "".join(f"<div><dt>{text(name)}</dt><dd>{text(fact)}</dd></div>" for name, fact in facts.items())
    return f'<dl class="facts">{inside}</dl>'


def _measured(content: ReportContent) -> str:
    """How rows were held out, in a few words."""
    parts, rows = content.found.splits, content.words.rows
    if len(parts) == 1:
        return f"on {len(parts[0][1]):,} held-out {rows}"
    return f"on held-out {rows}, {len(parts)} folds"
