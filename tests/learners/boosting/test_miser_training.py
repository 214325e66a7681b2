"""Greedy Miser while it trains: early stopping, warm starts, stages, callbacks, interruptions."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.callback import ProgressBar, ScoringMonitor

from miserly import Costs
from miserly.errors import CostError, DataError, MetricError
from miserly.learners import GreedyMiserClassifier, GreedyMiserRanker, GreedyMiserRegressor
from miserly.metrics import get_metric


def bits(model, X):
    return model.run(X).scores.tobytes()


# -- early stopping ----------------------------------------------------------------------------------------


def noisy(sets):
    """Labels with so much noise that many rounds overfit."""
    return sets.y + 3.0 * np.random.default_rng(3).normal(size=len(sets.y))


def test_the_best_round_on_validation_data_is_kept(sets):
    y = noisy(sets)
    model = GreedyMiserRegressor(costs=sets.costs, step=0.5, early_stopping=5, random_state=0).fit(sets.X, y)
    curve = model.validation_curve_
    assert model.stopped_by_ == "early stopping"
    assert model.n_rounds_ == curve.argmin() == len(curve) - 1 - 5
    assert len(model.plan_.nodes) == model.n_rounds_ < 95


def test_with_queries_a_regressor_is_the_ranker_of_squared_loss(sets):
    qid = np.arange(len(sets.y)) // 10
    grades = np.clip(np.round(sets.y), 0, 3)
    shared = {"early_stopping": 3, "random_state": 0, "n_rounds": 10}
    number = GreedyMiserRegressor(metric="ndcg@5", **shared).fit(sets.X, grades, qid=qid)
    order = GreedyMiserRanker(loss="squared", **shared).fit(sets.X, grades, qid=qid)
    np.testing.assert_array_equal(number.validation_curve_, order.validation_curve_)
    assert bits(number, sets.X) == bits(order, sets.X)
    with pytest.raises(DataError, match="qid must name the query"):
        GreedyMiserRegressor().fit(sets.X, grades, qid=qid[:5])


def test_features_bought_after_the_best_round_are_not_reported(sets):
    costs = Costs(sets.costs, evaluation=0.01)
    shared = {"costs": costs, "step": 0.5, "max_depth": 1, "tradeoff": 0.001}
    held_out = np.arange(len(sets.y)) % 4 == 0
    y = noisy(sets)
    learn = (sets.X[~held_out], y[~held_out])
    validation = {"X_val": sets.X[held_out], "y_val": y[held_out]}
    model = GreedyMiserRegressor(early_stopping=10, **shared).fit(*learn, **validation)
    going_on = GreedyMiserRegressor(n_rounds=len(model.validation_curve_) - 1, **shared).fit(*learn)
    short = GreedyMiserRegressor(n_rounds=model.n_rounds_, **shared).fit(*learn)
    assert bits(model, sets.X) == bits(short, sets.X)
    assert model.cost_ == short.cost_ == model.ledger_.spent < going_on.cost_
    assert model.features_.tolist() == short.features_.tolist() != going_on.features_.tolist()


def test_validation_data_without_early_stopping_is_only_looked_at(sets):
    model = GreedyMiserRegressor(n_rounds=7)
    watched = model.fit(sets.X, sets.y, X_val=sets.X[:50], y_val=sets.y[:50])
    assert watched.n_rounds_ == 7
    expected = [np.mean((sets.y[:50] - sets.y.mean()) ** 2)]
    expected += [np.mean((sets.y[:50] - p) ** 2) for p in watched.staged_predict(sets.X[:50])]
    np.testing.assert_allclose(watched.validation_curve_, expected)
    assert not hasattr(model.fit(sets.X, sets.y), "validation_curve_")


def test_no_round_at_all_is_kept_if_none_helps(sets):
    model = GreedyMiserRegressor(early_stopping=3, n_rounds=30)
    model.fit(sets.X, sets.y, X_val=sets.X, y_val=-sets.y)
    assert model.n_rounds_ == 0 and model.cost_ == 0.0 and len(model.features_) == 0


def test_ties_of_accuracy_are_broken_by_the_loss(sets):
    # Accuracy on these rows is perfect from the first round on; the loss still falls, so training goes on.
    x = np.sign(sets.X[:, [1]])
    model = GreedyMiserClassifier(n_rounds=30, early_stopping=3, random_state=0).fit(x, x[:, 0])
    assert (model.validation_curve_[1:] == 1.0).all()
    assert model.n_rounds_ == 30


@pytest.mark.parametrize("metric", ["log_loss", "roc_auc", get_metric("balanced_accuracy")])
@pytest.mark.parametrize("label", ["label", "classes"])
def test_the_metric_of_early_stopping_can_be_chosen(sets, metric, label):
    model = GreedyMiserClassifier(n_rounds=8, early_stopping=True, metric=metric, random_state=1)
    model.fit(sets.X, getattr(sets, label))
    best = model.validation_curve_.argmin() if metric == "log_loss" else None
    assert best is None or model.n_rounds_ == best
    assert len(model.validation_curve_) == 9


def test_unknown_metric_is_named(sets):
    with pytest.raises(MetricError, match="acuracy"):
        GreedyMiserClassifier(early_stopping=True, metric="acuracy").fit(sets.X, sets.label)


@pytest.mark.parametrize("loss", ["within_queries", "squared", "lambdarank"])
def test_ranker_is_evaluated_by_ndcg_of_whole_queries(sets, loss):
    model = GreedyMiserRanker(loss=loss, n_rounds=10, early_stopping=True, random_state=0)
    model.fit(sets.X, sets.grade, qid=sets.qid)
    assert model.n_rounds_ == model.validation_curve_.argmax()
    assert model.validation_curve_[0] < 0.7 < model.validation_curve_.max()


def test_same_random_state_same_split_same_model(sets):
    model = GreedyMiserClassifier(n_rounds=5, early_stopping=True, random_state=4)
    one, two = (clone(model).fit(sets.X, sets.label) for _ in range(2))
    assert bits(one, sets.X) == bits(two, sets.X)
    other = clone(model).set_params(random_state=5).fit(sets.X, sets.label)
    assert not np.array_equal(one.validation_curve_, other.validation_curve_)


def test_too_few_queries_for_a_validation_set(sets):
    with pytest.raises(DataError, match="too few queries"):
        GreedyMiserRanker(early_stopping=True).fit(sets.X, sets.grade, qid=np.zeros(len(sets.y)))


# -- going on ------------------------------------------------------------------------------------------------


def tasks(sets):
    X = sets.X.astype(np.float32)
    X[::7, 0] = np.nan
    return {
        "number": (GreedyMiserRegressor(), (X, sets.y), {"sample_weight": sets.weight}),
        "class": (GreedyMiserClassifier(), (X, sets.label), {}),
        "classes": (GreedyMiserClassifier(), (X, sets.classes), {"sample_weight": sets.weight}),
        "rank": (GreedyMiserRanker(loss="lambdarank"), (X, sets.grade), {"qid": sets.qid}),
    }


@pytest.mark.parametrize("task", ["number", "class", "classes", "rank"])
def test_a_warm_start_gives_the_model_of_one_go_to_the_bit(sets, task):
    model, data, rest = tasks(sets)[task]
    model.set_params(costs=sets.costs, tradeoff=0.003, max_depth=2, random_state=0)
    whole = clone(model).set_params(n_rounds=12).fit(*data, **rest)
    parts = clone(model).set_params(n_rounds=4, warm_start=True).fit(*data, **rest)
    paid = parts.ledger_.spent
    parts.set_params(n_rounds=9).fit(*data, **rest)
    parts.set_params(n_rounds=12).fit(*data, **rest)
    assert parts.n_rounds_ == 12 and parts.ledger_.spent >= paid
    assert bits(whole, sets.X) == bits(parts, sets.X)
    for one, other in zip(whole.plan_.terms, parts.plan_.terms, strict=True):
        np.testing.assert_array_equal(one.threshold, other.threshold)
        np.testing.assert_array_equal(one.value, other.value)
    np.testing.assert_allclose(whole.feature_importances_, parts.feature_importances_)


def test_a_warm_start_keeps_what_is_paid(sets):
    # The second fit may buy nothing, but what is paid stays free.
    model = GreedyMiserRegressor(costs=sets.costs, n_rounds=2, max_depth=1, warm_start=True)
    bought = set(model.fit(sets.X, sets.y).features_.tolist())
    model.set_params(n_rounds=40, tradeoff=1e6).fit(sets.X, sets.y)
    assert set(model.features_.tolist()) == bought | {5}
    assert model.n_rounds_ == 40
    later = {int(f) for tree in model.plan_.terms[2:] for f in tree.features}
    assert later & bought


def test_a_warm_start_counts_what_is_spent_against_the_budgets(sets):
    costs = Costs(sets.costs, evaluation=1.0)
    model = GreedyMiserRegressor(costs=costs, n_rounds=3, max_depth=1, warm_start=True).fit(sets.X, sets.y)
    more = clone(model).fit(sets.X, sets.y).set_params(n_rounds=50, budget=model.cost_ + 2, tradeoff=1e6)
    more.fit(sets.X, sets.y)
    assert more.n_rounds_ == 5 and more.cost_ == model.cost_ + 2 and more.stopped_by_ == "budget"
    model.set_params(n_rounds=50, tree_budget=7.0).fit(sets.X, sets.y)
    assert model.n_rounds_ == 7 and model.stopped_by_ == "tree budget"


def test_a_warm_start_after_early_stopping_goes_on_from_the_best_round(sets):
    y = noisy(sets)
    model = GreedyMiserRegressor(
        step=0.5, early_stopping=3, random_state=0, warm_start=True, costs=sets.costs
    )
    first = model.fit(sets.X, y).n_rounds_
    curve = model.validation_curve_
    model.set_params(early_stopping=8).fit(sets.X, y)
    assert model.n_rounds_ >= first
    np.testing.assert_array_equal(model.validation_curve_[: first + 1], curve[: first + 1])


def test_a_warm_start_refuses_fewer_rounds_other_costs_and_new_classes(sets):
    model = GreedyMiserClassifier(n_rounds=3, warm_start=True).fit(sets.X, sets.label)
    with pytest.raises(DataError, match="n_rounds=2 is less than the 3 rounds of the earlier fit"):
        model.set_params(n_rounds=2).fit(sets.X, sets.label)
    with pytest.raises(CostError, match="`costs` has changed"):
        model.set_params(n_rounds=5, costs=sets.costs).fit(sets.X, sets.label)
    with pytest.raises(DataError, match="class 2 is not one of classes_"):
        model.set_params(costs=None).fit(sets.X, sets.classes)


def test_without_a_warm_start_everything_starts_again(sets):
    model = GreedyMiserClassifier(n_rounds=3).fit(sets.X, sets.classes)
    model.fit(sets.X[:, :2], sets.label)
    assert model.n_features_in_ == 2 and model.classes_.tolist() == [0, 1]


# -- a budget for features and trees ------------------------------------------------------------------------


def test_the_first_tree_leaves_money_for_others(sets):
    # Every feature and every tree costs 1: a fifth of the budget is for trees before features are bought.
    costs = Costs(np.ones(sets.X.shape[1]), evaluation=1.0)
    total = costs.total + 2.0
    model = GreedyMiserRegressor(costs=costs, budget=total, n_rounds=50).fit(sets.X, sets.y)
    trees = len(model.plan_.terms)
    assert trees >= np.floor(0.2 * total) and model.cost_ <= total
    split = clone(model).set_params(tree_budget=5.0).fit(sets.X, sets.y)
    assert len(split.plan_.terms) == 5 and model.costs.of(split.plan_.features) <= total - 5.0


# -- stage by stage ------------------------------------------------------------------------------------------


def test_stages_are_the_prefixes_of_the_plan(sets):
    costs = Costs(sets.costs, groups={"g": {"features": [0, 1], "setup": 2.0}}, evaluation=0.25)
    model = GreedyMiserClassifier(costs=costs, n_rounds=5, max_depth=2).fit(sets.X, sets.classes)
    for count in ("path", "tree"):
        for t, stage in enumerate(model.staged_run(sets.X, count=count), start=1):
            run = model.plan_.prefix(t).run(sets.X, count=count)
            np.testing.assert_allclose(stage.scores, run.scores, rtol=1e-12)
            np.testing.assert_allclose(stage.cost, run.cost)
            np.testing.assert_array_equal(stage.acquired, run.acquired)
        assert t == 5
    np.testing.assert_array_equal(list(model.staged_predict(sets.X))[-1], model.predict(sets.X))
    staged = list(model.staged_predict_proba(sets.X)), list(model.staged_decision_function(sets.X))
    np.testing.assert_allclose(staged[0][-1], model.predict_proba(sets.X))
    np.testing.assert_allclose(staged[1][-1], model.decision_function(sets.X))


# -- callbacks -----------------------------------------------------------------------------------------------


class Recorder:
    """Counts rounds, and at one of them does something."""

    def __init__(self, at=None, act=None):
        self.rounds, self.at, self.act = 0, at, act

    def setup(self, estimator, context):
        self.max_rounds = context.max_subtasks

    def teardown(self, estimator, context):
        self.finished = True

    def on_fit_task_begin(self, estimator, context):
        pass

    def on_fit_task_end(self, estimator, context, *, X=None, y=None, fitted_estimator=None):
        if context.task_name != "round":
            return False
        self.rounds += 1
        self.predicted = fitted_estimator.predict(X)
        return self.act() if self.rounds == self.at else False


def test_callbacks_see_every_round_and_a_model_that_predicts(sets):
    recorder = Recorder()
    model = GreedyMiserClassifier(n_rounds=6).set_callbacks(recorder).fit(sets.X, sets.classes)
    assert recorder.rounds == recorder.max_rounds == 6 and recorder.finished
    np.testing.assert_array_equal(recorder.predicted, model.predict(sets.X))


def test_a_callback_can_stop_training(sets):
    model = GreedyMiserRegressor(n_rounds=6).set_callbacks(Recorder(3, lambda: True)).fit(sets.X, sets.y)
    assert model.n_rounds_ == 3 and model.stopped_by_ == "callback"


def test_an_interrupted_fit_leaves_the_rounds_done(sets):
    def interrupt():
        raise KeyboardInterrupt

    model = GreedyMiserClassifier(n_rounds=9, costs=sets.costs).set_callbacks(Recorder(4, interrupt))
    with pytest.raises(KeyboardInterrupt):
        model.fit(sets.X, sets.label)
    assert model.n_rounds_ == 4 and model.stopped_by_ == "interrupt"
    short = GreedyMiserClassifier(n_rounds=4, costs=sets.costs).fit(sets.X, sets.label)
    assert bits(model, sets.X) == bits(short, sets.X) and model.cost_ == short.cost_


def test_scikit_learns_own_callbacks_work(sets, capsys):
    monitor = ScoringMonitor(scoring="accuracy")
    model = GreedyMiserClassifier(n_rounds=4).set_callbacks(ProgressBar(), monitor).fit(sets.X, sets.label)
    assert "GreedyMiserClassifier" in capsys.readouterr().out
    scores = [row["accuracy"] for row in monitor.get_logs().data if row["task_name"] == "round"]
    assert scores[-1] == model.score(sets.X, sets.label) and len(scores) == 4


def test_verbose_shows_progress_and_silence_is_the_default(sets, capsys):
    GreedyMiserRegressor(n_rounds=3, costs=Costs(sets.costs, unit="CAD")).fit(sets.X, sets.y)
    assert capsys.readouterr() == ("", "")
    model = GreedyMiserRegressor(n_rounds=3, costs=Costs(sets.costs, unit="CAD"), verbose=1)
    model.fit(sets.X, sets.y, X_val=sets.X, y_val=sets.y)
    shown = capsys.readouterr().err
    assert "3/3" in shown and "CAD" in shown and "mse" in shown
