"""Binning: columns of numbers as columns of bytes, so that trees can be grown from histograms.

Bin `b` of a numeric column holds the values ``edges[b - 1] < x <= edges[b]``. The last edge is infinite. A
column with few distinct values has one bin for each, with edges half-way between neighbours. Other columns
have bins with about equally many rows, and a value that fills a whole bin gets a bin of its own. In a
categorical column the bin is the code of the category. One more bin, number ``n_bins``, is for missing
values.

Edges are float64 and are the thresholds of the trees. So a row goes to the same side of a split in training
(by its bin) and in prediction (by its value).
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from miserly.errors import DataError
from miserly.grow.compiled import build, compiled, most_threads, prange, threaded, threads
from miserly.utils.inputs import as_input

__all__ = ["MAX_BINS", "Binned", "Bins"]

MAX_BINS = 255  # the codes of a byte, less one for missing values
_COLUMNS = 16  # columns sorted at a time: a cache line of float32, so each line is read once
_ROWS = 512  # rows binned at a time; they stay in the cache for the next column


@dataclass(frozen=True, eq=False)
class Bins:
    """The edges of the bins of each column.

    `fit` chooses the edges, `transform` replaces values by the numbers of their bins.

    Attributes
    ----------
    edges : array of (d, 256)
        Upper edges of the bins, infinite from the last bin on.
    n_bins : int array of (d,)
        Number of bins of each column, without the bin for missing values.
    categorical : bool array of (d,)
        Columns that hold category codes.

    Examples
    --------
    >>> X = np.array([[1.0], [2.0], [4.0], [np.nan]])
    >>> bins = Bins.fit(X)
    >>> bins.edges[0, :3].tolist(), bins.transform(X).codes.tolist()
    ([1.5, 3.0, inf], [[0, 1, 2, 3]])
    """

    edges: NDArray[np.float64]
    n_bins: NDArray[np.int64]
    categorical: NDArray[np.bool_]

    @classmethod
    def fit(
        cls,
        X: ArrayLike,
        max_bins: int = MAX_BINS,
        categorical: ArrayLike | None = None,
        sample: int = 200_000,
        random_state: int | None = 0,
        n_threads: int | None = None,
    ) -> Bins:
        """Choose the bins from the rows of a matrix.

        Parameters
        ----------
        X : array of (n, d)
            Values of the features. NaN is a missing value.
        max_bins : int, default=255
            Largest number of bins of a numeric column, 2 to 255.
        categorical : bool array of (d,), optional
            Columns that hold category codes, integers from 0 to 254. None by default.
        sample : int, default=200000
            Largest number of rows that the edges are chosen from. They are drawn at random.
        random_state : int, optional, default=0
            Seed for drawing these rows.
        n_threads : int, optional
            Number of threads; by default the number that numba uses.

        Returns
        -------
        Bins

        Raises
        ------
        DataError
            If `max_bins` is out of range, `X` is not a matrix, or a numeric column has infinite values.
        """
        values = _matrix(X)
        if not 2 <= max_bins <= MAX_BINS:
            raise DataError(f"max_bins must be from 2 to {MAX_BINS}, not {max_bins}")
        n, d = values.shape
        marked = _mask(categorical, d)
        rows: Any = slice(None)
        if n > sample:
            rows = np.sort(np.random.default_rng(random_state).choice(n, sample, replace=False))
        edges = np.full((d, MAX_BINS + 1), np.inf)
        n_bins = np.full(d, MAX_BINS, dtype=np.int64)

        def choose(first: int) -> None:
            columns = np.sort(values[rows, first : first + _COLUMNS].T, axis=1)
            for f, column in enumerate(columns, start=first):
                if not marked[f]:
                    cuts = _cuts(_finite(column, f), max_bins)
                    edges[f, : len(cuts)] = cuts
                    n_bins[f] = len(cuts) + 1

        with ThreadPoolExecutor(n_threads or most_threads()) as pool:
            list(pool.map(choose, range(0, d, _COLUMNS)))
        return cls(edges, n_bins, marked)

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return len(self.n_bins)

    def transform(self, X: ArrayLike, n_threads: int | None = None) -> Binned:
        """Replace each value by the number of its bin.

        Parameters
        ----------
        X : array of (n, d)
            Values of the features. NaN is a missing value.
        n_threads : int, optional
            Number of threads; by default the number that numba uses.

        Returns
        -------
        Binned

        Raises
        ------
        DataError
            If `X` has another number of columns, infinite values, or values that are not category codes in a
            categorical column. The message names the column and the row.
        """
        values = _matrix(X)
        n, d = values.shape
        if d != self.n_features:
            raise DataError(f"these bins are for {self.n_features} columns, not {d}")
        codes = np.empty((d, n), dtype=np.uint8)
        chunks = -(-n // _ROWS)
        missing = np.zeros((chunks, d), dtype=np.bool_)
        wrong = np.zeros((chunks, d), dtype=np.bool_)
        with threads(n_threads, codes.size):
            build(_encode)(as_input(values), self.edges, self.n_bins, self.categorical, codes, missing, wrong)
        if wrong.any():
            self._refuse(values, wrong)
        return Binned(codes, np.logical_or.reduce(missing), self)

    def _refuse(self, values: NDArray[Any], wrong: NDArray[np.bool_]) -> None:
        """Raise an error that names the first wrong value."""
        chunk, f = (int(i) for i in np.argwhere(wrong)[0])
        column = values[chunk * _ROWS : (chunk + 1) * _ROWS, f]
        if not self.categorical[f]:
            row = chunk * _ROWS + int(np.flatnonzero(np.isinf(column))[0])
            raise DataError(f"column {f} is infinite in row {row}: give a number, or NaN where it is missing")
        good = np.isnan(column) | ((column >= 0) & (column < MAX_BINS) & (column == np.floor(column)))
        i = int(np.flatnonzero(~good)[0])
        raise DataError(
            f"column {f} is categorical, but row {chunk * _ROWS + i} holds {column[i]:g}: codes are whole "
            f"numbers from 0 to {MAX_BINS - 1}, or NaN where missing"
        )


@dataclass(frozen=True, eq=False)
class Binned:
    """A matrix as bins, column by column.

    Attributes
    ----------
    codes : uint8 array of (d, n)
        ``codes[f, i]`` is the bin of row `i` in column `f`.
    has_missing : bool array of (d,)
        Columns that have missing values.
    bins : Bins
        The bins that were used.
    """

    codes: NDArray[np.uint8]
    has_missing: NDArray[np.bool_]
    bins: Bins

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.codes.shape[1])

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return int(self.codes.shape[0])

    def select(self, features: list[int], rows: NDArray[np.bool_]) -> Binned:
        """Some of the columns and rows.

        Parameters
        ----------
        features : list of int
            The columns, in the order in which they are wanted.
        rows : bool array of (n,)
            The rows.

        Returns
        -------
        Binned
        """
        bins = Bins(self.bins.edges[features], self.bins.n_bins[features], self.bins.categorical[features])
        codes = np.ascontiguousarray(self.codes[features][:, rows])
        return Binned(codes, self.has_missing[features], bins)


def _matrix(X: ArrayLike) -> NDArray[Any]:
    """`X` itself if it is a float matrix in any memory order. Other numbers become float64."""
    values = np.asarray(X)
    if values.dtype not in (np.float32, np.float64):
        values = values.astype(np.float64)
    if values.ndim != 2 or values.shape[0] == 0 or values.shape[1] == 0:
        raise DataError(f"data must be a matrix with rows and columns, not of shape {values.shape}")
    return values


def _mask(categorical: ArrayLike | None, d: int) -> NDArray[np.bool_]:
    if categorical is None:
        return np.zeros(d, dtype=np.bool_)
    mask = np.array(categorical)
    if mask.dtype != np.bool_ or mask.shape != (d,):
        raise DataError(f"categorical must be one boolean for each of {d} columns, not {categorical!r}")
    return mask


def _finite(column: NDArray[Any], f: int) -> NDArray[Any]:
    """The values of a sorted column that are not missing. NaN is sorted to the end."""
    values = column[: np.searchsorted(column, np.nan)]
    if len(values) and (np.isinf(values[0]) or np.isinf(values[-1])):
        raise DataError(f"column {f} holds infinite values: give numbers, or NaN where they are missing")
    return values


def _cuts(values: NDArray[Any], max_bins: int) -> NDArray[np.float64]:
    """The edges between the bins of one sorted column, one fewer than there are bins."""
    if len(values) == 0:
        return np.empty(0)
    new = np.flatnonzero(values[1:] != values[:-1])
    ends = values[new] if len(new) < max_bins else _ends_by_weight(values, max_bins)
    following = values[np.searchsorted(values, ends, side="right")]
    return _between(ends.astype(np.float64), following.astype(np.float64))


def _ends_by_weight(values: NDArray[Any], max_bins: int) -> NDArray[Any]:
    """The last value of every bin but the last, for a sorted column of many distinct values.

    A value that equals two or more quantiles fills a bin and gets a bin of its own. The other values are
    divided again into the remaining bins. A bin of one value needs two ends, its own and that of the value
    below, and the value equals at least two of the ``max_bins - 1`` quantiles. So at least one bin remains
    for the other values, and there are at most ``max_bins`` bins.
    """
    heavy = _repeated(_quantiles(values, max_bins))
    rest = _without(values, heavy)
    ends = [heavy, _predecessors(values, heavy)]
    if len(rest):
        quantiles = _quantiles(rest, max_bins - 2 * len(heavy))
        ends += [quantiles, _predecessors(rest, _repeated(quantiles))]
    distinct = np.unique(np.concatenate(ends))
    return np.compress(distinct < values[-1], distinct)


def _quantiles(values: NDArray[Any], parts: int) -> NDArray[Any]:
    """The last value of each of `parts` equal parts of a sorted column, without the last part."""
    ends: NDArray[Any] = values[-(-np.arange(1, parts) * len(values) // parts) - 1]
    return ends


def _repeated(quantiles: NDArray[Any]) -> NDArray[Any]:
    """The values that equal more than one quantile."""
    return np.unique(quantiles[1:][quantiles[1:] == quantiles[:-1]])


def _without(values: NDArray[Any], heavy: NDArray[Any]) -> NDArray[Any]:
    keep = np.ones(len(values), dtype=np.bool_)
    for value in heavy:
        keep[np.searchsorted(values, value) : np.searchsorted(values, value, side="right")] = False
    return values[keep]


def _predecessors(values: NDArray[Any], heavy: NDArray[Any]) -> NDArray[Any]:
    """The value just below each heavy value, if there is one."""
    first = np.searchsorted(values, heavy)
    return values[first[first > 0] - 1]


def _between(low: NDArray[np.float64], high: NDArray[np.float64]) -> NDArray[np.float64]:
    """The middle m of neighbours. ``low <= m < high`` holds in spite of rounding."""
    middle = low / 2 + high / 2
    return np.where((low <= middle) & (middle < high), middle, low)


@threaded
def _encode(values, edges, n_bins, categorical, codes, missing, wrong):
    n, d = values.shape
    for chunk in prange(missing.shape[0]):
        first = chunk * _ROWS
        last = min(n, first + _ROWS)
        for f in range(d):
            if categorical[f]:
                _encode_codes(values, f, first, last, codes, missing[chunk], wrong[chunk])
            else:
                _encode_numbers(
                    values, f, first, last, edges[f], n_bins[f], codes, missing[chunk], wrong[chunk]
                )


@compiled
def _encode_numbers(values, f, first, last, edges, n_bins, codes, missing, wrong):
    """The number of edges below each value, by binary search in eight steps without branches."""
    for i in range(first, last):
        x = np.float64(values[i, f])
        low = 0
        for half in (128, 64, 32, 16, 8, 4, 2, 1):
            low += half * (edges[low + half - 1] < x)
        if x != x:
            low = n_bins
            missing[f] = True
        wrong[f] |= abs(x) == np.inf
        codes[f, i] = low


@compiled
def _encode_codes(values, f, first, last, codes, missing, wrong):
    for i in range(first, last):
        x = values[i, f]
        if x != x:
            missing[f] = True
            codes[f, i] = MAX_BINS
        elif 0 <= x < MAX_BINS and x == np.floor(x):
            codes[f, i] = np.uint8(x)
        else:
            wrong[f] = True
