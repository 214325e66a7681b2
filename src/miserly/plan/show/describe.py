"""A plan in words: what it buys and when, where it may stop, and what it then answers."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from miserly.plan.links import LINKS
from miserly.plan.nodes import Node
from miserly.plan.purchases import Item, Purchase, Row, Stretch, bill, chain_bill, purchases, stretches
from miserly.plan.show.choosing import acquisition_words
from miserly.plan.show.phrases import listing, number, plural
from miserly.plan.show.wording import Wording, exits, when
from miserly.plan.terms import TERMS, Term

if TYPE_CHECKING:
    from miserly.plan.plan import Plan

__all__ = ["describe"]

# Limits that keep descriptions readable. Items beyond them are counted, not listed.
_MOST_ROWS = 120  # rows of a chain's bill
_MOST_AT_ONCE = 12  # features that one step buys, each on its own line
_MOST_STEPS, _MOST_LINES = 6, 24  # of steps written out
_MOST_STRETCHES = 63  # of a tree of classifiers
_MOST_BRANCH_ROWS = 8  # rows of the bill of one branch
_MOST_LEAVES = 16  # of the trees written out as rules, together
_MOST_WEIGHTS = 8  # of a weighted sum written out
_MOST_NODE_LINES = 32  # of one node written out
_TIMES = "\N{MULTIPLICATION SIGN}"


def describe(plan: Plan) -> str:
    """Describe a plan for a reader who knows the features but no machine learning.

    >>> from miserly import Costs, Plan
    >>> from miserly.plan import Node, Raw
    >>> plan = Plan(costs=Costs({"age": 1, "chol": 5.17}, unit="CAD"), terms=[Raw(1)],
    ...             nodes=[Node([0], [0], [0.5], [-100.0])], base=[0.0])
    >>> print(describe(plan))
    This plan has 1 step. It may buy 1 of 2 features, for at most 5.17 CAD (all 2 would cost 6.17 CAD).
    <BLANKLINE>
    What it may buy, in this order:
      step 1  chol  5.17  total 5.17 CAD
    <BLANKLINE>
    How the steps work:
      step 1 adds -100 + 0.5 × chol to the score
    <BLANKLINE>
    The answer is the score.
    The plan can be stopped at any time, for a budget or a deadline: it then answers from the last step
    it finished, and before the first one it answers 0, for nothing.
    """
    words = Wording(plan)
    parts = stretches(plan)
    sections = [_opening(plan, words, parts)]
    if len(parts) == 1:
        sections += _chain(plan, words)
    elif parts:
        sections.append("\n".join(_branches(plan, words, parts)))
    sections.append(_answer(plan, words, parts))
    return "\n\n".join(sections)


def _opening(plan: Plan, words: Wording, parts: Sequence[Stretch]) -> str:
    text = f"This plan has {plural(len(plan.nodes), 'step')}."
    if len(parts) > 1:
        text = (
            f"This plan is a tree of {plural(len(plan.nodes), 'node')}: "
            "what a row scores at a node decides where it goes next."
        )
    if plan.listwise:
        text += " The documents of a query run together."
    used = len(plan.features)
    if not used:
        return _wrapped(f"{text} It buys nothing.")
    everything = f" (all {plan.n_features} would cost {words.price(plan.costs.total)})"
    return _wrapped(
        f"{text} It may buy {used} of {plural(plan.n_features, 'feature')}, for at most "
        f"{words.price(plan.max_cost)}{everything if used < plan.n_features else ''}."
    )


def _answer(plan: Plan, words: Wording, parts: Sequence[Stretch]) -> str:
    link = LINKS[plan.link]
    text = link.answer_words(words) if plan.decision is None else plan.decision.words(words)
    further = plan.n_scores - plan.n_outputs
    if further:
        text += (
            f" {plural(further, 'further score')} only {'decides' if further == 1 else 'decide'} its path."
        )
    base = link.base_words(words) if plan.decision is None else words.base_answer()
    if not parts:
        return f"{_wrapped(text)}\nWith no steps to take, it always answers {base}."
    step = "step" if len(parts) == 1 else "node"
    limit = f" It never pays more than {words.price(plan.budget)}." if math.isfinite(plan.budget) else ""
    chosen = ", or from what it has bought where it chooses" if plan.acquires else ""
    stopped = (
        "The plan can be stopped at any time, for a budget or a deadline: it then answers from the last "
        f"{step} it finished{chosen}, and before the first one it answers {base}, for nothing.{limit}"
    )
    return f"{_wrapped(text)}\n{_wrapped(stopped)}"


# -- chains --------------------------------------------------------------------------------------------------


def _chain(plan: Plan, words: Wording) -> list[str]:
    nodes = range(len(plan.nodes))
    order = "in an order that depends on the row" if plan.acquires else "in this order"
    sections = [[f"What it may buy, {order}:", *_bill(plan, words, purchases(plan))]]
    places = exits(plan, nodes, words, "step")
    if places:
        restarts = [k for k, node in enumerate(plan.nodes) if k > 0 and not node.inherits]
        if len(restarts) == 1:
            places.append(f"a row that goes on to step {restarts[0] + 1} starts with a new score there")
        sections.append(["Where a row may leave early:", *(f"  {line}" for line in places)])
    sections.append(_first_steps(plan, words))
    return ["\n".join(lines) for lines in sections]


def _bill(plan: Plan, words: Wording, bought: Sequence[Purchase]) -> list[str]:
    rows = chain_bill(plan, bought)
    lines = [line for row in rows[:_MOST_ROWS] for line in _bill_lines(row, words)]
    table = [f"  {line}" for line in _aligned(lines, "<<>><")]
    hidden = rows[_MOST_ROWS:]
    if hidden:
        count = sum(len(row.purchase.items) for row in hidden)
        table.append(
            f"  {_steps(hidden[0].first, hidden[-1].last)} buy {plural(count, 'more feature')}; "
            f"the total is then {words.price(hidden[-1].purchase.total)}"
        )
    return table


def _bill_lines(row: Row, words: Wording) -> Iterator[tuple[str, ...]]:
    """The lines of one row of the bill: step, what, price, total after it, a note."""
    where, bought = _steps(row.first, row.last), row.purchase
    total = f"total {words.price(bought.total)}"
    if not bought.items:
        what = "use only what is already paid" if row.last > row.first else "uses only what is already paid"
        yield where, what, "", total, _evaluation_note(bought, words)
    elif len(bought.items) > _MOST_AT_ONCE:
        what = words.features([item.feature for item in bought.items])
        yield where, what, words.amount(bought.price - bought.evaluation), total, _note(bought, words)
    else:
        for item in bought.items:
            last = item is bought.items[-1]
            notes = [_setup_note(item, words), _evaluation_note(bought, words) if last else ""]
            price = words.amount(item.price) if item.price else "free"
            note = "; ".join(filter(None, notes))
            yield where, words.feature(item.feature), price, total if last else "", note
            where = ""


def _setup_note(item: Item, words: Wording) -> str:
    if item.setup:
        return f"{words.amount(item.setup)} of it to set up {words.groups(item.opens)}"
    groups = words.plan.costs.groups_of(item.feature)
    if not groups or item.opens:
        return ""
    return f"{words.groups(groups)} {'is' if len(groups) == 1 else 'are'} already set up"


def _evaluation_note(bought: Purchase, words: Wording) -> str:
    return f"and {words.amount(bought.evaluation)} to evaluate" if bought.evaluation else ""


def _note(bought: Purchase, words: Wording) -> str:
    """The set-ups and evaluations that came with many features at once."""
    opened = [item for item in bought.items if item.setup]
    parts = [_setup_note(item, words) for item in opened[:2]]
    if len(opened) > 2:
        parts.append(plural(len(opened) - 2, "more set-up"))
    return "; ".join(filter(None, [*parts, _evaluation_note(bought, words)]))


def _aligned(lines: Sequence[tuple[str, ...]], sides: str) -> list[str]:
    """Columns padded to one width each; columns that are empty throughout disappear."""
    columns = []
    for column, side in zip(zip(*lines, strict=True), sides, strict=True):
        width = max(map(len, column))
        if width:
            columns.append([f"{cell:{side}{width}}" for cell in column])
    return ["  ".join(cells).rstrip() for cells in zip(*columns, strict=True)]


def _first_steps(plan: Plan, words: Wording) -> list[str]:
    """The first steps written out, up to a readable number of lines."""
    lines: list[str] = []
    for k, node in enumerate(plan.nodes):
        more = _workings(plan, node, words, f"step {k + 1}")
        if lines and (k == _MOST_STEPS or len(lines) + len(more) > _MOST_LINES):
            rest = plural(len(plan.nodes) - k, "more step")
            return ["How the first steps work:", *lines, f"  ... and {rest} of this kind"]
        lines += [f"  {line}" for line in more]
    return ["How the steps work:", *lines]


# -- phrases -------------------------------------------------------------------------------------------------


def _wrapped(text: str, indent: str = "") -> str:
    return textwrap.fill(text, max(100, len(indent) + 60), subsequent_indent=indent)


def _steps(first: int, last: int) -> str:
    return f"step {first + 1}" if first == last else f"steps {first + 1}-{last + 1}"


def _nodes(first: int, last: int) -> str:
    return f"node {first}" if first == last else f"nodes {first}-{last}"


# -- trees of classifiers ------------------------------------------------------------------------------------


def _branches(plan: Plan, words: Wording, parts: Sequence[Stretch]) -> list[str]:
    """Stretch by stretch from the root, the branches of a fork indented under it."""
    bought = purchases(plan)
    lines: list[str] = []
    ahead: list[tuple[int, str, str]] = [(0, "", "")]
    shown = 0
    for _ in range(_MOST_STRETCHES):
        if not ahead:
            return lines
        number_of, indent, title = ahead.pop()
        part = parts[number_of]
        shown += len(part.nodes)
        if title:
            lines.append(f"{indent[:-2]}{title}:")
        lines += [_wrapped(indent + line, f"{indent}    ") for line in _stretch(plan, words, part, bought)]
        if part.up is not None and part.low is not None:
            gate = plan.nodes[part.nodes[-1]].gate
            ahead.append((part.low, indent + "  ", when(gate.low_words(words))))
            ahead.append((part.up, indent + "  ", when(gate.up_words(words))))
    return [*lines, f"... and {plural(len(plan.nodes) - shown, 'more node')}, not shown here"]


def _stretch(plan: Plan, words: Wording, part: Stretch, bought: Sequence[Purchase]) -> list[str]:
    rows = bill(part.nodes, bought)
    lines = [_sentence(row, words) for row in rows[:_MOST_BRANCH_ROWS]]
    if len(rows) > _MOST_BRANCH_ROWS:
        rest = plural(len(rows) - _MOST_BRANCH_ROWS, "more purchase")
        lines.append(f"... and {rest}; total {words.price(rows[-1].purchase.total)}")
    if len(part.nodes) == 1:
        k = part.nodes[0]
        lines += _workings(plan, plan.nodes[k], words, "it")
    places = exits(plan, part.nodes, words, "node")
    lines += [f"a row leaves {line}" for line in places]
    if part.up is None:
        lines.append("here it answers")
    return lines


def _sentence(row: Row, words: Wording) -> str:
    """One row of the bill as a sentence."""
    bought, where = row.purchase, _nodes(row.first, row.last)
    total = f"total {words.price(bought.total)}"
    if bought.evaluation:
        total = f"{words.amount(bought.evaluation)} to evaluate; {total}"
    if not bought.items:
        verb = "use" if row.last > row.first else "uses"
        return f"{where} {verb} only what is already paid; {total}"
    shown = bought.items if len(bought.items) <= _MOST_AT_ONCE else bought.items[: _MOST_AT_ONCE - 1]
    names = [_priced(item, words) for item in shown]
    return f"{where} buys {listing(names, len(bought.items) - len(shown))}; {total}"


def _priced(item: Item, words: Wording) -> str:
    if not item.price:
        return f"{words.feature(item.feature)} (free)"
    extra = f" + {words.amount(item.setup)} to set up {words.groups(item.opens)}" if item.setup else ""
    return f"{words.feature(item.feature)} ({words.amount(item.own)}{extra})"


# -- what one node computes ---------------------------------------------------------------------------------


def _workings(plan: Plan, node: Node, words: Wording, subject: str) -> list[str]:
    """What `subject`, a node, does to the scores: weighted sums as formulas, small trees as rules.

    >>> from miserly import Costs, Plan
    >>> from miserly.plan import Raw
    >>> node = Node([0, 1], [0, 0], [0.5, -2.0], [0.1], inherits=False)
    >>> plan = Plan(costs=Costs({"age": 1, "chol": 5}), terms=[Raw(0), Raw(1)], nodes=[node], base=[0.0])
    >>> _workings(plan, node, Wording(plan), "step 1")
    ['step 1 sets the score to 0.1 + 0.5 × age - 2 × chol']
    """
    if node.acquisition is not None:
        return acquisition_words(plan, node, words, subject)
    touched = np.flatnonzero(node.bias).tolist() if node.inherits else range(plan.n_scores)
    entries: dict[int, list[int]] = {channel: [] for channel in touched}
    for i, channel in enumerate(node.channels.tolist()):
        entries.setdefault(channel, []).append(i)
    lines: list[str] = []
    for done, channel in enumerate(sorted(entries)):
        if len(lines) > _MOST_NODE_LINES:
            rest = plural(len(entries) - done, "more score")
            return [*lines, f"{subject} does something of this kind to {rest}"]
        lines += _channel(plan, node, words, subject, channel, entries[channel])
    if node.bought_only and lines:
        lines.append(f"{subject} acquires nothing: what the row has not bought counts as missing")
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
