"""Sessions over HTTP: what is asked, what is answered, and what cannot be done to them."""

from __future__ import annotations

import asyncio
import json
import time

import pytest

from miserly import Costs
from miserly.plan.facts import range_facts
from miserly.runtime import OnDemand, Source
from miserly.serve import session_routes, session_stores
from miserly.serve.receipts.journal import NotKept
from miserly.serve.service import short_session
from tests.plan import sample_plans
from tests.runtime.plans import PATIENT, heart, linear
from tests.runtime.test_what_if import small
from tests.serve.apps import serving
from tests.serve.test_predict import error

NEW = "/v1/models/heart/sessions"


@pytest.fixture(scope="module")
def plans(tmp_path_factory):
    folder = tmp_path_factory.mktemp("plans")
    heart().save(folder / "heart.miser")
    small().save(folder / "small.miser")
    linear(2, costs=Costs([1.0, 2.0])).save(folder / "unnamed.miser")
    return folder


def with_client(plans, work, **options):
    """Run an async function with a client of the service; gives what it gives."""

    async def run():
        async with serving(plans, **options) as client:
            client.answers = []
            client.app.state.service.listeners.append(client.answers.append)
            return await work(client)

    return asyncio.run(asyncio.wait_for(run(), 60.0))


async def begin(client, model="heart", **body):
    response = await client.post(f"/v1/models/{model}/sessions", json=body)
    assert response.status_code == 201, response.text
    return response.json()


async def post(client, session, action, status=200, **body):
    response = await client.post(f"/v1/sessions/{session['id']}/{action}", json=body)
    assert response.status_code == status, response.text
    return response.json()


async def patch(client, session, status=200, **body):
    response = await client.patch(f"/v1/sessions/{session['id']}", json=body)
    assert response.status_code == status, response.text
    return response.json()


async def play(client, session, patient):
    while session["question"] is not None:
        name = session["question"]["feature"]
        session = await post(
            client, session, "values", values={name: patient[name]}, version=session["version"]
        )
    return session


def without_times(record):
    record = json.loads(json.dumps(record))
    record.pop("seconds")
    for purchase in record["trail"]:
        purchase.pop("seconds")
    return record


# -- a whole session -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("given", [{}, {"budget": 6}, {"known": {"age": 61.0}}, {"prices": {"blood": 0.5}}])
def test_a_session_ends_with_the_receipt_of_on_demand(plans, given):
    async def work(client):
        session = await play(client, await begin(client, **given), PATIENT)
        expected = without_times(OnDemand(heart()).predict(PATIENT, **given).to_dict())
        assert session["state"] == "ended" and session["wanted"] == []
        assert without_times(session["receipt"]) == expected
        assert session["answer"]["value"] == expected["answer"]
        assert session["cost"] == expected["cost"] == sum(one["cost"] for one in session["history"])
        assert len(client.answers) == 1
        assert (await client.get(f"/v1/sessions/{session['id']}")).json()["receipt"] == session["receipt"]
        assert len(client.answers) == 1

    with_client(plans, work)


def test_a_question_says_all_that_a_page_needs(plans):
    async def work(client):
        session = await begin(client, budget=20)
        assert session["version"] == 1 and session["budget"] == 20 and session["cost"] == 0
        assert session["wanted"] == ["age", "pain", "chol", "fbs"] and not session["can_go_back"]
        session = await post(client, session, "values", values={"age": 61})
        question = session["question"]
        assert (question["feature"], question["kind"], question["price"]) == ("pain", "category", 2.0)
        assert [one["value"] for one in question["choices"]] == ["none", "typical"]
        assert question["certain"] == ["chol", "fbs"] and question["most"] == 12.0
        assert {one["value"] for one in question["outlook"]} == {"well", "ill"}
        assert all(0.5 <= one["low"] <= one["high"] <= 1.0 for one in question["outlook"])
        (age,) = session["history"]
        assert (age["feature"], age["value"], age["outcome"], age["cost"]) == ("age", 61, "value", 1.0)
        assert session["answer"]["probabilities"]["well"] == pytest.approx(1.0, abs=1e-6)
        assert session["version"] == 2 and session["can_go_back"] and session["receipt"] is None
        session = await post(client, session, "values", values={"pain": "none"})
        assert (session["question"]["setup"], session["question"]["group"]) == (2.0, "blood")

    with_client(plans, work)


