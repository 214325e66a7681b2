"""`/metrics` counts what happened, in the format that Prometheus reads, for one worker and for several."""

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
from prometheus_client.parser import text_string_to_metric_families

from miserly.serve.metrics import Metrics, metrics_folder
from miserly.serve.models import ServedModel
from miserly.serve.service import AnswerEvent, Caller
from tests.runtime.plans import PATIENT, heart, linear
from tests.serve.apps import serving
from tests.serve.processes import running

PREDICT = "/v1/models/heart/predict"


def samples(text):
    """All samples of a page of metrics, by name and labels."""
    return {
        (sample.name, *(value for _, value in sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


@pytest.fixture
def plans(tmp_path):
    folder = tmp_path / "plans"
    folder.mkdir()
    heart().save(folder / "heart.miser")
    (folder / "bad.miser").write_bytes(b"not a plan")
    return folder


def fail(raw):
    raise RuntimeError("no")


def test_requests_answers_costs_and_purchases_are_counted(plans):
    async def run():
        async with serving(plans, {"fbs": fail}) as client:
            for _ in range(3):
                features = {name: PATIENT[name] for name in ("age", "pain", "chol")}
                assert (await client.post(PREDICT, json={"features": features})).status_code == 200
            await client.post(PREDICT, json={"features": PATIENT, "budget": 3})
            await client.post(PREDICT, json={"features": {"wrong": 1}})
            await client.get("/nothing/at/all")
            response = await client.get("/metrics")
            assert response.headers["content-type"].startswith("text/plain; version=")
            return samples(response.text)

    found = asyncio.run(run())
    route = "/v1/models/{name}/predict"
    assert found["miserly_requests_total", "POST", route, "200"] == 4
    assert found["miserly_requests_total", "POST", route, "422"] == 1
    assert found["miserly_requests_total", "GET", "(none)", "404"] == 1
    assert found["miserly_request_seconds_count", route] == 5
    assert found["miserly_answers_total", "heart", "answered"] == 3
    assert found["miserly_answers_total", "heart", "budget"] == 1
    assert found["miserly_answer_cost_sum", "heart"] == 3 * 10 + 3
    assert found["miserly_purchases_total", "chol", "heart", "value"] == 3
    assert found["miserly_purchases_total", "fbs", "heart", "failed"] == 3
    assert found["miserly_source_failures_total", "heart", "failed"] == 3
    assert found["miserly_models_loaded",] == 1 and found["miserly_models_bad",] == 1
    assert found["miserly_reloads_total", "loaded"] == 1 and found["miserly_reloads_total", "bad"] == 1


def test_names_are_escaped_and_their_number_is_bounded(monkeypatch):
    monkeypatch.setattr("miserly.serve.metrics.MOST_FEATURES", 5)
    metrics = Metrics()
    plan = linear(8)
    model = ServedModel.of('odd "name"\n\\', plan)
    receipt = model.served.predict({f"x{i}": 1.0 for i in range(8)})
    for _ in range(2):
        metrics.answered(AnswerEvent(receipt, model, Caller(), "", None, 0.0))
        found = samples(metrics.text().decode())
    purchases = [key for key in found if key[0] == "miserly_purchases_total"]
    assert len(purchases) == 5 + 1
    assert found["miserly_purchases_total", "(other)", 'odd "name"\n\\', "value"] == 2 * 3
    for i in range(300):
        metrics.answered(AnswerEvent(receipt, SimpleNamespace(name=f"m{i}"), Caller(), "", None, 0.0))
    assert (
        len({key[1] for key in samples(metrics.text().decode()) if key[0] == "miserly_answer_cost_sum"})
        == 101
    )


def test_unknown_methods_and_paths_add_no_labels():
    metrics = Metrics()
    for i in range(1000):
        metrics.responded({"method": f"M{i}", "path": f"/{i}"}, 404, 0.001)
    assert len([key for key in samples(metrics.text().decode()) if key[0] == "miserly_requests_total"]) == 1
    assert len(metrics._children) == 0


WORKER = """
from miserly.serve.metrics import Metrics
metrics = Metrics()
metrics.gauges["sessions"] = lambda: 7
metrics.responded({"method": "GET"}, 200, 0.001)
print(metrics.text().decode())
"""


def test_processes_with_a_common_folder_count_together(tmp_path):
    env = {**os.environ, "PROMETHEUS_MULTIPROC_DIR": str(tmp_path)}
    for number in (1, 2):
        done = subprocess.run([sys.executable, "-c", WORKER], env=env, capture_output=True, text=True)
        found = samples(done.stdout)
        assert found["miserly_requests_total", "GET", "(none)", "200"] == number, done.stderr
        assert found["miserly_sessions",] == 7
    assert len(list(tmp_path.glob("gauge_live*"))) == 1  # the files of processes that have ended are removed


@pytest.mark.long
def test_workers_count_together_and_a_killed_one_leaves_its_counts(plans):
    def answers(client):
        """The answers of all workers, as whichever one is asked adds them up."""
        found = samples(client.get("/metrics").text)
        assert found["miserly_models_loaded",] == 1  # and not 2
        return sum(value for key, value in found.items() if key[0] == "miserly_answers_total")

    closing = {"connection": "close"}  # a connection for each request, so that both workers get some
    with running(plans, "--workers", 2) as service, service.client(headers=closing) as client:
        for _ in range(40):
            client.post(PREDICT, json={"features": PATIENT}).raise_for_status()
        assert [answers(client) for _ in range(5)] == [40] * 5
        first = sorted(workers(service.process.pid))
        assert len(first) == 2
        os.kill(first[0], signal.SIGKILL)
        end = time.monotonic() + 20
        while len(workers(service.process.pid) - {first[0]}) < 2:
            assert time.monotonic() < end, service.output
            time.sleep(0.1)
        time.sleep(1.0)
        assert [answers(client) for _ in range(5)] == [40] * 5


def workers(parent):
    """The processes that answer."""
    found = set()
    for folder in Path("/proc").iterdir():
        with contextlib.suppress(OSError, ValueError):
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
            if int(fields[1]) == parent and "spawn_main" in (folder / "cmdline").read_text():
                found.add(int(folder.name))
    return found


def test_the_folder_of_several_workers_is_removed():
    with metrics_folder(1):
        assert "PROMETHEUS_MULTIPROC_DIR" not in os.environ
    with metrics_folder(2):
        folder = os.environ["PROMETHEUS_MULTIPROC_DIR"]
        assert os.path.isdir(folder)
    assert not os.path.exists(folder) and "PROMETHEUS_MULTIPROC_DIR" not in os.environ
