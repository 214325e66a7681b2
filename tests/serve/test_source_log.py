"""The log of the server says which sources fail, and how often; clients see only that they did."""

import asyncio
import logging

import pytest

from miserly.serve.models import ServedModel
from miserly.serve.service import AnswerEvent
from miserly.serve.source_log import SourceLog

from ..runtime.plans import PATIENT, heart
from .apps import serving


def fails(raw):
    raise OSError(f"no route to 10.0.0.7\nfor {raw['age']}")


def ask(folder, times=1, **options):
    """The answers to a request whose source fails."""

    async def main():
        async with serving(folder, {"chol": fails}, **options) as client:
            body = {"features": {key: PATIENT[key] for key in ("age", "pain", "fbs")}}
            return [await client.post("/v1/models/heart/predict", json=body) for _ in range(times)]

    heart().save(folder / "heart.miser")
    return asyncio.run(main())


def lines(caplog):
    return [one.getMessage() for one in caplog.records if one.levelno == logging.WARNING]


def test_a_failure_is_logged_once_a_minute_without_values(tmp_path, caplog):
    answers = ask(tmp_path, times=3)
    assert lines(caplog) == ["model heart: the source of chol: failed: OSError"]
    assert all(one.status_code == 200 and "10.0.0.7" not in one.text for one in answers)


def test_the_message_is_logged_where_values_may_be(tmp_path, caplog):
    ask(tmp_path, log_values=True)
    assert lines(caplog) == [
        "model heart: the source of chol: failed: OSError: no route to 10.0.0.7 for 61.0"
    ]


@pytest.mark.parametrize("outcome", ["late", "invalid", "refused"])
def test_what_was_left_out_is_counted(caplog, outcome):
    now = [0.0]
    log = SourceLog(values=False, clock=lambda: now[0])
    model = ServedModel.of("heart", heart(), {"chol": fails})
    receipt = model.served.predict(PATIENT)
    entries = [one._replace(outcome=outcome) if one.outcome == "failed" else one for one in receipt.entries]
    object.__setattr__(receipt, "entries", entries)
    for second in (0, 10, 20, 70):
        now[0] = float(second)
        log.answered(AnswerEvent(receipt, model, None, "", None, 0.0))
    line = f"model heart: the source of chol: {outcome}"
    assert lines(caplog) == [line, f"{line} (2 more in the last 70 seconds)"]


def test_what_a_client_could_not_get_is_no_failure_of_the_server(caplog):
    log, model = SourceLog(values=True), ServedModel.of("heart", heart(), {"chol": lambda raw: 1.0})
    receipt = model.served.predict({"age": 61.0})  # pain and fbs are not given
    log.answered(AnswerEvent(receipt, model, None, "", None, 0.0))
    assert lines(caplog) == []
