"""`miserly datasets`: the data sets at hand, or one of them as files."""

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
        typer.Argument(help="One of them, or the beginning of its name; else all.", show_default=False),
    ] = None,
    table: Annotated[
        Path | None, typer.Option("--out", help="Write it to this .csv or .parquet file.", show_default=False)
    ] = None,
    costs: Annotated[
        Path | None,
        typer.Option("--costs-out", help="Write its prices: .csv, .json or .toml.", show_default=False),
    ] = None,
    as_json: Json = False,
    debug: Debug = False,
) -> None:
    """List the data sets at hand, the bundled one and those of the folder MISERLY_DATA; or write one."""
    from miserly.cli import sets
    from miserly.cli.csv_files import FORMATS

    if (name is None) != (table is None):
        raise Misuse(
            "to write a data set, give both its name and --out: miserly datasets heart --out heart.csv"
        )
    if name is None or table is None:
        if as_json:
            print_json(sets.set_records())
        else:
            sets.print_datasets()
        return
    refuse_twice(table, costs)
    check_output(table, FORMATS)
    if costs is not None:
        check_output(costs, (".csv", ".json", ".toml"))
    record = sets.write_set(sets.full_name(name), table, costs)
    if as_json:
        print_json(record)
    else:
        sets.print_written(record)
