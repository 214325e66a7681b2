"""Commands that search (`miserly frontier`, `bench`, `demo`) and list data (`datasets`)."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from miserly.cli.console import Misuse, check_output, friendly, print_json, refuse_twice
from miserly.cli.options import (
    Budget,
    CsvOptions,
    Debug,
    Force,
    Json,
    OutcomeFile,
    Rival,
    RowOptions,
    SearchOptions,
    TableOptions,
    expanded,
)
from miserly.errors import CostError, DataError

__all__ = ["bench", "datasets", "demo", "frontier"]

MeanBudget = Annotated[
    float | None, typer.Option(min=0.0, help="Maximum mean cost per row.", show_default=False)
]
Confidence = Annotated[
    float | None,
    typer.Option(
        help="Guarantee --mean-budget and --max-loss for new rows, with a confidence such as 0.95.",
        show_default=False,
    ),
]
MaxLoss = Annotated[
    float | None,
    typer.Option(
        min=0.0,
        help="Choose the cheapest model whose metric is at most this much worse than the best.",
        show_default=False,
    ),
]
Report = Annotated[
    Path | None, typer.Option("--out", help="Write a report, an .html file.", show_default=False)
]
Save = Annotated[
    Path | None,
    typer.Option(
        help="Save the plan of the model for --budget, --mean-budget or --max-loss.", show_default=False
    ),
]
Cache = Annotated[
    Path | None,
    typer.Option(
        help="Cache directory. An interrupted search resumes from it.",
        show_default=False,
        rich_help_panel="Search",
    ),
]


@friendly
@expanded
def frontier(
    table: TableOptions,
    of_rows: RowOptions,
    search: SearchOptions,
    csv: CsvOptions,
    budget: Budget = None,
    mean_budget: MeanBudget = None,
    confidence: Confidence = None,
    max_loss: MaxLoss = None,
    outcome_costs: OutcomeFile = None,
    report: Report = None,
    save: Save = None,
    cache: Cache = None,
    force: Force = False,
    as_json: Json = False,
    debug: Debug = False,
) -> None:
    """Compare learners on a table and show what each budget buys. Writes a report and saves a model."""
    from miserly.cli.frontier_search import metric_for, read_request
    from miserly.cli.training_table import read_training_table

    request = read_request(budget, mean_budget, confidence, max_loss, save, outcome_costs)
    form, inputs = csv.form, (table.data, table.costs, outcome_costs, *of_rows.files)
    refuse_twice(report, save)
    if report is not None:
        check_output(report, (".html", ".htm"), inputs, force)
        if find_spec("plotly") is None or find_spec("matplotlib") is None:
            raise DataError("--out: the report needs plotly and matplotlib: pip install 'miserly[report]'")
    if save is not None:
        check_output(save, (), inputs, force)
    rows = read_training_table(table, form, search.metric, of_rows)
    metric_for(rows.task, search.metric, outcome_costs)  # raises if it does not suit the task
    from miserly.cli.frontier_output import print_offers, print_result, result_record
    from miserly.cli.frontier_search import search_table, write_report

    result = search_table(rows, search, request, cache, outcome_costs)
    if not as_json:
        print_offers(result)
    if save is not None and result.chosen is not None:
        result.chosen.plan.save(save)
    if report is not None:
        write_report(result, report)
    if as_json:
        print_json(result_record(result, report, save))
    else:
        print_result(result, report, save)
    if result.refusal is not None:
        raise CostError(result.refusal)


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


@friendly
def demo(
    folder: Annotated[
        Path, typer.Option("--out", help="The folder for the plan, the drawing and the report.")
    ] = Path("miserly-demo"),
    debug: Debug = False,
) -> None:
    """Show what budgets buy on heart disease data with real prices, and one patient step by step."""
    from miserly.cli.demo import run_demo

    run_demo(folder)


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
    from miserly.cli.table_files import FORMATS

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
