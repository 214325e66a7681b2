"""`miserly serve` as a process: it starts, answers, takes changed files, stops cleanly."""

import os
import socket
import threading
import time

import httpx
import pytest

from tests.cli.running import run
from tests.runtime.plans import PATIENT, heart
from tests.serve.processes import running

PREDICT = "/v1/models/heart/predict"


@pytest.fixture
def plans(tmp_path):
    folder = tmp_path / "plans"
    folder.mkdir()
    heart().save(folder / "heart.miser")
    return folder


def until(check, seconds=15.0):
    """Wait until a check holds; the last try is the one that counts."""
    end = time.monotonic() + seconds
    while time.monotonic() < end and not check():
        time.sleep(0.05)
    assert check()


def test_it_takes_changed_files_reports_bad_ones_and_stops_cleanly(plans):
    with running(plans, "--reload-every", "0.1") as service, service.client() as client:
        assert service.url.startswith("http://127.0.0.1:")
        assert client.post(PREDICT, json={"features": PATIENT}).json()["digest"] == heart().digest
        changed = heart(base=[-1000.0])
        changed.save(plans / "heart.miser")
        until(lambda: client.get("/v1/models/heart").json()["digest"] == changed.digest)
        assert client.post(PREDICT, json={"features": PATIENT}).json()["answer"] == "well"
        whole = (plans / "heart.miser").read_bytes()
        (plans / "heart.miser").write_bytes(whole[: len(whole) // 2])
        until(lambda: client.get("/v1/models").json()["problems"])
        problem = client.get("/v1/models").json()["models"][0]["problem"]
        assert "truncated" in problem and str(plans) not in problem
        assert client.post(PREDICT, json={"features": PATIENT}).json()["digest"] == changed.digest
        (plans / "heart.miser").write_bytes(whole)
        until(lambda: not client.get("/v1/models").json()["problems"])
        assert service.stop() == 0
    assert service.output.rstrip().endswith("Stopped.")
    assert "Traceback" not in service.output


SOURCES = """
import time

def slow(raw):
    time.sleep(1.0)
    return 200.0

sources = {"chol": slow}
"""


def test_two_workers_answer_and_answers_under_way_are_finished_on_sigterm(plans, tmp_path):
    (tmp_path / "slow_sources.py").write_text(SOURCES)
    body = {"features": {name: PATIENT[name] for name in ("age", "pain", "fbs")}}
    options = ("--workers", 2, "--sources", "slow_sources:sources")
    with running(plans, *options, cwd=tmp_path) as service, service.client() as client:
        given = []
        thread = threading.Thread(target=lambda: given.append(client.post(PREDICT, json=body)))
        thread.start()
        time.sleep(0.4)
        assert service.stop() == 0
        thread.join()
    assert given[0].status_code == 200
    assert given[0].json()["acquired"] == ["age", "pain", "chol", "fbs"]
    with pytest.raises(httpx.ConnectError):
        httpx.get(f"{service.url}/healthz")


def test_what_keeps_it_from_starting_is_reported_in_one_line(plans, tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        for arguments, words in (
            ((plans, "--port", port), f"cannot listen at 127.0.0.1, port {port}: address already in use"),
            ((tmp_path / "none",), "there is no such file or folder"),
            ((tmp_path,), "there is no saved plan (*.miser) in this folder"),
            ((plans, "--sources", "os:nothing"), "os:nothing: the module has no 'nothing'"),
            ((plans, "--sources", "no_such_module:x"), "the module cannot be imported"),
            ((plans, "--sources", "os:name"), "sources are a mapping of feature or group to callable"),
            ((plans, "--tls-cert", "cert.pem"), "--tls-cert and --tls-key go together"),
            ((plans, "--tls-cert", plans / "heart.miser", "--tls-key", plans / "heart.miser"), "certificate"),
            ((plans, "--key", "short"), "API key 1: a key has at least 16 printable"),
        ):
            result = run("serve", *arguments)
            assert result.exit_code in (1, 2), arguments
            assert words in result.stderr, result.stderr
            assert "short" not in result.stderr and "Traceback" not in result.stderr


def test_a_sources_module_may_be_in_the_current_folder(plans, tmp_path):
    (tmp_path / "our_sources.py").write_text("def sources(model):\n    return {'chol': lambda raw: 200.0}\n")
    body = {"features": {name: PATIENT[name] for name in ("age", "pain", "fbs")}, "deadline": 5}
    with running(plans, "--sources", "our_sources:sources", cwd=tmp_path) as service:
        with service.client() as client:
            record = client.post(PREDICT, json=body).json()
        assert record["acquired"] == ["age", "pain", "chol", "fbs"]
        assert os.getcwd() != str(tmp_path)
