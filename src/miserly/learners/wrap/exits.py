"""Exits of a chain: their gates, the rows that leave at each of them, and the choice of the threshold.

Thresholds are compared on the scores and costs that one staged run over the validation set gave at every
exit, so the model runs only once.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from miserly.data.rows import Rows
from miserly.errors import DataError, PlanError
from miserly.learners.common.training import measure
from miserly.metrics import Metric, Queries
from miserly.plan import (
    LEAVE,
    Capacity,
    Confidence,
    Plan,
    Proximity,
    Rank,
    Settled,
    SettledTop,
    Threshold,
    links,
)
from miserly.plan.additive import is_additive
from miserly.plan.engine.ranking import settle
from miserly.plan.gates import Gate, ListwiseGate

__all__ = [
    "LISTWISE",
    "RULES",
    "StagedScores",
    "candidate_thresholds",
    "check_plan",
    "check_threshold",
    "choose_threshold",
    "evaluate_thresholds",
    "exit_gates",
    "has_own_amounts",
    "leave",
    "lossless_exits",
    "saving_and_metric",
    "saving_and_total",
    "with_gates",
]


RULES = ("confidence", "proximity", "score", "rank", "capacity")  # those with a threshold
LISTWISE = ("proximity", "rank", "capacity")
N_CANDIDATES = 100
ROUNDING = 1e-9  # smaller differences of values are rounding


def exit_gates(rule: str, threshold: float, n_exits: int, k: int) -> list[Gate]:
    """The gates of exits 1..n_exits (Cambazoglu et al. 2010); none if the threshold is infinite.

    Rows leave at exit `i` of `E` by these rules:

    - confidence: the most probable class has at least probability `threshold`;
    - score: the score is at most `threshold`;
    - rank: the document is not among the best `threshold` of its query;
    - capacity: the document is not among the best share ``threshold ** (i / E)`` of its query;
    - proximity: the score is more than ``threshold (E - i) / (E - 1)`` below the `k`-th best of the query.

    >>> [gate.slack for gate in exit_gates("proximity", 2.0, 3, k=5)]
    [2.0, 1.0, 0.0]
    """
    if np.isinf(threshold):
        return []
    exits = range(1, n_exits + 1)
    if rule == "confidence":
        return [Confidence(level=float(threshold)) for _ in exits]
    if rule == "score":
        return [Threshold(value=float(threshold)) for _ in exits]
    if rule == "rank":
        return [Rank(k=int(threshold)) for _ in exits]
    if rule == "capacity":
        return [Capacity(share=float(threshold) ** (i / n_exits)) for i in exits]
    return [Proximity(slack=float(threshold) * remaining(i, n_exits), k=k) for i in exits]


def check_threshold(rule: str, threshold: float) -> float:
    """Raise an error if a threshold is not valid for a rule."""
    value = float(threshold)
    valid = {
        "confidence": (0.0 <= value <= 1.0, "a probability"),
        "score": (not np.isnan(value), "a number"),
        "rank": (value >= 1 and value == np.floor(value), "a number of documents, 1 or more"),
        "capacity": (0.0 < value <= 1.0, "a share of the documents, above 0 and at most 1"),
        "proximity": (value >= 0.0, "a difference of scores, 0 or more"),
    }
    is_valid, meaning = valid[rule]
    if not is_valid and not np.isinf(value):
        raise DataError(f"threshold must be {meaning} if rule={rule!r}, got {threshold!r}")
    return value


def check_plan(plan: Any, rule: str, name: str) -> None:
    """Raise an error if the plan of the estimator `name` cannot have exits of a rule."""
    if not isinstance(plan, Plan):
        raise DataError(f"estimator must be a fitted learner of miserly, but {name} has no plan_")
    if not plan.can_stage:
        raise PlanError(f"exits need a plan that is a chain without gates, and the plan of {name} is not")
    if rule == "lossless":
        _check_sum(plan, name)
        return
    if rule == "confidence" and not links.has_confidence(plan.link):
        has = "one-versus-rest ones, which exits do not support" if plan.has_probabilities else "none"
        raise DataError(f"rule='confidence' needs class probabilities, but {name} has {has}")
    if rule != "confidence" and plan.n_scores > 1:
        raise DataError(
            f"rule={rule!r} needs one score per row, but {name} has {plan.n_scores}. "
            "Only binary classification is supported with it"
        )


def _check_sum(plan: Plan, name: str) -> None:
    if not is_additive(plan):
        raise DataError(f"rule='lossless' needs a plan that is a sum, and the plan of {name} is not")
    if links.gives_numbers(plan.link) and plan.n_outputs > 1:
        raise DataError(f"rule='lossless' ranks by one score per row, but {name} has {plan.n_outputs}")
    if has_own_amounts(plan):
        raise DataError(
            f"rule='lossless' compares costs that are the same for all rows, but {name} decides by the "
            "amount of each row; use another rule"
        )


def has_own_amounts(plan: Plan) -> bool:
    """Whether a plan decides by amounts of the rows, which lossless exits cannot compare."""
    return plan.decision is not None and bool(plan.decision.columns)


def lossless_exits(plan: Plan, every: int, k: int) -> Plan:
    """An additive plan that rows leave once no later node can change their class, or the `k` best documents.

    Where evaluations cost nothing, the gates rule out leaves by the features that a row has bought. This
    walks the trees ahead, so it is not done where evaluating trees is what costs.

    >>> from miserly import Costs
    >>> from miserly.plan import Node
    >>> nodes = [Node([], [], [], [2.0], up=1), Node([], [], [], [-1.0])]
    >>> plan = Plan(costs=Costs([1.0]), terms=[], nodes=nodes, base=[0.0], link="sign")
    >>> lossless_exits(plan, every=1, k=5).run([[0.0]]).exit.tolist()
    [0]
    """
    known = int(plan.costs.evaluation == 0.0 and all(term.evaluation == 0.0 for term in plan.terms))
    gate = SettledTop(k, known) if links.gives_numbers(plan.link) else Settled(known)
    stops = range(every, len(plan.nodes), every)
    return with_gates(plan, stops, [gate] * len(stops))


def remaining(i: int, n_exits: int) -> float:
    """The factor of the proximity threshold at exit `i`: it falls evenly from 1 to 0."""
    return (n_exits - i) / (n_exits - 1) if n_exits > 1 else 1.0


@dataclass(frozen=True, eq=False)
class StagedScores:
    """Validation rows at every exit and at the end: scores (E + 1, n, K) and costs (E + 1, n)."""

    scores: NDArray[np.float64]
    cost: NDArray[np.float64]
    link: str
    queries: Queries | None = None
    amounts: NDArray[np.float64] | None = None  # those that the decision of the plan reads, of each row
    _values: dict[tuple[int, str], NDArray[np.float64]] = field(default_factory=dict)
    _order: dict[int, NDArray[np.int64]] = field(default_factory=dict)

    @classmethod
    def of(
        cls, plan: Plan, X: NDArray[Any], stops: Sequence[int], queries: Queries | None, n_threads: int | None
    ) -> StagedScores:
        """Run encoded rows through a chain with exits after the numbers of nodes `stops`."""
        stages = list(plan.run_staged(X, [*stops, len(plan.nodes)], n_threads=n_threads, encoded=True))
        scores, cost = (np.array([getattr(stage, name) for stage in stages]) for name in ("scores", "cost"))
        return cls(scores, cost, plan.link, queries, stages[-1].amounts)

    @property
    def n_exits(self) -> int:
        return len(self.scores) - 1

    def values(self, i: int, gate: Gate) -> NDArray[np.float64]:
        """What a gate at exit `i` decides by, computed once for all gates of a kind."""
        key = i, gate.kind
        if key not in self._values:
            self._values[key] = gate.values(self.scores[i], self.link, self.scores.shape[2])
        return self._values[key]

    def rising(self, i: int) -> NDArray[np.int64]:
        """Rows sorted by query, and within a query by rising score at exit `i`."""
        assert self.queries is not None
        if i not in self._order:
            self._order[i] = np.lexsort((self.scores[i, :, 0], self.queries.code))
        return self._order[i]

    def at(self, exits: NDArray[np.int64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Scores (n, K) and costs (n,) of rows that leave at these exits."""
        rows = np.arange(len(exits))
        return self.scores[exits, rows], self.cost[exits, rows]


