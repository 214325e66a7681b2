"""The total cost of a row, tests and mistakes together, as numbers and in words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from miserly.selection.evaluation import Evaluation
from miserly.selection.offers import Offer, honest_estimate
from miserly.selection.requests import Request

if TYPE_CHECKING:
    from miserly.selection.models import EvaluatedModels

__all__ = ["offer_parts", "total_parts", "total_record", "total_words"]


def total_record(found: EvaluatedModels, request: Request) -> dict[str, Any]:
    """The total cost of a row with the best model for a request; `found` is valued by the total cost."""
    parts = total_parts(honest_estimate(found, request))
    return {**parts, "words": total_words(parts, found.costs.unit)}


def total_parts(estimate: Evaluation) -> dict[str, float]:
    """Mean costs of tests and of mistakes and their sum, with its 95 % interval."""
    figures = estimate.intervals
    tests, total = figures["cost"], figures["value"]
    return {
        "tests": tests,
        "mistakes": total - tests,
        "total": total,
        "total_low": figures["value_low"],
        "total_high": figures["value_high"],
    }


def offer_parts(offer: Offer) -> dict[str, float] | None:
    """The parts of an offer; None without outcome costs."""
    one = offer.candidate
    if one.mistakes is None:
        return None
    if one.includes_cost:
        return total_parts(offer.estimate)
    return total_parts(Evaluation(cost=one.cost, value=one.total))


def total_words(parts: dict[str, float], unit: str, row: str = "row") -> str:
    """The parts in words.

    >>> total_words({"tests": 12.4, "mistakes": 31.0, "total": 43.4}, "CAD", row="patient")
    'Tests 12.40 + mistakes 31.00 = 43.40 CAD per patient'
    """
    amounts = f"Tests {parts['tests']:.2f} + mistakes {parts['mistakes']:.2f} = {parts['total']:.2f}"
    return f"{amounts} {unit} per {row}" if unit else f"{amounts} per {row}"
