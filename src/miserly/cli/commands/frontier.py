"""`miserly frontier`: what each budget buys on the rows of a file."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from miserly.cli.cells import Format
from miserly.cli.console import check_output, friendly, print_json, refuse_twice
from miserly.cli.options import (
    CostFile,
    Debug,
    Decimal,
    Encoding,
    Force,
    Handovers,
    Ignore,
    Jobs,
    Json,
    Learners,
    MaxFits,
    MetricName,
    Query,
    Seed,
    Sep,
    Table,
    Target,
    Task,
    TaskName,
    Thousands,
    TimeLimit,
    Words,
)
from miserly.errors import CostError, DataError

__all__ = ["frontier"]


@friendly
def frontier(
    data: Table,
    target: Target,
    costs: CostFile = None,
    query: Query = None,
    metric: MetricName = None,
    budget: Annotated[
        float | None,
        typer.Option(min=0.0, help="A cap: no row ever costs more.", show_default=False),
    ] = None,
    mean_budget: Annotated[
        float | None,
        typer.Option(min=0.0, help="What rows may cost on average.", show_default=False),
    ] = None,
    confidence: Annotated[
        float | None,
        typer.Option(
            help="Promise --mean-budget and --max-loss for new rows, with a confidence such as 0.95.",
            show_default=False,
        ),
    ] = None,
    max_loss: Annotated[
        float | None,
        typer.Option(
            min=0.0,
            help="The cheapest model whose metric is at most so much worse than that of the best.",
            show_default=False,
        ),
    ] = None,
    learners: Learners = None,
    time_limit: TimeLimit = None,
    max_fits: MaxFits = 60,
    handovers: Handovers = None,
    jobs: Jobs = 1,
    cache: Annotated[
        Path | None,
        typer.Option(
            help="A folder that keeps every fit: a search that ended goes on there.", show_default=False
        ),
    ] = None,
    report: Annotated[
        Path | None, typer.Option("--out", help="Write a report, an .html file.", show_default=False)
    ] = None,
    save: Annotated[
        Path | None,
        typer.Option(
            help="Save the plan of the model for --budget, --mean-budget or --max-loss.", show_default=False
        ),
    ] = None,
    task: TaskName = Task.auto,
    ignore: Ignore = None,
    words: Words = None,
    sep: Sep = ",",
    decimal: Decimal = ".",
    thousands: Thousands = None,
    encoding: Encoding = "utf-8",
    seed: Seed = 0,
    force: Force = False,
    as_json: Json = False,
    debug: Debug = False,
) -> None:
    """What each budget buys: all learners swept and judged on held-out rows; a report, and a model."""
    from miserly.cli.searching import Search, Wanted, check_wanted, metric_for
    from miserly.cli.training import read_problem

    wanted = Wanted(budget, mean_budget, confidence, max_loss)
    check_wanted(wanted, save)
    form, inputs = Format.read(sep, decimal, thousands, encoding), (data, costs)
    refuse_twice(report, save)
    if report is not None:
        check_output(report, (".html", ".htm"), inputs, force)
        if find_spec("plotly") is None or find_spec("matplotlib") is None:
            raise DataError("--out: the report needs plotly and matplotlib: pip install 'miserly[report]'")
    if save is not None:
        check_output(save, (), inputs, force)
    problem = read_problem(
        data, target, query=query, ignore=ignore or (), words=words or (), costs=costs, task=task.value,
        metric=metric, form=form,
    )  # fmt: skip
    how = Search(
        metric_for(problem.task, metric), learners, time_limit, max_fits, jobs, cache, seed, handovers,
        task.value, metric,
    )  # fmt: skip
    from miserly.cli.offering import found_record, print_found, print_offers
    from miserly.cli.searching import search, write_report

    found = search(problem, how, wanted)
    if not as_json:
        print_offers(found)
    if save is not None and found.choice is not None:
        found.choice.plan.save(save)
    if report is not None:
        write_report(found, report)
    if as_json:
        print_json(found_record(found, report, save))
    else:
        print_found(found, report, save)
    if found.refusal is not None:
        raise CostError(found.refusal)
