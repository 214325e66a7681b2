"""`miserly frontier`, as a person and as a program use it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from miserly import load
from miserly.cli import options
from miserly.data.rows import validation_mask
from miserly.datasets import load_heart
from miserly.selection.frontier import frontier as frontier_of_python

from .running import COSTS, complaint, run, table

QUICK = ("--learners", "greedymiser", "--max-fits", 4)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A table with words, one without, a ranking, and prices."""
    path = tmp_path_factory.mktemp("frontier")
    frame = table(180)
    frame[["age", "chol", "thal", "disease"]].to_csv(path / "heart.csv", index=False)
    frame[["age", "chol", "grade", "patient"]].to_csv(path / "rank.csv", index=False)
    frame[["age", "chol", "risk"]].to_parquet(path / "risk.parquet")
    (path / "costs.csv").write_text(COSTS)
    return path


def frontier(folder, *words):
    given = (folder / "heart.csv", "--target", "disease", "--costs", folder / "costs.csv")
    return run("frontier", *given, *QUICK, *words)


# -- what it does --------------------------------------------------------------------------------------------


def test_a_table_a_guarantee_a_report_and_a_model(folder):
    files = ("--out", folder / "report.html", "--save", folder / "m.miser")
    done = frontier(folder, "--mean-budget", 30, "--confidence", 0.9, *files)
    assert done.exit_code == 0, done.output
    assert "all 3 features cost 98 CAD a row" in done.stdout and "→ 30" in done.stdout
    assert "a row costs 30 CAD or less on average, with confidence 0.9" in " ".join(done.stdout.split())
    assert "4 of 4 fits" in done.stderr
    assert "disease from heart.csv" in (folder / "report.html").read_text()
    plan = load(folder / "m.miser")
    assert plan.run(table(180)).cost.mean() <= 30
    assert plan.info["target"] == "disease" and plan.guarantees
    evaluated = json.loads(run("predict", folder / "m.miser", folder / "heart.csv", "--json").stdout)
    assert evaluated["accuracy"] > 0.8


def test_a_record_for_machines_is_all_there_is_on_standard_output(folder):
    """In a process of its own, which may not print anything else."""
    command = [sys.executable, "-m", "miserly", "frontier", "heart.csv", "--target", "disease", "--costs",
               "costs.csv", "--learners", "GreedyMiser", "--max-fits", "4", "--budget", "8",
               "--json"]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder, timeout=120)
    assert done.returncode == 0, done.stderr
    record = json.loads(done.stdout)
    assert record["metric"] == "accuracy" and record["unit"] == "CAD" and record["rows"] == 180
    assert record["chosen"]["plan_mean_cost"] <= record["chosen"]["plan_max_cost"] <= 8
    assert record["chosen"]["guarantees"][0]["text"] == "no row costs more than 8 CAD"
    assert record["chosen"]["guarantees"][0]["seen"] is None  # not a number, which JSON does not have
    budgets = [line["budget"] for line in record["budgets"]]
    assert budgets == sorted(budgets) and 8 in budgets
    assert all(line["mean_cost"] <= line["budget"] for line in record["budgets"])
    assert "of 4 fits" in done.stderr and "labels taken as classes: they are text" in done.stderr


def test_budget_is_a_cap_and_mean_budget_the_average(folder):
    """A cap holds for the plan, whatever the row; an average for all rows together."""
    means = json.loads(frontier(folder, "--mean-budget", 60, "--json").stdout)
    caps = json.loads(frontier(folder, "--budget", 60, "--json").stdout)
    assert means["chosen"]["plan_mean_cost"] <= 60 and caps["chosen"]["plan_max_cost"] <= 60
    assert means["wanted"] == {"budget": None, "mean_budget": 60.0, "confidence": None, "max_loss": None}
    assert 60 in [line["mean_budget"] for line in means["budgets"]]
    assert 60 in [line["budget"] for line in caps["budgets"]]
    both = json.loads(frontier(folder, "--budget", 97, "--mean-budget", 60, "--json").stdout)["chosen"]
    assert both["plan_mean_cost"] <= 60 and both["plan_max_cost"] <= 97
    assert run("frontier", folder / "heart.csv", "--target", "disease", "--hard").exit_code == 2


def test_the_cheapest_that_loses_little(folder):
    done = frontier(folder, "--max-loss", 0.9, "--json")
    record = json.loads(done.stdout)
    assert record["chosen"]["mean_cost"] == 0.0 and record["saved"] is None and record["report"] is None


# -- one search for the command line and Python --------------------------------------------------------------


