"""A validation set: whole queries, the shares of the classes, and no category that training lacks."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from miserly.data.rows import Rows, hold_out, validation_mask, without_new_categories
from miserly.errors import DataError


def test_queries_stay_whole():
    qid = np.repeat(np.arange(20), 5)
    rows = Rows(np.arange(100.0)[:, None], np.zeros(100), qid=qid)
    training, validation = hold_out(rows, 0.2, seed=0)
    assert len(validation) == 20 and not set(training.qid) & set(validation.qid)


def test_the_validation_set_has_the_shares_of_the_classes():
    y = np.repeat([0, 1, 2], [70, 28, 2])
    rows = Rows(np.arange(100.0)[:, None], y)
    training, validation = hold_out(rows, 0.5, seed=0, classes=y)
    counts = np.bincount(validation.y, minlength=3)
    assert counts.sum() == 50 and abs(counts[0] - 35) <= 1 and abs(counts[1] - 14) <= 1
    assert set(training.y) == {0, 1, 2}
    both = np.sort(np.concatenate([training.X[:, 0], validation.X[:, 0]]))
    np.testing.assert_array_equal(both, np.arange(100))


def test_one_row_of_each_class_is_always_in_the_training_set():
    y = np.array([0] * 10 + [1])
    for seed in range(20):
        training, _ = hold_out(Rows(np.zeros((11, 1)), y), 0.3, seed, classes=y)
        assert 1 in training.y


def test_another_seed_draws_other_rows():
    masks = {validation_mask(50, 0.2, seed).tobytes() for seed in range(5)}
    assert len(masks) == 5 and all(np.frombuffer(mask, bool).sum() == 10 for mask in masks)


@pytest.mark.parametrize(
    "n, qid, what", [(1, None, "too few rows"), (4, np.zeros(4), "too few queries")], ids=["rows", "queries"]
)
def test_a_set_that_would_be_empty_is_an_error(n, qid, what):
    with pytest.raises(DataError, match=f"{what} .*n_samples={n}"):
        validation_mask(n, 0.2, 0, qid=qid)


def test_rows_with_a_category_that_training_lacks_return_to_training():
    frame = pd.DataFrame({"thal": ["a", "a", "b", "a", "rare"], "smokes": [True, True, True, True, False]})
    held_out = np.array([False, False, True, True, True])
    assert without_new_categories(frame, held_out, None).tolist() == [False, False, False, True, False]
    by_query = without_new_categories(frame, held_out, np.array([0, 0, 1, 1, 2]))
    assert by_query.tolist() == held_out.tolist()  # otherwise no row would remain
    assert without_new_categories(frame.to_numpy(), held_out, None) is held_out
