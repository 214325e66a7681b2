"""Calls as features: honest training tables, prices, and models that are asked only when needed."""

import asyncio
import pickle

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.compose import make_column_transformer
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

from miserly import Costs, GreedyMiserClassifier, GreedyMiserRegressor, Handover, ModelCalls, load
from miserly.errors import CostError, DataError
from miserly.runtime import OnDemand, Priced, Source

rng = np.random.default_rng(0)
X = rng.normal(size=(600, 4))
y = np.array(["no", "yes"])[(X @ [1.5, 1.0, 1.0, 1.0] + 0.3 * rng.normal(size=600) > 0).astype(int)]
NEW = rng.normal(size=(200, 4))


MIXED = [{"a": 1}, {"a": "b"}] * 300


def rule(x):
    """Looks at one number only."""
    return "yes" if x[0] > 0 else "no", abs(float(x[0]))


def calls_of(models=None, **changes):
    models = models or {"rule": rule, "expert": LogisticRegression()}
    return ModelCalls(models, **{"prices": {name: 10.0**i for i, name in enumerate(models)}, **changes})


def miser(**changes):
    return GreedyMiserClassifier(**{"n_rounds": 30, "max_depth": 3, **changes})


class Counting(ClassifierMixin, BaseEstimator):
    """Remembers its training rows: certain of each row it has seen, uncertain of all others."""

    asked = 0

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        self.seen_ = {tuple(row): label for row, label in zip(X, y, strict=True)}
        return self

    def predict_proba(self, X):
        type(self).asked += len(X)
        answers = []
        for row in X:
            known = self.seen_.get(tuple(row))
            answers.append([0.5, 0.5] if known is None else (self.classes_ == known).astype(float))
        return np.array(answers)

    def predict(self, X):
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


# -- training tables -----------------------------------------------------------------------------------------


def test_training_rows_are_answered_by_models_that_have_not_seen_them():
    table = calls_of({"memory": Counting()}).fit_transform(X, y)
    assert (table["memory.confidence"] == 0.5).all()  # in sample it would be 1 for every row


def test_in_sample_answers_of_the_fitted_model_are_not_in_the_training_table():
    calls = calls_of({"near": KNeighborsClassifier(1)}, outputs=("label",))
    table = calls.fit_transform(X, y)
    assert (calls.transform(X)["near.label"] == y).all()  # the model knows these rows by heart
    assert 0.8 < (table["near.label"] == y).mean() < 0.97


def test_a_plan_learned_from_in_sample_answers_trusts_a_model_that_knows_nothing_else():
    """What the folds are for: the same learner, with and without them."""
    labels = np.array(["no", "yes"])[(NEW @ [1.5, 1.0, 1.0, 1.0] > 0).astype(int)]
    calls = calls_of({"rule": rule, "memory": Counting()})
    table = calls.fit_transform(X, y)
    honest = miser(costs=calls.costs_).fit(table, y)
    in_sample = miser(costs=calls.costs_).fit(calls.transform(X), y)
    new = calls.transform(NEW)
    assert in_sample.score(calls.transform(X), y) == 1.0 and in_sample.score(new, labels) < 0.6
    assert honest.score(new, labels) > 0.7


def test_answers_out_of_fold_are_those_of_cross_validation():
    folds = StratifiedKFold(4, shuffle=True, random_state=3)
    table = calls_of({"expert": LogisticRegression()}, cv=folds).fit_transform(X, y)
    wanted = cross_val_predict(LogisticRegression(), X, y, cv=folds, method="predict_proba")
    np.testing.assert_allclose(table["expert=yes"], wanted[:, 1])
    np.testing.assert_allclose(table["expert.confidence"], wanted.max(axis=1))
    again = calls_of({"expert": LogisticRegression()}, cv=4, random_state=3).fit_transform(X, y)
    pd.testing.assert_frame_equal(table, again)


