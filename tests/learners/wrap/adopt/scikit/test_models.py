"""Every kind of model answers as in scikit-learn: classes, numbers, missing values."""

import numpy as np
import pytest
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    RandomTreesEmbedding,
)
from sklearn.linear_model import (
    ElasticNet,
    GammaRegressor,
    Lasso,
    LinearRegression,
    LogisticRegression,
    PoissonRegressor,
    Ridge,
    RidgeClassifier,
    SGDClassifier,
    SGDRegressor,
    TweedieRegressor,
)
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC, SVR, LinearSVC, LinearSVR, NuSVC, OneClassSVM
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor, ExtraTreeRegressor

from miserly import Costs, DataError, adopt, load

from .agreement import N_ROWS, check_agreement

SEED = {"random_state": 0}


class Rows:
    """Rows to fit and to predict; some columns repeat the values of training rows."""

    def __init__(self):
        rng = np.random.default_rng(0)
        self.X, self.new = rng.normal(size=(300, 5)), rng.normal(size=(N_ROWS, 5))
        self.X[:, 4] = np.round(self.X[:, 4])
        self.new[:, 4] = np.round(self.new[:, 4])
        self.new[:2000] = self.X[rng.integers(0, 300, 2000)]
        score = self.X[:, 0] + np.sin(2 * self.X[:, 1]) + self.X[:, 2] * self.X[:, 3]
        self.y = {
            "two": np.where(score + 0.3 * rng.normal(size=300) > 0, "yes", "no"),
            "three": np.digitize(score, [-0.7, 0.7]) + 5,
            "number": score + 0.1 * rng.normal(size=300),
            "positive": np.exp(score / 3),
        }
        self.missing, self.new_missing = self.X.copy(), self.new.copy()
        self.missing[rng.random(self.X.shape) < 0.15] = np.nan
        self.new_missing[rng.random(self.new.shape) < 0.15] = np.nan


@pytest.fixture(scope="module")
def rows():
    return Rows()


MISSING_CLASSIFIERS = [
    DecisionTreeClassifier(max_depth=6, **SEED),
    RandomForestClassifier(10, **SEED),
    ExtraTreesClassifier(8, max_depth=7, **SEED),
    HistGradientBoostingClassifier(max_iter=8, early_stopping=True, **SEED),
]
CLASSIFIERS = [
    *MISSING_CLASSIFIERS,
    GradientBoostingClassifier(n_estimators=8, **SEED),
    GradientBoostingClassifier(n_estimators=3, init="zero", subsample=0.7, **SEED),
    LogisticRegression(),
    SGDClassifier(loss="log_loss", **SEED),
    SGDClassifier(**SEED),
    RidgeClassifier(),
    LinearSVC(),
    LinearDiscriminantAnalysis(),
    SVC(C=3.0),
    SVC(kernel="poly", degree=2, coef0=1.0),
    NuSVC(kernel="linear", nu=0.3),
]
MISSING_REGRESSORS = [
    DecisionTreeRegressor(max_depth=6, **SEED),
    RandomForestRegressor(10, **SEED),
    ExtraTreesRegressor(8, max_depth=7, **SEED),
    HistGradientBoostingRegressor(max_iter=8, loss="absolute_error", **SEED),
]
REGRESSORS = [
    *MISSING_REGRESSORS,
    ExtraTreeRegressor(max_depth=5, **SEED),
    GradientBoostingRegressor(n_estimators=8, loss="huber", **SEED),
    LinearRegression(),
    Ridge(),
    Lasso(0.01),
    ElasticNet(0.01),
    SGDRegressor(**SEED),
    LinearSVR(max_iter=20_000, **SEED),
    SVR(kernel="sigmoid", gamma=0.01),
]
POSITIVE = [
    HistGradientBoostingRegressor(max_iter=5, loss="poisson", **SEED),
    HistGradientBoostingRegressor(max_iter=5, loss="gamma", **SEED),
    PoissonRegressor(),
    GammaRegressor(),
    TweedieRegressor(power=1.5),
    TweedieRegressor(power=0),
]


def name_of(value):
    return type(value).__name__ if hasattr(value, "fit") else str(value)


@pytest.mark.parametrize("labels", ["two", "three"])
@pytest.mark.parametrize("model", CLASSIFIERS, ids=name_of)
def test_classifiers(rows, model, labels):
    check_agreement(model.fit(rows.X, rows.y[labels]), rows.new)


