"""`miserly fit`: one Greedy Miser from a table."""

from __future__ import annotations

import math
import sys
from pathlib import Path
from typing import Annotated

import typer

from miserly.cli.cells import Format
from miserly.cli.console import Misuse, check_output, friendly, print_json
from miserly.cli.options import (
    Budget,
    CostFile,
    Debug,
    Decimal,
    Encoding,
    Force,
    Ignore,
    Json,
    Query,
    Seed,
    Sep,
    Table,
    Target,
    Task,
    TaskName,
    Thousands,
    Words,
)

__all__ = ["fit"]


@friendly
def fit(
    data: Table,
    target: Target,
    model: Annotated[Path, typer.Option("--out", help="Where to save the plan.", show_default=False)],
    costs: CostFile = None,
    budget: Budget = None,
    tradeoff: Annotated[
        float, typer.Option(min=0.0, help="How much mean loss one unit of cost must save to be spent.")
    ] = 0.0,
    task: TaskName = Task.auto,
    query: Query = None,
    ignore: Ignore = None,
    words: Words = None,
    sep: Sep = ",",
    decimal: Decimal = ".",
    thousands: Thousands = None,
    encoding: Encoding = "utf-8",
    rounds: Annotated[int, typer.Option(min=1, help="Rounds of boosting at most.")] = 300,
    depth: Annotated[int, typer.Option(min=1, max=16, help="Depth of trees.")] = 4,
    validation: Annotated[
        float,
        typer.Option(
            min=0.0, max=0.9, help="Share of rows set aside to choose the number of rounds; 0 for none."
        ),
    ] = 0.2,
    seed: Seed = 0,
    force: Force = False,
    as_json: Json = False,
    debug: Debug = False,
) -> None:
    """Learn a Greedy Miser from a table and save its plan."""
    from miserly.cli.training import Settings, fit_problem, read_problem
    from miserly.utils.checks import read_budget

    if not math.isfinite(tradeoff):
        raise Misuse(f"--tradeoff must be a number, not {tradeoff}")
    limit = None if budget is None else read_budget(budget)
    form = Format.read(sep, decimal, thousands, encoding)
    check_output(model, (), (data, costs), force)
    problem = read_problem(
        data, target, query=query, ignore=ignore or (), words=words or (), costs=costs, task=task.value,
        form=form,
    )  # fmt: skip
    quiet = as_json or not sys.stderr.isatty()
    settings = Settings(limit, tradeoff, rounds, depth, validation, seed, verbose=not quiet)
    fitted = fit_problem(problem, settings)
    fitted.plan.save(model)
    from miserly.cli.showing import fit_record, print_fit

    if as_json:
        print_json(fit_record(problem, fitted, model))
    else:
        print_fit(problem, fitted, model)
