"""Classifiers fitted with outcome costs: weights, decisions, actions and bad input."""

import numpy as np
import pytest

import miserly
from miserly import (
    AdaBoostBTClassifier,
    ASTCClassifier,
    BudgetedTreeClassifier,
    CostLassoClassifier,
    Costs,
    EarlyExit,
    GreedyMiserClassifier,
    GreedyMiserRegressor,
    Handover,
    OutcomeCosts,
    Plan,
    ReducedSVC,
    load,
)
from miserly.data.rows import Rows
from miserly.errors import CostError, DataError
from miserly.learners.base.arguments import fit_arguments
from miserly.learners.base.outcomes import price_mistakes
from miserly.learners.wrap.handover import least_total_threshold
from miserly.plan import Decision, Node, Raw
from miserly.plan.compose import hand_over

MISSED = {("ill", "well"): 90.0, ("well", "ill"): 10.0}


def table(n=300, seed=0):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, 3))
    ill = random.random(n) < 1.0 / (1.0 + np.exp(-X @ [1.5, 1.0, 0.0]))
    return X, np.where(ill, "ill", "well")


CLASSIFIERS = [
    GreedyMiserClassifier(n_rounds=40),
    CostLassoClassifier(),
    ASTCClassifier(max_depth=2),
    BudgetedTreeClassifier(budget=3.0),
    AdaBoostBTClassifier(budget=20.0),
    EarlyExit(GreedyMiserClassifier(n_rounds=40, costs=[0.01, 0.01, 0.01]), every=10, random_state=0),
    Handover(CostLassoClassifier(tradeoff=0.1), CostLassoClassifier(), threshold=0.8),
]


@pytest.mark.parametrize("learner", CLASSIFIERS, ids=lambda one: type(one).__name__)
def test_the_plan_answers_with_least_expected_cost(learner, tmp_path):
    X, y = table()
    model = learner.fit(X, y, **fit_arguments(learner, None, outcome_costs={**MISSED, "refer": 4.0}))
    chances = model.predict_proba(X)
    np.testing.assert_allclose(chances.sum(axis=1), 1.0)
    ill, well = chances.T
    expected = np.column_stack([10.0 * well, 90.0 * ill, np.full(len(X), 4.0)])
    answers = np.array(["ill", "well", "refer"])[expected.argmin(axis=1)]
    assert (model.predict(X) == answers).all()
    assert set(answers) == {"ill", "well", "refer"}
    model.plan_.save(tmp_path / "plan.miser")
    assert (load(tmp_path / "plan.miser").predict(X) == answers).all()


@pytest.mark.parametrize(
    "learner", [GreedyMiserClassifier(n_rounds=60), CostLassoClassifier()], ids=lambda one: type(one).__name__
)
def test_probabilities_are_those_of_the_rows_although_they_were_weighted(learner):
    X, y = table(2000)
    model = learner.fit(X, y, outcome_costs=MISSED)
    plain = model.plan_.replace(decision=None)
    share = (y == "ill").mean()
    assert abs(model.predict_proba(X)[:, 0].mean() - share) < 0.03
    assert plain.predict_proba(X)[:, 0].mean() > share + 0.15  # of rows that are weighted by 9 to 1


def test_weights_within_a_class_are_costs_of_mistakes_and_between_classes_a_power_of_them():
    X = np.zeros((6, 1))
    y = np.array(["ill", "well", "well", "ill", "well", "ill"])
    sample_weight = np.array([1.0, 2.0, 0.0, 1.0, 1.0, 3.0])
    amounts = np.array([80.0, 0.0, 0.0, 160.0, 0.0, 80.0])
    costs = {("ill", "well"): amounts, ("well", "ill"): 10.0}
    priced = price_mistakes(CostLassoClassifier(), X, y, sample_weight, costs)
    # the mean of the ill is (1 * 80 + 1 * 160 + 3 * 80) / 5 = 96
    ill, well = 96.0**0.25, 10.0**0.25
    np.testing.assert_allclose(
        priced.weight, [ill * 80 / 96, 2 * well, 0, ill * 160 / 96, well, 3 * ill * 80 / 96]
    )
    np.testing.assert_allclose(priced.costs, [[0, 96], [10, 0]])
    np.testing.assert_allclose(priced.class_cost, [96, 10])
    full = price_mistakes(
        ReducedSVC(), X, y, sample_weight, costs
    )  # without probabilities the weights decide
    np.testing.assert_allclose(full.weight, [80, 20, 0, 160, 10, 240])


