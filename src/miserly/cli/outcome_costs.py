"""Outcome costs of a file for the rows of a table."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from miserly.cli.console import Misuse
from miserly.costs import OutcomeCosts
from miserly.errors import CostError, did_you_mean

if TYPE_CHECKING:
    from miserly.cli.training_table import TrainingTable
    from miserly.costs import OutcomeTable

__all__ = ["check_task", "read_outcome_costs"]


def check_task(task: str, outcome_costs: Path | None) -> None:
    """`Misuse` if there are outcome costs and the target has no classes."""
    if outcome_costs is not None and task != "classes":
        raise Misuse(f"--outcome-costs are for classes, and the target is taken as {task}; see --task")


def read_outcome_costs(path: Path, table: TrainingTable) -> OutcomeTable:
    """The outcome costs of a file, for the classes of a table; amounts are in columns of features."""

    def column(name: str) -> NDArray[np.float64]:
        if name not in table.names:
            near = did_you_mean(name, table.names)
            raise CostError(f"{path}: {name!r} is neither a number nor a column of features{near}")
        place = table.names.index(name)
        if place in table.categories:
            raise CostError(f"{path}: column {name!r} holds categories, not amounts")
        return np.asarray(table.X[:, place], dtype=np.float64)

    costs = OutcomeCosts.read(path).fill(column)
    try:
        return costs.bind(np.unique(table.y))
    except CostError as error:
        raise CostError(f"{path}: {error}") from None
