"""What a client does when all goes well, and what it reports when it does not."""

import asyncio
import os
import signal
import threading
import time
from pathlib import Path

import httpx
import pytest

from miserly.client import Client
from miserly.errors import ClientError, DataError, MiserlyError, SourceError, UnreachableError
from miserly.runtime import Monitor, OnDemand, Source

from ..runtime.plans import PATIENT, heart, linear
from ..serve.processes import running
from ..serve.redis_server import RedisServer, needs_redis
from .servers import listening, saved

KEY = "d2f1c38e04bb5a6f7790a1b2c3d4e5f6"
SOURCES = {name: lambda raw, name=name: raw[name] for name in PATIENT}
CLOSED = "http://127.0.0.1:9"  # the discard port: no service is there


@pytest.fixture(scope="module")
def url(tmp_path_factory):
    with listening(saved(tmp_path_factory.mktemp("plans"), heart=heart(), line=linear(3))) as url:
        yield url


def n_sessions(url, **headers):
    with httpx.Client(headers=headers) as http:
        lines = http.get(f"{url}/metrics").text.splitlines()
    return next(float(line.split()[1]) for line in lines if line.startswith("miserly_sessions "))


# -- models --------------------------------------------------------------------------------------------


def test_models_and_their_features(url):
    with Client(url, "heart") as client:
        assert [one["name"] for one in client.models()] == ["heart", "line"]
        assert [one["name"] for one in client.model()["features"]] == ["age", "pain", "chol", "fbs"]
        assert client.model("line")["max_cost"] == 3.0


def test_the_only_model_needs_no_name(tmp_path):
    with listening(saved(tmp_path, heart=heart())) as url, Client(url, sources=SOURCES) as client:
        assert client.predict(PATIENT).answer == "ill"


@pytest.mark.parametrize(
    "model, message",
    [(None, "has the models heart, line; give model"), ("hart", "no model 'hart'.*did you mean 'heart'")],
)
def test_a_model_that_is_not_there(url, model, message):
    with Client(url, model, SOURCES) as client, pytest.raises(ClientError, match=message):
        client.predict(PATIENT)


# -- values --------------------------------------------------------------------------------------------


def test_a_source_for_what_is_no_feature(url):
    with (
        Client(url, "heart", {"cholesterol": id}) as client,
        pytest.raises(SourceError, match=r"'cholesterol', which is no feature.*did you mean 'chol'"),
    ):
        client.predict(PATIENT)


def test_values_that_the_plan_cannot_use_name_their_column(url):
    with Client(url, "heart") as client:
        with pytest.raises(DataError, match="column 'pain': 'odd' is not among its categories"):
            client.predict({**PATIENT, "pain": "odd"})
        with pytest.raises(DataError, match="the value of column 'age' must be a number"):
            client.predict(PATIENT, known={"age": "old"})
        with pytest.raises(MiserlyError, match="chole"):
            client.predict(PATIENT, known={"chole": 1.0})


@pytest.mark.parametrize("option", [{"budget": -1}, {"deadline": -1}, {"budget": "much"}])
@pytest.mark.parametrize("sources", [None, SOURCES])
def test_options_without_a_meaning(url, option, sources):
    with Client(url, "heart", sources) as client, pytest.raises(MiserlyError, match=r"at least 0|budget"):
        client.predict(PATIENT, **option)


def test_what_the_service_refuses_names_the_field(url):
    with Client(url, "heart") as client, pytest.raises(ClientError, match="which would get it") as caught:
        client.predict(PATIENT, input={"patient": 7})
    assert (caught.value.status, caught.value.code, caught.value.field) == (422, "invalid_input", "input")


def test_what_json_cannot_hold_is_refused(url):
    with Client(url, "heart", SOURCES) as client, pytest.raises(ClientError, match="only what JSON can"):
        client.predict(PATIENT, input={"patient": object()})


def test_sources_of_the_service_get_the_input(tmp_path):
    asked = []

    def chol(raw):
        asked.append(raw)
        return 200.0

    with listening(saved(tmp_path, heart=heart()), {"chol": chol}) as url:
        with Client(url, sources={name: SOURCES[name] for name in ("age", "pain", "fbs")}) as client:
            receipt = client.predict(PATIENT, input={"patient": "7"})
        with Client(url) as client:
            sent = client.predict(
                {key: PATIENT[key] for key in ("age", "pain", "fbs")}, input={"patient": "8"}
            )
    assert receipt.acquired == ("age", "pain", "chol", "fbs") == sent.acquired
    assert [raw["patient"] for raw in asked] == ["7", "8"]
    assert receipt.cost == OnDemand(heart(), compiled=False).predict(PATIENT).cost


