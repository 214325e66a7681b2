"""What one node computes, written out: weighted sums as formulas, small regression trees as rules."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from miserly.plan.nodes import Node
from miserly.plan.show.phrases import listing, number, plain, plural
from miserly.plan.show.wording import Wording
from miserly.plan.terms import Kernel, Raw, Tree

if TYPE_CHECKING:
    from miserly.plan.plan import Plan

__all__ = ["workings"]

_MOST_LEAVES = 16  # of the trees written out as rules, together
_MOST_WEIGHTS = 8  # of a weighted sum written out
_MOST_CATEGORIES = 5  # named in a rule
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
    trees = [(i, term) for i, term in zip(entries, terms, strict=True) if isinstance(term, Tree)]
    small = sum(tree.n_leaves for _, tree in trees) <= _MOST_LEAVES
    if len(terms) > _MOST_WEIGHTS or not small:
        return [f"{start} {_summary(terms, words)}{end}"]
    names = [_term_name(term, words, k) for k, term in enumerate(terms)]
    if len(terms) == 1 and trees and not node.bias[channel]:
        i, tree = trees[0]
        return [f"{start}{end}:", *_rules(plan, tree, float(node.weights[i]), words)]
    formula = _formula(float(node.bias[channel]), node.weights[entries].tolist(), names)
    lines = [f"{start} {formula}{end}"]
    for i, tree in trees:
        lines += [f"  where {names[entries.index(i)]} is:"]
        lines += [f"  {line}" for line in _rules(plan, tree, 1.0, words)]
    return lines


def _term_name(term: Raw | Tree | Kernel, words: Wording, k: int) -> str:
    match term:
        case Raw():
            return words.feature(term.feature)
        case Tree():
            return f"tree {k + 1}"
    return f"{term.kernel} kernel {k + 1}"


def _summary(terms: list[Raw | Tree | Kernel], words: Wording) -> str:
    raw = [term.feature for term in terms if isinstance(term, Raw)]
    trees = [term for term in terms if isinstance(term, Tree)]
    kernels = [term for term in terms if isinstance(term, Kernel)]
    parts, over = [], ""
    if raw:
        parts.append(f"{plural(len(raw), 'feature')} ({words.features(raw)})")
    if trees:
        used = np.unique(np.concatenate([tree.features for tree in trees])).tolist()
        over = f" over {words.features(used)}" if used else ""
        parts.append(f"{plural(len(trees), 'tree')}{over}")
    if kernels:
        names = listing(sorted({kernel.kernel for kernel in kernels}))
        parts.append(f"{plural(len(kernels), 'kernel')} ({names})")
    if len(trees) == len(terms) == 1:
        return f"the value of a tree with {trees[0].n_leaves} leaves{over}"
    return "a weighted sum of " + listing(parts)


def _formula(bias: float, weights: list[float], names: list[str]) -> str:
    """A weighted sum: "0.1 + 0.5 × age - 2 × chol"."""
    text = number(bias) if bias or not names else ""
    for weight, name in zip(weights, names, strict=True):
        size = name if abs(weight) == 1 else f"{number(abs(weight))} {_TIMES} {name}"
        sign = "-" if weight < 0 else "+"
        text = f"{text} {sign} {size}" if text else f"-{size}" if weight < 0 else size
    return text


def _rules(plan: Plan, tree: Tree, weight: float, words: Wording) -> list[str]:
    """A small tree as nested rules, its leaves times `weight`."""

    def below(i: int, indent: str, lead: str) -> list[str]:
        if tree.feature[i] < 0:
            return [f"{indent}{lead}{number(weight * float(tree.value[i]))}"]
        inner = indent + ("  " if lead else "")
        return [
            *([f"{indent}{lead}".rstrip()] if lead else []),
            *below(int(tree.left[i]), inner, f"if {_question(plan, tree, i, words)}: "),
            *below(int(tree.right[i]), inner, "otherwise: "),
        ]

    return below(0, "  ", "")


def _question(plan: Plan, tree: Tree, i: int, words: Wording) -> str:
    """What sends an example left at node `i` of a tree."""
    feature = int(tree.feature[i])
    name = words.feature(feature)
    missing = " or missing" if tree.missing_left[i] else ""
    assert tree.category is not None and tree.words is not None
    row = int(tree.category[i])
    if row < 0:
        return f"{name} <= {number(float(tree.threshold[i]))}{missing}"
    bits = np.unpackbits(tree.words[row].astype("<u4").view(np.uint8), bitorder="little")
    codes = np.flatnonzero(bits).tolist()
    known = plan.categories.get(feature)
    if known is not None:
        codes = [code for code in codes if code < len(known)]
    shown = codes if len(codes) <= _MOST_CATEGORIES else codes[: _MOST_CATEGORIES - 1]
    values = [plain(known[code]) if known is not None else str(code) for code in shown]
    return f"{name} is {listing(values, len(codes) - len(shown), last='or')}{missing}"
