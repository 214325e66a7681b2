"""`miserly datasets`: the available data sets, or one of them as files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from miserly.cli.console import Misuse, check_output, friendly, print_json, refuse_twice
from miserly.cli.options import Debug, Json

__all__ = ["datasets"]


@friendly
def datasets(
    name: Annotated[
        str | None,
        typer.Argument(
            help="A data set, or the beginning of its name. By default all are listed.", show_default=False
        ),
    ] = None,
    table: Annotated[
        Path | None, typer.Option("--out", help="The .csv or .parquet file to write.", show_default=False)
    ] = None,
    costs: Annotated[
        Path | None,
        typer.Option("--costs-out", help="Write its costs: .csv, .json or .toml.", show_default=False),
    ] = None,
    as_json: Json = False,
    debug: Debug = False,
) -> None:
    """List the available data sets (bundled, and in the folder MISERLY_DATA), or write one to files."""
    from miserly.cli import dataset_files
    from miserly.cli.csv_files import FORMATS

    if (name is None) != (table is None):
        raise Misuse(
            "to write a data set, give both its name and --out: miserly datasets heart --out heart.csv"
        )
    if name is None or table is None:
        if as_json:
            print_json(dataset_files.set_records())
        else:
            dataset_files.print_datasets()
        return
    refuse_twice(table, costs)
    check_output(table, FORMATS)
    if costs is not None:
        check_output(costs, (".csv", ".json", ".toml"))
    record = dataset_files.write_set(dataset_files.full_name(name), table, costs)
    if as_json:
        print_json(record)
    else:
        dataset_files.print_written(record)
