"""The lines of the tables of a frontier, and its summary."""

from __future__ import annotations

import re
from collections.abc import Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np

from miserly.selection.evaluation import Candidate

if TYPE_CHECKING:
    from miserly.selection.offers import Offer
    from miserly.selection.requests import Request
    from miserly.selection.results import Frontier

__all__ = ["change_of", "frame", "offered", "record", "short_name", "shown", "summary"]

_MOST_MODELS, _MOST_OTHERS = 15, 3  # lines of a summary: of models, of failures and of learners left out
_WIDEST = 100  # letters of a line


def record(one: Candidate) -> dict[str, Any]:
    """A line about a model."""
    return {
        "learner": one.learner,
        "params": one.params,
        **one.intervals,
        "features": one.features,
        "max_cost": one.max_cost,
    }


def offered(one: Offer) -> dict[str, Any]:
    """A line about what a budget buys."""
    return {
        one.request.kind: one.budget,
        "learner": one.candidate.learner,
        "params": one.candidate.params,
        **one.estimate.intervals,
        "plan_cost": one.pays,
        "features": one.features,
        "max_cost": one.max_cost,
        "note": one.note,
    }


def change_of(old: Frontier, new: Frontier, request: Request) -> dict[str, Any]:
    """The model chosen for a request at the old prices, its cost at the new ones, and the choice now."""
    was, now = old.chosen(request), new.chosen(request)
    again = new.chooser.under(request.budget)
    still = next(one for one in again if one.trial is was.trial and one.view == was.view)
    return {
        request.kind: request.amount,
        "before": shown(was),
        "cost_before": was.mean_cost,
        "cost_of_it_now": still.mean_cost,
        "value_before": was.mean_value,
        "now": shown(now),
        "cost": now.mean_cost,
        "value": now.mean_value,
        "better": now is not still,
    }


def short_name(learner: str) -> str:
    """The name of a learner without Classifier, Regressor or Ranker.

    >>> short_name("ASTCClassifier(terms='boosted')"), short_name("GreedyMiserRanker")
    ("ASTC(terms='boosted')", 'GreedyMiser')
    """
    return re.sub(r"(Classifier|Regressor|Ranker)(?=$|\()", "", learner)


def shown(one: Candidate) -> str:
    """A model in words: its learner and the parameters that distinguish it."""
    given = [
        f"{name}=({value})" if isinstance(value, str) else f"{name}={value:.3g}"
        for name, value in one.params.items()
        if not isinstance(value, bool)
    ]
    return " ".join([one.learner, *given])


def summary(found: Frontier) -> str:
    """A frontier on one screen: the best model for each cost, what failed and what was left out."""
    best = found.pareto_candidates
    kept = [
        best[place] for place in np.unique(np.linspace(0, len(best) - 1, _MOST_MODELS).round().astype(int))
    ]
    width = max(len(f"{one.mean_cost:.4g}") for one in kept)
    unit = f" {found.costs.unit}" if found.costs.unit else ""
    lines = [
        f"{one.mean_cost:{width}.4g}{unit}  {one.mean_value:.4f} ± {one.error:.4f}  {briefly(one)}"
        for one in kept
    ]
    if len(kept) < len(best):
        lines.append(f"... and {len(best) - len(kept)} in between; pareto() has all of them")
    failed = [f"failed: {one.learner} {one.params}: {one.error}" for one in found.failures]
    left_out = [f"left out: {name}: {why}" for name, why in found.left_out.items()]
    head = f"{len(found.candidates)} models of {len(found.learners)} learners; {found.metric} by mean cost"
    taken = [] if found.result.taken is None else [str(found.result.taken)]
    all_lines = [head, *taken, *lines, *_first(failed, "failures"), *_first(left_out, "left_out")]
    return "\n".join(_fitting(line.replace("\n", " ")) for line in all_lines)


def briefly(one: Candidate) -> str:
    """A model in few words: of a handover, its two models and the threshold."""
    pair: Any = one.trial.learner
    if "handover" not in one.view:
        return shown(one)
    return f"{one.learner} at {one.view['handover']:.3g} from {_half(pair.first)} to {_half(pair.then)}"


def _half(one: Candidate) -> str:
    """A learner by its short name, and its last parameter."""
    last = [f"{key}={value:.3g}" for key, value in one.params.items() if not isinstance(value, (str, bool))][
        -1:
    ]
    return " ".join([short_name(one.learner), *last])


def _first(lines: Sequence[str], where: str) -> list[str]:
    """The first of some lines, and how many more there are."""
    if len(lines) <= _MOST_OTHERS:
        return list(lines)
    return [*lines[: _MOST_OTHERS - 1], f"... and {len(lines) - _MOST_OTHERS + 1} more in {where}"]


def _fitting(line: str) -> str:
    return line if len(line) <= _WIDEST else f"{line[: _WIDEST - 1]}…"


def frame(records: list[dict[str, Any]]) -> Any:
    """A pandas frame where pandas is installed, else the records."""
    if find_spec("pandas") is None:
        return records
    import pandas as pd

    return pd.DataFrame.from_records(records)