def leave(staged: StagedScores, gates: Sequence[Gate]) -> NDArray[np.int64]:
    """The exit at which each row leaves, counted from 0; `n_exits` for rows that stay to the end."""
    n = staged.scores.shape[1]
    exits = np.full(n, staged.n_exits, dtype=np.int64)
    inside = np.ones(n, dtype=np.bool_)
    for i, gate in enumerate(gates):
        going = inside & ~_goes_up(staged, i, gate, inside)
        exits[going] = i
        inside &= ~going
    return exits


def _goes_up(staged: StagedScores, i: int, gate: Gate, inside: NDArray[np.bool_]) -> NDArray[np.bool_]:
    values = staged.values(i, gate)
    if not isinstance(gate, ListwiseGate):
        return gate.sends_up(values)
    assert staged.queries is not None
    rising = staged.rising(i)
    return gate.sends_up_of_queries(values, staged.queries.code, staged.queries.sizes, rising[inside[rising]])


def with_gates(plan: Plan, stops: Sequence[int], gates: Sequence[Gate]) -> Plan:
    """The chain with a gate after each of the numbers of nodes `stops`. There may be no gates at all."""
    nodes = list(plan.nodes)
    for stop, gate in zip(stops, gates, strict=False):
        nodes[stop - 1] = replace(nodes[stop - 1], gate=gate, low=LEAVE)
    return plan.replace(nodes=nodes, info={**plan.info, "early_exit": True})