def test_a_frozen_model_is_used_as_it_is():
    fitted = LogisticRegression().fit(X[:300], y[:300])
    calls = calls_of({"expert": FrozenEstimator(fitted)})
    table = calls.fit_transform(X[300:])  # no labels are needed
    np.testing.assert_allclose(table["expert=yes"], fitted.predict_proba(X[300:])[:, 1])
    assert calls.models_["expert"].estimator is fitted


def test_new_rows_are_answered_by_models_fitted_to_all_rows():
    calls = calls_of().fit(X, y)
    wanted = LogisticRegression().fit(X, y).predict_proba(NEW)[:, 1]
    np.testing.assert_allclose(calls.transform(NEW)["expert=yes"], wanted)


def test_each_model_is_a_group_with_one_price():
    calls = calls_of(unit="cents")
    table = calls.fit_transform(X, y)
    assert list(table.columns) == ["rule.label", "rule.confidence", "expert=yes", "expert.confidence"]
    assert calls.costs_.names == tuple(table.columns) and calls.costs_.unit == "cents"
    assert calls.costs_.of(["rule.label", "rule.confidence"]) == 1.0
    assert calls.costs_.of(["expert=yes"]) == calls.costs_.of(["expert=yes", "expert.confidence"]) == 10.0


def test_many_classes_have_a_column_each_and_labels_are_categories():
    labels = np.digitize(X[:, 0], [-0.5, 0.5])
    calls = calls_of({"expert": LogisticRegression()}, outputs=("probabilities", "label", "confidence"))
    table = calls.fit_transform(X, labels)
    assert list(table.columns) == [
        "expert=0", "expert=1", "expert=2", "expert.label", "expert.confidence",
    ]  # fmt: skip
    assert set(table["expert.label"]) == {"0", "1", "2"}
    model = miser(costs=calls.costs_).fit(table, labels)
    assert model.plan_.categories == {3: ("0", "1", "2")}


@pytest.mark.parametrize("machine", [SVC(), LinearSVC()], ids=lambda one: type(one).__name__)
def test_a_machine_without_probabilities_gives_decision_values_and_its_margin(machine):
    labels = np.digitize(X[:, 0], [-0.5, 0.5])
    calls = calls_of({"svm": machine}, outputs=("probabilities", "label", "confidence")).fit(X, labels)
    fitted = type(machine)().fit(X, labels)
    values, table = fitted.decision_function(NEW), calls.transform(NEW)
    np.testing.assert_allclose(table[["svm=0", "svm=1", "svm=2"]], values)
    ordered = np.sort(values, axis=1)
    np.testing.assert_allclose(table["svm.confidence"], ordered[:, -1] - ordered[:, -2])
    two = calls_of({"svm": SVC()}).fit(X, y)
    np.testing.assert_allclose(two.transform(NEW)["svm=yes"], SVC().fit(X, y).decision_function(NEW))


def test_a_class_that_a_fold_lacks_has_probability_zero_there():
    labels = y.astype(object)
    labels[7] = "rare"
    folds = [(np.arange(300, 600), np.arange(300)), (np.arange(300), np.arange(300, 600))]
    table = calls_of({"expert": LogisticRegression()}, cv=folds).fit_transform(X, labels)
    assert list(table.columns[:3]) == ["expert=no", "expert=rare", "expert=yes"]
    assert (table["expert=rare"][:300] == 0).all() and (table["expert=rare"][300:] > 0).all()


def test_a_regressor_gives_a_value():
    number = X @ [1.0, 2.0, 3.0, 4.0]
    calls = calls_of({"line": LinearRegression(), "ridge": Ridge()})
    table = calls.fit_transform(X, number)
    assert list(table.columns) == ["line.value", "ridge.value"]
    model = GreedyMiserRegressor(costs=calls.costs_, n_rounds=50).fit(table, number)
    receipt = OnDemand(model, calls.sources()).predict(NEW[0])
    assert receipt.answer == pytest.approx(model.predict(calls.transform(NEW[:1]))[0])