@pytest.mark.parametrize("labels", ["two", "three"])
@pytest.mark.parametrize("model", MISSING_CLASSIFIERS, ids=name_of)
def test_classifiers_with_missing_values(rows, model, labels):
    check_agreement(model.fit(rows.missing, rows.y[labels]), rows.new_missing)
    check_agreement(model.fit(rows.X, rows.y[labels]), rows.new_missing)


@pytest.mark.parametrize("model", REGRESSORS, ids=name_of)
def test_regressors(rows, model):
    check_agreement(model.fit(rows.X, rows.y["number"]), rows.new)


@pytest.mark.parametrize("model", MISSING_REGRESSORS, ids=name_of)
def test_regressors_with_missing_values(rows, model):
    check_agreement(model.fit(rows.missing, rows.y["number"]), rows.new_missing)


@pytest.mark.parametrize("model", POSITIVE, ids=name_of)
def test_models_of_logarithms(rows, model):
    check_agreement(model.fit(rows.X, rows.y["positive"]), rows.new)


def test_other_losses_and_outliers(rows):
    boosted = GradientBoostingClassifier(n_estimators=5, loss="exponential", **SEED)
    check_agreement(boosted.fit(rows.X, rows.y["two"]), rows.new)
    check_agreement(OneClassSVM(nu=0.2).fit(rows.X), rows.new)


def test_ties_of_boosted_trees_go_to_the_second_class():
    """Half of each class in both leaves: all scores are exactly zero."""
    X, y = np.array([[0.0], [0.0], [1.0], [1.0]]), [0, 1, 0, 1]
    model = GradientBoostingClassifier(n_estimators=2, init="zero").fit(X, y)
    assert check_agreement(model, X).predict(X).tolist() == [1, 1, 1, 1]


def test_constants_cost_nothing_to_evaluate(rows):
    forest = RandomForestRegressor(3, max_depth=2, **SEED).fit(rows.X, rows.y["number"])
    run = adopt(forest, Costs([0.0] * 5, evaluation=1.0)).run(rows.new[:5])
    assert run.cost.tolist() == [3.0] * 5


