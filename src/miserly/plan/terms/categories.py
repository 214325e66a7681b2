"""Sets of category codes as bits."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["MAX_CATEGORY", "N_WORDS", "category_words"]

MAX_CATEGORY = 255  # category codes are 0..255: eight 32-bit words of a bit set
N_WORDS = 8


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