def test_ordinary_features_stand_beside_calls():
    costs = Costs({"age": 2.0, "chol": 5.0}, groups={"blood": {"features": ["chol"], "setup": 3.0}}, unit="$")
    calls = calls_of(costs=costs)
    table = calls.fit_transform(X, y, features=X[:, :2])
    assert list(table.columns)[:3] == ["age", "chol", "rule.label"]
    assert calls.costs_.of(["chol"]) == 8.0 and calls.costs_.of(["age", "expert=yes"]) == 12.0
    assert calls.costs_.unit == "$"
    model = miser(costs=calls.costs_).fit(table, y)
    served = OnDemand(model, calls.sources(row=_row))
    for i in range(20):
        request = {"row": NEW[i], "age": NEW[i, 0], "chol": NEW[i, 1]}
        run = model.run(calls.transform(NEW[i : i + 1], features=NEW[i : i + 1, :2]))
        assert served.predict(request).cost == run.cost[0]


def _row(request):
    return request["row"]


def test_models_over_frames_get_frames():
    frame = pd.DataFrame(X, columns=list("abcd"))
    model = make_pipeline(make_column_transformer((StandardScaler(), ["a", "c"])), LogisticRegression())
    calls = calls_of({"expert": model, "rule": lambda row: float(row["a"])}).fit(frame, y)
    new = pd.DataFrame(NEW, columns=list("abcd"))
    batch = calls.transform(new)
    source = calls.sources()
    assert source["expert"]([new.iloc[3].to_dict()])[0]["expert=yes"] == pytest.approx(batch["expert=yes"][3])
    assert source["rule"](new.iloc[3].to_dict()) == {"rule.value": NEW[3, 0]}


def test_texts_may_be_a_series_with_any_index():
    texts = pd.Series(["yes please", "no thanks"] * 40, index=range(500, 580))
    labels = pd.Series(["yes", "no"] * 40, index=range(80))
    calls = calls_of(
        {"length": len, "model": make_pipeline(CountVectorizer(), LogisticRegression())}, prices=None
    )
    table = calls.fit_transform(texts, labels)
    assert table["length.value"].tolist() == [10.0, 9.0] * 40
    assert ((table["model=yes"] > 0.5) == (labels == "yes")).all()


def test_polars_features_give_a_polars_table():
    pl = pytest.importorskip("polars")
    features = pl.DataFrame({"age": X[:, 0], "kind": ["a", "b"] * 300})
    calls = calls_of()
    table = calls.fit_transform(X, y, features=features)
    assert isinstance(table, pl.DataFrame)
    assert miser(costs=calls.costs_).fit(table, y).plan_.categories.keys() == {1, 2}


# -- prices --------------------------------------------------------------------------------------------------


def test_prices_are_measured_in_milliseconds():
    import time

    def slow(x):
        time.sleep(0.004)
        return float(x[0])

    calls = ModelCalls({"rule": rule, "slow": slow}).fit(X[:50])
    assert calls.prices_["rule"] < 1.0 and 4.0 <= calls.prices_["slow"] < 40.0
    assert calls.costs_.unit == "ms"
    assert calls.costs_.of(["slow.value"]) == calls.prices_["slow"]


def test_recorded_answers_cannot_be_timed():
    with pytest.raises(CostError, match="give its price"):
        ModelCalls({"person": rule}).fit(X, y, answers={"person": ["yes"] * 600})


# -- on demand -----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def cascade():
    """A rule for all rows, an expert for some."""
    calls = calls_of(outputs=("probabilities", "label", "confidence"))
    table = calls.fit_transform(X, y)
    first, then = miser(budget=1, costs=calls.costs_), miser(costs=calls.costs_)
    return calls, Handover(first, then, threshold=0.75).fit(table, y)


def test_a_receipt_costs_what_the_batch_run_costs(cascade):
    calls, model = cascade
    served = OnDemand(model, calls.sources())
    run = model.run(calls.transform(NEW))
    receipts = [served.predict(row) for row in NEW]
    np.testing.assert_array_equal([one.cost for one in receipts], run.cost)
    np.testing.assert_array_equal([one.answer for one in receipts], model.predict(calls.transform(NEW)))
    assert set(run.cost) == {1.0, 11.0}
    for receipt, acquired in zip(receipts, run.acquired, strict=True):
        assert set(receipt.acquired) == {calls.costs_.name(f) for f in np.flatnonzero(acquired)}


