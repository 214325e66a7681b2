"""Where to let examples leave a chain early: gates, what they would do, and which threshold to take.

Everything here works on what one staged run over validation rows gave (scores and costs at every exit), so
that no candidate threshold needs the model again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from miserly.errors import DataError
from miserly.metrics import Queries
from miserly.plan import Capacity, Confidence, Proximity, Rank, Threshold, links
from miserly.plan.gates import Gate

__all__ = [
    "LISTWISE",
    "RULES",
    "Staged",
    "candidate_thresholds",
    "check_threshold",
    "dividers",
    "exit_gates",
    "leave",
]

RULES = ("confidence", "proximity", "score", "rank", "capacity")
LISTWISE = ("proximity", "rank", "capacity")
_CANDIDATES = 100
_ROUNDING = 1e-9  # values closer than this are equal but for rounding


def exit_gates(rule: str, threshold: float, n_exits: int, k: int) -> list[Gate]:
    """The gates of exits 1..n_exits (Cambazoglu et al. 2010); an infinite threshold means none.

    - confidence: leave once the most probable class has at least probability `threshold`;
    - score: leave once the score is no more than `threshold`;
    - rank: the best `threshold` documents of a query go on (which is decided at the first exit);
    - capacity: the share of a query's documents that goes on falls evenly to `threshold` at the last exit,
      ``threshold ** (i / n_exits)`` at exit `i`;
    - proximity: leave if the score is more than ``threshold (E - i) / (E - 1)`` below the `k`-th best.

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
    return [Proximity(slack=float(threshold) * _remaining(i, n_exits), k=k) for i in exits]


def check_threshold(rule: str, threshold: float) -> float:
    """Refuse thresholds that mean nothing to a rule."""
    value = float(threshold)
    right = {
        "confidence": (0.0 <= value <= 1.0, "a probability"),
        "score": (not np.isnan(value), "a number"),
        "rank": (value >= 1 and value == np.floor(value), "a number of documents, 1 or more"),
        "capacity": (0.0 < value <= 1.0, "a share of the documents, above 0 and at most 1"),
        "proximity": (value >= 0.0, "a difference of scores, 0 or more"),
    }
    sound, meaning = right[rule]
    if not sound and not np.isinf(value):
        raise DataError(f"rule={rule!r}: the threshold must be {meaning}, not {threshold!r}")
    return value


def _remaining(i: int, n_exits: int) -> float:
    return (n_exits - i) / (n_exits - 1) if n_exits > 1 else 1.0


@dataclass(frozen=True, eq=False)
class Staged:
    """Validation rows at every exit and, last, at the end: scores (E + 1, n, K) and costs (E + 1, n)."""

    scores: NDArray[np.float64]
    cost: NDArray[np.float64]
    link: str
    queries: Queries | None = None
    _confidence: dict[int, NDArray[np.float64]] = field(default_factory=dict)
    _order: dict[int, NDArray[np.int64]] = field(default_factory=dict)

    @property
    def n_exits(self) -> int:
        return len(self.scores) - 1

    def confidence(self, i: int) -> NDArray[np.float64]:
        """The probability of each row's most probable class at exit `i`."""
        if i not in self._confidence:
            self._confidence[i] = links.probabilities(self.link, self.scores[i]).max(axis=1)
        return self._confidence[i]

    def best_first(self, i: int) -> NDArray[np.int64]:
        """Rows query by query, and the best score of exit `i` first in each."""
        assert self.queries is not None
        if i not in self._order:
            self._order[i] = np.lexsort((-self.scores[i, :, 0], self.queries.code))
        return self._order[i]

    def at(self, exits: NDArray[np.int64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Scores (n, K) and costs (n,) of rows that leave at these exits."""
        rows = np.arange(len(exits))
        return self.scores[exits, rows], self.cost[exits, rows]


def leave(staged: Staged, gates: Sequence[Gate]) -> NDArray[np.int64]:
    """The exit each row leaves at, counted from 0; `n_exits` for those who stay to the end."""
    n = staged.scores.shape[1]
    exits = np.full(n, staged.n_exits, dtype=np.int64)
    inside = np.ones(n, dtype=np.bool_)
    for i, gate in enumerate(gates):
        going = inside & _leaves(staged, i, gate, inside)
        exits[going] = i
        inside &= ~going
    return exits


def _leaves(staged: Staged, i: int, gate: Gate, inside: NDArray[np.bool_]) -> NDArray[np.bool_]:
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
    cut = _kth_best(staged, i, inside, keep)
    return score < (cut - gate.slack if isinstance(gate, Proximity) else cut)[staged.queries.code]


def _kth_best(
    staged: Staged, i: int, inside: NDArray[np.bool_], keep: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Of each query, the score of place `keep` among the rows still inside; -inf if there are fewer."""
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


def candidate_thresholds(rule: str, staged: Staged, k: int) -> NDArray[np.float64]:
    """Thresholds worth trying: such that they let more and more rows leave, and one that lets none."""
    if rule == "confidence":
        found = np.array([staged.confidence(i) for i in range(staged.n_exits)])
        return np.array([0.0, *dividers(found), np.inf])
    if rule == "score":
        score = staged.scores[:-1, :, 0]
        return np.array([*dividers(score), score.max() + 1.0, -np.inf])
    assert staged.queries is not None
    largest = int(staged.queries.sizes.max())
    if rule == "rank":
        return np.append(np.unique(np.geomspace(1, largest, _CANDIDATES).astype(np.int64)), np.inf)
    if rule == "capacity":
        return np.append(np.unique(np.geomspace(1.0 / largest, 1.0, _CANDIDATES)), np.inf)
    return np.array([0.0, *dividers(_distances(staged, k)), np.inf])


def dividers(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Some numbers that divide the values into even shares, each half way between two of them.

    A threshold that equals a value would be at the mercy of its last bit, which depends on the order of
    additions and on the scale of the sample weights.

    >>> dividers(np.array([0.0, 0.0, 1.0, 4.0])).tolist()
    [0.5, 2.5]
    """
    levels = np.unique(values)
    apart = np.diff(levels) > _ROUNDING * np.maximum(1.0, np.abs(levels[1:]))
    middles = (0.5 * levels[:-1] + 0.5 * levels[1:])[apart]
    wanted = np.quantile(values, np.linspace(0.0, 1.0, _CANDIDATES))
    places = np.unique(np.searchsorted(middles, wanted))
    return middles[places[places < len(middles)]]


def _distances(staged: Staged, k: int) -> NDArray[np.float64]:
    """How far rows lie below their query's `k`-th best, as the threshold that would just keep them.

    The last exit (slack 0 whatever the threshold, if there are several) has no say.
    """
    assert staged.queries is not None
    everybody = np.ones(staged.scores.shape[1], dtype=np.bool_)
    places = np.full(len(staged.queries), k)
    found = [np.zeros(1)]
    for i in range(max(1, staged.n_exits - 1)):
        best = _kth_best(staged, i, everybody, places)[staged.queries.code]
        below = best - staged.scores[i, :, 0]
        found.append(below[below > 0.0] / _remaining(i + 1, staged.n_exits))
    return np.concatenate(found)
