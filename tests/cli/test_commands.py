"""The command line, as a person at a terminal and a program in a pipe use it."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from miserly import EarlyExit, GreedyMiserRanker, __version__, load
from miserly.runtime import Monitor

from .running import COSTS, QUICK, complaint, complaints, run, table


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Tables, costs, and three plans: one that may spend, one that may not, and one for numbers."""
    path = tmp_path_factory.mktemp("cli")
    table()[["age", "chol", "thal", "disease"]].to_csv(path / "heart.csv", index=False)
    table().drop(columns="disease").to_csv(path / "risk.csv", index=False)
    (path / "costs.csv").write_text(COSTS)
    priced = (path / "heart.csv", "--target", "disease", "--costs", path / "costs.csv")
    for given, name in [
        (priced, "heart.miser"),
        ((*priced, "--budget", 8), "cheap.miser"),
        ((path / "risk.csv", "--target", "risk", "--ignore", "patient", "--ignore", "grade"), "risk.miser"),
    ]:
        done = run("fit", *given, *QUICK, "--out", path / name)
        assert done.exit_code == 0, done.output
    return path


# -- fit -----------------------------------------------------------------------------------------------------


def test_fit_says_what_it_learned_and_saves_a_plan_that_runs(folder):
    done = run("fit", folder / "heart.csv", "--target", "disease", "--costs", folder / "costs.csv", *QUICK,
               "--budget", 8, "--out", folder / "eight.miser")  # fmt: skip
    assert "2 classes: absence, presence" in done.stdout
    assert "at most 8 CAD of 98 CAD for all" in done.stdout
    plan = load(folder / "eight.miser")
    assert plan.max_cost <= 8
    assert plan.predict(table()).tolist()[:2] != []
    assert plan.info["target"] == "disease"


def test_fit_for_machines(folder):
    done = run("fit", folder / "heart.csv", "--target", "disease", "--costs", folder / "costs.csv", *QUICK,
               "--tradeoff", 0.002, "--out", folder / "cheap.miser", "--json")  # fmt: skip
    record = json.loads(done.stdout)
    assert record["task"] == "classes" and record["rows"] == 120 and record["validation_rows"] == 24
    assert record["buys"] == ["chol"] or "thal" not in record["buys"]
    assert record["metric"] == "accuracy" and record["validation_value"] > 0.7
    plan = load(folder / "cheap.miser")
    whole = plan.info["budgets"][-1]  # the budget for everything, on the same validation set
    assert (
        record["validation_value"] == whole["value"] and record["validation_mean_cost"] == whole["mean_cost"]
    )
    monitor = Monitor(plan)  # the validation set is its reference
    assert monitor.reference.n == 24 and sum(monitor.reference.shares) == 24


def test_without_costs_every_column_costs_one(folder):
    done = run(
        "fit", folder / "heart.csv", "--target", "disease", *QUICK, "--out", folder / "a.miser", "--json"
    )
    assert json.loads(done.stdout)["max_cost"] == 3.0


def test_numbers_are_regressed_and_columns_can_be_left_out(folder):
    done = run("fit", folder / "risk.csv", "--target", "risk", "--ignore", "patient", "--ignore", "grade",
               *QUICK, "--validation", 0, "--out", folder / "all.miser", "--json")  # fmt: skip
    record = json.loads(done.stdout)
    assert record["task"] == "numbers" and record["validation_value"] is None
    evaluated = run("predict", folder / "all.miser", folder / "risk.csv", "--json")
    assert json.loads(evaluated.stdout)["mse"] < np.var(table()["risk"])


def test_rankings_are_learned_by_query(folder):
    table()[["age", "chol", "grade", "patient"]].to_csv(folder / "rank.csv", index=False)
    done = run("fit", folder / "rank.csv", "--target", "grade", "--query", "patient", *QUICK,
               "--out", folder / "rank.miser", "--json")  # fmt: skip
    assert json.loads(done.stdout)["task"] == "ranking"
    evaluated = run("predict", folder / "rank.miser", folder / "rank.csv", "--query", "patient", "--json")
    assert json.loads(evaluated.stdout)["ndcg@5"] > 0.8


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--target", "diseas"), "heart.csv: no column 'diseas'; did you mean 'disease'?"),
        (
            ("--target", "disease", "--task", "numbers"),
            "line 2, column 'disease': 'presence' is not a number",
        ),
        (("--target", "disease", "--ignore", "agee"), "no column 'agee'; did you mean 'age'?"),
        (("--target", "disease", "--categories", "agee"), "no column 'agee'; did you mean 'age'?"),
        (("--target", "chol", "--task", "numbers"), "line 5, column 'chol': the target is missing"),
        (("--target", "disease", "--costs", "nowhere.csv"), "nowhere.csv: no such file"),
    ],
)
def test_fit_names_what_is_wrong(folder, options, message):
    assert message in complaint(run("fit", folder / "heart.csv", *options, "--out", folder / "never.miser"))
    assert not (folder / "never.miser").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--task", "ranking"), "ranking needs --query"),
        (("--task", "classes", "--query", "age"), "--query is for ranking"),
        (("--tradeoff", "inf"), "--tradeoff must be a number"),
    ],
)
def test_options_that_do_not_go_together_are_wrong_usage(folder, options, message):
    done = run("fit", folder / "heart.csv", "--target", "disease", *options, "--out", folder / "never.miser")
    assert message in complaint(done, code=2)


