"""`POST /v1/models/{name}/predict` answers as `OnDemand` does, and refuses what it cannot use by name."""

import asyncio
import json
import threading

import httpx
import pytest

from miserly import Costs
from miserly.runtime import OnDemand
from tests.runtime.plans import PATIENT, heart, linear
from tests.serve.apps import serving

PATH = "/v1/models/heart/predict"


@pytest.fixture(scope="module")
def plans(tmp_path_factory):
    folder = tmp_path_factory.mktemp("plans")
    heart().save(folder / "heart.miser")
    linear(3, costs=Costs([1.0, 2.0, 4.0])).save(folder / "unnamed.miser")
    flags = {0: (False, True), 1: (1, 2, 3)}
    linear(2, costs=Costs({"smoker": 1.0, "grade": 1.0}), categories=flags).save(folder / "flags.miser")
    return folder


def ask(plans, *bodies, path=PATH, **options):
    """The responses to bodies, which may be bytes."""

    async def run():
        async with serving(plans, **options) as client:
            head = {"Content-Type": "application/json"}
            data = [body if isinstance(body, bytes) else json.dumps(body) for body in bodies]
            return [await client.post(path, content=one, headers=head) for one in data]

    found = asyncio.run(run())
    return found[0] if len(found) == 1 else found


def error(response, status=422):
    assert response.status_code == status, response.text
    record = response.json()
    assert list(record) == ["error"] and list(record["error"]) == ["code", "message", "field"]
    return record["error"]


# -- answers -------------------------------------------------------------------------------------------------


def test_one_row_is_answered_as_on_demand_answers_it(plans):
    response = ask(plans, {"features": PATIENT, "receipt": True})
    assert response.status_code == 200, response.text
    record = response.json()
    receipt = OnDemand(heart()).predict(PATIENT)
    assert record["answer"] == receipt.answer
    assert record["probabilities"]["ill"] == pytest.approx(float(receipt.probabilities[1]), abs=1e-12)
    assert record["cost"] == receipt.cost
    assert record["acquired"] == list(receipt.acquired)
    assert record["receipt"]["trail"][0]["feature"] == receipt.acquired[0]
    assert record["model"] == "heart" and record["digest"] == heart().digest


def test_budget_known_and_prices_are_those_of_on_demand(plans):
    for more in (
        {"budget": 3},
        {"known": {"age": 61, "fbs": 1.0}},
        {"prices": {"chol": 1.5, "blood": 0}},
        {"prices": {"pain": 50}, "budget": 20, "known": {"chol": 210}},
        {"deadline": 5},
        {"deadline": 0},
        {"budget": None, "known": None, "prices": None, "deadline": None, "receipt": None},
    ):
        record = ask(plans, {"features": PATIENT, **more}).json()
        receipt = OnDemand(heart()).predict(PATIENT, **{k: v for k, v in more.items() if k != "receipt"})
        assert record["cost"] == receipt.cost
        assert record["acquired"] == list(receipt.acquired)
        assert record["stopped_by"] == receipt.stopped_by


def test_a_feature_that_is_not_given_is_missing_and_not_billed_but_null_is_an_answer_that_is(plans):
    absent, null = ask(
        plans, {"features": {"age": 61}}, {"features": {"age": 61, "chol": None}, "receipt": True}
    )
    assert absent.json()["acquired"] == ["age"] and absent.json()["cost"] == 1.0
    assert null.json()["acquired"] == ["age", "chol"] and null.json()["cost"] == 8.0
    outcomes = {one["feature"]: one["outcome"] for one in null.json()["receipt"]["trail"]}
    assert outcomes == {"age": "value", "pain": "declined", "chol": "null", "fbs": "declined"}


def test_many_rows_are_answered_in_order_as_single_ones(plans):
    rows = [PATIENT, {**PATIENT, "age": 20}, {"age": 40}, {}]
    many, slow = ask(plans, {"rows": rows, "budget": 11}, {"rows": rows, "budget": 11, "deadline": 5})
    singles = ask(plans, *({"features": row, "budget": 11} for row in rows))
    for response in (many, slow):
        record = response.json()
        assert record["digest"] == heart().digest
        for got, one in zip(record["results"], singles, strict=True):
            assert got == {
                name: value for name, value in one.json().items() if name not in ("model", "digest")
            }


