"""Whether later nodes can change the answer of one row: the rule of `Settled` for the walk.

As in `walk`, each function is compiled by numba or run by Python on lists. The operations and their order are
those of `rest`, so that all engines decide alike.
"""

from __future__ import annotations

import math

from miserly.plan.engine.outcomes import LEAST_SHARE
from miserly.plan.engine.program import (
    BOUNDS,
    CHANCES,
    ENTRY_CHANNEL,
    ENTRY_TERM,
    ENTRY_WEIGHT,
    KNOWN_AT,
    N_ANSWERS,
    N_CLASSES,
    N_OUTPUTS,
    N_SCORES,
    NODE_BIAS,
    NODE_LOW,
    NODE_POINTER,
    NODE_UP,
    NODE_WHOLE,
    OUTCOMES,
    PAID,
    RAW,
    REST_ERROR,
    REST_HIGH,
    REST_LOW,
    REST_SIZE,
    SCORES,
    SHARES,
    SIGNS,
    SLACK,
    STACK,
    TERM_FILL,
    TERM_HIGH,
    TERM_KIND,
    TERM_LOW,
    TERM_START,
    TREE,
    TREE_CATEGORY,
    TREE_FEATURE,
    TREE_LEFT,
    TREE_MISSING,
    TREE_SPAN,
    TREE_THRESHOLD,
    TREE_VALUE,
    VALUES_AT,
    WORDS,
)
from miserly.plan.links import BY_EACH, BY_LOG_ODDS, BY_SHARES

__all__ = ["REST_HELPERS", "exp_of_one", "is_settled"]

_LOG2E = 1.4426950408889634
_LN2_HIGH = 6.93147180369123816490e-01
_LN2_LOW = 1.90821492927058770002e-10
_SERIES = tuple(1.0 / math.factorial(n) for n in range(12, -1, -1))


def exp_of_one(x):
    """The exponential: the operations of `links.exp`, for one number."""
    x = min(max(x, -700.0), 700.0)
    k = round(x * _LOG2E)
    r = (x - k * _LN2_HIGH) - k * _LN2_LOW
    p = 1.0 / 6227020800.0
    for part in _SERIES:
        p = p * r + part
    return math.ldexp(p, k)


def _goes_left(program, constants, node, x):
    """Whether a row goes left at an inner node of a tree: 1 or 0."""
    row = program[program[TREE_CATEGORY] + node]
    if x == x and row < 0:
        return 1 if x <= constants[program[TREE_THRESHOLD] + node] else 0
    if x == x and x >= 0.0 and x < 256.0 * program[program[TREE_SPAN] + node] and x == int(x):
        return (program[program[WORDS] + 8 * row + (int(x) >> 5)] >> (int(x) & 31)) & 1
    return program[program[TREE_MISSING] + node]


def _leaves(program, constants, state, numbers, root):
    """The smallest and the largest leaf of a tree that the row can reach, given what it has paid."""
    feature, left, value, stack = (
        program[TREE_FEATURE],
        program[TREE_LEFT],
        program[TREE_VALUE],
        program[STACK],
    )
    low, high = math.inf, -math.inf
    state[stack], n = root, 1
    while n > 0:
        n -= 1
        node = state[stack + n]
        f = program[feature + node]
        while f >= 0:
            if state[KNOWN_AT + f] == PAID:
                node = program[left + node] + 1 - _goes_left(program, constants, node, numbers[VALUES_AT + f])
            else:
                node = program[left + node]
                state[stack + n] = node + 1
                n += 1
            f = program[feature + node]
        low, high = min(low, constants[value + node]), max(high, constants[value + node])
    return low, high


def _values(program, constants, state, numbers, t):
    """The smallest and the largest value that a term can have for the row."""
    kind, start = program[program[TERM_KIND] + t], program[program[TERM_START] + t]
    if kind == TREE:
        return _leaves(program, constants, state, numbers, start)
    if kind == RAW and state[KNOWN_AT + start] == PAID:
        x = numbers[VALUES_AT + start]
        x = constants[program[TERM_FILL] + t] if x != x else x
        return x, x
    return constants[program[TERM_LOW] + t], constants[program[TERM_HIGH] + t]


def _bounds_of_shares(program, constants, numbers, k):
    """Write the least, present and largest share of each class to `numbers`; false if one has no bound."""
    s, outputs, chances = program[N_SCORES], program[N_OUTPUTS], program[CHANCES]
    n, place = program[N_CLASSES], program[SHARES]
    error, size = constants[program[REST_ERROR] + k], program[REST_SIZE] + k * s
    first = 1 if chances == BY_LOG_ODDS else 0  # the score of the first class is 0
    top = 0.0 if first else -math.inf
    for e in range(3):
        numbers[place + e * n] = 0.0
    for c in range(outputs):
        score = numbers[program[SCORES] + c]
        margin, at = error * (abs(score) + constants[size + c]), place + c + first
        numbers[at] = score + (numbers[program[BOUNDS] + c] - margin)
        numbers[at + n] = score
        numbers[at + 2 * n] = score + (numbers[program[BOUNDS] + s + c] + margin)
        top = max(top, numbers[at + 2 * n])
    if not top < math.inf:
        return False
    total = 0.0
    for at in range(place, place + 3 * n):
        if chances == BY_EACH:
            numbers[at] = 1.0 / (1.0 + exp_of_one(-numbers[at]))
        elif chances != BY_SHARES:
            numbers[at] = exp_of_one(numbers[at] - top)
    for at in range(place, place + n):
        total += numbers[at]
    return chances != BY_SHARES or total > 0.0