def test_equal_costs_change_nothing():
    X, y = table()
    plain = GreedyMiserClassifier(n_rounds=5).fit(X, y)
    costs = 7.0 * (1.0 - np.eye(2))
    priced = GreedyMiserClassifier(n_rounds=5).fit(X, y, outcome_costs=costs, calibrate=False)
    np.testing.assert_allclose(priced.predict_proba(X), plain.predict_proba(X), rtol=1e-12)
    assert (priced.predict(X) == plain.predict(X)).all()


def test_costs_of_mistakes_lower_their_total():
    X, y = table(1000)
    costs = OutcomeCosts(MISSED)
    new, actual = table(2000, seed=1)
    models = [CostLassoClassifier().fit(X, y, outcome_costs=given) for given in (None, MISSED)]
    plain, priced = (costs.cost_of(actual, model.predict(new)).mean() for model in models)
    assert priced < 0.8 * plain


def test_amounts_of_rows_weight_them():
    # Column 0 marks rows of a large amount: there a mistake costs more at the same odds.
    random = np.random.default_rng(0)
    large = random.random(4000) < 0.5
    y = (random.random(4000) < 0.2).astype(int)
    amount = np.where(large, 1000.0, 1.0)
    X = large[:, None].astype(float)
    model = GreedyMiserClassifier(n_rounds=150).fit(X, y, outcome_costs={(1, 0): amount, (0, 1): 10.0})
    # expected cost of "no": 0.2 * 1000 or 0.2 * 1; of "yes": 0.8 * 10
    assert model.predict([[1.0], [0.0]]).tolist() == [1, 0]


def test_a_column_of_a_frame_may_hold_the_amounts():
    pd = pytest.importorskip("pandas")
    X, y = table(50)
    frame = pd.DataFrame(X, columns=["a", "b", "amount"]).abs()
    by_name = GreedyMiserClassifier(n_rounds=3).fit(
        frame, y, outcome_costs={("ill", "well"): "amount", ("well", "ill"): 1.0}
    )
    by_values = GreedyMiserClassifier(n_rounds=3).fit(
        frame, y, outcome_costs={("ill", "well"): frame["amount"], ("well", "ill"): 1.0}
    )
    assert by_name.plan_.amount_columns == (2,)
    assert by_values.plan_.amount_columns == ()  # an array is known for these rows alone
    np.testing.assert_allclose(by_name.plan_.decision.costs, by_values.plan_.decision.costs)
    with pytest.raises(DataError, match="'amout', which the rows do not have"):
        GreedyMiserClassifier().fit(frame, y, outcome_costs={("ill", "well"): "amout", ("well", "ill"): 1.0})


def test_many_classes_with_an_action():
    random = np.random.default_rng(0)
    X = random.normal(size=(400, 2))
    y = np.array(["a", "b", "c"])[np.digitize(X[:, 0] + 0.5 * random.normal(size=400), [-0.5, 0.5])]
    costs = [[0, 1, 50, 5], [2, 0, 2, 5], [50, 1, 0, 5]]
    model = GreedyMiserClassifier(n_rounds=10).fit(X, y, outcome_costs=costs)
    expected = model.predict_proba(X) @ np.array(costs)
    assert (model.predict(X) == np.array(["a", "b", "c", "refer"])[expected.argmin(axis=1)]).all()


def test_without_probabilities_the_weights_decide():
    X, y = table()
    model = ReducedSVC(n_vectors=10, random_state=0).fit(X, y, outcome_costs=MISSED)
    plain = ReducedSVC(n_vectors=10, random_state=0).fit(X, y)
    assert model.plan_.decision is None
    assert (model.predict(X) == "ill").sum() > (plain.predict(X) == "ill").sum()
    with pytest.raises(DataError, match="'refer' needs class probabilities"):
        ReducedSVC(n_vectors=10, random_state=0).fit(X, y, outcome_costs={**MISSED, "refer": 1.0})


def test_regressors_and_wrong_costs_are_refused():
    X, y = table(40)
    with pytest.raises(DataError, match="for classifiers"):
        GreedyMiserRegressor().fit(X, X[:, 0], outcome_costs=[[0, 1], [1, 0]])
    with pytest.raises(CostError, match="3 rows were given for 40"):
        CostLassoClassifier().fit(X, y, outcome_costs=[1.0, 2.0, 3.0])
    with pytest.raises(CostError, match="none of the classes"):
        CostLassoClassifier().fit(X, y, outcome_costs={("sick", "well"): 1, ("well", "sick"): 1})


def test_every_classifier_of_the_library_takes_outcome_costs():
    from sklearn.base import is_classifier
    from sklearn.utils.validation import has_fit_parameter

    for name in miserly.__all__:
        kind = getattr(miserly, name)
        if name.endswith("Classifier") or name in ("ReducedSVC", "EarlyExit", "Handover"):
            assert has_fit_parameter(kind, "outcome_costs"), name
    assert is_classifier(CostLassoClassifier())


