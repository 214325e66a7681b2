"""`miserly bench`: the frontier against LightGBM."""

from __future__ import annotations

from typing import Annotated

import typer

from miserly.cli.cells import Format
from miserly.cli.console import friendly, print_json
from miserly.cli.options import (
    CostFile,
    Debug,
    Decimal,
    Encoding,
    Handovers,
    Ignore,
    Jobs,
    Json,
    Learners,
    MaxFits,
    MetricName,
    Query,
    Rival,
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

__all__ = ["bench"]


@friendly
def bench(
    data: Table,
    target: Target,
    costs: CostFile = None,
    query: Query = None,
    metric: MetricName = None,
    against: Annotated[Rival, typer.Option(help="Whom to race.")] = Rival.lightgbm,
    learners: Learners = None,
    time_limit: TimeLimit = None,
    max_fits: MaxFits = 60,
    handovers: Handovers = None,
    jobs: Jobs = 1,
    task: TaskName = Task.auto,
    ignore: Ignore = None,
    words: Words = None,
    sep: Sep = ",",
    decimal: Decimal = ".",
    thousands: Thousands = None,
    encoding: Encoding = "utf-8",
    seed: Seed = 0,
    as_json: Json = False,
    debug: Debug = False,
) -> None:
    """Race the frontier against LightGBM (CEGB) on your rows and prices; a quarter of them is the test."""
    from miserly.cli.searching import Search, metric_for
    from miserly.cli.training import read_problem

    form = Format.read(sep, decimal, thousands, encoding)
    problem = read_problem(
        data, target, query=query, ignore=ignore or (), words=words or (), costs=costs, task=task.value,
        metric=metric, form=form,
    )  # fmt: skip
    how = Search(
        metric_for(problem.task, metric), learners, time_limit, max_fits, jobs, None, seed, handovers,
        task.value, metric,
    )  # fmt: skip
    from miserly.cli.racing import print_race, race, race_record

    done = race(problem, how)
    if as_json:
        print_json(race_record(done))
    else:
        print_race(done)