def test_three_kinds_of_nothing(plans):
    async def work(client):
        session = await begin(client)
        session = await post(client, session, "values", values={"age": None}, unavailable=["pain"])
        assert [(one["outcome"], one["cost"]) for one in session["history"]] == [("null", 1), ("declined", 0)]
        session = await post(client, session, "stop")
        assert session["receipt"]["stopped_by"] == "caller" and session["cost"] == 1.0
        assert session["receipt"]["acquired"] == ["age"]

    with_client(plans, work)


def test_several_values_at_once_in_any_order(plans):
    async def work(client):
        session = await begin(client)
        session = await post(client, session, "values", values={"fbs": 1.0, "chol": 200.0, "pain": "typical"})
        assert session["history"] == [] and session["wanted"] == ["age"] and session["cost"] == 0
        session = await post(client, session, "values", values={"age": 61.0})
        assert without_times(session["receipt"]) == without_times(
            OnDemand(heart()).predict(PATIENT).to_dict()
        )
        session = await begin(client)
        session = await post(client, session, "values", values={"fbs": 1.0})
        session = await post(client, session, "stop")
        assert session["unused"] == ["fbs"] and session["cost"] == 0

    with_client(plans, work)


def test_features_without_names(plans):
    async def work(client):
        session = await begin(client, "unnamed", known={"1": 5})
        assert session["wanted"] == ["0"]
        session = await post(client, session, "values", values={"0": 1})
        assert session["answer"]["value"] == 6.0

    with_client(plans, work)


def test_no_body_is_an_empty_one(plans):
    async def work(client):
        made = await client.post(NEW)
        assert made.status_code == 201
        path = f"/v1/sessions/{made.json()['id']}"
        await client.post(f"{path}/values", json={"values": {"age": 1}})
        assert (await client.post(f"{path}/back")).json()["history"] == []
        assert (await client.post(f"{path}/stop")).json()["state"] == "ended"

    with_client(plans, work)


# -- going back, stopping, budgets ---------------------------------------------------------------------------


def test_back_reopens_a_session_and_the_last_receipt_counts(plans):
    async def work(client):
        session = await play(client, await begin(client), PATIENT)
        assert session["receipt"]["answer"] == "ill"
        session = await post(client, session, "back")
        assert session["state"] == "asking" and session["question"]["feature"] == "fbs"
        session = await post(client, session, "back")
        session = await play(client, session, {**PATIENT, "chol": -50.0, "fbs": 0.0})
        assert session["receipt"]["answer"] == "well"
        first, second = client.answers
        assert first.session_id == second.session_id == short_session(session["id"])
        assert session["id"] not in repr(first)
        assert [one.receipt.answer for one in (first, second)] == ["ill", "well"]

    with_client(plans, work)


def test_back_after_stop_asks_on_and_stop_twice_is_one_answer(plans):
    async def work(client):
        session = await begin(client)
        assert error_of(await post(client, session, "back", 409)) == "nothing_to_take_back"
        session = await post(client, session, "values", values={"age": 61})
        session = await post(client, session, "stop")
        again = await post(client, session, "stop")
        assert again == {**session, "expires_at": again["expires_at"]} and len(client.answers) == 1
        session = await post(client, session, "back")
        assert session["question"]["feature"] == "pain"

    with_client(plans, work)


def error_of(record):
    assert list(record) == ["error"] and list(record["error"]) == ["code", "message", "field"]
    return record["error"]["code"]


