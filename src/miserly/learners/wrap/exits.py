"""Exits of a chain: their gates, and the rows that leave at each of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from miserly.errors import DataError, PlanError
from miserly.metrics import Queries
from miserly.plan import LEAVE, Capacity, Confidence, Plan, Proximity, Rank, Threshold, links
from miserly.plan.gates import Gate

__all__ = [
    "LISTWISE",
    "RULES",
    "StagedScores",
    "check_plan",
    "check_threshold",
    "exit_gates",
    "kth_best",
    "leave",
    "remaining",
    "with_gates",
]

RULES = ("confidence", "proximity", "score", "rank", "capacity")
LISTWISE = ("proximity", "rank", "capacity")


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
    if rule == "confidence" and not plan.has_probabilities:
        raise DataError(f"rule='confidence' needs class probabilities, but {name} has none")
    if rule != "confidence" and plan.n_scores > 1:
        raise DataError(
            f"rule={rule!r} needs one score per row, but {name} has {plan.n_scores}. "
            "Only binary classification is supported with it"
        )


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
    _confidence: dict[int, NDArray[np.float64]] = field(default_factory=dict)
    _order: dict[int, NDArray[np.int64]] = field(default_factory=dict)

    @classmethod
    def of(
        cls, plan: Plan, X: NDArray[Any], stops: Sequence[int], queries: Queries | None, n_threads: int | None
    ) -> StagedScores:
        """Run encoded rows through a chain with exits after the numbers of nodes `stops`."""
        stages = list(plan.run_staged(X, [*stops, len(plan.nodes)], n_threads=n_threads, encoded=True))
        scores, cost = (np.array([getattr(stage, name) for stage in stages]) for name in ("scores", "cost"))
        return cls(scores, cost, plan.link, queries)

    @property
    def n_exits(self) -> int:
        return len(self.scores) - 1

    def confidence(self, i: int) -> NDArray[np.float64]:
        """Probability of the most probable class of each row at exit `i`."""
        if i not in self._confidence:
            self._confidence[i] = links.probabilities(self.link, self.scores[i]).max(axis=1)
        return self._confidence[i]

    def best_first(self, i: int) -> NDArray[np.int64]:
        """Rows sorted by query, and within a query by falling score at exit `i`."""
        assert self.queries is not None
        if i not in self._order:
            self._order[i] = np.lexsort((-self.scores[i, :, 0], self.queries.code))
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
        going = inside & _leaves(staged, i, gate, inside)
        exits[going] = i
        inside &= ~going
    return exits


def _leaves(staged: StagedScores, i: int, gate: Gate, inside: NDArray[np.bool_]) -> NDArray[np.bool_]:
    if isinstance(gate, Confidence):
        return staged.confidence(i) >= gate.level
    score = staged.scores[i, :, 0]
    if isinstance(gate, Threshold):
        return ~(score > gate.value)
    assert staged.queries is not None
    sizes = staged.queries.sizes
    if isinstance(gate, Capacity):
        keep = np.maximum(1, np.ceil(gate.share * sizes)).astype(np.int64)
    else:
        assert isinstance(gate, (Proximity, Rank))
        keep = np.full(len(sizes), gate.k, dtype=np.int64)
    cut = kth_best(staged, i, inside, keep)
    return score < (cut - gate.slack if isinstance(gate, Proximity) else cut)[staged.queries.code]


def kth_best(
    staged: StagedScores, i: int, inside: NDArray[np.bool_], keep: NDArray[np.int64]
) -> NDArray[np.float64]:
    """For each query, the `keep`-th best score of the rows still inside; -inf if there are fewer."""
    assert staged.queries is not None
    sizes = staged.queries.sizes
    order = staged.best_first(i)
    present = inside[order]
    upto = np.cumsum(present)
    before = np.repeat(upto[np.cumsum(sizes) - sizes] - present[np.cumsum(sizes) - sizes], sizes)
    query = np.repeat(np.arange(len(sizes)), sizes)
    at_place = present & (upto - before == keep[query])
    cut = np.full(len(sizes), -np.inf)
    cut[query[at_place]] = staged.scores[i, order[at_place], 0]
    return cut


def with_gates(plan: Plan, stops: Sequence[int], gates: Sequence[Gate]) -> Plan:
    """The chain with a gate after each of the numbers of nodes `stops`. There may be no gates at all."""
    nodes = list(plan.nodes)
    for stop, gate in zip(stops, gates, strict=False):
        nodes[stop - 1] = replace(nodes[stop - 1], gate=gate, low=LEAVE)
    return plan.replace(nodes=nodes, info={**plan.info, "early_exit": True})