@pytest.fixture
def searches(monkeypatch):
    """Every frontier that a command makes, of two learners that are quick to fit."""
    from miserly import CostLassoClassifier, GreedyMiserClassifier
    from miserly.selection import candidates as _candidates

    module, made = sys.modules["miserly.selection.frontier"], []
    quick = [CostLassoClassifier(), GreedyMiserClassifier(n_rounds=20, max_depth=2)]

    def watched(*args, **given):
        made.append(frontier_of_python(*args, **given))
        return made[-1]

    monkeypatch.setattr(module, "frontier", watched)
    monkeypatch.setattr(_candidates, "pool_for", lambda task, y: quick)
    return made


@pytest.fixture(scope="module")
def heart(tmp_path_factory):
    """The bundled table as files for commands, and as a frame, labels and prices for Python."""
    path = tmp_path_factory.mktemp("heart")
    run("datasets", "heart", "--out", path / "heart.csv", "--costs-out", path / "costs.csv")
    data = load_heart()
    given = (path / "heart.csv", "--target", "target", "--costs", path / "costs.csv")
    return given, data.frame(), np.array(data.classes)[data.y], data.costs


def figures(found):
    """All candidates with their figures, what was left out, and what failed."""
    models = [
        (one.learner, dict(one.params), one.mean_value, one.error, one.mean_cost) for one in found.candidates
    ]
    return models, found.left_out, found.failures, found.mean_budgets


def has_handovers(found):
    return any("handover" in one.params for one in found.candidates)


@pytest.mark.parametrize("handovers", [(), ("--no-handovers",)])
def test_the_same_search_from_the_command_line_and_from_python(heart, searches, handovers):
    given, X, y, costs = heart
    done = run("frontier", *given, "--max-fits", 8, *handovers)
    assert done.exit_code == 0, done.output
    more = {"handovers": False} if handovers else {}
    again = frontier_of_python("auto", X, y, costs=costs, max_fits=8, random_state=0, **more)
    assert figures(searches[0]) == figures(again)
    assert has_handovers(again) == (not handovers)


def test_bench_searches_as_python_does(heart, searches):
    pytest.importorskip("lightgbm")
    given, X, y, costs = heart
    done = run("bench", *given, "--max-fits", 8, "--json")
    assert done.exit_code == 0, done.output
    learned = ~validation_mask(len(y), 0.25, 0, y, None)
    budgets = [line["budget"] for line in json.loads(done.stdout)["budgets"]]
    again = frontier_of_python("auto", X[learned], y[learned], costs=costs, mean_budgets=budgets, certify=0,
                               max_fits=8, random_state=0)  # fmt: skip
    assert figures(searches[0]) == figures(again) and has_handovers(again)


def test_learners_that_need_numbers_are_left_out_of_a_table_with_text(folder, searches):
    done = run("frontier", folder / "heart.csv", "--target", "disease", "--max-fits", 4)
    assert "left out: CostLasso: needs numbers, and column 'thal' holds text" in done.stderr
    frame = table(180)
    again = frontier_of_python("auto", frame[["age", "chol", "thal"]], frame["disease"], max_fits=4,
                               random_state=0)  # fmt: skip
    assert figures(searches[0]) == figures(again) and list(again.left_out) == ["CostLassoClassifier"]
    frame["thal"] = frame["thal"] == "fixed"  # linear learners take booleans
    frame[["age", "chol", "thal", "disease"]].to_csv(folder / "booleans.csv", index=False)
    run("frontier", folder / "booleans.csv", "--target", "disease", "--max-fits", 4)
    assert not searches[1].left_out and "CostLassoClassifier" in searches[1].learners


def test_numbers_and_rankings(folder):
    done = run("frontier", folder / "risk.parquet", "--target", "risk", *QUICK, "--json")
    assert json.loads(done.stdout)["metric"] == "mse"
    done = run("frontier", folder / "rank.csv", "--target", "grade", "--query", "patient", *QUICK, "--json")
    record = json.loads(done.stdout)
    assert record["task"] == "ranking" and record["metric"] == "ndcg@5"
    done = run("frontier", folder / "rank.csv", "--target", "grade", "--ignore", "patient", *QUICK,
               "--metric", "mae", "--json")  # fmt: skip
    assert json.loads(done.stdout)["task"] == "numbers"  # few whole numbers, but the metric is one of numbers


# -- mistakes ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--confidence", 0.95), "--confidence needs something to guarantee"),
        (("--confidence", 95, "--budget", 3), "--confidence is between 0 and 1"),
        (("--save", "m.miser"), "--save needs --budget, --mean-budget, --max-loss or --outcome-costs"),
        (("--out", "report.pdf"), "must end in .html or .htm"),
        (("--metric", "mse", "--task", "classes"), "--metric mse: for --task classes there are accuracy"),
        (("--metric", "ndcg@5"), "for --task classes there are accuracy"),
        (("--learners", "greedymisr"), "no 'greedymisr' for this target; did you mean 'GreedyMiser'?"),
    ],
)
def test_options_that_do_not_go_together_are_wrong_usage(folder, options, message):
    assert message in complaint(frontier(folder, *options), code=2)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--out", "nowhere/report.html"), "there is no folder nowhere"),
        (("--metric", "acuracy"), "did you mean 'accuracy'?"),
        (("--target", "diseas"), "no column 'diseas'; did you mean 'disease'?"),
    ],
)
def test_mistakes_are_reported_before_anything_is_searched(folder, options, message):
    assert message in complaint(frontier(folder, *options))


