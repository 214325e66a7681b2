"""`miserly bench`: the frontier and LightGBM on the same rows, with the same prices."""

from __future__ import annotations

import json

import numpy as np
import pytest

from .running import complaint, run, table

QUICK = ("--learners", "greedymiser", "--max-fits", 4)
BENCH = [
    (("age", "chol", "thal"), "disease", ("--metric", "log_loss")),
    pytest.param(("age", "chol"), "risk", (), marks=pytest.mark.long),
    (("age", "chol", "patient"), "grade", ("--query", "patient")),
    pytest.param(("age", "chol", "thal"), "grade", (), marks=pytest.mark.long),  # three classes
]


@pytest.mark.parametrize(("columns", "target", "more"), BENCH)
def test_both_are_evaluated_at_every_budget_with_one_ledger(tmp_path, columns, target, more):
    pytest.importorskip("lightgbm")
    table(600)[[*columns, target]].to_csv(tmp_path / "a.csv", index=False)
    (tmp_path / "costs.csv").write_text("feature,cost\nage,1\nchol,4\n" + "thal,9\n" * ("thal" in columns))
    given = (tmp_path / "a.csv", "--target", target, *more, "--costs", tmp_path / "costs.csv")
    done = run("bench", *given, *QUICK, "--json")
    assert done.exit_code == 0, done.output
    record = json.loads(done.stdout)
    assert record["rows_test"] == 150 and record["rows_learned"] == 450
    sign = -1 if record["metric"] in ("mse", "log_loss") else 1
    for who in ("frontier", "lightgbm"):
        lines = [line[who] | {"budget": line["budget"]} for line in record["budgets"]]
        assert all(line["mean_cost"] <= 1.1 * line["budget"] for line in lines)  # test rows did not choose
        assert sign * lines[-1]["value"] > sign * lines[0]["value"]
    lead = np.mean([sign * (b["frontier"]["value"] - b["lightgbm"]["value"]) for b in record["budgets"]])
    assert record["lead"] == pytest.approx(lead)


def test_bench_in_words(tmp_path):
    pytest.importorskip("lightgbm")
    table(180)[["age", "chol", "disease"]].to_csv(tmp_path / "a.csv", index=False)
    done = run("bench", tmp_path / "a.csv", "--target", "disease", *QUICK)
    assert "LightGBM" in done.stdout and "on 45 test rows, learned from 135 others" in " ".join(
        done.stdout.split()
    )


def test_rows_pay_for_what_they_meet():
    """A stump by hand: all rows meet feature 1, which costs 5, the set-up 2 and one evaluation 0.5."""
    pytest.importorskip("lightgbm")
    from miserly import Costs
    from miserly.cli.lightgbm_race import ROUNDS, fit_lightgbm, stages
    from miserly.data.rows import Rows

    costs = Costs([1, 5, 3], groups={"blood": {"features": [1, 2], "setup": 2}}, evaluation=0.5)
    X = np.zeros((200, 3))
    X[:, 1] = np.repeat([0.0, 1.0], 100)
    booster = fit_lightgbm(Rows(X, np.repeat([0.0, 1.0], 100)), costs, 2, 0.0, [], seed=0)
    found = list(stages(booster, X, costs))
    assert [stage.rounds for stage in found] == list(ROUNDS)
    for stage in found:
        assert (stage.cost == 7.0 + 0.5 * stage.rounds).all()
        assert stage.cost[0] == costs.of([1], evaluations=stage.rounds)


def test_features_on_the_path_to_a_leaf():
    """Feature 0 at the root, feature 2 below it on the right."""
    from miserly.cli.lightgbm_race import features_met

    leaves = [{"leaf_index": k} for k in range(3)]
    right = {"split_feature": 2, "left_child": leaves[1], "right_child": leaves[2]}
    root = {"split_feature": 0, "left_child": leaves[0], "right_child": right}
    met = features_met({"num_leaves": 3, "tree_structure": root}, 3)
    assert met.tolist() == [[True, False, False], [True, False, True], [True, False, True]]


def test_a_rival_that_is_not_there_is_reported_as_missing(tmp_path, monkeypatch):
    from miserly.cli import lightgbm_race

    monkeypatch.setattr(lightgbm_race, "find_spec", lambda name: None)
    table(180)[["age", "chol", "disease"]].to_csv(tmp_path / "a.csv", index=False)
    done = run("bench", tmp_path / "a.csv", "--target", "disease", *QUICK)
    assert "pip install lightgbm" in complaint(done)
