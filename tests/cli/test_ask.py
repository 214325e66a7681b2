"""`miserly ask`: questions in a terminal, answers of any kind, and the receipt."""

from __future__ import annotations

import json
import os
import pty
import select
import subprocess
import sys
import time

import pytest

from miserly import Costs, load
from miserly.plan import Node, Plan, Raw
from miserly.runtime import OnDemand

from ..runtime.plans import PATIENT, heart
from .running import COSTS, QUICK, complaint, run, table
from .test_terminal import EVIL


@pytest.fixture
def plan(tmp_path):
    notes = {"age": {"about": "age at the visit", "unit": "years", "low": 29, "high": 77, "whole": True}}
    heart(info={"target": "disease", "features": notes}).save(tmp_path / "heart.miser")
    return tmp_path / "heart.miser"


def receipt_of(done):
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


# -- the conversation ----------------------------------------------------------------------------------------


def test_answers_lead_to_the_receipt_of_the_runtime(plan, tmp_path):
    lines = ("61", "typical", "200", "1")
    done = run("ask", plan, "--receipt", tmp_path / "r.json", lines=lines)
    assert done.exit_code == 0, done.output
    written = json.loads((tmp_path / "r.json").read_text())
    expected = OnDemand(load(plan)).predict(PATIENT).to_dict()
    for key in ("answer", "cost", "acquired", "probabilities", "stopped_by", "plan"):
        assert written[key] == expected[key]
    assert "Answer: ill (100.0 %)" in done.stdout and "Paid: 13 CAD" in done.stdout
    assert receipt_of(run("ask", plan, "--json", lines=lines))["answer"] == "ill"


def test_each_question_shows_price_answer_reason_and_what_follows(plan):
    lines = run("ask", plan, "--budget", 9, lines=["61", "2"]).stdout.splitlines()
    first = [line.rstrip() for line in lines[lines.index("age: 61") - 8 : lines.index("age: 61")]]
    assert first == [
        "",
        "1.      age: age at the visit",
        "value   a whole number from 29 to 77, in years",
        "price   1 CAD; paid so far: 0 CAD of 9 CAD",
        "so far  if stopped now, the answer is well (100.0 %)",
        "then    well (95.3 to 100.0 %), depending on the value",
        "why     step 1 of 4 uses it.",
        "next    pain for certain; perhaps chol, fbs; at most 9 CAD more, this included",
    ]
    assert "value   one of: 1 none, 2 typical" in {line.rstrip() for line in lines}
    assert "Ended: nothing more fits 9." in lines[-1]  # 7 for the blood sample do not


def test_what_cannot_be_used_is_asked_again_with_the_reason(plan):
    lines = ["sixty", "1,5", "inf", "61", "tipical", "3", "TYPICAL", "stop"]
    done = run("ask", plan, lines=lines)
    assert done.exit_code == 0
    for reason in (
        "'sixty' is not a number; Enter if you do not have it, ? for help",
        "'1,5' is not a number",
        "'inf' is not a number that the plan can use",
        "'tipical' is none of its values; did you mean 'typical'?",
        "'3' is none of its values: 1 none, 2 typical",
    ):
        assert reason in done.stdout
    assert "Traceback" not in done.output and "Ended: stopped by the person asked" in done.stdout


def test_a_number_outside_the_training_range_is_noted(plan):
    done = run("ask", plan, lines=["610", "stop"])
    assert "note: the plan was fitted to values from 29 to 77; 'back' corrects it" in done.stdout


@pytest.mark.parametrize("nothing", ["", "-"])
def test_not_having_a_value_is_an_answer_and_costs_nothing(plan, nothing):
    record = receipt_of(run("ask", plan, "--json", lines=["61", nothing, "200", "1"]))
    assert record["cost"] == 11.0 and record["acquired"] == ["age", "chol", "fbs"]
    assert record["trail"][1]["outcome"] == "declined" and record["stopped_by"] == "answered"


def test_a_feature_that_was_bought_in_vain_is_paid(plan):
    """`none` is a category of pain: the slash makes it a command."""
    record = receipt_of(run("ask", plan, "--json", lines=["none", "none", "stop"]))
    assert [(one["outcome"], one["value"], one["cost"]) for one in record["trail"]] == [
        ("null", None, 1.0), ("value", "none", 2.0)]  # fmt: skip
    record = receipt_of(run("ask", plan, "--json", lines=["61", "/none", "stop"]))
    assert record["trail"][1]["outcome"] == "null"


