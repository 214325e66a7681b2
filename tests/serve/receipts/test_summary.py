"""What `summarise` and `miserly receipts` say is what the receipts say."""

import json
import math
from datetime import UTC, datetime, timedelta

import numpy as np
import pandas as pd
import pytest

from miserly.errors import DataError
from miserly.runtime import Monitor, OnDemand, Reference
from miserly.serve.receipts import ReceiptKeeper, summarise
from tests.cli.running import complaint, run
from tests.runtime.plans import PATIENT, heart, linear


@pytest.fixture
def keep(url, tmp_path):
    def keep(*receipts, model="heart", sessions=()):
        keeper = ReceiptKeeper(url, tmp_path / "pending")
        keeper.start()
        for i, receipt in enumerate(receipts):
            keeper.append(receipt, model=model, session_id=dict(enumerate(sessions)).get(i))
        keeper.close()
        assert keeper.status().waiting == 0

    return keep


def broken(patient):
    raise ConnectionError("no line")


def test_means_shares_and_failures_are_those_of_the_receipts(url, keep):
    good, bad = OnDemand(heart()), OnDemand(heart(), {"blood": broken})
    given = [
        *(good.predict({**PATIENT, "age": float(age)}) for age in range(20, 90)),
        *(bad.predict(PATIENT) for _ in range(30)),
        *(good.predict(PATIENT, budget=4) for _ in range(10)),
    ]
    keep(*given)
    keep(OnDemand(linear(2)).predict({"x0": 1.0, "x1": 2.0}), model="other")
    found = summarise(url)
    assert found["receipts"] == 111 and [one["model"] for one in found["models"]] == ["heart", "other"]
    record = found["models"][0]
    costs = np.array([one.cost for one in given])
    half = 1.959964 * costs.std() / math.sqrt(len(costs))
    assert record["mean_cost"] == pytest.approx(costs.mean(), rel=1e-12)
    assert record["mean_cost_lower"] == pytest.approx(costs.mean() - half, rel=1e-9)
    assert record["highest_cost"] == costs.max() and record["unit"] == "CAD"
    answers = [one.answer for one in given]
    assert {one["value"]: one["receipts"] for one in record["answers"]} == {
        answer: answers.count(answer) for answer in set(answers)
    }
    assert {one["value"]: one["receipts"] for one in record["stopped_by"]} == {"answered": 100, "budget": 10}
    chol = next(one for one in record["features"] if one["feature"] == "chol")
    assert (
        chol["failures"] == {"failed": 10, "refused": 20}
        and chol["bought"] == 70
        and chol["share"] == 100 / 110
    )
    assert chol["mean_price"] == pytest.approx(7.0)
    assert [one["feature"] for one in found["models"][1]["features"]] == ["x0", "x1"]


def test_many_different_numbers_are_summarised_as_numbers(url, keep):
    served = OnDemand(linear(1))
    keep(*(served.predict({"x0": float(i)}) for i in range(41)))
    assert summarise(url)["models"][0]["answers"] == {"mean": 20.0, "lowest": 0.0, "highest": 40.0}


def test_times_and_names_choose_receipts(url, keep):
    keep(OnDemand(heart()).predict(PATIENT))
    now = datetime.now(UTC)
    assert summarise(url, since=now - timedelta(hours=1), until=now + timedelta(hours=1))["receipts"] == 1
    assert summarise(url, since=now + timedelta(hours=1))["receipts"] == 0
    assert summarise(url, until=now - timedelta(hours=1))["receipts"] == 0
    assert summarise(url, model="none")["receipts"] == 0
    with pytest.raises(DataError, match="needs a time zone"):
        summarise(url, since=datetime(2026, 1, 1))


def test_of_a_session_that_was_reopened_the_last_receipt_counts(url, keep):
    served = OnDemand(heart())
    given = [served.predict(PATIENT, budget=budget) for budget in (1, 3, None)]
    keep(*given, sessions=["s", "s", "t"])
    found = summarise(url)
    assert (found["receipts"], found["superseded"]) == (2, 1)
    assert found["models"][0]["mean_cost"] == (given[1].cost + given[2].cost) / 2


def test_drift_is_that_of_a_monitor_and_other_requests_are_left_out(url, keep, tmp_path):
    rng = np.random.default_rng(0)
    rows = pd.DataFrame({"age": rng.normal(80, 5, 2000), "pain": "none", "chol": 100.0, "fbs": 0.0})
    plan = Reference.of(heart(), heart().run(rows)).attach(heart())
    served = OnDemand(plan)
    odd = [served.predict(PATIENT, budget=3), served.predict(PATIENT, known={"age": 1.0})]
    keep(*(served.predict({**PATIENT, "age": 500.0}) for _ in range(200)), *odd)
    drift = summarise(url, plan=plan)["drift"]
    assert (drift["receipts"], drift["left_out"]) == (200, 2)
    plan.save(tmp_path / "heart.miser")
    done = run("receipts", url, "--model", tmp_path / "heart.miser")
    assert done.exit_code == 0, done.output
    assert "Against the reference of the plan" in done.stdout
    assert "202 receipts" in done.stdout and "chol" in done.stdout
    same = json.loads(run("receipts", url, "--model", tmp_path / "heart.miser", "--json").stdout)
    assert same["drift"]["receipts"] == 200


def test_rows_of_a_table_can_be_the_reference(url, keep, tmp_path):
    """A plan without a reference in its file is compared with rows that it was not fitted to."""
    rng = np.random.default_rng(0)
    rows = pd.DataFrame({"age": rng.normal(80, 5, 500), "pain": "none", "chol": 100.0, "fbs": 0.0})
    rows.to_csv(tmp_path / "rows.csv", index=False)
    plan = heart()
    plan.save(tmp_path / "heart.miser")
    served = OnDemand(plan)
    keep(*(served.predict({**PATIENT, "age": -500.0}) for _ in range(200)))
    command = ("receipts", url, "--model", tmp_path / "heart.miser")
    assert "give --reference" in complaint(run(*command), code=2)
    found = json.loads(run(*command, "--reference", tmp_path / "rows.csv", "--json").stdout)["drift"]
    assert found["receipts"] == 200 and [one["quantity"] for one in found["alarms"]] == ["answers"]
    expected = Monitor(plan, reference=plan.run(rows))
    assert found["text"].splitlines()[0].startswith("200 receipts") and expected.reference.n == 500
    rows.drop(columns="age").to_csv(tmp_path / "short.csv", index=False)
    assert "age" in complaint(run(*command, "--reference", tmp_path / "short.csv"))
    alone = run("receipts", url, "--reference", tmp_path / "rows.csv")
    assert "give both" in complaint(alone, code=2)


def test_the_command_explains_what_it_cannot_read(tmp_path):
    assert "there is no such file" in complaint(run("receipts", tmp_path / "none.db"))
    (tmp_path / "text.db").write_text("this is not a database" * 100)
    assert "not a database" in complaint(run("receipts", tmp_path / "text.db"))
    assert "2026-01-31" in complaint(run("receipts", tmp_path / "none.db", "--since", "today"), code=2)
    assert "give both" in complaint(run("receipts", tmp_path / "none.db", "--labels", "x.csv"), code=2)
    keeper = ReceiptKeeper(tmp_path / "empty.db")
    keeper.start()
    keeper.close()
    assert run("receipts", tmp_path / "empty.db").stdout == "There are no such receipts.\n"
