"""Which rounds of boosting a plan gets."""

from __future__ import annotations

from miserly.errors import DataError

__all__ = ["chosen_rounds"]


def chosen_rounds(iterations: tuple[int, int | None] | None, n_rounds: int) -> tuple[int, int]:
    """The first round and the one after the last, checked.

    Parameters
    ----------
    iterations : tuple of int or None
        What was asked for; None means all rounds.
    n_rounds : int
        The number of rounds of the model.

    Returns
    -------
    tuple of int

    Examples
    --------
    >>> chosen_rounds((2, None), 10), chosen_rounds(None, 10)
    ((2, 10), (0, 10))
    """
    if iterations is None:
        return 0, n_rounds
    first, stop = iterations
    stop = n_rounds if stop is None else stop
    if not 0 <= first < stop <= n_rounds:
        raise DataError(f"iterations {first} to {stop} are asked for; the model has {n_rounds}")
    return first, stop
