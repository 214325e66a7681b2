"""The commands and their options; what they do is in the other modules of this package.

Nothing that learns is imported before it is needed: `miserly --help` and `miserly predict` start at once.
"""

from __future__ import annotations

import math
import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from miserly import __version__
from miserly.cli.console import friendly, out, print_json, warn
from miserly.errors import DataError

app = typer.Typer(
    name="miserly",
    help="Models that pay for a feature only when it is worth its price.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

Debug = Annotated[bool, typer.Option("--debug", help="Show where in the program a mistake was found.")]
Json = Annotated[bool, typer.Option("--json", help="Print a record for machines instead of words.")]


class Task(StrEnum):
    """What the target holds."""

    auto = "auto"
    classify = "classify"
    regress = "regress"
    rank = "rank"


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
def fit(
    data: Annotated[Path, typer.Argument(help="A table: .csv or .parquet.", show_default=False)],
    target: Annotated[str, typer.Option(help="The column to predict.", show_default=False)],
    model: Annotated[Path, typer.Option("--out", help="Where to save the plan.", show_default=False)],
    costs: Annotated[
        Path | None,
        typer.Option(
            help="What columns cost: .csv (feature,cost[,group,setup]), .json or .toml; else 1 each."
        ),
    ] = None,
    budget: Annotated[
        float | None, typer.Option(help="What one prediction may cost at most.", show_default=False)
    ] = None,
    tradeoff: Annotated[
        float, typer.Option(min=0.0, help="How much mean loss one unit of cost must save to be spent.")
    ] = 0.0,
    task: Annotated[Task, typer.Option(help="What the target holds.")] = Task.auto,
    query: Annotated[
        str | None,
        typer.Option(help="In ranking, the column that says which rows belong together.", show_default=False),
    ] = None,
    ignore: Annotated[
        list[str] | None,
        typer.Option(help="A column to leave out; may be given several times.", show_default=False),
    ] = None,
    rounds: Annotated[int, typer.Option(min=1, help="Rounds of boosting at most.")] = 300,
    depth: Annotated[int, typer.Option(min=1, max=16, help="Depth of trees.")] = 4,
    validation: Annotated[
        float,
        typer.Option(
            min=0.0, max=0.9, help="Share of rows set aside to choose the number of rounds; 0 for none."
        ),
    ] = 0.2,
    seed: Annotated[int, typer.Option(min=0, help="Which rows are set aside.")] = 0,
    as_json: Json = False,
    debug: Debug = False,
) -> None:
    """Learn a Greedy Miser from a table and save its plan."""
    from miserly._checks import read_budget
    from miserly.cli.tables import read_table
    from miserly.cli.training import Settings, fit_problem, read_problem

    if not math.isfinite(tradeoff):
        raise DataError(f"--tradeoff must be a number, not {tradeoff}")
    limit = None if budget is None else read_budget(budget)
    problem = read_problem(
        read_table(data), target, query=query, ignore=ignore or (), costs=costs, task=task.value
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
    model: Annotated[Path, typer.Argument(help="A saved plan.", show_default=False)],
    data: Annotated[
        Path,
        typer.Argument(help="A table with the columns the plan needs: .csv or .parquet.", show_default=False),
    ],
    budget: Annotated[
        float | None, typer.Option(help="What a row may cost at most.", show_default=False)
    ] = None,
    target: Annotated[
        Path | None,
        typer.Option(
            "--out", help="A .csv file to write; else rows go to standard output.", show_default=False
        ),
    ] = None,
    proba: Annotated[bool, typer.Option("--proba", help="Add the probability of each class.")] = False,
    query: Annotated[
        str | None,
        typer.Option(help="In ranking, the column that says which rows belong together.", show_default=False),
    ] = None,
    as_json: Json = False,
    debug: Debug = False,
) -> None:
    """Run a saved plan over a table: the answer, the cost and the number of features bought for each row."""
    from miserly.cli.answering import answer, read_rows, unknown_words
    from miserly.cli.showing import answers_record, print_answers, write_answers
    from miserly.plan import load

    plan = load(model)
    table = read_rows(plan, data, query)
    for name, words, rows in unknown_words(plan, table):
        warn(f"{data}: column {name!r} holds words unknown to the plan in {rows} rows ({', '.join(words)}); "
             "they count as missing")  # fmt: skip
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
    model: Annotated[Path, typer.Argument(help="A saved plan.", show_default=False)],
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
def datasets(debug: Debug = False) -> None:
    """List the data sets at hand: the bundled one, and those of the folder MISERLY_DATA names."""
    from miserly.cli.showing import print_datasets

    print_datasets()
