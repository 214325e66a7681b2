"""The top of a report: what to do first, then what to expect and why."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from miserly.plan.gates import Confidence
from miserly.plan.purchases import purchases
from miserly.plan.show.phrases import plural
from miserly.plan.show.wording import Wording
from miserly.report.page.content import ReportContent, Words
from miserly.report.page.html import paragraph, text
from miserly.report.page.purchase_charts import feature_name
from miserly.report.style import percent
from miserly.selection.guarantee import Guarantee
from miserly.selection.offers import Offer
from miserly.selection.totals import offer_parts, total_words

__all__ = ["actions", "opening"]


def opening(content: ReportContent, title: str) -> str:
    """Title, what to do, what to expect of it, guarantee, comparison, and the facts in short."""
    return "\n".join(
        [
            f"<h1>{text(title)}</h1>",
            f'<p class="lead">{_what_to_do(content)}</p>',
            paragraph(f"{_figures(content)} {_tail(content)}"),
            *(paragraph(line) for line in _total(content)),
            *(paragraph(_guarantee(content, one), "guarantee") for one in content.guarantees),
            paragraph(_comparison(content)),
            _facts(content),
        ]
    )


def _what_to_do(content: ReportContent) -> str:
    """The purchases for the budget, as HTML."""
    words, advice = content.words, actions(content.chosen, content.words)
    budget = f"{words.budget} of {words.price(content.chosen.budget)} per {words.row}"
    if content.was_asked:
        return f"{text(f'For a {budget}')}, {advice}"
    of_total = content.chosen.candidate.includes_cost
    which = "the lowest" if of_total else "within one standard error of the best"
    smallest = f"the smallest one whose {words.metric} is {which}"
    suggestion = f"No budget was given. The suggestion is a {budget}: {smallest}."
    return f"{text(suggestion)} {advice[:1].upper()}{advice[1:]}"


def _figures(content: ReportContent) -> str:
    words, one = content.words, content.chosen
    reach = "The model reaches" if one.is_second else "Expect"
    value, price = words.value(one.value), words.price(one.cost)
    between = f"(95 % interval {words.interval(one.low, one.high)})"
    figures = (
        f"{value} per {words.row} on average {between}, {price} of it for tests"
        if words.is_total
        else f"{value} {between} for {price} per {words.row} on average"
    )
    return (
        f"{reach} {words.a_metric} of {figures}. Both are estimates from held-out {words.rows}."
        f"{_otherwise(content)}"
    )


def _total(content: ReportContent) -> list[str]:
    """What a row costs in all, if it is known what mistakes cost."""
    parts = offer_parts(content.chosen)
    if parts is None:
        return []
    words = content.words
    line = total_words(parts, words.unit, words.row)
    between = f"{parts['total_low']:.2f} to {parts['total_high']:.2f}"
    return [f"{line} (95 % interval of the sum: {between}). {_choice(content)}".rstrip()]


def _choice(content: ReportContent) -> str:
    """Why the total may be another than that of `Frontier.total`, which compares all models by it."""
    if not content.words.is_total:
        return f"The model was chosen by {content.words.metric}: another one may have a lower total."
    if content.was_asked:
        return ""
    return (
        "The model was chosen for a round budget: total(), which compares all models, may give another sum."
    )


def _otherwise(content: ReportContent) -> str:
    """The cost of the delivered plan if it differs, and whether a smaller budget is enough."""
    words, one = content.words, content.chosen
    paid = f" On the given {words.rows} the delivered plan costs {words.price(one.pays)} on average."
    note = paid if one.pays_otherwise else ""
    if one.same_as is not None:
        note += f" No better model was found than the one for {words.price(one.same_as)}."
    return note


def _tail(content: ReportContent) -> str:
    """The 95th percentile of the price, and the maximum."""
    words, one, upper = content.words, content.chosen, content.chosen.max_cost
    if np.isclose(one.cost_95, upper) or np.ptp(one.run.cost) == 0.0:
        return f"No {words.row} pays more than {words.price(upper)}."
    return (
        f"95 % of {words.rows} pay {words.price(one.cost_95)} or less. "
        f"No {words.row} pays more than {words.price(upper)}."
    )


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
        reached = words.reached(best.value, best.cost)
        parts.append(f"The best found at any price reaches {reached} on average.")
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


# -- what to do: which features to buy, and for how many rows ------------------------------------------------

_RARE = 0.005  # features that fewer rows buy are not listed
_EVERY = 0.995  # from this share on: every row
_CLOSE = 0.03  # shares of rows that differ by less are listed together
_MOST_NAMES = 6  # features named in a sentence
_MOST_SENTENCES = 4
_LONGEST = 32  # letters of a name


@dataclass(frozen=True)
class _Step:
    """Features that are bought for the same share of rows."""

    features: tuple[int, ...]
    share: float
    are_unclear: bool  # whether these are the rows that took no earlier exit


def actions(one: Offer, words: Words) -> str:
    """The purchases of an offer as HTML sentences, the first without a capital letter.

    Shares are those of the given rows with the delivered plan.
    """
    steps = _steps(one)
    if not steps:
        return f"buy nothing and give {_constant(one)} to every {text(words.row)}."
    sentences = [f"buy {_names(step, one)} for {_rows(step, words)}." for step in steps[:_MOST_SENTENCES]]
    rest = sum(len(step.features) for step in steps[_MOST_SENTENCES:])
    if rest:
        sentences.append(f"buy {rest} more for fewer {words.rows}.")
    return " B".join([sentences[0], *(sentence[1:] for sentence in sentences[1:])])


def _steps(one: Offer) -> list[_Step]:
    """Features by the share of rows that buy them, the largest first; within one, in the plan's order."""
    share, first = one.share, _first_nodes(one)
    bought = [f for f in sorted(first, key=lambda f: -share[f]) if share[f] >= _RARE]
    groups: list[list[int]] = []
    for f in bought:
        near = groups and share[groups[-1][0]] - share[f] < _CLOSE
        is_every = bool(groups) and share[groups[-1][0]] >= _EVERY
        if near and is_every == (share[f] >= _EVERY):
            groups[-1].append(f)
        else:
            groups.append([f])
    return [_step(one, sorted(group, key=list(first).index), first) for group in groups]


