"""How plans and fits look in a terminal, and as records for machines."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from rich import box
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from miserly.cli.console import amount, amounts, listing, out
from miserly.plan import Plan
from miserly.plan.purchases import purchases

if TYPE_CHECKING:
    from miserly.cli.training import Fitted, Problem

__all__ = [
    "bought_in_order",
    "fit_record",
    "new_table",
    "plan_panel",
    "plan_record",
    "print_fit",
    "print_plan",
    "shortened",
]


def new_table(*columns: str, right: tuple[str, ...] = (), title: str | None = None) -> Table:
    """A plain table; numbers stand to the right."""
    table = Table(box=box.SIMPLE_HEAD, title=title, title_justify="left", title_style="bold", pad_edge=False)
    for column in columns:
        table.add_column(column, justify="right" if column in right else "left", overflow="fold")
    return table


def bought_in_order(plan: Plan) -> list[str]:
    """The features a plan may buy, in the order of buying."""
    names = [str(plan.costs.name(item.feature)) for step in purchases(plan) for item in step.items]
    return list(dict.fromkeys(names))


def plan_panel(description: str, title: str) -> Panel:
    """What a plan does, in words, in a frame as wide as the terminal."""
    text = Text(reflowed(description, out.width - 4))
    return Panel(text, title=Text(title), title_align="left", border_style="dim")


def reflowed(text: str, width: int) -> str:
    """Prose broken anew for a width; lines that are indented stay lines of their own.

    >>> print(reflowed("one two\\nthree\\n  four five six", 12))
    one two
    three
      four five
            six
    """
    lines: list[str] = []
    for line in text.splitlines():
        goes_on = lines and lines[-1] and line and not line.startswith(" ") and not lines[-1].startswith(" ")
        if goes_on and not lines[-1].endswith((".", ":")):
            lines[-1] += f" {line}"
        else:
            lines.append(line)
    return "\n".join(_broken(line, width) for line in lines)


def _broken(line: str, width: int) -> str:
    if len(line) <= width:
        return line
    hanging = " " * (8 if line.startswith(" ") else 0)
    return textwrap.fill(
        line, width, subsequent_indent=hanging, replace_whitespace=False, drop_whitespace=True
    )


def shortened(description: str) -> str:
    """A description without the workings of single steps."""
    parts = description.split("\n\n")
    return "\n\n".join(
        part for part in parts if not part.startswith(("How the steps", "How the first steps"))
    )


def costs_table(plan: Plan, everything: bool) -> Table:
    """What features cost; those the plan never buys only if `everything` is wanted."""
    costs = plan.costs
    used = set(plan.features.tolist())
    listed = [f for f in range(len(costs)) if f in used or everything]
    cost, setup = (f"{word} ({costs.unit})" if costs.unit else word for word in ("cost", "set-up"))
    table = new_table("feature", cost, "group", setup, "bought", right=(cost, setup))
    prices = amounts(float(costs.feature[f]) for f in listed)
    setups = amounts(costs.setup.tolist())
    for f, price in zip(listed, prices, strict=True):
        group = int(costs.group[f])
        grouped = ("", "") if group < 0 else (costs.group_names[group], setups[group])
        table.add_row(
            Text(str(costs.name(f))), price, Text(grouped[0]), grouped[1], "yes" if f in used else "never"
        )
    return table


def unused_note(plan: Plan) -> str:
    """What is left out of the table of costs."""
    unused = np.setdiff1d(np.arange(plan.n_features), plan.features)
    names = listing([str(plan.costs.name(int(f))) for f in unused])
    return f"Never bought: {names}." if len(unused) else ""


def plan_record(plan: Plan) -> dict[str, Any]:
    """A plan for machines."""
    return {
        "steps": len(plan.nodes),
        "terms": len(plan.terms),
        "link": plan.link,
        "classes": None if plan.classes is None else plan.classes.tolist(),
        "max_cost": plan.max_cost,
        "buys": bought_in_order(plan),
        "costs": plan.costs.to_dict(),
        "categories": {str(plan.costs.name(f)): list(values) for f, values in plan.categories.items()},
        "info": plan.info,
    }


def print_plan(plan: Plan, title: str, everything: bool) -> None:
    """A plan in words, and its costs."""
    out.print(plan_panel(plan.describe(), title))
    out.print(costs_table(plan, everything))
    note = "" if everything else unused_note(plan)
    if note:
        out.print(Text(note, style="dim"))


# -- fits ----------------------------------------------------------------------------------------------------


def fit_record(problem: Problem, fitted: Fitted, path: Path) -> dict[str, Any]:
    """What `fit` did, for machines."""
    plan = fitted.plan
    return {
        "model": str(path),
        "task": problem.task,
        "target": problem.target,
        "rows": len(problem.y),
        "validation_rows": fitted.n_validation,
        "rounds": len(plan.nodes),
        "stopped_by": fitted.stopped_by,
        "unit": plan.costs.unit,
        "max_cost": plan.max_cost,
        "buys": bought_in_order(plan),
        "metric": fitted.metric,
        "validation_value": fitted.value,
        "validation_mean_cost": fitted.mean_cost,
    }


def print_fit(problem: Problem, fitted: Fitted, path: Path) -> None:
    """What `fit` did, in words."""
    plan, unit = fitted.plan, fitted.plan.costs.unit
    facts = Table.grid(padding=(0, 2))
    facts.add_column(style="dim", no_wrap=True)
    facts.add_column(overflow="fold")
    facts.add_row("learned", Text(f"{problem.target} ({_what(problem)}) from {len(problem.y):,} rows"))
    facts.add_row("rounds", f"{len(plan.nodes)} ({_why(fitted)})")
    facts.add_row("buys", Text(listing(bought_in_order(plan))))
    facts.add_row(
        "costs", f"at most {amount(plan.max_cost, unit)} of {amount(plan.costs.total, unit)} for all"
    )
    if fitted.value is not None and fitted.mean_cost is not None:
        aside = f"on the {fitted.n_validation:,} rows set aside, which also chose the number of rounds"
        facts.add_row(
            "reaches", f"{fitted.metric} {fitted.value:.4g} for {amount(fitted.mean_cost, unit)} on average"
        )
        facts.add_row("", Text(aside, style="dim"))
    facts.add_row("saved", Text(str(path)))
    out.print(facts)


def _what(problem: Problem) -> str:
    if problem.task == "classes":
        classes = [str(label) for label in np.unique(problem.y)]
        return f"{len(classes)} classes: {listing(classes, most=5)}"
    if problem.task == "ranking":
        return f"a ranking within {len(np.unique(np.asarray(problem.qid))):,} queries"
    return "a number"


def _why(fitted: Fitted) -> str:
    reasons = {
        "rounds": "as many as allowed",
        "early stopping": "the best on the rows set aside",
        "no split": "nothing more was worth its price",
        "budget": "the budget was spent",
    }
    return reasons.get(fitted.stopped_by, fitted.stopped_by)
