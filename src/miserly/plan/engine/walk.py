"""The walk of one row through a plan: it goes on until something is needed, and can be resumed.

`walk` is one function for two engines. Where numba is used it is compiled and works on arrays; elsewhere
Python runs it on lists, which are faster than NumPy for single numbers. It takes four sequences:

    program, constants : the plan as whole numbers and as real numbers, `Program.integers` and `Program.reals`
    state, numbers     : where the row is, what it knows and what it has paid

What `walk` cannot do it leaves to its caller, and says so by what it returns: a feature is needed, a term
has no rule here, a gate compares the row with others, or a node chooses its purchases. The rules are those
of `batch`.
"""

from __future__ import annotations

import numpy as np

from miserly.costs import fits
from miserly.plan.engine.program import (
    AMOUNT_FEATURE,
    AMOUNTS,
    AMOUNTS_DONE,
    BUDGET,
    BY_PATH,
    CHANCES,
    CONFIDENCE,
    ENTRY,
    ENTRY_CHANNEL,
    ENTRY_FRESH,
    ENTRY_TERM,
    ENTRY_WEIGHT,
    EVALUATED,
    EVALUATIONS,
    EXIT,
    GROUP,
    GROUP_POINTER,
    KNOWN,
    KNOWN_AT,
    N_FEATURES,
    N_OUTPUTS,
    N_SCORES,
    NEEDED,
    NODE,
    NODE_ACQUIRES,
    NODE_BIAS,
    NODE_BOUGHT,
    NODE_GATE,
    NODE_INHERITS,
    NODE_LOW,
    NODE_NUMBER,
    NODE_POINTER,
    NODE_SINGLE,
    NODE_UP,
    NODE_WHOLE,
    ONWARD,
    OPENED,
    PAID,
    PHASE,
    POSITION,
    PRICES,
    RAW,
    SCORES,
    SETTLED,
    SPENT,
    TERM_EVALUATION,
    TERM_FEATURE,
    TERM_FILL,
    TERM_KIND,
    TERM_POINTER,
    TERM_START,
    THRESHOLD,
    TREE,
    TREE_CATEGORY,
    TREE_FEATURE,
    TREE_LEFT,
    TREE_MISSING,
    TREE_SPAN,
    TREE_THRESHOLD,
    TREE_VALUE,
    UNKNOWN,
    UP,
    VALUE,
    VALUES_AT,
    WHOLE,
    WORDS,
)
from miserly.plan.engine.walk_rest import REST_HELPERS, exp_of_one, is_settled
from miserly.plan.links import BY_LOG_ODDS, BY_SHARES

__all__ = ["HELPERS", "KNOWN", "PAID", "UNKNOWN", "dues", "mark_paid", "pay", "price", "walk"]

# What `walk` returns.
ENDED, STOPPED, NEED, NEED_ALL, TERM, GATE, ACQUIRE = range(7)
# Where in a node the row is: before it, before a term, at a term that is paid, with its value, after a gate,
# after the purchases of an acquisition.
AT_NODE, AT_TERM, IN_TERM, HAS_VALUE, SENT, ACQUIRED = range(6)


# -- paying --------------------------------------------------------------------------------------------------


def price(program, state, numbers, f):
    """What feature `f`, which is not paid, costs now."""
    prices, opened, group = program[PRICES], program[OPENED], program[GROUP]
    pointer = program[GROUP_POINTER] + f
    setup, due = prices + program[N_FEATURES], numbers[prices + f]
    for p in range(group + program[pointer], group + program[pointer + 1]):
        if not state[opened + program[p]]:
            due += numbers[setup + program[p]]
    return due


def mark_paid(program, state, f):
    state[KNOWN_AT + f] = PAID
    opened, group, pointer = program[OPENED], program[GROUP], program[GROUP_POINTER] + f
    for p in range(group + program[pointer], group + program[pointer + 1]):
        state[opened + program[p]] = 1


def _reopen(program, state, f, old, new):
    """Set the groups of a feature whose flag is `old` to `new`."""
    opened, group, pointer = program[OPENED], program[GROUP], program[GROUP_POINTER] + f
    for p in range(group + program[pointer], group + program[pointer + 1]):
        if state[opened + program[p]] == old:
            state[opened + program[p]] = new


def pay(program, state, numbers, f):
    """Pay for a feature whose value is there, or find out that it does not fit or is not there."""
    due = price(program, state, numbers, f)
    if not fits(numbers[SPENT], due, numbers[BUDGET]):
        return STOPPED
    if state[KNOWN_AT + f] == UNKNOWN:
        state[NEEDED] = f
        return NEED
    numbers[SPENT] += due
    mark_paid(program, state, f)
    return ENDED


