"""The commands and their options; what they do is in the other modules of this package.

Nothing that learns is imported before it is needed: `miserly --help` and `miserly predict` start at once.
"""

from __future__ import annotations

import math
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from miserly import __version__
from miserly.cli.console import Misuse, check_output, friendly, out, print_json, warn
from miserly.cli.options import (
    Budget,
    CostFile,
    Debug,
    Handovers,
    Ignore,
    Jobs,
    Json,
    Learners,
    MaxFits,
    MetricName,
    Model,
    Query,
    Rival,
    Seed,
    Table,
    Target,
    Task,
    TaskName,
    TimeLimit,
    Words,
)
from miserly.errors import CostError, DataError

app = typer.Typer(
    name="miserly",
    help="Models that pay for a feature only when it is worth its price.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"miserly {__version__}")
        raise typer.Exit


@app.callback()
def miserly(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Models that pay for a feature only when it is worth its price."""


@app.command()
@friendly
def demo(
    folder: Annotated[Path, typer.Option("--out", help="The folder for the plan and the pictures.")] = Path(
        "miserly-demo"
    ),
    debug: Debug = False,
) -> None:
    """Heart disease with real prices: what each budget buys, a plan, and a patient's way through it."""
    from miserly.cli.demo import run_demo

    run_demo(folder)


@app.command()
@friendly
def frontier(
    data: Table,
    target: Target,
    costs: CostFile = None,
    query: Query = None,
    metric: MetricName = None,
    budget: Annotated[
        float | None,
        typer.Option(
            min=0.0, help="What a row may cost on average; with --hard, at most.", show_default=False
        ),
    ] = None,
    confidence: Annotated[
        float | None,
        typer.Option(
            help="Promise the limits for new rows, with a confidence of 0.95, say.", show_default=False
        ),
    ] = None,
    hard: Annotated[bool, typer.Option("--hard", help="No row may ever cost more than the budget.")] = False,
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
        typer.Option(help="Save the plan of the model for --budget or --max-loss.", show_default=False),
    ] = None,
    task: TaskName = Task.auto,
    ignore: Ignore = None,
    words: Words = None,
    seed: Seed = 0,
    as_json: Json = False,
    debug: Debug = False,
) -> None:
    """What each budget buys: all learners swept and judged on held-out rows; a report, and a model."""
    from miserly.cli.searching import Search, Wanted, check_wanted, metric_for
    from miserly.cli.training import read_problem

    wanted = Wanted(budget, confidence, hard, max_loss)
    check_wanted(wanted, save)
    if report is not None:
        check_output(report, (".html", ".htm"))
        if find_spec("plotly") is None or find_spec("matplotlib") is None:
            raise DataError("--out: the report needs plotly and matplotlib: pip install 'miserly[report]'")
    if save is not None:
        check_output(save)
    problem = read_problem(
        data, target, query=query, ignore=ignore or (), words=words or (), costs=costs, task=task.value,
        metric=metric,
    )  # fmt: skip
    how = Search(
        metric_for(problem.task, metric), learners, time_limit, max_fits, jobs, cache, seed, handovers
    )
    from miserly.cli.offering import found_record, print_found, print_offers
    from miserly.cli.searching import search, write_report

    found = search(problem, how, wanted)
    if not as_json:
        print_offers(found)
    if save is not None and found.choice is not None:
        found.choice.plan.save(save)
    if report is not None:
        write_report(found, report, data.name)
    if as_json:
        print_json(found_record(found, report, save))
    else:
        print_found(found, report, save)
    if found.refusal is not None:
        raise CostError(found.refusal)


@app.command()
@friendly
def fit(
    data: Table,
    target: Target,
    model: Annotated[Path, typer.Option("--out", help="Where to save the plan.", show_default=False)],
    costs: CostFile = None,
    budget: Budget = None,
    tradeoff: Annotated[
        float, typer.Option(min=0.0, help="How much mean loss one unit of cost must save to be spent.")
    ] = 0.0,
    task: TaskName = Task.auto,
    query: Query = None,
    ignore: Ignore = None,
    words: Words = None,
    rounds: Annotated[int, typer.Option(min=1, help="Rounds of boosting at most.")] = 300,
    depth: Annotated[int, typer.Option(min=1, max=16, help="Depth of trees.")] = 4,
    validation: Annotated[
        float,
        typer.Option(
            min=0.0, max=0.9, help="Share of rows set aside to choose the number of rounds; 0 for none."
        ),
    ] = 0.2,
    seed: Seed = 0,
    as_json: Json = False,
    debug: Debug = False,
) -> None:
    """Learn a Greedy Miser from a table and save its plan."""
    from miserly._checks import read_budget
    from miserly.cli.training import Settings, fit_problem, read_problem

    if not math.isfinite(tradeoff):
        raise Misuse(f"--tradeoff must be a number, not {tradeoff}")
    limit = None if budget is None else read_budget(budget)
    check_output(model)
    problem = read_problem(
        data, target, query=query, ignore=ignore or (), words=words or (), costs=costs, task=task.value
    )
    quiet = as_json or not sys.stderr.isatty()
    settings = Settings(limit, tradeoff, rounds, depth, validation, seed, verbose=not quiet)
    fitted = fit_problem(problem, settings)
    fitted.plan.save(model)
    from miserly.cli.showing import fit_record, print_fit

    if as_json:
        print_json(fit_record(problem, fitted, model))
    else:
        print_fit(problem, fitted, model)


@app.command()
@friendly
def predict(
    model: Model,
    data: Annotated[
        Path,
        typer.Argument(help="A table with the columns the plan needs: .csv or .parquet.", show_default=False),
    ],
    budget: Annotated[
        float | None, typer.Option(min=0.0, help="What a row may cost at most.", show_default=False)
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
    query: Query = None,
    as_json: Json = False,
    debug: Debug = False,
) -> None:
    """Run a saved plan over a table: the answer, the cost and the number of features bought for each row."""
    from miserly.cli.answering import answer, read_rows, unknown_words
    from miserly.cli.showing import answers_record, print_answers, write_answers
    from miserly.cli.tables import FORMATS
    from miserly.plan import load

    if target is not None:
        check_output(target, FORMATS)
    plan = load(model)
    table = read_rows(plan, data, query)
    for name, strange, rows in unknown_words(plan, table):
        warn(
            f"{data}: column {name!r} holds words unknown to the plan in {rows} rows "
            f"({', '.join(strange)}); they count as missing"
        )
    answers = answer(plan, table, budget=budget, query=query, probabilities=proba)
    if target is not None:
        write_answers(answers, target)
    if as_json:
        print_json(answers_record(answers, table, query))
    else:
        print_answers(answers, table, query, target)


@app.command()
@friendly
def show(
    model: Model,
    draw: Annotated[
        Path | None, typer.Option(help="Also draw the plan to this .svg or .html file.", show_default=False)
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="List the features it never buys, too.")] = False,
    as_json: Json = False,
    debug: Debug = False,
) -> None:
    """Say in words what a saved plan does, and what its features cost."""
    from miserly.cli.showing import plan_record, print_plan
    from miserly.plan import load

    plan = load(model)
    if draw is not None:
        plan.draw().save(draw)
    if as_json:
        print_json(plan_record(plan))
        return
    print_plan(plan, model.name, everything)
    if draw is not None:
        out.print(f"Drawn to {escape(str(draw))}", soft_wrap=True)


@app.command()
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
    seed: Annotated[int, typer.Option(min=0, help="Which rows judge, and what is drawn.")] = 0,
    as_json: Json = False,
    debug: Debug = False,
) -> None:
    """Make a trained support vector machine small: fewer vectors, moved until it answers as before."""
    from miserly.cli import compress as small

    rows = None if data is None else small.read_rows(data, target)
    trained, rows = small.read_model(model, rows)
    outcome = small.compress(trained, rows, vectors, ratio, seed)
    files = files or [model.with_name(f"{model.stem}-small{model.suffix}")]
    saved = [(path, small.save(outcome, path)) for path in files]
    if as_json:
        print_json(small.outcome_record(outcome, files))
    else:
        small.print_outcome(outcome, saved)


@app.command()
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
    seed: Seed = 0,
    as_json: Json = False,
    debug: Debug = False,
) -> None:
    """Race the frontier against LightGBM (CEGB) on your rows and prices; a quarter of them is the test."""
    from miserly.cli.searching import Search, metric_for
    from miserly.cli.training import read_problem

    problem = read_problem(
        data, target, query=query, ignore=ignore or (), words=words or (), costs=costs, task=task.value,
        metric=metric,
    )  # fmt: skip
    how = Search(
        metric_for(problem.task, metric), learners, time_limit, max_fits, jobs, None, seed, handovers
    )
    from miserly.cli.racing import print_race, race, race_record

    done = race(problem, how)
    if as_json:
        print_json(race_record(done))
    else:
        print_race(done)


@app.command()
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
    from miserly.cli.tables import FORMATS

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
    check_output(table, FORMATS)
    if costs is not None:
        check_output(costs, (".csv", ".json", ".toml"))
    record = sets.write_set(sets.full_name(name), table, costs)
    if as_json:
        print_json(record)
    else:
        sets.print_written(record)
