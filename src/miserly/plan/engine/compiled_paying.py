"""Compiled purchases of a run: evaluations, features, and splits of trees that are paid on the way."""

from __future__ import annotations

import numpy as np

from miserly.costs import prices as _prices
from miserly.plan.engine.compiled_rules import in_category
from miserly.utils.compiled import compiled

__all__ = ["pay_evaluation", "pay_features", "pay_whole", "walk_paying"]

_part = compiled(forceinline=True)


_fits = _part(_prices.fits)
_price = _part(_prices.row_price)
_mark_paid = _part(_prices.mark_paid)


@compiled()
def _buy(prices, f, i, acquired, opened, spent, budget):
    """Buy feature `f`, not yet acquired, for row `i`; gives whether it fitted."""
    price = _price(i, f, opened, prices.own, prices.groups, prices.setup)
    if not _fits(spent[i], price, budget):
        return False
    spent[i] += price
    _mark_paid(i, f, acquired, opened, prices.groups)
    return True


@compiled()
def pay_whole(prices, features, evaluation, rows, acquired, opened, spent, budget, through):
    """Buy everything a term might need and its evaluation, together or not at all."""
    own, groups, setup = prices.own, prices.groups, prices.setup
    for r in range(rows.shape[0]):
        i = rows[r]
        total = evaluation
        for f in features:
            if not acquired[i, f]:
                total += _price(i, f, opened, own, groups, setup)
                for k in range(groups.shape[1]):
                    if groups[f, k] >= 0:
                        opened[i, groups[f, k]] = True  # a second feature of it does not pay it again
        through[r] = _fits(spent[i], total, budget)  # if not, the row stops: `opened` is not read again
        if through[r]:
            spent[i] += total
            for f in features:
                acquired[i, f] = True


@compiled()
def pay_evaluation(evaluation, rows, spent, budget, through):
    for r in range(rows.shape[0]):
        i = rows[r]
        through[r] = _fits(spent[i], evaluation, budget)
        if through[r]:
            spent[i] += evaluation


@compiled()
def pay_features(prices, features, rows, acquired, opened, spent, budget, through):
    """Buy the features of a term one by one, until one does not fit."""
    for r in range(rows.shape[0]):
        through[r] = True
        for f in features:
            if not acquired[rows[r], f] and not _buy(prices, f, rows[r], acquired, opened, spent, budget):
                through[r] = False
                break


@compiled()
def walk_paying(trees, prices, root, X, rows, acquired, opened, spent, budget, values, through):
    """The value of a tree for each row that pays for the splits it meets."""
    feature, threshold, left, value = trees.feature, trees.threshold, trees.left, trees.value
    missing, category, words = trees.missing, trees.category, trees.words
    for r in range(rows.shape[0]):
        node, i = root, rows[r]
        through[r] = True
        while feature[node] >= 0:
            f = feature[node]
            if not acquired[i, f] and not _buy(prices, f, i, acquired, opened, spent, budget):
                through[r] = False
                break
            x = np.float64(X[i, f])
            if category[node] < 0:
                stays_left = (x <= threshold[node]) | ((x != x) & missing[node])
            else:
                stays_left = in_category(words, category[node], trees.span[node], x, missing[node])
            node = left[node] + (1 - stays_left)
        values[r] = value[node]
