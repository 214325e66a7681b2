"""The words for a node that chooses its purchases."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from miserly.costs import fits
from miserly.plan.acquisition import MixtureAcquisition
from miserly.plan.engine.beliefs import Beliefs, decide, restart
from miserly.plan.nodes import Node
from miserly.plan.show.phrases import number, plural

if TYPE_CHECKING:
    from miserly.plan.plan import Plan
    from miserly.plan.show.wording import Wording

__all__ = ["acquisition_words", "first_choice"]


def acquisition_words(plan: Plan, node: Node, words: Wording, subject: str) -> list[str]:
    """What `subject`, a node with an acquisition, does: how it chooses, when it ends, what it scores."""
    chooses = node.acquisition
    assert chooses is not None
    pool = plural(len(chooses.pool), "feature")
    lines = [
        f"{subject} chooses what each row buys next, among {pool}: what tells the classes apart best, given "
        f"what is known of the row{_per_price(chooses)}"
    ]
    first = first_choice(plan, chooses)
    if first is not None:
        lines.append(f"  if nothing is known yet, it begins with {words.feature(first)}")
    lines.append(f"  it ends {_ending(chooses)}")
    verb = "adds" if node.inherits else "sets"
    scores = "the log odds of the classes" if plan.n_outputs == 1 else "the logarithms of their probabilities"
    where = "the score" if plan.n_scores == 1 else "the scores"
    lines.append(f"  it {verb} {scores} to {where}" if node.inherits else f"  it {verb} {where} to {scores}")
    return lines


def _per_price(chooses: MixtureAcquisition) -> str:
    if chooses.price_exponent == 0.0:
        return ", whatever it costs"
    exponent = chooses.price_exponent
    return ", per price" if exponent == 1.0 else f", per price to the power of {number(exponent)}"


def _ending(chooses: MixtureAcquisition) -> str:
    sure = "one class is certain" if chooses.confidence == 1.0 else (
        f"a class has a probability of {number(chooses.confidence)}"
    )  # fmt: skip
    if chooses.tradeoff:
        price = f"{number(chooses.tradeoff)} of the Brier score for each unit of its price"
        return f"when {sure}, or when nothing that fits the budget is expected to save {price}"
    return f"when {sure}, or when nothing more fits the budget"


def first_choice(plan: Plan, chooses: MixtureAcquisition) -> int | None:
    """The feature that is bought first if nothing is known, at the prices of the plan; None if there is none.

    Parameters
    ----------
    plan : Plan
        The plan.
    chooses : MixtureAcquisition
        The acquisition of the node.

    Returns
    -------
    int or None
    """
    table = chooses.table
    beliefs = Beliefs.empty(table)
    restart(table, beliefs)
    price = plan.costs.marginals(np.zeros(plan.n_features, dtype=np.bool_))[table.pool]
    due = np.where(fits(0.0, price, plan.budget), price, -1.0)
    p = decide(table, beliefs, due)
    return None if p < 0 else int(table.pool[p])
