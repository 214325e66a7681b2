"""A search goes on where it ended: finished fits are found again, and nothing else is."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest

from miserly import AdaBoostBTClassifier, CostLassoClassifier, Costs, EarlyExit, GreedyMiserClassifier, load
from miserly.data.rows import Rows
from miserly.errors import DataError
from miserly.selection.candidates import CandidateLearner, Hyperparameter
from miserly.selection.files import Cache, FittedPlan, digest_of, key_of

from .tables import COSTS, miser, sweep, table

TRADEOFF = Hyperparameter("tradeoff", "tradeoff", cheap=1.0, expensive=1e-3)


@pytest.fixture
def fits(monkeypatch):
    """Counts fits; `fits.stop_at = n` interrupts the n-th."""

    class Fits(list):
        stop_at = np.inf

    counted = Fits()
    original = CandidateLearner.fit

    def fit(self, rows, value):
        counted.append((self.name, value))
        if len(counted) == counted.stop_at:
            raise KeyboardInterrupt
        return original(self, rows, value)

    monkeypatch.setattr(CandidateLearner, "fit", fit)
    return counted


def learners():
    return [CostLassoClassifier(), EarlyExit(miser(), every=2), AdaBoostBTClassifier(n_rounds=10)]


def test_the_same_search_again_fits_nothing_and_finds_the_same(tmp_path, fits):
    X, y, _ = table(120)
    plain = sweep(learners(), X, y)
    n = len(fits)
    first = sweep(learners(), X, y, cache=tmp_path)
    assert len(fits) == 2 * n
    again = sweep(learners(), X, y, cache=tmp_path)
    assert len(fits) == 2 * n
    pd.testing.assert_frame_equal(first.points, plain.points)
    pd.testing.assert_frame_equal(again.points, plain.points)
    prices = Costs([2.0, 1.0, 3.0], evaluation=0.5)
    pd.testing.assert_frame_equal(again.reprice(prices).points, plain.reprice(prices).points)
    np.testing.assert_array_equal(again.best(mean_budget=6).predict(X), plain.best(mean_budget=6).predict(X))


def test_an_interrupted_search_goes_on_where_it_ended(tmp_path, fits):
    X, y, _ = table(120)
    sweep(miser(), X, y)
    whole = len(fits)
    fits.clear()
    fits.stop_at = 11
    with pytest.raises(KeyboardInterrupt) as stopped:
        sweep(miser(), X, y, cache=tmp_path)
    assert f"kept in {tmp_path}" in stopped.value.__notes__[0]
    fits.stop_at = np.inf
    sweep(miser(), X, y, cache=tmp_path)
    assert len(fits) == whole + 1  # the one that was interrupted is done twice


def test_without_a_cache_an_interrupt_says_what_is_lost(fits):
    X, y, _ = table(120)
    fits.stop_at = 8
    with pytest.raises(KeyboardInterrupt) as stopped:
        sweep(miser(), X, y)
    assert "finished fits are lost" in stopped.value.__notes__[0]


@pytest.mark.parametrize("limits", [(None, None), pytest.param((1000.0, 2000.0), marks=pytest.mark.long)])
def test_more_fits_or_time_use_all_that_is_there(tmp_path, limits):
    X, y, _ = table(120)
    sweep(miser(), X, y, cache=tmp_path, max_fits=7, time_limit=limits[0])
    known = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*") if path.is_file()}
    assert len(known) == 7 * 3
    sweep(miser(), X, y, cache=tmp_path, max_fits=9, time_limit=limits[1])
    kept = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*") if path.is_file()}
    assert len(kept) == 9 * 3 and all(kept[path] == when for path, when in known.items())


@pytest.mark.parametrize(
    ("change", "n_fits"),
    [
        ({"costs": [1.0, 5.0, 21.0]}, 9),
        ({"random_state": 1}, 9),
        ({"cv": 4}, 12),
        ({"certify": 0.1}, 9),
        ({"learners": miser(n_rounds=9)}, 6),  # a parameter that changes nothing is as before
    ],
    ids=str,
)
def test_what_changes_a_fit_is_not_found(tmp_path, fits, change, n_fits):
    X, y, _ = table(120)
    same = {"learners": miser(), "X": X, "y": y, "cache": tmp_path, "max_fits": 3, "certify": 0}
    sweep(**same)
    fits.clear()
    sweep(**{**same, **change})
    assert len(fits) == n_fits


def test_rows_that_change_spoil_the_fits_that_learned_from_them(tmp_path, fits):
    """Two of three folds learn from row 7."""
    X, y, _ = table(120)
    sweep(miser(), X, y, cache=tmp_path, max_fits=3, certify=0)
    fits.clear()
    X[7, 2] += 1e-9
    sweep(miser(), X, y, cache=tmp_path, max_fits=3, certify=0)
    assert len(fits) == 6
    sweep(miser(), X, 1 - y, cache=tmp_path, max_fits=3, certify=0)
    assert len(fits) == 15


def test_another_version_fits_again(tmp_path, fits, monkeypatch):
    X, y, _ = table(120)
    sweep(miser(), X, y, cache=tmp_path, max_fits=2)
    n = len(fits)
    monkeypatch.setattr("miserly.__version__", "99.0")
    sweep(miser(), X, y, cache=tmp_path, max_fits=2)
    assert len(fits) == 2 * n


def test_threads_and_talk_do_not_matter(tmp_path):
    X, y, _ = table(60)
    rows = digest_of(Rows(X, y))
    keys = {
        key_of(
            CandidateLearner("miser", EarlyExit(miser(n_jobs=n, verbose=n)), None, Costs(COSTS), 0), 0.1, rows
        )
        for n in (1, 2)
    }
    assert len(keys) == 1


@pytest.mark.parametrize("spoil", ["cut short", "another plan", "text", "a folder"])
def test_a_file_that_is_not_sound_is_named_and_fitted_again(tmp_path, fits, spoil):
    X, y, _ = table(120)
    plain = sweep(miser(), X, y, cache=tmp_path, max_fits=2, cv=2)
    one, other, *_ = sorted(tmp_path.iterdir())
    if spoil == "cut short":
        one.write_bytes(one.read_bytes()[:-1])
    elif spoil == "another plan":
        one.write_bytes(other.read_bytes())
    elif spoil == "text":
        one.write_text("not a plan")
    else:
        one.unlink()
        one.mkdir()
    fits.clear()
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        again = sweep(miser(), X, y, cache=tmp_path, max_fits=2, cv=2)
    assert len(fits) == 1 and one.name in str(warned[0].message)
    pd.testing.assert_frame_equal(again.points, plain.points)


def test_a_cache_holds_plans_that_anyone_can_load(tmp_path):
    X, y, _ = table(120)
    sweep(miser(), X, y, cache=tmp_path / "new" / "folder", max_fits=3, cv=2)
    files = list((tmp_path / "new" / "folder").iterdir())
    assert len(files) == 6
    assert all(load(file).predict(X).shape == y.shape for file in files)


def test_frames_with_text_are_distinguished():
    frame = pd.DataFrame({"a": [1.0, 2.0], "b": ["x", "y"]})
    y = np.array([0, 1])
    digests = {
        digest_of(Rows(frame, y)),
        digest_of(Rows(frame.assign(b=["x", "z"]), y)),
        digest_of(Rows(frame.rename(columns={"a": "c"}), y)),
        digest_of(Rows(frame, y, qid=np.array([0, 0]))),
    }
    assert len(digests) == 4
    assert digest_of(Rows(frame.copy(), y.copy())) in digests


def test_what_cannot_be_kept_is_reported_and_fitted(tmp_path):
    learner = CandidateLearner("odd", miser(metric=lambda y, p: 0.0), TRADEOFF, Costs(COSTS), 0)
    with pytest.warns(UserWarning, match="fits of odd cannot be kept"):
        assert key_of(learner, 0.1, "rows") is None
    X, y, _ = table(60)
    plan = GreedyMiserClassifier(n_rounds=2).fit(X, y).plan_
    cache = Cache(tmp_path / "gone")
    cache.folder.rmdir()
    with pytest.warns(UserWarning, match="could not be kept"):
        cache.keep("key", FittedPlan(plan, 1.0))


def test_a_cache_needs_a_seed_and_a_folder(tmp_path):
    X, y, _ = table(60)
    with pytest.raises(DataError, match="random_state"):
        sweep(miser(), X, y, cache=tmp_path, random_state=None)
    (tmp_path / "file").write_text("")
    with pytest.raises(DataError, match="is not a folder"):
        sweep(miser(), X, y, cache=tmp_path / "file")


@pytest.mark.parametrize("target", ["other.plan", "nowhere", "."], ids=["file", "dangling", "folder"])
def test_links_in_a_cache_are_neither_read_nor_replaced(tmp_path, target):
    plan = GreedyMiserClassifier(n_rounds=1).fit(*table(60)[:2]).plan_
    cache = Cache(tmp_path)
    cache.keep("other", FittedPlan(plan, 1.0))
    cache.keep("ours", FittedPlan(plan, 1.0))
    before = (tmp_path / "other.plan").read_bytes()
    (tmp_path / "ours.plan").rename(tmp_path / "other.plan")  # a sound plan, kept under our key
    ours = (tmp_path / "other.plan").read_bytes()
    assert ours != before
    (tmp_path / "ours.plan").symlink_to(target)
    with pytest.warns(UserWarning, match="this is a link, not a saved plan; it is fitted again"):
        assert cache.find("ours") is None
    with pytest.warns(UserWarning, match="could not be kept.*this is a link"):
        cache.keep("ours", FittedPlan(plan, 2.0))
    assert (tmp_path / "ours.plan").is_symlink() and (tmp_path / "other.plan").read_bytes() == ours
    assert not (tmp_path / "nowhere").exists()


def test_the_folder_of_a_cache_may_be_behind_a_link(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "cache").symlink_to("real")
    plan = GreedyMiserClassifier(n_rounds=1).fit(*table(60)[:2]).plan_
    Cache(tmp_path / "cache").keep("one", FittedPlan(plan, 1.0))
    assert Cache(tmp_path / "real").find("one") is not None
