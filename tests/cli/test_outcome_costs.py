"""`miserly frontier --outcome-costs`: totals in words and JSON, a saved model that decides, and bad files."""

from __future__ import annotations

import json

import numpy as np
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
