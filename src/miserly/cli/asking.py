"""`miserly ask`: a plan played with a person in the terminal, one question at a time."""

from __future__ import annotations

import contextlib
import math
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.table import Table
from rich.text import Text

from miserly.cli.console import amount, amounts, err, json_text, listing, new_table, out, percent
from miserly.cli.replies import (
    BACK,
    DECLINE,
    HELP,
    NOTHING,
    STOP,
    are_booleans,
    category_list,
    read_command,
    read_value,
)
from miserly.errors import DataError
from miserly.plan import Plan
from miserly.plan.engine.stepping import Answer
from miserly.plan.facts import FeatureFacts, feature_facts
from miserly.plan.metadata import class_names
from miserly.plan.show.phrases import listing as one_of
from miserly.runtime import Interview, Question, Receipt
from miserly.utils.files import atomic_write
from miserly.utils.terminal import Terminal, visible

__all__ = ["ask", "console_for", "print_receipt", "write_receipt"]

HELP_LINES = (
    ("a value", "the value of the feature"),
    ("Enter or -", "I do not have that: nothing is paid, and the plan goes on without it"),
    ("none", "it was bought and has no value: its price is paid, and the plan takes it as missing"),
    ("back", "take back the last answer"),
    ("stop", "stop here with the answer so far; Ctrl-D and Ctrl-C do the same"),
    ("?", "this help, and all allowed values"),
    ("/back, /stop", "the command, if a category has the same name"),
)


# -- the conversation ----------------------------------------------------------------------------------------


def ask(interview: Interview, plan: Plan, title: str, console: Terminal) -> Receipt:
    """Ask until the plan has no more questions, or the person stops."""
    _introduce(interview, plan, title, console)
    try:
        while (question := interview.question) is not None:
            console.print(_question_table(question, interview.n_replies + 1, plan))
            _take_reply(interview, question, console)
    except KeyboardInterrupt:
        console.print()
        interview.stop("stopped by Ctrl-C")
    return interview.receipt()


def _introduce(interview: Interview, plan: Plan, title: str, console: Terminal) -> None:
    unit, target = plan.costs.unit, plan.info.get("target")
    what = f" predicts {target}" if isinstance(target, str) else ""
    if plan.classes is not None:
        what += f": {listing(list(class_names(plan).values()), most=5)}"
    question = interview.question
    most = 0.0 if question is None else question.most
    about = f"\nIt can ask for {len(plan.features)} features and cost at most {amount(most, unit)}. "
    help_line = "Enter: I do not have that.  ?: help.  back, stop." if question is not None else ""
    described = plan.info.get("about")
    note = f"\n{described}" if isinstance(described, str) else ""
    console.print(Text.assemble((title, "bold"), what, note, (about, "dim"), (help_line, "dim")))


def _question_table(question: Question, number: int, plan: Plan) -> Table:
    """All that is known about a question, one line each."""
    facts, unit, names = question.facts, plan.costs.unit, class_names(plan)
    table = Table.grid(padding=(0, 2))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    heading = Text(str(question.feature), style="bold")
    if facts.label and facts.label != str(question.feature):
        heading.append(f": {facts.label}", style="not bold")
    table.add_row("")
    table.add_row(Text(f"{number}.", style="bold"), heading)
    if facts.help:
        table.add_row("help", Text(facts.help))
    table.add_row("value", Text(_allowed(facts)))
    table.add_row("price", Text(_price(question, unit)))
    table.add_row("so far", Text(f"if stopped now, the answer is {_answer(question.answer, names)}"))
    if question.outlook:
        table.add_row("then", Text(f"{_outlook(question, names)}, depending on the value"))
    table.add_row("why", Text(question.why))
    table.add_row("next", Text(_next(question, unit)))
    return table


