"""Sessions in Redis, which several workers share.

Each session is a Redis hash with its version (``v``) and its JSON (``d``). Redis deletes it when it expires.
An index holds the expiry time of each session, and a hash holds its size, to limit the number and the size
of sessions. Every change is one Lua script. Redis runs a script atomically, so two workers cannot replace
the same version. All keys have the same hash tag, so they are on one node of a cluster.
"""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any, TypeVar

from miserly.errors import ServeError
from miserly.serve.problems import Problem
from miserly.serve.sessions import SessionStore, full
from miserly.serve.settings import ServeSettings

__all__ = ["RedisStore"]

PREFIX = "{miserly:sessions}"
_CONNECT, _ANSWER = 0.5, 1.0  # seconds to wait for Redis
_T = TypeVar("_T")

# KEYS: index, sizes, session. ARGV[1] is the name of the session in index and sizes.
_COMMON = """
local function now()
  local t = redis.call('TIME')
  return t[1] * 1000 + math.floor(t[2] / 1000)
end
local function forget(name)
  redis.call('ZREM', KEYS[1], name)
  local size = redis.call('HGET', KEYS[2], name)
  if size then
    redis.call('HDEL', KEYS[2], name)
    redis.call('HINCRBY', KEYS[2], 'all', -tonumber(size))
  end
end
local function collect()
  for _, name in ipairs(redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', now(), 'LIMIT', 0, 1000)) do
    forget(name)
  end
end
local function bytes()
  return tonumber(redis.call('HGET', KEYS[2], 'all') or '0')
end
local function keep(name, version, data, ttl)
  forget(name)
  redis.call('HSET', KEYS[3], 'v', version, 'd', data)
  redis.call('PEXPIRE', KEYS[3], ttl)
  redis.call('ZADD', KEYS[1], now() + ttl, name)
  redis.call('HSET', KEYS[2], name, #data)
  redis.call('HINCRBY', KEYS[2], 'all', #data)
end
local function wait()
  local first = redis.call('ZRANGE', KEYS[1], 0, 0, 'WITHSCORES')
  return first[2] and (tonumber(first[2]) - now()) or 0
end
"""
# ARGV: name, version, data, ttl, most sessions, most bytes. Returns -1, or milliseconds until there is room.
_CREATE = (
    _COMMON
    + """
collect()
if redis.call('HGET', KEYS[3], 'd') == ARGV[3] then return -1 end  -- sent again after a lost connection
if redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[5]) or bytes() + #ARGV[3] > tonumber(ARGV[6]) then
  return math.max(wait(), 0)
end
keep(ARGV[1], ARGV[2], ARGV[3], ARGV[4])
return -1
"""
)
# ARGV: name, version, data, ttl, expected version, most bytes. Returns -2 if it was changed, or as above.
_REPLACE = (
    _COMMON
    + """
collect()
local found = redis.call('HMGET', KEYS[3], 'v', 'd')
if found[2] == ARGV[3] then return -1 end
if found[1] ~= ARGV[5] then return -2 end
if #ARGV[3] > #found[2] and bytes() + #ARGV[3] - #found[2] > tonumber(ARGV[6]) then
  return math.max(wait(), 0)
end
keep(ARGV[1], ARGV[2], ARGV[3], ARGV[4])
return -1
"""
)
_DELETE = (
    _COMMON
    + """
forget(ARGV[1])
return redis.call('DEL', KEYS[3])
"""
)
_TOUCH = (
    _COMMON
    + """
if redis.call('PEXPIRE', KEYS[3], ARGV[2]) == 1 then redis.call('ZADD', KEYS[1], now() + ARGV[2], ARGV[1]) end
return 1
"""
)
_COUNT = (
    _COMMON
    + """
collect()
return redis.call('ZCARD', KEYS[1])
"""
)


class RedisStore(SessionStore):
    """Sessions in a Redis server.

    Parameters
    ----------
    settings : ServeSettings
        The URL of the server, the time to live and the limits.
    prefix : str, default="{miserly:sessions}"
        The prefix of all keys. Services with the same prefix share their sessions.
    """

    def __init__(self, settings: ServeSettings, prefix: str = PREFIX) -> None:
        try:
            from redis import asyncio as redis
            from redis.asyncio.retry import Retry
            from redis.backoff import NoBackoff
            from redis.exceptions import ConnectionError as NoConnection
            from redis.exceptions import RedisError
        except ImportError as error:
            raise ServeError(f"sessions in Redis need the package redis ({error})") from None
        super().__init__(settings)
        self._prefix, self._error = prefix, RedisError
        try:
            self._client: Any = redis.Redis.from_url(
                settings.redis or "",
                socket_connect_timeout=_CONNECT,
                socket_timeout=_ANSWER,
                retry=Retry(NoBackoff(), 1),  # an idle connection may have been lost
                retry_on_error=[NoConnection],
                health_check_interval=15,
            )
        except ValueError as error:
            raise ServeError(f"the URL of Redis cannot be used: {error}") from None
        make = self._client.register_script
        self._create, self._replace, self._delete = make(_CREATE), make(_REPLACE), make(_DELETE)
        self._touch, self._count = make(_TOUCH), make(_COUNT)
        self._ttl = max(1, round(settings.session_ttl * 1000))

    async def count(self) -> int:
        return int(await self._run(self._count, ""))

    async def ping(self) -> str | None:
        try:
            await self._answer(self._client.ping())
        except Problem as problem:
            return problem.message
        return None

    async def close(self) -> None:
        await self._client.aclose()

    async def _insert(self, place: str, version: int, data: bytes) -> None:
        most = self._settings.max_sessions, self._settings.max_session_bytes
        wait = await self._run(self._create, place, version, data, self._ttl, *most)
        if wait >= 0:
            raise full(wait / 1000)

    async def _find(self, place: str) -> bytes | None:
        return await self._answer(self._client.hget(self._key(place), "d"))

    async def _update(self, place: str, version: int, data: bytes, expected: int) -> bool:
        most = self._settings.max_session_bytes
        wait = await self._run(self._replace, place, version, data, self._ttl, expected, most)
        if wait >= 0:
            raise full(wait / 1000)
        return bool(wait == -1)

    async def _remove(self, place: str) -> bool:
        return bool(await self._run(self._delete, place))

    async def _prolong(self, place: str) -> None:
        await self._run(self._touch, place, self._ttl)

    def _key(self, name: str) -> str:
        return f"{self._prefix}:{name}"

    async def _run(self, script: Any, place: str, *arguments: Any) -> Any:
        keys = [self._key("index"), self._key("sizes"), self._key(place)]
        return await self._answer(script(keys=keys, args=[place, *arguments]))

    async def _answer(self, command: Awaitable[_T]) -> _T:
        try:
            return await command
        except (TimeoutError, self._error, OSError) as error:
            message = "the sessions cannot be reached now; try again"
            raise Problem(503, "store_unavailable", message, headers={"Retry-After": "1"}) from error
