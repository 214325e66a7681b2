"""Greedy Miser trees the slow and plain way: at every step, every split of every leaf is tried.

Nothing is shared with the library but `Ledger`, whose Python methods (not compiled) do the buying. Sums are
float64.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from miserly.costs import Ledger
from miserly.grow import Binned, GrowOptions


@dataclass
class Split:
    """Left are the rows whose code is in `left`; `missing_left` is what happens to missing values."""

    gain: float
    feature: int
    left: frozenset[int]
    missing_left: bool


@dataclass
class ReferenceTree:
    splits: list[tuple[int, Split]] = field(default_factory=list)  # (leaf place, split), in order
    leaf: np.ndarray | None = None  # (n,) place of each row's leaf
    value: list[float] = field(default_factory=list)  # of each place
    bought: list[int] = field(default_factory=list)
    gain: float = 0.0

    @property
    def output(self) -> np.ndarray:
        return np.array(self.value)[self.leaf]


def reference_squared(binned, target, weight=None, **rest):
    """1/2 sum w (target - h)^2, the weights as multiples of their mean."""
    weight = np.ones(len(target)) if weight is None else np.asarray(weight, dtype=float)
    mean = weight[weight > 0].mean()
    share = weight / mean
    tree = reference_tree(binned, share * target, share, weight > 0, total_weight=share.sum(), **rest)
    tree.gain *= mean
    return tree


def reference_newton(binned, gradient, hessian, total_weight, **rest):
    return reference_tree(
        binned, -gradient, hessian, (gradient != 0) | (hessian > 0), total_weight=total_weight, **rest
    )


def reference_tree(
    binned: Binned,
    push: np.ndarray,
    hessian: np.ndarray,
    counted: np.ndarray,
    *,
    total_weight: float,
    ledger: Ledger,
    tradeoff: float,
    options: GrowOptions,
    features: np.ndarray | None = None,
    max_new_features: int | None = None,
) -> ReferenceTree:
    n = binned.n_rows
    tree = ReferenceTree(leaf=np.zeros(n, dtype=int))
    allowed = range(binned.n_features) if features is None else np.flatnonzero(features)
    depth = [0]
    while len(depth) < (options.max_leaves or np.inf):
        best, best_net, best_place = None, 0.0, -1
        for place in range(len(depth)):
            if depth[place] == options.max_depth:
                continue
            rows = np.flatnonzero(tree.leaf == place)
            for f in allowed:
                if not may_use(ledger, f, tree.bought, max_new_features):
                    continue
                split = best_split(binned, f, rows, push, hessian, counted, options)
                if split is None:
                    continue
                net = split.gain - tradeoff * total_weight * ledger.price(f)
                if net > best_net:
                    best, best_net, best_place = split, net, place
        if best is None:
            break
        if not ledger.paid[best.feature]:
            ledger.buy(best.feature)
            tree.bought.append(int(best.feature))
        rows = np.flatnonzero(tree.leaf == best_place)
        goes_left = np.isin(binned.codes[best.feature, rows], list(best.left))
        tree.leaf[rows[~goes_left]] = len(depth)
        depth[best_place] += 1
        depth.append(depth[best_place])
        tree.splits.append((best_place, best))
        tree.gain += best_net
    for place in range(len(depth)):
        rows = tree.leaf == place
        below = hessian[rows].sum() + options.l2
        tree.value.append(push[rows].sum() / below if below > 0 else 0.0)
    return tree


def may_use(ledger, f, bought, max_new_features):
    if ledger.paid[f]:
        return True
    return ledger.affordable(f) and (max_new_features is None or len(bought) < max_new_features)


def best_split(binned, f, rows, push, hessian, counted, options) -> Split | None:
    """Every cut of one feature in one leaf, missing values on the right and on the left."""
    codes = binned.codes[f, rows]
    n_bins = int(binned.bins.n_bins[f])
    of_bin = [
        np.bincount(codes, weights=values[rows], minlength=n_bins + 1) for values in (push, hessian, counted)
    ]
    order = np.arange(n_bins)
    if binned.bins.categorical[f]:
        order = order[of_bin[2][:n_bins] > 0]
        ratio = of_bin[0][order] / (of_bin[1][order] + options.l2)
        order = order[np.argsort(ratio, kind="stable")]
    seen_missing = of_bin[2][n_bins] > 0
    best = None
    for cut in range(len(order)):
        for missing_left in (False, True) if seen_missing else (False,):
            left = [*order[: cut + 1], n_bins] if missing_left else order[: cut + 1]
            if of_bin[2][order[cut + 1 :]].sum() == 0:  # only missing values on the right: all values go left
                left = order
            gain = gain_of(left, of_bin, options)
            if gain is not None and (best is None or gain > best.gain):
                best = Split(gain, int(f), frozenset(int(b) for b in left), missing_left)
    if best is not None:
        send_unseen(best, of_bin[2], binned.bins.categorical[f])
    return best


def gain_of(left, of_bin, options) -> float | None:
    push, hessian, count = (values.sum() for values in of_bin)
    push_left, hessian_left, count_left = (values[left].sum() for values in of_bin)
    push_right, hessian_right, count_right = push - push_left, hessian - hessian_left, count - count_left
    if min(count_left, count_right) < options.min_samples_leaf:
        return None
    if min(hessian_left, hessian_right) < options.min_hessian or min(hessian_left, hessian_right) <= 0:
        return None
    left_term = push_left**2 / (hessian_left + options.l2)
    right_term = push_right**2 / (hessian_right + options.l2)
    return 0.5 * ((left_term + right_term) - push**2 / (hessian + options.l2))


def send_unseen(split, count, categorical):
    """Missing values and categories that no row here has go the way of most rows."""
    n_bins = len(count) - 1
    in_left = sum(count[b] for b in split.left)
    if 2 * in_left >= count.sum():
        unseen = {b for b in range(n_bins + 1) if count[b] == 0 and (categorical or b == n_bins)}
        split.left = split.left | unseen
    split.missing_left = n_bins in split.left