def _allowed(facts: FeatureFacts) -> str:
    if facts.categories:
        return f"one of: {category_list(facts)}" if not are_booleans(facts) else "yes or no"
    unit = f", in {facts.unit}" if facts.unit else ""
    if facts.choices:
        return f"{category_list(facts)}{unit}"
    if facts.values:
        return f"{one_of([f'{value:.6g}' for value in facts.values], last='or')}{unit}"
    kind = "a whole number" if facts.whole else "a number"
    if facts.low is not None and facts.high is not None:
        return f"{kind} from {facts.low:.6g} to {facts.high:.6g}{unit}"
    if facts.splits:
        low, high = facts.splits[0], facts.splits[-1]
        between = f"{low:.6g}" if low == high else f"values from {low:.6g} to {high:.6g}"
        return f"{kind}{unit}; the plan compares it with {between}"
    return f"{kind}{unit}"


def _price(question: Question, unit: str) -> str:
    text = amount(question.price, unit)
    if question.setup:
        text += f", of which {amount(question.setup, unit)} sets up {question.group}"
    cap = "" if math.isinf(question.budget) else f" of {amount(question.budget, unit)}"
    return f"{text}; paid so far: {amount(question.cost, unit)}{cap}"


def _outlook(question: Question, names: Mapping[str, str]) -> str:
    """The answers that may come next: each class with its probabilities, or the range of numbers."""
    answers = question.outlook
    if answers[0].probabilities is None:
        values = [one.value for one in answers]
        if all(isinstance(one, float) for one in values):
            return _span([f"{min(values):.6g}", f"{max(values):.6g}"])
        return one_of([names.get(str(one), str(one)) for one in dict.fromkeys(values)], last="or")
    chances: dict[str, list[float]] = {}
    for one in answers:
        own = chances.setdefault(names.get(str(one.value), str(one.value)), [])
        own += [] if one.chance is None else [100 * one.chance]
    parts = [
        f"{label} ({_span([f'{min(all_):.1f}', f'{max(all_):.1f}'])} %)" if all_ else label
        for label, all_ in chances.items()
    ]
    return one_of(parts, last="or")


def _span(ends: Sequence[str]) -> str:
    return ends[0] if ends[0] == ends[1] else f"{ends[0]} to {ends[1]}"


def _answer(answer: Answer, names: Mapping[str, str]) -> str:
    value = names.get(str(answer.value)) or _shown(answer.value)
    return value if answer.chance is None else f"{value} ({percent(answer.chance)})"


