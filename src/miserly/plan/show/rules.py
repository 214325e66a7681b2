"""What one node computes, written out: weighted sums as formulas, small trees as rules."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from miserly.plan.nodes import Node
from miserly.plan.show.phrases import listing, number, plural
from miserly.plan.show.wording import Wording
from miserly.plan.terms import TERMS, Term

if TYPE_CHECKING:
    from miserly.plan.plan import Plan

__all__ = ["workings"]

_MOST_LEAVES = 16  # of the trees written out as rules, together
_MOST_WEIGHTS = 8  # of a weighted sum written out
_MOST_LINES = 32
_TIMES = "\N{MULTIPLICATION SIGN}"


def workings(plan: Plan, node: Node, words: Wording, subject: str) -> list[str]:
    """What `subject`, a node, does to the scores.

    >>> from miserly import Costs, Plan
    >>> from miserly.plan import Raw
    >>> node = Node([0, 1], [0, 0], [0.5, -2.0], [0.1], inherits=False)
    >>> plan = Plan(costs=Costs({"age": 1, "chol": 5}), terms=[Raw(0), Raw(1)], nodes=[node], base=[0.0])
    >>> workings(plan, node, Wording(plan), "step 1")
    ['step 1 sets the score to 0.1 + 0.5 × age - 2 × chol']
    """
    touched = np.flatnonzero(node.bias).tolist() if node.inherits else range(plan.n_scores)
    entries: dict[int, list[int]] = {channel: [] for channel in touched}
    for i, channel in enumerate(node.channels.tolist()):
        entries.setdefault(channel, []).append(i)
    lines: list[str] = []
    for done, channel in enumerate(sorted(entries)):
        if len(lines) > _MOST_LINES:
            rest = plural(len(entries) - done, "more score")
            return [*lines, f"{subject} does something of this kind to {rest}"]
        lines += _channel(plan, node, words, subject, channel, entries[channel])
    return lines or [f"{subject} leaves the score as it is"]


def _channel(
    plan: Plan, node: Node, words: Wording, subject: str, channel: int, entries: list[int]
) -> list[str]:
    """What a node does to one score: the sum as far as it can be written in a line, then rules of trees."""
    terms = [plan.terms[t] for t in node.terms[entries].tolist()]
    start = f"{subject} adds" if node.inherits else f"{subject} sets {words.score(channel)} to"
    end = f" to {words.score(channel)}" if node.inherits else ""
    ruled = [(i, term) for i, term in zip(entries, terms, strict=True) if term.n_rules]
    small = sum(term.n_rules for _, term in ruled) <= _MOST_LEAVES
    if len(terms) > _MOST_WEIGHTS or not small:
        return [f"{start} {_summary(terms, words)}{end}"]
    names = [term.name_words(place, words) for place, term in enumerate(terms, start=1)]
    if len(terms) == 1 and ruled and not node.bias[channel]:
        i, term = ruled[0]
        return [f"{start}{end}:", *term.rules(float(node.weights[i]), words)]
    formula = _formula(float(node.bias[channel]), node.weights[entries].tolist(), names)
    lines = [f"{start} {formula}{end}"]
    for i, term in ruled:
        lines += [f"  where {names[entries.index(i)]} is:"]
        lines += [f"  {line}" for line in term.rules(1.0, words)]
    return lines


def _summary(terms: Sequence[Term], words: Wording) -> str:
    alone = terms[0].alone_words(words) if len(terms) == 1 else None
    if alone is not None:
        return alone
    by_class = {kind: [term for term in terms if term.kind == kind] for kind in TERMS}
    parts = [TERMS[kind].sum_words(some, words) for kind, some in by_class.items() if some]
    return f"a weighted sum of {listing(parts)}"


def _formula(bias: float, weights: list[float], names: list[str]) -> str:
    """A weighted sum: "0.1 + 0.5 × age - 2 × chol"."""
    text = number(bias) if bias or not names else ""
    for weight, name in zip(weights, names, strict=True):
        size = name if abs(weight) == 1 else f"{number(abs(weight))} {_TIMES} {name}"
        sign = "-" if weight < 0 else "+"
        text = f"{text} {sign} {size}" if text else f"-{size}" if weight < 0 else size
    return text
