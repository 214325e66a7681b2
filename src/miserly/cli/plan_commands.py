"""Commands for one plan: `miserly fit`, `predict`, `ask`, `show` and `compress`."""

from __future__ import annotations

import math
import sys
from pathlib import Path
from typing import Annotated

import typer

from miserly.cli.console import Misuse, check_output, friendly, out, print_json, refuse_twice
from miserly.cli.options import (
    Budget,
    CsvOptions,
    Debug,
    Force,
    Json,
    Model,
    OutcomeFile,
    Query,
    RowOptions,
    Seed,
    TableOptions,
    Unknown,
    expanded,
)

__all__ = ["ask", "compress", "fit", "predict", "show"]


@friendly
@expanded
def fit(
    table: TableOptions,
    rows: RowOptions,
    csv: CsvOptions,
    model: Annotated[Path, typer.Option("--out", help="The file to save the plan to.", show_default=False)],
    budget: Budget = None,
    tradeoff: Annotated[
        float, typer.Option(min=0.0, help="The decrease of mean loss that one unit of cost must bring.")
    ] = 0.0,
    rounds: Annotated[int, typer.Option(min=1, help="Maximum number of boosting rounds.")] = 300,
    depth: Annotated[int, typer.Option(min=1, max=16, help="Depth of trees.")] = 4,
    validation: Annotated[
        float,
        typer.Option(
            min=0.0,
            max=0.9,
            help="The share of rows in the validation set, which chooses the number of rounds; 0 for none.",
        ),
    ] = 0.2,
    outcome_costs: OutcomeFile = None,
    seed: Seed = 0,
    force: Force = False,
    as_json: Json = False,
    debug: Debug = False,
) -> None:
    """Fit a Greedy Miser to a table and save its plan."""
    from miserly.cli.plans import FitOptions, fit_greedy_miser
    from miserly.cli.training_table import read_training_table
    from miserly.utils.checks import read_budget

    if not math.isfinite(tradeoff):
        raise Misuse(f"--tradeoff must be a number, not {tradeoff}")
    limit = None if budget is None else read_budget(budget)
    form = csv.form
    check_output(model, (), (table.data, table.costs, outcome_costs, *rows.files), force)
    read = read_training_table(table, form, of_rows=rows)
    quiet = as_json or not sys.stderr.isatty()
    options = FitOptions(limit, tradeoff, rounds, depth, validation, seed, not quiet, outcome_costs)
    fitted = fit_greedy_miser(read, options)
    fitted.plan.save(model)
    from miserly.cli.plans import fit_record, print_fit

    if as_json:
        print_json(fit_record(read, fitted, model))
    else:
        print_fit(read, fitted, model)


@friendly
@expanded
def predict(
    model: Model,
    data: Annotated[
        Path,
        typer.Argument(
            help="A table with the columns the plan needs: .csv or .parquet, or - for CSV on standard input.",
            show_default=False,
        ),
    ],
    rows: RowOptions,
    csv: CsvOptions,
    known_if_filled: Annotated[
        bool,
        typer.Option(
            "--known-if-filled", help="Features whose cells are not empty are known and cost nothing."
        ),
    ] = False,
    budget: Budget = None,
    target: Annotated[
        Path | None,
        typer.Option(
            "--out",
            help="The .csv or .parquet file to write. By default rows go to standard output.",
            show_default=False,
        ),
    ] = None,
    proba: Annotated[bool, typer.Option("--proba", help="Add the probability of each class.")] = False,
    keep: Annotated[
        list[str] | None,
        typer.Option(help="A column to copy to the output; may be given several times.", show_default=False),
    ] = None,
    query: Query = None,
    unknown: Annotated[
        Unknown, typer.Option(help="How to treat a category that is not in the plan.")
    ] = Unknown.missing,
    resume: Annotated[
        bool,
        typer.Option("--resume", help="Continue an interrupted run with the same --out."),
    ] = False,
    force: Force = False,
    as_json: Json = False,
    debug: Debug = False,
) -> None:
    """Run a saved plan on a table: prediction, cost and number of features bought for each row."""
    from miserly.cli.console import Problems
    from miserly.cli.predictions import Predictions, PredictOptions
    from miserly.cli.predictions import predict as answer
    from miserly.cli.table_files import FORMATS, opened
    from miserly.plan import load

    form = csv.form
    if target is not None:
        check_output(target, FORMATS, (data, model, *rows.files), force)
    if resume and (target is None or as_json or str(data) == "-"):
        raise Misuse("--resume needs --out and a file to read, and cannot be combined with --json")
    plan = load(model)
    asked = PredictOptions(budget, query, proba, tuple(keep or ()), unknown.value, rows, known_if_filled)
    with opened(data, form) as source:
        answer(Predictions(plan, source, asked, Problems()), target, as_json, resume)


@friendly
def ask(
    model: Model,
    budget: Annotated[
        float | None,
        typer.Option(min=0.0, help="A cap: the total cost never exceeds it.", show_default=False),
    ] = None,
    known: Annotated[
        list[str] | None,
        typer.Option(
            help="NAME=VALUE: a known value, which costs nothing; may be given several times.",
            show_default=False,
        ),
    ] = None,
    prices: Annotated[
        list[str] | None,
        typer.Option(
            help="NAME=PRICE of a feature or of the set-up of a group, or a file of costs; may be given "
            "several times. By default the prices of the plan.",
            show_default=False,
        ),
    ] = None,
    receipt: Annotated[
        Path | None, typer.Option(help="The .json file to write the receipt to.", show_default=False)
    ] = None,
    force: Force = False,
    as_json: Json = False,
    debug: Debug = False,
) -> None:
    """Run a saved plan as an interview: one question at a time, its price, and the answer so far."""
    from miserly.cli import asking
    from miserly.cli.replies import read_known, read_prices
    from miserly.plan import load
    from miserly.runtime import Interview

    if receipt is not None:
        check_output(receipt, (".json",), (model,), force)
    plan = load(model)
    given = read_known(plan, known or ()), read_prices(plan, prices or ())
    interview = Interview(plan, budget, *given)
    console = asking.console_for(as_json)
    done = asking.ask(interview, plan, model.name, console)
    if receipt is not None:
        asking.write_receipt(done, receipt)
    if as_json:
        print_json(done.to_dict())
        return
    asking.print_receipt(done, console)
    if receipt is not None:
        out.print(f"Receipt written to {receipt}", soft_wrap=True)


@friendly
def show(
    model: Model,
    draw: Annotated[
        Path | None, typer.Option(help="Also draw the plan to this .svg or .html file.", show_default=False)
    ] = None,
    force: Force = False,
    everything: Annotated[
        bool, typer.Option("--all", help="Also list the features that the plan never buys.")
    ] = False,
    as_json: Json = False,
    debug: Debug = False,
) -> None:
    """Describe a saved plan, and list what its features cost."""
    from miserly.cli.plans import plan_record, print_plan
    from miserly.plan import load

    plan = load(model)
    if draw is not None:
        check_output(draw, (".svg", ".html", ".htm"), (model,), force)
        plan.draw().save(draw)
    if as_json:
        print_json(plan_record(plan))
        return
    print_plan(plan, model.name, everything)
    if draw is not None:
        out.print(f"Drawn to {draw}", soft_wrap=True)


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
        str | None, typer.Option(help="The column with the labels, if --data is a table.", show_default=False)
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
