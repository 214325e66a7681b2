"""What is loaded once is not looked through by the garbage collector again."""

import asyncio
import gc
import weakref

from miserly.serve.models import VERSIONS
from tests.runtime.plans import PATIENT, heart
from tests.serve.apps import serving

PREDICT = "/v1/models/heart/predict"


def test_full_collections_look_at_the_objects_of_requests_alone(tmp_path):
    heart().save(tmp_path / "heart.miser")

    async def chol(raw):
        return 200.0

    def fbs(raw):
        return 1.0

    async def run():
        async with serving(tmp_path, {"chol": chol, "fbs": fbs}) as client:
            before = len(gc.get_objects())
            for deadline in (None, 5.0):
                body = {"features": PATIENT, "deadline": deadline, "receipt": True}
                assert (await client.post(PREDICT, json=body)).status_code == 200
            await client.post(PREDICT, json={"rows": [PATIENT, PATIENT]})
            session = (await client.post("/v1/models/heart/sessions", json={})).json()["id"]
            await client.post(f"/v1/sessions/{session}/what-if", json={"more": 5})
            gc.collect()
            return before, len(gc.get_objects()), gc.get_freeze_count()

    before, after, frozen = asyncio.run(run())
    assert frozen > 50_000
    assert before < frozen / 50 and after < frozen / 20


def test_models_that_were_replaced_are_freed_although_they_were_frozen(tmp_path):
    heart().save(tmp_path / "heart.miser")

    async def run():
        async with serving(tmp_path, reload_every=0.01) as client:
            models = client.app.state.service.models
            await client.post(PREDICT, json={"features": PATIENT})
            first = weakref.ref(models.get("heart"))
            gc.disable()  # no collection frees it
            for base in range(1, VERSIONS + 1):
                heart(base=[float(base)]).save(tmp_path / "heart.miser")
                while models.get("heart").plan.base[0] != base:
                    await asyncio.sleep(0.01)
            await asyncio.sleep(0.1)
            return first()

    try:
        assert asyncio.run(run()) is None
    finally:
        gc.enable()