def dues(program, state, numbers, pool, due):
    """Set what features of a pool cost now; -1 for those that are paid or do not fit the budget."""
    for p in range(len(pool)):
        due[p] = -1.0
        if state[KNOWN_AT + pool[p]] != PAID:
            asked = price(program, state, numbers, pool[p])
            if fits(numbers[SPENT], asked, numbers[BUDGET]):
                due[p] = asked


def _pay_whole(program, constants, state, numbers, t):
    """Pay for a term and all features that it might read, together, once all values are there."""
    pointer, features = program[TERM_POINTER], program[TERM_FEATURE]
    first, last = program[pointer + t], program[pointer + t + 1]
    evaluation = constants[program[TERM_EVALUATION] + t]
    total, missing = evaluation, False
    for p in range(features + first, features + last):
        f = program[p]
        if state[KNOWN_AT + f] != PAID:
            total += price(program, state, numbers, f)
            missing |= state[KNOWN_AT + f] == UNKNOWN
            _reopen(program, state, f, 0, 2)  # a second feature of a group does not pay it again
    affordable = fits(numbers[SPENT], total, numbers[BUDGET])
    for p in range(features + first, features + last):
        f = program[p]
        _reopen(program, state, f, 2, 0)
        if affordable and not missing:
            mark_paid(program, state, f)
    if not affordable:
        return STOPPED
    state[NEEDED] = t
    if missing:
        return NEED_ALL
    numbers[SPENT] += total
    numbers[EVALUATIONS] += evaluation
    return ENDED


# -- terms ---------------------------------------------------------------------------------------------------


def _descend(program, constants, state, numbers, bought_only):
    """Walk down a tree, from where the row is in it, and pay for the splits on the way.

    With `bought_only` nothing is paid: what the row has not bought is missing.
    """
    feature, left, missing = program[TREE_FEATURE], program[TREE_LEFT], program[TREE_MISSING]
    category, span, words = program[TREE_CATEGORY], program[TREE_SPAN], program[WORDS]
    threshold, node = program[TREE_THRESHOLD], state[POSITION]
    f = program[feature + node]
    while f >= 0:
        is_missing = False
        if state[KNOWN_AT + f] != PAID:
            is_missing = bought_only
            status = ENDED if bought_only else pay(program, state, numbers, f)
            if status != ENDED:
                state[POSITION] = node
                return status
        x = numbers[VALUES_AT + f]
        row = program[category + node]
        if is_missing or x != x:
            stays = program[missing + node]
        elif row < 0:
            stays = 1 if x <= constants[threshold + node] else 0
        elif x >= 0.0 and x < 256.0 * program[span + node] and x == int(x):
            stays = (program[words + 8 * row + (int(x) >> 5)] >> (int(x) & 31)) & 1
        else:
            stays = program[missing + node]
        node = program[left + node] + 1 - stays
        f = program[feature + node]
    numbers[VALUE] = constants[program[TREE_VALUE] + node]
    return ENDED


def _read_all(program, state, numbers, t):
    """Pay for the features of a term that reads the same ones for every row."""
    pointer, features = program[TERM_POINTER], program[TERM_FEATURE]
    for p in range(features + program[pointer + t], features + program[pointer + t + 1]):
        f = program[p]
        if state[KNOWN_AT + f] != PAID:
            status = pay(program, state, numbers, f)
            if status != ENDED:
                return status
    return ENDED


def _begin_term(program, constants, state, numbers, t, fresh):
    """Pay for the evaluation of a term, and in whole runs for its features."""
    if fresh:
        if state[WHOLE]:
            status = _pay_whole(program, constants, state, numbers, t)
            if status != ENDED:
                return status
        else:
            due = constants[program[TERM_EVALUATION] + t]
            if not fits(numbers[SPENT], due, numbers[BUDGET]):
                return STOPPED
            numbers[SPENT] += due
            numbers[EVALUATIONS] += due
        state[program[EVALUATED] + t] = 1
    state[POSITION] = program[program[TERM_START] + t]
    state[PHASE] = IN_TERM
    return ENDED


def _value_of(program, constants, state, numbers, t, bought_only):
    """The value of a term in `numbers`, or why it is not there yet."""
    kind = program[program[TERM_KIND] + t]
    if kind == TREE:
        return _descend(program, constants, state, numbers, bought_only)
    if kind == BY_PATH:
        return TERM
    status = _read_all(program, state, numbers, t)
    if status != ENDED:
        return status
    if kind != RAW:
        return TERM
    x = numbers[VALUES_AT + program[program[TERM_START] + t]]
    numbers[VALUE] = constants[program[TERM_FILL] + t] if x != x else x
    return ENDED


# -- gates ---------------------------------------------------------------------------------------------------


