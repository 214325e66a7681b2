"""Where sessions are kept: the same tests for memory and for a real Redis."""

from __future__ import annotations

import asyncio
import signal
import time
from contextlib import asynccontextmanager

import pytest

from miserly.errors import ServeError
from miserly.serve import ServeSettings
from miserly.serve.problems import Problem
from miserly.serve.redis_store import PREFIX, RedisStore
from miserly.serve.sessions import MemoryStore, SessionRecord, new_session_id, place_of

from .redis_server import RedisServer, needs_redis


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    server = RedisServer(tmp_path_factory.mktemp("redis"))
    yield server
    server.stop()


@pytest.fixture(params=["memory", pytest.param("redis", marks=needs_redis)])
def open_store(request):
    """A function that opens an empty store with some options."""

    @asynccontextmanager
    async def opened(**options):
        if request.param == "memory":
            store = MemoryStore(ServeSettings("plans", **options))
        else:
            server = request.getfixturevalue("server")
            settings = ServeSettings("plans", redis=server.url, **options)
            store = RedisStore(settings, prefix=f"{{{new_session_id()}}}")
        try:
            yield store
        finally:
            await store.close()

    return opened


def record(version=1, size=10, **changes):
    parts = {"model": "heart", "digest": "abc", "key_id": "k", "state": {"replies": ["x" * size]}}
    return SessionRecord(**{**parts, **changes}, version=version)


def run(work):
    return asyncio.run(asyncio.wait_for(work, 30.0))


def test_what_is_kept_is_found_until_it_is_deleted(open_store):
    async def work():
        async with open_store() as store:
            one = record(unused=("a",), ended=True)
            assert await store.get("one") is None and await store.count() == 0
            await store.create("one", one)
            await store.create("two", record(version=7))
            assert await store.get("one") == one and await store.count() == 2
            assert await store.delete("one") and not await store.delete("one")
            assert await store.get("one") is None and (await store.get("two")).version == 7
            assert await store.count() == 1 and await store.ping() is None

    run(work())


def test_a_version_is_replaced_only_by_who_has_seen_it(open_store):
    async def work():
        async with open_store() as store:
            await store.create("one", record(1))
            assert await store.replace("one", record(2, 20), expected=1)
            assert not await store.replace("one", record(2, 30), expected=1)
            assert await store.get("one") == record(2, 20)
            assert not await store.replace("two", record(2), expected=1)
            assert await store.count() == 1

    run(work())


def test_of_many_at_the_same_time_one_wins(open_store):
    async def work():
        async with open_store() as store:
            await store.create("one", record(1))
            for version in range(1, 6):
                tries = [store.replace("one", record(version + 1, i), expected=version) for i in range(20)]
                assert sum(await asyncio.gather(*tries)) == 1
            assert (await store.get("one")).version == 6

    run(work())


def test_sessions_expire_unless_they_are_used(open_store):
    async def work():
        async with open_store(session_ttl=0.4) as store:
            for name in ("left", "touched", "replaced"):
                await store.create(name, record(1))
            await asyncio.sleep(0.25)
            await store.touch("touched")
            assert await store.replace("replaced", record(2), expected=1)
            await asyncio.sleep(0.25)
            assert await store.get("left") is None
            assert await store.get("touched") is not None and await store.get("replaced") is not None
            assert await store.count() == 2
            await store.touch("left")
            assert await store.get("left") is None
            await asyncio.sleep(0.45)
            assert await store.count() == 0 and not await store.replace("replaced", record(3), expected=2)

    run(work())


def refused(problem, code="too_many_sessions", status=503):
    assert (problem.value.code, problem.value.status) == (code, status)
    return problem.value


def test_a_full_store_takes_no_more_and_drops_nothing(open_store):
    async def work():
        async with open_store(max_sessions=3, session_ttl=0.5) as store:
            for name in "abc":
                await store.create(name, record())
            with pytest.raises(Problem) as problem:
                await store.create("d", record())
            assert refused(problem).headers["Retry-After"] == "1"
            assert [await store.get(name) is not None for name in "abcd"] == [True, True, True, False]
            assert await store.replace("a", record(2), expected=1)
            await store.delete("b")
            await store.create("d", record())
            await asyncio.sleep(0.6)
            for name in "efg":  # room that expired sessions leave is used
                await store.create(name, record())
            assert await store.count() == 3

    run(work())


