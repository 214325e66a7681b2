"""`miserly predict`: a saved plan over a table."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from miserly.cli.cells import Format
from miserly.cli.console import check_output, friendly
from miserly.cli.options import Debug, Decimal, Encoding, Force, Json, Model, Query, Sep, Thousands, Unknown

__all__ = ["predict"]


@friendly
def predict(
    model: Model,
    data: Annotated[
        Path,
        typer.Argument(
            help="A table with the columns the plan needs: .csv or .parquet, or - for CSV on standard input.",
            show_default=False,
        ),
    ],
    budget: Annotated[
        float | None, typer.Option(min=0.0, help="A cap: no row costs more.", show_default=False)
    ] = None,
    target: Annotated[
        Path | None,
        typer.Option(
            "--out",
            help="A .csv or .parquet file to write; else rows go to standard output.",
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
        Unknown, typer.Option(help="What a word is that the plan has never met.")
    ] = Unknown.missing,
    sep: Sep = ",",
    decimal: Decimal = ".",
    thousands: Thousands = None,
    encoding: Encoding = "utf-8",
    force: Force = False,
    as_json: Json = False,
    debug: Debug = False,
) -> None:
    """Run a saved plan over a table: the answer, the cost and the number of features bought for each row."""
    from miserly.cli.answering import Asked, Predictions
    from miserly.cli.csv_files import FORMATS, opened
    from miserly.cli.predicting import predict as answer
    from miserly.cli.problems import Problems
    from miserly.plan import load

    form = Format.read(sep, decimal, thousands, encoding)
    if target is not None:
        check_output(target, FORMATS, (data, model), force)
    plan = load(model)
    asked = Asked(budget, query, proba, tuple(keep or ()), unknown.value)
    with opened(data, form) as source:
        answer(Predictions(plan, source, asked, Problems()), target, as_json)
