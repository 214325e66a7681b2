"""What the sources of a client brought: sessions are given what was paid, and what failed."""

import asyncio

import pytest

from miserly.runtime import Interview, SourceReport

from ..runtime.plans import PATIENT, heart, linear
from .apps import serving


@pytest.fixture
def models(tmp_path):
    heart().save(tmp_path / "heart.miser")
    linear(3).save(tmp_path / "line.miser")
    return tmp_path


def talk(models, model, *bodies, begin=None, **options):
    """The responses to some requests of a session: a path with its body each."""

    async def main():
        async with serving(models, **options) as client:
            found = await client.post(f"/v1/models/{model}/sessions", json=begin or {})
            path = f"/v1/sessions/{found.json()['id']}"
            return [await client.post(f"{path}/{what}", json=body) for what, body in bodies]

    return asyncio.run(main())


def one(feature, value=None, **more):
    return {"feature": feature, **({} if value is None else {"value": value}), **more}


def test_what_was_paid_is_what_the_client_says(models):
    fetched = [one("x0", 1.0, cost=0.25, seconds=0.5, retries=2), one("x1", 2.0), one("x2", 3.0, lost=4.0)]
    (response,) = talk(models, "line", ("values", {"fetched": fetched}))
    receipt = response.json()["receipt"]
    assert receipt["answer"] == 6.0 and receipt["stopped_by"] == "answered"
    assert receipt["cost"] == 0.25 + 1.0 + (1.0 + 4.0)
    assert [purchase["cost"] for purchase in receipt["trail"]] == [0.25, 1.0, 5.0]
    assert (receipt["trail"][0]["seconds"], receipt["trail"][0]["retries"]) == (0.5, 2)


def test_a_failure_is_missing_and_keeps_its_name(models):
    fetched = [one("x0", outcome="failed", retries=1), one("x1", outcome="nan"), one("x2", 3.0)]
    (response,) = talk(models, "line", ("values", {"fetched": fetched}))
    receipt = response.json()["receipt"]
    assert [purchase["outcome"] for purchase in receipt["trail"]] == ["failed", "nan", "value"]
    assert receipt["cost"] == 2.0 and receipt["acquired"] == ["x1", "x2"]


def test_a_price_above_what_was_reserved_ends_a_session_with_a_cap(models):
    fetched = [one("x0", 1.0, cost=2.0), one("x1", 2.0), one("x2", 3.0)]
    (response,) = talk(models, "line", ("values", {"fetched": fetched}), begin={"budget": 3})
    receipt = response.json()["receipt"]
    assert receipt["stopped_by"] == "budget" and receipt["overrun"]
    assert receipt["cost"] == 4.0  # all three were bought


def test_a_stop_pays_for_what_had_come_and_does_not_use_it(models):
    fetched = [one("x0", 1.0), one("x1", outcome="late", lost=1.0), one("x2", outcome="cancelled")]
    stopped, again, back = talk(
        models, "line", ("stop", {"by": "deadline", "fetched": fetched}), ("stop", {}), ("back", {})
    )
    receipt = stopped.json()["receipt"]
    assert (receipt["stopped_by"], receipt["answer"], receipt["cost"]) == ("deadline", 0.0, 2.0)
    assert [purchase["outcome"] for purchase in receipt["trail"]] == ["late", "cancelled", "value"]
    assert again.json()["receipt"] == receipt
    assert back.json()["state"] == "asking" and back.json()["cost"] == 0.0


def test_a_stop_of_an_ended_session_is_read_as_any_other(models):
    bad = [[one("x0", 1.0, lost=[])], [one("nothing", 1.0)], [one("x0", outcome="odd")]]
    ended, *refused, again = talk(
        models, "line", ("stop", {}), *[("stop", {"fetched": fetched}) for fetched in bad],
        ("stop", {"fetched": [one("x0", 1.0)]}),
    )  # fmt: skip
    assert [response.status_code for response in refused] == [422, 422, 422]
    assert again.status_code == 200 and again.json()["receipt"] == ended.json()["receipt"]


def test_a_session_that_the_client_ended_for_the_budget_does_not_go_on_by_a_new_one(models):
    async def main():
        async with serving(models) as client:
            found = await client.post("/v1/models/line/sessions", json={"budget": 2})
            path = f"/v1/sessions/{found.json()['id']}"
            await client.post(f"{path}/stop", json={"by": "budget"})
            return await client.patch(path, json={"budget": 10})

    response = asyncio.run(main())
    assert response.status_code == 409 and response.json()["error"]["code"] == "session_ended"


