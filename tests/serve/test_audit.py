"""One line of JSON for each answer; values only if asked for; no name can forge a line."""

import asyncio
import hashlib
import json
import os
import stat

import pytest

from miserly.costs import Costs
from miserly.errors import ServeError
from miserly.plan import Node, Plan, Raw
from miserly.runtime import OnDemand
from miserly.serve.audit import Audit, audit_line
from miserly.serve.models import ServedModel
from miserly.serve.service import AnswerEvent, Caller
from tests.runtime.plans import PATIENT, heart
from tests.serve.apps import serving

KEY = "correct-horse-battery-staple"


def event(plan=None, patient=PATIENT, name="heart", session=None):
    plan = heart() if plan is None else plan
    model = ServedModel.of(name, plan)
    receipt = OnDemand(plan).predict(patient)
    return AnswerEvent(receipt, model, Caller("0123456789ab"), "request-1", session, 1_800_000_000.25)


def test_a_line_says_who_asked_which_model_and_what_it_cost():
    record = json.loads(audit_line(event(session="b5853ca06ca1")))
    seconds = record.pop("seconds")
    assert 0 <= seconds < 5
    assert record == {
        "time": "2027-01-15T08:00:00.250+00:00", "request": "request-1", "key": "0123456789ab",
        "session": "b5853ca06ca1", "model": "heart", "digest": heart().digest,
        "cost": 13.0, "unit": "CAD", "acquired": ["age", "pain", "chol", "fbs"], "stopped_by": "answered",
    }  # fmt: skip


def test_values_and_answers_are_logged_only_if_asked_for():
    plain, full = audit_line(event()), audit_line(event(), values=True)
    for secret in (b"61", b"typical", b"200", b"ill"):
        assert secret not in plain.split(b'"seconds"')[0].replace(heart().digest.encode(), b"")
    record = json.loads(full)
    assert record["answer"] == "ill" and record["values"] == PATIENT


@pytest.mark.parametrize("name", [
    'a\n{"model": "forged"}', "a\r\nb", "a\x1b[2Jb", "a\u2028b", "a\u202eb", "a\x7fb", "a\x85b", "\ud800",
    '"}', "\\", "<script>", "\x00",
])  # fmt: skip
def test_no_name_can_forge_a_line_or_steer_a_terminal(name):
    plan = Plan(costs=Costs({name: 1.0}), terms=[Raw(0)], nodes=[Node([0], [0], [1.0], [0.0])], base=[0.0])
    line = audit_line(event(plan, {name: 2.0}), values=True)
    assert line.endswith(b"\n") and line.count(b"\n") == 1
    assert line[:-1].isascii() and min(line[:-1]) >= 32 and 127 not in line
    record = json.loads(line)
    assert record["acquired"] == [name] and record["values"] == {name: 2.0} and record["model"] == "heart"


def test_lines_are_added_to_a_private_file_that_may_be_moved_away(tmp_path):
    path = tmp_path / "audit.log"
    audit = Audit(str(path))
    audit.answered(event())
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    os.replace(path, tmp_path / "audit.log.1")
    audit._next_look = 0.0
    audit.answered(event())
    audit.close()
    audit.answered(event())
    audit.close()
    assert len((tmp_path / "audit.log.1").read_text().splitlines()) == 1
    assert len(path.read_text().splitlines()) == 2


def test_a_log_that_cannot_be_written_is_reported_once_and_stops_no_answer(caplog):
    failures = []
    audit = Audit("/dev/full", on_failure=lambda: failures.append(1))
    for _ in range(3):
        audit.answered(event())
    assert len(failures) == 3 and caplog.text.count("audit log cannot be written") == 1
    audit.close()


def test_a_log_that_cannot_be_opened_is_an_error_at_the_start(tmp_path):
    with pytest.raises(ServeError, match="cannot write the audit log there"):
        Audit(str(tmp_path / "none" / "audit.log"))


def test_each_answer_of_the_service_is_one_line(tmp_path):
    heart().save(tmp_path / "heart.miser")
    log = tmp_path / "audit.log"

    async def run():
        async with serving(tmp_path, audit=str(log), keys=(KEY,), headers={"x-api-key": KEY}) as client:
            body = {"rows": [PATIENT, {"age": 20.0}]}
            await client.post("/v1/models/heart/predict", json=body, headers={"x-request-id": "ward-7"})
            await client.post("/v1/models/heart/predict", json={"features": {"wrong": 1}})
            await client.get("/v1/models")

    asyncio.run(run())
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert [line["request"] for line in lines] == ["ward-7"] * 2
    assert {line["key"] for line in lines} == {
        hashlib.sha256(KEY.encode()).hexdigest()[:12]
    } and KEY not in log.read_text()
