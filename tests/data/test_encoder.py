"""One encoder for models, plans and stepping: a known category, a number, a missing value, or an error."""

from __future__ import annotations

import datetime
import subprocess
import sys
import warnings
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from miserly import CostLassoClassifier, EarlyExit, GreedyMiserClassifier, GreedyMiserRegressor, load
from miserly.data.arrays import EncodedFrame
from miserly.data.encoder import OTHER, Encoder
from miserly.errors import DataError

ENCODER = Encoder(3, ("age", "zone", "smokes"), {1: ("1", "2", "3"), 2: (False, True)})
MAKERS = [pd.DataFrame, pl.DataFrame, pa.table]
every_frame = pytest.mark.parametrize("make", MAKERS, ids=["pandas", "polars", "pyarrow"])


def zones(n=300, seed=0):
    """Text that looks like numbers, whole numbers as categories, booleans; each says something."""
    rng = np.random.default_rng(seed)
    zone, size, smokes = rng.integers(1, 4, n), rng.choice([10, 20, 30], n), rng.random(n) < 0.5
    grade = rng.integers(0, 3, n)
    y = smokes | ((zone == 2) & (size == 20)) | ((zone == 3) & (grade == 1))
    return pd.DataFrame({
        "idle": rng.normal(size=n), "zone": zone.astype(str), "size": pd.Categorical(size), "smokes": smokes,
        "grade": pd.Categorical(grade),
    }), y.astype(int)  # fmt: skip


@pytest.fixture(scope="module")
def model():
    frame, y = zones()
    return GreedyMiserClassifier(n_rounds=20, max_depth=3).fit(frame, y)


@pytest.fixture(scope="module")
def plan(model, tmp_path_factory):
    path = tmp_path_factory.mktemp("plan") / "zones.miser"
    model.plan_.save(path)
    return load(path)


def stepped(plan, frame, **how):
    """The answers of stepping, row by row."""
    answers = []
    for row in frame.to_dict("records"):
        trail = plan.start(**how)
        while need := trail.next():
            trail.tell({name: row[name] for name in need})
        answers.append(trail.answer().value)
    return answers


def ways(model, plan):
    """Every way to ask, as a function of a frame."""

    def known(frame, **how):
        read = [str(plan.costs.name(f)) for f in plan.features]
        rows = frame[read].to_dict("records")
        return [plan.start(known=row, **how).answer().value for row in rows]

    return {
        "model": model.predict,
        "probabilities": lambda X, **how: model.classes_[model.predict_proba(X, **how).argmax(axis=1)],
        "model run": lambda X, **how: (model.run(X, **how).scores > 0).astype(int),
        "plan": plan.predict,
        "plan run": lambda X, **how: (plan.run(X, **how).scores > 0).astype(int),
        "array": lambda X, **how: plan.predict(X.to_numpy(dtype=object), **how),
        "lists": lambda X, **how: plan.predict(X.to_numpy(dtype=object).tolist(), **how),
        "tell": lambda X, **how: stepped(plan, X, **how),
        "known": known,
    }


WAYS = ["model", "probabilities", "model run", "plan", "plan run", "array", "lists", "tell", "known"]
SPOILT = {
    "numbers for text": (lambda f: f.assign(zone=f["zone"].astype(int)), "'zone' .*number.* such as '1'"),
    "codes for text": (lambda f: f.assign(zone=f["zone"].astype(float) - 1), "'zone' .*number.* such as '1'"),
    "text for booleans": (
        lambda f: f.assign(smokes=f["smokes"].astype(str)),
        "'smokes'.*'(True|False)' is",
    ),
    "booleans for numbers": (lambda f: f.assign(grade=f["grade"] == 1), "'grade'.*(True|False) is not"),
    "text for numbers": (lambda f: f.assign(size=f["size"].astype(str)), r"'size'.*'\d0' is not"),
    "a new category": (lambda f: f.assign(zone="4"), "'zone'.*'4' is not among its categories"),
}


@pytest.mark.parametrize("way", WAYS)
def test_every_way_gives_the_same_answers(model, plan, way):
    frame, y = zones(60, seed=1)
    answers = ways(model, plan)[way](frame)
    np.testing.assert_array_equal(answers, model.predict(frame))
    assert np.mean(answers == y) > 0.95


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
@pytest.mark.parametrize("spoil", SPOILT)
@pytest.mark.parametrize("way", WAYS)
def test_what_is_no_category_is_refused_by_name_or_missing_if_asked(model, plan, way, spoil):
    frame, _ = zones(20, seed=1)
    change, words = SPOILT[spoil]
    spoilt, ask = change(frame), ways(model, plan)[way]
    with pytest.raises(DataError, match=words) as caught:
        ask(spoilt)
    if way not in ("tell", "known"):
        assert "row 0" in str(caught.value)
    column = words.split("'")[1]
    missing = frame.assign(**{column: None})
    np.testing.assert_array_equal(ask(spoilt, unknown="missing"), ask(missing))


