"""Splitting a leaf: the best split on one feature, what the feature costs, and the rows of both sides.

The best split is found from the histogram of the leaf. All numbers are in the units of the packed integers.
Let R and H be the sums of residuals and hessians of a leaf. A split into a left side (RL, HL) and a right
side (RR, HR) gains

    1/2 [ RL^2 / (HL + l2) + RR^2 / (HR + l2) - R^2 / (H + l2) ]

It is allowed if both sides have enough rows and enough hessian. A split is a *cut*: the bins up to it go
left. Missing values are tried on both sides. The categories of a categorical column are first sorted by
residual per hessian; one of the cuts of that order is the best of all partitions (Fisher 1958). If gains are
equal, the lowest cut wins, then missing values on the right.

If all rows of a leaf have the same residual per hessian, no split gains anything, but rounding errors may
look like a gain. Gains below `ROUNDING` times the leaf's own term are therefore ignored.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from miserly.costs import prices
from miserly.grow.compiled import compiled, lean, prange, threaded

__all__ = [
    "SplitRule",
    "add_gains",
    "best_side",
    "best_split",
    "buy",
    "directions",
    "explained_gains",
    "gather",
    "keep_affordable",
    "new_cut_buffers",
    "partition",
    "price",
    "read_sums",
    "write_leaves",
]

_CHUNK = 8192  # rows handled at a time by one thread
# Relative to the leaf's own term. About a hundred rounding errors, and far below any gain that matters.
ROUNDING = 1e-13


class SplitRule(NamedTuple):
    """How to read packed sums, and which splits are allowed, in the units of those sums."""

    width: int
    count_bits: int
    l2: float
    min_hessian: float
    min_rows: int


class CutBuffers(NamedTuple):
    """Memory for the cuts of one feature: their bins, the packed sums of their left sides, their gains."""

    cut: NDArray[np.int64]
    first: NDArray[np.int64]
    second: NDArray[np.int64]
    gain: NDArray[np.float64]


@compiled
def new_cut_buffers():
    """Buffers for a feature of at most 256 bins."""
    return CutBuffers(
        np.empty(256, np.int64), np.empty(256, np.int64), np.empty(256, np.int64), np.empty(256)
    )


@lean
def read_sums(first, second, rule):
    """Residual, hessian and number of rows of packed sums. With one word per row `second` is not used."""
    mask = (np.int64(1) << rule.count_bits) - 1
    if rule.width == 1:
        return first >> rule.count_bits, first & mask, first & mask
    return first, second >> rule.count_bits, second & mask


@compiled
def best_split(histogram, bins, categorical, total, rule, buffers):
    """Gain, cut and side of missing values of the best split of one feature; gain -inf if there is none.

    `histogram` has `bins` bins, the last for missing values. `total` is the sum over all bins.
    """
    n, width = bins - 1, rule.width
    missing = (histogram[n * width], histogram[bins * width - 1])
    if not categorical:
        return best_side(histogram, n, missing, total, rule, buffers)
    order = order_categories(histogram, n, rule)
    ordered = np.empty(len(order) * width, np.int64)
    for k in range(len(order)):
        for word in range(width):
            ordered[k * width + word] = histogram[order[k] * width + word]
    return best_side(ordered, len(order), missing, total, rule, buffers)


@lean
def best_side(histogram, n, missing, total, rule, buffers):
    """Gain, cut and side of missing values of the best split, by the order of `n` bins."""
    gain, cut = best_cut(histogram, n, (np.int64(0), np.int64(0)), total, rule, buffers)
    missing_left = False
    if read_sums(missing[0], missing[1], rule)[2] > 0:
        other_gain, other_cut = best_cut(histogram, n, missing, total, rule, buffers)
        if other_gain > gain or (other_gain == gain and other_cut < cut):
            gain, cut, missing_left = other_gain, other_cut, True
    return gain, cut, missing_left


@compiled
def order_categories(histogram, n, rule):
    """The categories that have rows, by ascending residual per hessian; equal ones by ascending code."""
    order = np.empty(n, np.int64)
    ratio = np.empty(n, np.float64)
    found = 0
    for b in range(n):
        residual, hessian, count = read_sums(
            histogram[b * rule.width], histogram[(b + 1) * rule.width - 1], rule
        )
        if count == 0:
            continue
        mine = residual / (max(hessian, 1) + rule.l2)
        k = found
        while k > 0 and ratio[k - 1] > mine:
            ratio[k], order[k] = ratio[k - 1], order[k - 1]
            k -= 1
        ratio[k], order[k] = mine, b
        found += 1
    return order[:found]


@lean
def best_cut(histogram, n, start, total, rule, buffers):
    """Gain and bin of the best cut after one of `n` bins, with `start` added to the left side."""
    n_cuts = running_sums(histogram, n, start, rule, buffers)
    residual, hessian, count = read_sums(total[0], total[1], rule)
    here = np.float64(residual) * np.float64(residual) / (np.float64(hessian) + rule.l2)
    cut_gains(n_cuts, (residual, hessian, count), here, rule, buffers)
    best_gain = ROUNDING * here
    best = np.int64(-1)
    for k in range(n_cuts):
        if buffers.gain[k] > best_gain:
            best_gain = buffers.gain[k]
            best = buffers.cut[k]
    return (best_gain if best >= 0 else -np.inf), best


@lean
def running_sums(histogram, n, start, rule, buffers):
    """Running sums over the first `n` bins. Returns the number of distinct cuts.

    A cut after an empty bin equals the cut before it, so its entry is overwritten. Unsigned indices need no
    check whether they are negative.
    """
    first, second = start
    n_cuts = np.uint64(0)
    two = np.uint64(2)
    if rule.width == 1:
        for b in range(np.uint64(n)):
            word = histogram[b]
            first += word
            second += word
            buffers.first[n_cuts] = first
            buffers.second[n_cuts] = second
            buffers.cut[n_cuts] = b
            n_cuts += np.uint64(word != 0)  # it holds the count
    else:
        for b in range(np.uint64(n)):
            word = histogram[two * b + np.uint64(1)]
            first += histogram[two * b]
            second += word
            buffers.first[n_cuts] = first
            buffers.second[n_cuts] = second
            buffers.cut[n_cuts] = b
            n_cuts += np.uint64(word != 0)
    if n_cuts > 0:
        buffers.cut[n_cuts - np.uint64(1)] = (
            n - 1
        )  # separates missing values from all others, values that are not in this leaf included
    return np.int64(n_cuts)


@lean
def cut_gains(n, total, here, rule, buffers):
    """The gain of every cut, -inf where it is not allowed. Without branches it can be vectorised."""
    residual, hessian, count = total
    for k in range(n):
        residual_left, hessian_left, count_left = read_sums(buffers.first[k], buffers.second[k], rule)
        r_left, r_right = np.float64(residual_left), np.float64(residual - residual_left)
        h_left, h_right = np.float64(hessian_left), np.float64(hessian - hessian_left)
        gain = (r_left * r_left) / (h_left + rule.l2) + (r_right * r_right) / (h_right + rule.l2)
        enough = min(h_left, h_right)
        allowed = min(count_left, count - count_left) >= rule.min_rows
        allowed &= (enough >= rule.min_hessian) & (enough + rule.l2 > 0)
        buffers.gain[k] = 0.5 * (gain - here) if allowed else -np.inf


@compiled
def directions(histogram, bins, categorical, cut, missing_left, rule, goes_left):
    """Fill ``goes_left[code]`` for a chosen split. Returns the packed sums of the left side.

    If the leaf has no missing values, they go to the side with more rows. So do categories that are not in
    the leaf. If both sides have equally many rows, they go left.
    """
    goes_left[:] = False
    if categorical:
        for b in order_categories(histogram, bins - 1, rule)[: cut + 1]:
            goes_left[b] = True
    else:
        goes_left[: cut + 1] = True
    goes_left[bins - 1] = missing_left
    return direct_unseen(histogram, bins, categorical, rule, goes_left)


@lean
def direct_unseen(histogram, bins, categorical, rule, goes_left):
    """Send what is not in the leaf to the side with more rows. Returns the packed sums of the left side."""
    width = rule.width
    left, second_left, every, second_every = np.int64(0), np.int64(0), np.int64(0), np.int64(0)
    for b in range(bins):
        first, second = histogram[b * width], histogram[(b + 1) * width - 1]
        every += first
        second_every += second
        left += first * goes_left[b]
        second_left += second * goes_left[b]
    most_left = 2 * read_sums(left, second_left, rule)[2] >= read_sums(every, second_every, rule)[2]
    for b in range(bins if categorical else 0):
        if read_sums(histogram[b * width], histogram[(b + 1) * width - 1], rule)[2] == 0:
            goes_left[b] = most_left
    last = bins - 1
    if read_sums(histogram[last * width], histogram[bins * width - 1], rule)[2] == 0:
        goes_left[last] = most_left
    return left, second_left


# -- prices and purchases: the functions of `miserly.costs.prices`, on a `BudgetState` -----------------------


fits = lean(prices.fits)
unpaid_price = lean(prices.unpaid_price)
mark_paid = lean(prices.mark_paid)


@lean
def price(state, f):
    """The current price of feature `f`."""
    if state.paid[0, f]:
        return 0.0
    return unpaid_price(0, f, state.opened, state.prices.own, state.prices.groups, state.prices.setup)


@lean
def buy(state, f):
    """Pay for feature `f` and open its group."""
    state.account[0] += price(state, f)
    mark_paid(0, f, state.paid, state.opened, state.prices.groups)


@lean
def keep_affordable(state, features, n, may_buy):
    """Move the usable ones of the first `n` features to the front; returns their number.

    A feature is usable if it is paid, or if buying is allowed and it fits the budget. A feature that does not
    fit now will not fit later in the tree: opening its group lowers its price by the set-up, but the set-up
    has then been spent.
    """
    kept = 0
    for k in range(n):
        f = features[k]
        if state.paid[0, f] or (may_buy and fits(state.account[0], price(state, f), state.account[1])):
            features[kept] = f
            kept += 1
    return kept


# -- the rows of each leaf: a range, in ascending order, of one array of row numbers -------------------------


@threaded
def partition(codes, goes_left, rows, spare):
    """Move the rows that go left to the front; both sides keep their order. Returns how many go left.

    Each chunk is first divided within its own range of `spare`, then moved to its final place.
    """
    n_chunks = -(-len(rows) // _CHUNK)
    ends = np.zeros(n_chunks + 1, np.int64)  # running number of left rows after each chunk
    for chunk in prange(n_chunks):
        ends[chunk + 1] = divide(codes, goes_left, rows, spare, chunk * _CHUNK)
    for chunk in range(n_chunks):
        ends[chunk + 1] += ends[chunk]
    for chunk in prange(n_chunks):
        move(rows, spare, chunk * _CHUNK, ends[chunk], ends[chunk + 1], ends[n_chunks])
    return ends[n_chunks]


@lean
def divide(codes, goes_left, rows, spare, first):
    """Divide one chunk: left rows to the front of its range of `spare`, right rows reversed at the back.

    Every row is written to both ends, which avoids a branch; only one of the two ends advances.
    """
    n_left = first
    n_right = min(first + _CHUNK, len(rows)) - 1
    for j in range(first, n_right + 1):
        i = rows[j]
        left = np.int64(goes_left[codes[i]])
        spare[n_left] = i
        spare[n_right] = i
        n_left += left
        n_right -= 1 - left
    return n_left - first


@lean
def move(rows, spare, first, left, left_end, all_left):
    """Move a divided chunk: left rows to ``rows[left:left_end]``, right rows behind earlier right rows."""
    for j in range(left_end - left):
        rows[left + j] = spare[first + j]
    last = min(first + _CHUNK, len(rows))
    n_right = last - first - (left_end - left)
    right = all_left + first - left
    for j in range(n_right):
        rows[right + j] = spare[last - 1 - j]


@threaded
def gather(words, width, rows, out):
    """Copy the words of `rows` to `out`."""
    for chunk in prange(-(-len(rows) // _CHUNK)):
        for j in range(chunk * _CHUNK, min(len(rows), (chunk + 1) * _CHUNK)):
            for k in range(width):
                out[j * width + k] = words[np.int64(rows[j]) * width + k]


@threaded
def write_leaves(rows, leaves, node_of_row):
    """Write the tree node of its leaf for every row."""
    for k in prange(len(leaves)):
        for j in range(leaves[k].first, leaves[k].last):
            node_of_row[rows[j]] = leaves[k].node


@compiled
def add_gains(splits, value, leaf, weight, l2, total, gain):
    """Add to `gain`, for the feature of each split, by how much the split lowers the mean loss.

    It is the second-order estimate by which splits are chosen. `splits` are the features, left and right
    children of the nodes of a tree, `leaf` is the node of each row, and `total` divides the loss.
    """
    mass = np.zeros(len(value))
    for i in range(len(leaf)):
        mass[leaf[i]] += weight[i]
    explained_gains(splits, value, mass, l2, total, gain)


@compiled
def explained_gains(splits, value, mass, l2, total, gain):
    """As `add_gains`, from the `mass` of each leaf: the sum of the weights of its rows. It is overwritten."""
    feature, left, right = splits
    n_nodes = len(mass)
    push = np.zeros(n_nodes)
    explained = np.zeros(n_nodes)
    for node in range(n_nodes - 1, -1, -1):  # children come after their parent
        if feature[node] < 0:
            mass[node] += l2
            push[node] = mass[node] * value[node]
            explained[node] = push[node] * value[node]
            continue
        one, other = left[node], right[node]
        mass[node] = mass[one] + mass[other] - l2
        push[node] = push[one] + push[other]
        explained[node] = push[node] * push[node] / mass[node] if mass[node] > 0 else 0.0
        gain[feature[node]] += 0.5 * (explained[one] + explained[other] - explained[node]) / total