def test_budgets_can_be_changed(plans):
    async def work(client):
        session = await begin(client, budget=2)
        session = await post(client, session, "values", values={"age": 61})
        assert session["receipt"]["stopped_by"] == "budget" and len(client.answers) == 1
        refused = await patch(client, session, 409, budget=2.5)
        assert error_of(refused) == "session_ended" and len(client.answers) == 1
        session = await patch(client, session, budget=3, version=session["version"])
        assert session["state"] == "asking" and session["question"]["feature"] == "pain"
        session = await patch(client, session, budget=None)
        session = await post(client, session, "values", values={"pain": "none"})
        session = await patch(client, session, budget=2.5)  # 3 are paid already
        assert session["receipt"]["stopped_by"] == "budget"
        assert session["cost"] == 3.0 and session["budget"] == 2.5
        assert len(client.answers) == 2
        session = await post(client, await begin(client), "stop")
        assert error_of(await patch(client, session, 409, budget=9)) == "session_ended"

    with_client(plans, work)


def test_what_if_says_what_money_buys_and_changes_nothing(plans):
    async def work(client):
        session = await begin(client, "small", budget=1)
        session = await post(client, session, "values", values={"x": 1})
        assert session["state"] == "ended"
        what = await post(client, session, "what-if", more=2)
        assert [one["feature"] for one in what["certain"]] == ["y"] and what["possible"] == []
        assert what["more"] == 2.0 and what["budget"] == 3.0 and what["mean_cost"] == 2.0
        assert what["chance"] == pytest.approx(0.9, abs=0.01)  # 200 draws, evenly over the shares
        assert {one["value"]: one["share"] for one in what["outlook"]} == {
            "down": what["chance"], "up": pytest.approx(1.0 - what["chance"]),
        }  # fmt: skip
        assert "independently" in what["estimate"]
        assert await post(client, session, "what-if", budget=3) == what
        unchanged = (await client.get(f"/v1/sessions/{session['id']}")).json()
        assert unchanged["version"] == session["version"]
        session = await begin(client)
        what = await post(client, session, "what-if", more=1000)
        assert what["chance"] is None and "nothing is known about the values of age" in what["estimate"]

    with_client(plans, work)


# -- what is refused -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "code", "field"),
    [
        ({"values": {"age": "old"}}, "invalid_value", "values.age"),
        ({"values": {"age": True}}, "invalid_value", "values.age"),
        ({"values": {"age": [1]}}, "invalid_value", "values.age"),
        ({"values": {"pain": "tipical"}}, "invalid_value", "values.pain"),
        ({"values": {"aeg": 61}}, "unknown_feature", "values.aeg"),
        ({"values": {"fbs": 1}}, "not_asked", "values.fbs"),
        ({"unavailable": ["fbs"]}, "not_asked", "unavailable.fbs"),
        ({"unavailable": ["aeg"]}, "unknown_feature", "unavailable.aeg"),
        ({"unavailable": "age"}, "invalid_body", "unavailable"),
        ({"unavailable": [1]}, "invalid_body", "unavailable"),
        ({"values": {"age": 61}, "unavailable": ["age"]}, "invalid_body", "unavailable.age"),
        ({"values": []}, "invalid_values", "values"),
        ({}, "invalid_body", "values"),
        ({"values": {"age": 61}, "version": "1"}, "invalid_number", "version"),
        ({"values": {"age": 61}, "version": 0}, "invalid_number", "version"),
        ({"values": {"age": 61}, "extra": 1}, "unknown_field", "extra"),
    ],
)
def test_values_that_cannot_be_used_change_nothing(plans, body, code, field):
    async def work(client):
        session = await begin(client, budget=4)
        response = await client.post(f"/v1/sessions/{session['id']}/values", json=body)
        found = error(response)
        assert (found["code"], found["field"]) == (code, field)
        unchanged = (await client.get(f"/v1/sessions/{session['id']}")).json()
        assert unchanged == {**session, "expires_at": unchanged["expires_at"]}

    with_client(plans, work)


