"""`miserly compress`: a trained support vector machine with fewer vectors."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from miserly.cli.cells import Format
from miserly.cli.console import check_output, friendly, print_json, refuse_twice
from miserly.cli.options import Debug, Decimal, Encoding, Force, Json, Sep, Thousands

__all__ = ["compress"]


@friendly
def compress(
    model: Annotated[
        Path, typer.Argument(help="A trained SVM: .skops, or a LibSVM model file.", show_default=False)
    ],
    files: Annotated[
        list[Path] | None,
        typer.Option(
            "--out",
            help="Where to save: .skops for scikit-learn, .miser for a plan, else a LibSVM model file; "
            "may be given several times. By default beside the model, as it is, with -small in its name.",
            show_default=False,
        ),
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(
            help="Rows like those it will see: .csv, .parquet, or LibSVM's format. A fifth of them judges.",
            show_default=False,
        ),
    ] = None,
    target: Annotated[
        str | None, typer.Option(help="The column of a table with the answers.", show_default=False)
    ] = None,
    ratio: Annotated[
        float, typer.Option(min=0.0, max=1.0, help="The share of support vectors that may be left.")
    ] = 0.1,
    vectors: Annotated[
        int | None, typer.Option(min=1, help="Their number, instead of --ratio.", show_default=False)
    ] = None,
    sep: Sep = ",",
    decimal: Decimal = ".",
    thousands: Thousands = None,
    encoding: Encoding = "utf-8",
    force: Force = False,
    seed: Annotated[int, typer.Option(min=0, help="Which rows judge, and what is drawn.")] = 0,
    as_json: Json = False,
    debug: Debug = False,
) -> None:
    """Make a trained support vector machine small: fewer vectors, moved until it answers as before."""
    from miserly.cli import compress as small

    form = Format.read(sep, decimal, thousands, encoding)
    files = files or [model.with_name(f"{model.stem}-small{model.suffix}")]
    refuse_twice(*files)
    for path in files:
        check_output(path, (), (model, data), force)
    rows = None if data is None else small.read_rows(data, target, form)
    trained, rows = small.read_model(model, rows)
    outcome = small.compress(trained, rows, vectors, ratio, seed)
    saved = [(path, small.save(outcome, path)) for path in files]
    if as_json:
        print_json(small.outcome_record(outcome, files))
    else:
        small.print_outcome(outcome, saved)
