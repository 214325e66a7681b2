"""The depth and the number of rounds of a selector's model, chosen on validation rows."""

import numpy as np
import pytest

from miserly import BudgetedSelectorClassifier, BudgetedSelectorRegressor, Costs
from miserly.learners.boosting.model_size import ROUNDS, SHORT, best_size


class Given:
    """A trial whose ranks are written down; it grows up to `most` rounds."""

    def __init__(self, ranks, most=300):
        self.ranks, self.most, self.asked = ranks, most, []

    def rank_at(self, n_rounds):
        self.asked.append(n_rounds)
        return self.ranks.get(n_rounds, (0.0, 0.0)) if n_rounds <= self.most else None


def test_more_rounds_are_tried_with_the_best_depth_alone():
    trials = {4: Given({50: (0.7, 0.0)}), 6: Given({100: (0.8, 0.0), 200: (0.9, 0.0)})}
    assert best_size(lambda depth: [trials[depth]], (6, 4), ROUNDS) == (6, 200)
    assert trials[6].asked == list(ROUNDS) and max(trials[4].asked) == SHORT


def test_equal_metrics_are_decided_by_the_loss_and_then_by_the_first_size():
    one = Given({25: (0.9, -0.5), 50: (0.9, -0.4), 100: (0.9, -0.4)})
    assert best_size(lambda depth: [one], (6,), ROUNDS) == (6, 50)


def test_ranks_are_means_over_validation_sets():
    trials = [Given({25: (0.9, 0.0), 50: (0.8, 0.0)}), Given({25: (0.2, 0.0), 50: (0.6, 0.0)})]
    assert best_size(lambda depth: trials, (6,), ROUNDS) == (6, 50)


def test_a_model_that_cannot_grow_has_the_first_size():
    assert best_size(lambda depth: [Given({}, most=0)], (6, 4), ROUNDS) == (6, 25)
    assert best_size(lambda depth: [Given({50: (1.0, 0.0)}, most=60)], (6,), ROUNDS) == (6, 50)


def noisy(n, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return X, (X[:, 0] + 2.0 * rng.normal(size=n) > 0).astype(int)


def test_noise_gets_a_small_model_and_it_is_better():
    X, y = noisy(3000)
    X_new, y_new = noisy(3000, seed=1)
    fixed = BudgetedSelectorClassifier(random_state=0, n_jobs=1).fit(X, y)
    chosen = BudgetedSelectorClassifier(
        max_depth="auto", n_rounds="auto", metric="log_loss", random_state=0, n_jobs=1
    ).fit(X, y)
    assert chosen.n_rounds_ == 25 and chosen.score(X_new, y_new) > fixed.score(X_new, y_new)


@pytest.mark.parametrize("option", ["max_depth", "n_rounds"])
def test_a_table_of_six_bits_gets_a_large_model(option):
    rng = np.random.default_rng(0)
    X = rng.integers(2, size=(3000, 6)).astype(float)
    y = rng.normal(size=64)[(X @ 2 ** np.arange(6)).astype(int)]
    small = {"max_depth": 4, "n_rounds": 25} | {option: "auto"}
    models = [
        BudgetedSelectorRegressor(random_state=0, n_jobs=1, **given).fit(X[:2000], y[:2000])
        for given in (small, {"max_depth": 4, "n_rounds": 25})
    ]
    scores = [model.score(X[2000:], y[2000:]) for model in models]
    assert scores[0] > scores[1] + 0.05


def test_the_trees_of_a_chosen_model_fit_the_budget():
    X, y = noisy(1000)
    costs = Costs(np.ones(3), evaluation=0.01)
    model = BudgetedSelectorClassifier(
        costs=costs, budget=1.5, max_depth="auto", n_rounds="auto", random_state=0, n_jobs=1
    ).fit(X, y)
    assert model.run(X).cost.max() <= 1.5 and 0 < model.n_rounds_ <= 50
