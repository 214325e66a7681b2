"""Clients that do not speak HTTP properly, or not at all: each gets a documented error or a closed door."""

import json
import re
import socket
import threading
import time

import pytest
import uvicorn

from miserly.serve import connections
from miserly.serve.connections import BoundedProtocol
from miserly.serve.doors import Doors
from miserly.serve.settings import ServeSettings
from tests.serve.test_doors import echo


@pytest.fixture(scope="module")
def port():
    """The port of a server in a thread, with short limits."""
    monkeypatch = pytest.MonkeyPatch()
    monkeypatch.setattr(connections, "HEAD_SECONDS", 0.4)
    monkeypatch.setattr(connections, "UNREAD_SECONDS", 0.4)
    monkeypatch.setattr(connections, "CONNECTIONS", 20)
    app = Doors(echo, ServeSettings("models", max_body=100_000, body_timeout=0.4))
    config = uvicorn.Config(
        app, http=BoundedProtocol, ws="none", lifespan="off", log_config=None, access_log=False,
        server_header=False,
    )  # fmt: skip
    server = uvicorn.Server(config)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        while not server.started:
            time.sleep(0.01)
        yield listener.getsockname()[1]
        server.should_exit = True
        thread.join(10)
    monkeypatch.undo()


def talk(port, *parts, pause=0.0, seconds=5.0):
    """What a server answers to some bytes until it closes the connection, or `seconds` have passed."""
    with socket.create_connection(("127.0.0.1", port), timeout=seconds) as line:
        try:
            for part in parts:
                line.sendall(part)
                time.sleep(pause)
        except (BrokenPipeError, ConnectionResetError):
            pass
        received = b""
        try:
            while chunk := line.recv(65536):
                received += chunk
        except (TimeoutError, ConnectionResetError):
            pass
    return received


def read(response):
    """The status, the code and the number of responses in what a server sent."""
    head, _, body = response.partition(b"\r\n\r\n")
    status = int(head.split()[1])
    found = json.loads(body)["error"]["code"] if status >= 400 else ""
    return status, found


GET = b"GET /v1/models HTTP/1.1\r\nhost: x\r\n"
POST = b"POST /v1/models/heart/predict HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n"
CLOSE = b"connection: close\r\n\r\n"


def test_a_plain_request_is_answered_without_the_name_of_the_server(port):
    response = talk(port, GET + CLOSE)
    assert read(response)[0] == 200
    assert b"uvicorn" not in response.lower()


@pytest.mark.parametrize(
    ("sent", "expected"),
    [
        (b"hello\r\n\r\n", (400, "not_http")),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", (400, "not_http")),  # TLS at a plain port
        (b"GET /\x00 HTTP/1.1\r\n\r\n", (400, "not_http")),
        (b"GET / HTTP/9.9\r\n\r\n", (400, "not_http")),
        (b"GET / HTTP/1.1\r\nhost: x\r\nbad header\r\n\r\n", (400, "not_http")),
        (b"CONNECT evil.example:443 HTTP/1.1\r\nhost: x\r\n\r\n", (400, "not_http")),
        (POST + b"content-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n", (400, "not_http")),
        (POST + b"content-length: 5\r\ncontent-length: 6\r\n\r\n{}   ", (400, "not_http")),
        (POST + b"content-length: -5\r\n\r\n", (400, "not_http")),
        (POST + b"content-length: 99999999999999999999999\r\n\r\n", (400, "not_http")),
        (POST + b"transfer-encoding: xchunked\r\n\r\n0\r\n\r\n", (400, "not_http")),
        (GET + b"host: evil.example\r\n\r\n", (400, "not_http")),  # a proxy may have checked the other one
        (GET + b"x-api-key: a\r\nX-API-Key: b\r\n\r\n", (400, "not_http")),
        (GET + b"cookie: " + b"x" * 40_000 + b"\r\n\r\n", (431, "head_too_long")),
        (GET + b"x: y\r\n" * 20_000, (431, "head_too_long")),
        (b"GET /" + b"x" * 9000 + b" HTTP/1.1\r\nhost: x\r\n\r\n", (414, "url_too_long")),
        (b"GET /" + b"x" * 90_000, (431, "head_too_long")),
        (POST + b"content-length: 100001\r\n" + CLOSE, (413, "too_large")),
    ],
)
def test_what_is_no_proper_request_is_refused_at_once(port, sent, expected):
    began = time.monotonic()
    assert read(talk(port, sent)) == expected
    assert time.monotonic() - began < 0.35  # before any of the time limits