def test_back_and_help_change_nothing_else(plan):
    wanted = receipt_of(run("ask", plan, "--json", lines=["61", "typical", "200", "1"]))
    lines = ["back", "?", "60", "none", "back", "back", "61", "2", "", "back", "200", "help", "1"]
    done = run("ask", plan, "--json", lines=lines)
    assert "this is the first question" in done.stderr and "take back the last answer" in done.stderr
    got = receipt_of(done)
    for record in (wanted, got):
        del record["seconds"]
        for one in record["trail"]:
            del one["seconds"]
    assert got == wanted


@pytest.mark.parametrize("n_lines", range(4))
def test_the_end_of_the_input_is_the_end_with_the_answer_so_far(plan, n_lines):
    record = receipt_of(run("ask", plan, "--json", lines=["61", "typical", "200", "1"][:n_lines]))
    assert len(record["acquired"]) == n_lines and record["cost"] == [0.0, 1.0, 3.0, 10.0][n_lines]
    assert (record["stopped_by"], record["reason"]) == ("caller", "the input ended")


def test_a_plan_without_questions_answers_at_once(tmp_path):
    Plan(costs=Costs({"age": 1.0}), terms=[], nodes=[], base=[0.5]).save(tmp_path / "m.miser")
    done = run("ask", tmp_path / "m.miser", lines=[])
    assert done.exit_code == 0 and "Answer: 0.5" in done.stdout and "Paid: 0" in done.stdout


# -- options -------------------------------------------------------------------------------------------------


def test_known_values_are_free_and_not_asked(plan):
    given = ("--known", "chol=200", "--known", "pain=TYPICAL", "--known", "age=")
    record = receipt_of(run("ask", plan, *given, "--json", lines=["1"]))
    assert record["acquired"] == ["fbs"] and record["cost"] == 3.0  # the blood is drawn already
    assert record["known"] == ["chol", "pain", "age"]


def test_prices_of_this_person(plan, tmp_path):
    lines = ["61", "typical", "200", "1"]
    (tmp_path / "p.csv").write_text("feature,cost,group,setup\nage,0,,\nchol,1,blood,0.5\nbmi,3,,\n")
    done = run("ask", plan, "--prices", tmp_path / "p.csv", "--prices", "pain=7", "--json", lines=lines)
    assert receipt_of(done)["cost"] == 0 + 7 + 1 + 0.5 + 3
    assert "no feature or group of the plan: bmi; ignored" in done.stderr
    done = run("ask", plan, "--prices", "blood=0", "--json", lines=lines)
    assert receipt_of(done)["cost"] == 11.0


@pytest.mark.parametrize(
    ("given", "code", "reason"),
    [
        (("--known", "age"), 2, "--known takes NAME=VALUE, such as age=61; not 'age'"),
        (("--known", "aeg=3"), 1, "--known: the plan has no feature 'aeg'; did you mean 'age'?"),
        (("--known", "pain=bad"), 1, "--known pain: 'bad' is none of its values"),
        (("--known", "age=old"), 1, "--known age: 'old' is not a number"),
        (("--prices", "age=-1"), 1, "negative"),
        (("--prices", "age=much"), 1, "--prices age: 'much' is not a number"),
        (("--prices", "blod=1"), 1, "--prices: the plan has no feature 'blod'"),
        (("--prices", "none.csv"), 1, "none.csv: no such file"),
        (("--receipt", "r.txt"), 2, "r.txt: the name must end in .json"),
    ],
)
def test_options_that_cannot_be_used_are_refused(plan, given, code, reason):
    assert reason in complaint(run("ask", plan, *given, lines=[]), code)


# -- kinds of features ---------------------------------------------------------------------------------------


def test_a_fitted_plan_knows_ranges_and_categories(tmp_path):
    frame = table(180)[["age", "chol", "thal", "disease"]]
    frame.to_csv(tmp_path / "a.csv", index=False)
    (tmp_path / "costs.csv").write_text(COSTS)
    given = ("--target", "disease", "--costs", tmp_path / "costs.csv", *QUICK)
    assert run("fit", tmp_path / "a.csv", *given, "--out", tmp_path / "m.miser").exit_code == 0
    shown = " ".join(run("ask", tmp_path / "m.miser", lines=["2", "200", "50", "1"]).stdout.split())
    assert "one of: 1 fixed, 2 normal, 3 reversible" in shown
    low, high = frame["chol"].min(), frame["chol"].max()
    assert f"a number from {low:g} to {high:g}" in shown


