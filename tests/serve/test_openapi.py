"""The service does what its OpenAPI description says; Schemathesis tries to show that it does not."""

import asyncio
import json
import re
import subprocess
import sys

import pytest

from tests.runtime.plans import heart, linear
from tests.serve.apps import serving
from tests.serve.processes import running

# Names of features and their categories belong to a model, which no schema of all models can say: what is
# valid by the schema may still be refused with 422.
CONFIG = """
[checks.positive_data_acceptance]
expected-statuses = ["2xx", "404", "409", "410", "422"]
"""


@pytest.fixture(scope="module")
def plans(tmp_path_factory):
    folder = tmp_path_factory.mktemp("plans")
    heart().save(folder / "heart.miser")
    linear(2).save(folder / "linear.miser")
    return folder


def description(plans):
    async def run():
        async with serving(plans) as client:
            return (await client.get("/openapi.json")).json()

    return asyncio.run(run())


def test_every_operation_is_described_with_examples_and_errors(plans):
    record = description(plans)
    for path, item in record["paths"].items():
        for method, operation in item.items():
            where = f"{method} {path}"
            assert operation["summary"] and operation["tags"], where
            if path.startswith("/v1"):
                assert {"401", "413", "429", "503"} <= operation["responses"].keys(), where
            named = re.findall(r"\{(\w+)\}", path)
            assert [one["name"] for one in operation.get("parameters", ())] == named, where
            assert bool(named) <= ("404" in operation["responses"]), where
            if "requestBody" in operation:
                assert {"415", "422"} <= operation["responses"].keys(), where
                assert operation["requestBody"]["content"]["application/json"]["examples"], where


def test_every_reference_leads_to_a_schema_and_every_schema_is_used(plans):
    record = description(plans)
    named = set(re.findall(r'"#/components/schemas/(\w+)"', json.dumps(record)))
    assert named == record["components"]["schemas"].keys()


def test_nothing_comes_from_another_host(plans):
    async def run():
        async with serving(plans) as client:
            return [(await client.get(path)).status_code for path in ("/docs", "/redoc")]

    assert asyncio.run(run()) == [404, 404]


def schemathesis(plans, folder, n_examples):
    (folder / "schemathesis.toml").write_text(CONFIG)
    with running(plans) as service:
        command = ["--config-file", "schemathesis.toml", "run", f"{service.url}/openapi.json",
                   "--checks", "all", "--max-examples", str(n_examples), "--seed", "1"]  # fmt: skip
        done = subprocess.run(
            [sys.executable, "-m", "schemathesis.cli", *command],
            cwd=folder, capture_output=True, text=True, timeout=540, check=False,
        )  # fmt: skip
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    assert "Test cases:" in done.stdout and "Traceback" not in service.output


# `test_schemathesis` has the short run, with the features of one model in the description.
@pytest.mark.long
def test_schemathesis_finds_nothing_in_many_examples(plans, tmp_path):
    schemathesis(plans, tmp_path, 300)