def _is_undecided(program, constants, numbers, k):
    """Whether the bounds in `numbers` leave the answer of least expected cost open."""
    if not _bounds_of_shares(program, constants, numbers, k):
        return True
    n, answers, costs = program[N_CLASSES], program[N_ANSWERS], program[OUTCOMES]
    low, now, high = program[SHARES], program[SHARES] + n, program[SHARES] + 2 * n
    answer, least = 0, math.inf
    for a in range(answers):
        cost = 0.0
        for c in range(n):
            cost += numbers[now + c] * constants[costs + c * answers + a]
        if cost < least:
            answer, least = a, cost
    for b in range(answers):
        total, whole = 0.0, 0.0
        for c in range(n):
            other, own = constants[costs + c * answers + b], constants[costs + c * answers + answer]
            difference = other - own
            total += difference * (numbers[low + c] if difference > 0.0 else numbers[high + c])
            whole += (other + own) * (numbers[high + c] + LEAST_SHARE)
        if b != answer and not total > constants[program[SLACK]] * whole:
            return True
    return False


def _can_differ(program, constants, numbers, k):
    """Whether the bounds in `numbers` leave the answer open."""
    if program[N_ANSWERS]:
        return _is_undecided(program, constants, numbers, k)
    s, scores, outputs = program[N_SCORES], program[SCORES], program[N_OUTPUTS]
    error, size = constants[program[REST_ERROR] + k], program[REST_SIZE] + k * s
    low, high = program[BOUNDS], program[BOUNDS] + s
    if program[SIGNS]:
        for c in range(outputs):
            score = numbers[scores + c]
            margin = error * (abs(score) + constants[size + c])
            if not (score + (numbers[low + c] - margin) > 0.0 or score + (numbers[high + c] + margin) < 0.0):
                return True
        return False
    top = 0
    for c in range(1, outputs):
        if numbers[scores + c] > numbers[scores + top]:
            top = c
    score = numbers[scores + top]
    least = score + (numbers[low + top] - error * (abs(score) + constants[size + top]))
    for c in range(outputs):
        if c != top:
            score = numbers[scores + c]
            if not least > score + (numbers[high + c] + error * (abs(score) + constants[size + c])):
                return True
    return False


def _add_node(program, constants, state, numbers, j):
    """Add what node `j` may contribute to the sums behind the bounds, and widen the bounds."""
    s = program[N_SCORES]
    low, high = program[BOUNDS], program[BOUNDS] + s
    least, most = low + 2 * s, low + 3 * s
    for c in range(s):
        bias = constants[program[NODE_BIAS] + j * s + c]
        numbers[least + c] += bias
        numbers[most + c] += bias
    for e in range(program[program[NODE_POINTER] + j], program[program[NODE_POINTER] + j + 1]):
        weight, c = constants[program[ENTRY_WEIGHT] + e], program[program[ENTRY_CHANNEL] + e]
        if weight != 0.0:
            ends = _values(program, constants, state, numbers, program[program[ENTRY_TERM] + e])
            numbers[least + c] += min(weight * ends[0], weight * ends[1])
            numbers[most + c] += max(weight * ends[0], weight * ends[1])
    for c in range(s):
        numbers[low + c] = min(numbers[low + c], numbers[least + c])
        numbers[high + c] = max(numbers[high + c], numbers[most + c])


def is_settled(program, constants, state, numbers, k):
    """Whether no node after `k` can change the class of the row."""
    s, low = program[N_SCORES], program[BOUNDS]
    for c in range(s):
        numbers[low + c] = constants[program[REST_LOW] + k * s + c]
        numbers[low + s + c] = constants[program[REST_HIGH] + k * s + c]
    if not _can_differ(program, constants, numbers, k):
        return True
    if not program[program[NODE_WHOLE] + k]:
        return False
    for c in range(4 * s):
        numbers[low + c] = 0.0
    j = k
    while j >= 0:
        if _can_differ(program, constants, numbers, k):
            return False  # bounds only widen
        up = program[program[NODE_UP] + j]
        j = up if up >= 0 else program[program[NODE_LOW] + j]
        if j >= 0:
            _add_node(program, constants, state, numbers, j)
    return True


REST_HELPERS = (
    exp_of_one, _goes_left, _leaves, _values, _bounds_of_shares, _is_undecided, _can_differ, _add_node,
    is_settled,
)  # fmt: skip
