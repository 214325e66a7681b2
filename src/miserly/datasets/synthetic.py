"""Synthetic sets of the papers, and costs in their tiers.

Where a paper leaves a number open (such as the distance between regions), it is chosen here so that the set
has the properties that the paper states; the tests check them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from miserly.costs import Costs
from miserly.datasets.dataset import Dataset
from miserly.errors import DataError

__all__ = [
    "TIERS",
    "make_quadrants",
    "make_ranking",
    "make_ring",
    "make_xor_afr",
    "tier_prices",
    "tiered_costs",
]

Floats32: TypeAlias = NDArray[np.float32]

XOR_PRICES = (1.0, 1.0, 1.0, 2.0, 5.0, 15.0, 25.0, 70.0, 100.0, 1000.0)
QUADRANT_MEANS = {"++": -3.0, "-+": -1.0, "+-": 1.0, "--": 3.0}

# Number of features in each tier, of 519. The tiers are those of the papers. The cost of each feature of the
# Yahoo! set was never published, so these counts only follow the shape that the papers describe.
TIERS: dict[float, int] = {1.0: 123, 5.0: 31, 20.0: 191, 50.0: 125, 100.0: 16, 150.0: 32, 200.0: 1}

DOCUMENTS_PER_QUERY = 473_134 / 19_944
GRADE_SHARES = (0.26, 0.62, 0.88, 0.97)  # the shares of documents at most 0, 1, 2 and 3
N_LATENT = 24
CHUNK_ROWS = 4096  # rows generated at a time, which bounds the memory used besides the matrix
SAMPLE_ROWS = 20_000


def make_xor_afr(n: int = 1000, random_state: int | np.random.Generator | None = None) -> Dataset:
    """XOR of four square regions, observed through ten noisy projections.

    A feature is the coordinate along a random direction plus Gaussian noise of variance 1 / cost, so more
    expensive features are more precise (thesis, Fig. 2.7).

    Parameters
    ----------
    n : int, default=1000
        Number of rows.
    random_state : int, Generator or None, default=None
        Random seed.

    Returns
    -------
    Dataset
        Two classes, ten features that cost from 1 to 1000. The last 36 % of the rows are the test set, as in
        the paper (640 and 360 of 1000).

    Examples
    --------
    >>> data = make_xor_afr(random_state=0)
    >>> data.X.shape, int(data.split.sum()), data.costs.total
    ((1000, 10), 360, 1220.0)
    """
    rng = _generator(n, random_state)
    side = rng.choice([-1.0, 1.0], size=(n, 2))
    points = side * rng.uniform(0.4, 1.2, size=(n, 2))
    angle = rng.uniform(0.0, np.pi, size=len(XOR_PRICES))
    noise = rng.standard_normal((n, len(XOR_PRICES))) / np.sqrt(XOR_PRICES)
    names = tuple(f"f{i}" for i in range(len(XOR_PRICES)))
    return Dataset(
        X=points @ np.array([np.cos(angle), np.sin(angle)]) + noise,
        y=(side[:, 0] * side[:, 1] > 0).astype(np.int64),
        costs=Costs(dict(zip(names, XOR_PRICES, strict=True))),
        feature_names=names,
        split=(np.arange(n) >= round(0.64 * n)).astype(np.int8),
        classes=("different signs", "same sign"),
        description="XOR of four regions behind ten noisy projections (AFR's synthetic set)",
    )


def make_quadrants(n: int = 1000, random_state: int | np.random.Generator | None = None) -> Dataset:
    """Regression where two cheap features tell which of four expensive features equals the label.

    The features sign(x) and sign(z) cost 1. Each of four experts costs 10; it equals the label in its own
    quadrant and is a random label elsewhere (thesis 3.7.1). Labels are N(mean of the quadrant, 1), higher
    where z < 0. The least cost of a perfect prediction is 12.

    Parameters
    ----------
    n : int, default=1000
        Number of rows.
    random_state : int, Generator or None, default=None
        Random seed.

    Returns
    -------
    Dataset
        Six features and a numeric label.

    Examples
    --------
    >>> data = make_quadrants(400, random_state=0)
    >>> data.feature_names, data.costs.of(["sign_x", "sign_z", "expert_--"])
    (('sign_x', 'sign_z', 'expert_++', 'expert_-+', 'expert_+-', 'expert_--'), 12.0)
    """
    rng = _generator(n, random_state)
    sign = np.where(rng.uniform(-1.0, 1.0, size=(n, 2)) > 0, 1.0, -1.0)
    means = np.array(list(QUADRANT_MEANS.values()))
    quadrant = np.where(sign[:, 0] > 0, 0, 1) + np.where(sign[:, 1] > 0, 0, 2)
    y = means[quadrant] + rng.standard_normal(n)
    experts = rng.choice(means, size=(n, 4)) + rng.standard_normal((n, 4))
    experts[np.arange(n), quadrant] = y
    names = ("sign_x", "sign_z", *(f"expert_{where}" for where in QUADRANT_MEANS))
    return Dataset(
        X=np.hstack([sign, experts]),
        y=y,
        costs=Costs(dict(zip(names, [1.0] * 2 + [10.0] * 4, strict=True))),
        feature_names=names,
        description="Four quadrants, each with its own expert feature (CSTC's synthetic set)",
    )


def make_ring(n: int = 600, random_state: int | np.random.Generator | None = None) -> Dataset:
    """Gaussian blob (class 0) inside a noisy ring (class 1), half of the points each (thesis, Fig. 4.2).

    The two coordinates are free; evaluating a kernel costs 1.

    Parameters
    ----------
    n : int, default=600
        Number of rows.
    random_state : int, Generator or None, default=None
        Random seed.

    Returns
    -------
    Dataset
        Two classes, two features.

    Examples
    --------
    >>> data = make_ring(random_state=0)
    >>> data.X.shape, int(data.y.sum()), data.costs.evaluation
    ((600, 2), 300, 1.0)
    """
    rng = _generator(n, random_state)
    inside = (n + 1) // 2
    blob = rng.standard_normal((inside, 2))
    angle = rng.uniform(0.0, 2.0 * np.pi, size=n - inside)
    radius = 4.0 + 0.6 * rng.standard_normal(n - inside)
    ring = radius[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
    order = rng.permutation(n)
    return Dataset(
        X=np.vstack([blob, ring])[order],
        y=np.repeat([0, 1], [inside, n - inside])[order],
        costs=Costs({"x": 0.0, "z": 0.0}, evaluation=1.0, unit="kernels"),
        feature_names=("x", "z"),
        classes=("blob", "ring"),
        description="A blob inside a ring (CVM's synthetic set)",
    )


def _generator(n: int, random_state: int | np.random.Generator | None) -> np.random.Generator:
    if n < 1:
        raise DataError(f"a data set needs at least one row, not {n}")
    return np.random.default_rng(random_state)


# -- costs in the tiers of the papers, for data sets without costs of their own ------------------------------


def tiered_costs(
    columns: int | Sequence[str], random_state: int | np.random.Generator | None = None, unit: str = ""
) -> Costs:
    """Assign costs of 1, 5, 20, 50, 100, 150 and 200 at random, in the proportions of `TIERS`.

    Parameters
    ----------
    columns : int or sequence of str
        Number of columns, or their names.
    random_state : int, Generator or None, default=None
        Random seed.
    unit : str, default=""
        Unit of the costs.

    Returns
    -------
    Costs
        One cost per column.

    Examples
    --------
    >>> sorted(tiered_costs(10, random_state=0).feature.tolist())
    [1.0, 1.0, 5.0, 20.0, 20.0, 20.0, 20.0, 50.0, 50.0, 150.0]
    """
    n = columns if isinstance(columns, (int, np.integer)) else len(columns)
    prices = np.random.default_rng(random_state).permutation(tier_prices(int(n)))
    if isinstance(columns, (int, np.integer)):
        return Costs(prices, unit=unit)
    return Costs(dict(zip(columns, prices, strict=True)), unit=unit)


def tier_prices(n_features: int) -> NDArray[np.float64]:
    """Costs of `n_features` features, cheapest first: the shares of the tiers, rounded to add up."""
    shares = np.array(list(TIERS.values())) * n_features / sum(TIERS.values())
    counts = np.floor(shares).astype(np.int64)
    largest_rest = np.argsort(counts - shares, kind="stable")
    counts[largest_rest[: n_features - counts.sum()]] += 1
    return np.repeat(list(TIERS), counts)


# -- ranking -------------------------------------------------------------------------------------------------

# Ranking data of any size, similar to the Yahoo! Learning to Rank set of the papers: 519 sparse, correlated
# features in seven cost tiers, about 24 documents per query, grades 0 to 4 with the usual shares, columns
# that describe the query alone, and one feature that is both the most informative and the most expensive.


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
