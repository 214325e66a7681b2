"""Early Exit: who leaves where, what it saves, and how the threshold is chosen."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.utils._param_validation import InvalidParameterError

from miserly import Costs, adopt
from miserly.errors import DataError, PlanError
from miserly.learners import EarlyExit, GreedyMiserClassifier, GreedyMiserRanker, GreedyMiserRegressor
from miserly.learners.wrap.adopt import Addend, AdoptedModel
from miserly.learners.wrap.exits import RULES, StagedScores, exit_gates, leave
from miserly.metrics import Queries, ndcg
from miserly.plan import Confidence, Node, Onward, Plan, Raw, Tree
from miserly.plan.gates import Threshold

COSTS = Costs([5.0, 3.0, 2.0, 1.0, 1.0, 0.0], evaluation=0.5)  # after ten rounds most features are bought


@pytest.fixture(scope="module")
def fitted(sets):
    """Models to put exits into, fitted once."""
    return {
        "label": GreedyMiserClassifier(costs=COSTS, n_rounds=40, max_depth=2).fit(sets.X, sets.label),
        "classes": GreedyMiserClassifier(costs=COSTS, n_rounds=40, max_depth=2).fit(sets.X, sets.classes),
        "rank": GreedyMiserRanker(costs=COSTS, n_rounds=40, max_depth=2).fit(
            sets.X, sets.grade, qid=sets.qid
        ),
    }


# -- gates -------------------------------------------------------------------------------------------------


def test_schedules_of_the_gates():
    assert [gate.slack for gate in exit_gates("proximity", 3.0, 4, k=2)] == [3.0, 2.0, 1.0, 0.0]
    assert [gate.slack for gate in exit_gates("proximity", 3.0, 1, k=2)] == [3.0]
    np.testing.assert_allclose([g.share for g in exit_gates("capacity", 0.25, 2, k=5)], [0.5, 0.25])
    assert [gate.k for gate in exit_gates("rank", 7, 2, k=5)] == [7, 7]
    assert exit_gates("confidence", np.inf, 3, k=5) == exit_gates("score", -np.inf, 3, k=5) == []


def test_exits_stand_every_so_many_rounds_before_the_end(fitted, sets):
    model = EarlyExit(fitted["label"], prefit=True, threshold=0.9, every=15).fit(sets.X, sets.label)
    kinds = [type(node.gate) for node in model.plan_.nodes]
    assert [k for k, kind in enumerate(kinds) if kind is Confidence] == [14, 29]
    assert kinds.count(Onward) == 38
    end = EarlyExit(fitted["label"], prefit=True, threshold=0.9, every=20).fit(sets.X, sets.label)
    assert [k for k, node in enumerate(end.plan_.nodes) if isinstance(node.gate, Confidence)] == [19]


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_thresholds_are_tried_without_the_model_and_agree_with_it(fitted, sets, rule, share):
    inner = fitted["classes" if rule == "confidence" else "rank"]
    y = sets.classes if rule == "confidence" else sets.grade
    stops = [10, 20, 30]
    met = list(inner.plan_.run_staged(sets.X, [*stops, 40]))
    staged = StagedScores(
        np.array([s.scores for s in met]),
        np.array([s.cost for s in met]),
        inner.plan_.link,
        Queries(sets.qid),
    )
    spread = np.ptp(staged.scores[1])
    threshold = {
        "confidence": 0.5 + share / 3,
        "score": np.quantile(staged.scores[1], share),
        "proximity": share * spread,
        "rank": 1 + int(8 * share),
        "capacity": share,
    }[rule]
    model = EarlyExit(inner, prefit=True, rule=rule, threshold=threshold, k=3).fit(sets.X, y, qid=sets.qid)
    run = model.run(sets.X, qid=sets.qid)
    exits = leave(staged, exit_gates(rule, threshold, 3, k=3))
    assert (exits < 3).any()
    np.testing.assert_array_equal(run.exit, np.array([9, 19, 29, 39])[exits])
    scores, cost = staged.at(exits)
    np.testing.assert_allclose(run.scores.reshape(scores.shape), scores)
    np.testing.assert_allclose(run.cost, cost)


# -- choosing ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("label", ["label", "classes"])
@pytest.mark.parametrize("saving", [0.2, 0.5])
def test_the_wanted_saving_is_reached_on_the_rows_it_was_chosen_on(fitted, sets, label, saving):
    y = getattr(sets, label)
    model = EarlyExit(fitted[label], prefit=True, saving=saving).fit(sets.X, y)
    full = fitted[label].run(sets.X).cost.mean()
    saved = 1 - model.run(sets.X).cost.mean() / full
    assert saved >= saving - 1e-9 and saved == pytest.approx(model.saving_)
    enough = model.candidates_.saving >= saving
    chosen = model.candidates_.threshold == model.threshold_
    assert model.candidates_.metric[chosen].max() == model.candidates_.metric[enough].max()
    assert model.score(sets.X, y) == pytest.approx(model.candidates_.metric[chosen].max())


@pytest.mark.parametrize("rule", ["proximity", "score", "rank", "capacity"])
def test_rankings_are_cut_short_by_every_rule(fitted, sets, rule):
    model = EarlyExit(fitted["rank"], prefit=True, rule=rule, saving=0.2).fit(
        sets.X, sets.grade, qid=sets.qid
    )
    run = model.run(sets.X, qid=sets.qid)
    assert run.cost.mean() <= 0.8 * fitted["rank"].run(sets.X).cost.mean() + 1e-9
    assert model.score(sets.X, sets.grade, qid=sets.qid) > 0.8
    predicted = model.predict(sets.X, qid=sets.qid)
    for q in np.unique(sets.qid):
        rows = sets.qid == q
        stayed = run.exit[rows] == 39
        if stayed.any() and not stayed.all():
            assert predicted[rows][stayed].min() > predicted[rows][~stayed].max()


def test_lower_confidence_saves_more(fitted, sets):
    model = EarlyExit(fitted["classes"], prefit=True).fit(sets.X, sets.classes)
    order = np.argsort(model.candidates_.threshold)
    assert (np.diff(model.candidates_.saving[order]) <= 1e-12).all()


def test_without_a_request_the_most_is_saved_that_costs_no_quality(fitted, sets):
    model = EarlyExit(fitted["label"], prefit=True).fit(sets.X, sets.label)
    assert model.score(sets.X, sets.label) >= fitted["label"].score(sets.X, sets.label)
    lossless = model.candidates_.metric >= model.candidates_.metric[-1]
    assert model.saving_ == model.candidates_.saving[lossless].max() > 0


def test_no_exit_is_made_where_none_is_worth_having(fitted, sets):
    # Log-loss gets worse wherever a row leaves early.
    model = EarlyExit(fitted["label"], prefit=True, metric="log_loss").fit(sets.X, sets.label)
    assert model.saving_ >= 0.0
    if model.saving_ == 0.0:
        assert np.isinf(model.threshold_)
        assert all(isinstance(node.gate, Onward) for node in model.plan_.nodes)
    np.testing.assert_allclose(
        EarlyExit(fitted["label"], prefit=True, threshold=np.inf).fit(sets.X, sets.label).run(sets.X).cost,
        fitted["label"].run(sets.X).cost,
    )


def test_a_saving_out_of_reach_warns_and_saves_what_it_can(fitted, sets):
    model = EarlyExit(fitted["label"], prefit=True, saving=0.99)
    with pytest.warns(UserWarning, match="no threshold saves 99.*largest saving is"):
        model.fit(sets.X, sets.label)
    assert model.saving_ == model.candidates_.saving.max()


def test_rows_to_choose_by_are_not_learned_from(sets):
    inner = GreedyMiserClassifier(costs=COSTS, n_rounds=20)
    model = EarlyExit(inner, random_state=0, validation_fraction=0.25).fit(sets.X, sets.label)
    everything = clone(inner).fit(sets.X, sets.label)
    assert not np.array_equal(model.estimator_.predict_proba(sets.X), everything.predict_proba(sets.X))
    given = EarlyExit(inner, threshold=0.9).fit(sets.X, sets.label)
    np.testing.assert_array_equal(given.estimator_.predict_proba(sets.X), everything.predict_proba(sets.X))
    assert np.isnan(given.saving_)


def test_fitted_and_frozen_estimators_are_taken_as_they_are(fitted, sets):
    before = fitted["label"].plan_
    for model in (
        EarlyExit(fitted["label"], prefit=True, saving=0.3),
        EarlyExit(FrozenEstimator(fitted["label"]), saving=0.3),
    ):
        model.fit(sets.X[:100], sets.label[:100])
        assert model.estimator_ is fitted["label"] and model.estimator_.plan_ is before


def test_weights_count_in_the_choice(fitted, sets):
    weight = np.where(np.arange(len(sets.y)) < 200, 0.0, 1.0)
    weighted = EarlyExit(fitted["label"], prefit=True, saving=0.4).fit(
        sets.X, sets.label, sample_weight=weight
    )
    half = EarlyExit(fitted["label"], prefit=True, saving=0.4).fit(sets.X[200:], sets.label[200:])
    assert weighted.threshold_ == half.threshold_


# -- being an estimator --------------------------------------------------------------------------------------


def test_it_is_what_the_estimator_is(sets):
    for inner, label in ((GreedyMiserClassifier(), "label"), (GreedyMiserRegressor(), "y")):
        model = EarlyExit(inner, rule="confidence" if label == "label" else "score")
        assert is_classifier(model) == is_classifier(inner) and is_regressor(model) == is_regressor(inner)
        assert hasattr(model, "predict_proba") == hasattr(inner, "predict_proba")
        assert hasattr(model, "decision_function") == hasattr(inner, "decision_function")
    hinge = EarlyExit(GreedyMiserClassifier(loss="squared_hinge"))
    assert not hasattr(hinge, "predict_proba")


def test_text_labels_frames_and_budgets(sets):
    frame = pd.DataFrame(sets.X, columns=list("abcdef"))
    y = np.array(["low", "mid", "high"])[sets.classes]
    model = EarlyExit(GreedyMiserClassifier(costs=COSTS, n_rounds=30), saving=0.2, random_state=0)
    model.fit(frame, y, sample_weight=sets.weight)
    assert model.classes_.tolist() == ["high", "low", "mid"]
    assert model.feature_names_in_.tolist() == list("abcdef")
    assert model.predict_proba(frame).shape == (len(y), 3)
    assert model.score(frame, y) > 0.7
    assert (model.run(frame, budget=4).cost <= 4).all()
    assert model.features_.dtype == object and model.cost_ == model.estimator_.cost_


class Fixed(GreedyMiserRanker):
    """A ranker with a plan made by hand: one split on column 0, and on the right one on costly column 1."""

    def fit(self, X, y, qid):
        self.read_table(X, reset=True)
        tree = Tree(
            [0, -1, 1, -1, -1], [0.5] * 5, [1, 0, 3, 0, 0], [2, 0, 4, 0, 0], [False] * 5, [0, -4, 0, 1, 2]
        )
        nodes = [Node([0], [0], [1.0], [0.0], up=1), Node([], [], [], [0.0])]
        self.plan_ = Plan(costs=Costs([1.0, 10.0]), terms=[tree], nodes=nodes, base=[5.0])
        return self


def test_documents_stopped_by_the_budget_are_not_ranked_as_rejected():
    # Row 0 pays 1 and ends at 5 - 4; row 1 cannot pay 10 more and answers 5 from the base, not rejected.
    X, qid = np.array([[0.0, 0.0], [1.0, 0.0]]), [0, 0]
    model = EarlyExit(Fixed(), rule="score", threshold=-100, every=1).fit(X, [0, 1], qid=qid)
    assert model.run(X, qid=qid, budget=2.0).exit.tolist() == [1, -1]
    assert model.predict(X, qid=qid, budget=2.0).tolist() == [1.0, 5.0]


def test_a_regressor_can_rank_with_exits(sets):
    model = EarlyExit(
        GreedyMiserRegressor(costs=COSTS, n_rounds=30), rule="proximity", saving=0.15, random_state=0
    )
    model.fit(sets.X, sets.grade, qid=sets.qid)
    assert ndcg(sets.grade, model.predict(sets.X, qid=sets.qid), sets.qid) > 0.8


def test_callbacks_reach_the_estimator(sets):
    class Counter:
        max_propagation_depth = None

        def __init__(self):
            self.rounds = 0

        def setup(self, estimator, context): ...

        def teardown(self, estimator, context): ...

        def on_fit_task_begin(self, estimator, context): ...

        def on_fit_task_end(self, estimator, context):
            self.rounds += context.task_name == "round"

    counter = Counter()
    EarlyExit(GreedyMiserClassifier(n_rounds=7), random_state=0).set_callbacks(counter).fit(
        sets.X, sets.label
    )
    assert counter.rounds == 7


# -- refusals ------------------------------------------------------------------------------------------------


def test_list_wise_rules_need_queries(fitted, sets):
    with pytest.raises(DataError, match="qid"):
        EarlyExit(fitted["rank"], prefit=True, rule="rank").fit(sets.X, sets.grade)
    model = EarlyExit(fitted["rank"], prefit=True, rule="rank", threshold=3).fit(sets.X, sets.grade)
    for ask in (model.predict, model.run):
        with pytest.raises(DataError, match="give qid"):
            ask(sets.X)


class Cascade(GreedyMiserRegressor):
    """A model whose plan lets some examples leave already."""

    def fit(self, X, y):
        self.read_table(X, reset=True)
        nodes = [Node([0], [0], [1.0], [0.0], gate=Threshold(), up=1), Node([1], [0], [1.0], [0.0])]
        self.plan_ = Plan(costs=self.costs, terms=[Raw(0), Raw(1)], nodes=nodes, base=[0.0])
        return self


@pytest.mark.parametrize(
    ("model", "label", "error", "words"),
    [
        (EarlyExit(LogisticRegression()), "label", DataError, "LogisticRegression has no plan_"),
        (EarlyExit(GreedyMiserRegressor()), "y", DataError, "needs class probabilities"),
        (
            EarlyExit(GreedyMiserClassifier(loss="squared_hinge")),
            "label",
            DataError,
            "needs class probabilities",
        ),
        (EarlyExit(GreedyMiserClassifier(), rule="score"), "classes", DataError, "has 3"),
        (EarlyExit(GreedyMiserClassifier(), threshold=0.9, saving=0.5), "label", DataError, "not both"),
        (EarlyExit(GreedyMiserClassifier(), threshold=1.2), "label", DataError, "must be a probability"),
        (
            EarlyExit(GreedyMiserRegressor(), rule="rank", threshold=2.5),
            "y",
            DataError,
            "number of documents",
        ),
        (EarlyExit(GreedyMiserRegressor(), rule="capacity", threshold=0), "y", DataError, "a share"),
        (
            EarlyExit(GreedyMiserRegressor(), rule="proximity", threshold=-1),
            "y",
            DataError,
            "difference of scores",
        ),
        (EarlyExit(GreedyMiserClassifier(), rule="luck"), "label", InvalidParameterError, "'rule' parameter"),
        (
            EarlyExit(GreedyMiserClassifier(), saving=1.0),
            "label",
            InvalidParameterError,
            "'saving' parameter",
        ),
        (EarlyExit(GreedyMiserClassifier(), prefit=True), "label", DataError, "has no plan_"),
    ],
)
def test_what_cannot_be_done_is_refused_in_words(sets, model, label, error, words):
    with pytest.raises(error, match=words):
        model.fit(sets.X, getattr(sets, label))


def test_one_versus_rest_probabilities_are_no_confidence():
    """Also where the plan is too short to have exits."""
    link = "one_vs_rest"
    nodes = [Addend(0, channel=c, weight=1.0 + c) for c in range(3)]
    model = adopt(AdoptedModel("classes", [Raw(0)], [nodes], np.zeros(3), n_features=1, link=link))
    with pytest.raises(DataError, match="one-versus-rest ones"):
        EarlyExit(model, prefit=True).fit([[0.0], [1.0], [2.0]], [0, 1, 2])


def test_a_model_that_is_not_additive_has_no_place_for_exits(sets):
    with pytest.raises(PlanError, match="a chain without gates"):
        EarlyExit(Cascade(costs=COSTS), rule="score").fit(sets.X, sets.y)


def test_labels_the_estimator_does_not_know_are_named(fitted, sets):
    with pytest.raises(DataError, match="class 2 is not one of classes_"):
        EarlyExit(fitted["label"], prefit=True).fit(sets.X, np.where(sets.label, 2, 0))
