"""An interview: a plan that is played with a person, one question at a time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from miserly.errors import DataError, SourceError
from miserly.plan.engine.ahead import certain, remaining
from miserly.plan.engine.stepping import Answer
from miserly.plan.facts import FeatureFacts, feature_facts
from miserly.plan.nodes import LEAVE
from miserly.plan.show.wording import Wording, when
from miserly.runtime.calls import Call, clock
from miserly.runtime.faults import Fault, Unavailable
from miserly.runtime.on_demand import OnDemand
from miserly.runtime.receipt import Receipt
from miserly.runtime.request import PredictionRequest

if TYPE_CHECKING:
    from miserly.plan.engine.stepping import Trail

__all__ = ["Interview", "Question"]

_MOST_EXAMPLES = 24  # values that the outlook looks at
NOT_AVAILABLE = "not available"


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


class _Reply(NamedTuple):
    """What was answered to one question."""

    value: Any
    declined: bool
    seconds: float


class Interview:
    """A plan that asks one question at a time, and waits for each answer.

    Each answer may be taken back. The interview ends when the plan has no more questions, the budget allows
    none, or it is stopped. It is one request of `OnDemand`, and ends with the same `Receipt`.

    Parameters
    ----------
    plan : Plan, str, Path, or a fitted model
        A plan, a file that holds one, or an estimator with a `plan_`.
    budget : float, optional
        No more than this is paid. The budget of the plan holds as well.
    known : mapping of feature to value, optional
        Values that are there already, for which nothing is paid.
    prices : mapping of feature or group to float, optional
        Prices that differ from those of the plan.

    Examples
    --------
    >>> from miserly import Costs, Plan
    >>> from miserly.plan import Node, Raw
    >>> nodes = [Node([0], [0], [1.0], [0.0], up=1), Node([1], [0], [1.0], [0.0])]
    >>> plan = Plan(costs=Costs({"age": 1.0, "chol": 5.0}), terms=[Raw(0), Raw(1)], nodes=nodes, base=[0.0])
    >>> interview = Interview(plan)
    >>> interview.question.feature, interview.question.certain, interview.question.most
    ('age', ('chol',), 6.0)
    >>> interview.reply(61.0)
    >>> interview.question.feature, float(interview.question.answer)
    ('chol', 61.0)
    >>> interview.stop()
    >>> interview.receipt().cost, interview.receipt().stopped_by
    (1.0, 'caller')
    """

    def __init__(
        self,
        plan: Any,
        budget: float | None = None,
        known: Mapping[Any, Any] | None = None,
        prices: Mapping[Any, float] | None = None,
    ) -> None:
        self._served = OnDemand(plan, compiled=False)
        self._given = (budget, None, dict(known) if known else None, dict(prices) if prices else None)
        self._begun = clock()
        self._replies: list[_Reply] = []
        self._question: Question | None = None
        self._call: Call | None = None
        self._words = Wording(self._served.plan)
        self._restart()

    # -- what is asked -------------------------------------------------------------------------------

    @property
    def question(self) -> Question | None:
        """What the plan asks for now; None when the interview has ended."""
        return self._question

    @property
    def answer(self) -> Answer:
        """The answer of the plan if it is stopped now."""
        return self._request.trail.answer()

    @property
    def n_replies(self) -> int:
        """The number of questions that were answered, and can be taken back."""
        return len(self._replies)

    def receipt(self) -> Receipt:
        """Return the receipt, when the interview has ended.

        Returns
        -------
        Receipt

        Raises
        ------
        SourceError
            If there is still a question.
        """
        if not self._request.stopped_by:
            raise SourceError("the interview has not ended: answer its question, or stop it")
        return self._served.answered(self._request)

    # -- what is answered ----------------------------------------------------------------------------

    def reply(self, value: Any) -> None:
        """Give the value that is asked for, and pay for it.

        Parameters
        ----------
        value : object
            A number or a category. None means that the feature was bought and has no value.

        Raises
        ------
        DataError
            If the value cannot be used. The question stays.
        """
        self._answer(_Reply(value, False, clock() - self._asked))

    def decline(self) -> None:
        """Say that the value is not to be had. Nothing is paid, and the plan takes it as missing."""
        self._answer(_Reply(None, True, clock() - self._asked))

    def back(self) -> bool:
        """Take back the last answer, so that its question is asked again.

        Returns
        -------
        bool
            False if no question was answered yet.
        """
        if not self._replies:
            return False
        kept, self._replies = self._replies[:-1], []
        self._restart()
        for reply in kept:
            self._answer(reply)
        return True

    def stop(self, reason: str = "the interview was stopped") -> None:
        """End the interview. The answer is that of the last finished node.

        Parameters
        ----------
        reason : str
            For the receipt.
        """
        self._request.stop("caller", reason)
        self._question = None

    # -- parts ---------------------------------------------------------------------------------------

    def _restart(self) -> None:
        self._request = PredictionRequest(self._served, None, *self._given)
        self._request.begun = self._begun
        self._ask()

    def _answer(self, reply: _Reply) -> None:
        call = self._call
        if call is None:
            raise SourceError("the interview has ended: there is no question to answer")
        if reply.declined:
            outcome: Any = Fault.of(Unavailable(NOT_AVAILABLE))
        else:
            outcome = self._request.read(call, reply.value)
            if isinstance(outcome, Fault):
                raise DataError(outcome.message) from outcome.error
        call.seconds = reply.seconds
        self._request.deliver(call, outcome)
        self._replies.append(reply)
        self._ask()

    def _ask(self) -> None:
        calls = self._request.wanted()
        self._call = calls[0] if calls else None
        self._question = None if self._call is None else self._described(self._call.columns[0])
        self._asked = clock()

    def _described(self, f: int) -> Question:
        trail, costs = self._request.trail, self._served.plan.costs
        group = int(costs.group[f])
        sure = [one for one in certain(trail, onward=True) if one != f]
        facts = feature_facts(self._served.plan, f)
        others, most = remaining(trail)
        own = float(trail.listed_prices[f])
        price = trail.price(f)
        return Question(
            feature=costs.name(f),
            column=f,
            facts=facts,
            price=price,
            setup=max(0.0, price - own) if group >= 0 else 0.0,
            group=costs.group_names[group] if group >= 0 else "",
            cost=trail.cost,
            budget=trail.budget,
            answer=trail.answer(),
            outlook=self._outlook(f, facts),
            why=why_here(trail, self._words),
            certain=tuple(map(costs.name, sure)),
            possible=tuple(costs.name(one) for one in others if one not in sure),
            most=most,
        )

    def _outlook(self, f: int, facts: FeatureFacts) -> tuple[Answer, ...]:
        """The answers after this question. What is known is given for free, so that no budget ends it."""
        plan = self._served.plan
        examples = facts.examples
        if len(examples) > _MOST_EXAMPLES:
            places = range(_MOST_EXAMPLES)
            examples = tuple(examples[i * (len(examples) - 1) // (_MOST_EXAMPLES - 1)] for i in places)
        name = plan.costs.name(f)
        known = {plan.costs.name(entry.column): entry.value for entry in self._request.entries}
        known = {**(self._given[2] or {}), **known}
        return tuple(plan.start(known={**known, name: one}).answer() for one in examples)


def why_here(trail: Trail, words: Wording) -> str:
    """Which node a trail is in, why it came there, and where it may leave next."""
    plan, k = trail.plan, trail.node
    parents, noun = plan.parents, "node" if plan.has_forks else "step"
    text = f"{noun} {k + 1} of {len(plan.nodes)} uses it"
    parent, child = int(parents[k]), k
    while parent >= 0 and not plan.nodes[parent].gate.decides:
        parent, child = int(parents[parent]), parent
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