def test_a_model_that_cannot_be_saved_is_not_learned(folder):
    done = run("fit", folder / "heart.csv", "--target", "disease", "--out", folder / "no" / "x.miser")
    assert "there is no folder" in complaint(done)


@pytest.mark.parametrize(
    ("costs", "message"),
    [
        ("feature,cost\nage,1\nchol,5\n", "costs.csv: no cost for column 'thal'"),
        (
            "feature,cost\nage,1\nchol,cheap\n",
            "costs.csv: line 3: the cost of feature 'chol' must be a number",
        ),
        (
            "feature,cost\nage,one\nchol,5\nage,2\nchol,6\n",
            "line 2: the cost of feature 'age' must be a number, not 'one'; line 5: feature 'chol' "
            "appears twice",
        ),
    ],
)
def test_costs_that_do_not_fit_the_table_are_named(folder, tmp_path, costs, message):
    (tmp_path / "costs.csv").write_text(costs)
    done = run("fit", folder / "heart.csv", "--target", "disease", "--costs", tmp_path / "costs.csv",
               "--out", tmp_path / "x.miser")  # fmt: skip
    assert message in complaint(done)


def test_a_list_of_costs_may_be_longer_than_the_table(folder, tmp_path):
    (tmp_path / "costs.csv").write_text(
        "feature,cost,group,setup\nage,1,,\nchol,5,blood,2\nthal,9,,\nthall,9,blood,2\nmri,400,,\n"
    )
    done = run("fit", folder / "heart.csv", "--target", "disease", "--costs", tmp_path / "costs.csv", *QUICK,
               "--out", tmp_path / "x.miser")  # fmt: skip
    assert done.exit_code == 0, done.output
    assert "note:" in done.stderr and "'thall'; did you mean 'thal'?, 'mri'" in done.stderr
    assert load(tmp_path / "x.miser").costs.to_dict()["features"] == {"age": 1.0, "chol": 5.0, "thal": 9.0}


@pytest.mark.parametrize("command", ["fit", "frontier"])
def test_default_cost_prices_the_columns_that_the_costs_leave_out(folder, tmp_path, command):
    (tmp_path / "costs.csv").write_text("# unit: CAD\nfeature,cost\nchol,5\n")
    options = {"fit": ("--out", tmp_path / "x.miser", *QUICK)}.get(
        command, ("--learners", "BudgetedTree", "--max-fits", 2)
    )
    words = (
        command,
        folder / "heart.csv",
        "--target",
        "disease",
        "--costs",
        tmp_path / "costs.csv",
        *options,
    )
    assert "no cost for column 'age'; --default-cost gives one" in complaints(run(*words))[0]
    done = run(*words, "--default-cost", 2, "--json")
    assert done.exit_code == 0, done.output
    if command == "fit":
        priced = load(tmp_path / "x.miser").costs
        assert priced.to_dict()["features"] == {"age": 2.0, "chol": 5.0, "thal": 2.0} and priced.unit == "CAD"


def test_default_cost_without_a_list_is_the_cost_of_every_column(folder, tmp_path):
    done = run("fit", folder / "heart.csv", "--target", "disease", "--default-cost", 3, *QUICK,
               "--out", tmp_path / "x.miser")  # fmt: skip
    assert done.exit_code == 0, done.output
    assert load(tmp_path / "x.miser").costs.feature.tolist() == [3.0, 3.0, 3.0]


def test_too_many_words_are_no_categories(tmp_path):
    pd.DataFrame({"id": [f"n{i}" for i in range(300)], "y": [0, 1] * 150}).to_csv(
        tmp_path / "a.csv", index=False
    )
    done = run("fit", tmp_path / "a.csv", "--target", "y", "--out", tmp_path / "x.miser")
    assert "column 'id' has 300 categories" in complaint(done)


def test_debug_shows_where(folder):
    done = run("fit", folder / "heart.csv", "--target", "no", "--out", "x.miser", "--debug")
    assert type(done.exception).__name__ == "DataError"


