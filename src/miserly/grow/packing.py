"""What each row says about its leaf, as whole numbers that add up exactly.

A tree is fitted from three sums over the rows of a leaf: of their *push* (weight times target, or minus the
gradient: which way and how hard a row pushes the leaf's value), of their *hessian* (the weight, or the
second derivative) and of their number. Here these become integers, so that sums do not depend on the order
of the rows, on the number of threads or of machines.

- Hessians all equal: *one* int64 a row, the push in the high bits and 1 in the low `count_bits`. The hessian
  of a set of rows is then its count.
- Otherwise two: the push alone, and the hessian in the high bits with 1 in the low ones.

Rows of no weight are 0: they follow the tree but are not counted.

Why nothing overflows. Let n < 2 ** count_bits be the number of rows. A shift is such that
sum |x| * 2 ** shift < 2 ** bits. Rounding to whole numbers adds at most 1/2 a row, so any sum over rows is
below 2 ** bits + n / 2, which is at most 2 ** (bits + 1) as long as count_bits <= bits + 2. A number alone
in its word has bits = 61. One that shares it has bits = 62 - count_bits; more than 2 ** 31 - 1 rows are
refused, so count_bits <= 31 <= bits, and the packed sum stays below
2 ** (bits + 1) * 2 ** count_bits = 2 ** 63 in magnitude.

Shifts are powers of two taken from the data: targets times a power of two give the same integers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from miserly.errors import DataError
from miserly.grow.compiled import build, compiled, prange, threaded

__all__ = ["Packed", "Scale", "choose_scale", "pack", "pack_newton", "pack_squared"]

_CHUNK = 16384  # rows summed at a time, whatever the number of threads, so that sums are always the same


@dataclass(frozen=True)
class Scale:
    """What one unit of each integer means. Histograms packed to the same scale add up exactly.

    A leaf of the integer sums `push` and `hessian` has the value
    ``push * 2**-push_shift / (hessian * hessian_unit * 2**-hessian_shift + l2)``.
    """

    width: int  # words a row: 1 or 2
    count_bits: int
    push_shift: int  # an exponent, because 2**shift itself may lie outside float64
    hessian_shift: int = 0
    hessian_unit: float = 1.0  # the hessian of each row, where all are equal


@dataclass(frozen=True)
class Packed:
    """Rows as integers, a row's words side by side."""

    words: NDArray[np.int64]  # (n * width,)
    scale: Scale
    total_weight: float  # what a mean loss is the mean over, in the units of the hessian
    mean_weight: float  # what the caller's weights were divided by


def pack_squared(target: ArrayLike, weight: ArrayLike | None, n: int) -> Packed:
    """Rows of the weighted least squares 1/2 sum w (target - h)^2.

    Weights are divided by their mean over the rows that have any, so that only their ratios matter, `l2`
    and `min_hessian` count in rows of average weight, and weight 0 is the same as leaving a row out.
    """
    values = _column(target, n, "target")
    if weight is None:
        return _packed(values, None, np.ones(n, dtype=np.bool_), 1.0, float(n), 1.0)
    weights = _non_negative(_column(weight, n, "weight"), "weight")
    counted = weights > 0
    n_counted = int(counted.sum())
    if n_counted == 0:
        raise DataError("every weight is zero: a tree needs at least one row that counts")
    largest = float(weights.max())
    if weights[counted].min() == largest:
        return _packed(values, None, counted, 1.0, float(n_counted), largest)
    mean = largest * float((weights / largest).sum() / n_counted)
    share = weights / mean
    push = _column(share * values, n, "target times weight")
    return _packed(push, share, counted, 1.0, float(n_counted), mean)


def pack_newton(gradient: ArrayLike, hessian: ArrayLike, total_weight: float, n: int) -> Packed:
    """Rows of a second-order step. Those whose gradient and hessian are both zero are not counted."""
    if not (math.isfinite(total_weight) and total_weight > 0):
        raise DataError(f"total_weight must be a positive number, not {total_weight!r}")
    push = -_column(gradient, n, "gradient")
    values = _non_negative(_column(hessian, n, "hessian"), "hessian")
    counted = (values > 0) | (push != 0)
    if values[0] > 0 and values.min() == values.max():
        return _packed(push, None, counted, float(values[0]), float(total_weight), 1.0)
    return _packed(push, values, counted, 1.0, float(total_weight), 1.0)


def choose_scale(
    n: int,
    push: tuple[float, float],
    hessian: tuple[float, float] | None,
    hessian_unit: float = 1.0,
) -> Scale:
    """The finest scale for `n` rows of which `push` and `hessian` say what `sizes` says.

    >>> choose_scale(5, (4.0, 3.0), None)     # 62 bits less 3 for the count; sum |x| = 3 * 2**2 < 2**4
    Scale(width=1, count_bits=3, push_shift=55, hessian_shift=0, hessian_unit=1.0)
    """
    if n >= 2**31:
        raise DataError(f"{n} rows: at most 2**31 - 1 can be counted")
    count_bits = n.bit_length()
    if hessian is None:
        return Scale(1, count_bits, _shift(*push, 62 - count_bits), 0, hessian_unit)
    return Scale(2, count_bits, _shift(*push, 61), _shift(*hessian, 62 - count_bits), hessian_unit)