def test_row_and_nearest_category_are_named(plan):
    frame, _ = zones(20)
    frame.loc[7, "zone"] = "33"
    with pytest.raises(DataError, match=r"column 'zone', row 7: '33' .*\(nearest: '3'\)"):
        plan.predict(frame)


def test_an_array_of_codes_is_not_taken_for_categories(model, plan):
    codes = np.array([[0.0, 1.0, 0.0, 1.0, 2.0]])
    with pytest.raises(DataError, match="'zone' holds numbers, but held categories such as '1'"):
        plan.run(codes)
    with (
        pytest.warns(UserWarning, match="feature names"),
        pytest.raises(DataError, match="'zone' holds"),
    ):
        model.predict(codes)
    with pytest.raises(DataError, match="'zone' holds numbers"):
        plan.walker()(codes[0])
    row = np.array([0.0, "2", 20, True, 2], dtype=object)
    np.testing.assert_array_equal(plan.walker()(row), plan.run(row[None]).scores)


def test_a_model_of_an_array_takes_the_codes_it_was_fitted_to():
    frame, y = zones()
    X = np.column_stack([frame["idle"], frame["zone"].astype(float), frame["size"].astype(float)])
    model = GreedyMiserClassifier(n_rounds=5, categorical_features=[1, 2]).fit(X, y)
    np.testing.assert_array_equal(model.predict(X), model.plan_.predict(X))
    assert model.plan_.terms[0].category.max() >= 0


@pytest.mark.parametrize("way", ["run", "predict", "predict_proba", "start"])
def test_unknown_is_error_or_missing(plan, way):
    given = {} if way == "start" else {"X": zones(2)[0]}
    with pytest.raises(DataError, match="unknown is 'error' or 'missing', not 'ignore'"):
        getattr(plan, way)(**given, unknown="ignore")


def test_a_search_goes_on_where_a_category_is_only_among_held_out_rows():
    from miserly.selection import frontier

    frame, y = zones(120)
    frame["zone"] = np.where(np.arange(len(frame)) == 17, "rare", frame["zone"])
    learner = GreedyMiserClassifier(n_rounds=5, early_stopping=False)
    found = frontier([learner], frame, y, cv=3, max_fits=3, random_state=0, certify=0)
    assert found.best(4.0).plan_.categories[1] == ("1", "2", "3", "rare")


def test_a_category_of_one_row_is_known_to_a_model_that_holds_out_rows():
    frame, y = zones(120)
    for row in range(0, 120, 20):
        rare = frame.assign(zone=np.where(np.arange(120) == row, "rare", frame["zone"]))
        model = EarlyExit(GreedyMiserClassifier(n_rounds=3), validation_fraction=0.5, random_state=0)
        assert model.fit(rare, y).plan_.categories[1] == ("1", "2", "3", "rare")
        model.predict(rare)


def test_validation_rows_may_hold_new_categories():
    frame, y = zones(120)
    later = frame.assign(zone="new")
    model = GreedyMiserClassifier(n_rounds=3, early_stopping=2).fit(frame, y, X_val=later, y_val=y)
    assert model.plan_.nodes


