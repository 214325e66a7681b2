"""Errors of scikit-learn and NumPy about data, raised as errors of this library."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from sklearn.exceptions import NotFittedError

from miserly.errors import DataError, MiserlyError, NotNumericError

__all__ = ["as_data_errors"]


@contextmanager
def as_data_errors(place: str = "") -> Iterator[None]:
    """Raise `TypeError`, `ValueError` and `OverflowError` of the block as `DataError`, with `place` in front.

    Callers then catch one family of errors, `MiserlyError`.
    """
    try:
        yield
    except (MiserlyError, NotFittedError):
        raise
    except TypeError as error:
        raise NotNumericError(f"{place}{error}") from None
    except (ValueError, OverflowError) as error:
        raise DataError(f"{place}{error}") from None
