"""Histograms: sums of integers per bin, exact, in any order."""

from __future__ import annotations

import numpy as np
import pytest

from miserly.grow import Bins
from miserly.grow.histogram import binned_columns, fill, fill_feature, subtract

EVERY = np.empty(0, dtype=np.uint32)


@pytest.fixture(scope="module")
def table():
    X = np.random.default_rng(0).normal(size=(400, 11)).round(1)
    X[X > 1.5] = np.nan
    return binned_columns(Bins.fit(X).transform(X))


def expected(table, f, rows, words, width):
    bins = table.start[f + 1] - table.start[f]
    sums = np.zeros((bins, width), dtype=np.int64)
    np.add.at(sums, table.codes[f, rows], words.reshape(-1, width))
    return sums.ravel()


def histogram_of(table, features, rows, words, width):
    out = np.full(table.start[-1] * width, -7, dtype=np.int64)
    for k in range(0, len(features), 8):
        fill(out, table, features[k : k + 8], rows, words, width)
    return out


@pytest.mark.parametrize("width", [1, 2])
@pytest.mark.parametrize("share", [1, 3])
@pytest.mark.parametrize("features", [np.arange(11), np.array([2, 5, 10]), np.array([4])])
def test_every_bin_holds_the_sum_of_its_rows(table, width, share, features):
    rng = np.random.default_rng(width)
    rows = np.arange(0, 400, share)
    words = rng.integers(-(2**50), 2**50, len(rows) * width)
    chosen = EVERY if share == 1 else rows.astype(np.uint32)
    found = histogram_of(table, features, chosen, words, width)
    for f in features:
        mine = slice(table.start[f] * width, table.start[f + 1] * width)
        assert (found[mine] == expected(table, f, rows, words, width)).all()
    others = np.setdiff1d(np.arange(11), features)
    assert all((found[table.start[f] * width : table.start[f + 1] * width] == -7).all() for f in others)


@pytest.mark.parametrize("width", [1, 2])
def test_a_sibling_is_the_parent_less_the_other_and_parts_add_up(table, width):
    words = np.random.default_rng(3).integers(-(2**40), 2**40, (400, width))
    rows = np.arange(400, dtype=np.uint32)
    parts = [rows[rows % 3 == 0], rows[rows % 3 != 0]]
    features = np.arange(11)
    whole = histogram_of(table, features, EVERY, words.ravel(), width)
    one, other = (histogram_of(table, features, part, words[part].ravel(), width) for part in parts)
    assert (one + other == whole).all()
    subtract(whole, one, table, features, width)
    assert (whole == other).all()


@pytest.mark.parametrize("width", [1, 2])
def test_one_feature_alone(table, width):
    words = np.random.default_rng(4).integers(-(2**40), 2**40, 400 * width)
    rows = np.arange(5, 400, 7, dtype=np.uint32)
    out = np.empty((table.start[4] - table.start[3]) * width, dtype=np.int64)
    fill_feature(out, table.codes[3], rows, words, width)
    chosen = words.reshape(-1, width)[rows].ravel()
    assert (out == expected(table, 3, rows, chosen, width)).all()
