"""Searches with weights, and with metrics that are no means or are the user's own."""

import numpy as np
import pytest
from sklearn.metrics import f1_score, roc_auc_score

from miserly import BudgetedEstimator, CostLassoClassifier, GreedyMiserClassifier, GreedyMiserRanker
from miserly.errors import DataError, MetricError
from miserly.metrics import row_metric
from miserly.selection import frontier
from miserly.selection.evaluation import Evaluator, Trial

from .tables import COSTS, miser, sweep, table

RNG = np.random.default_rng(0)
X, Y, TRUTH = table(240)
WEIGHT = np.where(Y == 1, 3.0, 1.0) * RNG.integers(1, 4, 240)
SPLIT = (np.arange(160), np.arange(160, 240))


@pytest.fixture(scope="module")
def weighted():
    return sweep([miser(), CostLassoClassifier()], X, Y, sample_weight=WEIGHT, cv=SPLIT, handovers=True)


def test_fits_metric_and_costs_are_weighted(weighted):
    train, test = SPLIT
    for one in weighted.candidates:
        if "handover" in one.view:
            continue
        (plan,) = one.trial.plans
        if one.view.get("rounds") is not None:
            continue
        done = plan.run(X[test])
        right = plan.classes[(done.scores.ravel() > 0).astype(int)] == Y[test]
        assert one.mean_value == pytest.approx(np.average(right, weights=WEIGHT[test]))
        assert one.mean_cost == pytest.approx(np.average(done.cost, weights=WEIGHT[test]))
    fits = {one.trial for one in weighted.candidates if one.learner == "CostLassoClassifier"}
    for trial in fits:
        model = CostLassoClassifier(costs=COSTS, **{trial.learner.hyperparameter.name: trial.value})
        expected = model.fit(X[train], Y[train], WEIGHT[train]).plan_
        np.testing.assert_allclose(expected.run(X).scores, trial.plans[0].run(X).scores, rtol=1e-9)


def test_pairs_are_evaluated_with_the_weights_of_rows(weighted):
    """A pair is evaluated from its halves; the plan of the pair must agree."""
    pairs = [one for one in weighted.candidates if "handover" in one.view]
    assert pairs
    evaluator, test = weighted.result.evaluator, SPLIT[1]
    for one in pairs[:4]:
        again = evaluator.evaluate_under_caps(one, [0.9 * one.max_cost])[0]
        assert again.mean_cost <= one.mean_cost + 1e-9
        (full,) = [new for new in evaluator.evaluate(one.trial) if new.view == one.view]
        assert full.mean_value == pytest.approx(one.mean_value)
        assert full.mean_cost == pytest.approx(one.mean_cost)
        assert full.error == pytest.approx(one.error)
        np.testing.assert_allclose(full.row_cost, one.row_cost)
        assert len(one.row_cost) == len(test)


def test_the_best_model_keeps_a_weighted_mean_budget(weighted):
    model = weighted.best(mean_budget=6.0)
    assert np.average(model.run(X).cost, weights=WEIGHT) <= 6.0 + 1e-9
    line = weighted.at(mean_budgets=[6.0])
    assert float(line["plan_cost"].iloc[0]) == pytest.approx(np.average(model.run(X).cost, weights=WEIGHT))


def test_equal_weights_are_no_weights():
    plain, equal = (sweep(miser(), X, Y, max_fits=4, sample_weight=w) for w in (None, np.full(240, 0.7)))
    for one, other in zip(plain.candidates, equal.candidates, strict=True):
        np.testing.assert_array_equal(one.value, other.value)
        assert not other.is_weighted


def test_rows_of_no_weight_are_left_out():
    out = np.arange(240) % 4 == 0
    spoilt = np.where(out[:, None], 1e3, X)
    weight = WEIGHT / WEIGHT[~out].mean()
    zero = sweep(miser(), spoilt, Y, max_fits=4, sample_weight=np.where(out, 0.0, weight))
    kept = sweep(miser(), X[~out], Y[~out], max_fits=4, sample_weight=weight[~out])
    for one, other in zip(zero.candidates, kept.candidates, strict=True):
        assert one.mean_value == pytest.approx(other.mean_value)
        assert one.mean_cost == pytest.approx(other.mean_cost)


def test_weights_are_part_of_the_key_of_a_cached_fit(tmp_path):
    options = {"max_fits": 3, "cache": tmp_path}
    sweep(miser(), X, Y, **options)
    n = len(list(tmp_path.iterdir()))
    first = sweep(miser(), X, Y, sample_weight=WEIGHT, **options)
    assert len(list(tmp_path.iterdir())) > n
    n = len(list(tmp_path.iterdir()))
    again = sweep(miser(), X, Y, sample_weight=WEIGHT, **options)
    assert len(list(tmp_path.iterdir())) == n
    for one, other in zip(first.candidates, again.candidates, strict=True):
        np.testing.assert_array_equal(one.value, other.value)