# -- early exits and handovers -------------------------------------------------------------------------------


def test_the_threshold_of_early_exits_has_the_least_total_cost_on_the_validation_set():
    X, y = table(600)
    model = EarlyExit(
        GreedyMiserClassifier(n_rounds=12, costs=[1.0, 30.0, 2.0]), every=2, random_state=0
    ).fit(X, y, outcome_costs=MISSED)
    found = model.candidates_
    assert found.metric[found.threshold == model.threshold_] == found.metric.min()
    assert found.metric.min() < found.metric[-1]  # at the last one no row leaves


def test_the_threshold_of_a_handover_has_the_least_total_cost():
    random = np.random.default_rng(0)
    X = random.normal(size=(200, 2))
    y = np.where(random.random(200) < 1.0 / (1.0 + np.exp(-X @ [1.0, 3.0])), "well", "ill")
    decision = Decision([[0.0, 90.0], [10.0, 0.0]], (), [9.0, 1.0])  # ill rows counted nine times
    first, then = (
        Plan(costs=Costs([0.1, 0.6]), terms=[Raw(f)], nodes=[Node([0], [0], [weight], [0.0])],
             base=[-np.log(9.0)], link="logistic", classes=["ill", "well"], decision=decision)
        for f, weight in ((0, 1.0), (1, 3.0))
    )  # fmt: skip
    outcomes = OutcomeCosts(MISSED).bind(["ill", "well"])
    joined = hand_over(first, then, 1.0)
    found = least_total_threshold(first, joined, X, Rows(X, y, outcomes=outcomes))

    def total(level):
        plan = hand_over(first, then, level)
        return (plan.run(X).cost + outcomes.cost_of(y, plan.predict(X))).mean()

    assert total(found) <= min(map(total, np.linspace(0.5, 1.01, 200))) + 1e-9
    assert total(found) < min(total(0.0), total(2.0))


def test_a_handover_chooses_its_threshold():
    X, y = table(600)
    cheap, costs = GreedyMiserClassifier(n_rounds=20, budget=0.1), [0.1, 4.0, 1.0]
    model = Handover(cheap, GreedyMiserClassifier(), threshold=None, costs=costs, random_state=0)
    model.fit(X, y, outcome_costs=MISSED)
    again = Handover.of(model.first_, model.then_, model.threshold_)
    assert (model.predict(X) == again.predict(X)).all()
    assert 0.5 < model.threshold_ < 1.0
    with pytest.raises(DataError, match="needs outcome_costs"):
        Handover(cheap, cheap, threshold=None).fit(X, y)


# -- amounts of rows -----------------------------------------------------------------------------------------

THEFT = OutcomeCosts({("fraud", "fine"): "amount", ("fine", "fraud"): 15.0})


def payments(n, seed=0):
    """Three signs of a fraud, and the amount, which says nothing about it."""
    pd = pytest.importorskip("pandas")
    random = np.random.default_rng(seed)
    signs = random.normal(size=(n, 3))
    fraud = signs @ [1.5, 1.0, 0.5] + random.normal(size=n) > 2.5
    frame = pd.DataFrame(signs, columns=["a", "b", "c"]).assign(amount=random.lognormal(4.0, 1.2, n))
    return frame, np.where(fraud, "fraud", "fine")


def loss(model, rows, y):
    """The mean cost of mistakes."""
    return THEFT.fill(lambda name: rows[name]).cost_of(y, model.predict(rows)).mean()


@pytest.mark.parametrize("learner", [GreedyMiserClassifier(n_rounds=40), CostLassoClassifier()], ids=str)
def test_own_amounts_cost_less_than_mean_amounts(learner):
    X, y = payments(3000)
    new, truth = payments(12000, seed=1)
    by_values = OutcomeCosts({("fraud", "fine"): X["amount"].to_numpy(), ("fine", "fraud"): 15.0})
    plain, means, own = (
        loss(learner.fit(X, y, **given), new, truth)
        for given in ({}, {"outcome_costs": by_values}, {"outcome_costs": THEFT})
    )
    assert own < 0.95 * means
    assert own < 0.55 * plain


