"""Two learners in turn: who answers whom, what is passed on to them, and what is refused."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.dummy import DummyClassifier
from sklearn.model_selection import cross_val_score

from miserly import (
    AFRClassifier,
    BudgetedTreeClassifier,
    CostLassoClassifier,
    EarlyExit,
    GreedyMiserClassifier,
    GreedyMiserRegressor,
    Handover,
)
from miserly.datasets import load_heart
from miserly.errors import DataError

HEART = load_heart()


def miser(**changes):
    return GreedyMiserClassifier(**{"n_rounds": 15, "max_depth": 2, **changes})


def fitted(first=None, then=None, **changes):
    first, then = first or miser(budget=10), then or miser()
    return Handover(first, then, **{"costs": HEART.costs, **changes}).fit(HEART.X, HEART.y)


def test_each_row_is_answered_by_whom_it_should():
    model = fitted(threshold=0.7)
    own, other = model.first_.predict_proba(HEART.X), model.then_.predict_proba(HEART.X)
    sure = own.max(axis=1) >= 0.7
    assert 0.2 < sure.mean() < 0.9
    np.testing.assert_allclose(model.predict_proba(HEART.X), np.where(sure[:, None], own, other))
    assert (model.run(HEART.X).cost[sure] == model.first_.run(HEART.X).cost[sure]).all()


@pytest.mark.parametrize(
    "then",
    [
        EarlyExit(miser(), threshold=0.9),
        BudgetedTreeClassifier(),
        CostLassoClassifier(),
        AFRClassifier(n_blocks=3, random_state=0),
    ],
    ids=lambda one: type(one).__name__,
)
@pytest.mark.parametrize(
    "first", [CostLassoClassifier(budget=5), AFRClassifier(n_blocks=2, random_state=0)], ids=["line", "AFR"]
)
def test_many_can_follow(first, then):
    model = fitted(first, then, threshold=0.75)
    own = model.first_.predict_proba(HEART.X)
    sure = own.max(axis=1) >= 0.75
    wanted = np.where(sure, model.first_.predict(HEART.X), model.then_.predict(HEART.X))
    np.testing.assert_array_equal(model.predict(HEART.X), wanted)


def test_thresholds_at_the_ends():
    np.testing.assert_array_equal(
        fitted(threshold=0).predict_proba(HEART.X), miser(budget=10, costs=HEART.costs).fit(HEART.X, HEART.y)
        .predict_proba(HEART.X),
    )  # fmt: skip
    np.testing.assert_array_equal(
        fitted(threshold=1.5).predict_proba(HEART.X),
        miser(costs=HEART.costs).fit(HEART.X, HEART.y).predict_proba(HEART.X),
    )


def test_costs_reach_learners_inside_learners():
    model = fitted(then=EarlyExit(miser(), threshold=0.9))
    assert model.then_.estimator_.costs is HEART.costs and model.plan_.costs == HEART.costs


def test_a_budget_is_kept_by_every_row():
    model = fitted(threshold=0.95, budget=100.0)
    assert model.run(HEART.X).cost.max() <= 100.0 < fitted(threshold=0.95).run(HEART.X).cost.max()


def test_a_scikit_learn_citizen():
    model = clone(Handover(miser(budget=10), miser(), threshold=0.9, costs=HEART.costs))
    assert cross_val_score(model.set_params(then__n_rounds=5), HEART.X, HEART.y, cv=3).mean() > 0.7


def test_fitted_models_are_taken_as_they_are():
    first, then = (miser(budget=b, costs=HEART.costs).fit(HEART.X, HEART.y) for b in (10, None))
    model = Handover.of(first, then, 0.8)
    assert model.first_ is first and model.then_ is then
    np.testing.assert_array_equal(model.predict(HEART.X), fitted(threshold=0.8).predict(HEART.X))


@pytest.mark.parametrize(
    ("first", "then", "words"),
    [
        (GreedyMiserRegressor(), miser(), "`first` must be a classifier, got GreedyMiserRegressor"),
        (miser(), GreedyMiserRegressor(), "`then` must be a classifier, got GreedyMiserRegressor"),
        (EarlyExit(miser(), threshold=0.9), miser(), "class probabilities and no exits"),
        (BudgetedTreeClassifier(), miser(), "class probabilities and no exits"),
        (miser(loss="squared_hinge"), miser(), "class probabilities and no exits"),
        (miser(), miser(loss="squared_hinge"), "kind of score"),
    ],
)
def test_what_cannot_be_is_refused(first, then, words):
    with pytest.raises(DataError, match=words):
        fitted(first, then)


def test_prices_must_be_the_same():
    with pytest.raises(DataError, match="costs"):
        Handover(miser(costs=np.ones(13)), miser(costs=HEART.costs)).fit(HEART.X, HEART.y)


def test_strangers_are_refused():
    with pytest.raises(DataError, match="no parameter 'costs'"):
        fitted(DummyClassifier(), miser())
    with pytest.raises(DataError, match="no plan_"):
        fitted(DummyClassifier(), miser(), costs=None)
