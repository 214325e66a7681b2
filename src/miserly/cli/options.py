"""Options that several commands share, in groups, with their help texts."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from dataclasses import MISSING, dataclass, fields, is_dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

if TYPE_CHECKING:
    from miserly.cli.cells import Format

__all__ = ["Budget", "CsvOptions", "Debug", "Force", "Json", "Model", "OutcomeFile", "Query", "Rival",
           "RowOptions", "SearchOptions", "Seed", "TableOptions", "Task", "Unknown", "expanded"]  # fmt: skip

# Names for --learners: the learners of "auto", for classes, numbers or rankings.
NAMES = ("Acquirer", "AdaBoostBT", "AFR", "ASTC", "BudgetedSelector", "BudgetedTree", "CostLasso", "Cronus",
         "CSCC", "CSTC", "EarlyExit", "GreedyMiser", "PurchaseTree", "SoftCascade", "SpeedBoost")  # fmt: skip
METRICS = ("accuracy", "balanced_accuracy", "f1", "roc_auc", "log_loss", "mse", "mae", "r2", "ndcg@5",
           "precision@5")  # fmt: skip
_CSV, _SEARCH = "CSV format", "Search"  # panels of the help


class Task(StrEnum):
    """What the target holds."""

    auto = "auto"
    classes = "classes"
    numbers = "numbers"
    ranking = "ranking"


class Unknown(StrEnum):
    """How to treat a category that is not in the plan."""

    missing = "missing"
    error = "error"


class Rival(StrEnum):
    """What the frontier is compared with."""

    lightgbm = "lightgbm"


def _complete_learners(incomplete: str) -> list[str]:
    """Complete the last name of a comma-separated list."""
    before, comma, last = incomplete.rpartition(",")
    return [before + comma + name for name in NAMES if name.lower().startswith(last.lower())]


def _complete_metric(incomplete: str) -> list[str]:
    return [name for name in METRICS if name.startswith(incomplete)]


# -- single options ------------------------------------------------------------------------------------------

Model = Annotated[Path, typer.Argument(help="A saved plan.", show_default=False)]
Query = Annotated[
    str | None, typer.Option(help="The column with the query of each row, for ranking.", show_default=False)
]
Budget = Annotated[float | None, typer.Option(min=0.0, help="A cap: no row costs more.", show_default=False)]
OutcomeFile = Annotated[
    Path | None,
    typer.Option(
        "--outcome-costs",
        help="Costs of mistakes, in the unit of the costs: a .csv with the columns actual, predicted and "
        "cost, or .json. A cost may name a column of amounts. Models are then trained by them, and "
        "compared by the total cost of features and mistakes.",
        show_default=False,
    ),
]
Seed = Annotated[int, typer.Option(min=0, help="Random seed.")]
Force = Annotated[bool, typer.Option("--force", help="Allow an output file that is also an input.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]
Debug = Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")]


# -- groups --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class TableOptions:
    """A table to learn from, and the roles of its columns."""

    data: Annotated[
        Path,
        typer.Argument(help="A table: .csv or .parquet, or - for CSV on standard input.", show_default=False),
    ]
    target: Annotated[str, typer.Option(help="The column to predict.", show_default=False)]
    costs: Annotated[
        Path | None,
        typer.Option(
            help="The costs of columns: a .csv (feature, cost and optionally group, setup), .json or .toml "
            "file. By default 1 each."
        ),
    ] = None
    default_cost: Annotated[
        float | None,
        typer.Option(
            min=0.0,
            help="The cost of columns that --costs does not name. By default such a column is an error.",
            show_default=False,
        ),
    ] = None
    query: Query = None
    task: Annotated[Task, typer.Option(help="What the target holds.")] = Task.auto
    ignore: Annotated[
        list[str] | None,
        typer.Option(help="A column to leave out; may be given several times.", show_default=False),
    ] = None
    categories: Annotated[
        list[str] | None,
        typer.Option(
            "--categories",
            "--words",  # its former name
            help="A column of categories that look like numbers; may be given several times.",
            show_default=False,
        ),
    ] = None


@dataclass(frozen=True)
class RowOptions:
    """Known features and prices of single rows."""

    known: Annotated[
        list[str] | None,
        typer.Option(
            help="Features that rows already have, at no cost: a feature of all rows, FEATURE=COLUMN with "
            "a column of booleans, or a table of booleans with a column per feature. May be given several "
            "times.",
            show_default=False,
        ),
    ] = None
    prices: Annotated[
        list[str] | None,
        typer.Option(
            help="Prices of rows: NAME=PRICE, NAME=COLUMN with a column of prices, a file of costs, or a "
            "table of prices with a column per feature or group. May be given several times.",
            show_default=False,
        ),
    ] = None

    def columns(self, header: Sequence[str]) -> set[str]:
        """The columns of a table that hold known features or prices of rows."""
        given = [
            one.rpartition("=")[2].strip()
            for one in [*(self.known or ()), *(self.prices or ())]
            if "=" in one
        ]
        return {name for name in given if name in header}

    @property
    def files(self) -> tuple[Path, ...]:
        """The input files that the options name."""
        given = [*(self.known or ()), *(self.prices or ())]
        return tuple(path for path in map(Path, given) if path.is_file())


@dataclass(frozen=True)
class CsvOptions:
    """How CSV files are written."""

    sep: Annotated[
        str, typer.Option(help="The separator of columns, such as ';' or tab.", rich_help_panel=_CSV)
    ] = ","
    decimal: Annotated[str, typer.Option(help="The decimal mark, . or ,", rich_help_panel=_CSV)] = "."
    thousands: Annotated[
        str | None,
        typer.Option(
            help="The thousands separator, such as the comma in 1,234.",
            show_default=False,
            rich_help_panel=_CSV,
        ),
    ] = None
    encoding: Annotated[
        str, typer.Option(help="The text encoding, such as cp1252.", rich_help_panel=_CSV)
    ] = "utf-8"

    @property
    def form(self) -> Format:
        """The format, checked."""
        from miserly.cli.cells import Format

        return Format.read(self.sep, self.decimal, self.thousands, self.encoding)


@dataclass(frozen=True)
class SearchOptions:
    """How `frontier` searches."""

    metric: Annotated[
        str | None,
        typer.Option(
            help="accuracy, balanced_accuracy, f1, roc_auc, log_loss; mse, mae, r2; ndcg@K, precision@K. By "
            "default accuracy, mse or ndcg@5.",
            show_default=False,
            autocompletion=_complete_metric,
            rich_help_panel=_SEARCH,
        ),
    ] = None
    learners: Annotated[
        str | None,
        typer.Option(
            help=f"Learners, separated by commas: {', '.join(NAMES)}. By default all that suit the target.",
            show_default=False,
            autocompletion=_complete_learners,
            rich_help_panel=_SEARCH,
        ),
    ] = None
    time_limit: Annotated[
        float | None,
        typer.Option(
            min=0.0,
            help="Seconds after which no new fit is started.",
            show_default=False,
            rich_help_panel=_SEARCH,
        ),
    ] = None
    max_fits: Annotated[
        int | None,
        typer.Option(
            min=2,
            help="The number of hyperparameter values to try. By default 60, and 10 more for each --budget.",
            show_default=False,
            rich_help_panel=_SEARCH,
        ),
    ] = None
    handovers: Annotated[
        bool | None,
        typer.Option(
            "--handovers/--no-handovers",
            help="Whether to try pairs of models: an expensive one for the rows that a cheap one is not "
            "confident about. By default yes, except with --learners.",
            show_default=False,
            rich_help_panel=_SEARCH,
        ),
    ] = None
    jobs: Annotated[
        int, typer.Option(help="Number of worker processes; -1 is one per core.", rich_help_panel=_SEARCH)
    ] = 1
    seed: Annotated[int, typer.Option(min=0, help="Random seed.", rich_help_panel=_SEARCH)] = 0


def expanded(command: Callable[..., None]) -> Callable[..., None]:
    """Expand groups of options: a dataclass parameter of a command becomes one option per field."""
    groups: dict[str, Any] = {}
    parameters: list[inspect.Parameter] = []
    hints = get_type_hints(command, include_extras=True)
    for name, parameter in inspect.signature(command).parameters.items():
        if is_dataclass(hints[name]):
            groups[name] = hints[name]
            parameters += _fields(hints[name])
        else:
            parameters.append(parameter.replace(annotation=hints[name], kind=inspect.Parameter.KEYWORD_ONLY))

    @functools.wraps(command)
    def run(**options: Any) -> None:
        built = {
            name: group(**{field.name: options.pop(field.name) for field in fields(group)})
            for name, group in groups.items()
        }
        command(**built, **options)

    del run.__wrapped__
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {one.name: one.annotation for one in parameters}
    return run


def _fields(group: Any) -> list[inspect.Parameter]:
    """The fields of a group as parameters."""
    hints = get_type_hints(group, include_extras=True)
    return [
        inspect.Parameter(
            field.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=inspect.Parameter.empty if field.default is MISSING else field.default,
            annotation=hints[field.name],
        )
        for field in fields(group)
    ]
