"""The sets of Fig. 4.3 (thesis), made ready for kernel machines, and the machines trained on them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from miserly.data.rows import validation_mask
from miserly.datasets import load

SETS = ("page_blocks", "magic", "letter", "newsgroups20_bow1500", "mnist")
MAX_ROWS = {"mnist": 10_000}  # to learn from: the full SVM takes too long with all of them on two cores
GRID_ROWS = 4_000  # that choose C and gamma
C_GRID = (1.0, 10.0, 100.0)
GAMMA_GRID = (0.25, 1.0, 4.0)  # times that of gamma="scale"


@dataclass(frozen=True, eq=False)
class Rows:
    """One draw of a set: training rows and test rows, ready for a kernel."""

    name: str
    X: np.ndarray
    y: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray

    def accuracy(self, labels: np.ndarray) -> float:
        return float(np.mean(labels == self.y_test))


def rows_of(name: str, seed: int, most: int | None = None) -> Rows:
    """A set by name. `seed` draws the split where none is published, and which rows are learned from."""
    data = load(name)
    y = data.extra["y_binary"] if name == "page_blocks" else data.y
    if data.split is not None:
        test = data.split == 1
    else:
        test = validation_mask(len(y), 0.2, seed, y)
    learn = np.random.default_rng(seed).permutation(np.flatnonzero(~test))
    learn = learn[: min(MAX_ROWS.get(name, len(learn)), most or len(learn))]
    ready = _ready(name, data.X[learn])
    return Rows(name, ready(data.X[learn]), y[learn], ready(data.X[test]), y[test])


def _ready(name: str, X: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    """Columns on one scale; words weighed by how rare they are, documents of one length."""
    if name == "mnist":
        return lambda X: X.astype(np.float64) / 255.0
    if name == "newsgroups20_bow1500":
        words = TfidfTransformer(sublinear_tf=True).fit(X.astype(np.float64))
        return lambda X: words.transform(X.astype(np.float64)).toarray()
    scaler = StandardScaler().fit(X.astype(np.float64))
    return lambda X: scaler.transform(X.astype(np.float64))


def chosen_parameters(rows: Rows, seed: int, most: int = GRID_ROWS) -> dict[str, float]:
    """C and gamma by the accuracy on a fifth of (some of) the rows to learn from."""
    some = np.random.default_rng(seed).permutation(len(rows.y))[:most]
    X, y = rows.X[some], rows.y[some]
    held_out = validation_mask(len(y), 0.2, seed, y)
    scale = 1.0 / (X.shape[1] * X.var())
    tried: dict[tuple[float, float], float] = {}
    for C in C_GRID:
        for factor in GAMMA_GRID:
            model = SVC(C=C, gamma=scale * factor, cache_size=500).fit(X[~held_out], y[~held_out])
            tried[C, scale * factor] = model.score(X[held_out], y[held_out])
    C, gamma = max(tried, key=lambda key: (tried[key], -key[0], -key[1]))
    return {"C": C, "gamma": gamma}


def full_machine(rows: Rows, seed: int, most: int = GRID_ROWS) -> Any:
    """The SVM that is to be made smaller."""
    return SVC(**chosen_parameters(rows, seed, most), cache_size=1000).fit(rows.X, rows.y)
