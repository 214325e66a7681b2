"""Receipts reach the database exactly once, whatever ends the process or stops the database."""

import json
import logging
import os
import signal
import sqlite3
import stat
import subprocess
import sys
import threading
import time
from contextlib import nullcontext
from pathlib import Path

import pytest
import sqlalchemy as sa

from miserly.runtime import OnDemand, Priced, Unavailable
from miserly.serve.receipts import NotKept, ReceiptKeeper, SchemaError, recover
from miserly.serve.receipts import database as database_module
from miserly.serve.receipts.database import DatabaseDown, ReceiptDatabase
from miserly.serve.receipts.tables import SCHEMA, SCHEMA_VERSION
from tests.runtime.plans import PATIENT, heart

from .databases import purchases, rows, run_crashes, wait_until


@pytest.fixture
def keep(url, tmp_path):
    """Keeps receipts and waits until they are in the database."""

    def keep(*receipts, **options):
        known = options.pop("known", None)
        keeper = ReceiptKeeper(url, tmp_path / "pending", **options)
        keeper.start()
        ids = [keeper.append(one, model="heart", key_id="ab", known=known) for one in receipts]
        keeper.close()
        assert keeper.status().waiting == 0
        return ids

    return keep


def adds_up(receipt, bought):
    return sum([*(one["cost"] for one in bought if not one["ahead"]), receipt["evaluation_cost"]])


def test_a_receipt_comes_back_as_it_was_and_adds_up_exactly(url, keep):
    sources = {
        "pain": lambda patient: Priced(patient["pain"], cost=0.1 + 0.2),
        "blood": lambda patient: Priced({"chol": 0.1, "fbs": None}, cost=0.7),
    }
    served = OnDemand(heart(), sources)
    given = [served.predict(PATIENT), served.predict(PATIENT, budget=6, prices={"age": 0.3}, deadline=5)]
    ids = keep(*given, keep_values=True)
    kept = rows(url)
    assert [one["id"] for one in kept] == ids
    for receipt, row in zip(given, kept, strict=True):
        bought = [one for one in purchases(url) if one["receipt_id"] == row["id"]]
        assert row["cost"] == receipt.cost == adds_up(row, bought)
        assert json.loads(row["answer"]) == receipt.answer
        assert row["probabilities"] == dict(zip(["well", "ill"], receipt.probabilities, strict=True))
        assert (row["digest"], row["unit"], row["key_id"]) == (heart().digest, "CAD", "ab")
        assert (row["stopped_by"], row["node"]) == (receipt.stopped_by, receipt.node)
        assert row["at"].tzinfo is not None
        for one, shown in zip(bought, receipt.trail, strict=True):
            names = ("feature", "price", "cost", "reserved", "outcome", "seconds", "retries")
            assert [one[name] for name in names] == [getattr(shown, name) for name in names]
            assert (None if one["value"] is None else json.loads(one["value"])) == shown.value
    assert (kept[1]["budget"], kept[1]["deadline"], kept[1]["own_prices"]) == (6, 5, True)
    assert (kept[0]["budget"], kept[0]["deadline"], kept[0]["own_prices"]) == (None, None, False)


def test_values_and_what_quotes_them_are_left_out_unless_asked_for(url, keep, tmp_path):
    def secret(patient):
        raise Unavailable("SECRET")

    receipt = OnDemand(heart(), {"chol": secret}, fallback="stop").predict(
        {**PATIENT, "pain": "typical"}, known={"age": 12345.0}
    )
    keep(receipt, known={"age": 12345.0})
    row, bought = rows(url)[0], purchases(url)
    assert [one["value"] for one in bought] == [None] * len(bought) and not row["has_values"]
    assert row["known"] == ["age"] and row["known_values"] is None
    everything = repr(rows(url)) + repr(purchases(url))
    assert all(word not in everything for word in ("SECRET", "12345", "typical"))
    keep(receipt, known={"age": 12345.0}, keep_values=True)
    row = rows(url)[1]
    assert row["known_values"] == {"age": 12345.0} and "SECRET" in row["reason"]


