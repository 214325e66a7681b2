"""`score` of classifiers, and of estimators that hold one, refuses labels that are missing."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from miserly import BudgetedEstimator, CostLassoClassifier, EarlyExit, GreedyMiserClassifier, adopt
from miserly.errors import DataError

X = np.random.default_rng(0).normal(size=(80, 3))
TEXT = np.where(X[:, 0] > 0, "ill", "well")
MODELS = {
    "learner": CostLassoClassifier(),
    "early exit": EarlyExit(GreedyMiserClassifier(n_rounds=3)),
    "search": BudgetedEstimator(
        3, learners=[CostLassoClassifier()], costs=[1.0] * 3, max_fits=2, random_state=0
    ),
    "adopted": LogisticRegression(),
}


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("y", [TEXT, (TEXT == "ill").astype(int)], ids=["text", "numbers"])
def test_missing_labels_are_named(name, y):
    model = MODELS[name].fit(X, y)
    model = adopt(model) if name == "adopted" else model
    for missing in (None, np.nan):
        labels = y.astype(object)
        labels[3] = missing
        with pytest.raises(DataError, match=r"y contains NaN or None: y\[3\] is"):
            model.score(X, labels)
    assert model.score(X, y) == np.mean(model.predict(X) == y)
    weight = np.arange(80.0)
    assert model.score(X, y, sample_weight=weight) == pytest.approx(
        np.average(model.predict(X) == y, weights=weight)
    )