@pytest.mark.parametrize(
    ("categories", "line", "value"),
    [
        ((False, True), "yes", True),
        ((False, True), "0", False),
        ((1, 2, 3), "3", 3),
        (("1", "2", "10"), "2", "2"),
        (("stop", "go"), "stop", "stop"),
        (("a", "b"), "2", "b"),
        (("-", "+"), "-", "-"),
    ],
)
def test_categories_are_taken_as_they_are_before_commands_and_numbers(tmp_path, categories, line, value):
    node = Node([0], [0], [1.0], [0.0])
    Plan(costs=Costs({"x": 1.0}), terms=[Raw(0)], nodes=[node], base=[0.0],
         categories={0: categories}).save(tmp_path / "m.miser")  # fmt: skip
    record = receipt_of(run("ask", tmp_path / "m.miser", "--json", lines=[line]))
    assert record["trail"][0]["value"] == value and record["answer"] == categories.index(value)


def test_names_send_no_escape_sequences(tmp_path):
    notes = {f"x{EVIL}": {"about": EVIL, "unit": EVIL, "low": 0, "high": 1}}
    Plan(costs=Costs({f"x{EVIL}": 1.0}, unit=EVIL), terms=[Raw(0)], nodes=[Node([0], [0], [1.0], [0.0])],
         base=[0.0], info={"features": notes, "target": EVIL}).save(tmp_path / "m.miser")  # fmt: skip
    for lines in (["?", EVIL, "5"], ["stop"]):
        done = run("ask", tmp_path / "m.miser", lines=lines)
        assert done.exit_code == 0 and not set("\x1b\x07\x9b\u202e") & set(done.output), repr(done.output)


def test_words_for_people_are_shown_and_accepted(tmp_path):
    """A label is an answer, for numbers and for categories; the receipt shows it."""
    words = {
        "age": {"label": "Age", "unit": "years", "help": "at the visit"},
        "pain": {"choices": {"typical": "like pressure"}},
        "fbs": {"label": "Blood sugar", "choices": {"0": "low", "1": "high"}},
    }
    plan = heart().with_metadata(words, target="disease", about="For the ward.", classes={"ill": "sick"})
    plan.save(tmp_path / "m.miser")
    done = run("ask", tmp_path / "m.miser", lines=["61", "Like Pressure", "200", "medium", "HIGH"])
    shown = " ".join(done.stdout.split())
    for words in (
        "predicts disease: well, sick For the ward.",
        "1. age: Age help at the visit value a number, in years",
        "one of: 1 none, 2 typical (like pressure)",
        "4. fbs: Blood sugar value 0 low, 1 high",
        "'medium' is none of its values: 0 low, 1 high",
        "the answer is sick (100.0 %)",
        "Answer: sick (100.0 %)",
    ):
        assert words in shown, (words, shown)
    assert "1 high" in shown.split("the answer then")[1]
    record = receipt_of(run("ask", tmp_path / "m.miser", "--json", lines=["61", "2", "200", "high"]))
    assert record["answer"] == "ill" and record["trail"][1]["value"] == "typical"
    assert record["trail"][3]["value"] == 1.0


# -- a real terminal -----------------------------------------------------------------------------------------


class Screen:
    """A process with a terminal of its own."""

    def __init__(self, *words):
        self.master, slave = pty.openpty()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "miserly", *map(str, words)],
            stdin=slave, stdout=slave, stderr=slave, start_new_session=True,
            preexec_fn=lambda: _take_terminal(slave), env={**os.environ, "TERM": "xterm", "COLUMNS": "100"},
        )  # fmt: skip
        os.close(slave)
        self.text = ""

    def until(self, wanted, seconds=60):
        end = time.monotonic() + seconds
        while wanted not in self.text and time.monotonic() < end:
            if select.select([self.master], [], [], 0.2)[0]:
                try:
                    self.text += os.read(self.master, 65536).decode(errors="replace")
                except OSError:  # it has ended
                    break
        assert wanted in self.text, self.text

    def type(self, text):
        os.write(self.master, text.encode())


def _take_terminal(slave):
    import fcntl
    import termios

    fcntl.ioctl(slave, termios.TIOCSCTTY, 0)


@pytest.mark.parametrize("end", ["\x03", "\x04"])
def test_control_keys_end_with_the_answer_so_far(plan, end):
    screen = Screen("ask", plan)
    screen.until("age: ")
    screen.type("61\n")
    screen.until("pain: ")
    time.sleep(0.3)  # between its prompt and its wait, readline misses a signal
    screen.type(end)
    reason = "stopped by Ctrl-C" if end == "\x03" else "the input ended"
    screen.until(f"Ended: {reason}.")
    assert screen.process.wait(30) == 0 and "Traceback" not in screen.text
    os.close(screen.master)
