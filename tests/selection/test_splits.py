"""Rows are divided as `cv` asks for, and queries stay whole."""

from __future__ import annotations

import numpy as np
import pytest

from miserly.data.rows import Rows
from miserly.errors import DataError
from miserly.selection.splits import divide

from .tables import miser, sweep, table


def test_queries_stay_whole():
    rows = Rows(np.zeros((60, 1)), np.zeros(60), qid=np.random.default_rng(0).integers(0, 12, 60))
    for train, test in divide(rows, 4, classes=False, seed=0):
        assert len(test) and not set(rows.qid[train]) & set(rows.qid[test])


@pytest.mark.parametrize(
    ("cv", "message"),
    [
        (1, "1 folds"),
        (([0, 1, 2], [2, 3]), "row 2 is among the training rows"),
        (([0, 1, 2], []), "are empty"),
        (2.5, "cv=2.5: give"),
    ],
)
def test_a_division_that_cannot_be_used_is_refused(cv, message):
    with pytest.raises(DataError, match=message):
        sweep(miser(), *table(60)[:2], cv=cv)
