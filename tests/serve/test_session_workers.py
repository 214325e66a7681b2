"""Sessions that several processes share in a real Redis: a process that is killed loses none of them."""

from __future__ import annotations

import signal
import time
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from miserly.runtime import OnDemand
from tests.runtime.plans import PATIENT, heart
from tests.serve.processes import ServiceProcess, running

from .redis_server import RedisServer, needs_redis
from .test_sessions import NEW, without_times

pytestmark = needs_redis


@pytest.fixture(scope="module")
def plans(tmp_path_factory):
    folder = tmp_path_factory.mktemp("plans")
    heart().save(folder / "heart.miser")
    return folder


@pytest.fixture(scope="module")
def shared(plans, tmp_path_factory):
    """A Redis, two processes that share it, and their audit log."""
    folder = tmp_path_factory.mktemp("shared")
    redis, log = RedisServer(folder), folder / "audit.log"
    services = [ServiceProcess(plans, "--redis", redis.url, "--audit", log) for _ in range(2)]
    try:
        for service in services:
            service.wait_until_ready()
        yield redis, *services, log
    finally:
        for service in services:
            service.stop()
        redis.stop()


def give(client, session, **more):
    name = session["question"]["feature"]
    body = {"values": {name: PATIENT[name]}, **more}
    return client.post(f"/v1/sessions/{session['id']}/values", json=body)


def test_many_tabs_of_two_workers(shared):
    """Of changes at the same time, through two processes, one wins; each end is one line in the log."""
    _, one, other, log = shared
    n_sessions, n_tabs = 10, 6
    before = len(log.read_text().splitlines())
    with one.client() as here, other.client() as there, ThreadPoolExecutor(n_tabs) as threads:
        for _ in range(n_sessions):
            session = here.post(NEW).json()
            while session["question"] is not None:
                clients = [here, there] * (n_tabs // 2)
                responses = list(threads.map(lambda client, now=session: give(client, now), clients))
                # Without a version a later tab may answer after the first: its feature is not asked for then.
                assert {one.status_code for one in responses} <= {200, 409, 422}
                won = [one.json() for one in responses if one.status_code == 200]
                assert len(won) == 1 and won[0]["version"] == session["version"] + 1
                session = won[0]
            assert session["receipt"]["cost"] == 13.0
    assert len(log.read_text().splitlines()) == before + n_sessions


def test_redis_that_restarts(shared):
    redis, service, *_ = shared
    with service.client() as client:
        session = give(client, client.post(NEW).json()).json()
        redis.stop(signal.SIGKILL)
        begun = time.monotonic()
        down = give(client, session)
        assert down.status_code == 503 and down.headers["Retry-After"] == "1"
        assert down.json()["error"]["code"] == "store_unavailable" and str(redis.port) not in down.text
        ready = client.get("/readyz")
        assert ready.status_code == 503 and "sessions" in ready.json()["error"]["message"]
        assert client.get("/healthz").status_code == 200
        assert client.post("/v1/models/heart/predict", json={"features": PATIENT}).status_code == 200
        assert time.monotonic() - begun < 3.0
        redis.start()
        assert client.get("/readyz").status_code == 200
        session = give(client, session, version=session["version"]).json()
        assert len(session["history"]) == 2


def test_a_session_goes_on_when_its_worker_is_killed(shared):  # the last one: it ends a process
    _, one, other, log = shared
    before = len(log.read_text().splitlines())
    with one.client() as here, other.client() as there:
        session = here.post(NEW, json={"budget": 50}).json()
        session = give(there, session).json()
        session = give(here, session).json()
        assert session["version"] == 3 and len(session["history"]) == 2
        one.process.send_signal(signal.SIGKILL)
        one.process.wait(10.0)
        with pytest.raises(httpx.TransportError):
            here.get(f"/v1/sessions/{session['id']}")
        seen = there.get(f"/v1/sessions/{session['id']}").json()
        assert seen == {**session, "expires_at": seen["expires_at"]}
        while session["question"] is not None:
            session = give(there, session, version=session["version"]).json()
        expected = OnDemand(heart()).predict(PATIENT, budget=50).to_dict()
        assert without_times(session["receipt"]) == without_times(expected)
    lines = log.read_text()
    assert len(lines.splitlines()) == before + 1 and session["id"] not in lines


@pytest.mark.long
def test_sessions_of_several_workers_are_bounded_together(plans, tmp_path):
    redis = RedisServer(tmp_path)
    try:
        with running(plans, "--redis", redis.url, "--max-sessions", "3", "--workers", "2") as service:
            statuses = []
            for _ in range(8):
                with service.client() as client:
                    statuses.append(client.post(NEW).status_code)
            assert statuses == [201] * 3 + [503] * 5
    finally:
        redis.stop()
