"""`miserly datasets`: listed, and written as the other commands read them."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd

from miserly import Costs
from miserly.datasets import load_heart

from .running import QUICK, complaint, run


def test_datasets_lists_the_bundled_one(monkeypatch):
    monkeypatch.delenv("MISERLY_DATA", raising=False)
    assert "heart_statlog" in run("datasets").stdout
    (record,) = json.loads(run("datasets", "--json").stdout)
    assert record["rows"] == 270 and record["features"] == 13 and record["unit"] == "CAD"


def test_a_data_set_is_written_with_its_prices(tmp_path):
    files = ("--out", tmp_path / "heart.csv", "--costs-out", tmp_path / "costs.csv")
    done = run("datasets", "heart", *files)
    assert "--target target --costs" in done.stdout
    written, heart = pd.read_csv(tmp_path / "heart.csv"), load_heart()
    np.testing.assert_array_equal(written[list(heart.feature_names)], heart.X)
    assert written["target"].tolist() == [heart.classes[code] for code in heart.y]
    assert Costs.read(tmp_path / "costs.csv") == heart.costs
    assert "67,0,3,115,564,0,2,160,0,1.6,2,0,7,absence" in (tmp_path / "heart.csv").read_text()
    fit = run("fit", tmp_path / "heart.csv", "--target", "target", "--costs", tmp_path / "costs.csv", *QUICK,
              "--out", tmp_path / "x.miser")  # fmt: skip
    assert fit.exit_code == 0, fit.output


def test_rankings_gaps_and_words_are_written(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=12), np.tile([0.0, 1.0, np.nan], 4)]).astype(np.float32)
    np.savez(
        tmp_path / "some.npz", X=X, y=np.arange(12) % 3, qid=np.repeat([5, 6, 7], 4),
        feature_names=np.array(["target", "colour"]), categorical=np.array([False, True]),
        categories=np.array(["", '["red", "blue"]']),
    )  # fmt: skip
    monkeypatch.setenv("MISERLY_DATA", str(tmp_path))
    record = json.loads(run("datasets", "some", "--out", tmp_path / "a.parquet", "--json").stdout)
    assert record["target"] == "target_" and record["query"] == "qid" and record["task"] == "ranking"
    written = pd.read_parquet(tmp_path / "a.parquet")
    assert written["colour"].tolist()[:2] == ["red", "blue"] and written["colour"].isna().sum() == 4
    np.testing.assert_array_equal(written["target"].astype(np.float32), X[:, 0])
    assert written["qid"].tolist() == np.repeat([5, 6, 7], 4).tolist()
    done = run("datasets", "some", "--out", tmp_path / "a.csv", "--costs-out", tmp_path / "c.csv")
    assert "some has no costs to write" in complaint(done)


def test_names_and_files_go_together(tmp_path):
    assert "give both its name and --out" in complaint(run("datasets", "heart"), code=2)
    assert "did you mean 'heart_statlog'" in complaint(
        run("datasets", "heart_statlg", "--out", tmp_path / "a.csv")
    )
