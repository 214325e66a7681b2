"""`--known` and `--prices`: what rows of a file have already, and what they pay."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from miserly import load
from miserly.cli import batches
from miserly.cli.console import Problems
from miserly.cli.options import RowOptions
from miserly.cli.predictions import Predictions, PredictOptions
from miserly.cli.table_files import CsvFile, opened

from .running import COSTS, QUICK, complaint, run, table


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("terms")
    rng = np.random.default_rng(1)
    frame = table()[["age", "chol", "thal", "disease"]]
    frame["has_thal"] = rng.random(120) < 0.5
    frame["price"] = np.where(frame["age"] > 50, 10.0, 60.0)
    frame.to_csv(path / "heart.csv", index=False)
    (path / "costs.csv").write_text(COSTS)
    done = run("fit", path / "heart.csv", "--target", "disease", "--costs", path / "costs.csv", *QUICK,
               "--ignore", "has_thal", "--ignore", "price", "--out", path / "m.miser")  # fmt: skip
    assert done.exit_code == 0, done.output
    return path


def predicted(folder, *options, data="heart.csv"):
    done = run("predict", folder / "m.miser", folder / data, "--json", *options)
    assert done.exit_code == 0, done.output
    rows = json.loads(done.stdout)["predictions"]
    return [row["cost"] for row in rows], [row["prediction"] for row in rows]


def expected(folder, data="heart.csv", budget=None, **given):
    frame, plan = pd.read_csv(folder / data), load(folder / "m.miser")
    run_ = plan.run(frame, budget=budget, **given)
    return run_.cost.round(10).tolist(), plan.predict(frame, budget=budget, **given).tolist()


@pytest.fixture(params=["at once", "row by row"])
def reading(request, monkeypatch):
    """Files are read at once, or a few rows at a time."""
    if request.param == "row by row":
        monkeypatch.setattr(CsvFile, "chunk_cells", 12)
        monkeypatch.setattr(CsvFile, "fewest_rows", 1)
        monkeypatch.setattr(batches, "ROWS", 7)


def test_known_features_are_free_for_all_rows(folder):
    assert predicted(folder, "--known", "thal,chol") == expected(folder, known=["thal", "chol"])
    assert predicted(folder, "--known", "thal", "--known", "chol") == expected(folder, known=["thal", "chol"])


def test_columns_say_what_rows_know_and_pay(folder, reading):
    frame = pd.read_csv(folder / "heart.csv")
    given = {"known": {"thal": frame["has_thal"]}, "prices": {"thal": frame["price"], "blood": 1.0}}
    options = ("--known", "thal=has_thal", "--prices", "thal=price", "--prices", "blood=1")
    assert predicted(folder, *options) == expected(folder, **given)
    assert predicted(folder, *options, "--budget", 12) == expected(folder, budget=12, **given)


def test_tables_say_what_rows_know_and_pay(folder, tmp_path, reading):
    frame = pd.read_csv(folder / "heart.csv")
    pd.DataFrame({"thal": frame["has_thal"].astype(int)}).to_csv(tmp_path / "known.csv", index=False)
    prices = pd.DataFrame({"thal": frame["price"], "blood": 1.0})
    prices.to_csv(tmp_path / "prices.csv", index=False)
    options = ("--known", tmp_path / "known.csv", "--prices", tmp_path / "prices.csv")
    known = {"thal": frame["has_thal"]}
    assert predicted(folder, *options) == expected(folder, known=known, prices=prices)


def test_an_empty_price_is_that_of_the_plan_and_an_empty_flag_is_not_known(folder, tmp_path):
    text = ["thal,blood", "5,", ",0", *[","] * 118]
    (tmp_path / "prices.csv").write_text("\n".join(text) + "\n")
    prices = {"thal": [5.0] + [90.0] * 119, "blood": [2.0, 0.0] + [2.0] * 118}
    found = predicted(folder, "--prices", tmp_path / "prices.csv")
    assert found == expected(folder, prices={name: np.array(one) for name, one in prices.items()})


def test_a_file_of_costs_holds_for_all_rows(folder, tmp_path):
    (tmp_path / "new.csv").write_text("feature,cost\nthal,7\n")
    assert predicted(folder, "--prices", tmp_path / "new.csv") == expected(folder, prices={"thal": 7.0})


def test_filled_cells_are_known_if_asked_for(folder, tmp_path):
    frame = pd.read_csv(folder / "heart.csv")
    frame.loc[frame["has_thal"], "thal"] = None
    frame.to_csv(folder / "gaps.csv", index=False)
    filled = frame[["age", "chol", "thal"]].notna()
    assert predicted(folder, "--known-if-filled", data="gaps.csv") == expected(
        folder, "gaps.csv", known=filled
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--known", "thall"), "--known: no feature 'thall'; did you mean 'thal'?"),
        (("--known", "thal=hasthal"), "--known: heart.csv: no column 'hasthal'; did you mean 'has_thal'?"),
        (("--known", "thal=price"), "heart.csv, line 2, column 'price': '10.0' is not true or false"),
        (("--prices", "thal=has_thal"), "column 'has_thal': 'False' is not a price, which is 0 or more"),
        (("--prices", "short.csv"), "short.csv: fewer rows than"),
        (("--prices", "long.csv"), "long.csv: more rows than"),
    ],
)
def test_what_does_not_fit_is_named(folder, monkeypatch, options, message):
    monkeypatch.chdir(folder)
    for name, n in (("short.csv", 119), ("long.csv", 121)):
        (folder / name).write_text("thal\n" + "5\n" * n)
    assert message in complaint(run("predict", "m.miser", "heart.csv", *options))


def test_a_run_with_other_prices_is_another_run(folder, tmp_path):
    """Files of prices are identified by their content, so that `--resume` refuses others."""
    prices = tmp_path / "prices.csv"
    asked = PredictOptions(of_rows=RowOptions(prices=[str(prices)]))
    options = []
    for price in (5, 6, 5):
        prices.write_text("thal\n" + f"{price}\n" * 120)
        with opened(folder / "heart.csv") as source:
            made = Predictions(load(folder / "m.miser"), source, asked, Problems())
            options.append(made.identity.options)
    assert options[0] == options[2] != options[1]


@pytest.mark.parametrize("command", ["fit", "frontier"])
def test_training_takes_what_rows_know_and_pay(folder, tmp_path, command):
    """Columns of flags and prices are not features, and `thal` is worth buying at the prices of the rows."""
    options = {"fit": (*QUICK, "--tradeoff", 0.01, "--out", tmp_path / "x.miser")}.get(
        command,
        ("--learners", "GreedyMiser", "--max-fits", 4, "--mean-budget", 20, "--save", tmp_path / "x.miser"),
    )
    words = (command, folder / "heart.csv", "--target", "disease", "--costs", folder / "costs.csv",
             "--ignore", "price", *options)  # fmt: skip
    done = run(*words, "--known", "thal=has_thal", "--prices", "thal=8", "--json")
    assert done.exit_code == 0, done.output
    plan = load(tmp_path / "x.miser")
    assert plan.costs.names == ("age", "chol", "thal") and plan.costs.feature.tolist() == [1.0, 5.0, 90.0]
    assert 2 in plan.features
    assert run(*words, "--ignore", "has_thal", "--json").exit_code == 0
    assert 2 not in load(tmp_path / "x.miser").features
