"""Whatever fails in the server, clients see an outcome or an id: no exception, path, trace or version."""

import asyncio

import pytest

from miserly.runtime import Source
from tests.runtime.plans import PATIENT, heart
from tests.serve.apps import serving

SECRET = "/srv/secret/lab.ini: password=hunter2"
PREDICT = "/v1/models/heart/predict"
WORDS = ("hunter2", "/srv", "secret", "Traceback", "Error", "site-packages", ".py", "uvicorn", "0x")


def failing(*_):
    raise RuntimeError(SECRET)


async def failing_later(*_):
    raise RuntimeError(SECRET)


def check(response):
    for word in WORDS:
        assert word not in response.text, (word, response.text)
        assert all(word not in value for value in response.headers.values())
    return response


@pytest.fixture
def plans(tmp_path):
    heart().save(tmp_path / "heart.miser")
    return tmp_path


def ask(plans, sources, body, **options):
    async def run():
        async with serving(plans, sources, **options) as client:
            return check(await client.post(PREDICT, json=body))

    return asyncio.run(run())


KNOWN = {name: PATIENT[name] for name in ("age", "pain", "fbs")}


@pytest.mark.parametrize("source", [failing, failing_later])
@pytest.mark.parametrize("fallback", ["missing", "stop", "raise"])
@pytest.mark.parametrize("many", [False, True])
def test_what_a_source_reports_stays_in_the_server(plans, source, fallback, many):
    given = {"rows": [KNOWN, KNOWN]} if many else {"features": KNOWN}
    body = {**given, "receipt": True, "deadline": 5}
    response = ask(plans, {"chol": Source(source, fallback=fallback)}, body)
    if fallback == "raise":
        error = response.json()["error"]
        assert (response.status_code, error["code"]) == (503, "source_failed")
        assert error["message"] == "the source of chol failed"
        return
    record = response.json()["results"][0] if many else response.json()
    trail = {one["feature"]: one for one in record["receipt"]["trail"]}
    assert trail["chol"]["outcome"] == "failed" and trail["chol"]["message"] == "its source failed"
    assert "message" in trail["age"] and trail["age"]["message"] == ""
    if fallback == "stop":
        assert record["stopped_by"] == "failure" and record["reason"] == "the source of chol failed"


@pytest.mark.parametrize("value", ["a string with hunter2", object(), [1], float("nan"), 10**400])
def test_what_a_source_gives_that_cannot_be_used_stays_in_the_server(plans, value):
    response = ask(plans, {"chol": lambda raw: value}, {"features": KNOWN, "receipt": True})
    outcomes = {one["feature"]: one["outcome"] for one in response.json()["receipt"]["trail"]}
    assert outcomes["chol"] in ("invalid", "nan", "failed")


def test_a_crash_of_any_route_gives_an_id_alone(plans, caplog):
    async def run():
        async with serving(plans) as client:
            app = client.app
            for route in app.router.routes:
                if not hasattr(route, "path"):
                    continue
                route.app = route.endpoint = failing_later  # `predict` is answered by its endpoint alone
                path = route.path.format(name="heart", id="x", path="x")
                method = sorted(route.methods - {"HEAD"})[0] if getattr(route, "methods", None) else "GET"
                caplog.clear()
                response = check(await client.request(method, path, headers={"x-request-id": "crash-7"}))
                assert response.status_code == 500, (method, path)
                error = response.json()["error"]
                assert error["code"] == "internal" and "crash-7" in error["message"]
                assert response.headers["x-content-type-options"] == "nosniff"
                assert "crash-7" in caplog.text and SECRET in caplog.text  # for the people of the server

    asyncio.run(run())


def test_a_listener_that_fails_gives_an_id_alone(plans):
    async def run():
        async with serving(plans) as client:
            client.app.state.service.listeners.append(failing)
            return check(await client.post(PREDICT, json={"features": PATIENT}))

    assert asyncio.run(run()).status_code == 500


def test_no_route_shows_where_the_models_are(plans):
    (plans / "bad.miser").write_bytes(b"PK\x03\x04 not a plan")
    (plans / "link.miser").symlink_to("/etc/passwd")

    async def run():
        async with serving(plans) as client:
            for path in (
                "/v1/models",
                "/v1/models/heart",
                "/v1/models/bad",
                "/readyz",
                "/openapi.json",
                "/metrics",
            ):
                response = await client.get(path)
                assert str(plans) not in response.text and "/etc" not in response.text

    asyncio.run(run())