class Unweighted(GreedyMiserClassifier):
    """A learner that takes no weights."""

    def fit(self, X, y):
        return super().fit(X, y)


def test_what_weights_cannot_have_is_refused_in_words(weighted):
    for options in ({"certify": 0.2}, {"certify": None, "confidence": 0.9}):
        with pytest.raises(DataError, match="guarantees need rows that count the same"):
            sweep(miser(), X, Y, sample_weight=WEIGHT, **options)
    with pytest.raises(DataError, match="with sample_weight no mean can be guaranteed"):
        weighted.best(mean_budget=6.0, confidence=0.9)
    assert weighted.best(6.0, confidence=0.9).run(X).cost.max() <= 6.0  # a cap holds in any case
    with pytest.raises(DataError, match="all queries the same weight"):
        sweep(GreedyMiserRanker(), X, Y, qid=np.arange(240) // 6, sample_weight=WEIGHT)
    with pytest.raises(DataError, match=r"Unweighted\.fit does not take it"):
        sweep(Unweighted(), X, Y, sample_weight=WEIGHT)
    with pytest.raises(DataError, match="must hold 240 numbers"):
        sweep(miser(), X, Y, sample_weight=WEIGHT[1:])


def test_a_budgeted_estimator_takes_weights():
    options = {"learners": miser(), "costs": COSTS, "max_fits": 4, "cv": 3, "random_state": 0}
    model = BudgetedEstimator(mean_budget=6.0, task="classes", **options)
    model.fit(X, Y, sample_weight=WEIGHT)
    same = frontier(
        miser(),
        X,
        Y,
        costs=COSTS,
        task="classes",
        sample_weight=WEIGHT,
        mean_budgets=[6.0],
        certify=0.0,
        max_fits=4,
        cv=3,
        random_state=0,
    )
    assert model.plan_.digest == same.best(mean_budget=6.0).plan_.digest
    with pytest.raises(DataError, match="guarantees need rows that count the same"):
        BudgetedEstimator(mean_budget=6.0, confidence=0.9, **options).fit(X, Y, sample_weight=WEIGHT)


# -- metrics -------------------------------------------------------------------------------------------------


def of_sklearn(name, plan, rows, y):
    """roc_auc or f1 of a plan on some rows, by scikit-learn."""
    table = plan.run(rows).scores
    if len(plan.classes) == 2:
        scores = table.ravel()
        return roc_auc_score(y, scores) if name == "roc_auc" else f1_score(y, scores > 0)
    proba = np.exp(table - table.max(axis=1, keepdims=True))
    proba /= proba.sum(axis=1, keepdims=True)
    if name == "roc_auc":
        return roc_auc_score(y, proba, multi_class="ovr")
    return f1_score(y, plan.classes[proba.argmax(axis=1)], average="macro")


@pytest.mark.parametrize("name", ["roc_auc", "f1"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_values_are_those_of_scikit_learn(name, n_classes):
    y = np.digitize(TRUTH, [0.0] if n_classes == 2 else [-0.5, 0.5])
    found = sweep(CostLassoClassifier(), X, y, metric=name, cv=SPLIT, max_fits=4)
    for one in found.candidates:
        if one.is_constant:
            assert name == "f1" or (one.mean_value == 0.5 and one.error == 0.0)
            continue
        expected = of_sklearn(name, one.trial.plans[0], X[SPLIT[1]], y[SPLIT[1]])
        assert one.mean_value == pytest.approx(expected, abs=1e-12)
        line = one.intervals
        assert 0.0 < line["value_low"] < line["value"] <= line["value_high"] <= 1.0


def test_folds_are_joined_as_they_should_be():
    """F1 is that of all folds together; areas are means over folds, whose models have scores of their own."""
    folds = [(np.delete(np.arange(240), k), k) for k in (np.arange(0, 80), np.arange(80, 240))]
    for name in ("f1", "roc_auc"):
        found = sweep(CostLassoClassifier(), X, Y, metric=name, cv=folds, max_fits=3)
        one = next(one for one in found.candidates if not one.is_constant)
        parts = list(zip(one.trial.plans, [test for _, test in folds], strict=True))
        if name == "f1":
            expected = f1_score(Y, np.concatenate([plan.run(X[k]).scores.ravel() > 0 for plan, k in parts]))
        else:
            areas = [of_sklearn(name, plan, X[k], Y[k]) for plan, k in parts]
            expected = np.average(areas, weights=[80, 160])
        assert one.mean_value == pytest.approx(expected, abs=1e-12)


def test_a_search_by_area_gives_models_tables_and_pictures(tmp_path):
    found = frontier(
        miser(), X, Y, costs=COSTS, metric="roc_auc", max_fits=5, cv=3, certify=0.2, random_state=0
    )
    lines = found.at(mean_budgets=[6.0, 26.0])
    assert (lines["value"] > 0.8).all() and (lines["value_high"] <= 1.0).all()
    model = found.best(mean_budget=6.0)
    assert roc_auc_score(Y, model.decision_function(X)) > 0.8
    assert not any("handover" in one.view for one in found.candidates)
    found.plot().figure.savefig(tmp_path / "found.png")
    found.to_html(tmp_path / "found.html")
    page = (tmp_path / "found.html").read_text()
    assert "area under the ROC curve" in page and "arrayminus" in page
    guaranteed = found.best(mean_budget=12.0, confidence=0.9)  # costs are means, whatever the metric is
    assert "costs 12 or less on average" in str(guaranteed.guarantee_[0])
    with pytest.raises(MetricError, match="roc_auc is not a mean over rows, so no loss"):
        found.best(mean_budget=26.0, max_loss=0.2, confidence=0.9)
    with pytest.raises(MetricError, match="handovers are evaluated row by row"):
        sweep(miser(), X, Y, metric="f1", handovers=True)


def test_a_metric_of_the_user_is_searched_and_guaranteed():
    def harm(y, predicted):
        return np.where(y == predicted, 0.0, np.where(y == 1, 10.0, 1.0))

    bounded = row_metric(harm, greater_is_better=False, bounds=(0.0, 10.0))
    found = frontier(
        miser(), X, Y, costs=COSTS, metric=bounded, max_fits=5, cv=3, certify=0.4, random_state=0
    )
    assert found.metric == "harm" and not found.greater_is_better
    for one in found.candidates:
        assert one.mean_value == pytest.approx(one.value.mean()) and 0.0 <= one.mean_value <= 10.0
    model = found.best(max_loss=9.0, confidence=0.9)
    assert "harm is at most 9 below" in str(model.guarantee_[0])
    unbounded = row_metric(harm, greater_is_better=False)
    found = frontier(
        miser(), X, Y, costs=COSTS, metric=unbounded, max_fits=4, cv=3, certify=0.2, random_state=0
    )
    with pytest.raises(MetricError, match="row_metric with bounds"):
        found.best(max_loss=9.0, confidence=0.9)


def test_probabilities_and_scores_reach_the_function():
    def brier(y, proba):
        assert proba.shape == (len(y), 2)
        return (proba[:, 1] - y) ** 2

    def margin(y, score):
        assert score.ndim == 1
        return np.where(y == 1, score, -score)

    for function, needs, better in ((brier, "proba", False), (margin, "score", True)):
        metric = row_metric(function, greater_is_better=better, needs=needs)
        found = sweep(miser(), X, Y, metric=metric, max_fits=4)
        assert np.isfinite(found.points["value"]).all()


def test_functions_that_are_wrong_are_reported():
    with pytest.raises(MetricError, match="one number per row"):
        sweep(miser(), X, Y, metric=lambda y, p: y == p)
    wrong = row_metric(lambda y, p: 1.0, greater_is_better=True, name="constant")
    with pytest.raises(DataError, match=r"every fit failed.*constant gives a single number"):
        sweep(miser(), X, Y, metric=wrong)


def test_weights_and_areas_together():
    found = sweep(CostLassoClassifier(), X, Y, metric="roc_auc", cv=SPLIT, max_fits=3, sample_weight=WEIGHT)
    one = next(one for one in found.candidates if not one.is_constant)
    scores = one.trial.plans[0].run(X[SPLIT[1]]).scores.ravel()
    expected = roc_auc_score(Y[SPLIT[1]], scores, sample_weight=WEIGHT[SPLIT[1]])
    assert one.mean_value == pytest.approx(expected, abs=1e-12)
    assert isinstance(one.trial, Trial) and isinstance(found.result.evaluator, Evaluator)


def test_weights_and_outcome_costs_together():
    outcomes = {(1, 0): 30.0, (0, 1): 5.0}
    found = sweep(
        miser(), X, Y, outcome_costs=outcomes, cv=SPLIT, max_fits=4, sample_weight=WEIGHT, handovers=True
    )
    assert found.metric == "total_cost"
    test = SPLIT[1]
    for one in found.candidates:
        if one.view.get("rounds") is not None or "handover" in one.view:
            continue
        (plan,) = one.trial.plans
        done, labels = plan.run(X[test]), plan.predict(X[test])
        paid = np.where(labels == Y[test], 0.0, np.where(Y[test] == 1, 30.0, 5.0)) + done.cost
        assert one.mean_value == pytest.approx(np.average(paid, weights=WEIGHT[test]))
        assert one.total.mean() == pytest.approx(one.mean_value)
