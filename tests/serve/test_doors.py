"""Requests pass the doors or get a documented error; every response has its id and its security headers."""

import asyncio
import hashlib
import json
import re

import httpx
import pytest

from miserly.errors import ServeError
from miserly.serve.doors import Doors
from miserly.serve.keys import KeyRing, read_keys
from miserly.serve.limits import RateLimit
from miserly.serve.settings import ServeSettings

KEY, OTHER = "correct-horse-battery-staple", "another-key-of-some-length"
PREDICT = "/v1/models/heart/predict"


async def echo(scope, receive, send):
    """Answers with what it got; /crash fails, /slow waits, /late fails after it has begun."""
    message = await receive() if scope["method"] == "POST" else {"body": b""}
    if scope["path"] == "/crash":
        raise RuntimeError("the password is in /etc/secret/database.ini")
    if scope["path"] == "/slow":
        await asyncio.sleep(5)
    body = json.dumps({"size": len(message["body"]), **scope["state"], "method": scope["method"]}).encode()
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/plain")]})
    if scope["path"] == "/late":
        raise RuntimeError("in the middle")
    await send({"type": "http.response.body", "body": body})


def doors(app=echo, grace=0.0, on_response=None, clock=None, **options):
    more = {} if clock is None else {"clock": clock}
    return Doors(app, ServeSettings("models", **options), on_response, grace, **more)


def ask(app, *requests, client=("203.0.113.7", 40000)):
    """The responses to some requests (method, path, options), sent one after the other."""

    async def run():
        transport = httpx.ASGITransport(app=app, client=client, raise_app_exceptions=False)
        async with httpx.AsyncClient(transport=transport, base_url="http://heart.example") as talker:
            return [await talker.request(method, path, **more) for method, path, more in requests]

    return asyncio.run(run())


def one(app, method="GET", path="/v1/models", client=("203.0.113.7", 40000), **more):
    return ask(app, (method, path, more), client=client)[0]


def code(response):
    error = response.json()["error"]
    assert set(error) == {"code", "message", "field"} and error["message"]
    assert response.headers["content-type"] == "application/json"
    assert re.fullmatch(r"[A-Za-z0-9._-]{1,64}", response.headers["x-request-id"])
    return response.status_code, error["code"]


# -- every response ------------------------------------------------------------------------------------


def test_every_response_has_an_id_and_security_headers():
    for response in ask(doors(), ("GET", "/v1/models", {}), ("GET", "/nothing", {}), ("POST", "/crash", {})):
        headers = response.headers
        assert len(headers["x-request-id"]) == 16
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert "frame-ancestors 'none'" in headers["content-security-policy"]
        assert headers["cache-control"] == "no-store"
        assert "access-control-allow-origin" not in headers


def test_the_page_may_load_from_its_own_host_alone():
    policy = one(doors(), path="/").headers["content-security-policy"]
    assert policy.startswith("default-src 'self';")
    assert "unsafe" not in policy and "http" not in policy
    assert "cache-control" not in one(doors(), path="/static/app.js").headers


def test_an_id_of_the_client_is_kept_if_it_is_plain():
    assert one(doors(), headers={"x-request-id": "ward-7.a_b"}).headers["x-request-id"] == "ward-7.a_b"
    for given in ("x" * 65, "a b", "a\tb", ""):
        assert one(doors(), headers={"x-request-id": given}).headers["x-request-id"] != given


def test_head_is_get_without_a_body():
    response = one(doors(), "HEAD")
    assert response.status_code == 200 and response.content == b""
    assert one(doors(), "HEAD", path="/crash").content == b""


# -- keys ----------------------------------------------------------------------------------------------


def test_a_key_opens_by_either_header_and_names_its_caller():
    app = doors(keys=(KEY, OTHER))
    expected = hashlib.sha256(KEY.encode()).hexdigest()[:12]
    for headers in (
        {"x-api-key": KEY},
        {"authorization": f"Bearer {KEY}"},
        {"authorization": f"bearer  {KEY}"},
        {"authorization": f"Bearer {KEY}", "x-api-key": KEY},
        {"authorization": "Basic of-a-proxy", "x-api-key": KEY},
    ):
        assert one(app, headers=headers).json()["key_id"] == expected
    assert one(app, headers={"x-api-key": OTHER}).json()["key_id"] not in ("", expected)


