"""`miserly fit`: one Greedy Miser from a table."""

from __future__ import annotations

import math
import sys
from pathlib import Path
from typing import Annotated

import typer

from miserly.cli.console import Misuse, check_output, friendly, print_json
from miserly.cli.options import Budget, CsvOptions, Debug, Force, Json, Seed, TableOptions, expanded

__all__ = ["fit"]


@friendly
@expanded
def fit(
    table: TableOptions,
    csv: CsvOptions,
    model: Annotated[Path, typer.Option("--out", help="The file to save the plan to.", show_default=False)],
    budget: Budget = None,
    tradeoff: Annotated[
        float, typer.Option(min=0.0, help="The mean loss that one unit of cost must save.")
    ] = 0.0,
    rounds: Annotated[int, typer.Option(min=1, help="The largest number of boosting rounds.")] = 300,
    depth: Annotated[int, typer.Option(min=1, max=16, help="The depth of trees.")] = 4,
    validation: Annotated[
        float,
        typer.Option(
            min=0.0,
            max=0.9,
            help="The share of rows in the validation set, which chooses the number of rounds; 0 for none.",
        ),
    ] = 0.2,
    seed: Seed = 0,
    force: Force = False,
    as_json: Json = False,
    debug: Debug = False,
) -> None:
    """Fit a Greedy Miser to a table and save its plan."""
    from miserly.cli.greedy_miser_fit import FitOptions, fit_greedy_miser
    from miserly.cli.training_table import read_training_table
    from miserly.utils.checks import read_budget

    if not math.isfinite(tradeoff):
        raise Misuse(f"--tradeoff must be a number, not {tradeoff}")
    limit = None if budget is None else read_budget(budget)
    form = csv.form
    check_output(model, (), (table.data, table.costs), force)
    rows = read_training_table(table, form)
    quiet = as_json or not sys.stderr.isatty()
    options = FitOptions(limit, tradeoff, rounds, depth, validation, seed, verbose=not quiet)
    fitted = fit_greedy_miser(rows, options)
    fitted.plan.save(model)
    from miserly.cli.plan_output import fit_record, print_fit

    if as_json:
        print_json(fit_record(rows, fitted, model))
    else:
        print_fit(rows, fitted, model)
