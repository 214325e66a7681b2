"""The service keeps the receipt of each answer, and says its identifier."""

import asyncio
import contextlib
import signal
import threading
import time

import httpx
import pytest

from tests.runtime.plans import PATIENT, heart
from tests.serve.apps import serving
from tests.serve.processes import running

from .databases import purchases, rows, wait_until

DOWN = "postgresql://127.0.0.1:1/none"


@pytest.fixture
def plans(tmp_path):
    (tmp_path / "plans").mkdir()
    heart().save(tmp_path / "plans" / "heart.miser")
    return tmp_path / "plans"


def ask(plans, *bodies, **options):
    """The answers to requests, then what `/readyz` and `/metrics` say."""

    async def run():
        async with serving(plans, **options) as client:
            asked = [await client.post("/v1/models/heart/predict", json=body) for body in bodies]
            return [*asked, await client.get("/readyz"), await client.get("/metrics")]

    return asyncio.run(run())


def test_each_answer_has_the_identifier_of_its_receipt(plans, url, tmp_path):
    one = {"features": {"pain": "typical", "chol": 200.0}, "known": {"age": 61.0}}
    many = {"rows": [PATIENT, PATIENT]}
    first, second, ready, _ = ask(
        plans, one, many, receipts=url, journal=str(tmp_path / "j"), keep_values=True
    )
    kept = rows(url)
    ids = [first.json()["receipt_id"], *(one["receipt_id"] for one in second.json()["results"])]
    assert [row["id"] for row in kept] == ids
    assert kept[0]["known_values"] == {"age": 61.0} and kept[0]["cost"] == first.json()["cost"]
    assert [one["outcome"] for one in purchases(url) if one["receipt_id"] == ids[0]][:2] == ["value", "value"]
    assert ready.json()["receipts"]["moving"] is True


def test_without_receipts_there_is_no_identifier(plans):
    answer, ready, _ = ask(plans, {"features": PATIENT})
    assert "receipt_id" not in answer.json() and "receipts" not in ready.json()


def test_answers_go_on_while_the_database_is_down(plans, tmp_path):
    answer, ready, metrics = ask(plans, {"features": PATIENT}, receipts=DOWN, journal=str(tmp_path / "j"))
    assert answer.status_code == 200 and answer.json()["receipt_id"]
    record = ready.json()["receipts"]
    assert ready.status_code == 200 and record["waiting"] == 1 and record["moving"] is False
    assert "miserly_journal_pending 1.0" in metrics.text


def test_a_receipt_that_cannot_be_kept_is_counted(plans, tmp_path):
    answer, ready, metrics = ask(
        plans, {"features": PATIENT}, receipts=DOWN, journal=str(tmp_path / "j"), journal_limit=10
    )
    assert answer.status_code == 200 and "receipt_id" not in answer.json() and ready.status_code == 200
    assert "miserly_receipts_lost_total 1.0" in metrics.text


def test_a_receipt_that_is_required_and_cannot_be_kept_is_a_503(plans, tmp_path):
    answer, ready, _ = ask(
        plans, {"features": PATIENT},
        receipts=DOWN, journal=str(tmp_path / "j"), journal_limit=10, receipts_required=True,
    )  # fmt: skip
    assert answer.status_code == 503 and answer.json()["error"]["code"] == "receipt_not_kept"
    assert answer.headers["Retry-After"] == "5" and "answer" not in answer.json()
    assert ready.status_code == 503


@pytest.mark.long
def test_each_response_that_arrived_has_its_receipt_after_the_server_was_killed(plans, url, tmp_path):
    """Clients ask a real server until it is killed; the next one with the same folder moves what is left."""
    pending, arrived = tmp_path / "pending", []

    def ask_until_killed(service):
        with service.client() as client, contextlib.suppress(httpx.TransportError):
            while True:
                answer = client.post("/v1/models/heart/predict", json={"features": PATIENT})
                arrived.append(answer.json()["receipt_id"])

    for round_ in range(4):
        with running(plans, "--receipts", url, "--journal", pending) as service:
            threads = [threading.Thread(target=ask_until_killed, args=(service,)) for _ in range(4)]
            for thread in threads:
                thread.start()
            time.sleep(0.5 + 0.3 * round_)
            service.stop(signal.SIGKILL)
            for thread in threads:
                thread.join()
    with running(plans, "--receipts", url, "--journal", pending) as service:
        wait_until(lambda: len(list(pending.glob("*.lock"))) == 1, 30)
    kept = [row["id"] for row in rows(url)]
    assert len(arrived) > 100 and set(arrived) <= set(kept) and len(kept) == len(set(kept))
    assert len(kept) - len(arrived) <= 4 * 4  # those whose response was under way