def test_a_saved_plan_reads_categories_with_numpy_alone(model, tmp_path):
    model.plan_.save(tmp_path / "zones.miser")
    code = f"""
import sys
for name in ("sklearn", "scipy", "narwhals", "pandas", "polars", "numba"):
    sys.modules[name] = None
import miserly
plan = miserly.load({str(tmp_path / "zones.miser")!r})
print(plan.predict([[0.0, "2", 20, True, 2]])[0], plan.start(known={{"zone": "2"}}).next())
try:
    plan.predict([[0.0, 2, 20, True, 2]])
except miserly.DataError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "held categories such as '1'" in done.stdout


# -- columns -------------------------------------------------------------------------------------------------


@every_frame
def test_columns_are_found_by_name_and_only_needed_ones_are_read(make):
    frame = make({"junk": [object, object] if make is pd.DataFrame else ["a", "b"], "zone": ["3", None],
                  "age": [61.5, None]})  # fmt: skip
    rows = ENCODER.rows(frame, needed=[0, 1])
    np.testing.assert_array_equal(rows, [[61.5, 2.0, np.nan], [np.nan, np.nan, np.nan]])


@every_frame
def test_all_missing_columns_are_named_in_one_error(make):
    with pytest.raises(DataError, match="lacks 2 columns that the model reads: 'age', 'smokes'"):
        ENCODER.rows(make({"zone": ["3"], "agee": [1]}))


def test_a_column_that_is_there_twice_is_refused_only_where_it_is_read():
    frame = pd.DataFrame([[1.0, "1", "2"]], columns=["age", "zone", "zone"])
    with pytest.raises(DataError, match="two columns named 'zone'"):
        ENCODER.rows(frame, needed=[0, 1])
    assert ENCODER.rows(frame, needed=[0])[0, 0] == 1.0


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_a_model_needs_only_what_its_plan_reads_in_any_order(kind):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(200, 6)), columns=list("abcdef"))
    model = GreedyMiserRegressor(n_rounds=4, tradeoff=0.1).fit(X, 3 * (X["c"] > 0) + 2 * (X["e"] > 0))
    assert set(model.features_) == {"c", "e"}
    few = X[["e", "c"]].assign(stranger="x", a=np.inf)
    given = few if kind == "pandas" else pl.DataFrame(few.to_dict("list"))
    np.testing.assert_array_equal(model.predict(given), model.predict(X))
    np.testing.assert_array_equal(model.run(given).cost, model.run(X).cost)
    with pytest.raises(DataError, match="lacks 2 columns that the model reads: 'c', 'e'"):
        model.predict(X[["a", "b", "d", "f"]])
    with pytest.raises(DataError, match="'c' holds infinity"):
        model.predict(few.assign(c=np.inf))
    spoilt = X.assign(a=np.inf)
    for rows in (spoilt, spoilt if kind == "pandas" else pl.from_pandas(spoilt)):
        np.testing.assert_array_equal(model.predict(rows), model.predict(X))
        np.testing.assert_array_equal(model.plan_.predict(rows), model.predict(X))


@pytest.mark.parametrize("learner", [CostLassoClassifier, GreedyMiserClassifier])
@pytest.mark.parametrize("infinity", [np.inf, -np.inf, np.float32("inf")])
def test_infinite_values_are_refused_by_models_plans_and_stepping(learner, infinity):
    """A linear score of infinity is NaN, which would count as the first class."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(80, 2)), columns=["age", "chol"])
    model = learner().fit(X, X["age"] + X["chol"] > 0)
    spoilt = X.copy()
    spoilt.loc[7, "chol"] = infinity
    assert {"age", "chol"} == set(model.features_)
    forms = (
        spoilt,
        spoilt.astype(object),
        pl.from_pandas(spoilt),
        pa.Table.from_pandas(spoilt),
        spoilt.to_numpy(),
    )
    for rows in forms:
        for ask in (model.plan_.predict, model.plan_.run, model.predict):
            with (
                warnings.catch_warnings(action="ignore"),
                pytest.raises(
                    DataError, match=r"'chol' holds infinity \(row 7\)|'chol', row 7: -?inf is infinite"
                ),
            ):
                ask(rows)
    with pytest.raises(DataError, match=r"'chol': -?inf is infinite"):
        model.plan_.start(known={"chol": infinity})
    with pytest.raises(DataError, match=r"'chol': -?inf is infinite"):
        model.plan_.start().tell({"age": 0.0, "chol": infinity})


@pytest.mark.parametrize("kind", ["Float64", "Float32"])
def test_frames_of_nothing_but_the_own_floats_of_pandas_are_read(kind):
    rng = np.random.default_rng(0)
    plain = pd.DataFrame(rng.normal(size=(80, 3)).astype(kind.lower()), columns=list("abc"))
    plain[plain > 1.5] = np.nan
    model = GreedyMiserClassifier(n_rounds=5).fit(plain, plain["a"].fillna(0) > 0)
    nullable = plain.astype(kind)
    assert nullable.isna().any().all()
    np.testing.assert_array_equal(model.predict(nullable), model.predict(plain))
    np.testing.assert_array_equal(model.plan_.run(nullable).scores, model.plan_.run(plain).scores)
    again = GreedyMiserClassifier(n_rounds=5).fit(nullable, plain["a"].fillna(0) > 0)
    np.testing.assert_array_equal(again.run(nullable).scores, model.run(plain).scores)


# -- values --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "value", [None, np.nan, float("nan"), np.float32("nan"), pd.NA, pd.NaT, Decimal("NaN")], ids=repr
)
def test_missing_values_of_every_library_are_missing(value):
    assert np.isnan(ENCODER.value(0, value)) and np.isnan(ENCODER.value(1, value))


