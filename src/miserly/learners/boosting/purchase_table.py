"""Rows that buy features: models on what they have bought, and gains of what they may buy next."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from miserly.costs import Costs
from miserly.data.rows import Rows
from miserly.grow.binning import Binned
from miserly.grow.level_gain import level_gains
from miserly.learners.common.masked_boosting import Boosting, masked_rounds
from miserly.learners.common.purchase_branches import Branch, Split, bought_table
from miserly.learners.common.round import add_rounds

__all__ = ["PurchaseTable"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

L2 = 1.0
MIN_HESSIAN = 1e-3


@dataclass(eq=False)
class PurchaseTable:
    """Rows with their bins, and what boosted models on parts of them reach.

    Attributes
    ----------
    rows : Rows
        Training rows.
    binned : Binned
        Their bins.
    half : bool array of (n,)
        The half of each row. Models and splits are chosen on one half and evaluated on the other.
    base : array of (K,)
        Scores without any feature.
    boosting : Boosting
        How models are grown.
    is_classifier : bool
        Whether labels are classes.
    """

    rows: Rows
    binned: Binned
    half: NDArray[np.bool_]
    base: Floats
    boosting: Boosting
    is_classifier: bool

    @property
    def splittable(self) -> NDArray[np.bool_]:
        """Columns with more than one bin."""
        return np.asarray(self.binned.bins.n_bins + self.binned.has_missing > 1)

    def honest_scores(self, leaves: list[Branch]) -> Floats:
        """Scores (n, K) by what rows have bought, of models that learned from the other half of the rows."""
        n, d = len(self.rows), self.binned.n_features
        scores = np.tile(self.base, (n, 1))
        bought = bought_table([(leaf.bought, leaf.rows) for leaf in leaves], (n, d))
        features = np.flatnonzero(bought.any(axis=0))
        for half in (self.half, ~self.half) if len(features) else ():
            binned = Binned(
                np.ascontiguousarray(self.binned.codes[:, ~half]), self.binned.has_missing, self.binned.bins
            )
            rounds = masked_rounds(binned, bought[~half], self.rows.take(~half), self.base, self.boosting)
            if rounds:
                X = np.where(bought[half], self.rows.X[half], np.nan)
                wanted = np.tile(self.base, (len(X), 1))
                add_rounds(wanted, rounds, X, Costs(np.zeros(d)), self.boosting.n_threads)
                scores[half] = wanted
        return scores

    def divided(self, rows: Ints, bought: tuple[int, ...], n_parts: int, least: int) -> Branch:
        """Some rows divided into parts of at least `least` rows, by a small tree on bought features."""
        root = Branch(rows, bought)
        if not bought or n_parts < 2 or len(rows) < 2 * least:
            return root
        kind = DecisionTreeClassifier if self.is_classifier else DecisionTreeRegressor
        tree = kind(max_leaf_nodes=n_parts, min_samples_leaf=least, random_state=0)
        codes = np.ascontiguousarray(self.binned.codes[list(bought)][:, rows].T, dtype=np.float32)
        weight = None if self.rows.weight is None else self.rows.weight[rows]
        found = tree.fit(codes, self.rows.y[rows], sample_weight=weight, check_input=False).tree_
        todo = [(0, root)]
        while todo:
            node, branch = todo.pop()
            if found.children_left[node] < 0:
                continue
            feature = bought[found.feature[node]]
            branch.split = Split(feature, int(np.floor(found.threshold[node])))
            low = branch.split.goes_low(self.binned, branch.rows)
            branch.children = (Branch(branch.rows[low], bought), Branch(branch.rows[~low], bought))
            todo += zip((found.children_left[node], found.children_right[node]), branch.children, strict=True)
        return root

    def gains(self, features: Ints, rows: Ints, scores: Floats) -> Floats:
        """Total gain of one split on each of some features among some rows; minus infinity elsewhere."""
        gradient, hessian = self._derivatives(rows, scores)
        found = np.full(self.binned.n_features, -np.inf)
        codes = np.ascontiguousarray(self.binned.codes[:, rows])
        found[features] = level_gains(
            Binned(codes, self.binned.has_missing, self.binned.bins),
            features,
            np.zeros(len(rows), dtype=np.int64),
            self.half[rows],
            gradient,
            hessian,
            l2=L2,
            n_threads=self.boosting.n_threads,
        )
        return found

    def corrected(self, rows: Ints, scores: Floats) -> tuple[Floats, float]:
        """Scores of rows that turned out to be in one cell, and how much that lowers the total loss.

        Each half takes the step that the other half would take.
        """
        gradient, hessian = self._derivatives(rows, scores)
        corrected, gain = scores.copy(), 0.0
        for half in (self.half[rows], ~self.half[rows]):
            step = -gradient[~half].sum(axis=0) / (hessian[~half].sum(axis=0) + L2)
            corrected[half] += step
            gain -= float(
                (step * gradient[half].sum(axis=0) + 0.5 * step**2 * hessian[half].sum(axis=0)).sum()
            )
        return corrected, gain

    def _derivatives(self, rows: Ints, scores: Floats) -> tuple[Floats, Floats]:
        weight = None if self.rows.weight is None else self.rows.weight[rows]
        gradient, hessian = self.boosting.loss.gradient_hessian(self.rows.y[rows], scores, weight)
        return gradient, np.maximum(hessian, MIN_HESSIAN)
