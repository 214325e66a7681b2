"""Samples for `make test` of tests that `make test-long` runs in full."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product
from typing import Any

import pytest

__all__ = ["in_turn"]


def in_turn(subjects: Iterable[Any], *others: Iterable[Any], one_in: int) -> list[Any]:
    """Parameters: every subject, a case of the contract say, with every combination of `others`.

    `make test` runs one in `one_in` of them, in turn, so that subjects and combinations all have their share.
    `make test-long` runs the rest.
    """
    return [
        pytest.param(subject, *combination, marks=[pytest.mark.long] * ((turn + place) % one_in != 0))
        for turn, subject in enumerate(subjects)
        for place, combination in enumerate(product(*others))
    ]