@pytest.mark.parametrize(
    "headers",
    [{}, {"x-api-key": ""}, {"authorization": f"Basic {KEY}"}, {"authorization": "Bearer"},
     {"x-api-key": KEY[:-1]}, {"x-api-key": KEY + "x"},
     {"x-api-key": "wrong", "authorization": f"Bearer {KEY}"},
     {"x-api-key": KEY, "authorization": "Bearer wrong"}],
)  # fmt: skip
def test_without_a_valid_key_nothing_is_answered(headers):
    reached = []

    async def app(scope, receive, send):
        reached.append(scope)

    response = one(doors(app, keys=(KEY,)), "POST", PREDICT, headers=headers, json={})
    assert code(response)[0] == 401 and not reached
    assert response.headers["www-authenticate"].startswith("Bearer")


def test_probes_and_the_page_need_no_key_and_everything_else_does():
    app = doors(keys=(KEY,))
    for path in ("/healthz", "/readyz", "/", "/static/app.js"):
        assert one(app, path=path).status_code == 200, path
    for path in ("/v1/models", "/openapi.json", "/metrics", "/nothing", "/healthz/", "/static"):
        assert one(app, path=path).status_code == 401, path


def test_a_hash_opens_to_its_key_and_not_to_itself():
    digest = hashlib.sha256(KEY.encode()).hexdigest()
    app = doors(keys=(f"sha256:{digest}",))
    assert one(app, headers={"x-api-key": KEY}).status_code == 200
    assert one(app, headers={"x-api-key": f"sha256:{digest}"}).status_code == 401
    assert one(app, headers={"x-api-key": digest}).status_code == 401


def test_keys_that_are_too_short_or_have_blanks_are_refused():
    for key in ("short", "", "with a blank in the middle", "ümlaut-and-some-length", "sha256:abc"):
        with pytest.raises(ServeError, match="API key 1"):
            KeyRing([key])


def test_a_file_of_keys_has_one_in_each_line(tmp_path):
    path = tmp_path / "keys"
    path.write_text(f"# ward 7\n{KEY}\n\n  {OTHER}  \n")
    assert read_keys(path) == (KEY, OTHER)
    path.write_text("# none\n")
    with pytest.raises(ServeError, match="no API key"):
        read_keys(path)
    with pytest.raises(ServeError, match="cannot read"):
        read_keys(tmp_path / "absent")


def test_metrics_are_for_this_machine_or_for_a_key():
    local, proxied = ("127.0.0.1", 1), {"x-forwarded-for": "198.51.100.1"}
    for app in (doors(), doors(keys=(KEY,))):
        assert one(app, path="/metrics", client=local).status_code == 200
        assert one(app, path="/metrics", client=("::1", 1)).status_code == 200
        assert one(app, path="/metrics").status_code in (401, 403)
        assert one(app, path="/metrics", client=local, headers=proxied).status_code in (401, 403)
    assert one(doors(keys=(KEY,)), path="/metrics", headers={"x-api-key": KEY}).status_code == 200


# -- limits --------------------------------------------------------------------------------------------


def test_a_body_over_the_limit_is_refused_by_its_length_and_as_it_comes():
    sent = []

    async def chunks():
        for _ in range(1000):
            sent.append(1)
            yield b" " * 1000

    app = doors(max_body=10_000)
    fits = {"content": b" " * 10_000, "headers": {"content-type": "application/json"}}
    assert one(app, "POST", PREDICT, **fits).json()["size"] == 10_000
    assert code(one(app, "POST", PREDICT, content=b" " * 10_001)) == (413, "too_large")
    assert code(one(app, "POST", PREDICT, content=chunks())) == (413, "too_large")
    assert len(sent) <= 12  # and not a thousand


@pytest.mark.parametrize("length", ["99999999999999999999", "9" * 5000])
def test_a_length_beyond_all_numbers_is_too_large(length):
    assert code(one(doors(), "POST", PREDICT, headers={"content-length": length})) == (413, "too_large")