def test_a_model_is_called_only_for_rows_that_pay_for_it():
    calls = calls_of({"rule": rule, "memory": Counting()}, outputs=("label",))
    table = calls.fit_transform(X, y)
    table["memory.label"] = y  # a model worth its price
    first, then = miser(budget=1, costs=calls.costs_), miser(costs=calls.costs_)
    model = Handover(first, then, threshold=0.75).fit(table, y)
    served, Counting.asked = OnDemand(model, calls.sources()), 0
    costs = [served.predict(row).cost for row in NEW]
    assert 0 < Counting.asked < len(NEW)
    assert Counting.asked == sum(cost == 11.0 for cost in costs)


def test_the_first_answer_is_still_used_after_the_second_model_was_asked():
    """Each of two models knows one half of the label, so a plan that forgets the first cannot be right."""
    half = rng.normal(size=(800, 2))
    both = (half > 0).all(axis=1)
    calls = ModelCalls(
        {"first": lambda x: float(x[0]), "second": lambda x: float(x[1])}, prices={"first": 1, "second": 5}
    )
    table = calls.fit_transform(half)
    model = miser(costs=calls.costs_).fit(table, both)
    assert model.score(table, both) > 0.99
    run = model.run(table)
    assert run.acquired[run.cost == 6.0].all()
    asked = table[run.cost == 6.0]
    without = asked.assign(**{"first.value": -asked["first.value"]})
    assert (model.predict(without) != model.predict(asked)).mean() > 0.3
    served = OnDemand(model, calls.sources())
    assert [bool(served.predict(row).answer) for row in half[:50]] == both[:50].tolist()


def test_predict_many_asks_a_model_once_for_all_rows(cascade):
    calls, model = cascade
    batches = []
    sources = calls.sources()
    expert = sources["expert"]
    sources["expert"] = Source(lambda raws: batches.append(len(raws)) or expert(raws), batched=True)
    receipts = OnDemand(model, sources).predict_many(NEW)
    np.testing.assert_array_equal([one.cost for one in receipts], model.run(calls.transform(NEW)).cost)
    assert len(batches) == 1 and batches[0] == sum(one.cost == 11.0 for one in receipts)


def test_plan_and_sources_can_be_saved(cascade, tmp_path):
    calls, model = cascade
    model.plan_.save(tmp_path / "cascade.miser")
    (tmp_path / "sources.pickle").write_bytes(pickle.dumps(calls.sources()))
    served = OnDemand(
        load(tmp_path / "cascade.miser"), pickle.loads((tmp_path / "sources.pickle").read_bytes())
    )
    run = model.run(calls.transform(NEW))
    assert [served.predict(row).cost for row in NEW[:20]] == run.cost[:20].tolist()


def test_pipelines_on_text():
    texts = ["buy cheap pills", "meeting at noon", "cheap cheap offer", "lunch meeting moved"] * 20
    labels = ["spam", "mail", "spam", "mail"] * 20

    def shouts(text):
        return "cheap" if "cheap" in text else None

    calls = calls_of({"word": shouts, "model": make_pipeline(CountVectorizer(), LogisticRegression())})
    table = calls.fit_transform(texts, labels)
    model = miser(costs=calls.costs_).fit(table, labels)
    served = OnDemand(model, calls.sources(row=_text))
    assert served.predict({"text": "cheap offer of pills"}).answer == "spam"
    assert served.predict({"text": "no meeting"}).answer == "mail"


def _text(request):
    return request["text"]


# -- persons and language models -----------------------------------------------------------------------------


def test_recorded_answers_are_the_training_columns():
    def person(x):
        raise AssertionError("asked while training")

    answers = [("yes" if x[1] > 0 else "no", 0.9) for x in X]
    calls = calls_of({"person": person})
    table = calls.fit_transform(X, y, answers={"person": answers})
    assert table["person.label"].tolist() == [label for label, _ in answers]
    assert calls.transform(X[:3], answers={"person": answers[:3]}).equals(table[:3])


