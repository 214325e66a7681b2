"""`miserly compress`: a trained support vector machine with fewer vectors."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from miserly.cli.console import check_output, friendly, print_json, refuse_twice
from miserly.cli.options import CsvOptions, Debug, Force, Json, Seed, expanded

__all__ = ["compress"]


@friendly
@expanded
def compress(
    model: Annotated[
        Path, typer.Argument(help="A trained SVM: .skops, or a LibSVM model file.", show_default=False)
    ],
    csv: CsvOptions,
    files: Annotated[
        list[Path] | None,
        typer.Option(
            "--out",
            help="The file to save: .skops for scikit-learn, .miser for a plan, else a LibSVM model file; "
            "may be given several times. By default the name of the model with -small added.",
            show_default=False,
        ),
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(
            help="Rows to fit to: .csv, .parquet, or LibSVM's format. A fifth of them is the test set.",
            show_default=False,
        ),
    ] = None,
    target: Annotated[
        str | None, typer.Option(help="The column of a table with the labels.", show_default=False)
    ] = None,
    ratio: Annotated[
        float, typer.Option(min=0.0, max=1.0, help="The share of support vectors to keep.")
    ] = 0.1,
    vectors: Annotated[
        int | None, typer.Option(min=1, help="The number of vectors, instead of --ratio.", show_default=False)
    ] = None,
    force: Force = False,
    seed: Seed = 0,
    as_json: Json = False,
    debug: Debug = False,
) -> None:
    """Compress a trained support vector machine: fewer vectors, with nearly the same predictions."""
    from miserly.cli import svm_compression as small

    form = csv.form
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