def test_what_cannot_be_guaranteed_is_reported_after_the_table(folder):
    """36 kept rows cannot show much; the table, the report and the record are there all the same."""
    wanted = ("--max-loss", 0.05, "--mean-budget", 60, "--confidence", 0.99999)
    done = frontier(folder, *wanted, "--out", folder / "no.html", "--save", folder / "no.miser", "--json")
    assert done.exit_code == 1 and "error: 36 kept rows cannot show" in done.stderr
    record = json.loads(done.stdout)
    assert record["chosen"] is None and "cannot show" in record["refused"] and record["saved"] is None
    assert (folder / "no.html").exists() and not (folder / "no.miser").exists()


def test_a_guarantee_needs_rows(folder, tmp_path):
    table(48)[["age", "chol", "disease"]].to_csv(tmp_path / "few.csv", index=False)
    given = (tmp_path / "few.csv", "--target", "disease", "--mean-budget", 1, "--confidence", 0.9)
    assert "--confidence needs 50 rows or more, and there are 48" in complaint(run("frontier", *given))


@pytest.mark.parametrize("command", ["frontier", "bench"])
def test_tables_with_too_little_in_them_are_refused(tmp_path, command):
    def complaint_about(text, *more):
        (tmp_path / "a.csv").write_text("a,y\n" + text)
        return complaint(run(command, tmp_path / "a.csv", "--target", "y", *more))

    (tmp_path / "free.csv").write_text("feature,cost\na,0\n")
    assert "needs 10 rows or more, and there are 3" in complaint_about("1,0\n2,1\n3,0\n")
    assert "'y' holds only one class, 0" in complaint_about("1,0\n" * 20)
    assert "every feature is free" in complaint_about("1,0\n2,1\n" * 20, "--costs", tmp_path / "free.csv")


# -- interrupts ----------------------------------------------------------------------------------------------


def test_an_interrupted_search_exits_with_130_and_goes_on_where_it_ended(folder, tmp_path):
    words = ["frontier", str(folder / "heart.csv"), "--target", "disease", "--learners", "greedymiser",
             "--cache", str(tmp_path / "kept"), "--json", "--max-fits"]  # fmt: skip
    command = [sys.executable, "-m", "miserly", *words, "100000"]
    search = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    end = time.monotonic() + 100
    while len(list((tmp_path / "kept").rglob("*.*"))) < 12 and time.monotonic() < end:
        time.sleep(0.05)
    search.send_signal(signal.SIGINT)
    printed, errors = search.communicate(timeout=100)
    assert search.returncode == 130, errors
    assert printed == b"" and b"error: interrupted; " in errors and b"kept in" in errors
    kept = {path: path.stat().st_mtime_ns for path in (tmp_path / "kept").rglob("*.*")}
    record = json.loads(run(*words, 6).stdout)
    assert record["models"] > 6
    assert (
        kept.items() <= {path: path.stat().st_mtime_ns for path in (tmp_path / "kept").rglob("*.*")}.items()
    )


# -- completion ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("shell", "line"),
    [("bash", "complete -o default -F"), ("zsh", "#compdef miserly"), ("fish", "complete --command miserly")],
)
def test_every_shell_gets_its_completion(shell, line):
    environment = {**os.environ, "_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"}
    command = ["-c", "from miserly.cli import app; app(prog_name='miserly')", "--show-completion", shell]
    done = subprocess.run(
        [sys.executable, *command], capture_output=True, text=True, env=environment, timeout=60
    )
    assert done.returncode == 0 and line in done.stdout


def test_commands_and_learners_are_completed():
    def completed(*words):
        environment = {
            **os.environ,
            "_MISERLY_COMPLETE": "complete_bash",
            "COMP_WORDS": "\n".join(["miserly", *words]),
            "COMP_CWORD": str(len(words)),
        }
        command = [sys.executable, "-c", "from miserly.cli import app; app(prog_name='miserly')"]
        done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=60)
        return done.stdout.split()

    assert completed("fro") == ["frontier"]
    assert completed("frontier", "a.csv", "--learners", "AFR,AS") == ["AFR,ASTC"]
    assert completed("frontier", "a.csv", "--task", "nu") == ["numbers"]


def test_learners_to_complete_are_those_there_are():
    from miserly.selection.candidates import pool_for
    from miserly.selection.tables import short_name

    every = [one for task in ("classes", "numbers", "ranking") for one in pool_for(task, np.array([0, 1]))]
    assert {short_name(type(one).__name__) for one in every} == set(options.NAMES)
