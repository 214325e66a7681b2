"""The order of the documents of a query that a run gives.

Documents that left early were scored by fewer nodes than the others, so their scores cannot be compared. The
gate that removed them has compared them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from miserly.plan.nodes import LEAVE

if TYPE_CHECKING:
    from miserly.plan.engine.batch import Run
    from miserly.plan.plan import Plan

__all__ = ["levels", "ranked", "settle"]


def ranked(run: Run, qid: ArrayLike | None) -> NDArray[np.float64]:
    """The scores of a run, lowered where a gate removed a document; without queries, as they are."""
    if qid is None or not run.plan.can_rank:
        return run.scores
    return settle(run.scores, levels(run.plan, run.exit, ~run.stopped), np.asarray(qid))


def levels(plan: Plan, exit: NDArray[np.int64], left: NDArray[np.bool_]) -> NDArray[np.int64]:
    """How far documents came: the node whose gate removed them, the number of nodes if none did.

    `exit` is the last node that each document finished. `left` marks documents that left there; the others
    were stopped by the budget or are still on the way.
    """
    sends_away = np.array([*(node.is_exit and node.low == LEAVE for node in plan.nodes), False])
    return np.where(left & sends_away[exit], exit, len(plan.nodes))


def settle(scores: NDArray[np.float64], level: NDArray[np.int64], qid: NDArray[Any]) -> NDArray[np.float64]:
    """Scores that rank documents that left earlier (at a lower `level`) below the others of their query.

    Each level is lowered as a whole, as far as needed, so its own order stays.

    >>> settle(np.array([5.0, 1.0, 2.0]), np.array([0, 1, 1]), np.array([7, 7, 7])).tolist()
    [0.0, 1.0, 2.0]
    """
    out = scores.astype(np.float64).copy()
    names, code = np.unique(qid, return_inverse=True)
    floor = np.full(len(names), np.inf)  # of each query: the lowest score of documents that stayed longer
    for step in np.unique(level)[::-1]:
        rows = np.flatnonzero(level == step)
        top = np.full(len(floor), -np.inf)
        np.maximum.at(top, code[rows], out[rows])
        fall = np.where(top >= floor, top - floor + 1.0, 0.0)
        out[rows] -= fall[code[rows]]
        np.minimum.at(floor, code[rows], out[rows])
    return out
