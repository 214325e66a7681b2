"""AFR: snapshots at every purchase, an outer loss that falls, one model for all budgets."""

import numpy as np
import pytest
from sklearn.metrics import log_loss

from miserly import Costs
from miserly.datasets import load_heart, make_xor_afr
from miserly.learners import AFRClassifier, EarlyExit
from miserly.learners.anytime.snapshots import platt

XOR = {"n_dimensions": 4, "n_members": 2, "random_state": 0}


@pytest.fixture(scope="module")
def xor():
    return make_xor_afr(random_state=100)


@pytest.fixture(scope="module")
def model(xor):
    rows = xor.split == 0
    return AFRClassifier(costs=xor.costs, **XOR).fit(xor.X[rows], xor.y[rows])


@pytest.fixture(scope="module")
def heart():
    return load_heart()


def table(n=600, seed=0):
    """Three classes behind features of which the more expensive ones tell more; one group with a set-up."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 6))
    y = np.digitize(X[:, 0] + 2 * X[:, 1] + 3 * X[:, 2], [-2.0, 2.0])
    costs = Costs([1.0, 3.0, 8.0, 1.0, 2.0, 0.0], groups={"lab": {"features": [1, 2], "setup": 2.0}})
    return X, y, costs


def test_every_snapshot_is_a_node_and_costs_more_than_the_last(model, xor):
    assert len(model.plan_.nodes) == len(model.snapshot_costs_) > 4
    assert (np.diff(model.snapshot_costs_) > 0).all()
    assert model.snapshot_costs_[-1] == pytest.approx(model.cost_)
    used = set()
    for node, cost in zip(model.plan_.nodes, model.snapshot_costs_, strict=True):
        used |= {f for t in node.terms for f in model.plan_.terms[t].features.tolist()}
        assert xor.costs.of(sorted(used)) == pytest.approx(cost)
        assert not node.inherits


def test_no_tree_is_grown_for_nothing(model):
    weighed = {t for node in model.plan_.nodes for t in node.terms.tolist()}
    assert weighed == set(range(len(model.plan_.terms)))
    assert all((node.weights != 0).all() for node in model.plan_.nodes)


def test_later_snapshots_may_forget_early_trees(model):
    first, last = (set(model.plan_.nodes[k].terms.tolist()) for k in (0, -1))
    assert not first <= last


def test_a_budget_gets_the_most_expensive_snapshot_that_fits(model, xor):
    rows = xor.X[xor.split == 1]
    for k, cost in enumerate(model.snapshot_costs_):
        assert (model.run(rows, budget=cost, count="tree").exit == k).all()
        below = model.run(rows, budget=cost * (1 - 1e-6), count="tree")
        assert (below.exit == k - 1).all()


def test_interrupted_it_answers_from_the_last_snapshot_finished(model, xor):
    row = xor.X[-1]
    trail = model.plan_.start()
    finished = [trail.answer().scores]
    while wanted := trail.next():
        assert trail.answer().scores == finished[-1]  # asked for, and not there yet
        trail.tell({name: row[list(xor.costs.names).index(name)] for name in wanted})
        finished.append(trail.answer().scores)
    exits = [float(stage.scores[0, 0]) for stage in model.staged_run(row[None])]
    assert finished[0] == model.plan_.base[0] and len(finished) > 4
    np.testing.assert_allclose([min(abs(np.array(exits) - score)) for score in finished[1:]], 0.0, atol=1e-12)


def test_stages_are_the_snapshots(model, xor):
    rows = xor.X[xor.split == 1]
    staged = list(model.staged_run(rows, count="tree"))
    for stage, cost in zip(staged, model.snapshot_costs_, strict=True):
        run = model.run(rows, budget=cost, count="tree")
        np.testing.assert_allclose(stage.scores[:, 0], run.scores)
        np.testing.assert_allclose(stage.cost, run.cost)
    np.testing.assert_array_equal(list(model.staged_predict(rows))[-1], model.predict(rows))
    np.testing.assert_array_equal(
        list(model.staged_decision_function(rows))[-1], model.decision_function(rows)
    )
    np.testing.assert_array_equal(list(model.staged_predict_proba(rows))[-1], model.predict_proba(rows))


def test_more_money_buys_better_answers(model, xor):
    rows = xor.split == 1
    accuracy = [np.mean(model.predict(xor.X[rows], budget=b) == xor.y[rows]) for b in (1, 10, 60, 1300)]
    assert (np.diff(accuracy) > -0.01).all()
    assert accuracy[0] < 0.8 and accuracy[-1] > 0.93


def test_the_outer_loss_ends_below_its_start(model, heart):
    real = AFRClassifier(costs=heart.costs, n_members=1, random_state=0).fit(heart.X, heart.y)
    for fitted in (model, real):
        assert fitted.outer_losses_[-1] < fitted.outer_losses_[0] - 0.05


def test_the_tradeoff_halves_and_starts_where_something_is_bought(xor, model):
    tradeoffs = model.tradeoffs_
    np.testing.assert_allclose(tradeoffs[:-1] / tradeoffs[1:], 2.0)
    rows = xor.split == 0
    given = AFRClassifier(costs=xor.costs, tradeoff=tradeoffs[0], **XOR)
    given.fit(xor.X[rows], xor.y[rows])
    np.testing.assert_array_equal(given.snapshot_costs_, model.snapshot_costs_)
    np.testing.assert_array_equal(given.predict_proba(xor.X), model.predict_proba(xor.X))


def test_a_budget_ends_the_purchases(heart):
    for budget in (0.0, 4.0, 60.0):
        fitted = AFRClassifier(costs=heart.costs, budget=budget, n_members=2, random_state=0)
        fitted.fit(heart.X, heart.y)
        assert fitted.cost_ <= budget
        assert fitted.run(heart.X, count="tree").cost.max() <= budget


def test_where_trees_cost_something_few_are_grown(heart):
    many, few = (
        AFRClassifier(
            costs=Costs.from_dict({**heart.costs.to_dict(), "evaluation": evaluation}),
            tradeoff=0.002,
            n_blocks=1,
            n_members=1,
            random_state=0,
        ).fit(heart.X, heart.y)
        for evaluation in (0.0, 20.0)
    )
    assert 0 < len(few.plan_.terms) < 0.7 * len(many.plan_.terms)


def test_weights_of_classes_move_the_answers(heart):
    shares = []
    for weight in ({0: 10.0, 1: 1.0}, None, "balanced", {0: 1.0, 1: 10.0}):
        fitted = AFRClassifier(costs=heart.costs, class_weight=weight, n_members=1, random_state=0)
        fitted.fit(heart.X, heart.y)
        shares.append(fitted.predict(heart.X).mean())
    assert shares[0] < shares[1] - 0.1 and shares[3] > shares[2] + 0.1


def test_weights_of_classes_are_weights_of_rows(heart):
    small = {"costs": heart.costs, "n_blocks": 4, "random_state": 0}
    by_class, by_row = AFRClassifier(class_weight={0: 3.0, 1: 1.0}, **small), AFRClassifier(**small)
    by_class.fit(heart.X, heart.y)
    by_row.fit(heart.X, heart.y, sample_weight=np.where(heart.y == 0, 3.0, 1.0))
    np.testing.assert_array_equal(by_class.predict_proba(heart.X), by_row.predict_proba(heart.X))


def test_several_classes_share_what_is_paid():
    X, y, costs = table(1200)
    fitted = AFRClassifier(costs=costs, n_dimensions=4, n_members=1, random_state=0).fit(X[:600], y[:600])
    assert fitted.snapshot_costs_[0] == 0.0  # the free feature
    assert (np.diff(fitted.snapshot_costs_) > 0).all()
    score = [np.mean(fitted.predict(X[600:], budget=b) == y[600:]) for b in (0.5, 6.0, 20.0)]
    assert score[0] < 0.6 and score[2] > 0.85 and score[1] < score[2]
    share = fitted.predict_proba(X[600:])
    assert log_loss(y[600:], share) < 0.45


def test_examples_that_are_sure_leave_early_with_early_exit(xor):
    rows = xor.split == 0
    inner = AFRClassifier(costs=xor.costs, n_dimensions=4, n_members=1, random_state=0)
    early = EarlyExit(inner, threshold=0.9, every=1).fit(xor.X[rows], xor.y[rows])
    run, whole = early.run(xor.X[~rows]), early.estimator_.run(xor.X[~rows])
    assert len(np.unique(run.exit)) > 2
    assert run.cost.mean() < 0.8 * whole.cost.mean()
    sure = early.predict_proba(xor.X[~rows]).max(axis=1)
    assert (sure[run.exit < run.exit.max()] >= 0.9).all()


def test_two_dimensions_in_all(xor):
    rows = xor.split == 0
    flat = AFRClassifier(costs=xor.costs, n_dimensions=2, max_dimensions=2, max_depth=3, random_state=0)
    flat.fit(xor.X[rows], xor.y[rows])
    weights = [np.unique(node.weights.round(12)) for node in flat.plan_.nodes]
    assert {len(one) for one in weights} <= {1, 2} and len(weights[-1]) == 2
    assert flat.score(xor.X[~rows], xor.y[~rows]) > 0.95


def test_nothing_to_learn_costs_nothing():
    X = np.zeros((40, 2))
    fitted = AFRClassifier().fit(X, np.arange(40) % 2)
    assert fitted.cost_ == 0.0 and len(fitted.plan_.nodes) == 0


def test_platt_gives_the_shares_of_what_was_seen():
    rng = np.random.default_rng(0)
    scores = rng.normal(size=4000)
    positive = rng.random(4000) < 1 / (1 + np.exp(-(1.7 * scores - 0.6)))
    factor, shift = platt(scores, positive, np.ones(4000))
    assert factor == pytest.approx(1.7, abs=0.15) and shift == pytest.approx(-0.6, abs=0.15)


@pytest.mark.parametrize("positive", [np.zeros(50, bool), np.ones(50, bool), np.arange(50) > 24])
def test_platt_is_finite_where_nothing_is_wrong(positive):
    factor, shift = platt(np.linspace(-1, 1, 50), positive, np.ones(50))
    assert np.isfinite([factor, shift]).all() and factor > 0
