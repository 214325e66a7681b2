"""Progress of a long fit, shown in the terminal."""

from __future__ import annotations

from types import TracebackType
from typing import Any

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

__all__ = ["RoundsBar", "Steps", "outcome"]


class Steps:
    """One line with the present step of a fit, and its outcome at the end. Call it with the text to show.

    Parameters
    ----------
    learner : estimator
        Its class name opens the line.
    visible : bool
        Whether anything is shown.
    """

    def __init__(self, learner: object, visible: bool) -> None:
        self._bar = Progress(
            SpinnerColumn(finished_text="\u2713"),
            TextColumn("{task.description}"),
            TimeElapsedColumn(),
            TextColumn("{task.fields[note]}"),
            console=Console(stderr=True),
            disable=not visible,
        )
        self._task = self._bar.add_task(type(learner).__name__, total=1, note="reading rows")

    def __enter__(self) -> Steps:
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self._bar.update(self._task, completed=1)
        self._bar.stop()

    def __call__(self, note: str) -> None:
        self._bar.update(self._task, note=note)


class RoundsBar:
    """A progress bar of boosting rounds, with the cost of the model so far and its metric.

    Parameters
    ----------
    n_rounds : int
        Number of rounds if training does not stop early.
    unit : str
        Unit of costs.
    visible : bool
        Whether anything is shown.
    """

    def __init__(self, n_rounds: int, unit: str, visible: bool) -> None:
        self.unit = unit
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            TextColumn("{task.fields[note]}"),
            console=Console(stderr=True),
            disable=not visible,
        )
        self._task = self._bar.add_task("boosting", total=n_rounds, note="getting ready")

    def __enter__(self) -> RoundsBar:
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()

    def show(self, rounds: int, cost: float, metric: str) -> None:
        """Show the number of rounds done, the cost, and the metric as text."""
        note = f"cost {cost:g}{' ' + self.unit if self.unit else ''}{'  ' + metric if metric else ''}"
        self._bar.update(self._task, completed=rounds, note=note)


def outcome(learner: Any) -> str:
    """A fitted learner in a few words: size, tradeoff, and mean or largest cost."""
    plan = learner.plan_
    words = [f"{len(plan.nodes)} nodes, {len(plan.features)} features"]
    if hasattr(learner, "tradeoff_"):
        words.append(f"tradeoff {learner.tradeoff_:.3g}")
    if hasattr(learner, "expected_cost_"):
        words.append(f"mean cost {learner.expected_cost_:.4g}")
    else:
        words.append(f"cost at most {plan.max_cost:.4g}")
    return ", ".join(words)