def _confidence(program, numbers):
    """The probability of the most probable class."""
    scores = program[SCORES]
    if program[CHANCES] == BY_LOG_ODDS:
        positive = 1.0 / (1.0 + exp_of_one(-numbers[scores]))
        return max(positive, 1.0 - positive)
    top = numbers[scores]
    for c in range(1, program[N_OUTPUTS]):
        top = max(top, numbers[scores + c])
    total = 0.0
    if program[CHANCES] == BY_SHARES:
        for c in range(program[N_OUTPUTS]):
            total += numbers[scores + c]
        return top / total if total > 0.0 else 1.0 / program[N_OUTPUTS]
    for c in range(program[N_OUTPUTS]):
        total += exp_of_one(numbers[scores + c] - top)
    return 1.0 / total


def _decide(program, constants, state, numbers, k):
    """Whether the row goes up, in `state`; false if the gate has no rule here."""
    gate, number = program[program[NODE_GATE] + k], constants[program[NODE_NUMBER] + k]
    if gate == ONWARD:
        state[UP] = 1
    elif gate == THRESHOLD:
        state[UP] = 1 if numbers[program[SCORES] + program[program[NODE_WHOLE] + k]] > number else 0
    elif gate == CONFIDENCE:
        state[UP] = 0 if _confidence(program, numbers) >= number else 1
    elif gate == SETTLED:
        state[UP] = 0 if is_settled(program, constants, state, numbers, k) else 1
    else:
        return False
    return True


# -- nodes ---------------------------------------------------------------------------------------------------


def _rounded(x, single):
    """A number, rounded to float32 if `single`."""
    return float(np.float32(x)) if single else x


def _begin_node(program, constants, state, numbers, k):
    n, bias, scores = program[N_SCORES], program[NODE_BIAS] + k * program[N_SCORES], program[SCORES]
    for c in range(n):
        start = numbers[scores + c] if program[program[NODE_INHERITS] + k] else 0.0
        numbers[scores + n + c] = _rounded(start + constants[bias + c], program[program[NODE_SINGLE] + k])
    state[ENTRY] = program[program[NODE_POINTER] + k]
    state[PHASE] = AT_TERM


def _sum_terms(program, constants, state, numbers, k):
    """Add the terms of a node, from where the row is in it."""
    term, channel, fresh = program[ENTRY_TERM], program[ENTRY_CHANNEL], program[ENTRY_FRESH]
    weight, work, pointer = program[ENTRY_WEIGHT], program[SCORES] + program[N_SCORES], program[NODE_POINTER]
    first, last = program[pointer + k], program[pointer + k + 1]
    e, single = state[ENTRY], program[program[NODE_SINGLE] + k]
    bought_only = program[program[NODE_BOUGHT] + k] != 0
    while e < last:
        t = program[term + e]
        if state[PHASE] != HAS_VALUE and (e == first or program[term + e - 1] != t):
            status = ENDED
            if state[PHASE] == AT_TERM:
                status = _begin_term(program, constants, state, numbers, t, program[fresh + e])
            if status == ENDED:
                status = _value_of(program, constants, state, numbers, t, bought_only)
            if status != ENDED:
                state[ENTRY] = e
                return status
        place = work + program[channel + e]
        added = _rounded(constants[weight + e] * _rounded(numbers[VALUE], single), single)
        numbers[place] = _rounded(numbers[place] + added, single)
        state[PHASE] = AT_TERM
        e += 1
    return ENDED


def walk(program, constants, state, numbers):
    """Go on until something is needed; gives what, one of the codes above.

    After `NEED` and `NEED_ALL` the caller gives values, after `TERM` the value of the term, after `GATE`
    whether the row goes up, after `ACQUIRE` the scores of the acquisition, and calls again.
    """
    while state[AMOUNTS_DONE] < program[AMOUNTS]:
        f = program[program[AMOUNT_FEATURE] + state[AMOUNTS_DONE]]
        if state[KNOWN_AT + f] != PAID:
            status = pay(program, state, numbers, f)
            if status != ENDED:
                return status
        state[AMOUNTS_DONE] += 1
    k = state[NODE]
    while k >= 0:
        if state[PHASE] != SENT:
            if state[PHASE] == AT_NODE:
                _begin_node(program, constants, state, numbers, k)
            if program[program[NODE_ACQUIRES] + k] and state[PHASE] != ACQUIRED:
                return ACQUIRE
            status = _sum_terms(program, constants, state, numbers, k)
            if status != ENDED:
                return status
            scores, n = program[SCORES], program[N_SCORES]
            for c in range(n):
                numbers[scores + c] = numbers[scores + n + c]
            state[EXIT] = k
            state[PHASE] = SENT
            if not _decide(program, constants, state, numbers, k):
                return GATE
        k = program[program[NODE_UP] + k] if state[UP] else program[program[NODE_LOW] + k]
        state[NODE], state[PHASE] = k, AT_NODE
    return ENDED


HELPERS = (
    *REST_HELPERS,
    fits, price, mark_paid, _reopen, pay, _pay_whole, _descend, _read_all, _begin_term, _value_of,
    _confidence, _decide, _rounded, _begin_node, _sum_terms,
)  # fmt: skip