# -- the connection ------------------------------------------------------------------------------------


@pytest.mark.parametrize("sources", [None, SOURCES])
def test_no_server(sources):
    with Client(CLOSED, "heart", sources, retries=1) as client:
        with pytest.raises(UnreachableError, match=r"127.0.0.1:9 cannot be reached") as caught:
            client.predict(PATIENT)
        assert isinstance(caught.value, ConnectionError)


@pytest.mark.parametrize("url", ["heart.miser", "ftp://example.org", "http://", "http://[::1"])
def test_no_url(url):
    with pytest.raises(ClientError):
        Client(url)


def test_a_server_of_another_kind(tmp_path):
    def other(app):
        async def answer(scope, receive, send):
            if scope["type"] == "lifespan":
                await app(scope, receive, send)
                return
            await send({"type": "http.response.start", "status": 200, "headers": []})
            await send({"type": "http.response.body", "body": b"<html>"})

        return answer

    with (
        listening(saved(tmp_path, heart=heart()), wrap=other) as url,
        Client(url, "heart") as client,
        pytest.raises(ClientError, match="not that of miserly serve"),
    ):
        client.predict(PATIENT)


def test_a_closed_client_says_so(url):
    client = Client(url, "heart", SOURCES)
    with client:
        client.predict(PATIENT)
    client.close()
    with pytest.raises(ClientError, match="closed"):
        client.predict(PATIENT)
    with pytest.raises(ClientError, match="closed"):
        asyncio.run(client.apredict(PATIENT))


