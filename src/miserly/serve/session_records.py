"""Sessions as JSON: the question, earlier answers, the receipt, and the effect of a higher budget."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from weakref import WeakKeyDictionary

from miserly.plan import Plan
from miserly.plan.engine.stepping import Answer
from miserly.runtime import Acquisition, Interview, Question, WhatIf
from miserly.runtime.receipt import plain_value
from miserly.runtime.what_if import Buy
from miserly.serve.descriptions import (
    feature_record,
    probabilities_record,
    public_message,
    receipt_record,
    time_text,
)
from miserly.serve.models import ServedModel
from miserly.serve.sessions import SessionRecord

__all__ = ["ranges_record", "session_record", "what_if_record"]

_MOST_VALUES = 10  # questions with at most this many values list the answer after each value
_FEATURES: WeakKeyDictionary[ServedModel, dict[int, dict[str, Any]]] = WeakKeyDictionary()


def session_record(
    session_id: str, record: SessionRecord, interview: Interview, model: ServedModel, expires: float
) -> dict[str, Any]:
    """Return a session as clients get it.

    Parameters
    ----------
    session_id : str
        Its id.
    record : SessionRecord
        The stored record.
    interview : Interview
        The interview of the record.
    model : ServedModel
        Its model.
    expires : float
        When it expires, in seconds since 1970.

    Returns
    -------
    dict
    """
    question, ended = interview.question, bool(interview.stopped_by)
    return {
        "id": session_id,
        "model": record.model,
        "digest": record.digest,
        "version": record.version,
        "state": "ended" if ended else "asking",
        "expires_at": time_text(expires),
        "unit": model.plan.costs.unit,
        "budget": plain_value(interview.budget),
        "cost": interview.cost,
        "answer": _answer(model.plan, interview.answer),
        "question": None if question is None else _question(model, question),
        "wanted": [str(name) for name in interview.wanted],
        "needed": [str(name) for name in interview.needed],
        "history": [_purchase(model, one) for one in interview.trail],
        "unused": list(record.unused),
        "can_go_back": interview.n_replies > 0 or interview.was_stopped,
        "receipt": receipt_record(interview.receipt()) if ended else None,
    }


def what_if_record(what: WhatIf, model: ServedModel) -> dict[str, Any]:
    """Return the effect of a budget, in the form for clients.

    Parameters
    ----------
    what : WhatIf
        The effect of the budget.
    model : ServedModel
        The model.

    Returns
    -------
    dict
    """
    return {
        "budget": plain_value(what.budget),
        "more": plain_value(max(0.0, what.budget - what.cost)),
        "cost": what.cost,
        "unit": model.plan.costs.unit,
        "certain": [_buy(model, one) for one in what.certain],
        "possible": [_buy(model, one) for one in what.possible],
        "answer": _answer(model.plan, what.answer),
        "outlook": ranges_record(what.outcomes, what.mean_cost is not None),
        "chance": what.chance,
        "mean_cost": what.mean_cost,
        "estimate": what.estimate,
    }


def ranges_record(answers: Iterable[Answer], simulated: bool = False) -> list[dict[str, Any]]:
    """Return the range of some answers: the probabilities of each class, or one range of numbers.

    Parameters
    ----------
    answers : iterable of Answer
        The answers.
    simulated : bool, default=False
        Whether the answers are random draws, so that frequencies estimate probabilities.

    Returns
    -------
    list of dict
        Each has `value` (a class; None for numbers), `low`, `high`, and `share`, the share of the answers
        (None unless `simulated`).
    """
    found: dict[Any, list[Any]] = {}
    n = 0
    for one in answers:
        n += 1
        value, chance = plain_value(one.value), one.chance
        if chance is not None:
            found.setdefault(value, []).append(chance)
        elif isinstance(value, float):
            found.setdefault(None, []).append(value)
        else:  # a class without a probability, or several numbers
            found.setdefault(str(value) if isinstance(value, list) else value, []).append(None)
    ranges = []
    for value, numbers in found.items():
        known = [number for number in numbers if number is not None]
        ends = {"low": min(known, default=None), "high": max(known, default=None)}
        ranges.append({"value": value, **ends, "share": len(numbers) / n if simulated else None})
    return ranges


def _described(model: ServedModel, f: int) -> dict[str, Any]:
    """The description of a column for people. It is cached, because it reads all trees of the plan."""
    features = _FEATURES.setdefault(model, {})
    if f not in features:
        features[f] = feature_record(model.plan, f)
    return features[f]


def _question(model: ServedModel, question: Question) -> dict[str, Any]:
    described = _described(model, question.column)
    return {
        "feature": described["name"],
        **{name: described[name] for name in ("label", "help", "unit", "kind", "choices")},
        **{name: described[name] for name in ("low", "high", "whole")},
        "price": question.price,
        "setup": question.setup,
        "group": question.group or None,
        "why": question.why,
        "outlook": ranges_record(question.outlook),
        "answers": _answers(question),
        "certain": [str(name) for name in question.certain],
        "possible": [str(name) for name in question.possible],
        "most": plain_value(question.most),
    }


def _answers(question: Question) -> list[dict[str, Any]]:
    """The answer after each value of the question; an empty list if there are many values."""
    facts = question.facts
    if not (facts.categories or facts.values or facts.choices) or len(question.examples) > _MOST_VALUES:
        return []
    return [
        {
            "value": plain_value(value),
            "answer": plain_value(one.value),
            "probability": one.chance,
        }
        for value, one in zip(question.examples, question.outlook, strict=True)
    ]


def _purchase(model: ServedModel, one: Acquisition) -> dict[str, Any]:
    described = _described(model, model.columns[str(one.feature)])
    return {
        "feature": described["name"],
        "label": described["label"],
        "unit": described["unit"],
        "value": plain_value(one.value),
        "outcome": one.outcome,
        "message": public_message(one.outcome),
        "price": one.price,
        "cost": one.cost,
        "answer": plain_value(one.answer),
        "probabilities": probabilities_record(model.plan, one.probabilities),
    }


def _answer(plan: Plan, answer: Answer) -> dict[str, Any]:
    probabilities = probabilities_record(plan, answer.probabilities)
    return {"value": plain_value(answer.value), "probabilities": probabilities}


def _buy(model: ServedModel, one: Buy) -> dict[str, Any]:
    described = _described(model, model.columns[str(one.feature)])
    return {
        "feature": described["name"],
        "label": described["label"],
        "price": one.price,
        "chance": one.share,
    }