def test_a_body_must_be_json_by_its_type():
    for kind in ("text/plain", "application/x-www-form-urlencoded", "", "application/jsonp", "text/json"):
        response = one(doors(), "POST", PREDICT, content=b"{}", headers={"content-type": kind})
        assert code(response) == (415, "not_json"), kind
    good = {"content-type": "Application/JSON; charset=utf-8"}
    assert one(doors(), "POST", PREDICT, content=b"{}", headers=good).status_code == 200
    packed = {"content-type": "application/json", "content-encoding": "gzip"}
    assert code(one(doors(), "POST", PREDICT, content=b"{}", headers=packed)) == (415, "compressed")


def test_a_body_that_comes_too_slowly_is_given_up():
    async def drip():
        while True:
            await asyncio.sleep(0.02)
            yield b" "

    began = asyncio.run(_timed(doors(body_timeout=0.15), drip()))
    assert began[0] == (408, "slow_body") and 0.1 < began[1] < 1.0


async def _timed(app, body):
    """The code and the seconds of a request, over a transport that passes on chunks as they come."""
    loop = asyncio.get_running_loop()
    began, messages = loop.time(), []

    async def receive():
        return {"type": "http.request", "body": await anext(body), "more_body": True}

    async def send(message):
        messages.append(message)

    scope = {
        "type": "http",
        "method": "POST",
        "path": PREDICT,
        "headers": [(b"transfer-encoding", b"chunked")],
    }
    await app(scope, receive, send)
    return (messages[0]["status"], json.loads(messages[1]["body"])["error"]["code"]), loop.time() - began


def test_a_request_that_takes_too_long_is_given_up():
    assert code(one(doors(timeout=0.1), "POST", "/slow")) == (503, "timeout")


def test_a_time_out_inside_the_application_is_an_error_of_the_server():
    async def app(scope, receive, send):
        raise TimeoutError("the database at /srv/x")

    assert code(one(doors(app))) == (500, "internal")


def test_more_requests_than_allowed_at_a_time_are_sent_away():
    app = doors(concurrency=2, timeout=0.3)

    async def run():
        transport = httpx.ASGITransport(app=app)
        async with httpx.AsyncClient(transport=transport, base_url="http://heart.example") as talker:
            slow = [talker.post("/slow") for _ in range(5)]
            return await asyncio.gather(*slow, talker.get("/healthz"))

    *responses, probe = asyncio.run(run())
    codes = sorted(code(response) for response in responses)
    assert codes == [(503, "busy")] * 3 + [(503, "timeout")] * 2
    assert all(response.headers["retry-after"] == "1" for response in responses)
    assert probe.status_code == 200 and app.under_way == 0


def test_a_client_over_its_rate_waits_and_others_do_not():
    now = [1000.0]
    app = doors(rate=2.0, burst=3, clock=lambda: now[0])
    first = ask(app, *[("GET", "/v1/models", {})] * 4)
    assert [response.status_code for response in first] == [200, 200, 200, 429]
    assert code(first[-1]) == (429, "too_many_requests") and first[-1].headers["retry-after"] == "1"
    assert one(app, client=("203.0.113.8", 1)).status_code == 200
    assert one(app, path="/healthz").status_code == 200
    now[0] += 0.5
    assert [r.status_code for r in ask(app, *[("GET", "/v1/models", {})] * 2)] == [200, 429]


def test_guesses_of_keys_are_slowed_down_and_do_not_use_up_the_rate_of_a_key():
    app = doors(rate=1.0, burst=5, keys=(KEY,), clock=lambda: 1000.0)
    guesses = ask(app, *[("GET", "/v1/models", {"headers": {"x-api-key": f"guess{i}"}}) for i in range(7)])
    assert [response.status_code for response in guesses] == [401] * 5 + [429] * 2
    assert one(app, headers={"x-api-key": KEY}).status_code == 200


def test_the_number_of_buckets_is_bounded():
    limit = RateLimit(rate=1.0, most=100)
    for i in range(10_000):
        assert limit.wait(f"client{i}", now=i * 1e-6) == 0.0
        assert len(limit) <= 100
    limit.wait("again", now=100.0)
    assert len(limit) == 1  # all others were full


