"""What goes in: names, frames, missing values, categories and weights work, or fail in words that name the
column (point 8 of the contract)."""

import re
from dataclasses import replace
from inspect import signature

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.utils import get_tags

from miserly import Costs, DataError, load

from ..turns import in_turn
from .cases import Case, every_case

CASES = [case for case in every_case() if case.variant in ("unit costs", "tradeoff", "prices")]
every = pytest.mark.parametrize("case", CASES, ids=str)
every_kind = pytest.mark.parametrize(
    ("case", "kind"), in_turn(CASES, ("pandas", "polars"), one_in=2), ids=str
)

TOWNS = np.array(["aye", "bex", "pau", "ulm"])


def frame_of(case: Case, kind, X):
    return getattr(case.task, kind)(X)


def fit_named(case: Case, frame, **changes):
    return case.fit(case.make(**changes), X=frame)


def with_column(frame, name, values):
    """The frame with one column more, or another in its place."""
    if isinstance(frame, pd.DataFrame):
        return frame.assign(**{name: values})
    return frame.with_columns(pl.Series(name, values))


# -- frames and names ----------------------------------------------------------------------------------------


@every_kind
def test_frames_give_the_model_of_the_array_and_keep_names(case: Case, kind):
    task = case.task
    model = case.fitted_to(kind)
    assert list(model.feature_names_in_) == task.names
    assert model.plan_.costs.names == tuple(task.names)
    assert set(model.features_) <= set(task.names)
    rows, frame = task.fresh, frame_of(case, kind, task.fresh.X)
    by_frame = model.run(frame, qid=rows.qid)
    for name in ("scores", "cost", "acquired"):
        np.testing.assert_array_equal(getattr(by_frame, name), getattr(case.run(rows), name), err_msg=name)
    np.testing.assert_array_equal(case.predict(model, rows, X=frame), case.predict(case.fitted, rows))


@every_kind
def test_costs_are_bound_by_name(case: Case, kind):
    prices = case.task.costs.to_dict()
    names = list(reversed(prices["features"]))
    turned = Costs.from_dict({**prices, "features": {name: prices["features"][name] for name in names}})
    frame = frame_of(case, kind, case.task.learn.X)
    assert fit_named(case, frame, costs=turned).plan_.costs == case.task.costs


@every_kind
def test_names_decide_and_order_does_not(case: Case, kind, tmp_path):
    """A model needs the columns that its plan reads, in any order; others are ignored."""
    rows = case.task.fresh
    model = case.fitted_to(kind)
    frame = frame_of(case, kind, rows.X)
    read = [name for name in reversed(case.task.names) if name in set(model.features_)]
    turned = with_column(frame[read], "stranger", ["?"] * len(rows))
    np.testing.assert_array_equal(case.predict(model, rows, X=turned), case.predict(model, rows, X=frame))
    model.plan_.save(tmp_path / "m.miser")
    np.testing.assert_array_equal(
        load(tmp_path / "m.miser").predict(turned, qid=rows.qid), case.predict(model, rows, X=frame)
    )


@every_kind
def test_a_missing_column_is_named(case: Case, kind, tmp_path):
    rows = case.task.fresh
    model = case.fitted_to(kind)
    frame = frame_of(case, kind, rows.X)
    needed = str(model.features_[0])
    lacking = frame[[name for name in case.task.names if name != needed]]
    with pytest.raises(ValueError, match=re.escape(needed)):
        case.predict(model, rows, X=lacking)
    with pytest.raises(ValueError, match=re.escape(needed)):
        case.predict(model, rows, X=with_column(lacking, "stranger", np.ones(len(rows))))
    model.plan_.save(tmp_path / "m.miser")
    with pytest.raises(ValueError, match=re.escape(repr(needed))):
        load(tmp_path / "m.miser").predict(lacking, qid=rows.qid)


@every
def test_booleans_are_read_by_the_model_and_by_its_plan(case: Case):
    task, rows = case.task, case.task.fresh
    name = str(case.fitted.features_[0])
    place = task.names.index(name) if name in task.names else int(name)
    middle = np.nanmedian(task.learn.X[:, place])

    def frame(X):
        return with_column(frame_of(case, "pandas", X), task.names[place], X[:, place] > middle)

    model = fit_named(case, frame(task.learn.X))
    predicted = case.predict(model, rows, X=frame(rows.X))
    np.testing.assert_array_equal(model.plan_.predict(frame(rows.X), qid=rows.qid), predicted)


