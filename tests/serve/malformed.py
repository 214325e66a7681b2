"""Malformed requests of many kinds, by seed: bytes to send, and the statuses that may answer them."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence
from typing import NamedTuple

__all__ = ["KINDS", "Attack", "attacks"]

PREDICT = "/v1/models/heart/predict"
GOOD = {"features": {"age": 61, "pain": "typical", "chol": 200, "fbs": 1}}
CLOSED: frozenset[int] = frozenset()  # the connection is closed without a response


class Attack(NamedTuple):
    """One malformed request.

    Attributes
    ----------
    kind : str
    sent : bytes
    statuses : frozenset of int
        What may answer it. Empty: anything below 500, or no response, since the request is not whole.
    """

    kind: str
    sent: bytes
    statuses: frozenset[int]


def request(
    path: str,
    body: bytes = b"",
    method: str = "POST",
    headers: Sequence[str] = ("content-type: application/json",),
    length: int | None = None,
) -> bytes:
    """The bytes of a request."""
    size = len(body) if length is None else length
    lines = [f"{method} {path} HTTP/1.1", "host: 127.0.0.1", "connection: close", *headers]
    if body or length is not None or method in ("POST", "PATCH", "PUT"):
        lines.append(f"content-length: {size}")
    return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + body


def broken_json(draw: random.Random, paths: Sequence[str]) -> tuple[bytes, set[int]]:
    """JSON that ends too early, or has something odd in it."""
    text = json.dumps(GOOD).encode()
    cut = draw.randrange(1, len(text))
    odd = draw.choice([b"'", b"//", b"\x00", b"\x0b", b"\xef\xbb\xbf", b",,", b"undefined", b"\\"])
    broken = draw.choice([text[:cut], odd + text, text + odd, text[:1] + odd + text[1:], b"\xff\xfe" + text])
    return request(draw.choice(paths), broken), {422}


def nested(draw: random.Random, paths: Sequence[str]) -> tuple[bytes, set[int]]:
    """Lists and objects in each other, up to 300,000 deep."""
    depth = int(10 ** draw.uniform(1, 5.5))
    opened, closed = draw.choice([(b"[", b"]"), (b'{"a":', b"}")])
    whole = opened * depth + b"1" + closed * depth
    inside = b'{"features": {"age": ' + whole + b"}}"
    body = draw.choice([whole, inside, opened * depth])
    return request(draw.choice(paths), body), {422} if len(body) <= 2**20 else {413}


def numbers(draw: random.Random, paths: Sequence[str]) -> tuple[bytes, set[int]]:
    """Numbers that are none, or beyond all limits."""
    text = draw.choice(
        ["NaN", "Infinity", "-Infinity", "1e999", "-1e999", "0x10", "01", "1.", ".5", "+1", "1e", "--1",
         "9" * draw.randrange(400, 5000), "-" + "9" * 400, "1" + "0" * 5000 + "e5"]
    )  # fmt: skip
    field = draw.choice(
        ['"features": {"age": %s}', '"features": {}, "budget": %s', '"features": {}, "deadline": %s']
    )
    return request(PREDICT, ("{" + field % text + "}").encode()), {422}


WRONG = ("x", "", [], [1], {}, {"a": 1}, True, False, -1, -0.5, "1", "NaN", [[]], [None])


def wrong_types(draw: random.Random, paths: Sequence[str]) -> tuple[bytes, set[int]]:
    """Bodies of the wrong shape."""
    wrong = draw.choice(WRONG)
    bodies: list[object] = [wrong] if not isinstance(wrong, dict) else [[wrong]]
    bodies += [{"features": {"age": draw.choice(["x", [], {}, True, [1]])}}, {"features": {"pain": 17}}]
    bodies += [{"features": {"pain": "no such category"}}, {"features": {"nothing": 1}}, {"rows": []}]
    bodies += [{"rows": [wrong, 1]}, {"features": {}, "rows": [{}]}, {}, {"features": {}, "more": 1}]
    bodies += [{"features": {}, "receipt": "yes"}, {"features": {}, "budget": "1"}, {"rows": [{}] * 1001}]
    bodies += [{"features": {}, "prices": {"age": -1}}, {"features": {}, "prices": [1]}, {"features": [1]}]
    bodies += [{"features": {}, "known": {"age": "x"}}, {"features": {}, "deadline": -1}, {"features": None}]
    return request(PREDICT, json.dumps(draw.choice(bodies)).encode()), {422}


def text(draw: random.Random, paths: Sequence[str]) -> tuple[bytes, set[int]]:
    """Strings: lone surrogates, NUL, bad UTF-8, other encodings, long ones."""
    long = "x" * int(10 ** draw.uniform(3, 5.9))
    whole = json.dumps(GOOD)
    body = draw.choice(
        [b'{"features": {"\\ud800": 1}}', b'{"features": {"pain": "\\udfff"}}', b'{"\\ud800\\ud800": 1}',
         b'{"features": {"pain": "\\u0000"}}', b'{"features": {"pain": "\x00"}}',
         b'{"features": {"age\xff": 1}}',
         b'{"features": {"pain": "\xc0\x80"}}', b'{"features": {"pain": "\xed\xa0\x80"}}',
         whole.encode("utf-16"),
         whole.encode("utf-32"), json.dumps({"features": {"pain": long}}).encode(),
         json.dumps({"features": {long: 1}}).encode(), json.dumps({long: 1}).encode(),
         json.dumps({"features": {"pain": "<img src=x onerror=alert(1)>"}}).encode(),
         json.dumps({"features": {"\u202e</script>": 1}}).encode()]
    )  # fmt: skip
    return request(draw.choice(paths), body), {422}


def large(draw: random.Random, paths: Sequence[str]) -> tuple[bytes, set[int]]:
    """Bodies over the limit, by their length or as they come."""
    size = 2**20 + draw.randrange(1, 200_000)
    body = b'{"features": {"pain": "' + b"x" * size + b'"}}'
    chunked = b"%x\r\n" % len(body) + body + b"\r\n0\r\n\r\n"
    headers = ("content-type: application/json", "transfer-encoding: chunked")
    whole = request(draw.choice(paths), b"", "GET", headers).replace(b"GET", b"POST", 1) + chunked
    return draw.choice([request(draw.choice(paths), body), whole, request(PREDICT, b"{", length=10**12)]), {
        413
    }


def content_types(draw: random.Random, paths: Sequence[str]) -> tuple[bytes, set[int]]:
    """Good JSON under another name."""
    kind = draw.choice(["text/plain", "application/xml", "multipart/form-data; boundary=x", "", "json", "*/*",
                        "application/json+x", "application/x-www-form-urlencoded", "image/png"])  # fmt: skip
    headers = draw.choice(
        [(f"content-type: {kind}",), (), ("content-type: application/json", "content-encoding: br")]
    )
    return request(draw.choice(paths), json.dumps(GOOD).encode(), headers=headers), {415}


def methods(draw: random.Random, paths: Sequence[str]) -> tuple[bytes, set[int]]:
    """Methods that no address takes, or this one does not."""
    path = draw.choice(["/v1/models", "/v1/models/heart", "/healthz", "/readyz", "/metrics", "/openapi.json"])
    method = draw.choice(["POST", "PUT", "DELETE", "PATCH", "TRACE", "PROPFIND", "LOCK", "M-SEARCH"])
    if draw.random() < 0.3:
        return request(PREDICT, method=draw.choice(["GET", "PUT", "DELETE", "TRACE", "PATCH"])), {405}
    if draw.random() < 0.2:
        return request(path, method=draw.choice(["get", "FOO", "G" * 30, "\x01", "POSTT"])), {400}
    return request(path, method=method), {405}


def addresses(draw: random.Random, paths: Sequence[str]) -> tuple[bytes, set[int]]:
    """Addresses that lead nowhere."""
    path = draw.choice(
        ["/..", "/../../etc/passwd", "/static/../app.py", "/static/..%2f..%2fapp.py", "/static/%2e%2e/app.py",
         "/static/", "/static/%00", "/static/..\\..\\x", "/static//etc/passwd", "/v1", "/v1/", "/v1/models/",
         "/v1/models/nothing", "/v1/models/heart/", "/v1/models/%00", "/%ff%fe",
         "/v1/models/../../x", "/v1/models/heart.miser", "/v1/models/..%2fheart", "/docs", "/redoc", "/admin",
         "/.git/config", "/v1/sessions/x", "/v1/sessions/" + "x" * 5000, "/v1/sessions/%0d%0aset-cookie:a",
         "/v1/sessions/..%2f..%2fmodels", "/v1/models/" + "%F0%9F%92%A9" * 100, "//healthz", "/healthz/"]
    )  # fmt: skip
    return request(path, method="GET", headers=()), {404}


def heads(draw: random.Random, paths: Sequence[str]) -> tuple[bytes, set[int]]:
    """Heads that are too long, or not HTTP."""
    get = b"GET /v1/models HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\n"
    kind = draw.randrange(7)
    if kind == 0:
        return get + b"x: " + b"y" * draw.randrange(33_000, 200_000) + b"\r\n\r\n", {431}
    if kind == 1:
        return get + b"x: y\r\n" * draw.randrange(7000, 20_000) + b"\r\n", {431}
    if kind == 2:
        return b"GET /" + b"x" * draw.randrange(8200, 30_000) + b" HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n", {414}
    if kind == 3:
        return get.replace(
            b"127.0.0.1", draw.choice([b"evil.example", b"", b"127.0.0.1.evil.example", b"a:b:c"])
        ) + b"\r\n", {421}
    if kind == 4:
        return request(
            PREDICT, b"{}", headers=("origin: https://evil.example", "content-type: text/plain")
        ), {403}
    if kind == 5:
        return bytes(draw.randrange(256) for _ in range(draw.randrange(1, 300))) + b"\r\n\r\n", {400}
    return get + draw.choice(
        [b"a b: c\r\n\r\n", b": x\r\n\r\n", b"x\x00: y\r\n\r\n", b"x: a\x00b\r\n\r\n"]
    ), {400}


def lies(draw: random.Random, paths: Sequence[str]) -> tuple[bytes, set[int]]:
    """Lengths that are not true."""
    chunked = b"POST " + PREDICT.encode() + (
        b" HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\ncontent-type: application/json\r\n"
        b"transfer-encoding: chunked\r\n\r\n"
    )  # fmt: skip
    body = json.dumps(GOOD).encode()
    bad = [
        b"zz\r\n",
        b"-5\r\n{}\r\n0\r\n\r\n",
        b"fffffffffffffffffffff\r\n",
        b"2\r\n{}x\r\n0\r\n\r\n",
        b"1;" + b"x" * 70_000,
    ]
    if draw.random() < 0.3:
        return chunked + draw.choice(bad), set()
    lengths = (["content-length: 5", "transfer-encoding: chunked"],
               ["content-length: 7", "content-length: 9"],
               ["content-length: -1"], ["content-length: 1e3"], ["content-length: 9" + "9" * 40],
               ["transfer-encoding: gzip, chunked, gzip"], ["content-length: 0x10"])  # fmt: skip
    if draw.random() < 0.6:
        head = request(
            PREDICT, method="GET", headers=("content-type: application/json", *draw.choice(lengths))
        )
        return head.replace(b"GET", b"POST", 1) + body, {400}
    return request(PREDICT, body, length=len(body) - draw.randrange(1, 20)), {422}


def cut_off(draw: random.Random, paths: Sequence[str]) -> tuple[bytes, set[int]]:
    """The start of a good request; the client then closes its side."""
    whole = request(PREDICT, json.dumps(GOOD).encode())
    return whole[: draw.randrange(0, len(whole) - 1)], set()


def pipelined(draw: random.Random, paths: Sequence[str]) -> tuple[bytes, set[int]]:
    """Many requests in one piece, the first of them bad."""
    first = request(draw.choice(paths), b'{"features": ').replace(b"connection: close\r\n", b"")
    good = request(PREDICT, json.dumps(GOOD).encode())
    return first + good.replace(b"connection: close\r\n", b"") * draw.randrange(0, 50) + good, {422}


KINDS: tuple[Callable[[random.Random, Sequence[str]], tuple[bytes, set[int]]], ...] = (
    broken_json, nested, numbers, wrong_types, text, large, content_types, methods, addresses, heads, lies,
    cut_off, pipelined,
)  # fmt: skip


def attacks(n: int, seed: int, paths: Sequence[str]) -> list[Attack]:
    """`n` malformed requests, of all kinds in turn; `paths` are those that take a JSON body."""
    draw = random.Random(seed)
    made = []
    for i in range(n):
        kind = KINDS[i % len(KINDS)]
        sent, statuses = kind(draw, paths)
        made.append(Attack(kind.__name__, sent, frozenset(statuses)))
    return made
