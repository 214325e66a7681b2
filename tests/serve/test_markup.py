"""Markup in names, classes and metadata is data: it comes back in JSON that no browser takes for a page."""

import asyncio
import json

import pytest

from miserly.costs import Costs
from miserly.plan import Node, Plan, Raw
from tests.serve.apps import serving

MARKUP = (
    "<img src=x onerror=alert(1)>", "</script><script>alert(1)</script>", "javascript:alert(1)",
    "\"'><svg/onload=1>", "{{7*7}}", "\u2028alert(1)", "a\r\nset-cookie: b=c",
)  # fmt: skip


@pytest.fixture
def plans(tmp_path):
    """A plan with markup everywhere, in a file with markup in its name."""
    costs = Costs(dict.fromkeys(MARKUP, 1.0), unit=MARKUP[0])
    n = len(MARKUP)
    nodes = [Node([i], [0], [1.0], [0.0], up=i + 1 if i < n - 1 else -1) for i in range(n)]
    info = {"title": MARKUP[1], "target": MARKUP[0], "about": MARKUP[2]}
    plan = Plan(
        costs=costs, terms=[Raw(i) for i in range(n)], nodes=nodes, base=[0.0], link="logistic",
        classes=[MARKUP[0], MARKUP[1]], info=info,
    )  # fmt: skip
    plan.save(tmp_path / "<img src=x onerror=alert(1)>.miser")
    return tmp_path


def check(response, status):
    """A JSON response of a status that a browser shows as data."""
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == "application/json"
    assert response.headers["x-content-type-options"] == "nosniff"
    assert response.headers["content-security-policy"].startswith("default-src 'none'")
    assert "set-cookie" not in response.headers
    return json.loads(response.content)


def test_markup_comes_back_as_data(plans):
    async def run():
        async with serving(plans) as client:
            listed = check(await client.get("/v1/models"), 200)["models"][0]
            assert listed["title"] == MARKUP[1] and "<" not in listed["name"]
            shown = check(await client.get(f"/v1/models/{listed['name']}"), 200)
            assert [one["name"] for one in shown["features"]] == list(MARKUP)
            path = f"/v1/models/{listed['name']}/predict"
            body = {"features": dict.fromkeys(MARKUP, 1.0), "receipt": True}
            answer = check(await client.post(path, json=body), 200)
            assert answer["answer"] in MARKUP and answer["acquired"] == list(MARKUP)
            session = check(await client.post(f"/v1/models/{listed['name']}/sessions", json={}), 201)
            assert session["question"]["feature"] == MARKUP[0]

    asyncio.run(run())


@pytest.mark.parametrize("text", MARKUP)
def test_markup_of_a_client_comes_back_as_data_in_errors(plans, text):
    async def run():
        async with serving(plans) as client:
            name = check(await client.get("/v1/models"), 200)["models"][0]["name"]
            path = f"/v1/models/{name}/predict"
            for body in ({"features": {text + "!": 1}}, {text: 1}, {"features": {MARKUP[0]: text}}):
                check(await client.post(path, json=body), 422)
            await_id = {"x-request-id": text.encode("utf-8").replace(b"\r\n", b" ")}
            response = await client.get("/v1/models/" + "%3Cimg%20src=x%3E", headers=await_id)
            check(response, 404)
            assert len(response.headers["x-request-id"]) == 16

    asyncio.run(run())
