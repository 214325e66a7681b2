"""The progress of a search: the number of fits, the learners being fitted, and the best curve so far.

On a terminal it is a table that is redrawn in place; elsewhere (a file, a notebook) a plain line every few
seconds. Both go to the standard error.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from types import TracebackType

from rich.console import Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from miserly.selection.evaluation import Candidate, pareto
from miserly.selection.tables import shown
from miserly.utils.terminal import Terminal

__all__ = ["ProgressDisplay"]

_EVERY = 10.0  # seconds between plain lines
_N_LINES = 8  # of the curve
_WIDTH = 20  # of the longest bar


class ProgressDisplay:
    """Shows the progress of a search; nothing unless `visible`."""

    def __init__(self, metric: str, sign: float, unit: str, max_fits: int, visible: bool) -> None:
        self._metric = metric
        self._sign = sign
        self._unit = f" {unit}" if unit else ""
        self._max_fits = max_fits
        self._visible = visible
        self._console = Terminal(stderr=True)
        self._live: Live | None = None
        self._start = self._printed = time.monotonic()
        self._n_done = self._n_failed = 0
        self._fitting: Sequence[str] = ()
        self._curve: list[Candidate] = []

    def __enter__(self) -> ProgressDisplay:
        if self._visible and self._console.is_terminal:
            self._live = Live(get_renderable=self._screen, console=self._console, refresh_per_second=2)
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._fitting = ()
        if self._live is not None:
            self._live.stop()
        elif self._visible:
            self._line()

    def print_line(self, what: str) -> None:
        """Print a line."""
        if self._visible:
            self._console.print(what, soft_wrap=True, markup=False)

    def show(
        self, candidates: Sequence[Candidate], n_done: int, n_failed: int, fitting: Sequence[str]
    ) -> None:
        """Update the progress."""
        if not self._visible:
            return
        self._n_done, self._n_failed, self._fitting = n_done, n_failed, fitting
        self._curve = pareto(candidates, self._sign)
        if self._live is None and time.monotonic() - self._printed >= _EVERY:
            self._line()

    def _line(self) -> None:
        self._printed = time.monotonic()
        points = ", ".join(self._point(one) for one in _some(self._curve, 4))
        self._console.print(f"{self._head()}; {self._metric} {points}", soft_wrap=True, markup=False)

    def _head(self) -> str:
        failed = f", {self._n_failed} failed" if self._n_failed else ""
        at = f", at {', '.join(self._fitting)}" if self._fitting else ""
        elapsed = _clock(time.monotonic() - self._start)
        return f"{elapsed}  {self._n_done} of {self._max_fits} fits{failed}{at}"

    def _point(self, one: Candidate) -> str:
        return f"{one.mean_value:.4g} for {one.mean_cost:.4g}{self._unit}"

    def _screen(self) -> RenderableType:
        table = Table(box=None, pad_edge=False)
        table.add_column(f"cost{self._unit}", justify="right")
        table.add_column(self._metric, justify="right")
        table.add_column("", width=_WIDTH)
        table.add_column("learner", no_wrap=True, overflow="ellipsis")
        first, last = (self._curve[0], self._curve[-1]) if self._curve else (None, None)
        for one in _some(self._curve, _N_LINES):
            assert first is not None and last is not None
            rise = last.mean_value - first.mean_value
            share = (one.mean_value - first.mean_value) / rise if rise else 1.0
            bar = "\u2588" * round(share * _WIDTH)
            table.add_row(f"{one.mean_cost:.4g}", f"{one.mean_value:.4f}", bar, Text(shown(one)))
        return Group(Text(self._head()), table)


def _some(curve: list[Candidate], most: int) -> list[Candidate]:
    """At most so many points of a curve, the first and the last among them."""
    if len(curve) <= most:
        return curve
    places = sorted({round(i * (len(curve) - 1) / (most - 1)) for i in range(most)})
    return [curve[place] for place in places]


def _clock(seconds: float) -> str:
    """
    >>> _clock(75.4)
    '1:15'
    """
    return f"{int(seconds) // 60}:{int(seconds) % 60:02d}"
