"""Texts in a terminal: control characters are visible, markup is text, and a warning is given once."""

from __future__ import annotations

import io
import warnings

import pytest

from miserly import errors
from miserly.errors import warn_once
from miserly.utils.terminal import Terminal, visible


@pytest.mark.parametrize(
    "text, expected",
    [
        ("plain é", "plain é"),
        ("a\tb\n", "a\tb\n"),
        ("\x1b[2J", "\u241b[2J"),
        ("\x7f", "\u2421"),
        ("\x9b31m", "\ufffd31m"),  # an escape sequence in one character
        ("\u202eabc\u2066", "\ufffdabc\ufffd"),  # text that would be reversed
    ],
)
def test_control_characters_become_visible(text, expected):
    assert visible(text) == expected


def test_a_terminal_shows_brackets_and_control_characters_as_text():
    file = io.StringIO()
    Terminal(file=file, width=40).print("[bold]cost[/bold] \x1b]0;title")
    assert file.getvalue() == "[bold]cost[/bold] \u241b]0;title\n"


def test_a_topic_warns_once(monkeypatch):
    monkeypatch.setattr(errors, "_given", set())
    with pytest.warns(RuntimeWarning, match="first"):
        warn_once("topic", "first")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_once("topic", "again")
    with pytest.warns(RuntimeWarning, match="other"):
        warn_once("another topic", "other")