def _step(one: Offer, group: list[int], first: dict[int, int]) -> _Step:
    share = float(one.run.acquired[:, group].any(axis=1).mean())
    if share >= _EVERY > one.share[group].min():  # every row buys one of them, and not every row buys each
        share = float(one.share[group].max())
    return _Step(tuple(group), share, _are_unclear(one, min(first[f] for f in group), share))


def _first_nodes(one: Offer) -> dict[int, int]:
    """The node that first buys each feature, in the plan's order."""
    first: dict[int, int] = {}
    for k, purchase in enumerate(purchases(one.plan)):
        for item in purchase.items:
            first.setdefault(item.feature, k)
    return first


def _are_unclear(one: Offer, node: int, share: float) -> bool:
    """Whether a node of a chain buys exactly for the rows that no earlier exit was confident about."""
    plan = one.plan
    leaves = [k for k, at in enumerate(plan.nodes) if at.is_exit]
    if plan.has_forks or not leaves or leaves[0] >= node:
        return False
    by_doubt = all(isinstance(plan.nodes[k].gate, Confidence) for k in leaves)
    return by_doubt and share >= 0.95 * float(np.mean(one.run.exit >= node))


def _names(step: _Step, one: Offer) -> str:
    shown = step.features if len(step.features) <= _MOST_NAMES else step.features[: _MOST_NAMES - 1]
    named = [f"<em>{text(feature_name(one.plan.costs, f, _LONGEST))}</em>" for f in shown]
    more = len(step.features) - len(shown)
    if more:
        named.append(f"{more} more")
    return named[0] if len(named) == 1 else f"{', '.join(named[:-1])} and {named[-1]}"


def _rows(step: _Step, words: Words) -> str:
    if step.share >= _EVERY:
        return f"every {words.row}"
    share = text(percent(step.share))
    return f"the {share} of {words.rows} still unclear" if step.are_unclear else f"{share} of {words.rows}"


def _constant(one: Offer) -> str:
    """What a plan that buys nothing answers."""
    plan = one.plan
    if plan.classes is None:
        return "the same answer"
    return f"the answer {text(Wording(plan).answer(plan.predict(one.rows.X[:1]).tolist()[0]))}"