@every
def test_costs_for_other_columns_are_refused_by_name(case: Case):
    prices = case.task.costs.to_dict()
    name, *rest = prices["features"]
    wrong = Costs({"stranger": 1.0, **{other: prices["features"][other] for other in rest}})
    frame = frame_of(case, "pandas", case.task.learn.X)
    with pytest.raises(ValueError, match=f"{name!r}|'stranger'"):
        fit_named(case, frame, costs=wrong)
    with pytest.raises(ValueError, match=f"{len(rest)} costs for {len(rest) + 1} columns"):
        case.fit(case.make(costs=np.ones(len(rest))))


# -- values --------------------------------------------------------------------------------------------------


@every_kind
def test_missing_values_work_or_are_refused_by_name(case: Case, kind):
    task, rows = case.task, case.task.fresh
    name = str(case.fitted.plan_.costs.name(case.fitted.plan_.features[0]))
    column = task.names.index(name) if name in task.names else int(name)
    X = rows.X.copy()
    X[:, column] = np.nan
    model = case.fitted_to(kind)
    if get_tags(model).input_tags.allow_nan:
        np.testing.assert_array_equal(
            case.predict(model, rows, X=frame_of(case, kind, X)), case.predict(case.fitted, rows, X=X)
        )
        empty = np.full_like(rows.X, np.nan)
        assert np.isfinite(model.run(frame_of(case, kind, empty), qid=rows.qid).scores).all()
    else:
        with pytest.raises(ValueError, match=re.escape(task.names[column])):
            case.predict(model, rows, X=frame_of(case, kind, X))


@every_kind
def test_infinite_values_are_refused_by_name(case: Case, kind):
    task = case.task
    for column in (0, len(task.names) - 1):
        X = task.learn.X.copy()
        X[7, column] = -np.inf
        with pytest.raises(ValueError, match=re.escape(repr(task.names[column]))):
            fit_named(case, frame_of(case, kind, X))
    model = case.fitted_to(kind)
    read = str(model.features_[0])
    X = task.learn.X.copy()
    X[7, task.names.index(read)] = np.inf
    with pytest.raises(ValueError, match=re.escape(repr(read))):
        case.predict(model, task.learn, X=frame_of(case, kind, X))


@every_kind
def test_columns_of_dates_are_refused_by_name(case: Case, kind):
    frame = frame_of(case, kind, case.task.learn.X)
    dates = pd.date_range("2026-01-01", periods=len(case.task.learn)).to_numpy()
    with pytest.raises(ValueError, match=re.escape(repr(case.task.names[1]))):
        fit_named(case, with_column(frame, case.task.names[1], dates))


@every_kind
def test_categories_work_or_are_refused_by_name(case: Case, kind, tmp_path):
    """One column as text. Models that read it refuse unknown text, or take it as missing, also when saved."""
    task, rows = case.task, case.task.fresh
    name = task.names[0]
    text = with_column(frame_of(case, kind, task.learn.X), name, towns(task.learn.y))
    try:
        model = fit_named(case, text)
    except ValueError as error:
        assert repr(name) in str(error)
        return
    frame = frame_of(case, kind, rows.X)
    strange, absent = (with_column(frame, name, [word] * len(rows)) for word in ("rome", None))
    known = with_column(frame, name, towns(rows.y))
    missing = model.run(absent, qid=rows.qid)
    model.plan_.save(tmp_path / "m.miser")
    plan = load(tmp_path / "m.miser")
    for ask in (model.run, plan.run):
        with pytest.raises(DataError, match=f"column {name!r}, row 0: 'rome' is not among its categories"):
            ask(strange, qid=rows.qid)
        np.testing.assert_array_equal(ask(strange, qid=rows.qid, unknown="missing").scores, missing.scores)
    for some in (known, absent):
        run = model.run(some, qid=rows.qid)
        np.testing.assert_array_equal(plan.run(some, qid=rows.qid).scores, run.scores)
        np.testing.assert_array_equal(plan.run(some, qid=rows.qid).cost, run.cost)
    assert model.plan_.features.tolist().count(0) == 1, "the text tells the label, and no term reads it"
    with pytest.raises(ValueError, match=re.escape(repr(name))):
        case.predict(model, rows, X=frame)  # numbers where there were towns