def _shown(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _next(question: Question, unit: str) -> str:
    parts = []
    if question.certain:
        parts.append(f"{listing([str(one) for one in question.certain], most=6)} for certain")
    if question.possible:
        parts.append(f"perhaps {listing([str(one) for one in question.possible], most=6)}")
    text = "; ".join(parts) or "nothing more is asked after this"
    return f"{text}; at most {amount(question.most, unit)} more, this included"


def _take_reply(interview: Interview, question: Question, console: Terminal) -> None:
    """Read lines until one answers the question, or is a command that changes it."""
    while True:
        text = _line(f"{question.feature}: ", console)
        if text is None:
            interview.stop("the input ended")
            return
        command = read_command(text, question.facts)
        if command == DECLINE:
            interview.decline()
            return
        if command == STOP:
            interview.stop("stopped by the person asked")
            return
        if command == HELP:
            _print_help(question.facts, console)
        elif command == BACK:
            if interview.back():
                return
            _complain("this is the first question", console)
        elif _reply(interview, question, text, command, console):
            return


def _reply(
    interview: Interview, question: Question, text: str, command: str | None, console: Terminal
) -> bool:
    """Give a value to the interview; False if it cannot be used."""
    try:
        value = None if command == NOTHING else read_value(text, question.facts)
        interview.reply(value)
    except (ValueError, DataError) as error:
        _complain(f"{error}; Enter if you do not have it, ? for help", console)
        return False
    doubt = question.facts.doubt(value) if isinstance(value, float) else ""
    if doubt:
        console.print(Text(f"note: {doubt}; 'back' corrects it", style="yellow"))
    return True


def _complain(message: str, console: Terminal) -> None:
    console.print(Text(message, style="red"), soft_wrap=True)


def _print_help(facts: FeatureFacts, console: Terminal) -> None:
    table = Table.grid(padding=(0, 2))
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for word, meaning in HELP_LINES:
        table.add_row(word, Text(meaning))
    if facts.categories:
        table.add_row("values", Text(category_list(facts, most=len(facts.categories))))
    elif facts.choices:
        table.add_row("values", Text(category_list(facts, most=len(facts.choices))))
    console.print(table)


def _line(prompt: str, console: Terminal) -> str | None:
    """One line of the person; None when the input has ended. Lines of a pipe are shown."""
    if sys.stdin.isatty() and console is out and console.is_terminal:
        with contextlib.suppress(ImportError):
            import readline  # noqa: F401  (lets people edit the line)
        try:
            return input(visible(prompt)).strip()
        except EOFError:
            console.print()
            return None
    console.print(Text(prompt, style="bold"), end="")
    try:
        line = sys.stdin.readline()
    except UnicodeDecodeError:
        line = "\ufffd\n"
    if not sys.stdin.isatty():
        console.print(Text(line.strip()), soft_wrap=True)
    return line.strip() if line else None


# -- the receipt ---------------------------------------------------------------------------------------------


def write_receipt(receipt: Receipt, path: Path) -> None:
    """Write a receipt as JSON."""
    with atomic_write(path, "w") as file:
        file.write(f"{json_text(receipt.to_dict(), indent=2)}\n")


def print_receipt(receipt: Receipt, console: Terminal) -> None:
    """What was answered, what was paid for it, and why it ended."""
    plan, unit, names = receipt.plan, receipt.plan.costs.unit, class_names(receipt.plan)
    console.print()
    if receipt.trail:
        console.print(_receipt_table(receipt, unit, names))
    chance = plan.chance_of(receipt.answer, receipt.probabilities)
    answer = Answer(receipt.answer, receipt.scores, receipt.probabilities, chance)
    console.print(Text.assemble("Answer: ", (_answer(answer, names), "bold")))
    if receipt.probabilities is not None and plan.classes is not None and len(plan.classes) > 2:
        chances: Mapping[str, float] = dict(zip(names.values(), receipt.probabilities.tolist(), strict=True))
        best = sorted(chances.items(), key=lambda one: -one[1])[:5]
        console.print(Text("; ".join(f"{label} {percent(chance)}" for label, chance in best), style="dim"))
    cap = "" if math.isinf(receipt.budget) else f" of {amount(receipt.budget, unit)}"
    evaluations = f", with {amount(receipt.evaluation_cost, unit)} for evaluations"
    paid = f"Paid: {amount(receipt.cost, unit)}{cap}{evaluations if receipt.evaluation_cost else ''}"
    console.print(
        Text(f"{paid}; all features cost {amount(plan.costs.total, unit)}. Ended: {receipt.reason}.")
    )


def _receipt_table(receipt: Receipt, unit: str, names: Mapping[str, str]) -> Table:
    paid = f"paid ({unit})" if unit else "paid"
    table = new_table("", "feature", "value", paid, "the answer then", right=("", "value", paid))
    costs = amounts(one.cost for one in receipt.trail)
    for one, cost in zip(receipt.trail, costs, strict=True):
        label = feature_facts(receipt.plan, receipt.plan.costs.index(one.feature)).label_of(one.value)
        value = f"{_shown(one.value)} {label}".strip() if label != str(one.value) else label
        if one.value is None:
            value = "no value" if one.delivered else one.message
        sure = receipt.plan.chance_of(one.answer, one.probabilities)
        shown = names.get(str(one.answer)) or _shown(one.answer)
        chance = "" if sure is None else f" ({percent(sure)})"
        table.add_row(str(one.order), Text(str(one.feature)), Text(value), cost, Text(f"{shown}{chance}"))
    return table


def console_for(as_json: bool) -> Terminal:
    """Where the conversation goes: standard error if standard output gets JSON."""
    return err if as_json else out