def test_features_without_names_are_called_by_their_number(plans):
    record = ask(plans, {"features": {"0": 1.5, "2": -2}}, path="/v1/models/unnamed/predict").json()
    assert record["answer"] == -0.5 and record["acquired"] == ["0", "2"]
    assert record["probabilities"] is None


def test_booleans_and_numeric_categories(plans):
    path = "/v1/models/flags/predict"
    good = ask(plans, {"features": {"smoker": True, "grade": 3}}, path=path)
    assert good.json()["answer"] == 1.0 + 2.0  # the codes
    for features, field in (
        ({"smoker": "yes"}, "smoker"),
        ({"grade": 7}, "grade"),
        ({"grade": True}, "grade"),
    ):
        assert error(ask(plans, {"features": features}, path=path))["field"] == f"features.{field}"
    assert error(ask(plans, {"features": {"smoker": 3}}, path=path))["message"] == (
        "smoker must be one of false, true, or null, not 3"
    )


def test_numbers_that_overflow_give_null(plans):
    path = "/v1/models/unnamed/predict"
    assert ask(plans, {"features": {"0": 1e308, "1": 1e308}}, path=path).json()["answer"] is None
    response = ask(plans, {"features": {**PATIENT, "chol": -1e308, "fbs": -1e308}})
    assert response.status_code == 200 and response.json()["answer"] == "well"


# -- sources of the server -----------------------------------------------------------------------------------


def test_what_is_given_wins_over_the_source_of_the_server(plans):
    seen = []

    async def chol(raw, age):
        seen.append((raw, age))
        return 200.0

    sources = {"heart": {"chol": chol, "fbs": lambda raw: 1.0}}
    features = {"age": 61.0, "pain": "typical"}
    given, fetched = ask(
        plans, {"features": {**features, "chol": 210}}, {"features": features, "input": {"patient": 7}},
        sources=sources,
    )  # fmt: skip
    assert given.json()["acquired"] == fetched.json()["acquired"] == ["age", "pain", "chol", "fbs"]
    assert seen == [({"patient": 7, **features}, 61.0)]
    many = ask(
        plans, {"rows": [features, {**features, "chol": 1}], "inputs": [{"patient": 8}, {}]}, sources=sources
    )
    assert [one["cost"] for one in many.json()["results"]] == [13.0, 13.0]
    assert [raw["patient"] for raw, _ in seen] == [7, 8]


@pytest.mark.filterwarnings("ignore:all 1 threads:RuntimeWarning")
@pytest.mark.parametrize(("threads", "second"), [(1, "exhausted"), (2, "late")])
def test_a_call_that_hangs_holds_one_of_the_threads(plans, threads, second):
    let_go = threading.Event()

    def hangs(raw):
        let_go.wait(30)
        return 200.0

    lacking = {name: value for name, value in PATIENT.items() if name != "chol"}
    body = {"features": lacking, "deadline": 0.1, "receipt": True}
    try:
        answers = ask(plans, body, body, sources={"heart": {"chol": hangs}}, source_threads=threads)
    finally:
        let_go.set()
    outcomes = [{one["feature"]: one["outcome"] for one in a.json()["receipt"]["trail"]} for a in answers]
    assert [one["chol"] for one in outcomes] == ["late", second]


def test_a_source_that_hangs_ends_with_the_deadline_or_the_timeout(plans):
    async def hangs(raw):
        await asyncio.sleep(60)

    sources = {"chol": hangs}
    body = {"features": {"age": 61.0, "pain": "typical"}}
    late = ask(plans, {**body, "deadline": 0.1}, sources=lambda name: sources if name == "heart" else None)
    assert late.json()["stopped_by"] == "deadline" and late.json()["acquired"] == ["age", "pain"]
    capped = ask(plans, {**body, "deadline": 50}, sources={"heart": sources}, timeout=0.1)
    assert capped.json()["stopped_by"] == "deadline"


