"""The data sets of the budgeted boosting paper, binarised as in its table 1."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from miserly import Binariser
from miserly.datasets import load


@dataclass(frozen=True, eq=False)
class BinarySet:
    """Columns of 0 and 1, labels 0 and 1, and the paper's sizes: training rows, test rows, rounds
    of AdaBoost, number of columns."""

    name: str
    X: np.ndarray  # uint8
    y: np.ndarray
    n_train: int
    n_test: int
    rounds: int
    columns: int

    def trial(self, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Training rows, test rows, and what every column costs, uniform on [0, 2]."""
        random = np.random.default_rng(seed)
        order = random.permutation(len(self.y))[: self.n_train + self.n_test]
        costs = random.uniform(0.0, 2.0, self.X.shape[1])
        return order[: self.n_train], order[self.n_train :], costs


def _digits(one: int, other: int) -> tuple[np.ndarray, np.ndarray]:
    """The 403 pixels that are black and white most evenly, black where darker than half."""
    data = load("mnist")
    rows = np.isin(data.y, (one, other))
    pixels = (data.X[rows] > 127).astype(np.uint8)
    share = pixels.mean(axis=0)
    kept = np.sort(np.argsort(-share * (1 - share), kind="stable")[:403])
    return pixels[:, kept], (data.y[rows] == other).astype(int)


def _splice() -> tuple[np.ndarray, np.ndarray]:
    """Four letters in sixty places; rare signs for unknown letters are none of them."""
    data = load("splice")
    columns = (data.X[:, :, None] == np.arange(4)).reshape(len(data.y), -1)
    return columns.astype(np.uint8), data.extra["y_binary"].astype(int)


def _census() -> tuple[np.ndarray, np.ndarray]:
    data = load("adult")
    binariser = Binariser(max_thresholds=6, categorical_features=np.asarray(data.categorical))
    return _binary(binariser, data.X), data.y.astype(int)


def _plain(name: str, categorical: tuple[str, ...] = ()) -> Callable[[], tuple[np.ndarray, np.ndarray]]:
    """Every threshold of every numeric column, every category of the others."""

    def make() -> tuple[np.ndarray, np.ndarray]:
        data = load(name)
        listed = np.isin(np.array(data.feature_names), categorical)
        labels = data.extra.get("y_binary", data.y)
        return _binary(Binariser(categorical_features=listed), data.X), np.asarray(labels).astype(int)

    return make


def _binary(binariser: Binariser, X: np.ndarray) -> np.ndarray:
    """Columns of 0 and 1; what is missing answers every question with no."""
    return np.nan_to_num(binariser.fit_transform(np.asarray(X, dtype=np.float64))).astype(np.uint8)


# Training rows, test rows, rounds of AdaBoost and number of columns, as in the paper's table 1.
_SETS: dict[str, tuple[Callable[[], tuple[np.ndarray, np.ndarray]], int, int, int, int]] = {
    "ocr17": (lambda: _digits(1, 7), 1000, 5000, 400, 403),
    "ocr49": (lambda: _digits(4, 9), 1000, 5000, 200, 403),
    "splice": (_splice, 1000, 2175, 75, 240),
    "census": (_census, 1000, 5000, 880, 131),
    "breast cancer": (_plain("breast_cancer_wisconsin"), 500, 199, 500, 82),
    "ecoli": (_plain("ecoli"), 200, 136, 50, 356),
    "sonar": (_plain("sonar"), 100, 108, 99, 11196),
    "heart": (_plain("heart_statlog", ("cp", "restecg", "slope", "thal")), 100, 170, 15, 371),
    "ionosphere": (_plain("ionosphere"), 300, 51, 400, 8114),
}
NAMES = tuple(_SETS)


def binary_set(name: str) -> BinarySet:
    make, n_train, n_test, rounds, columns = _SETS[name]
    X, y = make()
    return BinarySet(name, X, y, n_train, n_test, rounds, columns)


PRICES = (0.1, 0.5, 1.0, 2.0, 5.0, 10.0, 15.0, 20.0)


def ranking_set() -> BinarySet:
    """MSLR's documents, relevant or not, in place of Yahoo's; columns are numbers here, cut anywhere."""
    data = load("mslr_web10k_sample")
    X = np.asarray(data.X, dtype=np.float64)
    return BinarySet("web documents", X, (data.y > 0).astype(int), 5000, 5000, 500, 519)
