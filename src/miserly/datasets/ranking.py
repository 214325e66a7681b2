"""Synthetic ranking data of any size, similar to the Yahoo! Learning to Rank set of the papers.

It has 519 sparse, correlated features in seven cost tiers, about 24 documents per query, grades 0 to 4 with
the usual shares, columns that describe the query alone, and one feature that is both the most informative and
the most expensive.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from miserly.costs import Costs
from miserly.datasets.dataset import Dataset
from miserly.datasets.tiers import tier_prices
from miserly.errors import DataError

__all__ = ["make_ranking"]

Floats32 = NDArray[np.float32]

DOCUMENTS_PER_QUERY = 473_134 / 19_944
GRADE_SHARES = (0.26, 0.62, 0.88, 0.97)  # the shares of documents at most 0, 1, 2 and 3
N_LATENT = 24
CHUNK_ROWS = 4096  # rows generated at a time, which bounds the memory used besides the matrix
SAMPLE_ROWS = 20_000


def make_ranking(
    n_rows: int = 10_000,
    n_features: int = 519,
    random_state: int | np.random.Generator | None = None,
    n_queries: int | None = None,
    evaluation: float = 0.0,
) -> Dataset:
    """Generate a ranking set with query ids and costs from 1 to 200.

    Every document has latent traits, a part of which it shares with the other documents of its query.
    Features are noisy, rectified linear combinations of the traits; a tenth of them depend on the shared part
    only. The grade depends on a few traits and their interactions.

    Parameters
    ----------
    n_rows : int, default=10_000
        Number of documents.
    n_features : int, default=519
        Number of features.
    random_state : int, Generator or None, default=None
        Random seed.
    n_queries : int, optional
        Number of queries; by default one per 24 documents.
    evaluation : float, default=0.0
        Cost of evaluating a tree. It is 1 in the papers, the unit of their costs.

    Returns
    -------
    Dataset
        Features in single precision, grades 0 to 4, query ids and costs. The matrix is generated a few
        thousand rows at a time, so little more memory than the matrix is used.

    Raises
    ------
    DataError
        If a size is less than 1, or there are more queries than rows.

    Examples
    --------
    >>> data = make_ranking(2_000, random_state=0)
    >>> data.X.shape, data.X.dtype.name, len(set(data.qid.tolist())), data.costs.total
    ((2000, 519), 'float32', 84, 16948.0)
    """
    if n_rows < 1 or n_features < 1:
        raise DataError(f"{n_rows} rows of {n_features} features make no data set")
    rng = np.random.default_rng(random_state)
    sizes = _query_sizes(n_rows, n_queries, rng)
    qid = np.repeat(np.arange(len(sizes), dtype=np.int32), sizes)
    X, merit = _fill(qid, n_features, rng)
    y = np.digitize(merit, np.quantile(merit, GRADE_SHARES)).astype(np.int8)
    names = tuple(f"f{i:03d}" for i in range(n_features))
    prices = _prices(X[:SAMPLE_ROWS], y[:SAMPLE_ROWS], rng)
    return Dataset(
        X=X,
        y=y,
        costs=Costs(dict(zip(names, prices, strict=True)), evaluation=evaluation, unit="trees"),
        feature_names=names,
        qid=qid,
        description="Generated in the likeness of the Yahoo! Learning to Rank Challenge set",
    )


def _query_sizes(n_rows: int, n_queries: int | None, rng: np.random.Generator) -> NDArray[np.int64]:
    """Number of documents of each query: at least one, gamma distributed."""
    if n_queries is None:
        n_queries = max(1, round(n_rows / DOCUMENTS_PER_QUERY))
    if not 1 <= n_queries <= n_rows:
        raise DataError(f"{n_rows} rows cannot be {n_queries} queries")
    popularity = rng.gamma(2.0, size=n_queries)
    return 1 + rng.multinomial(n_rows - n_queries, popularity / popularity.sum())


def _fill(qid: NDArray[np.int32], n_features: int, rng: np.random.Generator) -> tuple[Floats32, Floats32]:
    """Features, and the latent merit of each document, which quantiles turn into grades."""
    n_queries = int(qid[-1]) + 1
    loads = rng.standard_normal((N_LATENT, n_features), dtype=np.float32)
    loads *= rng.random((N_LATENT, n_features)) < 0.25
    floor = _floors(loads, rng)
    of_query = rng.random(n_features) < 0.1  # columns that describe the query alone
    trait = rng.standard_normal((n_queries, N_LATENT), dtype=np.float32)
    shared = _features(trait, loads[:, of_query], floor[of_query], rng)
    X = np.empty((len(qid), n_features), dtype=np.float32)
    merit = np.empty(len(qid), dtype=np.float32)
    for start in range(0, len(qid), CHUNK_ROWS):
        rows = slice(start, start + CHUNK_ROWS)
        own = rng.standard_normal((len(qid[rows]), N_LATENT), dtype=np.float32)
        traits = np.float32(0.8) * own + np.float32(0.6) * trait[qid[rows]]  # 0.8^2 + 0.6^2 = 1
        _features(traits, loads, floor, rng, out=X[rows])
        X[rows, of_query] = shared[qid[rows]]
        merit[rows] = _merit(traits) + 0.3 * rng.standard_normal(len(traits), dtype=np.float32)
    return X, merit


def _floors(loads: Floats32, rng: np.random.Generator) -> Floats32:
    """Level of each column below which it is zero: for 30 to 90 % of the documents, 60 % on average."""
    zeros = rng.uniform(0.3, 0.9, size=loads.shape[1])
    spread = np.sqrt((loads**2).sum(axis=0) + 0.64)
    floors: Floats32 = (ndtri(zeros) * spread).astype(np.float32)
    return floors


def _features(
    traits: Floats32, loads: Floats32, floor: Floats32, rng: np.random.Generator, out: Floats32 | None = None
) -> Floats32:
    """Noisy linear combinations of the traits, minus the floor, rectified."""
    if out is None:
        out = np.empty((len(traits), loads.shape[1]), dtype=np.float32)
    rng.standard_normal(out=out, dtype=np.float32)
    out *= np.float32(0.8)
    out += traits @ loads
    out -= floor
    np.maximum(out, 0, out=out)
    return out


def _merit(traits: Floats32) -> Floats32:
    """Merit of a document: a linear effect, an interaction, a sine and an absolute value."""
    first, second, switch, wave, fold = traits[:, :5].T
    merit: Floats32 = 0.9 * first + 0.7 * second * (switch > 0) + 0.5 * np.sin(2 * wave) + 0.4 * np.abs(fold)
    return merit


def _prices(X: Floats32, y: NDArray[np.int8], rng: np.random.Generator) -> NDArray[np.float64]:
    """Tier costs at random, except that the most informative feature gets the highest."""
    prices = rng.permutation(tier_prices(X.shape[1]))
    grade = (y - y.mean()).astype(np.float32)  # in single precision throughout: no copy of X is made
    variance = np.einsum("ij,ij->j", X, X) / len(X) - X.mean(axis=0) ** 2
    informative = int(np.argmax(np.abs(grade @ X) / np.sqrt(np.maximum(variance, 1e-12))))
    expensive = int(np.argmax(prices))
    prices[[informative, expensive]] = prices[[expensive, informative]]
    return prices