@every
def test_every_way_to_answer_takes_unknown(case: Case):
    for way in ("run", "predict", "predict_proba", "decision_function"):
        if hasattr(case.learner, way):
            assert signature(getattr(case.learner, way)).parameters["unknown"].default == "error", way


def towns(y):
    """Text that says something about the label, the same for equal labels."""
    code = np.unique(y, return_inverse=True)[1]
    return TOWNS[(code * len(TOWNS)) // (code.max() + 1)].tolist()


@every
def test_float32_rows_work(case: Case):
    rows = case.task.fresh
    model = case.fit(case.make(), X=case.task.learn.X.astype(np.float32))
    narrow = rows.X.astype(np.float32)
    np.testing.assert_array_equal(
        case.predict(model, rows, X=narrow), case.predict(model, rows, X=narrow.astype(np.float64))
    )


# -- weights -------------------------------------------------------------------------------------------------


def weighted(case: Case):
    if "sample_weight" not in case.fit_parameters:
        pytest.skip("takes no sample_weight")
    return case.weights


@every
def test_weights_matter(case: Case):
    if "sample_weight" not in case.fit_parameters:
        pytest.skip("takes no sample_weight")
    rows = case.task.fresh
    assert (case.fitted_with_weights.run(rows.X, qid=rows.qid).scores != case.run(rows).scores).any()


@every
@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda w: w[:-1], "sample_weight"),
        (lambda w: np.where(np.arange(len(w)) == 3, np.nan, w), "sample_weight|Sample weight"),
        (lambda w: np.where(np.arange(len(w)) == 3, -1.0, w), r"sample_weight\[3\] is -1"),
        (lambda w: 0.0 * w, "[Ss]ample.weight"),
    ],
    ids=["too few", "missing", "negative", "all zero"],
)
def test_bad_weights_are_refused_in_words(case: Case, spoil, words):
    with pytest.raises(ValueError, match=words):
        case.fit(case.make(), sample_weight=spoil(weighted(case)))


@every
def test_rows_of_no_weight_are_left_out(case: Case, tmp_path):
    weight = weighted(case)
    learn = case.task.learn
    out = np.zeros(len(learn), dtype=bool)
    bundle = np.arange(len(learn)) if learn.qid is None else learn.qid
    out[np.isin(bundle, np.unique(bundle)[::4])] = True  # whole queries
    spoilt = learn.X.copy()
    spoilt[out] = 1e6
    kept = case.fit(case.make(), rows=learn.take(~out), sample_weight=weight[~out])
    zero = case.fit(case.make(), X=spoilt, sample_weight=np.where(out, 0.0, weight))
    for name, model in (("kept", kept), ("zero", zero)):
        model.plan_.save(tmp_path / name)
    assert (tmp_path / "kept").read_bytes() == (tmp_path / "zero").read_bytes()


# -- errors --------------------------------------------------------------------------------------------------


@every
def test_what_is_wrong_with_data_is_reported_by_us(case: Case):
    """Nothing from the libraries below gets through: one family of errors, which names the place."""
    rows = case.task.learn
    masked = np.ma.masked_array(rows.X, rows.X.mean() < rows.X)
    huge, absent = rows.X.astype(object), rows.y.astype(object)
    huge[3, 1], absent[3] = 10**400, None
    for change, words in [
        ({"X": masked}, "masked array"),
        ({"X": huge}, "column 1, row 3"),
        ({"X": rows.X.astype("datetime64[s]")}, "dates"),
        ({"X": rows.X * 1j}, "Complex"),
        ({"rows": replace(rows, y=absent)}, r"y\[3\] is None"),
        ({"rows": replace(rows, y=np.ma.masked_array(rows.y, rows.X[:, 0] > 0))}, "y is a masked array"),
    ]:
        with pytest.raises(DataError, match=words):
            case.fit(case.make(), **change)