def test_amounts_in_columns_do_not_weight_rows_within_their_class():
    X, y = payments(40)
    priced = price_mistakes(CostLassoClassifier(), X, y, None, THEFT)
    amount = X["amount"][y == "fraud"].mean()
    np.testing.assert_allclose(priced.costs, [[0.0, 15.0], [amount, 0.0]])
    np.testing.assert_allclose(priced.class_cost, [15.0, amount])
    expected = np.where(y == "fraud", amount, 15.0) ** 0.25
    np.testing.assert_allclose(priced.weight, expected)
    by_margin = price_mistakes(
        ReducedSVC(), X, y, None, THEFT
    )  # without a decision, weights are all there is
    np.testing.assert_allclose(by_margin.weight, np.where(y == "fraud", X["amount"], 15.0))
    typical = OutcomeCosts({("fraud", "fine"): "amount", ("fine", "fraud"): 15.0}, typical={"amount": 33.0})
    assert price_mistakes(CostLassoClassifier(), X, y, None, typical).costs[1, 0] == 33.0


def test_columns_of_amounts_are_found_by_name_in_any_order(tmp_path):
    X, y = payments(300)
    model = CostLassoClassifier().fit(X, y, outcome_costs=THEFT)
    mixed = X[["amount", "c", "b", "a"]].assign(more=1.0)
    assert (model.predict(mixed) == model.predict(X)).all()
    model.plan_.save(tmp_path / "m.miser")
    plan = load(tmp_path / "m.miser")
    assert (plan.predict(mixed) == model.predict(X)).all()
    assert (plan.predict(X.to_numpy()) == model.predict(X)).all()
    missing = X.assign(amount=np.nan)
    means = plan.replace(decision=Decision(plan.decision.costs, (), plan.decision.weights))
    assert (plan.predict(missing) == means.predict(missing)).all()
    assert (plan.predict(X) != means.predict(X)).any()


def test_stages_of_a_chain_decide_by_amounts():
    X, y = payments(400)
    model = GreedyMiserClassifier(n_rounds=5).fit(X, y, outcome_costs=THEFT)
    *_, last = model.staged_predict(X)
    assert (last == model.predict(X)).all()


def test_thresholds_of_exits_and_handovers_are_chosen_by_own_amounts():
    X, y = payments(1500)
    costs = {"a": 1.0, "b": 2.0, "c": 4.0, "amount": 0.0}
    early = EarlyExit(GreedyMiserClassifier(n_rounds=12, costs=costs), every=2, prefit=False, random_state=0)
    model = early.fit(X, y, outcome_costs=THEFT)
    assert model.plan_.amount_columns == (3,)
    # the same rows again: candidates are totals of plans with the gates of the candidate
    inner = model.estimator_
    again = EarlyExit(inner, every=2, prefit=True).fit(X, y, outcome_costs=THEFT)
    best = again.candidates_[again.candidates_.threshold == again.threshold_][0]
    total = again.run(X).cost.mean() + loss(again, X, y)
    assert total == pytest.approx(best.metric)
    cheap = GreedyMiserClassifier(n_rounds=10, budget=1.0)
    both = Handover(cheap, GreedyMiserClassifier(n_rounds=20), threshold=None, costs=costs, random_state=0)
    both.fit(X, y, outcome_costs=THEFT)
    assert both.plan_.amount_columns == (3,)
    filled = THEFT.fill(lambda name: X[name]).bind(["fine", "fraud"])
    rows = Rows(X.to_numpy(), y, outcomes=filled)
    found = least_total_threshold(both.first_.plan_, both.plan_, rows.X, rows)
    totals = []
    for level in (found, 0.0, 0.6, 0.8, 0.95, 2.0):
        other = Handover.of(both.first_, both.then_, level)
        totals.append(other.run(X).cost.mean() + loss(other, X, y))
    assert totals[0] <= min(totals) + 1e-9


def test_known_amounts_cost_nothing():
    X, y = payments(300)
    costs = {"a": 1.0, "b": 2.0, "c": 4.0, "amount": 3.0}
    model = CostLassoClassifier(costs=costs).fit(X, y, outcome_costs=THEFT)
    known = model.run(X, known=["amount"])
    assert (model.run(X).cost - known.cost == 3.0).all()
    assert (model.predict(X, known=["amount"], budget=7.0) == model.predict(X)).all()
    assert model.run(X, budget=2.9).cost.max() == 0.0


def test_a_budget_includes_amounts_that_are_not_free():
    X, y = payments(600)
    costs = {"a": 1.0, "b": 2.0, "c": 4.0, "amount": 0.5}
    for learner in (GreedyMiserClassifier(n_rounds=10), CostLassoClassifier(), BudgetedTreeClassifier()):
        model = learner.set_params(budget=3.0, costs=costs).fit(X, y, outcome_costs=THEFT)
        cost = model.run(X).cost
        assert 0.5 <= cost.min() <= cost.max() <= 3.0 == model.plan_.budget