def test_what_a_source_raises_is_not_shown_as_a_trace(plans):
    def broken(raw):
        raise RuntimeError("no connection")

    record = ask(
        plans, {"features": PATIENT | {}, "receipt": True}, sources={"heart": {"chol": broken}}
    ).json()
    assert record["stopped_by"] == "answered"  # it was given
    lacking = {name: PATIENT[name] for name in ("age", "pain", "fbs")}
    record = ask(plans, {"features": lacking, "receipt": True}, sources={"heart": {"chol": broken}}).json()
    assert [one["outcome"] for one in record["receipt"]["trail"]] == ["value", "value", "failed", "value"]


# -- refusals ------------------------------------------------------------------------------------------------

FIELDS = "budget, deadline, features, input, inputs, known, prices, receipt, rows"
REFUSED = [
    (b"", "invalid_json", None, "the body is not valid JSON"),
    (b"{", "invalid_json", None, "the body is not valid JSON"),
    (b'{"features": {"age": NaN}}', "invalid_json", None, "the body is not valid JSON"),
    (b'{"features": {"age": 1e999}}', "invalid_json", None, "the body is not valid JSON"),
    (b'{"features": {"pain": "\\ud800"}}', "invalid_json", None, "the body is not valid JSON"),
    (b"[" * 100_000, "invalid_json", None, "the body is not valid JSON"),
    ([], "invalid_body", None, "the body must be a JSON object"),
    ({}, "invalid_body", "features", "give either features (one row) or rows (many)"),
    ({"features": {}, "rows": [{}]}, "invalid_body", "features", "give either features (one row) or rows"),
    ({"featurs": {}}, "unknown_field", "featurs", f"fields {FIELDS}; did you mean 'features'?"),
    ({"features": []}, "invalid_values", "features", "features must be an object of feature to value"),
    ({"features": None}, "invalid_values", "features", "features must be an object of feature to value"),
    ({"features": {"agee": 1}}, "unknown_feature", "features.agee", "did you mean 'age'?"),
    ({"features": {"x" * 9999: 1}}, "unknown_feature", "features." + "x" * 57 + "...", "no feature"),
    ({"features": {"age": "61"}}, "invalid_value", "features.age", 'age must be a number or null, not "61"'),
    ({"features": {"age": True}}, "invalid_value", "features.age", "age must be a number or null, not true"),
    ({"features": {"age": [1]}}, "invalid_value", "features.age", "age must be a number or null, not a list"),
    ({"features": {"pain": "odd"}}, "invalid_value", "features.pain",
     'pain must be one of "none", "typical", or null, not "odd"'),
    ({"features": {"pain": 1}}, "invalid_value", "features.pain", "or null, not 1"),
    ({"features": {"pain": {}}}, "invalid_value", "features.pain", "or null, not an object"),
    ({"features": {}, "known": {"pain": "x"}}, "invalid_value", "known.pain", "must be one of"),
    ({"features": {}, "known": 1}, "invalid_values", "known", "known must be an object"),
    ({"features": {}, "budget": -1}, "invalid_number", "budget", "must be a number of at least 0, not -1"),
    ({"features": {}, "budget": "9"}, "invalid_number", "budget", "must be a number"),
    ({"features": {}, "budget": True}, "invalid_number", "budget", "must be a number"),
    ({"features": {}, "deadline": -0.1}, "invalid_number", "deadline", "at least 0, not -0.1"),
    ({"features": {}, "receipt": 1}, "invalid_boolean", "receipt", "receipt must be true or false, not 1"),
    ({"features": {}, "prices": {"bld": 1}}, "unknown_feature", "prices.bld", "no feature of this name"),
    ({"features": {}, "prices": {"age": -1}}, "invalid_number", "prices.age", "at least 0, not -1"),
    ({"features": {}, "prices": {"age": None}}, "invalid_number", "prices.age", "not null"),
    ({"features": {}, "prices": [1]}, "invalid_prices", "prices", "prices must be an object"),
    ({"features": {}, "input": {}}, "invalid_input", "input", "the server has no sources for this model"),
    ({"features": {}, "inputs": []}, "invalid_body", "inputs", "inputs goes with rows"),
    ({"rows": []}, "invalid_rows", "rows", "rows must be a list of 1 to 20 objects"),
    ({"rows": [{}] * 21}, "invalid_rows", "rows", "rows must be a list of 1 to 20 objects"),
    ({"rows": {}}, "invalid_rows", "rows", "rows must be a list"),
    ({"rows": [{}] * 17 + [{"chol": "a"}]}, "invalid_value", "rows[17].chol", "chol must be a number"),
    ({"rows": [{}, 3]}, "invalid_values", "rows[1]", "rows[1] must be an object"),
    ({"rows": [{}], "known": {}}, "invalid_body", "known", "known goes with features, not with rows"),
    ({"rows": [{}], "inputs": []}, "invalid_inputs", "inputs", "inputs must be a list of 1 objects"),
]  # fmt: skip