# -- predict -------------------------------------------------------------------------------------------------


def test_predict_writes_answer_cost_and_features_of_every_row(folder):
    done = run(
        "predict", folder / "heart.miser", folder / "heart.csv", "--proba", "--out", folder / "out.csv"
    )
    assert "accuracy" in done.stdout and "written to" in done.stdout
    written = pd.read_csv(folder / "out.csv")
    plan = load(folder / "heart.miser")
    expected = plan.run(table())
    assert written.columns.tolist() == [
        "prediction", "probability_absence", "probability_presence", "cost", "features"
    ]  # fmt: skip
    assert written["prediction"].tolist() == plan.predict(table()).tolist()
    np.testing.assert_allclose(written["cost"], expected.cost)
    np.testing.assert_array_equal(written["features"], expected.acquired.sum(axis=1))


def test_predict_writes_parquet_too(folder):
    done = run(
        "predict", folder / "heart.miser", folder / "heart.csv", "--out", folder / "out.parquet", "--json"
    )
    written = pd.read_parquet(folder / "out.parquet")
    assert written.to_dict("records") == json.loads(done.stdout)["predictions"]
    done = run("predict", folder / "heart.miser", folder / "heart.csv", "--out", folder / "out.txt")
    assert "must end in .csv or .parquet" in complaint(done, code=2)


def test_predict_into_a_pipe_is_csv_and_nothing_else(folder):
    done = run("predict", folder / "heart.miser", folder / "heart.csv", "--budget", 8)
    lines = done.stdout.splitlines()
    assert lines[0] == "prediction,cost,features" and len(lines) == 121
    assert max(float(line.split(",")[1]) for line in lines[1:]) <= 8
    assert "120 rows" in done.stderr


def test_predict_needs_only_the_columns_of_the_plan(folder):
    plan = load(folder / "cheap.miser")
    names = [plan.costs.name(f) for f in plan.features]
    table()[names].to_csv(folder / "few.csv", index=False)
    assert run("predict", folder / "cheap.miser", folder / "few.csv").exit_code == 0
    table()[["thal"]].to_csv(folder / "none.csv", index=False)
    done = run("predict", folder / "cheap.miser", folder / "none.csv")
    for reported, name in zip(complaints(done), names, strict=True):
        assert f"none.csv: no column {name!r}, which the plan needs" in reported


def test_words_that_look_like_numbers_stay_words(tmp_path):
    """Category '07' in the model's file, and a file to predict where every value happens to be digits."""
    codes = np.array(["07", "9", "other"] * 40)
    frame = pd.DataFrame({"code": codes, "y": (codes == "07").astype(int)})
    frame.to_csv(tmp_path / "a.csv", index=False)
    assert (
        run("fit", tmp_path / "a.csv", "--target", "y", *QUICK, "--out", tmp_path / "a.miser").exit_code == 0
    )
    (tmp_path / "b.csv").write_text("code\n07\n9\n")
    done = run("predict", tmp_path / "a.miser", tmp_path / "b.csv", "--json")
    assert [row["prediction"] for row in json.loads(done.stdout)["predictions"]] == [1, 0]


def test_unknown_words_are_warned_about(folder, tmp_path):
    (tmp_path / "new.csv").write_text("age,chol,thal\n50,200,normal\n60,210,strange\n")
    done = run("predict", folder / "heart.miser", tmp_path / "new.csv")
    assert done.exit_code == 0
    reported = (
        "new.csv, line 3, column 'thal': unknown to the plan; 1 rows have such categories there (strange)"
    )
    assert reported in done.stderr
    assert "'strange' is unknown to the plan" in complaint(
        run("predict", folder / "heart.miser", tmp_path / "new.csv", "--unknown", "error")
    )


