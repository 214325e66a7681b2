"""`miserly bench`: the frontier against LightGBM."""

from __future__ import annotations

from typing import Annotated

import typer

from miserly.cli.console import friendly, print_json
from miserly.cli.options import CsvOptions, Debug, Json, Rival, SearchOptions, TableOptions, expanded

__all__ = ["bench"]


@friendly
@expanded
def bench(
    table: TableOptions,
    search: SearchOptions,
    csv: CsvOptions,
    against: Annotated[Rival, typer.Option(help="What to compare with.")] = Rival.lightgbm,
    as_json: Json = False,
    debug: Debug = False,
) -> None:
    """Compare the frontier with LightGBM (CEGB) on your table. A quarter of the rows is the test set."""
    from miserly.cli.training_table import read_training_table

    rows = read_training_table(table, csv.form, search.metric)
    from miserly.cli.lightgbm_race import print_race, race, race_record

    done = race(rows, search)
    if as_json:
        print_json(race_record(done))
    else:
        print_race(done)
