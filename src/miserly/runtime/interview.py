"""An interview: a plan that is played with a person, one question at a time."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

from miserly.costs import read_budget
from miserly.errors import PlanError, SourceError
from miserly.plan.engine.stepping import Answer
from miserly.runtime.calls import clock
from miserly.runtime.conversation import Conversation, served_of
from miserly.runtime.questions import Question, guide_of
from miserly.runtime.receipt import Acquisition, Receipt, plain_value
from miserly.runtime.replies import Reply, Reported, SourceReport, mapping_of, pairs_of, read_reply

if TYPE_CHECKING:
    from miserly.runtime.what_if import WhatIf

__all__ = ["Interview", "Question"]

_FORMAT = 2  # of the state


class Interview(Conversation):
    """A plan that asks one question at a time, and waits for each answer.

    Each answer may be taken back. The interview ends when the plan has no more questions, the budget allows
    none, or it is stopped. It is one request of `OnDemand`, and ends with the same `Receipt`.

    Parameters
    ----------
    plan : Plan, str, Path, a fitted model, or OnDemand
        A plan, a file that holds one, or an estimator with a `plan_`. What an `OnDemand` has sources for is
        not asked: `fetch` and `afetch` get it.
    budget : float, optional
        No more than this is paid. The budget of the plan holds as well.
    known : mapping of feature to value, optional
        Values that are there already, for which nothing is paid.
    prices : mapping of feature or group to float, optional
        Prices that differ from those of the plan.
    raw : mapping, optional
        What sources get, besides the values that are known.

    Notes
    -----
    `state` gives the interview as plain values, and `resume` goes on from them, in another process if need
    be. All replies are then given again, so that the receipt is the same to the last digit. Hooks see the
    receipt where the interview ended, and not again where it is resumed.

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
        raw: Mapping[Any, Any] | None = None,
    ) -> None:
        super().__init__(plan, budget, known, prices, raw)

    # -- what is asked -------------------------------------------------------------------------------

    @property
    def question(self) -> Question | None:
        """What the plan asks for now; None when the interview has ended or a source is to be called."""
        if self._question is None and self._asks():
            self._question = guide_of(self._served).question(self._request.trail)
        return self._question

    @property
    def wanted(self) -> tuple[Any, ...]:
        """The features that are asked for now whatever their values will be, in order: `give` takes them."""
        question, index = self.question, self._served.plan.costs.index
        if question is None:
            return ()
        columns = [index(name) for name in (question.feature, *question.certain)]
        asked = [f for f in columns if self._served.sources[f].at_hand and f not in self._kept]
        return tuple(map(self._served.plan.costs.name, asked))

    @property
    def needed(self) -> tuple[Any, ...]:
        """The features among `wanted` that the present node of the plan needs."""
        if not self._asks():
            return ()
        sources, name = self._served.sources, self._served.plan.costs.name
        columns = [f for f in self._request.certain() if sources[f].at_hand and f not in self._kept]
        return tuple(map(name, columns))

    def is_wanted(self, feature: Any) -> bool:
        """Return whether a feature is one of `wanted`; fast for the one that is asked for first.

        Parameters
        ----------
        feature : str or int
            By the name that the plan gives it.

        Returns
        -------
        bool
        """
        if not self._asks():
            return False
        first = self._served.plan.costs.name(self._request.trail.need)
        return bool(feature == first) or feature in self.wanted

    @property
    def answer(self) -> Answer:
        """The answer of the plan if it is stopped now."""
        return self._request.trail.answer()

    @property
    def cost(self) -> float:
        """What was paid so far."""
        return self._request.trail.cost

    @property
    def budget(self) -> float:
        """The cap, at most that of the plan; infinite if there is none."""
        return self._request.trail.budget

    @property
    def known(self) -> dict[Any, Any]:
        """The values that were known before, for which nothing is paid."""
        return dict(self._known or {})

    @property
    def trail(self) -> tuple[Acquisition, ...]:
        """The purchases so far, in order."""
        return self._request.receipt().trail

    @property
    def unused(self) -> tuple[Any, ...]:
        """Features that were given and that the plan did not need. They are not paid."""
        name = self._served.plan.costs.name
        return tuple(map(name, self._kept)) if self.stopped_by else ()

    @property
    def n_replies(self) -> int:
        """The number of questions that were answered, and can be taken back."""
        return sum(isinstance(one, Reply) for one in self._replies)

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
        if not self.stopped_by:
            raise SourceError("the interview has not ended: answer its question, or stop it")
        if self._receipt is None:
            seconds = self._end()
            made = self._request.receipt() if self._reported else self._served.answered(self._request)
            self._reported = True
            self._receipt = replace(made, seconds=seconds)
        return self._receipt

    def _end(self) -> float:
        """How long it has taken; noted if it has ended."""
        seconds = clock() - self._begun if self._seconds is None else self._seconds
        if self.stopped_by:
            self._seconds = seconds
        return seconds

    def what_if(self, more: float | None = None, budget: float | None = None, draws: int = 200) -> WhatIf:
        """Return what more money would buy: features, answers, and how often the answer would change.

        Parameters
        ----------
        more : float, optional
            An amount that may be paid from here on.
        budget : float, optional
            A cap for all that is paid. Give one of the two.
        draws : int, default=200
            How many times unknown values are drawn.

        Returns
        -------
        WhatIf
        """
        from miserly.runtime.what_if import what_if

        return what_if(self._request.trail, guide_of(self._served), more, budget, draws)

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
        self._answer(value, declined=False)

    def decline(self) -> None:
        """Say that the value is not to be had. Nothing is paid, and the plan takes it as missing."""
        self._answer(None, declined=True)

    def give(self, values: Mapping[Any, Any], unavailable: Iterable[Any] = ()) -> None:
        """Give several values of `wanted`. Each is used, and paid, when the plan comes to it.

        Parameters
        ----------
        values : mapping of feature to value
            As for `reply`.
        unavailable : iterable of features
            As for `decline`.

        Raises
        ------
        SourceError
            If a feature is not wanted.
        DataError
            If a value cannot be used. Nothing has changed then.
        """
        costs = self._served.plan.costs
        given = {name: (value, False) for name, value in values.items()}
        given |= dict.fromkeys(unavailable, (None, True))
        for name, (value, declined) in given.items():
            if not self.is_wanted(name):
                raise SourceError(f"{name!r} is not asked for now")
            if not declined:
                self.check(name, value)
        self._kept |= {costs.index(name): one for name, one in given.items()}
        self._use_kept()

    def back(self) -> bool:
        """Undo `stop`, or take back the last answer, so that its question is asked again.

        Returns
        -------
        bool
            False if no question was answered yet.
        """
        kept, self._kept = self._replies, {}
        if self._left is None:
            while kept and not isinstance(kept[-1], Reply):  # what sources brought after it
                kept = kept[:-1]
            if not kept:
                return False
            kept = kept[:-1]
        self._restart(kept)
        return True

    @property
    def was_stopped(self) -> bool:
        """Whether `stop` ended it."""
        return self._left is not None

    def stop(
        self,
        reason: str = "the interview was stopped",
        by: str = "caller",
        reports: Iterable[SourceReport] = (),
    ) -> None:
        """End the interview. The answer is that of the last finished node.

        Parameters
        ----------
        reason : str
            For the receipt.
        by : {"caller", "deadline", "failure", "budget"}, default="caller"
            For the receipt.
        reports : iterable of SourceReport
            What sources elsewhere had brought by then; it is paid and not used.
        """
        self._leave(by, reason, self._read_reports(reports))

    def change_budget(self, budget: float | None) -> None:
        """Change the cap. An interview that the budget ended goes on if the new one allows it.

        Parameters
        ----------
        budget : float or None
            The new cap. If more was paid already, the interview ends.

        Raises
        ------
        SourceError
            If the interview has ended for another reason: `back` reopens it.
        """
        chooses = self._served.plan.acquires  # it may have ended because nothing that it can pay is left
        if self.was_stopped or self.stopped_by not in ("", "budget", "answered" if chooses else ""):
            raise SourceError("the interview has ended, and not for its budget: take back the last answer")
        limit, self._cap, self._question, self._receipt = read_budget(budget), budget, None, None
        if chooses:  # what it asks depends on the cap: the same answers again, then the new cap
            self._restart(self._replies)
        else:
            self._request.set_budget(limit)
        self._request.wanted()  # ends it if the next question does not fit
        if not self.stopped_by:
            self._seconds, self._reported = None, False
            self._use_kept()

    # -- state ---------------------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """Return the interview as plain values that JSON can hold.

        Returns
        -------
        dict
            For `resume`. It holds the values that were given, and `raw` as it is.
        """
        left = self._left
        self._end()
        return {
            "format": _FORMAT,
            "plan": self._served.plan.digest,
            "budget": self._cap,
            "known": pairs_of(self._known),
            "prices": pairs_of(self._prices),
            "raw": self._raw,
            "replies": [one.to_dict() for one in self._replies],
            "kept": [[f, plain_value(value), declined] for f, (value, declined) in self._kept.items()],
            "left": None if left is None else [*left[:2], left[2].to_dict()],
            "ended": self._seconds,
            "seconds": clock() - self._begun,
            "asked": clock() - self._asked,
            "at": time.time(),
        }

    @classmethod
    def resume(cls, plan: Any, state: Mapping[str, Any]) -> Self:
        """Go on from what `state` gave.

        Parameters
        ----------
        plan : Plan, str, Path, a fitted model, or OnDemand
            The same plan.
        state : mapping
            From `state`.

        Returns
        -------
        Interview

        Raises
        ------
        PlanError
            If the state is of another plan, or of another version of this library.
        """
        served = served_of(plan)
        if state.get("format") != _FORMAT or state["plan"] != served.plan.digest:
            raise PlanError("this state is not of an interview with this plan")
        known, prices = mapping_of(state["known"]), mapping_of(state["prices"])
        interview = cls(served, state["budget"], known, prices, state["raw"])
        interview._restart([read_reply(one) for one in state["replies"]])
        interview._kept = {f: (value, declined) for f, value, declined in state["kept"]}
        if state["left"] is not None:
            by, reason, reported = state["left"]
            found = read_reply(reported)
            assert isinstance(found, Reported)
            interview._leave(by, reason, found)
        passed = max(0.0, time.time() - state["at"])
        interview._begun = interview._request.begun = clock() - state["seconds"] - passed
        interview._asked = clock() - state["asked"] - passed
        interview._seconds = state["ended"]
        interview._reported = state["ended"] is not None
        return interview
