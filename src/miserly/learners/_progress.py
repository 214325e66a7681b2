"""A progress bar for rounds of boosting."""

from __future__ import annotations

from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

__all__ = ["RoundsBar"]


class RoundsBar:
    """Shows rounds done, what the model costs so far, and how it does on validation data.

    Nothing is shown unless `visible`.
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

    def show(self, rounds: int, cost: float, judged: str) -> None:
        """Say where training stands."""
        note = f"cost {cost:g}{' ' + self.unit if self.unit else ''}{'  ' + judged if judged else ''}"
        self._bar.update(self._task, completed=rounds, note=note)