def test_a_client_serves_many_threads_and_several_event_loops(url):
    found = []
    with Client(url, "heart", SOURCES) as client:
        threads = [
            threading.Thread(target=lambda: found.append(client.predict(PATIENT).cost)) for _ in range(8)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for _ in range(2):
            found.append(asyncio.run(client.apredict(PATIENT)).cost)
    assert found == [13.0] * 10


def test_too_many_requests_are_made_again_when_the_service_says(tmp_path):
    with listening(saved(tmp_path, heart=heart()), rate=4.0, burst=6) as url:
        with Client(url, sources=SOURCES, retries=6) as client:
            assert [client.predict(PATIENT).cost for _ in range(2)] == [13.0, 13.0]
        with Client(url, "heart", retries=0) as client:
            with pytest.raises(ClientError) as caught:
                for _ in range(20):
                    client.predict(PATIENT)
            assert caught.value.status == 429 and caught.value.retry_after > 0
        with Client(url, "heart", retries=6) as client:
            begun = time.monotonic()
            with pytest.raises(ClientError, match=r"too many|requests"):
                for _ in range(20):
                    client.predict(PATIENT, deadline=0.15)  # a second is asked for: it cannot help
            assert time.monotonic() - begun < 5.0


def test_rows_that_are_too_many_at_once_are_sent_in_parts(tmp_path):
    with listening(saved(tmp_path, heart=heart()), max_rows=4) as url, Client(url) as client:
        receipts = client.predict_many([PATIENT] * 11)
    assert [one.cost for one in receipts] == [13.0] * 11


class Losing(httpx.AsyncHTTPTransport):
    """Loses the answers to some requests, after the service has done what they ask for."""

    def __init__(self, path, times):
        super().__init__()
        self.path, self.left = path, times

    async def handle_async_request(self, request):
        response = await super().handle_async_request(request)
        if self.left and request.url.path.endswith(self.path):
            self.left -= 1
            await response.aread()
            await response.aclose()
            raise httpx.ReadError("the connection was lost", request=request)
        return response


def test_an_answer_that_was_lost_does_not_change_the_session_twice(url):
    lossy = Losing("/values", 2)  # the answer, and that to the first retry
    with Client(url, "heart", SOURCES, transport=lossy) as client:
        receipt = client.predict(PATIENT)
    assert lossy.left == 0 and receipt.cost == 13.0 and receipt.acquired == tuple(PATIENT)
    assert [one.outcome for one in receipt.trail] == ["value"] * 4


@pytest.mark.parametrize("sources", [None, {"chol": lambda raw: 200.0}])
def test_a_session_is_begun_again_unless_the_service_pays_for_what_it_fetches(tmp_path, sources):
    with (
        listening(saved(tmp_path, heart=heart()), sources) as url,
        Client(url, sources=SOURCES, transport=Losing("/sessions", 1)) as client,
    ):
        if sources is None:
            assert client.predict(PATIENT).cost == 13.0
        else:
            with pytest.raises(UnreachableError):
                client.predict(PATIENT)


def test_a_prediction_whose_answer_was_lost_is_not_made_twice(url):
    with Client(url, "heart", transport=Losing("/predict", 1)) as client:
        with pytest.raises(UnreachableError, match="the connection was lost"):
            client.predict(PATIENT)
        assert client.predict(PATIENT).cost == 13.0


# -- time ----------------------------------------------------------------------------------------------


def test_a_source_that_hangs_is_left_at_the_deadline(url):
    released = threading.Event()
    sources = {**SOURCES, "chol": lambda raw: released.wait(20.0)}
    with Client(url, "heart", sources) as client:
        client.predict(PATIENT, known={"chol": 1.0, "fbs": 1.0})  # the plan is read
        nodes = []
        while 1 not in nodes and len(nodes) < 5:  # on a busy machine the last request may come too late
            begun = time.monotonic()
            receipt = client.predict(PATIENT, deadline=0.4)
            taken = time.monotonic() - begun
            assert receipt.stopped_by == "deadline" and receipt.deadline == 0.4 and taken < 0.5
            assert receipt.acquired == ("age", "pain") and receipt.cost == 3.0
            assert (receipt.trail[-1].feature, receipt.trail[-1].outcome) == ("chol", "late")
            nodes.append(receipt.node)
        released.set()
    assert nodes[-1] == 1  # the answer is that of the service


def test_a_service_that_hangs_is_left_at_the_deadline(tmp_path):
    slow = threading.Event()

    def wrap(app):
        async def serve(scope, receive, send):
            if slow.is_set() and scope["type"] == "http" and scope["method"] == "POST":
                await asyncio.sleep(5.0)
            await app(scope, receive, send)

        return serve

    def chol(raw):
        slow.set()
        return 200.0

    with (
        listening(saved(tmp_path, heart=heart()), wrap=wrap) as url,
        Client(url, sources={**SOURCES, "chol": chol}) as client,
    ):
        begun = time.monotonic()
        receipt = client.predict(PATIENT, deadline=0.6)
        assert time.monotonic() - begun < 0.7
        assert receipt.stopped_by == "deadline" and receipt.answer == "ill"
        assert receipt.acquired == ("age", "pain", "chol") and receipt.cost == 10.0  # it was bought
        with pytest.raises(ClientError, match=r"within the deadline of 0.2 seconds"):
            client.predict(PATIENT, deadline=0.2)


def test_cancelling_forgets_the_session(url):
    async def main():
        async def hangs(raw):
            await asyncio.sleep(30.0)

        async with Client(url, "heart", {**SOURCES, "age": hangs}) as client:
            task = asyncio.ensure_future(client.apredict(PATIENT))
            await asyncio.sleep(0.3)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

    asyncio.run(main())
    assert n_sessions(url) == 0


# -- receipts ------------------------------------------------------------------------------------------


def test_sessions_are_forgotten_when_they_end(url):
    with Client(url, "heart", SOURCES) as client:
        client.predict_many([PATIENT] * 5)
    assert n_sessions(url) == 0


def test_a_source_that_must_not_fail_raises_with_the_receipt(url):
    def fails(raw):
        raise OSError("no line")

    with (
        Client(url, "heart", {**SOURCES, "chol": fails}, fallback="raise") as client,
        pytest.raises(SourceError, match=r"the source of 'chol' failed .failed.: OSError: no line") as caught,
    ):
        client.predict(PATIENT)
    receipt = caught.value.receipt
    assert (receipt.acquired, receipt.cost, receipt.stopped_by) == (("age", "pain"), 3.0, "failure")
    assert isinstance(caught.value.__cause__, OSError)


def test_the_service_keeps_what_failed_here(tmp_path):
    from miserly.serve.receipts.reading import Selection, opened, receipts_in_order

    def fails(raw):
        raise OSError("secret address")

    database = tmp_path / "receipts.db"
    (tmp_path / "plans").mkdir()
    plans = saved(tmp_path / "plans", heart=heart())
    with listening(plans, receipts=f"sqlite:///{database}") as url:
        rules = {"chol": Source(fails, retries=1, backoff=0.0, charge_on_failure=True)}
        with Client(url, sources={**SOURCES, **rules}) as client:
            receipt = client.predict(PATIENT)
    assert receipt.receipt_id
    with opened(f"sqlite:///{database}") as connection:
        (kept,) = receipts_in_order(connection, Selection())
    chol = next(one for one in kept.purchases if one.feature == "chol")
    assert (chol.outcome, chol.cost, chol.retries) == ("failed", 14.0, 1)
    assert kept.row.cost == receipt.cost == 1 + 2 + 2 * 7 + 5
    assert "secret" not in str(kept)


def test_hooks_and_monitors_take_the_receipts(url):
    seen, calls = [], []
    hooks = {"on_answer": seen.append, "after_source": calls.append}
    for sources in (SOURCES, None):
        with Client(url, "heart", sources, hooks=hooks) as client:
            client.predict(PATIENT)
    assert [one.cost for one in seen] == [13.0, 13.0]
    assert [call.source for call in calls] == list(PATIENT) and len({one.request for one in seen}) == 2
    plan = heart()
    local = OnDemand(plan, compiled=False)
    monitor = Monitor(plan, reference=[local.predict(PATIENT) for _ in range(50)])
    monitor.add(seen[0])
    assert monitor.n == 1


def test_another_version_of_the_model_is_read_again(tmp_path):
    saved(tmp_path, heart=heart())
    with (
        listening(tmp_path, reload_every=0.05) as url,
        Client(url, "heart", SOURCES) as client,
        Client(url, "heart") as other,
    ):
        assert client.predict(PATIENT).cost == other.predict(PATIENT).cost == 13.0
        new = heart(costs=heart().costs.scaled(2.0))
        new.save(tmp_path / "heart.miser")
        end = time.monotonic() + 10.0
        while client.models()[0]["digest"] != new.digest:
            assert time.monotonic() < end
            time.sleep(0.05)
        assert client.predict(PATIENT).cost == other.predict(PATIENT).cost == 26.0
        assert client.predict(PATIENT).digest == other.predict(PATIENT).digest == new.digest


# -- a real process ------------------------------------------------------------------------------------


def test_a_real_service_with_a_key_that_is_stopped_midway(tmp_path):
    heart().save(tmp_path / "heart.miser")
    with running(tmp_path / "heart.miser", env={"MISERLY_KEYS": KEY}) as service:
        with Client(service.url, sources=SOURCES) as client, pytest.raises(ClientError, match="give api_key"):
            client.predict(PATIENT)
        with (
            Client(service.url, api_key="x" * 32) as client,
            pytest.raises(ClientError, match="does not know this API key") as caught,
        ):
            client.predict(PATIENT)
        assert caught.value.status == 401

        def stop(raw):
            service.stop(signal.SIGKILL)
            return 200.0

        with Client(service.url, sources=SOURCES, api_key=KEY) as client:
            assert client.predict(PATIENT).cost == 13.0
        with (
            Client(service.url, sources={**SOURCES, "chol": stop}, api_key=KEY, retries=1) as client,
            pytest.raises(UnreachableError) as caught,
        ):
            client.predict(PATIENT)
    receipt = caught.value.receipt
    assert receipt.stopped_by == "failure" and "cannot be reached" in receipt.reason
    assert receipt.acquired == ("age", "pain", "chol") and receipt.cost == 10.0
    assert receipt.answer == "ill" and receipt.node == -1  # the answer before


@needs_redis
@pytest.mark.long
def test_a_request_goes_on_when_all_workers_are_killed_midway(tmp_path):
    """Redis has the session, the service starts new workers, and the client asks again."""
    heart().save(tmp_path / "heart.miser")
    redis = RedisServer(tmp_path)
    try:
        with running(tmp_path / "heart.miser", "--redis", redis.url, "--workers", "2") as service:

            def kill(raw):
                for worker in workers_of(service.process.pid):
                    os.kill(worker, signal.SIGKILL)
                return 200.0

            with Client(service.url, sources={**SOURCES, "chol": kill}, retries=10) as client:
                receipt = client.predict(PATIENT)
    finally:
        redis.stop()
    assert receipt.acquired == tuple(PATIENT) and receipt.cost == 13.0 and receipt.answer == "ill"


def workers_of(parent):
    """The worker processes of a service."""
    children = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
    return [int(child) for child in children if b"spawn_main" in Path(f"/proc/{child}/cmdline").read_bytes()]
