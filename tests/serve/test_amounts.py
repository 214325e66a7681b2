"""The service decides by the amounts of rows, as the plan does in a batch."""

import numpy as np

from miserly.runtime import Interview
from tests.plan.test_amounts import NAMES, plan_of, rows_of

from .test_predict import ask

PATH = "/v1/models/theft/predict"


def test_answers_of_the_service_are_those_of_the_batch(tmp_path):
    plan = plan_of(amount=2.0)
    plan.save(tmp_path / "theft.miser")
    rows = np.nan_to_num(rows_of(20), nan=40.0)
    for budget in (None, 2.0, 4.0):
        bodies = [
            {"features": dict(zip(NAMES, row, strict=True)), "budget": budget, "receipt": True}
            for row in rows.tolist()
        ]
        found = [one.json() for one in ask(tmp_path, *bodies, path=PATH)]
        run = plan.run(rows, budget=budget)
        assert [one["answer"] for one in found] == plan.predict(rows, budget=budget).tolist()
        assert [one["cost"] for one in found] == run.cost.tolist()
        assert all(one["acquired"][:1] == ["amount"] for one in found)
        assert all(one["receipt"]["trail"][-1]["answer"] == one["answer"] for one in found)
    assert len({one["answer"] for one in found}) > 1


def test_an_interview_that_is_resumed_keeps_its_amounts():
    plan = plan_of(amount=2.0, fee=3.0)
    for values in ((900.0, 20.0, -1.0, 0.0), (20.0, 100.0, -1.0, 0.0)):
        interview = Interview(plan)
        for value in values:
            interview.reply(value)
            interview = Interview.resume(plan, interview.state())
        expected = plan.predict([[values[2], values[3], values[0], values[1]]])[0]
        assert interview.receipt().answer == expected
