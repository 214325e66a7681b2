"""The words for one plan: its features, groups, classes, scores and prices, and where rows may leave it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from miserly.plan.links import LINKS
from miserly.plan.nodes import LEAVE, Node
from miserly.plan.show.phrases import listing, plain

if TYPE_CHECKING:
    from miserly.plan.plan import Plan

__all__ = ["Wording", "exits", "when"]

_MOST_EXITS = 8  # different ones, each on its own line
_MOST_NAMED = 8  # numbers in a phrase


class Wording:
    """The words for one plan."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.unit = plain(plan.costs.unit)
        self._decimals = _decimals(plan)

    def feature(self, i: int) -> str:
        name = self.plan.costs.name(i)
        return plain(name) if isinstance(name, str) else f"feature {name}"

    def features(self, columns: Sequence[int], limit: int = 6) -> str:
        """Several features in one phrase; no more than `limit` of them are named."""
        shown = columns if len(columns) <= limit else columns[: limit - 1]
        return listing([self.feature(i) for i in shown], len(columns) - len(shown))

    def groups(self, numbers: Sequence[int]) -> str:
        return listing([plain(self.plan.costs.group_names[g]) for g in numbers])

    def amount(self, value: float) -> str:
        """A price without its unit, with as many decimals as this plan's prices need."""
        return f"{value:.6g}" if self._decimals is None else f"{value:.{self._decimals}f}"

    def price(self, value: float) -> str:
        return f"{self.amount(value)} {self.unit}" if self.unit else self.amount(value)

    def label(self, i: int) -> str:
        """Class number `i`, in quotes where it is text."""
        if self.plan.classes is None:
            return f"class {i}"
        label = self.plan.classes[i]
        return f'"{plain(label)}"' if isinstance(label, str) else str(label)

    def base_answer(self) -> str:
        """What the plan answers before its first node."""
        plan = self.plan
        return self.answer(plan.labels_from(plan.base[None, : plan.n_outputs])[0])

    def answer(self, answer: Any) -> str:
        """A class or an action, in quotes where it is text."""
        return f'"{plain(answer)}"' if isinstance(answer, str) else str(answer)

    def score(self, channel: int) -> str:
        """The name of one of the scores."""
        plan = self.plan
        if plan.n_scores == 1:
            return "the score"
        if channel < plan.n_outputs and plan.classes is not None and plan.n_outputs > 1:
            return f"the score of {LINKS[plan.link].output_words(channel, self)}"
        return f"score {channel + 1}"


def _decimals(plan: Plan) -> int | None:
    """0 if all prices are whole numbers, 2 if they are multiples of 0.01, otherwise None."""
    evaluations = list({term.evaluation for term in plan.terms})
    prices = np.concatenate([plan.costs.feature, plan.costs.setup, evaluations])
    if prices.size and prices.max() > 1e9:
        return None
    for digits in (0, 2):
        if np.allclose(np.round(prices, digits), prices, rtol=0.0, atol=1e-9):
            return digits
    return None


# -- exits: places where rows may leave a plan before its end ------------------------------------------------


def _leaving(node: Node, words: Wording) -> str:
    """When a row leaves at an exit: "if the score is at most 0"."""
    return when(node.gate.low_words(words) if node.low == LEAVE else node.gate.up_words(words))


def exits(plan: Plan, nodes: Sequence[int], words: Wording, noun: str) -> list[str]:
    """Where rows may leave: one line for equal gates. Of many gates, only the first and last are described.

    `noun` is "step" (counted from 1) or "node" (numbered from 0).
    """
    places = [k for k in nodes if plan.nodes[k].is_exit]
    equal = _families([(_leaving(plan.nodes[k], words), k) for k in places])
    if len(equal) <= _MOST_EXITS:
        return [f"after {_named(members, noun)}, {condition}" for condition, members in equal.items()]
    alike = _families([(f"{plan.nodes[k].gate.kind} {plan.nodes[k].low == LEAVE}", k) for k in places])
    return [_from_to(plan, members, words, noun) for members in alike.values()]


def _families(places: Sequence[tuple[str, int]]) -> dict[str, list[int]]:
    families: dict[str, list[int]] = {}
    for key, k in places:
        families.setdefault(key, []).append(k)
    return families


def _named(members: Sequence[int], noun: str) -> str:
    """Some nodes in one phrase: "steps 10, 20 and 30"."""
    numbers = [str(k + (noun == "step")) for k in members]
    if len(numbers) > _MOST_NAMED:
        return f"{len(numbers)} {noun}s from {numbers[0]} to {numbers[-1]}"
    return f"{noun}{'s' if len(numbers) > 1 else ''} {listing(numbers)}"


def _from_to(plan: Plan, members: list[int], words: Wording, noun: str) -> str:
    first, last = _leaving(plan.nodes[members[0]], words), _leaving(plan.nodes[members[-1]], words)
    if first == last:
        return f"after {_named(members, noun)}, {first}"
    return f"after {_named(members, noun)}: {first} the first time, {last} the last time"


def when(condition: str) -> str:
    """A condition as the end of a sentence."""
    return condition if condition in ("always", "never") else f"if {condition}"
