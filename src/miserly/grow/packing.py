"""Packing: residuals, hessians and counts of rows as integers, whose sums are exact.

A tree is fitted from three sums over the rows of a leaf. The *residual* of a row is its weight times its
target, or minus its gradient. The *hessian* is its weight, or the second derivative. The third is the number
of rows. Integer sums do not depend on the order of the rows, on the number of threads or on the number of
machines.

- If all hessians are equal, a row is *one* int64: the residual in the high bits and 1 in the low
  `count_bits`. The hessian of a set of rows is then its count.
- Otherwise a row is two int64: the residual, and the hessian in the high bits with 1 in the low bits.

Rows of zero weight are packed as 0. They follow the tree but are not counted.

No sum overflows. Let n < 2 ** count_bits be the number of rows. A shift is chosen such that sum |x| * 2 **
shift < 2 ** bits. Rounding to integers adds at most 1/2 per row, so any sum over rows is below 2 ** bits + n
/ 2. This is at most 2 ** (bits + 1) if count_bits <= bits + 2. A number alone in its word has bits = 61. A
number that shares its word has bits = 62 - count_bits. More than 2 ** 31 - 1 rows are an error, so count_bits
<= 31 <= bits, and the packed sum stays below 2 ** (bits + 1) * 2 ** count_bits = 2 ** 63 in magnitude.

Shifts are exponents of two that depend on the data. Targets times a power of two give the same integers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from miserly.errors import DataError
from miserly.grow.compiled import build, compiled, prange, threaded
from miserly.utils.inputs import as_input

__all__ = [
    "PackedRows",
    "RelativeWeights",
    "Scale",
    "choose_scale",
    "pack",
    "pack_newton",
    "pack_squared",
    "relative_weights",
]

_CHUNK = 16384  # rows per partial sum; it does not depend on the number of threads, so sums do not either


@dataclass(frozen=True)
class Scale:
    """The units of the integers. Histograms with the same scale add up exactly.

    A leaf with the integer sums `residual` and `hessian` has the value
    ``residual * 2**-residual_shift / (hessian * hessian_unit * 2**-hessian_shift + l2)``.
    """

    width: int  # words per row: 1 or 2
    count_bits: int
    residual_shift: int  # an exponent, because 2**shift itself may lie outside float64
    hessian_shift: int = 0
    hessian_unit: float = 1.0  # the hessian of each row, where all are equal


@dataclass(frozen=True)
class PackedRows:
    """Rows as integers. The words of a row are adjacent."""

    words: NDArray[np.int64]  # (n * width,)
    scale: Scale
    total_weight: float  # divisor of the mean loss, in the units of the hessian
    mean_weight: float  # the caller's weights were divided by it


@dataclass(frozen=True)
class RelativeWeights:
    """Weights of a least-squares problem, divided by the mean of the positive ones."""

    share: NDArray[np.float64] | None  # None where all rows that count weigh the same
    counted: NDArray[np.bool_]
    n_counted: int
    mean: float


def relative_weights(weight: ArrayLike | None, n: int) -> RelativeWeights:
    """Divide weights by the mean of the positive ones, and mark the rows that count.

    >>> relative_weights([1.0, 3.0, 0.0], 3).share.tolist()
    [0.5, 1.5, 0.0]
    """
    if weight is None:
        return RelativeWeights(None, np.ones(n, dtype=np.bool_), n, 1.0)
    weights = _non_negative(_column(weight, n, "weight"), "weight")
    counted = weights > 0
    n_counted = int(counted.sum())
    if n_counted == 0:
        raise DataError("every weight is zero: a tree needs at least one row that counts")
    largest = float(weights.max())
    if weights[counted].min() == largest:
        return RelativeWeights(None, counted, n_counted, largest)
    mean = largest * float((weights / largest).sum() / n_counted)
    return RelativeWeights(weights / mean, counted, n_counted, mean)


def pack_squared(target: ArrayLike, weight: ArrayLike | None, n: int) -> PackedRows:
    """Pack the rows of the weighted least squares problem 1/2 sum w (target - h)^2.

    Weights are divided by the mean of the positive weights. So only their ratios matter, `l2` and
    `min_hessian` are in units of rows of average weight, and a row of weight 0 has the effect of no row.
    """
    values = _column(target, n, "target")
    given = relative_weights(weight, n)
    residual = values if given.share is None else _column(given.share * values, n, "target times weight")
    return _packed(residual, given.share, given.counted, 1.0, float(given.n_counted), given.mean)


def pack_newton(gradient: ArrayLike, hessian: ArrayLike, total_weight: float, n: int) -> PackedRows:
    """Pack the rows of a second-order step. Rows whose gradient and hessian are zero are not counted."""
    if not (math.isfinite(total_weight) and total_weight > 0):
        raise DataError(f"total_weight must be a positive number, not {total_weight!r}")
    residual = -_column(gradient, n, "gradient")
    values = _non_negative(_column(hessian, n, "hessian"), "hessian")
    counted = (values > 0) | (residual != 0)
    if values[0] > 0 and values.min() == values.max():
        return _packed(residual, None, counted, float(values[0]), float(total_weight), 1.0)
    return _packed(residual, values, counted, 1.0, float(total_weight), 1.0)


def choose_scale(
    n: int,
    residual: tuple[float, float],
    hessian: tuple[float, float] | None,
    hessian_unit: float = 1.0,
) -> Scale:
    """The finest scale for `n` rows. `residual` and `hessian` are results of `magnitudes`.

    >>> choose_scale(5, (4.0, 3.0), None)     # 62 bits less 3 for the count; sum |x| = 3 * 2**2 < 2**4
    Scale(width=1, count_bits=3, residual_shift=55, hessian_shift=0, hessian_unit=1.0)
    """
    if n >= 2**31:
        raise DataError(f"{n} rows: at most 2**31 - 1 can be counted")
    count_bits = n.bit_length()
    if hessian is None:
        return Scale(1, count_bits, _shift(*residual, 62 - count_bits), 0, hessian_unit)
    return Scale(2, count_bits, _shift(*residual, 61), _shift(*hessian, 62 - count_bits), hessian_unit)


def magnitudes(values: NDArray[np.float64]) -> tuple[float, float]:
    """A power of two that bounds the magnitudes, and the sum of magnitudes in multiples of it."""
    largest = _largest(values)
    if largest == 0.0:
        return 1.0, 0.0
    exponent = min(math.frexp(largest)[1], 1023)
    parts = np.empty(-(-len(values) // _CHUNK))
    build(_sum_magnitudes)(
        as_input(values), *_factors(-exponent), parts
    )  # summands are at most about 1, so no overflow
    return math.ldexp(1.0, exponent), math.fsum(parts)


def pack(
    residual: NDArray[np.float64],
    hessian: NDArray[np.float64] | None,
    counted: NDArray[np.bool_],
    scale: Scale,
) -> NDArray[np.int64]:
    """The integers of every row for a given scale."""
    words = np.empty(len(residual) * scale.width, dtype=np.int64)
    residual = as_input(residual)
    if hessian is None:
        build(_pack_one)(residual, counted, *_factors(scale.residual_shift), scale.count_bits, words)
    else:
        by_residual, by_hessian = _factors(scale.residual_shift), _factors(scale.hessian_shift)
        weights = as_input(hessian)
        build(_pack_two)(residual, *by_residual, weights, *by_hessian, counted, scale.count_bits, words)
    return words


def _packed(
    residual: NDArray[np.float64],
    hessian: NDArray[np.float64] | None,
    counted: NDArray[np.bool_],
    hessian_unit: float,
    total_weight: float,
    mean_weight: float,
) -> PackedRows:
    of_hessian = None if hessian is None else magnitudes(hessian)
    scale = choose_scale(len(residual), magnitudes(residual), of_hessian, hessian_unit)
    return PackedRows(pack(residual, hessian, counted, scale), scale, total_weight, mean_weight)


def _column(values: ArrayLike, n: int, what: str) -> NDArray[np.float64]:
    column = as_input(np.ascontiguousarray(values, dtype=np.float64))
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
    """The largest s for which unit * total * 2**s < 2**bits is certain; 0 if `total` is 0."""
    if total == 0.0:
        return 0
    return bits - math.frexp(total)[1] - (math.frexp(unit)[1] - 1)


def _factors(shift: int) -> tuple[float, float]:
    """Two powers of two whose product is 2**shift. That product alone may lie outside float64."""
    half = shift // 2
    return math.ldexp(1.0, half), math.ldexp(1.0, shift - half)


def _largest(values: NDArray[np.float64]) -> float:
    """The largest magnitude; infinite if any value is not finite."""
    parts = np.empty(-(-len(values) // _CHUNK))
    build(_find_largest)(as_input(values), parts)
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
def _sum_magnitudes(values, factor, second_factor, parts):
    for chunk in prange(len(parts)):
        total = 0.0
        for i in range(chunk * _CHUNK, min(len(values), (chunk + 1) * _CHUNK)):
            total += abs(values[i] * factor * second_factor)
        parts[chunk] = total


@threaded
def _pack_one(residual, counted, factor, second_factor, count_bits, words):
    for i in prange(len(residual)):
        whole = np.int64(np.rint(residual[i] * factor * second_factor))
        words[i] = ((whole << count_bits) + 1) * counted[i]


@threaded
def _pack_two(residual, p, r_second, hessian, h, h_second, counted, count_bits, words):
    for i in prange(len(residual)):
        words[2 * i] = np.int64(np.rint(residual[i] * p * r_second))
        words[2 * i + 1] = (np.int64(np.rint(hessian[i] * h * h_second)) << count_bits) + counted[i]
