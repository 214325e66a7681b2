"""Costs of mistakes for models that are fitted already: decisions without training."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.ensemble import GradientBoostingClassifier, GradientBoostingRegressor

from miserly import EarlyExit, GreedyMiserClassifier, OutcomeCosts, adopt, frontier
from miserly.errors import CostError, DataError, PlanError

COSTS = OutcomeCosts({("well", "ill"): 2, ("ill", "well"): 10, "refer": 1})


@pytest.fixture(scope="module")
def rows():
    X, codes = make_classification(400, 5, n_informative=3, n_redundant=0, flip_y=0.05, random_state=0)
    return X, np.array(["well", "ill"])[codes]


@pytest.fixture(scope="module")
def theirs(rows):
    return GradientBoostingClassifier(n_estimators=30, max_depth=2, random_state=0).fit(*rows)


def by_hand(model, X):
    """The answer of least expected cost. Classes are ill, well."""
    ill = model.predict_proba(X)[:, 0]
    expected = np.column_stack([2 * (1 - ill), 10 * ill, np.ones(len(X))])
    return np.array(["ill", "well", "refer"])[expected.argmin(axis=1)]


def test_an_adopted_model_answers_with_the_least_expected_cost(rows, theirs):
    X, y = rows
    plain, priced = adopt(theirs), adopt(theirs, outcome_costs=COSTS)
    fitted = adopt(theirs).fit(X, y, outcome_costs=COSTS)
    for model in (priced, clone(priced), fitted):
        assert (model.predict(X) == by_hand(theirs, X)).all()
        np.testing.assert_allclose(model.predict_proba(X), plain.predict_proba(X), atol=1e-12)
        assert (model.plan_.predict(X) == model.predict(X)).all()
    assert set(priced.predict(X)) == {"ill", "well", "refer"} != set(plain.predict(X))
    assert plain.plan_.decision is None


def test_amounts_per_row_count_by_their_means_in_each_class(rows, theirs):
    X, y = rows
    amounts = np.random.default_rng(0).uniform(1, 100, len(y))
    model = adopt(theirs).fit(X, y, outcome_costs=amounts)
    means = [amounts[y == label].mean() for label in ("ill", "well")]
    np.testing.assert_allclose(model.plan_.decision.costs, [[0, means[0]], [means[1], 0]])
    with pytest.raises(CostError, match="400 rows cannot decide about other rows"):
        adopt(theirs, outcome_costs=amounts)
    with pytest.raises(DataError, match="needs rows and classes"):
        adopt(theirs).fit(outcome_costs=COSTS)


def test_classes_that_the_rows_lack_keep_their_costs(rows, theirs):
    X, y = rows
    some = y == "ill"
    model = adopt(theirs).fit(X[some], y[some], outcome_costs=COSTS)
    assert (model.predict(X) == by_hand(theirs, X)).all()


def test_models_for_numbers_have_no_outcome_costs(rows):
    X, y = rows
    with pytest.raises(DataError, match="for classifiers, and this is a model for numbers"):
        adopt(GradientBoostingRegressor(n_estimators=2).fit(X, y == "ill"), outcome_costs=COSTS)


@pytest.mark.parametrize("prefit", [True, False])
def test_early_exits_over_an_adopted_model_decide_by_the_costs(rows, theirs, prefit):
    X, y = rows
    ours = adopt(theirs, costs=[1, 2, 3, 4, 5])
    model = EarlyExit(ours, every=5, prefit=prefit, random_state=0).fit(X, y, outcome_costs=COSTS)
    assert ours.plan_.decision is None  # the given estimator is not changed
    assert model.plan_.decision.actions == ("refer",)
    totals = [one.metric for one in model.candidates_]
    assert min(totals) <= COSTS.cost_of(y, by_hand(theirs, X)).mean() + ours.run(X).cost.mean()


def test_frontier_takes_adopted_models_with_outcome_costs(rows, theirs):
    X, y = rows
    learners = [adopt(theirs), EarlyExit(adopt(theirs), every=5)]
    found = frontier(learners, X, y, costs=[0.01] * 5, outcome_costs=COSTS, max_fits=4, random_state=0)
    assert not found.failures
    assert found.best(objective="total").plan_.decision.actions == ("refer",)


# -- plans ---------------------------------------------------------------------------------------------------


def test_a_plan_takes_other_outcome_costs_without_training(rows):
    """Weights of training are taken back, so that the decision is that of the probabilities."""
    X, y = rows
    trained = GreedyMiserClassifier(n_rounds=20, random_state=0).fit(X, y, outcome_costs=[[0, 50], [3, 0]])
    plan = trained.plan_.with_outcome_costs(COSTS)
    assert (plan.predict(X) == by_hand(trained, X)).all()
    np.testing.assert_array_equal(plan.predict_proba(X), trained.predict_proba(X))
    plain = plan.with_outcome_costs(None)
    assert (plain.predict(X) == np.array(["ill", "well"])[trained.predict_proba(X).argmax(axis=1)]).all()
    untouched = GreedyMiserClassifier(n_rounds=5).fit(X, y).plan_
    assert untouched.with_outcome_costs(COSTS).with_outcome_costs(None).decision is None


def test_a_plan_without_probabilities_cannot_decide(rows):
    X, y = rows
    plan = adopt(GradientBoostingRegressor(n_estimators=2).fit(X, y == "ill")).plan_
    with pytest.raises(PlanError, match="need class probabilities"):
        plan.with_outcome_costs(COSTS)


def test_a_staged_run_pays_what_its_rows_pay(rows, theirs):
    X, _ = rows
    model = adopt(theirs, costs=[1, 2, 3, 4, 5])
    known = np.random.default_rng(0).random(X.shape) < 0.3
    given = {"known": known, "prices": {0: 0.5}}
    *_, last = model.staged_run(X, **given)
    whole = model.run(X, **given)
    np.testing.assert_array_equal(last.cost, whole.cost)
    np.testing.assert_array_equal(last.acquired, whole.acquired)


def test_an_adopted_model_decides_by_the_amounts_of_rows(rows):
    pd = pytest.importorskip("pandas")
    X, y = rows
    frame = pd.DataFrame(X, columns=list("abcde")).assign(
        e=np.random.default_rng(0).lognormal(1.0, 1.0, len(X))
    )
    theirs = GradientBoostingClassifier(n_estimators=30, max_depth=2, random_state=0).fit(frame, y)
    named = {("well", "ill"): 2, ("ill", "well"): "3 * e", "refer": 1}
    priced = adopt(theirs, outcome_costs=OutcomeCosts(named, typical={"e": 4}))
    fitted = adopt(theirs).fit(frame, y, outcome_costs=named)
    own = OutcomeCosts(named).decide(theirs.predict_proba(frame), theirs.classes_, frame)
    for model in (priced, clone(priced), fitted):
        assert (model.predict(frame) == own).all()
        assert model.plan_.amount_columns == (4,)
    assert priced.plan_.decision.costs[0, 1] == 12.0
    assert fitted.plan_.decision.costs[0, 1] == pytest.approx(3 * frame["e"][y == "ill"].mean())
    with pytest.raises(CostError, match=r"typical=\{'e': \.\.\.\}"):
        adopt(theirs, outcome_costs=named)
    unnamed = adopt(GradientBoostingClassifier(n_estimators=5).fit(frame.to_numpy(), y))
    assert unnamed.fit(frame, y, outcome_costs=named).plan_.amount_columns == (4,)
    other = adopt(GradientBoostingClassifier(n_estimators=5).fit(frame[["a", "b"]], y))
    assert other.fit(frame, y, outcome_costs=named).plan_.amount_columns == ()  # no feature: by the means
