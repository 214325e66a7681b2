"""Sets of category codes as bits."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["MAX_CATEGORY", "MAX_WORDS", "N_WORDS", "category_words", "packed_words", "padded_words"]

N_WORDS = 8  # 32-bit words of a bit set of the codes 0..255; larger sets have a multiple of it
MAX_WORDS = 2048
MAX_CATEGORY = 32 * MAX_WORDS - 1  # the largest code


def category_words(codes: Any) -> NDArray[np.uint32]:
    """The bit set of some category codes, as one row of `Tree.words`.

    Parameters
    ----------
    codes : sequence of int
        Codes from 0 to 255.

    Returns
    -------
    uint32 array of (8,)

    Examples
    --------
    >>> category_words([0, 33])[:3].tolist()
    [1, 2, 0]
    """
    words = np.zeros(N_WORDS, dtype=np.uint32)
    for code in np.asarray(codes, dtype=np.int64):
        words[code >> 5] |= np.uint32(1) << np.uint32(code & 31)
    return words


def packed_words(members: NDArray[np.bool_]) -> NDArray[np.uint32]:
    """Bit sets of category codes, as rows of `Tree.words`.

    Parameters
    ----------
    members : bool array of (n_sets, n_codes)
        Whether each code is in each set.

    Returns
    -------
    uint32 array of (n_sets, n_words)
        With a multiple of eight words.

    Examples
    --------
    >>> packed_words(np.array([[True] + 32 * [False] + [True]]))[0, :3].tolist()
    [1, 2, 0]
    """
    n_words = N_WORDS * max(1, -(-members.shape[1] // (32 * N_WORDS)))
    bits = np.zeros((len(members), 32 * n_words), dtype=np.bool_)
    bits[:, : members.shape[1]] = members
    return np.packbits(bits, axis=1, bitorder="little").view("<u4").astype(np.uint32)


def padded_words(
    words: NDArray[np.uint32], n_words: int, missing_left: NDArray[np.bool_]
) -> NDArray[np.uint32]:
    """Bit sets with more words; codes that are new in them go where missing values go.

    Parameters
    ----------
    words : uint32 array of (n_sets, any)
        Bit sets.
    n_words : int
        Number of words, not less than there are.
    missing_left : bool array of (n_sets,)
        Whether missing values go left.

    Returns
    -------
    uint32 array of (n_sets, n_words)
    """
    added = np.where(missing_left, np.uint32(0xFFFFFFFF), np.uint32(0))[:, None]
    more = np.broadcast_to(added, (len(words), n_words - words.shape[1]))
    return np.concatenate([words, more], axis=1).astype(np.uint32)
