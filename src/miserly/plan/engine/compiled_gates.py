"""Compiled rules of gates."""

from __future__ import annotations

import numpy as np

from miserly.plan import links
from miserly.plan.gates import Capacity, Confidence, Gate, Onward, Proximity, Rank, Threshold
from miserly.utils.compiled import compiled

__all__ = ["GATE_RULES", "LISTWISE", "STOPPED", "send_documents", "send_rows"]

# The gates that have a rule below. Compiled code reads their codes as constants.
GATE_RULES: tuple[type[Gate], ...] = (Onward, Threshold, Confidence, Proximity, Rank, Capacity)
LISTWISE = tuple(gate.listwise for gate in GATE_RULES)  # by code
ONWARD, THRESHOLD, CONFIDENCE, PROXIMITY, CAPACITY = (
    gate.code for gate in (Onward, Threshold, Confidence, Proximity, Capacity)
)
STOPPED = -2  # the place of a row that the budget stopped; -1 is the place of a row that left with an answer

_part = compiled(forceinline=True)
_exp = _part(links.exp)


@_part
def _confidence(logistic, n_outputs, scores, i):
    """The probability of the most probable class."""
    if logistic:
        positive = 1.0 / (1.0 + _exp(-scores[i, 0]))
        return max(positive, 1.0 - positive)
    top = scores[i, 0]
    for c in range(1, n_outputs):
        top = max(top, scores[i, c])
    total = 0.0
    for c in range(n_outputs):
        total += _exp(scores[i, c] - top)
    return 1.0 / total


@compiled()
def _cut(gate, number, count, scores, n_query):
    """The score below which documents leave at a list-wise gate, given those still in the run."""
    keep = max(1, int(np.ceil(number * n_query))) if gate == CAPACITY else count
    if keep > scores.shape[0]:
        return -np.inf
    kth = np.sort(scores)[scores.shape[0] - keep]
    return kth - number if gate == PROXIMITY else kth


@compiled()
def send_rows(nodes, k, rows, scores, at):
    """Send each row up or low by what it scores itself."""
    gate, number, count, up, low = nodes.gate[k], nodes.number[k], nodes.whole[k], nodes.up[k], nodes.low[k]
    logistic, n_outputs = nodes.logistic, nodes.n_outputs
    for r in range(rows.shape[0]):
        i = rows[r]
        if gate == ONWARD:
            at[i] = up
        elif gate == THRESHOLD:
            at[i] = up if scores[i, count] > number else low
        elif gate == CONFIDENCE:
            at[i] = low if _confidence(logistic, n_outputs, scores, i) >= number else up


@compiled()
def send_documents(nodes, k, order, start, first, last, scores, at, trail):
    """Send the documents of each query up or low by how they compare, unless the budget keeps one away."""
    gate, number, count, up, low = nodes.gate[k], nodes.number[k], nodes.whole[k], nodes.up[k], nodes.low[k]
    for b in range(first, last):
        query = order[start[b] : start[b + 1]]
        present = np.empty(query.shape[0])
        n, complete = 0, True
        for i in query:
            complete &= at[i] != STOPPED
            if at[i] == k:
                present[n] = scores[i, 0]
                n += 1
        cut = _cut(gate, number, count, present[:n], query.shape[0])
        for i in query:
            if at[i] == k and complete:
                at[i] = low if scores[i, 0] < cut else up
            elif at[i] == k:
                at[i], trail[i, 1] = STOPPED, k
