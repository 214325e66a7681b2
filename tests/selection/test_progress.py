"""What a search shows: a table on a terminal, plain lines elsewhere, nothing unless asked."""

from __future__ import annotations

import io
import re

import numpy as np
import pytest

from miserly import CostLassoClassifier
from miserly.selection import progress as _watch
from miserly.selection.progress import ProgressDisplay
from miserly.utils.terminal import Terminal

from .tables import miser, sweep, table


def watched(monkeypatch, terminal):
    """Where a search writes to: a terminal, or a file."""
    written = io.StringIO()
    console = Terminal(file=written, force_terminal=terminal, width=100)
    monkeypatch.setattr(_watch, "Terminal", lambda **options: console)
    return written


def test_plain_lines_without_control_codes_where_there_is_no_terminal(monkeypatch):
    written = watched(monkeypatch, terminal=False)
    monkeypatch.setattr(_watch, "_EVERY", 0.0)
    X, y, _ = table(120)
    sweep([CostLassoClassifier(), miser()], X, y, max_fits=9, verbose=1)
    lines = written.getvalue().splitlines()
    assert (
        "\x1b" not in written.getvalue() and len(lines) == 12
    )  # the task, before each fit, after the last, in the end
    assert re.match(r"0:\d\d  3 of 9 fits, at .*Classifier.*; accuracy .* for 0, .* for ", lines[4])
    assert re.match(r"0:\d\d  9 of 9 fits; accuracy ", lines[-1])


def test_lines_come_now_and_then(monkeypatch):
    written = watched(monkeypatch, terminal=False)
    X, y, _ = table(120)
    sweep(CostLassoClassifier(), X, y, max_fits=4, verbose=True)
    assert len(written.getvalue().splitlines()) == 2  # the task and the end: done in less than ten seconds


def test_a_terminal_gets_a_table_of_the_best_curve(monkeypatch):
    written = watched(monkeypatch, terminal=True)
    X, y, _ = table(120)
    found = sweep([CostLassoClassifier(), miser()], X, y, max_fits=9, verbose=1)
    best = found.pareto().iloc[-1]
    last = written.getvalue().rpartition("9 of 9 fits")[2]
    assert f"{best.cost:.4g}" in last and f"{best.value:.4f}" in last and best.learner in last


@pytest.mark.parametrize("terminal", [True, False])
def test_nothing_is_shown_unless_asked(monkeypatch, terminal):
    written = watched(monkeypatch, terminal)
    X, y, _ = table(120)
    sweep(CostLassoClassifier(), X, y, max_fits=3)
    assert written.getvalue() == ""


def test_failures_are_counted(monkeypatch):
    written = watched(monkeypatch, terminal=False)
    with ProgressDisplay("accuracy", 1.0, "CAD", 5, visible=True) as watch:
        watch.show([], 2, 1, ["x"])
    assert "2 of 5 fits, 1 failed; accuracy" in written.getvalue()


def test_of_a_long_curve_the_ends_and_some_between_are_shown():
    assert _watch._some(list(range(20)), 4) == [0, 6, 13, 19]
    assert _watch._some([1, 2], 4) == [1, 2]
    assert np.diff(_watch._some(list(range(9)), 8)).min() >= 1
