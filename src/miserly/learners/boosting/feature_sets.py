"""Sets of features and what short boosted models on them gain and reach, each computed once."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, replace
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from miserly.costs import Costs, Ledger
from miserly.data.rows import Rows, validation_mask
from miserly.grow import Bins, Grower, GrowOptions
from miserly.grow.level_gain import level_gains
from miserly.learners.common.booster import Booster, boost
from miserly.learners.common.round import Round, add_rounds
from miserly.learners.common.training import ScoreEvaluator
from miserly.losses import Loss
from miserly.metrics import Metric

__all__ = [
    "STEP",
    "FeatureSets",
    "SetOptions",
    "feature_sets",
    "short_rounds",
    "subsample",
    "validation_masks",
]

Floats = NDArray[np.float64]
Features = tuple[int, ...]  # sorted
Rank = tuple[float, float]  # the metric, where larger is better, then the negative loss

MAX_ROWS = 10_000  # larger tables are subsampled
MAX_BINS = 32
N_ROUNDS = 20
N_TREES = 240  # in all rounds, where there are many classes ...
LEAST_ROUNDS = 8  # ... but so many rounds
STEP = 0.3
N_CELLS = 48  # of the tree in whose leaves one more split is evaluated
MIN_CELL = 20
MIN_HESSIAN = 1e-3
VALIDATION_ROWS = 3000  # wanted in all validation sets together ...
MAX_SPLITS = 5  # ... of which there are at most so many
N_TABLES = 4  # whose results are kept: a search fits the same rows, or folds of them, at many budgets
MOST_BYTES = 64 << 20  # of their rows together


@dataclass(frozen=True, eq=False)
class SetOptions:
    """How models on sets of features are grown and evaluated.

    Attributes
    ----------
    loss : Loss
        The loss that models decrease.
    metric : Metric
        What they are evaluated by.
    is_classifier : bool
        Whether labels are classes.
    validation_fraction : float
        Share of the rows in a validation set.
    growth : GrowOptions
        Limits of trees.
    categorical : bool array of (d,)
        Columns that hold categories.
    seed : int
        Random seed of all divisions of the rows.
    n_threads : int or None
        Number of threads.
    """

    loss: Loss
    metric: Metric
    is_classifier: bool
    validation_fraction: float
    growth: GrowOptions
    categorical: NDArray[np.bool_]
    seed: int
    n_threads: int | None


class FeatureSets:
    """Gains and validation metrics of short boosted models on sets of features.

    More than 10,000 rows are subsampled. Features are binned once, into at most 32 bins. Results are kept by
    set, so that several purchase orders share them.

    Parameters
    ----------
    rows : Rows
        Training rows.
    options : SetOptions
        How models are grown and evaluated.
    """

    def __init__(self, rows: Rows, options: SetOptions) -> None:
        self.options = options
        self._rows = subsample(rows, options)
        fitted = Bins.fit(self._rows.X, MAX_BINS, options.categorical, random_state=options.seed)
        self._binned = fitted.transform(self._rows.X, options.n_threads)
        self._base = options.loss.initial(self._rows.y, self._rows.weight)
        self._half = _mask(self._rows, options, 0.5, 0)
        self._held_out = validation_masks(self._rows, options, VALIDATION_ROWS)
        self._kept: dict[tuple[str, Features], Any] = {}

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return self._binned.n_features

    @property
    def n_bytes(self) -> int:
        """The size of its rows in memory."""
        return int(self._rows.X.nbytes + self._binned.codes.nbytes)

    @property
    def work(self) -> int:
        """How many rows all trees of one evaluation see."""
        return len(self._rows) * len(self._held_out) * self.options.loss.n_scores * self._n_rounds

    @property
    def _n_rounds(self) -> int:
        return short_rounds(self.options.loss)

    def total_gain(self, features: Features) -> Floats:
        """How much the splits on each feature lower the loss, in a model on some features.

        Parameters
        ----------
        features : tuple of int
            The features, sorted.

        Returns
        -------
        array of (d,)
            0 for columns that are not in the set.
        """
        return self._once("total gain", features, self._total_gain)

    def level_gain(self, features: Features) -> Floats:
        """How much one more level of splits on each other feature would lower the loss.

        A model on the set gives the scores of each half of the rows from the other half. A small tree on the
        set divides the rows into cells. `miserly.grow.level_gain` says how splits are chosen and evaluated.

        Parameters
        ----------
        features : tuple of int
            The features, sorted.

        Returns
        -------
        array of (d,)
            Decrease of the mean loss; minus infinity for features of the set, and columns with one value.
        """
        return self._once("level gain", features, self._level_gain)

    def rank(self, features: Features) -> Rank:
        """How good a model on a set is on validation rows: the metric, then the loss.

        Parameters
        ----------
        features : tuple of int
            The features, sorted.

        Returns
        -------
        tuple of (float, float)
            The mean metric over the validation sets and the negative mean loss; larger is better in both.
        """
        return self._once("rank", features, self._rank)

    def _once(self, what: str, features: Features, compute: Callable[[Features], Any]) -> Any:
        if (what, features) not in self._kept:
            self._kept[what, features] = compute(features)
        return self._kept[what, features]

    # -- models on sets ------------------------------------------------------------------------------

    def _total_gain(self, features: Features) -> Floats:
        gain = np.zeros(self.n_features)
        if features:
            rounds = self._boost(features, np.ones(len(self._rows), dtype=np.bool_))
            gain[list(features)] = np.sum([np.zeros(len(features)), *(one.gain for one in rounds)], axis=0)
        return gain

    def _level_gain(self, features: Features) -> Floats:
        rows, options = self._rows, self.options
        scores = np.empty((len(rows), options.loss.n_scores))
        for half in (self._half, ~self._half):
            scores[half] = self._scores_of(features, learned=~half, wanted=half)
        gradient, hessian = options.loss.gradient_hessian(rows.y, scores, rows.weight)
        splittable = self._binned.bins.n_bins + self._binned.has_missing > 1
        splittable[list(features)] = False
        others = np.flatnonzero(splittable)
        gain = np.full(self.n_features, -np.inf)
        total = options.loss.total_weight(rows.y, rows.weight)
        gain[others] = level_gains(
            self._binned,
            others,
            self._cells(features),
            self._half,
            gradient,
            np.maximum(hessian, MIN_HESSIAN),
            n_threads=options.n_threads,
        )
        return gain / total

    def _cells(self, features: Features) -> NDArray[np.int64]:
        """The leaf of each row in a small tree on the bins of some features."""
        if not features:
            return np.zeros(len(self._rows), dtype=np.int64)
        kind = DecisionTreeClassifier if self.options.is_classifier else DecisionTreeRegressor
        least = max(MIN_CELL, len(self._rows) // 400)
        tree = kind(max_leaf_nodes=N_CELLS, min_samples_leaf=least, random_state=0)
        codes = self._binned.codes[list(features)].T.astype(np.float32)
        leaf = tree.fit(codes, self._rows.y, sample_weight=self._rows.weight).apply(codes)
        return np.asarray(np.unique(leaf, return_inverse=True)[1], dtype=np.int64)

    def _rank(self, features: Features) -> Rank:
        ranks = []
        for held_out in self._held_out:
            scores = self._scores_of(features, learned=~held_out, wanted=held_out)
            evaluator = ScoreEvaluator(self.options.metric, self.options.loss, self._rows.take(held_out))
            ranks.append(evaluator.rank(scores, evaluator.value(scores)))
        metric, loss = np.mean(ranks, axis=0)
        return float(metric), float(loss)

    def _scores_of(self, features: Features, learned: NDArray[np.bool_], wanted: NDArray[np.bool_]) -> Floats:
        """Scores of some rows by a model that learned from others."""
        scores = np.tile(self._base, (int(wanted.sum()), 1))
        rounds = self._boost(features, learned) if features else []
        if rounds:
            X = self._rows.X[np.flatnonzero(wanted)[:, None], np.array(features)]
            add_rounds(scores, rounds, X, Costs(np.zeros(len(features))), self.options.n_threads)
        return scores

    def _boost(self, features: Features, learned: NDArray[np.bool_]) -> list[Round]:
        binned = self._binned.select(list(features), learned)
        free = Costs(np.zeros(len(features)))
        grower = Grower(binned, free, self.options.growth, self.options.n_threads)
        some = replace(self._rows, X=self._rows.X[:, :0]).take(learned)
        booster = Booster(
            loss=self.options.loss,
            samples=some,
            grower=grower,
            ledger=Ledger(free),
            scores=np.asfortranarray(np.tile(self._base, (len(some), 1))),
            tradeoff=0.0,
            step=STEP,
        )
        return boost(booster, self._n_rounds)


_recent: OrderedDict[bytes, FeatureSets] = OrderedDict()
_lock = Lock()


def feature_sets(rows: Rows, options: SetOptions) -> FeatureSets:
    """The `FeatureSets` of some rows, with the results of earlier fits to the same rows in this process.

    Fits at several budgets need models on the same sets. Results are the same with and without earlier fits.

    Parameters
    ----------
    rows : Rows
        Training rows.
    options : SetOptions
        How models are grown and evaluated.

    Returns
    -------
    FeatureSets
        That of an earlier call, if rows and options are equal, else a new one. Four are kept at most, and
        64 MB of rows.
    """
    key = _fingerprint(rows, options)
    with _lock:
        found = _recent.get(key)
    found = found or FeatureSets(rows, options)
    with _lock:
        _recent[key] = found
        _recent.move_to_end(key)
        while len(_recent) > N_TABLES or sum(one.n_bytes for one in _recent.values()) > MOST_BYTES:
            _recent.popitem(last=False)
    return found


def _fingerprint(rows: Rows, options: SetOptions) -> bytes:
    digest = hashlib.blake2b(digest_size=32)
    for array in (rows.X, rows.y, rows.weight, rows.qid, options.categorical):
        values = np.ascontiguousarray(np.empty(0) if array is None else array)
        text = repr((values.dtype.str, values.shape)) if values.dtype != object else repr(values.tolist())
        digest.update(text.encode())
        if values.dtype != object:
            digest.update(values.reshape(-1).view(np.uint8).data)
    metric = options.metric
    digest.update(repr((type(options.loss), options.loss.n_scores, options.is_classifier)).encode())
    digest.update(repr((metric.name, metric.needs, id(metric.function), options.growth)).encode())
    digest.update(repr((options.validation_fraction, options.seed)).encode())
    return digest.digest()


def short_rounds(loss: Loss) -> int:
    """The number of rounds of a short model: fewer where there are many classes."""
    return int(np.clip(N_TREES // loss.n_scores, LEAST_ROUNDS, N_ROUNDS))


def subsample(rows: Rows, options: SetOptions, most: int | None = None) -> Rows:
    """At most `MAX_ROWS` rows, or `most`: the same share of each class, whole queries if there are any."""
    most = MAX_ROWS if most is None else most
    if len(rows) <= most:
        return rows
    return rows.take(_mask(rows, options, most / len(rows), 0)).with_mean_weight_one()


def validation_masks(rows: Rows, options: SetOptions, wanted: int) -> list[NDArray[np.bool_]]:
    """Validation sets of some rows: one, or up to five if one has fewer rows than are wanted.

    Parameters
    ----------
    rows : Rows
        The rows.
    options : SetOptions
        The share of the rows in a validation set, and the seed.
    wanted : int
        Number of validation rows that all sets together should have.

    Returns
    -------
    list of bool arrays of (n,)
    """
    fraction = options.validation_fraction
    n_sets = int(np.clip(np.ceil(wanted / (fraction * len(rows))), 1, MAX_SPLITS))
    return [_mask(rows, options, fraction, 1 + number) for number in range(n_sets)]


def _mask(rows: Rows, options: SetOptions, fraction: float, number: int) -> NDArray[np.bool_]:
    classes = rows.y if options.is_classifier else None
    return validation_mask(len(rows), fraction, options.seed + number, classes, rows.qid)
