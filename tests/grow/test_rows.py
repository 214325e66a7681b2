"""Rows of leaves: divided in order, whatever the number of chunks."""

from __future__ import annotations

import numpy as np
import pytest

from miserly.grow.buffers import LEAF
from miserly.grow.splitting import gather, partition, write_leaves


@pytest.mark.parametrize("n", [1, 7, 8192, 8193, 50_000])
@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_both_sides_keep_their_order(n, share):
    rng = np.random.default_rng(n)
    codes = (rng.random(n + 9) < share).astype(np.uint8)
    goes_left = np.arange(256) == 1
    rows = np.sort(rng.choice(n + 9, n, replace=False)).astype(np.uint32)
    before = rows.copy()
    n_left = partition(codes, goes_left, rows, np.empty(n, dtype=np.uint32))
    left = codes[before] == 1
    assert n_left == left.sum()
    assert (rows == np.concatenate([before[left], before[~left]])).all()


@pytest.mark.parametrize("width", [1, 2])
def test_words_are_gathered_in_the_order_of_rows(width):
    words = np.arange(60_000 * width)
    rows = np.arange(0, 60_000, 3, dtype=np.uint32)
    out = np.empty(len(rows) * width, dtype=np.int64)
    gather(words, width, rows, out)
    assert (out == words.reshape(-1, width)[rows].ravel()).all()


def test_every_row_knows_its_leaf():
    leaves = np.zeros(2, dtype=LEAF)
    leaves["first"], leaves["last"], leaves["node"] = [0, 2], [2, 5], [7, 4]
    found = np.empty(5, dtype=np.int32)
    write_leaves(np.array([3, 0, 1, 2, 4], dtype=np.uint32), leaves, found)
    assert found.tolist() == [7, 4, 4, 7, 4]