def test_what_cannot_be_used_is_refused_with_its_field(plans):
    responses = ask(plans, *(body for body, *_ in REFUSED), max_rows=20)
    for response, (body, code, field, words) in zip(responses, REFUSED, strict=True):
        found = error(response)
        assert (found["code"], found["field"]) == (code, field), (body, found)
        assert words in found["message"], (body, found)
        assert len(response.content) < 500


def test_input_is_for_sources_and_has_no_features(plans):
    sources = {"heart": {"chol": lambda raw: 1.0}}
    found = [
        error(one)["field"]
        for one in ask(
            plans, {"features": {}, "input": 3}, {"features": {}, "input": {"age": 3}},
            {"rows": [{}, {}], "inputs": [{}, {"age": 3}]}, sources=sources,
        )
    ]  # fmt: skip
    assert found == ["input", "input.age", "inputs[1].age"]


def test_other_content_types_are_415_so_that_forms_of_other_sites_do_nothing(plans):
    async def run():
        async with serving(plans) as client:
            head = {"Content-Type": "text/plain"}
            return await client.post(PATH, content=b'{"features": {}}', headers=head)

    assert error(asyncio.run(run()), 415)["code"] == "not_json"


def test_no_model_of_that_name_is_404(plans):
    assert error(ask(plans, {"features": {}}, path="/v1/models/hart/predict"), 404) == {
        "code": "no_model", "message": "there is no model of this name; did you mean 'heart'?", "field": None,
    }  # fmt: skip


def test_the_direct_way_and_the_route_answer_alike(plans):
    """The route of the framework is there for OpenAPI; other addresses are 404."""

    async def run():
        async with serving(plans) as client:
            app = client.app

            async def router(scope, receive, send):
                await app.router({**scope, "app": app}, receive, send)

            through = httpx.ASGITransport(app=router)
            async with httpx.AsyncClient(transport=through, base_url="http://test") as routed:
                for body in ({"features": PATIENT}, {"rows": [PATIENT]}):
                    direct, other = [await one.post(PATH, json=body) for one in (client, routed)]
                    assert direct.json() == other.json()
            return [
                (await client.post(path, json={"features": {}})).status_code
                for path in ("/v1/models//predict", "/v1/models/a/b/predict", "/v1/models/heart/predict/")
            ]

    assert asyncio.run(run()) == [404, 404, 404]


def test_an_unexpected_error_is_a_500_with_an_id_and_nothing_else(plans, monkeypatch):
    def broken(*arguments):
        raise ZeroDivisionError("secret detail of /some/path")

    monkeypatch.setattr("miserly.serve.predicting.answer_record", broken)
    found = error(ask(plans, {"features": PATIENT}), 500)
    assert found["code"] == "internal" and "its id is" in found["message"]
    assert "secret" not in found["message"] and "path" not in found["message"]