def test_text_that_no_database_likes_is_kept(url, keep):
    bad = "nul\0 surrogate\ud800 quote' 😀 \n"
    receipt = OnDemand(heart(), {"chol": lambda patient: bad}).predict(PATIENT)
    assert receipt.trail[2].outcome == "invalid"
    big = OnDemand(heart(), {"chol": lambda patient: 10**30}).predict(PATIENT)
    assert keep(receipt, big, keep_values=True) == [one["id"] for one in rows(url)]
    kept = [one for one in purchases(url) if one["feature"] == "chol"]
    assert kept[0]["outcome"] == "invalid" and json.loads(kept[1]["value"]) == 1e30


def test_nothing_that_was_acknowledged_is_lost_when_processes_are_killed(url, tmp_path):
    """Two processes at once share a folder and a database."""
    done = tmp_path / "acknowledged"
    done.mkdir()
    run_crashes(url, tmp_path / "pending", done, 5, 2)
    left = recover(url, tmp_path / "pending")
    assert_all_are_there(url, done, n_killed=10)
    assert left.refused == 0
    assert not list((tmp_path / "pending").iterdir())


@pytest.mark.long
def test_nothing_is_lost_in_many_kills(url, tmp_path):
    done = tmp_path / "acknowledged"
    done.mkdir()
    run_crashes(url, tmp_path / "pending", done, 150, 2)
    recover(url, tmp_path / "pending")
    assert_all_are_there(url, done, n_killed=300)


def assert_all_are_there(url, folder, n_killed):
    """Each once, with its purchases; at most one receipt of each process was not acknowledged yet.

    Acknowledgements are whole lines: a kill can end a write in the middle.
    """
    files = [path.read_text() for path in folder.iterdir()]
    acknowledged = [line for text in files for line in text.splitlines(keepends=True)]
    acknowledged = [line.strip() for line in acknowledged if line.endswith("\n")]
    kept = [one["id"] for one in rows(url)]
    assert len(acknowledged) > 10 * n_killed and len(set(acknowledged)) == len(acknowledged)
    assert set(acknowledged) <= set(kept) and len(kept) == len(set(kept))
    assert len(kept) - len(acknowledged) <= n_killed
    assert len(purchases(url)) == 4 * len(kept)


def test_the_process_that_stores_receipts_is_replaced_when_it_is_killed(url, tmp_path):
    served = OnDemand(heart())
    keeper = ReceiptKeeper(url, tmp_path / "pending", interval=0.01)
    keeper.start()
    ids, killed = [], set()
    for _ in range(3):
        ids += [keeper.append(served.predict(PATIENT), model="heart") for _ in range(50)]
        wait_until(lambda: keeper.status().moved > 0 and keeper.storing.pid not in {None, *killed})
        killed.add(keeper.storing.pid)
        os.kill(keeper.storing.pid, signal.SIGKILL)
    ids.append(keeper.append(served.predict(PATIENT), model="heart"))
    wait_until(lambda: keeper.status().waiting == 0 and keeper.status().problem is None)
    keeper.close()
    assert [one["id"] for one in rows(url)] == ids and len(killed) == 3


def test_the_process_that_stores_receipts_ends_with_the_one_that_keeps_them(tmp_path):
    script = (
        "import time\nfrom miserly.serve.receipts import ReceiptKeeper\n"
        f"keeper = ReceiptKeeper({str(tmp_path / 'receipts.db')!r})\nkeeper.start()\n"
        "while keeper.storing.pid is None: time.sleep(0.01)\n"
        "print(keeper.storing.pid, flush=True)\ntime.sleep(60)"
    )
    keeps = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    assert keeps.stdout is not None
    with keeps.stdout:
        stores = int(keeps.stdout.readline())
    os.kill(stores, 0)
    keeps.kill()
    keeps.wait()
    wait_until(lambda: not Path(f"/proc/{stores}").exists() or "State:\tZ" in _status(stores))


