"""The documents of the text cascade, and its three models of very different price."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

from miserly.datasets import load

SET = "newsgroups20_bow1500"


MODELS, PLAN, TEST = 8_000, 6_000, 4_000  # documents that models, plans and figures are from


@dataclass(frozen=True, eq=False)
class Documents:
    """Texts and their newsgroups."""

    texts: list[str]
    y: np.ndarray

    def __len__(self) -> int:
        return len(self.y)

    def part(self, rows: slice) -> Documents:
        return Documents(self.texts[rows], self.y[rows])


def documents(seed: int, sizes: tuple[int, ...] = (MODELS, PLAN, TEST)) -> list[Documents]:
    """Draw documents in parts. The set has word counts: a text has each word as often as it was counted."""
    data = load(SET)
    words = np.array(data.feature_names, dtype=object)
    labels = np.array([str(name) for name in data.classes])[data.y.astype(int)]
    order = np.random.default_rng(seed).permutation(len(labels))
    parts, first = [], 0
    for size in sizes:
        rows = order[first : first + size]
        first += size
        texts = [" ".join(np.repeat(words, data.X[row].astype(int))) for row in rows]
        parts.append(Documents(texts, labels[rows]))
    return parts


class KeywordRule(ClassifierMixin, BaseEstimator):
    """A few keywords for each class: the class with most of them in the document.

    Parameters
    ----------
    n_words : int, default=15
        Number of keywords for each class: those whose share of documents is highest above that elsewhere.
    """

    def __init__(self, n_words: int = 15) -> None:
        self.n_words = n_words

    def fit(self, X: Any, y: Any) -> KeywordRule:
        self.classes_, codes = np.unique(y, return_inverse=True)
        counts: dict[str, np.ndarray] = {}
        for text, code in zip(X, codes, strict=True):
            for word in set(text.split()):
                counts.setdefault(word, np.zeros(len(self.classes_)))[code] += 1
        words = np.array(list(counts), dtype=object)
        found = np.array(list(counts.values()))
        inside = found / np.bincount(codes)
        outside = (found.sum(axis=1, keepdims=True) - found) / (len(codes) - np.bincount(codes))
        self.keywords_: dict[str, list[tuple[int, float]]] = {}
        for k in range(len(self.classes_)):
            lift = np.log((inside[:, k] + 0.005) / (outside[:, k] + 0.005))
            for i in np.argsort(-(inside[:, k] - outside[:, k]))[: self.n_words]:
                self.keywords_.setdefault(words[i], []).append((k, float(lift[i])))
        return self

    def predict_proba(self, X: Any) -> np.ndarray:
        votes = np.zeros((len(X), len(self.classes_)))
        for row, text in zip(votes, X, strict=True):
            for word in set(text.split()):
                for k, lift in self.keywords_.get(word, ()):
                    row[k] += lift
        shares = np.exp(votes - votes.max(axis=1, keepdims=True))
        return shares / shares.sum(axis=1, keepdims=True)

    def predict(self, X: Any) -> np.ndarray:
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


class KernelMachine(SVC):
    """`SVC(decision_function_shape="ovo")` whose decision values are those of "ovr", without a slow loop.

    In scikit-learn the sum over 190 pairs of classes takes as long for one document as all kernels do.
    """

    def decision_function(self, X: Any) -> np.ndarray:
        pairs = super().decision_function(X)
        first, second = np.triu_indices(len(self.classes_), k=1)
        one = np.eye(len(self.classes_))
        votes = (pairs >= 0) @ one[first] + (pairs < 0) @ one[second]
        sums = pairs @ (one[first] - one[second])
        return votes + sums / (3.0 * (np.abs(sums) + 1.0))


def models() -> dict[str, Any]:
    """Keyword rule, linear model, kernel machine."""
    words = TfidfVectorizer(sublinear_tf=True, token_pattern=r"\S+")
    return {
        "rule": KeywordRule(),
        "linear": make_pipeline(words, LogisticRegression(C=5.0, max_iter=300)),
        "kernel": make_pipeline(
            words, KernelMachine(C=10.0, gamma=1.0, cache_size=1000, decision_function_shape="ovo")
        ),
    }