def test_answers_may_be_mappings_with_gaps():
    answers = [{"label": "yes", "urgency": 3}, {"label": "no"}, None] * 200
    calls = calls_of({"llm": lambda x: {"label": "yes", "urgency": 1}})
    table = calls.fit_transform(X, answers={"llm": answers})
    assert list(table.columns) == ["llm.label", "llm.urgency"]
    assert table["llm.label"].tolist()[:2] == ["yes", "no"] and table["llm.label"].isna()[2]
    assert table["llm.urgency"].isna().tolist()[:3] == [False, True, True]
    assert calls.sources()["llm"](X[0]) == {"llm.label": "yes", "llm.urgency": 1.0}


def test_a_pair_may_lack_its_label_and_prices_of_answers_are_no_features():
    calls = calls_of({"llm": lambda x: Priced(("yes", 0.9), cost=2.0)})
    table = calls.fit_transform(X, answers={"llm": [Priced((None, 0.1), cost=1.0), ("yes", 0.8)] * 300})
    assert table["llm.label"].isna().tolist()[:2] == [True, False]
    assert table["llm.confidence"].tolist()[:2] == [0.1, 0.8]
    assert calls.transform(X[:2])["llm.confidence"].tolist() == [0.9, 0.9]
    assert calls.sources()["llm"](X[0]).cost == 2.0


def llm_calls(function):
    answers = ["yes" if row @ [1.5, 1.0, 1.0, 1.0] > 0 else "no" for row in X]
    calls = calls_of({"rule": rule, "llm": function})
    table = calls.fit_transform(X, answers={"llm": answers})
    return calls, miser(costs=calls.costs_).fit(table, y)


def test_an_unseen_label_is_a_missing_value_that_is_paid():
    calls, model = llm_calls(lambda x: "I cannot say")
    served = OnDemand(model, calls.sources())
    receipt = served.predict(np.array([0.1, 1.0, 1.0, 1.0]))
    assert {one.feature: one.outcome for one in receipt.trail}["llm.label"] == "null"
    assert receipt.cost == 11.0 and receipt.stopped_by == "answered"
    run = model.run(calls.transform(np.array([[0.1, 1.0, 1.0, 1.0]])))
    assert run.cost[0] == 11.0 and receipt.answer == model.plan_.classes[int(run.scores[0] > 0)]


def test_a_label_of_a_class_that_was_never_answered_in_training_is_missing():
    """A class of the model, but no fold ever gave it: the plan does not know it as a category."""
    calls = calls_of({"expert": LogisticRegression()}, outputs="label")
    calls.fit(X, y)
    calls.categories_["expert.label"] = {"no"}
    sure = np.array([[9.0, 9.0, 9.0, 9.0], [-9.0, -9.0, -9.0, -9.0]])
    assert [row["expert.label"] for row in calls.sources()["expert"](sure)] == [None, "no"]
    assert calls.transform(sure)["expert.label"].isna().tolist() == [True, False]


def test_a_call_that_fails_counts_as_missing_and_costs_nothing():
    def broken(x):
        raise ConnectionError("no line")

    calls, model = llm_calls(broken)
    receipt = OnDemand(model, calls.sources()).predict(np.array([2.0, 1.0, 1.0, 1.0]))
    assert receipt.cost == 1.0 and receipt.stopped_by == "answered"
    outcomes = {one.feature: one.outcome for one in receipt.trail}
    assert outcomes["llm.label"] == "failed" and "value" in outcomes.values()
    alone = receipt.plan.run(
        pd.DataFrame({"rule.label": ["yes"], "rule.confidence": [2.0], "llm.label": [None]})
    )
    assert receipt.scores[0] == pytest.approx(float(np.ravel(alone.scores)[0]))