@pytest.mark.parametrize(
    ("body", "field"),
    [({"budget": -1}, "budget"), ({"budget": "x"}, "budget"), ({"known": {"pain": "x"}}, "known.pain"),
     ({"prices": {"age": -1}}, "prices.age"), ({"input": {"id": 1}}, "input"), ({"more": 1}, "more")],
)  # fmt: skip
def test_sessions_that_cannot_begin(plans, body, field):
    async def work(client):
        assert error(await client.post(NEW, json=body))["field"] == field
        assert error(await client.post("/v1/models/hart/sessions", json={}), 404)["code"] == "no_model"
        assert await client.app.state.service.sessions.count() == 0

    with_client(plans, work)


def test_amounts_that_make_no_sense(plans):
    async def work(client):
        session = await begin(client)
        for body in ({}, {"more": 1, "budget": 2}, {"more": -1}, {"more": "x"}):
            response = await client.post(f"/v1/sessions/{session['id']}/what-if", json=body)
            assert error(response)["field"] == "more"
        assert error_of(await patch(client, session, 422)) == "invalid_body"
        assert error_of(await patch(client, session, 422, budget=-2)) == "invalid_number"

    with_client(plans, work)


def test_an_ended_session_takes_no_values(plans):
    async def work(client):
        session = await post(client, await begin(client), "stop")
        refused = await post(client, session, "values", 409, values={"age": 61})
        assert error_of(refused) == "session_ended"

    with_client(plans, work)


def test_ids_that_are_none(plans):
    async def work(client):
        session = await begin(client)
        assert (await client.delete(f"/v1/sessions/{session['id']}")).status_code == 204
        for name in (session["id"], "x", "x" * 5000, "%00", "é", "..%2f"):
            for method, path, body in (
                ("GET", "", None), ("DELETE", "", None), ("PATCH", "", {"budget": 1}), ("POST", "/stop", {}),
                ("POST", "/back", {}), ("POST", "/values", {"values": {"age": 1}}),
                ("POST", "/what-if", {"more": 1}),
            ):  # fmt: skip
                response = await client.request(method, f"/v1/sessions/{name}{path}", json=body)
                assert error(response, 404)["code"] in ("no_session", "not_found")

    with_client(plans, work)


def test_a_session_belongs_to_its_key(plans):
    async def work(client):
        one, other = (
            {"Authorization": f"Bearer {key}"} for key in ("first-key-first-key", "other-key-other-key")
        )
        made = await client.post(NEW, headers=one)
        path = f"/v1/sessions/{made.json()['id']}"
        assert (await client.get(path, headers=one)).status_code == 200
        wrong, unknown = (
            await client.get(path, headers=other),
            await client.get("/v1/sessions/x", headers=other),
        )
        assert wrong.status_code == unknown.status_code == 404 and wrong.content == unknown.content
        assert (await client.delete(path, headers=other)).status_code == 404
        assert (await client.post(f"{path}/stop", headers=other)).status_code == 404
        assert (await client.get(path)).status_code == 401
        assert (await client.delete(path, headers=one)).status_code == 204

    with_client(plans, work, keys=("first-key-first-key", "other-key-other-key"))


def test_a_receipt_that_cannot_be_kept_is_asked_for_again(plans):
    class Full:
        broken = True

        def append(self, receipt, *, model, key_id, session_id, known):
            if self.broken:
                raise NotKept("no space left")
            return f"{model} {receipt.cost:g} {known} {session_id}"

    async def work(client):
        service, session = client.app.state.service, await begin(client, known={"age": 61.0})
        kept, service.receipts = service.receipts, Full()
        try:
            refused = await post(client, session, "stop", 503)
            assert error_of(refused) == "receipt_not_kept" and client.answers == []
            assert (await client.get(f"/v1/sessions/{session['id']}")).json()["state"] == "asking"
            service.receipts.broken = False
            ended = await post(client, session, "stop")
            assert ended["receipt_id"] == f"heart 0 {{'age': 61.0}} {session['id']}"
            assert len(client.answers) == 1
        finally:
            service.receipts = kept

    with_client(plans, work)


