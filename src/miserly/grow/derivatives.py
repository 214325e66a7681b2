"""Derivatives of a loss as packed rows, in compiled code: the twin of `pack_newton` for rounds of boosting.

The scale of the integers follows from four figures: the sums of the magnitudes of gradients and hessians,
and the smallest and the largest hessian. They are computed for all scores before any tree is grown. Where a
sum is not an ordinary number, `are_ordinary` is false, and the caller takes `pack_newton`, which scales its
sums and refuses values that are not finite.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from miserly.grow.compiled import compiled, prange, threaded

__all__ = [
    "FIGURES",
    "PackedScale",
    "are_ordinary",
    "n_chunks",
    "pack_rows",
    "scale_of",
    "sum_words",
    "summarise",
]

_CHUNK = 16384  # rows per partial sum, as in `packing`
FIGURES = 4  # sums of |gradient| and of |hessian|, smallest and largest hessian
_SMALLEST, _LARGEST = 1e-250, 1e250  # sums between which no summand is scaled


class PackedScale(NamedTuple):
    """The fields of `packing.Scale`, for compiled code."""

    width: np.int64
    count_bits: np.int64
    residual_shift: np.int64
    hessian_shift: np.int64
    hessian_unit: float


def n_chunks(n: int) -> int:
    """Number of partial sums over `n` rows."""
    return -(-n // _CHUNK)


@threaded
def summarise(gradient, hessian, parts, figures):
    """The figures of one score. `parts` is memory for (chunks, FIGURES) numbers."""
    n = len(gradient)
    for chunk in prange(len(parts)):
        summarise_rows(gradient, hessian, chunk * _CHUNK, min(n, (chunk + 1) * _CHUNK), parts[chunk])
    figures[0], figures[1], figures[2], figures[3] = 0.0, 0.0, np.inf, -np.inf
    for chunk in range(len(parts)):
        figures[0] += parts[chunk, 0]
        figures[1] += parts[chunk, 1]
        figures[2] = min(figures[2], parts[chunk, 2])
        figures[3] = max(figures[3], parts[chunk, 3])


@compiled
def summarise_rows(gradient, hessian, first, last, figures):
    """The figures of some rows."""
    total, total_hessian = 0.0, 0.0
    least, most = hessian[first], hessian[first]
    for i in range(first, last):
        total += abs(gradient[i])
        total_hessian += abs(hessian[i])
        least = min(least, hessian[i])
        most = max(most, hessian[i])
    figures[0], figures[1], figures[2], figures[3] = total, total_hessian, least, most


@compiled
def are_ordinary(figures):
    """Whether `scale_of` gives the scale that `pack_newton` would choose."""
    total, total_hessian = figures[0], figures[1]
    ordinary = total == 0.0 or _SMALLEST < total < _LARGEST
    ordinary_hessian = total_hessian == 0.0 or _SMALLEST < total_hessian < _LARGEST
    return ordinary and ordinary_hessian and figures[2] >= 0.0


@compiled
def scale_of(n, figures):
    """The finest scale for `n` rows, as `choose_scale`."""
    count_bits = np.int64(0)
    while (np.int64(1) << count_bits) <= n:
        count_bits += 1
    if figures[2] > 0.0 and figures[2] == figures[3]:
        shift = shift_of(figures[0], 62 - count_bits)
        return PackedScale(np.int64(1), count_bits, shift, np.int64(0), figures[2])
    residual_shift, hessian_shift = shift_of(figures[0], 61), shift_of(figures[1], 62 - count_bits)
    return PackedScale(np.int64(2), count_bits, residual_shift, hessian_shift, 1.0)


@compiled
def shift_of(total, bits):
    """The largest s for which ``total * 2**s < 2**bits`` is certain; 0 if `total` is 0."""
    return np.int64(bits - math.frexp(total)[1]) if total > 0.0 else np.int64(0)


@compiled
def power_of_two(shift):
    """Two powers of two whose product is ``2**shift``, which may itself lie outside float64."""
    half = shift // 2
    return math.ldexp(1.0, half), math.ldexp(1.0, shift - half)


@threaded
def pack_rows(gradient, hessian, scale, words):
    """The integers of every row, as `pack_newton` packs them."""
    factor, second_factor = power_of_two(scale.residual_shift)
    h_factor, h_second_factor = power_of_two(scale.hessian_shift)
    n = len(gradient)
    for chunk in prange(-(-n // _CHUNK)):
        first, last = chunk * _CHUNK, min(n, (chunk + 1) * _CHUNK)
        if scale.width == 1:
            for i in range(first, last):
                whole = np.int64(np.rint(-gradient[i] * factor * second_factor))
                words[i] = (whole << scale.count_bits) + 1
        else:
            for i in range(first, last):
                counted = np.int64((hessian[i] > 0.0) | (gradient[i] != 0.0))
                words[2 * i] = np.int64(np.rint(-gradient[i] * factor * second_factor))
                whole = np.int64(np.rint(hessian[i] * h_factor * h_second_factor))
                words[2 * i + 1] = (whole << scale.count_bits) + counted


@compiled
def sum_words(words, width, total):
    """The sums of the words of all rows."""
    total[:] = 0
    if width == 1:
        for i in range(len(words)):
            total[0] += words[i]
    else:
        for i in range(len(words) // 2):
            total[0] += words[2 * i]
            total[1] += words[2 * i + 1]
