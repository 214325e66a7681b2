"""Malformed requests: each gets its documented error, none is slow, and the process goes on as before."""

import json
import re
import socket
import time
from pathlib import Path

import pytest

from tests.runtime.plans import PATIENT, heart
from tests.serve.malformed import PREDICT, attacks
from tests.serve.processes import running

SLOWEST = 1.0  # seconds


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    folder = tmp_path_factory.mktemp("malformed")
    heart().save(folder / "heart.miser")
    with running(folder) as process:
        yield process


def talk(port, sent):
    """What comes back for some bytes, after which the client closes its side; and the seconds it took."""
    began = time.perf_counter()
    received = b""
    with socket.create_connection(("127.0.0.1", port), timeout=10) as line:
        try:
            line.sendall(sent)
            line.shutdown(socket.SHUT_WR)
        except OSError:
            pass
        try:
            while chunk := line.recv(65536):
                received += chunk
        except ConnectionResetError:
            pass
    return received, time.perf_counter() - began


def memory(pid):
    """The resident memory of a process, in MiB."""
    return int(re.search(r"VmRSS:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())[1]) / 1024


def problem_of(attack, received):
    """What is wrong with an answer to an attack; empty if nothing is."""
    if not received:
        return "" if not attack.statuses else "no response"
    head, _, body = received.partition(b"\r\n\r\n")
    status = int(head.split()[1])
    if attack.statuses and status not in attack.statuses:
        return f"status {status}"
    if status >= 500:
        return f"status {status}"
    if status >= 400:
        length = int(re.search(rb"content-length: (\d+)", head)[1])
        error = json.loads(body[:length])["error"]
        if set(error) != {"code", "message", "field"} or len(body[:length]) > 2000:
            return f"error {error}"
        if b"application/json" not in head or b"nosniff" not in head:
            return "headers"
    return ""


def attack_all(service, n, seed):
    """Send `n` attacks one after the other; the failures, and the slowest by kind."""
    port = int(service.url.rpartition(":")[2])
    failures, slowest = [], {}
    with service.client() as client:
        session = client.post("/v1/models/heart/sessions", json={}).json()["id"]
    paths = [PREDICT, "/v1/models/heart/sessions"]
    paths += [f"/v1/sessions/{session}/{what}" for what in ("values", "what-if", "back", "stop")]
    for attack in attacks(n, seed, paths):
        received, seconds = talk(port, attack.sent)
        if seconds > SLOWEST:  # the machine may have been busy
            received, seconds = talk(port, attack.sent)
        problem = problem_of(attack, received)
        if problem or seconds > SLOWEST:
            failures.append((attack.kind, problem or f"{seconds:.2f} s", attack.sent[:300], received[:300]))
        slowest[attack.kind] = max(seconds, slowest.get(attack.kind, 0.0))
    return failures, slowest


def check_alive(service):
    with service.client() as client:
        assert client.post(PREDICT, json={"features": PATIENT}).json()["answer"] == "ill"
    assert service.process.poll() is None and "Traceback" not in service.output, service.output


def test_malformed_requests_get_documented_errors(service):
    failures, _ = attack_all(service, 650, seed=1)
    assert not failures, "\n".join(map(str, failures[:20]))
    check_alive(service)


@pytest.mark.long
def test_ten_thousand_malformed_requests_leave_memory_flat(service):
    attack_all(service, 1000, seed=2)
    before = memory(service.process.pid)
    began = time.monotonic()
    failures, slowest = attack_all(service, 10_000, seed=3)
    after = memory(service.process.pid)
    print(
        f"10,000 in {time.monotonic() - began:.0f} s; memory {before:.1f} -> {after:.1f} MiB; slowest (ms):"
    )
    print({kind: round(1000 * seconds, 1) for kind, seconds in slowest.items()})
    assert not failures, (len(failures), failures[:5])
    assert after < before + 10.0
    check_alive(service)