# -- browsers ------------------------------------------------------------------------------------------


def test_pages_of_other_sites_cannot_use_the_service():
    app = doors()
    foreign = {"origin": "https://evil.example"}
    assert code(one(app, "POST", PREDICT, headers=foreign)) == (403, "wrong_origin")
    assert code(one(app, "POST", PREDICT, headers={"origin": "null"})) == (403, "wrong_origin")
    assert "access-control-allow-origin" not in one(app, headers=foreign).headers
    assert one(app, "POST", PREDICT, headers={"origin": "http://heart.example"}).status_code == 200
    assert one(app, "POST", PREDICT, headers={"origin": "https://heart.example"}).status_code == 200


def test_an_origin_that_is_allowed_gets_cors_headers_and_no_other_does():
    app = doors(cors=("https://ward.example",), keys=(KEY,))
    ask_first = {"origin": "https://ward.example", "access-control-request-method": "POST"}
    allowed = one(app, "OPTIONS", PREDICT, headers=ask_first)
    assert allowed.status_code == 204 and allowed.content == b""
    assert allowed.headers["access-control-allow-origin"] == "https://ward.example"
    assert "Authorization" in allowed.headers["access-control-allow-headers"]
    assert "access-control-allow-credentials" not in allowed.headers
    real = one(app, "POST", PREDICT, headers={"origin": "https://ward.example", "x-api-key": KEY})
    assert real.headers["access-control-allow-origin"] == "https://ward.example"
    assert real.headers["vary"] == "Origin"
    for origin in ("https://ward.example.evil", "http://ward.example", "https://ward.example:444"):
        refused = one(app, "OPTIONS", PREDICT, headers={**ask_first, "origin": origin})
        assert code(refused) == (403, "wrong_origin")
        assert "access-control-allow-origin" not in refused.headers


@pytest.mark.parametrize("origin", ["*", "https://a.example/path", "ward.example", "https://*.example"])
def test_an_origin_that_is_none_is_refused_at_the_start(origin):
    with pytest.raises(ServeError, match="is not an origin"):
        doors(cors=(origin,))


def test_other_host_names_are_refused_if_names_are_given():
    app = doors(allowed_hosts=("heart.example", "[::1]"))
    for host in ("heart.example", "HEART.example:8000", "[::1]:80"):
        assert one(app, headers={"host": host}).status_code == 200, host
    for host in ("evil.example", "heart.example.evil", ""):
        assert code(one(app, headers={"host": host})) == (421, "wrong_host"), host


# -- failures ------------------------------------------------------------------------------------------


def test_a_crash_shows_nothing_but_an_id_that_is_in_the_log(caplog):
    response = one(doors(), "POST", "/crash")
    assert code(response) == (500, "internal")
    assert "secret" not in response.text and "RuntimeError" not in response.text
    assert response.headers["x-request-id"] in caplog.text and "database.ini" in caplog.text


def test_a_failure_after_the_response_has_begun_closes_the_connection():
    messages = []

    async def send(message):
        messages.append(message["type"])

    async def receive():
        return {"type": "http.request", "body": b""}

    scope = {"type": "http", "method": "GET", "path": "/late", "headers": []}
    with pytest.raises(RuntimeError, match="in the middle"):
        asyncio.run(doors()(scope, receive, send))
    assert messages == ["http.response.start"]


def test_a_client_that_leaves_gets_no_response_and_frees_its_place():
    messages, seen = [], []

    async def send(message):
        messages.append(message)

    async def receive():
        return {"type": "http.disconnect"}

    app = doors(on_response=lambda scope, status, seconds: seen.append(status))
    scope = {"type": "http", "method": "POST", "path": PREDICT, "headers": [(b"content-length", b"9")]}
    asyncio.run(app(scope, receive, send))
    assert not messages and seen == [499] and app.under_way == 0


def test_web_sockets_are_closed():
    messages = []

    async def send(message):
        messages.append(message["type"])

    async def receive():
        return {"type": "websocket.connect"}

    asyncio.run(doors()({"type": "websocket", "path": "/", "headers": []}, receive, send))
    assert messages == ["websocket.close"]
