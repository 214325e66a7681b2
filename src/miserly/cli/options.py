"""Options that several commands share, with the words that `--help` says of them."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

__all__ = ["Budget", "CostFile", "Debug", "Decimal", "Encoding", "Force", "Handovers", "Ignore", "Jobs",
           "Json", "Learners", "MaxFits", "MetricName", "Model", "Query", "Rival", "Seed", "Sep", "Table",
           "Target", "Task", "TaskName", "Thousands", "TimeLimit", "Unknown", "Words"]  # fmt: skip

# What --learners takes: the learners of "auto", whatever they are called for classes, numbers or rankings.
NAMES = ("AdaBoostBT", "AFR", "ASTC", "BudgetedTree", "CostLasso", "Cronus", "CSCC", "CSTC", "EarlyExit",
         "GreedyMiser", "SoftCascade", "SpeedBoost")  # fmt: skip
METRICS = ("accuracy", "balanced_accuracy", "log_loss", "mse", "mae", "r2", "ndcg@5", "precision@5")


class Task(StrEnum):
    """What the target holds."""

    auto = "auto"
    classes = "classes"
    numbers = "numbers"
    ranking = "ranking"


class Unknown(StrEnum):
    """What a word means that the plan has never met."""

    missing = "missing"
    error = "error"


class Rival(StrEnum):
    """Whom the frontier races."""

    lightgbm = "lightgbm"


def _complete_learners(incomplete: str) -> list[str]:
    """Names for the last place of a list with commas."""
    before, comma, last = incomplete.rpartition(",")
    return [before + comma + name for name in NAMES if name.lower().startswith(last.lower())]


def _complete_metric(incomplete: str) -> list[str]:
    return [name for name in METRICS if name.startswith(incomplete)]


Table = Annotated[
    Path,
    typer.Argument(help="A table: .csv or .parquet, or - for CSV on standard input.", show_default=False),
]
Sep = Annotated[str, typer.Option(help="CSV: what stands between columns, such as ';' or tab.")]
Decimal = Annotated[str, typer.Option(help="CSV: the decimal mark of numbers, . or ,")]
Thousands = Annotated[
    str | None, typer.Option(help="CSV: what groups digits, as the comma in 1,234.", show_default=False)
]
Encoding = Annotated[str, typer.Option(help="CSV: the encoding of the text, such as cp1252.")]
Force = Annotated[bool, typer.Option("--force", help="Write also to a file that is read.")]
Model = Annotated[Path, typer.Argument(help="A saved plan.", show_default=False)]
Target = Annotated[str, typer.Option(help="The column to predict.", show_default=False)]
CostFile = Annotated[
    Path | None,
    typer.Option(help="What columns cost: .csv (feature,cost[,group,setup]), .json or .toml; else 1 each."),
]
Query = Annotated[
    str | None,
    typer.Option(help="In ranking, the column that says which rows belong together.", show_default=False),
]
Ignore = Annotated[
    list[str] | None,
    typer.Option(help="A column to leave out; may be given several times.", show_default=False),
]
Words = Annotated[
    list[str] | None,
    typer.Option(
        help="A column of words although it looks like numbers; may be given several times.",
        show_default=False,
    ),
]
TaskName = Annotated[Task, typer.Option(help="What the target holds.")]
Budget = Annotated[
    float | None, typer.Option(min=0.0, help="A cap: no row ever costs more.", show_default=False)
]
Seed = Annotated[int, typer.Option(min=0, help="Which rows are set aside, and what is drawn.")]
MetricName = Annotated[
    str | None,
    typer.Option(
        help="accuracy, balanced_accuracy, log_loss; mse, mae, r2; ndcg@K, precision@K. By default accuracy, "
        "mse or ndcg@5.",
        show_default=False,
        autocompletion=_complete_metric,
    ),
]
Learners = Annotated[
    str | None,
    typer.Option(
        help=f"Some of {', '.join(NAMES)}, with commas between; by default all that suit the target.",
        show_default=False,
        autocompletion=_complete_learners,
    ),
]
TimeLimit = Annotated[
    float | None,
    typer.Option(min=0.0, help="Seconds after which the search begins no fit.", show_default=False),
]
Handovers = Annotated[
    bool | None,
    typer.Option(
        "--handovers/--no-handovers",
        help="Whether two models may be put in turn, the expensive one for rows that the cheap one leaves in "
        "doubt. By default with all learners, not with --learners.",
        show_default=False,
    ),
]
MaxFits = Annotated[int, typer.Option(min=2, help="How many settings of learners are tried.")]
Jobs = Annotated[int, typer.Option(help="Processes to fit in; -1 is one for every core.")]
Json = Annotated[bool, typer.Option("--json", help="Print a record for machines instead of words.")]
Debug = Annotated[bool, typer.Option("--debug", help="Show where in the program a mistake was found.")]