BAD = [
    (7, "fetched"),
    ([7], "fetched"),
    ([{}], "fetched[0].feature"),
    ([one("x9", 1.0)], "fetched[0].x9"),
    ([one("x0", 1.0), one("x0", 1.0)], "fetched[1].feature"),
    ([one("x0", "odd")], "fetched[0].x0"),
    ([one("x0", 1.0, outcome="failed")], "fetched[0].value"),
    ([one("x0", outcome="odd")], "fetched[0].outcome"),
    ([one("x0", outcome=["failed"])], "fetched[0].outcome"),
    ([one("x0", outcome="failed", cost=1)], "fetched[0].cost"),
    ([one("x0", 1.0, cost=-1)], "fetched[0].cost"),
    ([one("x0", 1.0, cost=1e100)], "fetched[0].cost"),
    ([one("x0", 1.0, lost=True)], "fetched[0].lost"),
    ([one("x0", 1.0, retries=1.5)], "fetched[0].retries"),
    ([one("x0", 1.0, retries=10**9)], "fetched[0].retries"),
    ([one("x0", 1.0, price=3)], "fetched[0].price"),
]


@pytest.mark.parametrize("fetched, field", BAD)
def test_what_cannot_be_used_names_its_field(models, fetched, field):
    values, stop = talk(models, "line", ("values", {"fetched": fetched}), ("stop", {"fetched": fetched}))
    for response in (values, stop):
        assert response.status_code == 422 and response.json()["error"]["field"] == field


def test_what_is_not_asked_for_is_refused(models):
    body = {"fetched": [one("chol", 200.0)]}
    (response,) = talk(models, "heart", ("values", body), begin={"known": {"chol": 1.0}})
    assert response.status_code == 422 and response.json()["error"]["code"] == "not_asked"
    (response,) = talk(models, "line", ("stop", {"by": "whim"}))
    assert response.status_code == 422 and response.json()["error"]["field"] == "by"
    both = {"values": {"x0": 1.0}, "fetched": [one("x0", 1.0)]}
    (response,) = talk(models, "line", ("values", both))
    assert response.status_code == 422 and "two ways" in response.json()["error"]["message"]


def test_lost_amounts_cost_no_time(models):
    """A bill of many calls is one amount: nothing is counted up to it."""
    fetched = [one("x0", 1.0, lost=1e98, retries=1000)]
    (response,) = talk(models, "line", ("values", {"fetched": fetched}))
    assert response.status_code == 200 and response.json()["cost"] == pytest.approx(1e98)


# -- the interview behind it ---------------------------------------------------------------------------


def test_an_interview_with_reports_is_resumed_to_the_last_digit():
    plan = heart()
    interview = Interview(plan, budget=20)
    interview.report([SourceReport("age", 61.0, cost=0.3, seconds=0.2)])
    interview.reply("typical")
    interview.report([SourceReport("chol", outcome="failed", lost=14.0, retries=1)])
    assert interview.needed == ()
    again = Interview.resume(plan, interview.state())
    ours, theirs = interview.receipt().to_dict(), again.receipt().to_dict()
    assert ours == theirs and ours["stopped_by"] == "budget"
    assert ours["cost"] == pytest.approx(0.3 + 2.0 + 14.0)
    assert interview.back() and interview.question.feature == "pain"  # what sources brought stays before it


def test_a_stop_with_reports_is_resumed():
    plan = linear(3)
    interview = Interview(plan)
    interview.stop("time is over", "deadline", [SourceReport("x0", 1.0), SourceReport("x1", outcome="late")])
    again = Interview.resume(plan, interview.state())
    assert again.receipt().to_dict() == interview.receipt().to_dict()
    assert again.was_stopped and again.stopped_by == "deadline" and again.cost == 1.0
    assert again.back() and again.cost == 0.0 and not again.was_stopped
    assert again.needed == again.wanted == ("x0", "x1", "x2")


def test_needed_is_what_the_present_node_needs():
    interview = Interview(heart())
    assert interview.needed == ("age",) and interview.wanted == tuple(PATIENT)