def sizes(values: NDArray[np.float64]) -> tuple[float, float]:
    """A power of two no value exceeds in magnitude, and the sum of magnitudes as a multiple of it."""
    largest = _largest(values)
    if largest == 0.0:
        return 1.0, 0.0
    exponent = min(math.frexp(largest)[1], 1023)
    parts = np.empty(-(-len(values) // _CHUNK))
    build(_sum_sizes)(values, *_factors(-exponent), parts)  # of numbers up to about 1: cannot overflow
    return math.ldexp(1.0, exponent), math.fsum(parts)


def pack(
    push: NDArray[np.float64],
    hessian: NDArray[np.float64] | None,
    counted: NDArray[np.bool_],
    scale: Scale,
) -> NDArray[np.int64]:
    """The integers of every row at a given scale."""
    words = np.empty(len(push) * scale.width, dtype=np.int64)
    if hessian is None:
        build(_pack_one)(push, counted, *_factors(scale.push_shift), scale.count_bits, words)
    else:
        by_push, by_hessian = _factors(scale.push_shift), _factors(scale.hessian_shift)
        build(_pack_two)(push, *by_push, hessian, *by_hessian, counted, scale.count_bits, words)
    return words


def _packed(
    push: NDArray[np.float64],
    hessian: NDArray[np.float64] | None,
    counted: NDArray[np.bool_],
    hessian_unit: float,
    total_weight: float,
    mean_weight: float,
) -> Packed:
    of_hessian = None if hessian is None else sizes(hessian)
    scale = choose_scale(len(push), sizes(push), of_hessian, hessian_unit)
    return Packed(pack(push, hessian, counted, scale), scale, total_weight, mean_weight)


def _column(values: ArrayLike, n: int, what: str) -> NDArray[np.float64]:
    column = np.ascontiguousarray(values, dtype=np.float64)
    if column.shape != (n,):
        raise DataError(f"{what} has shape {column.shape}, but there are {n} rows")
    if not math.isfinite(_largest(column)):
        row = int(np.flatnonzero(~np.isfinite(column))[0])
        raise DataError(f"{what} of row {row} is {column[row]}: every row needs a finite number")
    return column


def _non_negative(column: NDArray[np.float64], what: str) -> NDArray[np.float64]:
    if column.min() < 0:
        raise DataError(f"the {what} of row {int(column.argmin())} is negative ({column.min():g})")
    return column


def _shift(unit: float, total: float, bits: int) -> int:
    """The largest s for which unit * total * 2**s < 2**bits is certain (0 if there is nothing to shift)."""
    if total == 0.0:
        return 0
    return bits - math.frexp(total)[1] - (math.frexp(unit)[1] - 1)


def _factors(shift: int) -> tuple[float, float]:
    """Two powers of two whose product is 2**shift, which alone could lie outside float64."""
    half = shift // 2
    return math.ldexp(1.0, half), math.ldexp(1.0, shift - half)


def _largest(values: NDArray[np.float64]) -> float:
    """The largest magnitude; infinite if any value is not finite."""
    parts = np.empty(-(-len(values) // _CHUNK))
    build(_find_largest)(values, parts)
    return float(parts.max())


@threaded
def _find_largest(values, parts):
    for chunk in prange(len(parts)):
        parts[chunk] = _largest_of(values, chunk * _CHUNK, min(len(values), (chunk + 1) * _CHUNK))


@compiled
def _largest_of(values, first, last):
    largest = 0.0
    strange = False
    for i in range(first, last):
        size = abs(values[i])
        strange |= size != size
        largest = size if size > largest else largest
    return np.inf if strange else largest


@threaded
def _sum_sizes(values, factor, factor_too, parts):
    for chunk in prange(len(parts)):
        total = 0.0
        for i in range(chunk * _CHUNK, min(len(values), (chunk + 1) * _CHUNK)):
            total += abs(values[i] * factor * factor_too)
        parts[chunk] = total


@threaded
def _pack_one(push, counted, factor, factor_too, count_bits, words):
    for i in prange(len(push)):
        whole = np.int64(np.rint(push[i] * factor * factor_too))
        words[i] = ((whole << count_bits) + 1) * counted[i]


@threaded
def _pack_two(push, p, p_too, hessian, h, h_too, counted, count_bits, words):
    for i in prange(len(push)):
        words[2 * i] = np.int64(np.rint(push[i] * p * p_too))
        words[2 * i + 1] = (np.int64(np.rint(hessian[i] * h * h_too)) << count_bits) + counted[i]
