"""What each budget buys of one plan: the lines that are saved with it."""

import numpy as np
import pytest

from miserly import frontier, load
from miserly.data.rows import Rows
from miserly.learners import GreedyMiserClassifier
from miserly.selection.offers import offer_for
from miserly.selection.plan_budgets import budget_steps, budgets_of_offer, budgets_on_rows, with_budgets
from miserly.selection.requests import Request
from tests.cli.running import COSTS, QUICK, run, table


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    y = (X @ [1.0, 2.0, 3.0] + rng.normal(size=300) > 0).astype(int)
    return X, y


def test_lines_are_what_the_plan_does_under_each_cap(data):
    X, y = data
    model = GreedyMiserClassifier(costs=[1.0, 2.0, 4.0], n_rounds=20, max_depth=2).fit(X[:200], y[:200])
    lines = budgets_on_rows(model.plan_, Rows(X[200:], y[200:]), "accuracy", "other rows")
    assert [one["budget"] for one in lines] == budget_steps(model.plan_) == sorted(budget_steps(model.plan_))
    for one in lines:
        done = model.plan_.run(X[200:], budget=one["budget"])
        assert one["mean_cost"] == pytest.approx(done.cost.mean())
        right = model.predict(X[200:], budget=one["budget"]) == y[200:]
        assert one["value"] == pytest.approx(right.mean())
        assert one["rows"] == "other rows"
    assert lines[-1]["value"] > lines[0]["value"]


def test_lines_of_a_search_are_on_held_out_rows(data):
    X, y = data
    found = frontier([GreedyMiserClassifier(n_rounds=10)], X, y, costs=[1.0, 2.0, 4.0], max_fits=3, certify=0)
    offer = offer_for(found, Request(budget=6.0))
    lines = budgets_of_offer(found, offer)
    plans = offer.candidate.trial.plans
    held = found.result.evaluator.held_out
    assert len(plans) == len(held) > 1
    assert lines[0] | {"rows": "", "error": 0} == lines[0] | {
        "budget": 0.0, "mean_cost": 0.0, "rows": "", "error": 0, "metric": "accuracy",
    }  # fmt: skip
    assert all(one["mean_cost"] <= one["budget"] <= 6.0 for one in lines)
    assert "held-out" in lines[0]["rows"]


def test_the_note_belongs_to_one_plan(data):
    X, y = data
    plan = GreedyMiserClassifier(n_rounds=3).fit(X, y).plan_
    noted = with_budgets(plan, [{"budget": 1.0}])
    assert noted.info["budgets_of"] == plan.digest == noted.digest


def test_fit_saves_what_budgets_buy(tmp_path):
    table().to_csv(tmp_path / "rows.csv", index=False)
    (tmp_path / "costs.csv").write_text(COSTS)
    done = run(
        "fit", tmp_path / "rows.csv", "--target", "disease", "--costs", tmp_path / "costs.csv",
        "--ignore", "risk", "--ignore", "grade", "--ignore", "patient", "--out", tmp_path / "m.miser", *QUICK,
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    plan = load(tmp_path / "m.miser")
    assert plan.info["budgets_of"] == plan.digest
    assert plan.info["budgets"][-1]["budget"] == pytest.approx(plan.max_cost)
    assert plan.info["budgets"][-1]["rows"].startswith("validation set")
