"""The words for the places where rows may leave a plan before its end."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from miserly.plan.nodes import LEAVE, Node
from miserly.plan.show.phrases import listing
from miserly.plan.show.wording import Wording

if TYPE_CHECKING:
    from miserly.plan.plan import Plan

__all__ = ["exits", "leaving", "when"]

_MOST_EXITS = 8  # different ones, each on its own line
_MOST_NAMED = 8  # numbers in a phrase


def leaving(node: Node, words: Wording) -> str:
    """When a row leaves at an exit: "if the score is at most 0"."""
    return when(node.gate.low_words(words) if node.low == LEAVE else node.gate.up_words(words))


def exits(plan: Plan, nodes: Sequence[int], words: Wording, noun: str) -> list[str]:
    """Where rows may leave, one line for equal gates; of very many gates, the first and the last one.

    `noun` is "step" (counted from 1) or "node" (numbered from 0).
    """
    places = [k for k in nodes if plan.nodes[k].is_exit]
    equal = _families([(leaving(plan.nodes[k], words), k) for k in places])
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
    first, last = leaving(plan.nodes[members[0]], words), leaving(plan.nodes[members[-1]], words)
    if first == last:
        return f"after {_named(members, noun)}, {first}"
    return f"after {_named(members, noun)}: {first} the first time, {last} the last time"


def when(condition: str) -> str:
    """A condition as the end of a sentence."""
    return condition if condition in ("always", "never") else f"if {condition}"