# -- thresholds, prefixes, rounds ----------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [DecisionTreeRegressor, HistGradientBoostingRegressor])
def test_rows_next_to_thresholds_go_the_same_way(rows, kind):
    model = kind(**SEED).fit(rows.X[:, :1] * 0.1, rows.X[:, 0])
    plan = adopt(model).plan_
    thresholds = np.unique(np.concatenate([tree.threshold[tree.feature >= 0] for tree in plan.terms]))
    narrow = thresholds.astype(np.float32).astype(np.float64)
    edges = [thresholds, narrow]
    edges += [np.nextafter(one, side) for one in (thresholds, narrow) for side in (-np.inf, np.inf)]
    X = np.concatenate(edges)[:, None]
    np.testing.assert_allclose(plan.predict(X), model.predict(X), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("labels", ["two", "three"])
def test_every_node_of_a_forest_answers_with_the_trees_so_far(rows, labels):
    forest = RandomForestClassifier(6, max_depth=5, **SEED).fit(rows.X, rows.y[labels])
    stages = list(adopt(forest).staged_predict_proba(rows.new[:200]))
    assert len(stages) == 6
    for i, found in enumerate(stages):
        expected = np.mean(
            [tree.predict_proba(rows.new[:200]) for tree in forest.estimators_[: i + 1]], axis=0
        )
        np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_every_node_of_a_forest_of_numbers_answers_with_the_trees_so_far(rows):
    forest = RandomForestRegressor(6, max_depth=5, **SEED).fit(rows.X, rows.y["number"])
    adopted = adopt(forest, costs=[1.0] * 5)
    for i, found in enumerate(adopted.staged_predict(rows.new[:200])):
        expected = np.mean([tree.predict(rows.new[:200]) for tree in forest.estimators_[: i + 1]], axis=0)
        np.testing.assert_allclose(found, expected, rtol=1e-12)
    # Before the first tree, the answer is the mean of the roots of the trees.
    roots = np.mean([tree.tree_.value[0, 0, 0] for tree in forest.estimators_])
    np.testing.assert_allclose(adopted.predict(rows.new[:3], budget=0.5), roots, rtol=1e-12)


def test_a_forest_that_cannot_pay_answers_with_the_most_frequent_class(rows):
    labels = np.where(np.arange(300) % 4 == 0, "a", "b")
    adopted = adopt(RandomForestClassifier(5, **SEED).fit(rows.X, labels))
    assert (adopted.predict(rows.new[:10], budget=0.0) == "b").all()
    assert adopted.predict_proba(rows.new[:1], budget=0.0)[0] == pytest.approx([0.25, 0.75], abs=0.05)


@pytest.mark.parametrize("kind", [GradientBoostingRegressor, HistGradientBoostingRegressor])
def test_rounds_can_be_chosen(rows, kind):
    model = kind(**{"n_estimators" if kind is GradientBoostingRegressor else "max_iter": 6}, **SEED)
    model.fit(rows.X, rows.y["number"])
    staged = list(model.staged_predict(rows.new[:50]))
    found = adopt(model, iterations=4).predict(rows.new[:50])
    np.testing.assert_allclose(found, staged[3], rtol=1e-12)
    both = adopt(model, iterations=2).predict(rows.new[:50]) + adopt(model, iterations=(2, None)).predict(
        rows.new[:50]
    )
    base = adopt(model).plan_.base[0]
    np.testing.assert_allclose(both - base, staged[-1], rtol=1e-10, atol=1e-12)
    with pytest.raises(DataError, match="not among the 6 rounds"):
        adopt(model, iterations=7)


def test_a_saved_plan_and_a_row_at_a_time_give_the_same(rows, tmp_path):
    for kind, labels in ((RandomForestClassifier, "three"), (RandomForestRegressor, "number")):
        adopted = adopt(kind(5, max_depth=4, **SEED).fit(rows.X, rows.y[labels]), costs=[1, 2, 3, 4, 5])
        adopted.plan_.save(tmp_path / "forest.miser")
        plan, run = load(tmp_path / "forest.miser"), adopted.run(rows.new[:20])
        assert (plan.predict(rows.new[:20]) == adopted.predict(rows.new[:20])).all()
        for i in range(20):
            trail = plan.start()
            while not trail.done:
                trail.tell({f: rows.new[i, f] for f in trail.next()})
            assert trail.cost == run.cost[i]
            assert trail.answer().value == adopted.predict(rows.new[i : i + 1])[0]


# -- names and refusals --------------------------------------------------------------------------------------


def test_names_come_from_the_frame(rows):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(rows.X, columns=list("abcde"))
    new = pd.DataFrame(rows.new[:100], columns=list("abcde"))
    for model in (GradientBoostingClassifier(n_estimators=3, **SEED), LogisticRegression(), SVC()):
        adopted = check_agreement(model.fit(frame, rows.y["two"]), new, dict.fromkeys("edcba", 2.0))
        assert adopted.feature_names_in_.tolist() == list("abcde") and adopted.cost_ == 2.0 * len(
            adopted.features_
        )


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (KNeighborsClassifier(), "cannot read a sklearn KNeighborsClassifier; it reads .*scikit-learn"),
        (RandomTreesEmbedding(3), "cannot read a sklearn RandomTreesEmbedding"),
        (GradientBoostingClassifier(n_estimators=2, init=DummyClassifier()), "is a DummyClassifier .init=.*"),
        (SVC(kernel=lambda a, b: a @ b.T), "the kernel must be one of"),
    ],
    ids=["neighbours", "embedding", "init", "kernel"],
)
def test_models_that_cannot_be_read(rows, model, words):
    with pytest.raises(DataError, match=words):
        adopt(model.fit(rows.X, rows.y["two"]))


def test_several_targets_and_models_that_are_not_fitted(rows):
    both = np.column_stack([rows.y["number"], rows.y["positive"]])
    for model in (Ridge(), RandomForestRegressor(2, **SEED)):
        with pytest.raises(DataError, match="has 2 targets"):
            adopt(model.fit(rows.X, both))
    classes = np.column_stack([rows.y["three"], rows.y["three"] % 2])
    with pytest.raises(DataError, match="several targets"):
        adopt(RandomForestClassifier(2, **SEED).fit(rows.X, classes))
    for model in (RandomForestRegressor(), Ridge(), SVC(), HistGradientBoostingRegressor()):
        with pytest.raises(DataError, match="not fitted"):
            adopt(model)
    with pytest.raises(DataError, match="iterations are for boosted models"):
        adopt(Ridge().fit(rows.X, rows.y["number"]), iterations=3)
    with pytest.raises(DataError, match="one class only"):
        adopt(DecisionTreeClassifier().fit(rows.X, np.zeros(300)))
