"""`miserly predict`: a saved plan on the rows of a table."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from miserly.cli.console import check_output, friendly
from miserly.cli.options import Budget, CsvOptions, Debug, Force, Json, Model, Query, Unknown, expanded

__all__ = ["predict"]


@friendly
@expanded
def predict(
    model: Model,
    data: Annotated[
        Path,
        typer.Argument(
            help="A table with the columns the plan needs: .csv or .parquet, or - for CSV on standard input.",
            show_default=False,
        ),
    ],
    csv: CsvOptions,
    budget: Budget = None,
    target: Annotated[
        Path | None,
        typer.Option(
            "--out",
            help="The .csv or .parquet file to write. By default rows go to standard output.",
            show_default=False,
        ),
    ] = None,
    proba: Annotated[bool, typer.Option("--proba", help="Add the probability of each class.")] = False,
    keep: Annotated[
        list[str] | None,
        typer.Option(help="A column to copy to the output; may be given several times.", show_default=False),
    ] = None,
    query: Query = None,
    unknown: Annotated[
        Unknown, typer.Option(help="How to treat a category that is not in the plan.")
    ] = Unknown.missing,
    force: Force = False,
    as_json: Json = False,
    debug: Debug = False,
) -> None:
    """Run a saved plan on a table: prediction, cost and number of features bought for each row."""
    from miserly.cli.csv_files import FORMATS, opened
    from miserly.cli.prediction_output import predict as answer
    from miserly.cli.predictions import Predictions, PredictOptions
    from miserly.cli.problems import Problems
    from miserly.plan import load

    form = csv.form
    if target is not None:
        check_output(target, FORMATS, (data, model), force)
    plan = load(model)
    asked = PredictOptions(budget, query, proba, tuple(keep or ()), unknown.value)
    with opened(data, form) as source:
        answer(Predictions(plan, source, asked, Problems()), target, as_json)
