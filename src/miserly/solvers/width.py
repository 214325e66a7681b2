"""How wide a problem may be: checks before a matrix of columns by columns is allocated."""

from __future__ import annotations

from miserly.errors import DataError

__all__ = ["MAX_COLUMNS", "check_table", "check_width"]

MAX_COLUMNS = 16_384  # a square of so many float64 is 2 GiB

WHAT_TO_DO = (
    "Give fewer columns (such as those that a Greedy Miser buys), or take a learner of trees, a cost lasso, "
    'or terms="boosted" where a learner has it'
)


def check_width(n_columns: int) -> None:
    """Raise `DataError` for a matrix of columns by columns that would not fit into memory.

    >>> check_width(100_000)
    Traceback (most recent call last):
    ...
    miserly.errors.DataError: 100,000 columns, and a matrix of columns by columns is needed, of 75 GiB; ...
    """
    if n_columns > MAX_COLUMNS:
        raise DataError(
            f"{n_columns:,} columns, and a matrix of columns by columns is needed, of "
            f"{8.0 * n_columns**2 / 2**30:.0f} GiB; {MAX_COLUMNS:,} columns are the most. {WHAT_TO_DO}"
        )


def check_table(n_terms: int, n_features: int) -> None:
    """Raise `DataError` for a table of booleans, terms by features, larger than the largest square."""
    if n_terms * n_features > 8 * MAX_COLUMNS**2:
        raise DataError(
            f"a table of {n_terms:,} terms by {n_features:,} features is needed, of "
            f"{n_terms * n_features / 2**30:.0f} GiB, and 2 GiB are the most. {WHAT_TO_DO}"
        )
