"""Schemathesis against the service's own OpenAPI: all checks, examples, boundaries, random data, sequences.

The description of the API is for any model, so it cannot name features. Here the names and types of the
features of one model are put into it: every request that fits the description must then be accepted.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.runtime.plans import heart
from tests.serve.processes import running

KEY = "correct-horse-battery-staple"
SCHEMATHESIS = Path(sys.executable).with_name("schemathesis")
NUMBER = {"type": ["number", "null"]}
FEATURES = {"age": NUMBER, "pain": {"enum": ["none", "typical", None]}, "chol": NUMBER, "fbs": NUMBER}
VALUES = {"type": "object", "properties": FEATURES, "additionalProperties": False}
PRICE = {"type": "number", "minimum": 0, "exclusiveMaximum": 1e100}
PRICES = {
    "type": "object",
    "properties": dict.fromkeys([*FEATURES, "blood"], PRICE),
    "additionalProperties": False,
}
RULES = """
[[operations]]  # what a session asks for depends on its state, which a description cannot say
include-path = ["/v1/sessions/{id}/values", "/v1/sessions/{id}/stop"]
checks.positive_data_acceptance.expected-statuses = ["2xx", 401, 404, 409, 422]
"""


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    folder = tmp_path_factory.mktemp("schemathesis")
    heart().save(folder / "heart.miser")
    with running(folder, env={"MISERLY_KEYS": KEY}) as process:
        yield process


def for_one_model(schema):
    """A part of the description, with the features of the model in it and without examples of another one."""
    if isinstance(schema, list):
        return [for_one_model(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    if schema.get("additionalProperties") == {"$ref": "#/components/schemas/Value"}:
        return VALUES
    if "sources of the server" in str(schema.get("anyOf")) or "as many as" in schema.get("description", ""):
        return {"type": "null"}  # inputs are for sources, and this server has none
    if "additionalProperties" in schema and "et-ups" in schema.get("description", ""):
        return PRICES
    if schema.get("name") == "name" and schema.get("in") == "path":
        return {**schema, "schema": {"enum": ["heart"]}}
    return {key: for_one_model(one) for key, one in schema.items() if key not in ("example", "examples")}


def attack(service, tmp_path, *options):
    with service.client(headers={"x-api-key": KEY}) as client:
        described = client.get("/openapi.json").json()
    described = for_one_model(described)
    del described["components"]["securitySchemes"][
        "bearer"
    ]  # either is enough; a wrong one of two is no error
    for operations in described["paths"].values():
        for operation in operations.values():
            operation.get("security", [])[:1] = []
    path = tmp_path / "openapi.json"
    path.write_text(json.dumps(described))
    (tmp_path / "schemathesis.toml").write_text(RULES)
    command = [
        SCHEMATHESIS, "run", path, "--url", service.url, "--checks", "all", "--header", f"X-API-Key: {KEY}",
        "--no-color", "--continue-on-failure", *options,
    ]  # fmt: skip
    done = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, env={**os.environ, "COLUMNS": "110"}
    )
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    assert "Traceback" not in service.output, service.output
    return done.stdout


def test_the_service_is_as_its_openapi_says(service, tmp_path):
    output = attack(service, tmp_path, "--max-examples", "3", "--seed", "1")
    assert "Tested: 14" in output


@pytest.mark.long
@pytest.mark.parametrize("seed", ["2", "3"])
def test_the_service_is_as_its_openapi_says_for_long(service, tmp_path, seed):
    print(attack(service, tmp_path, "--max-examples", "150", "--seed", seed)[-600:])