def candidate_thresholds(rule: str, staged: StagedScores, k: int) -> NDArray[np.float64]:
    """Thresholds to compare, at which different numbers of rows leave. At the last one no row leaves."""
    if rule == "confidence":
        found = np.array([links.probabilities(staged.link, some).max(axis=1) for some in staged.scores[:-1]])
        return np.array([0.0, *dividers(found), np.inf])
    if rule == "score":
        score = staged.scores[:-1, :, 0]
        return np.array([*dividers(score), score.max() + 1.0, -np.inf])
    assert staged.queries is not None
    largest = int(staged.queries.sizes.max())
    if rule == "rank":
        return np.append(np.unique(np.geomspace(1, largest, N_CANDIDATES).astype(np.int64)), np.inf)
    if rule == "capacity":
        return np.append(np.unique(np.geomspace(1.0 / largest, 1.0, N_CANDIDATES)), np.inf)
    return np.array([0.0, *dividers(_distances(staged, k)), np.inf])


def dividers(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Up to 100 numbers that divide the values into even shares, each half way between two of them.

    A threshold that equals a value would depend on the last bit of that value, and so on the order of
    additions and on the scale of the sample weights.

    >>> dividers(np.array([0.0, 0.0, 1.0, 4.0])).tolist()
    [0.5, 2.5]
    """
    levels = np.unique(values)
    apart = np.diff(levels) > ROUNDING * np.maximum(1.0, np.abs(levels[1:]))
    middles = (0.5 * levels[:-1] + 0.5 * levels[1:])[apart]
    wanted = np.quantile(values, np.linspace(0.0, 1.0, N_CANDIDATES))
    places = np.unique(np.searchsorted(middles, wanted))
    return middles[places[places < len(middles)]]


def _distances(staged: StagedScores, k: int) -> NDArray[np.float64]:
    """Distance of each row below the `k`-th best of its query, as the smallest threshold that keeps it.

    The last of several exits is left out: its slack is 0 for every threshold.
    """
    assert staged.queries is not None
    queries = staged.queries
    found = [np.zeros(1)]
    for i in range(max(1, staged.n_exits - 1)):
        score = staged.scores[i, :, 0]
        below = Rank(k).cuts(score, queries.code, queries.sizes, staged.rising(i))[queries.code] - score
        found.append(below[below > 0.0] / remaining(i + 1, staged.n_exits))
    return np.concatenate(found)


def evaluate_thresholds(
    rule: str,
    staged: StagedScores,
    k: int,
    evaluate: Callable[[NDArray[np.int64]], tuple[float, float]],
) -> Any:
    """The saving and the metric of each candidate threshold, as a record array.

    `evaluate` computes both from the exits at which the rows leave. Many thresholds give the same exits,
    which are evaluated once. Without exits the only candidate is infinity.
    """
    known: dict[bytes, tuple[float, float]] = {}
    found = []
    for threshold in candidate_thresholds(rule, staged, k) if staged.n_exits else [np.inf]:
        exits = leave(staged, exit_gates(rule, threshold, staged.n_exits, k))
        key = exits.tobytes()
        if key not in known:
            known[key] = evaluate(exits)
        found.append((threshold, *known[key]))
    fields = [("threshold", float), ("saving", float), ("metric", float)]
    return np.array(found, dtype=fields).view(np.recarray)


def saving_and_metric(
    staged: StagedScores, rows: Rows, metric: Metric, is_ranking: bool, exits: NDArray[np.int64]
) -> tuple[float, float]:
    """The fraction of the mean cost saved, and the metric, if the rows leave at `exits`.

    Labels of classifiers are codes. In a ranking, documents that leave are ranked below those that stay.
    """
    scores, cost = staged.at(exits)
    if is_ranking and rows.qid is not None:
        scores = settle(scores[:, 0], exits, rows.qid)[:, None]
    full = float(np.average(staged.cost[-1], weights=rows.weight))
    paid = float(np.average(cost, weights=rows.weight))
    value = measure(metric, staged.link, scores, rows.y, rows.qid, rows.weight)
    return (1.0 - paid / full if full > 0 else 0.0), value


def saving_and_total(
    staged: StagedScores, rows: Rows, plan: Plan, exits: NDArray[np.int64]
) -> tuple[float, float]:
    """The fraction of the mean cost saved, and the mean cost of tests and mistakes, with rows at `exits`."""
    scores, cost = staged.at(exits)
    answers = plan.labels_from(scores[:, : plan.n_outputs], amounts=staged.amounts)
    mistakes = rows.outcomes.cost_of(rows.y, answers)
    full = float(np.average(staged.cost[-1], weights=rows.weight))
    paid = float(np.average(cost, weights=rows.weight))
    total = paid + float(np.average(mistakes, weights=rows.weight))
    return (1.0 - paid / full if full > 0 else 0.0), total


def choose_threshold(
    candidates: Any, greater_is_better: bool, wanted: float | None, tolerance: float = 0.0
) -> int:
    """Index of the best candidate: by the metric among those that save enough, else by the saving.

    Without a `wanted` saving, the candidate that saves most is chosen among those whose metric is not worse,
    by more than `tolerance`, than that of the last one, at which no row leaves.
    """
    better = candidates.metric if greater_is_better else -candidates.metric
    saving = candidates.saving
    if wanted is None:
        return int(np.lexsort((better, saving, better >= better[-1] - tolerance))[-1])
    enough = saving >= wanted
    if not enough.any():
        warnings.warn(
            f"no threshold saves {wanted:.1%} of the cost on the validation set; the largest saving is "
            f"{saving.max():.1%}. Exits after fewer rounds (every=) may save more",
            stacklevel=6,  # the caller of fit
        )
        return int(np.lexsort((better, saving))[-1])
    return int(np.lexsort((saving, better, enough))[-1])