def test_no_answer_is_sent_before_its_receipt_is_passed_on(plans):
    """The request that ends a session is killed, or slow, before the receipt is passed on."""

    async def work(client):
        service = client.app.state.service
        answered = service.answered

        async def killed(*given):
            raise RuntimeError("killed")

        async def slow(*given):
            await asyncio.sleep(0.05)
            return await answered(*given)

        session = await begin(client)
        path = f"/v1/sessions/{session['id']}"
        service.answered = killed
        assert (await client.post(f"{path}/stop")).status_code == 500
        service.answered = answered
        shown = (await client.get(path)).json()
        assert shown["state"] == "ended" and len(client.answers) == 1
        await client.get(path)
        assert (await client.post(f"{path}/stop")).json()["version"] == shown["version"]
        assert len(client.answers) == 1
        session = await begin(client)
        path = f"/v1/sessions/{session['id']}"
        service.answered = slow
        ended, *seen = await asyncio.gather(
            client.post(f"{path}/stop"), *(client.get(path) for _ in range(5))
        )
        assert ended.json()["state"] == "ended" and all(one.status_code == 200 for one in seen)
        seen = await asyncio.gather(*(client.get(path) for _ in range(5)))
        assert {one.json()["state"] for one in seen} == {"ended"} and len(client.answers) == 2

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(session_routes, "_PATIENCE", 0.5)
        with_client(plans, work)


# -- two at a time, and bounds -------------------------------------------------------------------------------


def test_of_two_tabs_one_wins(plans):
    async def work(client):
        session = await begin(client)
        path = f"/v1/sessions/{session['id']}/values"
        bodies = [{"values": {"age": 50 + i}, "version": 1} for i in range(10)]
        responses = await asyncio.gather(*(client.post(path, json=body) for body in bodies))
        assert sorted(one.status_code for one in responses) == [200, *[409] * 9]
        for one in responses:
            if one.status_code == 409:
                assert error(one, 409)["code"] == "changed_meanwhile"
        stale = await post(client, session, "stop", 409, version=1)
        assert error_of(stale) == "changed_meanwhile"
        winner = next(one.json() for one in responses if one.status_code == 200)
        now = (await client.get(f"/v1/sessions/{session['id']}")).json()
        assert now["history"] == winner["history"] and now["version"] == 2

    with_client(plans, work)


def test_of_two_that_end_a_session_one_passes_on_a_receipt(plans):
    async def slow(raw):
        await asyncio.sleep(0.05)
        return {"chol": 200.0, "fbs": 1.0}

    async def work(client):
        session = await begin(client, input={"patient": 7})
        path = f"/v1/sessions/{session['id']}/values"
        body = {
            "values": {"age": 61, "pain": "typical"}
        }  # no version: both are read before either is written
        responses = await asyncio.gather(*(client.post(path, json=body) for _ in range(8)))
        assert sorted(one.status_code for one in responses) == [200, *[409] * 7]
        assert len(client.answers) == 1

    with_client(plans, work, sources={"heart": {"blood": slow}})


def test_sessions_expire(plans):
    async def work(client):
        session = await begin(client)
        path = f"/v1/sessions/{session['id']}"
        for _ in range(3):  # reading it lets it live on
            await asyncio.sleep(0.25)
            assert (await client.get(path)).status_code == 200
        await asyncio.sleep(0.5)
        assert error(await client.get(path), 404)["code"] == "no_session"

    with_client(plans, work, session_ttl=0.4)


