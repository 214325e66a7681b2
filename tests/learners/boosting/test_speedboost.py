"""SpeedBoost chooses as the greedy rule does wherever edges are small, and by its own formula elsewhere."""

import numpy as np

from miserly import AdaBoostBTClassifier, SpeedBoostClassifier


def test_it_takes_what_lowers_the_loss_most_per_unit_of_cost():
    rng = np.random.default_rng(0)
    sign = rng.choice([-1.0, 1.0], 2000)
    X = np.column_stack([np.where(rng.random(2000) < right, sign, -sign) for right in (0.95, 0.75)])
    edges = np.abs(X.T @ sign) / 2000
    fall, drop = 1 - np.sqrt(1 - edges**2), -0.5 * np.log(1 - edges**2)
    # A price of the first column at which the loss says one thing and its logarithm the other.
    price = (fall[0] / fall[1] + drop[0] / drop[1]) / 2
    first = [
        make(costs=[price, 1.0], n_rounds=1).fit(X, sign).plan_.features.tolist()
        for make in (SpeedBoostClassifier, lambda **given: AdaBoostBTClassifier(rule="greedy", **given))
    ]
    assert first == [[1], [0]]


def test_nearly_greedy():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1000, 30))
    y = X @ rng.normal(size=30) + 3 * rng.normal(size=1000) > 0
    costs = rng.uniform(0.1, 2, 30)
    speed = SpeedBoostClassifier(costs=costs, budget=15, n_rounds=100).fit(X, y)
    greedy = AdaBoostBTClassifier(costs=costs, budget=15, rule="greedy", n_rounds=100).fit(X, y)
    assert np.mean(speed.predict(X) == greedy.predict(X)) > 0.97
