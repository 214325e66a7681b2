"""The rounds of boosting that a plan uses."""

from __future__ import annotations

from miserly.errors import DataError

__all__ = ["chosen_rounds"]


def chosen_rounds(iterations: tuple[int, int | None] | None, n_rounds: int) -> tuple[int, int]:
    """Check rounds, and return them as in ``range(first, stop)``.

    Parameters
    ----------
    iterations : tuple of int or None
        The requested rounds; None means all.
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
        raise DataError(f"iterations {first} to {stop} are requested; the model has {n_rounds}")
    return first, stop
