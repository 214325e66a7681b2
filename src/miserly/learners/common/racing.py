"""A race: ways to do something are compared on validation sets, and the worse half drops out of each."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import TypeVar

import numpy as np

__all__ = ["race"]

Way = TypeVar("Way", bound=Hashable)
Rank = tuple[float, ...]


def race(ways: Sequence[Way], n_sets: int, rank: Callable[[Way, int], Rank]) -> Way:
    """The way with the largest mean rank; the first of equals.

    After each validation set the better half of the ways stays, and two at least. So only the best are
    compared on all sets.

    Parameters
    ----------
    ways : sequence
        The ways. A single one wins without a race.
    n_sets : int
        Number of validation sets.
    rank : function
        How good a way is on the validation set of a number: numbers, of which the first counts most.

    Returns
    -------
    One of the ways

    Examples
    --------
    >>> seen = []
    >>> race([3, 5, 4, 1, 2], 2, lambda way, number: (seen.append((way, number)), float(way))[1:])
    5
    >>> seen
    [(3, 0), (5, 0), (4, 0), (1, 0), (2, 0), (5, 1), (4, 1), (3, 1)]
    """
    left = list(dict.fromkeys(ways))
    ranks: dict[Way, list[Rank]] = {way: [] for way in left}

    def mean(way: Way) -> Rank:
        return tuple(np.mean(ranks[way], axis=0).tolist())

    for number in range(n_sets if len(left) > 1 else 0):
        for way in left:
            ranks[way].append(rank(way, number))
        left = sorted(left, key=mean, reverse=True)[: max(2, (len(left) + 1) // 2)]
    return left[0]
