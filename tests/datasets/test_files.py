"""The bundled table, and data sets by name."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from miserly.costs import Costs
from miserly.datasets import load, load_heart, names, tiered_costs
from miserly.errors import CostError, DataError

DATA = os.environ.get("MISERLY_DATA")
needs_data = pytest.mark.skipif(not DATA, reason="MISERLY_DATA is not set")
small = sorted(p.stem for p in Path(DATA).glob("*.npz") if p.stat().st_size < 2e6) if DATA else []


def arrays(name: str) -> dict[str, np.ndarray]:
    with np.load(Path(DATA or "") / f"{name}.npz", allow_pickle=False) as archive:
        return {key: archive[key] for key in archive.files}


def turney_price(raw: dict[str, np.ndarray], bought: list[int], feature: int) -> float:
    """Turney's rule: the first test of a group costs `cost`, every later one `cost_discounted`."""
    group = raw["group"][feature]
    later = group >= 0 and any(raw["group"][other] == group for other in bought)
    return float(raw["cost_discounted" if later else "cost"][feature])


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("MISERLY_DATA", str(tmp_path))
    return tmp_path


def save(path, **parts) -> None:
    defaults = {"X": np.eye(3, 2), "y": np.arange(3), "feature_names": np.array(["a", "b"])}
    np.savez(path, **{**defaults, **parts})


# -- heart disease ---------------------------------------------------------------------------------------


def test_heart_is_bundled(monkeypatch):
    monkeypatch.delenv("MISERLY_DATA", raising=False)
    data = load_heart()
    assert data.X.shape == (270, 13)
    assert np.bincount(data.y).tolist() == [150, 120]
    assert np.isfinite(data.X).all()
    assert data.feature_names == data.costs.names
    assert data.X[0].tolist() == [70, 1, 4, 130, 322, 0, 2, 109, 0, 2.4, 2, 3, 3]
    assert (load("heart_statlog").X == data.X).all()
    assert names() == ("heart_statlog",)


def test_heart_prices_by_hand():
    costs = load_heart().costs
    assert costs.unit == "CAD"
    assert costs.group_names == ("blood", "thallium", "exercise")
    # Blood tests alone cost 7.27 and 5.20; together the blood is drawn once, for 2.10.
    assert costs.of(["chol"]) == pytest.approx(7.27, abs=1e-9)
    assert costs.of(["fbs"]) == pytest.approx(5.20, abs=1e-9)
    assert costs.of(["chol", "fbs"]) == pytest.approx(7.27 + 5.20 - 2.10, abs=1e-9)
    # All of it: 4 * 1 + 8.27 + 2.10 + 15.50 + (101.90 + 2 * 1) + (86.30 + 3 * 1) + 100.90
    assert costs.total == pytest.approx(323.97, abs=1e-9)


@needs_data
def test_heart_is_the_source_table():
    raw, data = arrays("heart_statlog"), load_heart()
    assert (data.X.astype(np.float32) == raw["X"]).all()
    assert (data.y == raw["y"]).all()
    assert list(data.feature_names) == raw["feature_names"].tolist()


@needs_data
@pytest.mark.parametrize("name", ["heart_statlog", "heart_cleveland", "pima", "bupa_liver", "ann_thyroid"])
def test_prices_follow_turneys_rule(name):
    raw, costs = arrays(name), load(name).costs
    rng = np.random.default_rng(0)
    for _ in range(20):
        order = rng.permutation(len(costs)).tolist()
        for place, feature in enumerate(order):
            price = costs.marginal(feature, bought=order[:place])
            assert price == pytest.approx(turney_price(raw, order[:place], feature), abs=1e-9)


# -- by name -----------------------------------------------------------------------------------------------


@needs_data
@pytest.mark.parametrize("name", small)
def test_every_public_set_can_be_loaded(name):
    data = load(name)
    assert name in names()
    assert len(data.X) == len(data.y)
    assert len(set(data.feature_names)) == data.X.shape[1]
    if data.classes:
        assert data.y.max() < len(data.classes)
    for column, words in (data.categories or {}).items():
        assert data.categorical[column]
        assert np.nanmax(data.X[:, column]) < len(words)
    train, test = data.train_test(random_state=0)
    assert len(train) >= len(test) > 0