def test_bytes_are_bounded_together_and_for_each(open_store):
    size = len(record(1, 1000).to_bytes())

    async def work():
        async with open_store(max_session_bytes=2 * size + 100, max_session_size=size + 50) as store:
            with pytest.raises(Problem) as problem:
                await store.create("large", record(1, 1100))
            refused(problem, "session_too_large", 413)
            await store.create("a", record(1, 1000))
            await store.create("b", record(1, 1000))
            with pytest.raises(Problem) as problem:
                await store.create("c", record(1, 1000))
            refused(problem)
            assert await store.replace("a", record(2, 1040), expected=1)
            assert await store.replace("b", record(2, 1040), expected=1)
            with pytest.raises(Problem) as problem:
                await store.replace("b", record(3, 1100), expected=2)
            refused(problem, "session_too_large", 413)
            assert await store.replace("a", record(3, 10), expected=2)
            await store.create("c", record(1, 900))
            for name in "abc":
                await store.delete(name)
            await store.create("d", record(1, 1000))
            await store.create("e", record(1, 1000))  # what was deleted takes no bytes

    run(work())


def test_the_store_does_not_know_the_ids(open_store):
    session_id = new_session_id()
    assert len(session_id) == 32 and session_id not in place_of(session_id)

    async def work():
        async with open_store() as store:
            await store.create(session_id, record())
            if isinstance(store, RedisStore):
                keys = [key.decode() for key in await store._client.keys("*")]
                assert keys and not any(session_id in key for key in keys)
            else:
                assert session_id not in store._kept

    run(work())


# -- Redis alone ---------------------------------------------------------------------------------------------


@needs_redis
def test_redis_that_is_down_is_reported_at_once_and_used_again_when_it_is_back(tmp_path):
    server = RedisServer(tmp_path)

    async def work():
        store = RedisStore(ServeSettings("plans", redis=server.url))
        await store.create("one", record())
        server.stop(signal.SIGTERM)
        begun = time.monotonic()
        for call in (store.get("one"), store.create("two", record()), store.count()):
            with pytest.raises(Problem) as problem:
                await call
            assert refused(problem, "store_unavailable").headers == {"Retry-After": "1"}
        assert "cannot be reached" in await store.ping()
        assert time.monotonic() - begun < 1.0
        server.start()
        assert await store.ping() is None
        assert await store.get("one") == record()  # it was written before it was answered
        assert await store.replace("one", record(2), expected=1) and await store.count() == 1
        await store.close()

    try:
        run(work())
    finally:
        server.stop()


@needs_redis
def test_redis_that_hangs_is_given_up_after_seconds(tmp_path):
    server = RedisServer(tmp_path)

    async def work():
        store = RedisStore(ServeSettings("plans", redis=server.url))
        await store.create("one", record())
        server.send(signal.SIGSTOP)
        begun = time.monotonic()
        with pytest.raises(Problem) as problem:
            await store.get("one")
        refused(problem, "store_unavailable")
        assert time.monotonic() - begun < 3.0
        server.send(signal.SIGCONT)
        assert await store.get("one") is not None
        await store.close()

    try:
        run(work())
    finally:
        server.stop()


@needs_redis
def test_two_stores_share_their_sessions(server):
    async def work():
        settings = ServeSettings("plans", redis=server.url, max_sessions=2)
        one, other = (RedisStore(settings, prefix="{shared}") for _ in range(2))
        await one.create("a", record(1))
        assert await other.replace("a", record(2), expected=1)
        assert not await one.replace("a", record(2, 11), expected=1)
        await other.create("b", record(1))
        with pytest.raises(Problem):
            await one.create("c", record(1))
        for store in (one, other):
            await store.close()

    run(work())


@needs_redis
def test_a_change_that_is_sent_again_after_a_lost_connection_is_made_once(server):
    async def work():
        store = RedisStore(ServeSettings("plans", redis=server.url), prefix="{again}")
        for _ in range(2):
            await store.create("a", record(1))
        for _ in range(2):
            assert await store.replace("a", record(2), expected=1)
        assert await store.count() == 1
        await store.close()

    run(work())
    assert PREFIX.startswith("{") and PREFIX.endswith("}")  # one node of a cluster


def test_a_url_that_is_none():
    with pytest.raises(ServeError, match="the URL of Redis"):
        RedisStore(ServeSettings("plans", redis="here"))
