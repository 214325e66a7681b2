"""A plan as the walk of one row reads it: two sequences of numbers, and two more that a row starts with.

A program is made of few long sequences instead of many short ones, because handing over a dozen arrays to
compiled code takes longer than a walk.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from miserly.plan.gates import Confidence, Onward, Settled, Threshold
from miserly.plan.links import LINKS
from miserly.plan.terms import Raw, Term, Tree

if TYPE_CHECKING:
    from miserly.plan.plan import Plan

__all__ = ["Program"]

# Terms and gates that the walk has rules for; others have one of the negative codes.
TREE, RAW, OTHER, BY_PATH = Tree.code, Raw.code, -1, -2
ONWARD, THRESHOLD, CONFIDENCE, SETTLED, ELSEWHERE = (
    Onward.code,
    Threshold.code,
    Confidence.code,
    Settled.code,
    -1,
)
# What is known of a feature: nothing, its value, or its value and that it is paid.
UNKNOWN, KNOWN, PAID = range(3)

# The first places in `state`, before what is known of each feature, which groups are open, and which terms
# were evaluated.
NODE, ENTRY, PHASE, POSITION, EXIT, NEEDED, UP, WHOLE, AMOUNTS_DONE, KNOWN_AT = range(10)
# The first places in `numbers`, before values and prices of features, set-ups of groups, and scores.
SPENT, BUDGET, VALUE, EVALUATIONS, VALUES_AT = range(5)

# The places in the head of a program: sizes, then where each part begins.
(
    N_FEATURES, N_SCORES, N_OUTPUTS, CHANCES,
    TREE_FEATURE, TREE_LEFT, TREE_MISSING, TREE_CATEGORY, WORDS,
    TERM_KIND, TERM_START, TERM_POINTER, TERM_FEATURE,
    NODE_POINTER, ENTRY_TERM, ENTRY_CHANNEL, ENTRY_FRESH,
    NODE_INHERITS, NODE_GATE, NODE_WHOLE, NODE_UP, NODE_LOW, GROUP, GROUP_POINTER,
    TREE_THRESHOLD, TREE_VALUE, TERM_FILL, TERM_EVALUATION, ENTRY_WEIGHT, NODE_BIAS, NODE_NUMBER,
    OPENED, EVALUATED, PRICES, SCORES,
    SIGNS, REST_LOW, REST_HIGH, REST_SIZE, REST_ERROR, TERM_LOW, TERM_HIGH, STACK, BOUNDS,
    NODE_SINGLE, TREE_SPAN, NODE_ACQUIRES,
    N_CLASSES, N_ANSWERS, OUTCOMES, SLACK, SHARES, AMOUNTS, AMOUNT_FEATURE, NODE_BOUGHT,
) = range(55)  # fmt: skip
_HEAD = 55


class Program(NamedTuple):
    """A plan as `walk` reads it.

    Parameters
    ----------
    integers : sequence of int
        Sizes, then where each part begins, then the parts.
    reals : sequence of float
        The parts that are real numbers.
    state, numbers : sequences
        What a row starts with.
    opened, evaluated : int
        Where the flags of open groups and of evaluated terms begin in `state`.
    prices, scores : int
        Where prices (of features, then of set-ups) and scores begin in `numbers`.
    """

    integers: Any
    reals: Any
    state: Any
    numbers: Any
    opened: int
    evaluated: int
    prices: int
    scores: int

    @classmethod
    def of(cls, plan: Plan) -> Program:
        """The program of a plan, as arrays."""
        d, groups, s = plan.n_features, len(plan.costs.setup), plan.n_scores
        opened = KNOWN_AT + d
        evaluated = opened + groups
        prices = VALUES_AT + d
        scores = prices + d + groups
        whole, real = _parts(plan)
        head = np.zeros(_HEAD, dtype=np.int64)
        head[[N_FEATURES, N_SCORES, N_OUTPUTS, CHANCES]] = d, s, plan.n_outputs, LINKS[plan.link].chances
        head[[OPENED, EVALUATED, PRICES, SCORES]] = opened, evaluated, prices, scores
        head[AMOUNTS] = len(plan.amount_columns)
        head[SIGNS] = plan.tables.nodes.signs
        head[STACK], head[BOUNDS] = evaluated + len(plan.terms), scores + 2 * s
        head[[N_CLASSES, N_ANSWERS]] = plan.tables.nodes.outcomes.shape
        head[SHARES] = head[BOUNDS] + 4 * s
        depth, ends = _scratch(plan)
        integers = _joined(head, whole, [head])
        reals = _joined(head, real, [np.zeros(0)])
        integers[:_HEAD] = head
        state = np.zeros(evaluated + len(plan.terms) + depth, dtype=np.int64)
        state[NODE], state[EXIT], state[NEEDED] = (0 if plan.nodes else -1), -1, -1
        numbers = np.zeros(scores + 2 * s + ends)
        numbers[BUDGET] = plan.budget
        numbers[VALUES_AT:prices] = np.nan
        numbers[prices:scores] = np.concatenate([plan.costs.feature, plan.costs.setup])
        numbers[scores : scores + s] = plan.base
        return cls(integers, reals, state, numbers, opened, evaluated, prices, scores)

    def as_lists(self) -> Program:
        """The same, for Python."""
        integers, reals, state, numbers = (part.tolist() for part in self[:4])
        return self._replace(integers=integers, reals=reals, state=state, numbers=numbers)


def _joined(head: NDArray[Any], parts: dict[int, NDArray[Any]], first: list[NDArray[Any]]) -> NDArray[Any]:
    """Parts end to end after what comes first; `head` gets where each one begins."""
    begin = len(first[0])
    for place, part in parts.items():
        head[place] = begin
        begin += len(part)
    return np.concatenate([*first, *parts.values()])


def _parts(plan: Plan) -> tuple[dict[int, NDArray[Any]], dict[int, NDArray[Any]]]:
    """The parts of a program by their place in the head: whole numbers, and real numbers."""
    trees, _, terms, nodes, prices = plan.tables
    known, inside = (ONWARD, THRESHOLD, CONFIDENCE, SETTLED), prices.groups >= 0
    gate = [code if code in known else ELSEWHERE for code in nodes.gate.tolist()]
    whole: dict[int, Any] = {
        TREE_FEATURE: trees.feature, TREE_LEFT: trees.left, TREE_MISSING: trees.missing,
        TREE_CATEGORY: trees.category, TREE_SPAN: trees.span, WORDS: trees.words.ravel(),
        TERM_KIND: [_kind(term) for term in plan.terms], TERM_START: terms.start,
        TERM_POINTER: terms.pointer, TERM_FEATURE: terms.features,
        NODE_POINTER: nodes.pointer, ENTRY_TERM: nodes.term, ENTRY_CHANNEL: nodes.channel,
        ENTRY_FRESH: nodes.fresh, NODE_INHERITS: nodes.inherits, NODE_SINGLE: nodes.single, NODE_GATE: gate,
        NODE_ACQUIRES: [node.acquisition is not None for node in plan.nodes],
        NODE_BOUGHT: [node.bought_only for node in plan.nodes],
        NODE_WHOLE: nodes.whole, NODE_UP: nodes.up, NODE_LOW: nodes.low,
        AMOUNT_FEATURE: plan.amount_columns,
        GROUP: prices.groups[inside], GROUP_POINTER: np.append(0, np.cumsum(inside.sum(axis=1))),
    }  # fmt: skip
    real: dict[int, Any] = {
        TREE_THRESHOLD: trees.threshold, TREE_VALUE: trees.value, TERM_FILL: terms.fill,
        TERM_EVALUATION: terms.evaluation, ENTRY_WEIGHT: nodes.weight, NODE_BIAS: nodes.bias.ravel(),
        NODE_NUMBER: nodes.number, REST_LOW: nodes.rest_low.ravel(), REST_HIGH: nodes.rest_high.ravel(),
        REST_SIZE: nodes.rest_size.ravel(), REST_ERROR: nodes.rest_error, TERM_LOW: nodes.term_low,
        TERM_HIGH: nodes.term_high, OUTCOMES: nodes.outcomes.ravel(), SLACK: [nodes.slack],
    }  # fmt: skip
    return (
        {place: np.asarray(part, dtype=np.int64) for place, part in whole.items()},
        {place: np.asarray(part, dtype=np.float64) for place, part in real.items()},
    )


def _scratch(plan: Plan) -> tuple[int, int]:
    """Space for gates that look at the rest of the chain: nodes of a tree, bounds of scores and shares."""
    if len(plan.tables.nodes.rest_error) == 0:
        return 0, 0
    n_shares = 3 * len(plan.tables.nodes.outcomes)
    return int(plan.tables.terms.depth.max(initial=0)) + 2, 4 * plan.n_scores + n_shares


def _kind(term: Term) -> int:
    """The code of a term that has a rule below; else one of two codes for others."""
    if term.code in (TREE, RAW):
        return term.code
    return BY_PATH if term.by_path else OTHER
