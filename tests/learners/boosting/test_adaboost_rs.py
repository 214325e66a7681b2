"""AdaBoostRS: draws from AdaBoost's learners whose mean vote is AdaBoost's own."""

import numpy as np
import pytest

from miserly import AdaBoostBTClassifier, AdaBoostRSClassifier

N_ROUNDS = 40


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 8))
    return X, X[:, 0] + X[:, 1] - X[:, 2] + rng.normal(size=300) > 0


COSTS = np.linspace(0.5, 2.0, 8)


def fit(rows, **given):
    return AdaBoostRSClassifier(**{"costs": COSTS, "n_rounds": N_ROUNDS, "random_state": 0, **given}).fit(
        *rows
    )


def test_many_draws_are_adaboost(rows):
    X, _ = rows
    wanted = AdaBoostBTClassifier(rule="early-stop", n_rounds=N_ROUNDS).fit(*rows).decision_function(X)
    error = [
        np.abs(fit(rows, n_draws=n).decision_function(X) - wanted).mean() / np.abs(wanted).mean()
        for n in (1, 30, 1000)
    ]
    assert error[2] < 0.05 and error[2] < error[1] / 2 < error[0] / 4


def test_votes_are_right_on_average(rows):
    X, _ = rows
    wanted = AdaBoostBTClassifier(rule="early-stop", n_rounds=N_ROUNDS).fit(*rows).decision_function(X)
    few = np.mean([fit(rows, n_draws=1, random_state=s).decision_function(X) for s in range(200)], axis=0)
    assert np.abs(few - wanted).mean() < 0.1 * np.abs(wanted).mean()


def test_drawing_ends_with_the_budget_or_the_draws(rows):
    poor, rich = fit(rows, budget=2.0), fit(rows, n_draws=1)
    assert (
        poor.stopped_by_ == "budget" and poor.cost_ <= 2.0 and poor.ledger_.spent == pytest.approx(poor.cost_)
    )
    assert rich.stopped_by_ == "draws" and 1 < rich.n_rounds_ <= N_ROUNDS


def test_learners_are_drawn_until_the_budget_is_spent(rows):
    whole = fit(rows)
    assert whole.stopped_by_ == "all"
    wanted = AdaBoostBTClassifier(rule="early-stop", n_rounds=N_ROUNDS).fit(*rows)
    np.testing.assert_array_equal(whole.decision_function(rows[0]), wanted.decision_function(rows[0]))
    for seed in range(5):
        model = fit(rows, budget=0.95 * whole.cost_, random_state=seed)
        assert model.stopped_by_ == "budget" and model.cost_ <= 0.95 * whole.cost_
        assert model.cost_ >= fit(rows, budget=0.95 * whole.cost_, n_draws=1, random_state=seed).cost_


def test_other_seeds_draw_other_learners(rows):
    drawn = {tuple(fit(rows, budget=3.0, random_state=seed).features_) for seed in range(6)}
    assert len(drawn) > 1


def test_cheap_learners_are_drawn_more(rows):
    for cheap in (0, 1):  # of the two columns that matter most
        costs = np.where(np.arange(8) == cheap, 0.01, 1.0)
        models = [fit(rows, costs=costs, n_draws=1, random_state=seed) for seed in range(20)]
        first = [model.plan_.terms[0].features.tolist() for model in models]
        assert first.count([cheap]) > 14


def test_a_smaller_budget_answers_from_what_it_pays_for():
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=600)
    X = (y[:, None] - 0.5) * [3.0, 1.5, 1.5, 1.5] + rng.normal(size=(600, 4))
    costs = [20.0, 0.5, 1.0, 10.0]
    for seed in range(5):
        model = fit((X[:400], y[:400]), costs=costs, budget=25, random_state=seed)
        assert model.run(X, budget=0.5).acquired[:, 1].all()
        assert np.mean(model.predict(X[400:], budget=2) == y[400:]) > 0.75