def _status(pid):
    try:
        return Path(f"/proc/{pid}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return "State:\tZ"


def test_while_the_database_is_down_receipts_wait_and_then_arrive(postgres, tmp_path, caplog):
    served = OnDemand(heart())
    keeper = ReceiptKeeper(postgres.url, tmp_path / "pending", interval=0.02)
    keeper.start()
    try:
        first = keeper.append(served.predict(PATIENT), model="heart")
        wait_until(lambda: keeper.status().moved == 1)
        postgres.stop()
        while_down = [keeper.append(served.predict(PATIENT), model="heart") for _ in range(300)]
        wait_until(lambda: keeper.status().problem is not None)
        status = keeper.status()
        assert status.waiting == 300 and status.waiting_seconds > 0 and status.lost == 0
        postgres.start()
        wait_until(lambda: keeper.status().waiting == 0 and keeper.status().problem is None, 30)
        assert [one["id"] for one in rows(postgres.url)] == [first, *while_down]
        assert "are moved to the database again" in caplog.text
    finally:
        if postgres.process is None:
            postgres.start()
        keeper.close()


def test_a_service_starts_without_its_database_and_leaves_receipts_for_the_next(tmp_path):
    missing = "postgresql+psycopg://miserly@127.0.0.1:1/none"
    keeper = ReceiptKeeper(missing, tmp_path)
    keeper.start()
    assert keeper.append(OnDemand(heart()).predict(PATIENT), model="heart") is not None
    keeper.close()
    assert keeper.status().waiting == 1 and "refused" in keeper.status().problem
    assert sorted(path.suffix for path in tmp_path.iterdir()) == [".jsonl", ".lock"]


def test_a_locked_file_of_sqlite_is_waited_for(tmp_path):
    url = tmp_path / "receipts.db"
    keeper = ReceiptKeeper(url, interval=0.01)
    keeper.start()
    holder = sqlite3.connect(url, isolation_level=None)
    holder.execute("BEGIN EXCLUSIVE")
    keeper.append(OnDemand(heart()).predict(PATIENT), model="heart")
    time.sleep(0.1)
    assert keeper.status().waiting == 1
    holder.execute("COMMIT")
    holder.close()
    wait_until(lambda: keeper.status().waiting == 0)
    keeper.close()
    assert len(rows(url)) == 1


def test_files_are_for_their_owner_alone(tmp_path):
    url = tmp_path / "receipts.db"
    keeper = ReceiptKeeper(url, interval=30)
    keeper.start()
    keeper.append(OnDemand(heart()).predict(PATIENT), model="heart")
    pending = Path(f"{url}.pending")
    assert stat.S_IMODE(pending.stat().st_mode) == 0o700
    assert all(stat.S_IMODE(path.stat().st_mode) == 0o600 for path in (url, *pending.iterdir()))
    keeper.close()


def test_a_full_journal_is_counted_and_refused_where_receipts_are_required(tmp_path, caplog):
    receipt = OnDemand(heart()).predict(PATIENT)
    keeper = ReceiptKeeper("postgresql://127.0.0.1:1/none", tmp_path, limit=2000)
    assert keeper.append(receipt, model="heart") is not None
    with caplog.at_level(logging.ERROR):
        assert [keeper.append(receipt, model="heart") for _ in range(5)][-1] is None
    assert keeper.status().lost >= 3 and keeper.status().waiting_bytes <= 2000
    assert "is not kept" in caplog.text
    keeper.required = True
    with pytest.raises(NotKept, match="of 2,000 bytes wait"):
        keeper.append(receipt, model="heart")
    keeper.close()


def test_a_receipt_that_the_database_refuses_does_not_stop_the_others(url, tmp_path, caplog):
    receipt = OnDemand(heart()).predict(PATIENT)
    keeper = ReceiptKeeper(url, tmp_path / "pending", interval=0.01)
    ids = [keeper.append(receipt, model="heart"), keeper.append(receipt, model=None)]
    ids.append(keeper.append(receipt, model="heart"))
    keeper.start()
    wait_until(lambda: keeper.status().waiting == 0)
    keeper.close()
    assert (keeper.status().moved, keeper.status().refused) == (2, 1)
    assert [one["id"] for one in rows(url)] == [ids[0], ids[2]]
    refused = tmp_path / "pending" / "refused.jsonl"
    assert json.loads(refused.read_text())["id"] == ids[1] and "refused" in caplog.text
    assert stat.S_IMODE(refused.stat().st_mode) == 0o600


def test_journals_of_another_database_are_left_alone(tmp_path, caplog):
    other = ReceiptKeeper("postgresql://127.0.0.1:1/none", tmp_path)
    other.append(OnDemand(heart()).predict(PATIENT), model="heart")
    other.close()
    keeper = ReceiptKeeper(tmp_path / "receipts.db", tmp_path)
    keeper.start()
    keeper.close()
    assert keeper.status().recovered == 0 and "another database" in caplog.text
    assert len(list(tmp_path.glob("*.jsonl"))) == 1


def test_damaged_lines_are_skipped_and_reported(url, tmp_path, caplog):
    keeper = ReceiptKeeper(url, tmp_path)
    ids = [keeper.append(OnDemand(heart()).predict(PATIENT), model="heart") for _ in range(3)]
    keeper.journal.forget()  # as a process that ends
    (path,) = tmp_path.glob("*.jsonl")
    first, second, third = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(first + second.replace(b'"cost":', b'"cosT":', 1) + third[: len(third) // 2])
    left = recover(url, tmp_path)
    assert (left.recovered, left.damaged) == (1, 2) and "2 damaged lines" in caplog.text
    assert [one["id"] for one in rows(url)] == ids[:1]


def test_tables_of_another_version_or_of_others_are_refused(url, tmp_path):
    database = ReceiptDatabase(url)
    database.check()
    with database.engine.begin() as connection:
        connection.execute(sa.insert(SCHEMA), {"version": SCHEMA_VERSION + 1})
    database.close()
    keeper = ReceiptKeeper(url, tmp_path / "pending")
    with pytest.raises(SchemaError, match="of version 2, and this miserly reads version 1"):
        keeper.start()
    keeper.close()


def test_a_table_of_the_same_name_is_not_touched(tmp_path):
    with sqlite3.connect(tmp_path / "shop.db") as connection:
        connection.execute("CREATE TABLE receipts (total)")
    connection.close()
    with pytest.raises(SchemaError, match="a table receipts that is not from miserly"):
        ReceiptDatabase(tmp_path / "shop.db").check()


def test_processes_can_make_the_tables_at_once(url):
    problems = []

    def check():
        try:
            database = ReceiptDatabase(url)
            database.check()
            database.close()
        except Exception as error:
            problems.append(error)

    threads = [threading.Thread(target=check) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not problems


@pytest.mark.parametrize(("times", "comes_up"), [(3, True), (10_000, False)])
def test_a_file_that_others_prepare_is_tried_again(times, comes_up, tmp_path, monkeypatch):
    """SQLite says at once that the file is locked if another process prepares it at the same moment."""
    original, left = ReceiptDatabase._check_tables, [None] * times

    def busy(self, connection):
        if left:
            left.pop()
            locked = sqlite3.OperationalError("database is locked")
            locked.sqlite_errorcode = sqlite3.SQLITE_BUSY
            raise sa.exc.OperationalError("BEGIN IMMEDIATE", None, locked)
        original(self, connection)

    monkeypatch.setattr(ReceiptDatabase, "_check_tables", busy)
    monkeypatch.setattr(database_module, "_PATIENCE", 1.0)
    database = ReceiptDatabase(tmp_path / "shop.db")
    with nullcontext() if comes_up else pytest.raises(DatabaseDown, match="locked"):
        database.check()
    database.close()
    assert bool(left) != comes_up


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("", "is empty"),
        ("mysql://u:secret@h/d", r"not in mysql://u:\*\*\*@h/d"),
        ("sqlite://", "not in sqlite"),
        ("://", "neither"),
        ("/nowhere/at/all/receipts.db", "cannot be made|no folder"),
    ],
)
def test_addresses_that_cannot_be_used_are_explained(address, message, tmp_path, monkeypatch):
    from miserly.errors import DataError

    monkeypatch.chdir(tmp_path)
    if address.startswith("/nowhere") and os.getuid() == 0:
        with pytest.raises(DataError, match="no folder"):
            ReceiptDatabase(address).check()
        return
    with pytest.raises(DataError, match=message):
        ReceiptKeeper(address).start()
