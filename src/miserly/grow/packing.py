"""What each row says about its leaf, as whole numbers that add up exactly.

A tree is fitted from three sums over the rows of a leaf: of their *push* (weight times target, or minus the
gradient: which way and how hard a row pushes the leaf's value), of their *hessian* (the weight, or the
second derivative) and of their number. Here these become integers, so that sums do not depend on the order of
the rows, on the number of threads or of machines.

- Hessians all equal: *one* int64 a row, the push in the high bits and 1 in the low `count_bits`. The
  hessian of a set of rows is its count.
- Otherwise two: the push, and the hessian in the high bits with 1 in the low ones.

Rows of no weight are 0: they follow the tree but are not counted.

Why nothing overflows. Let ``2 ** count_bits > n``. With `bits` for the magnitude of a sum, the shift is such that
``sum |x| * 2 ** shift < 2 ** bits``. Each row is rounded to a whole number by at most 1/2, so any sum over rows is less
than ``2 ** bits + n / 2 <= 2 ** (bits + 1)`` in magnitude as long as ``n <= 2 ** (bits + 1)``. A number that shares its word with a
count has ``bits = 62 - count_bits``, so the packed sum stays below ``2 ** 63``; ``n < 2 ** 31`` (refused otherwise) gives
``bits >= 31``. A number alone in its word has ``bits = 61``.

Shifts are whole powers of two taken from the data: targets times a power of two give the same integers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numba import njit, prange
from numpy.typing import ArrayLike, NDArray

from miserly.errors import DataError

__all__ = ["Packed", "pack_newton", "pack_squared"]

_CHUNK = 16384  # rows summed at a time, whatever the number of threads, so that sums are always the same


@dataclass(frozen=True)
class Packed:
    """Rows as integers, and what one unit of each integer means.

    A leaf of the integer sums `push` and `hessian` has the value
    ``(push * push_unit) / (hessian * hessian_unit + l2)``.
    """

    words: NDArray[np.int64]  # (n * width,): a row's words lie side by side
    width: int  # 1 or 2 words a row
    count_bits: int
    push_shift: int  # push_unit = 2 ** -push_shift, as an exponent because it may lie outside float64
    hessian_shift: int  # hessian_unit = hessian_scale * 2 ** -hessian_shift
    hessian_scale: float
    total_weight: float  # what a mean loss is a mean over, in the units of the hessian
    gain_scale: float  # what one unit of gain in these units is worth in the caller's


def pack_squared(target: ArrayLike, weight: ArrayLike | None, n: int) -> Packed:
    """Rows of the weighted least squares ``1/2 sum w (target - h)^2``.

    Weights are divided by their mean over the rows that have any, so that only their ratios matter, `l2` and
    `min_hessian` count in rows of average weight, and leaving a row out is the same as weight 0.
    """
    values = _column(target, n, "target")
    if weight is None:
        return _pack_equal(values, np.ones(n, dtype=np.bool_), 1.0, float(n), 1.0)
    weights = _column(weight, n, "weight")
    if weights.min() < 0:
        raise DataError(f"the weight of row {int(weights.argmin())} is negative ({weights.min():g})")
    counted = weights > 0
    n_counted = int(counted.sum())
    if n_counted == 0:
        raise DataError("every weight is zero: a tree needs at least one row that counts")
    largest = float(weights.max())
    if weights[counted].min() == largest:
        return _pack_equal(values, counted, 1.0, float(n_counted), largest)
    mean = largest * float((weights / largest).sum() / n_counted)
    share = weights / mean
    push = _column(share * values, n, "target times weight")
    return _pack_unequal(push, share, counted, float(n_counted), mean)


def pack_newton(gradient: ArrayLike, hessian: ArrayLike, total_weight: float, n: int) -> Packed:
    """Rows of a second-order step: gain ``1/2 [GL^2/(HL + l2) + GR^2/(HR + l2) - G^2/(H + l2)]``, leaf ``-G/(H + l2)``.

    Rows whose gradient and hessian are both zero are not counted.
    """
    if not (math.isfinite(total_weight) and total_weight > 0):
        raise DataError(f"total_weight must be a positive number, not {total_weight!r}")
    push = -_column(gradient, n, "gradient")
    values = _column(hessian, n, "hessian")
    if values.min() < 0:
        raise DataError(f"the hessian of row {int(values.argmin())} is negative ({values.min():g})")
    counted = (values > 0) | (push != 0)
    first = float(values[0])
    if first > 0 and first == values.min() == values.max():
        return _pack_equal(push, counted, first, float(total_weight), 1.0)
    return _pack_unequal(push, values, counted, float(total_weight), 1.0)


def _column(values: ArrayLike, n: int, what: str) -> NDArray[np.float64]:
    column = np.ascontiguousarray(values, dtype=np.float64)
    if column.shape != (n,):
        raise DataError(f"{what} has shape {column.shape}, but there are {n} rows")
    if n and not math.isfinite(_largest(column)):
        row = int(np.flatnonzero(~np.isfinite(column))[0])
        raise DataError(f"{what} of row {row} is {column[row]}: every row needs a finite number")
    return column


def _count_bits(n: int) -> int:
    if n >= 2**31:
        raise DataError(f"{n} rows: at most 2**31 - 1 fit one grower")
    return n.bit_length()


def _pack_equal(
    push: NDArray[np.float64],
    counted: NDArray[np.bool_],
    hessian: float,
    total_weight: float,
    gain_scale: float,
) -> Packed:
    count_bits = _count_bits(len(push))
    shift = _shift(push, 62 - count_bits)
    words = np.empty(len(push), dtype=np.int64)
    _fill_one(push, counted, *_factors(shift), count_bits, words)
    return Packed(words, 1, count_bits, shift, 0, hessian, total_weight, gain_scale)


def _pack_unequal(
    push: NDArray[np.float64],
    hessian: NDArray[np.float64],
    counted: NDArray[np.bool_],
    total_weight: float,
    gain_scale: float,
) -> Packed:
    count_bits = _count_bits(len(push))
    push_shift = _shift(push, 61)
    hessian_shift = _shift(hessian, 62 - count_bits)
    words = np.empty(2 * len(push), dtype=np.int64)
    _fill_two(push, *_factors(push_shift), hessian, *_factors(hessian_shift), counted, count_bits, words)
    return Packed(words, 2, count_bits, push_shift, hessian_shift, 1.0, total_weight, gain_scale)


def _shift(values: NDArray[np.float64], bits: int) -> int:
    """The largest s for which ``sum |values| * 2**s < 2**bits`` is certain."""
    largest = _largest(values)
    if largest == 0.0:
        return 0
    exponent = math.frexp(largest)[1]
    total = _sum_of_sizes(values, *_factors(-exponent))  # of numbers up to 1: cannot overflow
    return bits - math.frexp(total)[1] - exponent


def _factors(shift: int) -> tuple[float, float]:
    """Two powers of two whose product is ``2 ** shift``, which alone could lie outside float64."""
    half = shift // 2
    return math.ldexp(1.0, half), math.ldexp(1.0, shift - half)


def _largest(values: NDArray[np.float64]) -> float:
    """The largest magnitude; infinite if any value is not finite."""
    parts = np.empty(-(-len(values) // _CHUNK))
    _chunk_largest(values, parts)
    return float(parts.max())


def _sum_of_sizes(values: NDArray[np.float64], factor: float, factor_too: float) -> float:
    parts = np.empty(-(-len(values) // _CHUNK))
    _chunk_sizes(values, factor, factor_too, parts)
    return math.fsum(parts)


@njit(parallel=True, cache=True)
def _chunk_largest(values, parts):
    for chunk in prange(len(parts)):
        largest = 0.0
        for i in range(chunk * _CHUNK, min(len(values), (chunk + 1) * _CHUNK)):
            size = abs(values[i])
            if not size <= largest:  # also true of NaN
                largest = size if size == size else np.inf
        parts[chunk] = largest


@njit(parallel=True, cache=True)
def _chunk_sizes(values, factor, factor_too, parts):
    for chunk in prange(len(parts)):
        total = 0.0
        for i in range(chunk * _CHUNK, min(len(values), (chunk + 1) * _CHUNK)):
            total += abs(values[i] * factor * factor_too)
        parts[chunk] = total


@njit(parallel=True, cache=True)
def _fill_one(push, counted, factor, factor_too, count_bits, words):
    for i in prange(len(push)):
        whole = np.int64(np.rint(push[i] * factor * factor_too))
        words[i] = ((whole << count_bits) + 1) * counted[i]


@njit(parallel=True, cache=True)
def _fill_two(push, p, p_too, hessian, h, h_too, counted, count_bits, words):
    for i in prange(len(push)):
        words[2 * i] = np.int64(np.rint(push[i] * p * p_too))
        words[2 * i + 1] = (np.int64(np.rint(hessian[i] * h * h_too)) << count_bits) + counted[i]
