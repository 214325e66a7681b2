"""Lines of a frontier's tables."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

from miserly.selection._judging import Candidate, mean_and_error

__all__ = ["frame", "interval", "record", "shown"]

_WIDTH = 1.96  # standard errors on each side of a 95 % interval


def record(one: Candidate) -> dict[str, Any]:
    return {
        "learner": one.learner,
        "params": one.params,
        **interval("cost", *mean_and_error(one.unit_cost)),
        **interval("value", one.mean_value, one.error),
        "features": one.features,
        "max_cost": one.upper,
    }


def interval(name: str, mean: float, error: float) -> dict[str, float]:
    return {name: mean, f"{name}_low": mean - _WIDTH * error, f"{name}_high": mean + _WIDTH * error}


def shown(one: Candidate) -> str:
    """A model in words: its learner and what tells it from others of that learner."""
    told = [
        f"{name}=({value})" if isinstance(value, str) else f"{name}={value:.3g}"
        for name, value in one.params.items()
        if not isinstance(value, bool)
    ]
    return " ".join([one.learner, *told])


def frame(records: list[dict[str, Any]]) -> Any:
    """A pandas frame where pandas is installed, else the records."""
    if find_spec("pandas") is None:
        return records
    import pandas as pd

    return pd.DataFrame.from_records(records)