def test_documents_that_leave_early_need_their_query(tmp_path):
    """Proximity exits compare documents: with --query the answers are those of the learner itself."""
    frame = table(240)
    X, qid = frame[["age", "chol"]], np.repeat(np.arange(40), 6)
    model = EarlyExit(GreedyMiserRanker(n_rounds=30), rule="proximity", threshold=0.1, k=2)
    model.fit(X, frame["grade"], qid=qid).plan_.save(tmp_path / "m.miser")
    X.assign(patient=[f"q{q}" for q in qid]).to_csv(tmp_path / "a.csv", index=False)
    assert "--query" in complaint(run("predict", tmp_path / "m.miser", tmp_path / "a.csv"))
    done = run("predict", tmp_path / "m.miser", tmp_path / "a.csv", "--query", "patient", "--json")
    reported = [row["prediction"] for row in json.loads(done.stdout)["predictions"]]
    np.testing.assert_allclose(reported, model.predict(X, qid=qid))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "age,chol,thal\n50,200,normal\n51,many,normal\n",
            "line 3, column 'chol': 'many' is not a number",
        ),
        ("age,chol,thal\n50,200\n", "line 2: 2 values for 3 columns"),
        ("age,chol,age\n1,2,3\n", "line 1: two columns are named 'age'"),
        ("age,,thal\n1,2,3\n", "line 1: column 2 has no name"),
        ("age,chol,thal\n", "no rows"),
        ("", "the first line must name the columns"),
        ('age,chol,thal\n50,"200,normal\n', "not a sound CSV file"),
        ("age,chol,thal\n50,200,caf\xe9\n".encode("latin-1"), "line 2: not a text file in UTF-8"),
    ],
)
def test_tables_that_are_not_sound_are_named_with_their_line(folder, tmp_path, text, message):
    path = tmp_path / "bad.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    reported = complaint(run("predict", folder / "heart.miser", path))
    assert "bad.csv" in reported and message in reported


def test_models_that_are_not_sound_are_named(folder, tmp_path):
    (tmp_path / "broken.miser").write_bytes((folder / "heart.miser").read_bytes()[:-7])
    for command in (
        ("predict", tmp_path / "broken.miser", folder / "heart.csv"),
        ("show", tmp_path / "broken.miser"),
    ):
        assert "broken.miser" in complaint(run(*command))
    assert "nowhere.miser: no such file" in complaint(run("show", tmp_path / "nowhere.miser"))
    assert "heart.csv" in complaint(run("show", folder / "heart.csv"))


def test_probabilities_of_numbers_are_refused(folder):
    done = run("predict", folder / "risk.miser", folder / "risk.csv", "--proba")
    assert "--proba" in complaint(done)


# -- show, datasets, help ------------------------------------------------------------------------------------


def test_show_says_what_a_plan_does_and_draws_it(folder):
    done = run("show", folder / "cheap.miser", "--draw", folder / "plan.svg")
    assert "What it may buy, in this order:" in done.stdout and "cost (CAD)" in done.stdout
    assert "Never bought: thal." in done.stdout
    assert (folder / "plan.svg").read_text().startswith("<svg")
    assert "Never bought" not in run("show", folder / "cheap.miser", "--all").stdout
    assert "svg or .html" in complaint(
        run("show", folder / "cheap.miser", "--draw", folder / "plan.png"), code=2
    )


def test_show_for_machines(folder):
    record = json.loads(run("show", folder / "heart.miser", "--json").stdout)
    assert record["costs"]["unit"] == "CAD"
    assert record["classes"] == ["absence", "presence"]
    assert record["categories"] == {"thal": ["fixed", "normal", "reversible"]}


def test_version_and_help():
    assert run("--version").stdout == f"miserly {__version__}\n"
    for command in ("demo", "frontier", "fit", "predict", "show", "compress", "bench", "datasets"):
        assert command in run("--help").stdout
        assert run(command, "--help").exit_code == 0


@pytest.mark.parametrize("options", [("--no-such-option",), ("--budget", "-1"), ("--budget", "nan")])
def test_a_wrong_option_is_a_usage_error(folder, options):
    words = ("fit", folder / "heart.csv", "--target", "disease", "--out", folder / "never.miser")
    assert run(*words, *options).exit_code == 2


# -- as programs ---------------------------------------------------------------------------------------------


def test_prediction_starts_without_the_training_stack(folder):
    """`python -m miserly predict` in a process of its own, which must not load scikit-learn or numba."""
    code = (
        "import sys, runpy; sys.argv[1:] = sys.argv[1:]\n"
        "try: runpy.run_module('miserly', run_name='__main__')\n"
        "except SystemExit as end: assert not end.code, end.code\n"
        "assert not {'sklearn', 'numba', 'matplotlib'} & set(sys.modules)"
    )
    command = [sys.executable, "-c", code, "predict", str(folder / "heart.miser"), str(folder / "heart.csv")]
    environment = {**os.environ, "PYTHONWARNINGS": "error"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("prediction,cost,features\n")


def test_a_reader_who_has_seen_enough_is_no_error(folder):
    """`miserly predict ... | head -1` on more rows than a pipe holds."""
    rows = (folder / "heart.csv").read_text().splitlines()
    (folder / "long.csv").write_text("\n".join([rows[0], *rows[1:] * 100]) + "\n")
    words = f"-m miserly predict {folder / 'heart.miser'} {folder / 'long.csv'} | head -1"
    done = subprocess.run(
        f"{sys.executable} {words}", shell=True, capture_output=True, text=True, timeout=120
    )
    assert done.stdout == "prediction,cost,features\n"
    assert "rror" not in done.stderr
