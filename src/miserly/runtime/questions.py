"""The questions of an interview: what each of them says, and what a plan needs to say it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from miserly.plan.engine.ahead import certain, remaining
from miserly.plan.engine.stepping import Answer, answers_of
from miserly.plan.facts import FeatureFacts, feature_facts
from miserly.plan.nodes import LEAVE
from miserly.plan.show.wording import Wording, when

if TYPE_CHECKING:
    from miserly.plan import Plan
    from miserly.plan.engine.stepping import Trail
    from miserly.runtime.on_demand import OnDemand

__all__ = ["Guide", "Question", "few_examples", "guide_of", "outlook", "why_here"]

_MOST_EXAMPLES = 24  # values that the outlook looks at


@dataclass(frozen=True, eq=False)
class Question:
    """What a plan asks for now.

    Attributes
    ----------
    feature : str or int
        The feature, by name or by column.
    column : int
        Its column.
    facts : FeatureFacts
        Its meaning, unit, range and categories.
    price : float
        What its value costs, with the set-up of its group if that is not paid yet.
    setup : float
        The part of the price that sets up its group.
    group : str
        The name of its group; empty if it has none.
    cost : float
        What was paid so far.
    budget : float
        The cap; infinite if there is none.
    answer : Answer
        The answer of the plan if it is stopped now.
    outlook : tuple of Answer
        The answers that the plan may have after this question, for values that it may tell apart; empty if
        nothing is known about the values.
    why : str
        Which part of the plan needs the value, and where it may end, in words.
    certain : tuple
        The features that will be asked for next, whatever the value is.
    possible : tuple
        The other features that may be asked for, in the order of the plan.
    most : float
        The most that can still be paid, the price of this feature included.
    examples : tuple
        The values that `outlook` has the answers for.
    """

    feature: Any
    column: int
    facts: FeatureFacts
    price: float
    setup: float
    group: str
    cost: float
    budget: float
    answer: Answer
    outlook: tuple[Answer, ...]
    why: str
    certain: tuple[Any, ...]
    possible: tuple[Any, ...]
    most: float
    examples: tuple[Any, ...] = ()


class Guide:
    """What questions say about a plan and does not change from one interview to the next.

    Parameters
    ----------
    plan : Plan
        The plan.
    """

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.words = Wording(plan)
        self.parents: list[int] = plan.parents.tolist()
        self.noun = "node" if plan.has_forks else "step"
        self._facts: dict[int, FeatureFacts] = {}

    def facts(self, column: int) -> FeatureFacts:
        """Return what the plan says about a column.

        Parameters
        ----------
        column : int
            The number of the column.

        Returns
        -------
        FeatureFacts
        """
        if column not in self._facts:
            self._facts[column] = feature_facts(self.plan, column)
        return self._facts[column]

    def question(self, trail: Trail) -> Question:
        """Return the question that a trail is at.

        Parameters
        ----------
        trail : Trail
            One that needs a feature.

        Returns
        -------
        Question
        """
        costs, f = self.plan.costs, trail.need
        groups = costs.groups_of(f)
        sure = [one for one in certain(trail, onward=True) if one != f]
        facts = self.facts(f)
        others, most = remaining(trail)
        own = float(trail.listed_prices[f])
        price = trail.price(f)
        return Question(
            feature=costs.name(f),
            column=f,
            facts=facts,
            price=price,
            setup=max(0.0, price - own) if groups else 0.0,
            group=", ".join(costs.group_names[group] for group in groups),
            cost=trail.cost,
            budget=trail.budget,
            answer=trail.answer(),
            outlook=outlook(trail, facts),
            why=why_here(trail, self),
            certain=tuple(map(costs.name, sure)),
            possible=tuple(costs.name(one) for one in others if one not in sure),
            most=most,
            examples=few_examples(facts, _MOST_EXAMPLES),
        )


_GUIDES: WeakKeyDictionary[OnDemand, Guide] = WeakKeyDictionary()


def guide_of(served: OnDemand) -> Guide:
    """Return the guide of what is served, which is made once."""
    guide = _GUIDES.get(served)
    if guide is None:
        guide = _GUIDES[served] = Guide(served.plan)
    return guide


def outlook(trail: Trail, facts: FeatureFacts) -> tuple[Answer, ...]:
    """Return the answers after the question that a trail is at, for some of its values."""
    ends, encoder = [], trail.plan.encoder
    for value in few_examples(facts, _MOST_EXAMPLES):
        after = trail.copy()
        after.put(after.need, encoder.value(after.need, value))
        ends.append(after)
    return answers_of(ends)


def few_examples(facts: FeatureFacts, most: int) -> tuple[Any, ...]:
    """Return values that the plan may tell apart, evenly spaced among them if there are more than `most`."""
    examples = facts.examples
    if len(examples) <= most:
        return examples
    return tuple(examples[i * (len(examples) - 1) // (most - 1)] for i in range(most))


def why_here(trail: Trail, guide: Guide) -> str:
    """Say which node a trail is in, why it came there, and where it may leave next."""
    if trail.unpaid_amounts:
        return "what a mistake costs depends on it."
    plan, k = trail.plan, trail.node
    parents, noun, words = guide.parents, guide.noun, guide.words
    text = f"{noun} {k + 1} of {len(plan.nodes)} uses it"
    if plan.nodes[k].acquisition is not None:
        text += ": given what is known, it tells the answers apart best for its price"
    parent, child = parents[k], k
    while parent >= 0 and not plan.nodes[parent].gate.decides:
        parent, child = parents[parent], parent
    if parent >= 0:
        gate = plan.nodes[parent].gate
        passed = gate.up_words(words) if plan.nodes[parent].up == child else gate.low_words(words)
        text += f", which is reached {when(passed)} (after {noun} {parent + 1})"
    leaving = _next_exit(trail)
    if leaving >= 0:
        node = plan.nodes[leaving]
        rule = node.gate.low_words(words) if node.low == LEAVE else node.gate.up_words(words)
        text += f". The plan may end after {noun} {leaving + 1}: {when(rule)}"
    return f"{text}."


def _next_exit(trail: Trail) -> int:
    """The first node from here on where rows may leave before the end; -1 if the ways part before."""
    nodes, k = trail.plan.nodes, trail.node
    while k != LEAVE:
        node = nodes[k]
        if node.is_exit:
            return k
        if node.gate.decides and node.up != LEAVE and node.low != LEAVE:
            return -1
        k = node.up if node.up != LEAVE or not node.gate.decides else node.low
    return -1