def test_none_may_be_a_category():
    encoder = Encoder(1, None, {0: ("a", None)})
    assert encoder.value(0, None) == 1.0 and np.isnan(encoder.value(0, np.nan))
    assert encoder.rows([["a"], [None]]).tolist() == [[0.0], [1.0]]


@pytest.mark.parametrize("value", [7, 7.0, np.int8(7), np.float32(7), Decimal(7)], ids=repr)
def test_numbers_of_every_kind_are_numbers(value):
    assert ENCODER.value(0, value) == 7.0


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("7", "must be a number or None, not '7'"),
        (True, "must be a number or None, not True"),
        (np.True_, "must be a number or None, not True"),
        (1j, "must be a number or None, not 1j"),
        ([7], r"must be a number or None, not \[7\]"),
        (datetime.date(2026, 1, 1), "must be a number or None"),
        (10**400, "1000.*is too large a number"),
    ],
)
def test_what_is_no_number_is_refused(value, words):
    with pytest.raises(DataError, match=f"'age'.*{words}"):
        ENCODER.value(0, value)
    X = np.array([[1.0, "1", False], [0, "1", False]], dtype=object)
    X[1, 0] = value
    with pytest.raises(DataError, match=r"'age'.*row 1"):
        ENCODER.rows(X)


@pytest.mark.parametrize(
    "value", [["1"], {"1": 2}, b"1", datetime.date(2026, 1, 1), np.array(["1"])], ids=repr
)
def test_what_cannot_be_looked_up_is_no_category(value):
    with pytest.raises(DataError, match=r"'zone'.*is not among its categories"):
        ENCODER.value(1, value)


@every_frame
def test_dates_are_refused_by_name(make):
    frame = make({"age": [datetime.datetime(2026, 1, 1)], "zone": ["1"], "smokes": [True]})
    with pytest.raises(DataError, match="column 'age' holds dates"):
        ENCODER.rows(frame)


def test_nullable_numbers_and_narrow_ones_are_read():
    frame = pd.DataFrame({"age": pd.array([61, None], dtype="Int64"), "zone": ["1", "2"], "smokes": [0, 1]})
    np.testing.assert_array_equal(ENCODER.rows(frame), [[61, 0, 0], [np.nan, 1, 1]])
    narrow = frame.assign(age=np.float32([1.5, 2.5]))
    assert ENCODER.rows(narrow).dtype == np.float32


def test_lazy_frames_sparse_masked_and_structured_rows_are_refused():
    import scipy.sparse

    plain = Encoder(2)
    for rows, words in [
        (pl.DataFrame({"a": [1.0], "b": [2.0]}).lazy(), "collect"),
        (scipy.sparse.csr_array(np.eye(2)), "toarray"),
        (np.ma.masked_array(np.eye(2), np.eye(2)), "masked array"),
        (np.zeros(2, dtype=[("a", float), ("b", float)]), "structured"),
        (np.eye(2) * 1j, "Complex"),
        (np.zeros((1, 2), "datetime64[D]"), "dates or times"),
        ([[1.0, 2.0], [1.0]], "row 1 has 1 values and row 0 has 2"),
        ([1.0, 2.0], "2 columns"),
    ]:
        with pytest.raises(DataError, match=words):
            plain.rows(rows)


def test_values_that_are_no_category_may_have_a_category_of_their_own():
    encoder = Encoder(2, ("zone", "size"), {0: ("n", "s", OTHER), 1: (10, 20)})
    rows = [["n", 10], ["new", 30], [None, None], [OTHER, 20]]
    np.testing.assert_array_equal(
        encoder.rows(rows, unknown="missing"), [[0, 0], [2, np.nan], [np.nan, np.nan], [2, 1]]
    )
    with pytest.raises(DataError, match="column 'zone', row 1: 'new' is not among its categories"):
        encoder.rows(rows)
    other = pd.DataFrame({"zone": pd.Categorical(["s", "new", None]), "size": pd.Categorical([20, 30, None])})
    found = encoder.rows(other, unknown="missing")
    np.testing.assert_array_equal(found, [[1, 1], [2, np.nan], [np.nan, np.nan]])


def test_frames_that_are_encoded_already_keep_the_category_of_others():
    encoder = Encoder(1, ("zone",), {0: ("s", "n", OTHER)})
    frame = EncodedFrame(np.array([[0.0], [1.0], [np.nan]]), pd.DataFrame({"zone": []}), {0: ("n", "new")})
    np.testing.assert_array_equal(encoder.rows(frame, unknown="missing"), [[1], [2], [np.nan]])
    with pytest.raises(DataError, match="row 1: 'new'"):
        encoder.rows(frame)