def test_a_chunk_that_lies_about_its_length_is_refused(port):
    response = talk(port, POST + b"transfer-encoding: chunked\r\n\r\n", b"zz\r\n{}\r\n0\r\n\r\n", pause=0.05)
    assert response == b""  # closed: the request had begun, and a response would answer a part of it


def test_a_head_without_end_is_given_up(port):
    began = time.monotonic()
    assert read(talk(port, b"GET /", *[b"x"] * 8, pause=0.1)) == (408, "slow_head")
    assert talk(port) == b""  # a connection on which nothing is sent
    assert talk(port, GET + b"\r\n", seconds=1.0).startswith(b"HTTP/1.1 200")
    assert time.monotonic() - began < 4.0


def test_a_body_without_end_is_given_up(port):
    began = time.monotonic()
    assert read(talk(port, POST + b"content-length: 9\r\n\r\n{")) == (408, "slow_body")
    assert time.monotonic() - began < 2.0


def test_a_refused_body_is_read_so_that_the_client_reads_the_response(port):
    body = b" " * 1_000_000
    head = POST + b"content-length: %d\r\n\r\n" % len(body)
    response = talk(port, head + body, GET + CLOSE)
    assert response.startswith(b"HTTP/1.1 413") and b"HTTP/1.1 200" in response  # the connection goes on


def test_a_refused_body_is_not_read_for_ever(port):
    began = time.monotonic()
    endless = POST + b"content-length: 99999999999\r\n\r\n"
    with socket.create_connection(("127.0.0.1", port), timeout=5) as line:
        line.sendall(endless)
        with pytest.raises((BrokenPipeError, ConnectionResetError)):
            for _ in range(2000):
                line.sendall(b" " * 65536)
    assert read(talk(port, endless)) == (413, "too_large")  # nothing more is sent: closed after a while
    assert time.monotonic() - began < 3.0


@pytest.mark.parametrize("endless", [b"X: y\r\n" * 9000, b"x" * 65536], ids=["lines", "one line"])
def test_what_follows_a_chunked_body_is_bounded(port, endless):
    head = POST + b"transfer-encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\nx: "
    assert talk(port, head, endless, pause=0.02) == b""  # closed at once, and not as a slow body


def test_headers_after_a_chunked_body_are_not_headers_of_the_request(port):
    body = b"2\r\n{}\r\n0\r\n"
    late = POST + b"connection: close\r\ntransfer-encoding: chunked\r\n\r\n" + body
    assert read(talk(port, late + b"Content-Encoding: gzip\r\nHost: y\r\n\r\n"))[0] == 200
    assert read(talk(port, late, b"Content-Encoding: gzip\r\n\r\n", pause=0.05))[0] == 200


def test_a_body_in_chunks_of_one_byte_is_read(port):
    body = b" " * 20_000
    head = POST + b"connection: close\r\ntransfer-encoding: chunked\r\n\r\n"
    response = talk(port, head, b"".join(b"1\r\n%c\r\n" % one for one in body) + b"0\r\n\r\n", pause=0.05)
    assert re.findall(rb'"size": (\d+)', response) == [b"20000"]


def test_requests_in_one_piece_are_answered_in_order(port):
    one = POST + b"content-length: %d\r\n\r\n%s"
    bodies = [b" " * n for n in (1, 7, 3)]
    response = talk(port, b"".join(one % (len(body), body) for body in bodies) + GET + CLOSE)
    assert re.findall(rb'"size": (\d+)', response) == [b"1", b"7", b"3", b"0"]


def test_more_connections_than_allowed_are_sent_away_and_the_others_go_on(port):
    lines = [socket.create_connection(("127.0.0.1", port), timeout=5) for _ in range(20)]
    try:
        assert read(talk(port)) == (503, "busy")
        lines[0].sendall(GET + CLOSE)
        assert lines[0].recv(100).startswith(b"HTTP/1.1 200")
    finally:
        for line in lines:
            line.close()
    time.sleep(0.1)
    assert read(talk(port, GET + CLOSE))[0] == 200