def test_a_failed_call_is_not_made_again_for_other_columns_of_the_same_model():
    asked = []

    class Broken(LogisticRegression):
        def predict_proba(self, X):
            asked.append(len(X))
            raise ConnectionError("no line")

    labels = np.digitize(X[:, 0] + X[:, 1], [-0.5, 0.5])
    calls = calls_of({"expert": LogisticRegression()})
    table = calls.fit_transform(X, labels)
    model = miser(costs=calls.costs_).fit(table, labels)
    assert len(model.features_) > 1
    source = calls.sources()["expert"]
    source.model = Broken().fit(X, labels)
    receipt = OnDemand(model, {"expert": source}).predict(NEW[0])
    assert asked == [1] and receipt.cost == 0.0 and receipt.stopped_by == "answered"


def test_an_async_model_with_a_price_known_afterwards():
    async def llm(x):
        await asyncio.sleep(0)
        return Priced("yes" if x @ [1.5, 1.0, 1.0, 1.0] > 0 else "no", cost=7.0)

    calls, model = llm_calls(llm)
    served = OnDemand(model, calls.sources())
    receipt = served.predict(np.array([0.1, 1.0, 1.0, 1.0]))
    assert receipt.answer == "yes" and receipt.cost == 8.0
    assert asyncio.run(served.apredict(np.array([0.1, 1.0, 1.0, 1.0]))).cost == 8.0
    with pytest.raises(DataError, match="give its recorded answers"):
        calls.transform(X)


def test_a_callable_may_ask_for_what_is_known_already():
    shown = []

    def llm(x, acquired):
        shown.append(acquired)
        return "yes" if x[1] > 0 else "no"

    calls, model = llm_calls(llm)
    receipt = OnDemand(model, calls.sources()).predict(np.array([0.1, 1.0, 1.0, 1.0]))
    assert shown[0].items() <= receipt.values.items() and "llm.label" in receipt.values


# -- what is refused -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("error", "message", "make"),
    [
        (DataError, "must be an estimator or a callable", lambda: calls_of({"a": 3}).fit(X, y)),
        (DataError, "at least one", lambda: ModelCalls({}).fit(X, y)),
        (DataError, "names of models are text", lambda: calls_of({1: rule}).fit(X, y)),
        (DataError, "needs labels", lambda: calls_of().fit(X)),
        (DataError, "600 rows, but 5 labels", lambda: calls_of().fit(X, y[:5])),
        (CostError, "no price for 'expert'", lambda: calls_of(prices={"rule": 1}).fit(X, y)),
        (DataError, "'ruel', which is no model", lambda: calls_of().fit(X, y, answers={"ruel": []})),
        (DataError, "2 answers of 'rule'", lambda: calls_of().fit(X, y, answers={"rule": ["a", "b"]})),
        (DataError, "answers itself", lambda: calls_of().fit(X, y, answers={"expert": ["a"] * 600})),
        (DataError, "outputs are some of", lambda: calls_of(outputs=("labels",)).fit(X, y)),
        (DataError, "text and numbers", lambda: calls_of().fit(X, y, answers={"rule": MIXED})),
        (DataError, "no answer to any row", lambda: calls_of().fit(X, y, answers={"rule": [None] * 600})),
        (DataError, "every row exactly once", lambda: calls_of(cv=[([0, 1], [2, 3])]).fit(X, y)),
        (DataError, "gave list", lambda: calls_of({"a": lambda x: [1, 2, 3]}).fit(X, y)),
        (DataError, "sparse rows are no raw inputs", lambda: calls_of().fit(csr_array(X), y)),
        (DataError, "rows of features", lambda: calls_of().fit(X, y, features=X[:5])),
    ],
)  # fmt: skip
def test_what_is_refused(error, message, make):
    with pytest.raises(error, match=message):
        make()


def test_a_model_and_a_group_of_ordinary_features_cannot_share_a_name():
    costs = Costs({"age": 1.0}, groups={"rule": {"features": ["age"], "setup": 1.0}})
    with pytest.raises(CostError, match="'rule' is a group"):
        calls_of(costs=costs).fit(X, y, features=X[:, :1])
