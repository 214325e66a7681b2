"""Tables as people have them: other marks, encodings, dates, standard input; all that is wrong, at once."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys

import numpy as np
import pytest

from miserly import load

from .running import COSTS, QUICK, complaint, complaints, run, table


@pytest.fixture
def fit(tmp_path):
    """Writes a table, fits a plan to it and gives what came of that."""

    def fitted(text, *words, encoding="utf-8"):
        (tmp_path / "a.csv").write_bytes(text.encode(encoding))
        return run("fit", tmp_path / "a.csv", *words, *QUICK, "--out", tmp_path / "a.miser")

    return fitted


def rows(n=60):
    rng = np.random.default_rng(0)
    return [(1000 * value + 0.5, "yes" if value > 5 else "no") for value in rng.integers(0, 10, n).tolist()]


# -- formats -------------------------------------------------------------------------------------------------


def test_a_table_from_a_spreadsheet_of_another_country(fit, tmp_path):
    """Semicolons, decimal commas, points in thousands, and Western European text."""
    lines = ["Größe;antwort", *(f"{value:,.1f};{answer}" for value, answer in rows())]
    text = "\n".join(lines).replace(",", "_").replace(".", ",").replace("_", ".")
    given = ("--sep", ";", "--decimal", ",", "--thousands", ".", "--encoding", "cp1252")
    done = fit(text, "--target", "antwort", *given, encoding="cp1252")
    assert done.exit_code == 0, done.output
    plan = load(tmp_path / "a.miser")
    assert plan.costs.names == ("Größe",) and not plan.categories
    answers = run("predict", tmp_path / "a.miser", tmp_path / "a.csv", *given, "--json")
    assert json.loads(answers.stdout)["accuracy"] == 1.0


def test_tabs_and_utf16(fit):
    text = "\n".join(["x\ty", *(f"{value}\t{answer}" for value, answer in rows())])
    assert (
        fit(text, "--target", "y", "--sep", "tab", "--encoding", "utf-16", encoding="utf-16").exit_code == 0
    )
    reported = complaint(fit(text, "--target", "y", "--sep", "tab", encoding="utf-16"))
    assert "line 1: not a text file in UTF-8" in reported and "--encoding utf-16" in reported
    reported = complaint(fit("name,y\ncafé,1\n", "--target", "y", encoding="latin-1"))
    assert "line 2: not a text file in UTF-8" in reported and "--encoding cp1252" in reported


def test_digits_in_groups_are_numbers_only_if_that_is_given(fit):
    text = "\n".join(["x,y", *(f'"{value:,.1f}",{answer}' for value, answer in rows())])
    assert fit(text, "--target", "y", "--thousands", ",").exit_code == 0
    others = [f"{value},{answer}" for value, answer in rows()]
    reported = complaint(fit("\n".join(["x,y", '"1,234",yes', *others]), "--target", "y"))
    assert "line 2, column 'x': '1,234' is not a number, as 60 others are" in reported
    assert "give --thousands , if it is 1234, or --decimal , if it is 1.234" in reported
    odd = complaint(fit("\n".join(["x,y", '"12,34",yes', *others]), "--target", "y", "--thousands", ","))
    assert "'12,34' is not a number" in odd


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--sep", ";;"), "--sep is one character"),
        (("--decimal", ";"), "--decimal is . or ,"),
        (("--thousands", "."), "--thousands and --decimal are both '.'"),
        (("--encoding", "utf-9"), "--encoding: 'utf-9' is not known"),
    ],
)
def test_formats_that_are_none_are_wrong_usage(fit, options, message):
    assert message in complaint(fit("x,y\n1,2\n", "--target", "y", *options), code=2)


@pytest.mark.parametrize("date", ["2024-01-{:02}", "{}.1.2024", "1/{}/24", "2024-01-{:02} 08:30:00"])
def test_dates_are_refused_with_a_hint(fit, tmp_path, date):
    lines = [f"{value},{date.format(row % 28 + 1)},{answer}" for row, (value, answer) in enumerate(rows())]
    text = "\n".join(["x,day of visit,y", *lines])
    reported = complaint(fit(text, "--target", "y"))
    assert "line 2, column 'day of visit'" in reported and "is a date, as 59 others are" in reported
    assert "--ignore 'day of visit'" in reported
    assert fit(text, "--target", "y", "--ignore", "day of visit").exit_code == 0
    assert fit(text, "--target", "y", "--categories", "day of visit").exit_code == 0


def test_dates_of_parquet_are_refused_too(tmp_path):
    frame = table(60)[["age", "disease"]].assign(day=np.datetime64("2024-01-31"))
    frame.to_parquet(tmp_path / "a.parquet")
    done = run("fit", tmp_path / "a.parquet", "--target", "disease", "--out", tmp_path / "a.miser")
    assert "row 1, column 'day': '2024-01-31 00:00:00' is a date" in complaint(done)


# -- standard input ------------------------------------------------------------------------------------------


def test_tables_from_standard_input(tmp_path):
    text = "\n".join(["x,y", *(f"{value},{answer}" for value, answer in rows())])

    def piped(*words):
        command = [sys.executable, "-m", "miserly", *map(str, words)]
        return subprocess.run(command, input=text, capture_output=True, text=True, cwd=tmp_path, timeout=100)

    done = piped("fit", "-", "--target", "y", *QUICK, "--out", "a.miser")
    assert done.returncode == 0, done.stderr
    done = piped("predict", "a.miser", "-")
    assert done.stdout.startswith("prediction,cost,features\n") and "accuracy 1" in done.stderr
    text += "\nmany,no"
    done = piped("predict", "a.miser", "-", "--out", "never.csv")
    assert done.returncode == 1 and not (tmp_path / "never.csv").exists()
    assert done.stderr == "error: standard input, line 62, column 'x': 'many' is not a number\n"


# -- all problems at once ------------------------------------------------------------------------------------


def test_all_problems_of_a_table_are_reported_at_once(fit, tmp_path):
    good = [f"{value},{value % 7},{value},ok,{value % 2}" for value in range(40)]
    good[3] = "12O,1,1,ok,1"
    good[5] = "5,inf,1,ok,1"
    good[7] = "5,1,1,ok"
    good[8] = "13O,1,1,ok,1"
    good[9] = "5,1,1,ok,"
    (tmp_path / "costs.csv").write_text("feature,cost\na,1\nb,2\nd,1\nbb,1\n")
    text = "\n".join(["a,b,c,d,y", *good])
    done = fit(text, "--target", "y", "--categories", "e", "--costs", tmp_path / "costs.csv")
    reported = done.stderr.splitlines()
    assert done.exit_code == 1 and [line.split(":")[0] for line in reported] == ["note", *["error"] * 6]
    found = " | ".join(reported).replace(f"{tmp_path}/", "")
    for part in (
        "a.csv, line 9: 4 values for 5 columns",
        "a.csv: no column 'e'",
        "costs.csv: no cost for column 'c'",
        "costs.csv: costs without a column are left out: 'bb'; did you mean 'b'?",
        "a.csv, line 5, column 'a': '12O' is not a number, as 37 others are",
        "if all are categories; also in line 10",
        "a.csv, line 7, column 'b': infinity",
        "a.csv, line 11, column 'y': the target is missing",
    ):
        assert part in found, found
    assert not (tmp_path / "a.miser").exists()


def test_all_problems_of_a_header_are_reported_at_once(fit):
    reported = complaints(fit("a,,b,a,b,\n1,2,3,4,5,6\n", "--target", "y"))
    assert [line.rpartition(": ")[2] for line in reported] == [
        "column 2 has no name",
        "column 6 has no name",
        "two columns are named 'a'",
        "two columns are named 'b'",
    ]


def test_of_very_many_problems_some_are_reported(fit):
    columns = [f"c{place}" for place in range(40)]
    lines = [",".join("1" * 40)] * 30 + [",".join("x" * 40)]
    reported = complaints(fit("\n".join([",".join(columns), *lines]), "--target", "c0", "--task", "numbers"))
    assert len(reported) == 21 and reported[-1] == "and 20 more problems"


def test_booleans_with_a_stray_word_are_reported_before_they_become_text(fit):
    lines = [f"{value > 3000},{answer}" for value, answer in rows()] + ["maybe,no"]
    reported = complaint(fit("\n".join(["x,y", *lines]), "--target", "y"))
    assert "line 62, column 'x': 'maybe' is not true or false, as 60 others are" in reported


def test_numbers_that_turn_out_to_be_text_late_keep_their_text(fit, tmp_path, monkeypatch):
    """'07' is text although the first chunks held nothing but digits."""
    from miserly.cli.table_files import CsvFile

    monkeypatch.setattr(CsvFile, "chunk_cells", 20)
    monkeypatch.setattr(CsvFile, "fewest_rows", 1)
    codes = ["07", "9"] * 20 + ["other"] * 20
    text = "\n".join(["code,y", *(f"{code},{code == '07'}" for code in codes)])
    assert fit(text, "--target", "y").exit_code == 0
    assert load(tmp_path / "a.miser").categories == {0: ("07", "9", "other")}


# -- prices --------------------------------------------------------------------------------------------------


def test_prices_of_columns_that_are_left_out_are_no_contradiction(tmp_path):
    table()[["age", "chol", "thal", "disease"]].to_csv(tmp_path / "a.csv", index=False)
    (tmp_path / "costs.csv").write_text(COSTS)
    learn = ("fit", tmp_path / "a.csv", "--target", "disease", "--costs", tmp_path / "costs.csv", *QUICK)
    done = run(*learn, "--ignore", "chol", "--out", tmp_path / "a.miser")
    assert done.exit_code == 0, done.output
    plan = load(tmp_path / "a.miser")
    assert plan.costs.names == ("age", "thal") and plan.costs.group_names == () and plan.costs.total == 91


# -- hints ---------------------------------------------------------------------------------------------------


def test_hints_can_be_pasted(fit, tmp_path):
    """The option that an error suggests is one word of a shell, for every name of a column or a file."""
    name = "it's $HOME; rm *"
    values = [*map(str, range(30)), "12O"]
    reported = complaint(
        fit("\n".join([f'"{name}",y', *(f"{value},1" for value in values)]), "--target", "y")
    )
    words = shlex.split(reported[reported.index("--categories") :].partition(" if all")[0])
    assert words == ["--categories", name]
    files = ("--out", tmp_path / "my heart.csv", "--costs-out", tmp_path / "my costs.csv")
    done = run("datasets", "heart", *files)
    command = shlex.split(done.stdout[done.stdout.index("miserly") :])
    assert command == ["miserly", "frontier", str(files[1]), "--target", "target", "--costs", str(files[3])]
