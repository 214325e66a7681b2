"""What a terminal gets: text that shows something, and nothing that it acts on."""

from __future__ import annotations

import json

import pytest

from miserly.cli.console import shell_word

from .running import QUICK, run, table

EVIL = "\x1b]0;owned\x07\x1b[31m\u202eevil\x9b2J"


@pytest.fixture
def folder(tmp_path):
    """A table, a plan and prices with escape sequences in every name and text."""
    frame = table(180)[["age", "thal", "disease"]]
    frame.columns = ["age", f"thal{EVIL}", f"disease{EVIL}"]
    frame.iloc[:, 1] += EVIL
    frame.iloc[:, 2] += EVIL
    frame.to_csv(tmp_path / "a.csv", index=False)
    (tmp_path / "costs.csv").write_text(f"# unit: {EVIL}\nfeature,cost\nage,1\nthal{EVIL},2\n")
    return tmp_path


def shown(*words, code=0):
    """All that a command prints; it must not hold anything that a terminal acts on."""
    done = run(*words)
    assert done.exit_code == code, done.output
    assert not set("\x1b\x07\x9b\u202e") & set(done.stdout + done.stderr), repr(done.output)
    return done


def test_names_texts_and_units_send_no_escape_sequences(folder):
    learn = (folder / "a.csv", "--target", f"disease{EVIL}", "--costs", folder / "costs.csv")
    shown("fit", *learn, *QUICK, "--out", folder / "a.miser")
    shown("show", folder / "a.miser", "--all")
    shown("predict", folder / "a.miser", folder / "a.csv", "--out", folder / "b.csv")
    shown("frontier", *learn, "--learners", "GreedyMiser", "--max-fits", 2)
    record = json.loads(shown("show", folder / "a.miser", "--json").stdout)
    assert record["costs"]["unit"] == EVIL  # escaped, and there again


def test_errors_and_warnings_send_no_escape_sequences(folder, tmp_path):
    learn = (folder / "a.csv", "--target", f"disease{EVIL}", *QUICK)
    shown("fit", *learn, "--out", folder / "a.miser")
    shown("fit", folder / "a.csv", "--target", f"no{EVIL}", "--out", folder / "b.miser", code=1)
    done = shown("fit", *learn, "--ignore", f"age{EVIL}", "--out", folder / "b.miser", code=1)
    assert "no column" in done.stderr
    options = (folder / "a.miser", tmp_path / "new.csv", "--out", tmp_path / "out.csv")
    (tmp_path / "new.csv").write_text(f"age,thal{EVIL}\n1,strange{EVIL}\n")
    assert "strange" in shown("predict", *options).stderr
    done = shown("fit", *learn, "--task", "numbers", "--out", folder / "b.miser", code=1)
    assert "is not a number" in done.stderr


def test_markup_of_names_is_text(tmp_path):
    """Names in square brackets are not instructions for colours."""
    (tmp_path / "a.csv").write_text("\n".join(["[red]x[/],y", *(f"{v},{v > 100}" for v in range(200))]))
    done = run("fit", tmp_path / "a.csv", "--target", "y", *QUICK, "--out", tmp_path / "a.miser")
    assert "[red]x[/]" in done.stdout
    assert "[red]x[/]" in run("show", tmp_path / "a.miser").stdout


def test_units_in_brackets_are_text(folder):
    """A closing bracket that closes nothing was an error of its own."""
    (folder / "costs.csv").write_text(f"# unit: [/x]\nfeature,cost\nage,1\nthal{EVIL},2\n")
    learn = (folder / "a.csv", "--target", f"disease{EVIL}", "--costs", folder / "costs.csv")
    assert "3 [/x]" in shown("fit", *learn, *QUICK, "--out", folder / "a.miser").stdout
    assert "[/x]" in shown("frontier", *learn, "--learners", "GreedyMiser", "--max-fits", 2).stdout


def test_words_for_a_shell_show_control_characters():
    assert shell_word("a\x1b'b") == "$'a\\x1b\\'b'"


def test_a_search_in_which_every_learner_failed_is_no_success(tmp_path):
    """A linear learner on text: a constant answer is not what was asked for."""
    table(60)[["age", "thal", "disease"]].to_csv(tmp_path / "a.csv", index=False)
    given = (tmp_path / "a.csv", "--target", "disease", "--learners", "CostLasso", "--max-fits", 4)
    for command in (("frontier", *given), ("bench", *given)):
        done = run(*command)
        assert done.exit_code == 1
        assert "error: every learner failed\nerror: CostLasso failed: DataError: column 'thal'" in done.stderr