def test_number_and_bytes_are_bounded(plans):
    async def work(client):
        for _ in range(3):
            session = await begin(client)
        refused = await client.post(NEW)
        assert error(refused, 503)["code"] == "too_many_sessions" and int(refused.headers["Retry-After"]) >= 1
        await post(client, session, "values", values={"age": 61})  # those under way go on
        await client.delete(f"/v1/sessions/{session['id']}")
        session = await begin(client)
        assert (await client.get("/readyz")).status_code == 200

    with_client(plans, work, max_sessions=3)

    async def large(client):
        refused = await client.post(NEW, json={"input": {"scan": "x" * 5000}})
        assert error(refused, 413)["code"] == "session_too_large"

    with_client(plans, large, max_session_size=4000, sources={"heart": {"blood": lambda raw: {}}})


@pytest.mark.parametrize(("depth", "status"), [(200, 201), (260, 422), (900, 422)])
def test_an_input_that_cannot_be_kept_is_refused(plans, depth, status):
    async def work(client):
        body = b'{"input":' + b'{"a":' * depth + b"1" + b"}" * depth + b"}"
        response = await client.post(NEW, content=body, headers={"content-type": "application/json"})
        if status == 201:
            return response.json()["id"]
        return error(response, 422)["field"]

    found = with_client(plans, work, sources={"heart": {"blood": lambda raw: {}}})
    assert len(found) == 32 if status == 201 else found == "input"


# -- models that change --------------------------------------------------------------------------------------


def test_a_session_goes_on_with_its_version_of_the_model(tmp_path):
    heart().save(tmp_path / "heart.miser")

    async def work(client):
        models = client.app.state.service.models
        session = await begin(client)
        heart(base=[-1.0]).save(tmp_path / "heart.miser")
        models.refresh()
        newer = await begin(client)
        assert newer["digest"] != session["digest"] == heart().digest
        session = await play(client, session, PATIENT)
        assert without_times(session["receipt"]) == without_times(
            OnDemand(heart()).predict(PATIENT).to_dict()
        )
        for i in range(4):
            heart(base=[float(i)]).save(tmp_path / "heart.miser")
            models.refresh()
        gone = await client.get(f"/v1/sessions/{session['id']}")
        assert error(gone, 410)["code"] == "model_changed"
        assert (await client.delete(f"/v1/sessions/{session['id']}")).status_code == 204

    with_client(tmp_path, work)


# -- sources of the server -----------------------------------------------------------------------------------


def test_what_the_server_can_get_is_not_asked(plans):
    calls = []

    def blood(raw):
        calls.append(raw)
        return {"chol": 200.0, "fbs": 1.0}

    async def work(client):
        session = await begin(client, input={"patient": 7})
        assert session["wanted"] == ["age", "pain"]
        session = await post(client, session, "values", values={"age": 61.0, "pain": "typical"})
        assert session["state"] == "ended" and calls == [{"patient": 7, "age": 61.0, "pain": "typical"}]
        assert [one["feature"] for one in session["history"]] == ["age", "pain", "chol", "fbs"]
        assert session["cost"] == OnDemand(heart()).predict(PATIENT).cost
        assert session["id"] not in json.dumps(session["receipt"])

    with_client(plans, work, sources={"heart": {"blood": blood}})


def test_a_source_that_fails_or_hangs_is_in_the_history_without_its_secrets(plans):
    async def hangs(raw):
        await asyncio.sleep(30)

    def fails(raw):
        raise OSError("cannot reach db://admin:secret@10.0.0.1")

    async def work(client):
        begun = time.monotonic()
        session = await begin(client)
        session = await post(client, session, "values", values={"pain": "typical"})
        assert time.monotonic() - begun < 5.0
        assert [(one["feature"], one["outcome"]) for one in session["history"]] == [
            ("age", "failed"), ("pain", "value"), ("chol", "late"),
        ]  # fmt: skip
        assert session["question"]["feature"] == "fbs" and session["cost"] == 2.0
        session = await post(client, session, "stop")
        assert "secret" not in json.dumps(session)

    sources = {"heart": {"age": fails, "chol": hangs}}
    with_client(plans, work, sources=sources, timeout=0.5)