@needs_data
def test_what_is_known_of_the_public_sets():
    assert load("nhanes1_subset").costs is None, "some of its prices are missing"
    assert "cost" in load("nhanes1_subset").extra
    assert load("magic").costs is None
    diabetes = load("nhanes_diabetes")
    assert diabetes.costs.group_names == (), "a group without a price is structure, not a cost"
    assert len(diabetes.group_names) == diabetes.groups.max() + 1
    assert diabetes.extra["label_measured"].sum() == 26852
    adult = load("adult", costs=tiered_costs(14, random_state=0))
    assert adult.costs.names == adult.feature_names
    assert adult.categories[1][0] == "Federal-gov"
    assert adult.frame()["workclass"][0] == "State-gov"
    ranking = load("mq2008")
    assert len(np.unique(ranking.qid)) == 784
    assert set(ranking.extra["fold"].tolist()) == {1, 2, 3, 4, 5}


def test_prices_groups_and_structure_from_a_file(folder):
    cost, discounted = [7.0, 4.0], [5.0, 4.0]
    group = {"group": np.array([0, -1]), "group_names": np.array(["lab"])}
    save(folder / "priced", cost=cost, cost_discounted=discounted, group_cost=[2.0], currency="EUR", **group)
    assert load("priced").costs == Costs(
        {"a": 5, "b": 4}, groups={"lab": {"features": ["a"], "setup": 2}}, unit="EUR"
    )
    save(folder / "plain", cost=cost, **group)
    plain = load("plain")
    assert plain.costs == Costs({"a": 7, "b": 4})
    assert plain.groups.tolist() == [0, -1]
    assert plain.group_names == ("lab",)
    save(folder / "missing", cost=[1.0, np.nan])
    assert load("missing").costs is None
    assert names() == ("heart_statlog", "missing", "plain", "priced")


def test_costs_may_be_given(folder):
    save(folder / "bare")
    assert load("bare").costs is None
    assert load("bare", costs=[1, 2]).costs == Costs({"a": 1, "b": 2})
    assert load("bare", costs={"b": 2, "a": 1}).costs == Costs({"a": 1, "b": 2})
    assert load("bare", costs=Costs({"b": 2, "a": 1})).costs == Costs({"a": 1, "b": 2})
    with pytest.raises(CostError, match="no cost for column 'b'"):
        load("bare", costs={"a": 1, "c": 2})


def test_other_arrays_are_passed_on(folder):
    save(folder / "more", qid=np.array([1, 1, 2]), split=np.array([0, 1, 0]), fold=np.arange(3))
    data = load("more")
    assert data.qid.tolist() == [1, 1, 2]
    assert data.split.tolist() == [0, 1, 0]
    assert list(data.extra) == ["fold"]


# -- what goes wrong -----------------------------------------------------------------------------------------


def test_an_unknown_name_comes_with_the_nearest(folder):
    save(folder / "magic")
    with pytest.raises(DataError, match=r"no data set 'magik' in .*did you mean 'magic'\?"):
        load("magik")


def test_names_do_not_lead_out_of_the_folder(folder):
    save(folder.parent / "outside")
    with pytest.raises(DataError, match="no data set"):
        load("../outside")


def test_without_the_variable_the_error_names_it(monkeypatch):
    monkeypatch.delenv("MISERLY_DATA", raising=False)
    with pytest.raises(
        DataError, match=r"'heart_statlg' is bundled; did you mean 'heart_statlog'\?.*MISERLY_DATA"
    ):
        load("heart_statlg")


def test_a_folder_that_does_not_exist_is_named(monkeypatch, tmp_path):
    monkeypatch.setenv("MISERLY_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(DataError, match=r"nowhere.*not a folder"):
        names()
    with pytest.raises(DataError, match=r"nowhere.*not a folder"):
        load("magic")


def test_files_that_are_no_archives_are_named(folder):
    (folder / "broken.npz").write_bytes(b"not an archive")
    with pytest.raises(DataError, match=r"broken\.npz is not a sound"):
        load("broken")
    (folder / "empty.npz").write_bytes(b"")
    with pytest.raises(DataError, match=r"empty\.npz is not a sound"):
        load("empty")
    np.savez(folder / "half.npz", X=np.eye(2))
    with pytest.raises(DataError, match=r"half\.npz has no array 'y'"):
        load("half")


def test_nothing_is_unpickled(folder):
    save(folder / "hostile", y=np.array([print, print, print], dtype=object))
    with pytest.raises(DataError, match=r"hostile\.npz is not a sound"):
        load("hostile")
