"""`miserly frontier --outcome-costs`: totals in words and JSON, a saved model that decides, and bad files."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from miserly import load

from .running import COSTS, complaint, run, table


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("outcomes")
    table(180)[["age", "chol", "thal", "disease"]].to_csv(path / "heart.csv", index=False)
    (path / "costs.csv").write_text(COSTS)
    (path / "outcomes.csv").write_text("actual,predicted,cost\nyes,no,900\nno,yes,300\n*,refer,250\n")
    return path


def frontier(folder, *words):
    given = (folder / "heart.csv", "--target", "disease", "--costs", folder / "costs.csv")
    return run("frontier", *given, "--learners", "greedymiser", "--max-fits", 4, *words)


def test_the_model_of_least_total_cost_is_chosen_and_saved(folder):
    labels = sorted(set(table(180)["disease"]))
    lines = [f"{labels[1]},{labels[0]},900", f"{labels[0]},{labels[1]},300", "*,refer,250"]
    (folder / "outcomes.csv").write_text("\n".join(["actual,predicted,cost", *lines]))
    options = ("--outcome-costs", folder / "outcomes.csv")
    done = frontier(folder, *options, "--save", folder / "m.miser")
    assert done.exit_code == 0, done.output
    words = " ".join(done.stdout.split())
    assert "least total Tests " in words and "CAD per row (95 % interval" in words
    assert "wanted the best total_cost" in words
    plan = load(folder / "m.miser")
    np.testing.assert_array_equal(plan.decision.costs, [[0, 300, 250], [900, 0, 250]])
    record = json.loads(frontier(folder, *options, "--json").stdout)
    assert record["metric"] == "total_cost"
    total = record["total"]
    assert total["tests"] + total["mistakes"] == pytest.approx(total["total"])
    assert total["words"] in words


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("actual,predicted,cost\nsick,well,3\n", "none of the classes"),
        ("actual,predicted,cost\nsick,well,amout\n", "neither a number nor a column"),
        ("actual,cost\n", "columns must be"),
    ],
)
def test_bad_files_are_refused_with_their_name(folder, text, problem):
    (folder / "bad.csv").write_text(text)
    error = complaint(frontier(folder, "--outcome-costs", folder / "bad.csv"))
    assert problem in error and "bad.csv" in error


def test_total_cost_needs_the_file(folder):
    done = frontier(folder, "--metric", "total_cost")
    assert "--metric total_cost needs --outcome-costs" in complaint(done, code=2)


# -- fit -----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def payments(tmp_path_factory):
    path = tmp_path_factory.mktemp("payments")
    frame = table(300)[["age", "chol", "thal", "disease"]]
    frame["bill"] = np.random.default_rng(1).lognormal(4.0, 1.0, len(frame)).round(2)
    frame.to_csv(path / "heart.csv", index=False)
    (path / "costs.csv").write_text(COSTS + "bill,0,,\n")
    text = "actual,predicted,cost\npresence,absence,2 * bill\nabsence,presence,50\n*,refer,0.1*bill\n"
    (path / "outcomes.csv").write_text(text)
    return path


def fit(folder, *words):
    given = (folder / "heart.csv", "--target", "disease", "--costs", folder / "costs.csv")
    return run("fit", *given, "--out", folder / "m.miser", "--rounds", 12, "--depth", 2, *words)


def test_fit_saves_a_plan_that_decides_by_the_amount_of_each_row(payments):
    options = ("--outcome-costs", payments / "outcomes.csv")
    done = fit(payments, *options)
    assert done.exit_code == 0, done.output
    words = " ".join(done.stdout.split())
    assert "total Tests " in words and "CAD per row (95 % interval" in words
    plan = load(payments / "m.miser")
    assert [plan.costs.name(f) for f in plan.amount_columns] == ["bill"]
    assert plan.decision.actions == ("refer",)
    np.testing.assert_array_equal(plan.decision.amounts.factors, [[1.0, 1.0, 0.1], [2.0, 1.0, 0.1]])
    record = json.loads(fit(payments, *options, "--json").stdout)
    assert record["metric"] == "total_cost"
    assert record["total"]["words"] in words
    assert record["total"]["total"] == pytest.approx(record["validation_value"])
    assert record["total"]["tests"] == pytest.approx(record["validation_mean_cost"])


def test_predictions_of_a_saved_plan_are_by_the_amounts_of_the_file(payments):
    assert fit(payments, "--outcome-costs", payments / "outcomes.csv").exit_code == 0
    out = payments / "answers.csv"
    done = run("predict", payments / "m.miser", payments / "heart.csv", "--out", out, "--proba")
    assert done.exit_code == 0, done.output
    answers, rows = pd.read_csv(out), pd.read_csv(payments / "heart.csv")
    ill, bill = answers["probability_presence"], rows["bill"]
    expected = np.column_stack([2 * bill * ill, 50 * (1 - ill), 0.1 * bill])
    by_hand = np.array(["absence", "presence", "refer"])[expected.argmin(axis=1)]
    assert (answers["prediction"] == by_hand).mean() > 0.99  # probabilities are rounded in the file
    assert len(set(by_hand)) == 3


def test_a_fit_without_a_validation_set_and_with_a_wrong_file(payments):
    done = fit(payments, "--outcome-costs", payments / "outcomes.csv", "--validation", 0, "--json")
    assert json.loads(done.stdout)["total"] is None
    (payments / "bad.csv").write_text("actual,predicted,cost\npresence,absence,bil\nabsence,presence,5\n")
    error = complaint(fit(payments, "--outcome-costs", payments / "bad.csv"))
    assert "'bil' is neither a number nor a column of features; did you mean 'bill'?" in error
    (payments / "bad.csv").write_text("actual,predicted,cost\npresence,absence,thal\nabsence,presence,5\n")
    done = fit(payments, "--outcome-costs", payments / "bad.csv")
    assert "holds categories, not amounts" in complaint(done)


def test_a_fit_of_numbers_has_no_outcome_costs(folder):
    given = (folder / "heart.csv", "--target", "age", "--ignore", "disease", "--task", "numbers")
    given = (
        *given,
        "--costs",
        folder / "costs.csv",
        "--out",
        folder / "x.miser",
        "--outcome-costs",
        folder / "outcomes.csv",
    )
    done = run("fit", *given)
    assert "are for classes, and the target is taken as numbers" in complaint(done, code=2)


def test_an_interview_in_the_terminal_asks_for_the_amount_first(payments):
    assert fit(payments, "--outcome-costs", payments / "outcomes.csv").exit_code == 0
    done = run("ask", payments / "m.miser", "--json", lines=["100", "60", "250", "normal"])
    record = json.loads(done.stdout[done.stdout.index("{") :])
    assert record["acquired"][0] == "bill"
