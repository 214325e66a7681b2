"""Receipts as a table to learn from: what was bought, what was not, and labels by identifier."""

import csv

import numpy as np
import pytest

from miserly import GreedyMiserClassifier
from miserly.errors import DataError
from miserly.runtime import OnDemand, Unavailable
from miserly.serve.receipts import ReceiptKeeper, read_labels, training_table
from tests.cli.running import complaint, run
from tests.runtime.plans import PATIENT, heart


def decline(patient):
    raise Unavailable("not today")


@pytest.fixture
def kept(url, tmp_path):
    """Five receipts in which `chol` is a value, null, NaN, declined and never ordered; `age` known in one."""
    keeper = ReceiptKeeper(url, tmp_path / "pending", keep_values=True)
    keeper.start()
    ids = []
    for source in (lambda p: 200.0, lambda p: None, lambda p: np.nan, decline):
        ids.append(keeper.append(OnDemand(heart(), {"chol": source}).predict(PATIENT), model="heart"))
    known = {"age": 33.0}
    last = OnDemand(heart()).predict(PATIENT, budget=2, known=known)
    ids.append(keeper.append(last, model="heart", known=known, session_id="secret"))
    keeper.close()
    return ids


def test_what_was_bought_and_what_was_not_are_different(url, kept):
    table = training_table(url, plan=heart())
    assert table.features == ("age", "pain", "chol", "fbs")
    assert table.outcomes[:, 2].tolist() == ["value", "null", "nan", "declined", ""]
    assert table.values[:, 2].tolist() == [200.0, None, None, None, None]
    assert table.bought[:, 2].tolist() == [True, True, True, False, False]
    assert (table.outcomes[4, 0], table.values[4, 0]) == ("known", 33.0)
    assert [one["id"] for one in table.receipts] == kept
    for backend in ("pandas", "polars"):
        frame = table.frame(backend)
        assert list(frame.columns) == list(table.features) and frame["pain"][0] == "typical"
    assert np.isnan(table.frame()["chol"][1:]).all()


def test_labels_are_joined_by_receipt_or_session(url, kept):
    labels = {kept[0]: "ill", kept[3]: "well", "secret": "ill", "unknown": "well"}
    table = training_table(url, labels=labels)
    assert table.labels.tolist() == ["ill", "well", "ill"]
    assert [one["id"] for one in table.receipts] == [kept[0], kept[3], kept[4]]
    assert (table.without_label, table.unused_labels) == (2, 1)


def test_the_command_writes_a_table_that_fit_reads(url, kept, tmp_path):
    target, given = tmp_path / "table.csv", tmp_path / "labels.csv"
    given.write_text(
        "id,disease\n" + "".join(f"{one},{'ill' if i % 2 else 'well'}\n" for i, one in enumerate(kept))
    )
    done = run("receipts", url, "--csv", target, "--labels", given)
    assert done.exit_code == 0, done.output
    assert "5 receipts, 4 features" in done.stdout
    rows = list(csv.DictReader(target.read_text().splitlines()))
    assert [row["chol"] for row in rows] == ["200.0", "null", "NaN", "NA", ""]
    assert [row["disease"] for row in rows] == ["well", "ill"] * 2 + ["well"]
    assert rows[4]["receipt.known"] == "age" and rows[0]["receipt.id"] == kept[0]
    columns = [word for name in rows[0] if name.startswith("receipt.") for word in ("--ignore", name)]
    fitted = run("fit", target, "--target", "disease", "--out", tmp_path / "new.miser", "--validation", 0,
                 "--rounds", 2, *columns)  # fmt: skip
    assert fitted.exit_code == 0, fitted.output


def test_a_model_can_be_fitted_to_the_table(url, tmp_path):
    rng = np.random.default_rng(1)
    served, labels = OnDemand(heart(), unknown="missing"), {}
    keeper = ReceiptKeeper(url, tmp_path / "pending", keep_values=True)
    keeper.start()
    for _ in range(200):
        row = {
            "age": rng.normal(60, 10),
            "pain": str(rng.choice(["none", "typical"])),
            "chol": 200.0,
            "fbs": 0.0,
        }
        budget = float(rng.choice([2, 3, 20]))
        labels[keeper.append(served.predict(row, budget=budget), model="heart")] = row["age"] > 60
    keeper.close()
    table = training_table(url, labels=labels, plan=heart())
    y = table.labels.astype(bool)
    model = GreedyMiserClassifier(costs=heart().costs, n_rounds=20, max_depth=2).fit(table.frame(), y)
    assert np.mean(model.predict(table.frame()) == y) > 0.9


def test_a_table_needs_values(tmp_path):
    url = tmp_path / "receipts.db"
    keeper = ReceiptKeeper(url)
    keeper.start()
    keeper.append(OnDemand(heart()).predict(PATIENT), model="heart")
    keeper.close()
    with pytest.raises(DataError, match="all 1 receipts were kept without the values"):
        training_table(url)
    assert "--keep-values" in complaint(run("receipts", url, "--csv", tmp_path / "x.csv"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("id\n", "line 1: two columns are expected"),
        ("id,label\na,\n", "line 2: an identifier and a label are expected"),
        ("id,label\na,1\na,2\n", "line 3: 'a' has a label already"),
    ],
)
def test_labels_that_cannot_be_used_are_explained(tmp_path, text, message):
    (tmp_path / "labels.csv").write_text(text)
    with pytest.raises(DataError, match=message):
        read_labels(tmp_path / "labels.csv")
