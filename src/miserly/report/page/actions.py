"""What to do for a budget: which features to buy, and for how many rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from miserly.plan.gates import Confidence
from miserly.plan.purchases import purchases, stretches
from miserly.plan.show.wording import Wording
from miserly.report.page.html import text
from miserly.report.page.purchase_charts import feature_name
from miserly.report.page.words import Words
from miserly.report.style import percent
from miserly.selection.offers import Offer

__all__ = ["actions"]

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
    if len(stretches(plan)) > 1 or not leaves or leaves[0] >= node:
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
    labels = np.asarray(plan.classes).tolist()
    predicted = plan.predict(one.rows.X[:1]).tolist()[0]
    return f"the answer {text(Wording(plan).label(labels.index(predicted)))}"