def test_a_source_that_must_not_fail_ends_the_session(plans):
    def fails(raw):
        raise OSError("secret")

    async def work(client):
        session = await begin(client)
        assert session["state"] == "ended" and session["receipt"]["stopped_by"] == "failure"
        assert "secret" not in json.dumps(session) and len(client.answers) == 1

    with_client(plans, work, sources={"heart": {"age": Source(fails, fallback="raise")}})


# -- others --------------------------------------------------------------------------------------------------


def test_a_step_takes_milliseconds_of_processor_time(tmp_path):
    plan = sample_plans.heart(60)
    rows = sample_plans.np.random.default_rng(0).normal(size=(50, 13))
    rows[:, 2] = 1.0
    plan.replace(info={"features": range_facts(plan, rows)}).save(tmp_path / "heart.miser")

    async def work(client):
        session = await begin(client)
        took = []
        while session["question"] is not None:
            name = session["question"]["feature"]
            value = "typical" if name == "cp" else 0.1
            begun = time.process_time()
            session = await post(client, session, "values", values={name: value})
            took.append(time.process_time() - begun)
        assert len(took) >= 3 and sorted(took)[len(took) // 2] < 0.02

    with_client(tmp_path, work)


@pytest.mark.parametrize("value", [1e308, -1e308, 2**63, -0.0, 5e-324])
def test_numbers_at_the_end_of_what_json_can_hold(plans, value):
    async def work(client):
        session = await begin(client, "unnamed")
        session = await post(client, session, "values", values={"0": value, "1": value})
        assert session["state"] == "ended"  # a sum that is not finite is null
        shown = (await client.get(f"/v1/sessions/{session['id']}")).json()
        assert shown["receipt"] == session["receipt"]

    with_client(plans, work)


def test_the_number_of_sessions_is_a_metric(plans):
    async def work(client):
        await begin(client)
        await begin(client)
        await asyncio.sleep(0.05)
        return client.app.state.service.metrics.gauges["sessions"]()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(session_stores, "COUNT_EVERY", 0.01)
        assert with_client(plans, work) == 2.0


def test_openapi_has_every_route_with_an_example(plans):
    async def work(client):
        paths = (await client.get("/openapi.json")).json()["paths"]
        for path, method in (
            (NEW.replace("heart", "{name}"), "post"), ("/v1/sessions/{id}", "get"),
            ("/v1/sessions/{id}", "delete"), ("/v1/sessions/{id}", "patch"),
            ("/v1/sessions/{id}/values", "post"), ("/v1/sessions/{id}/back", "post"),
            ("/v1/sessions/{id}/stop", "post"), ("/v1/sessions/{id}/what-if", "post"),
        ):  # fmt: skip
            route = paths[path][method]
            assert "404" in route["responses"] and route["tags"] == ["sessions"]
            if method not in ("get", "delete"):
                assert route["requestBody"]["content"]["application/json"]["examples"]
            if method != "delete":
                good = next(one for code, one in route["responses"].items() if code.startswith("2"))
                assert good["content"]["application/json"]["example"]

    with_client(plans, work)


def test_a_question_with_few_values_has_the_answer_after_each(tmp_path):
    """They are the answers of the runtime; a number without known values has none."""
    plan = heart()
    plan.save(tmp_path / "heart.miser")

    async def main():
        async with serving(tmp_path) as client:
            first = (await client.post("/v1/models/heart/sessions", json={})).json()
            path = f"/v1/sessions/{first['id']}/values"
            return first, (await client.post(path, json={"values": {"age": 61}})).json()

    first, second = asyncio.run(main())
    assert first["question"]["answers"] == []
    for one in second["question"]["answers"]:
        trail = plan.start()
        trail.tell({"age": 61.0, "pain": one["value"]})
        assert (one["answer"], one["probability"]) == (
            trail.answer().value,
            trail.answer().probabilities.max(),
        )
    assert [one["value"] for one in second["question"]["answers"]] == ["none", "typical"]
