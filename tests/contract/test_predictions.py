"""Every answer of a learner is that of a run of its plan, with and without a budget in the plan.

A budget in the plan goes where the plan goes: no path to an answer may pass it by.
"""

from copy import copy

import numpy as np
import pytest

from miserly.plan import links
from miserly.plan.engine.ranking import ranked

from ..turns import in_turn
from .cases import Case, every_case

CASES = every_case()
SHARES = (None, 0.0, 0.3, 0.7)  # of what the plan may cost at most


def held(case: Case, share: float | None):
    """The fitted learner, its plan under a budget of its own."""
    model = copy(case.fitted)
    if share is not None:
        model.plan_ = model.plan_.replace(budget=share * case.fitted.plan_.max_cost)
    return model


@pytest.mark.parametrize(("case", "share"), in_turn(CASES, SHARES, one_in=2), ids=str)
def test_answers_are_the_labels_of_the_run(case: Case, share):
    rows, model = case.task.fresh, held(case, share)
    plan = model.plan_
    run = model.run(rows.X, qid=rows.qid)
    assert (run.cost <= plan.budget).all()
    scores = ranked(run, rows.qid if case.task.name == "documents" else None)
    scores = scores.reshape(len(rows), -1)
    classes = getattr(model, "classes_", None)
    np.testing.assert_array_equal(case.predict(model, rows), links.labels(plan.link, scores, classes))
    if hasattr(model, "predict_proba"):
        np.testing.assert_array_equal(
            model.predict_proba(rows.X), links.probabilities(plan.link, run.scores.reshape(len(rows), -1))
        )
    bare = plan.run(rows.X, qid=rows.qid, account=False)
    np.testing.assert_array_equal(bare.scores, run.scores)
    np.testing.assert_array_equal(bare.exit, run.exit)


def test_budgets_in_plans_change_answers():
    """Otherwise the test above would show nothing."""
    changed = 0
    for case in CASES:
        if case.variant != "unit costs":
            continue
        rows = case.task.fresh
        free, tight = (held(case, share).run(rows.X, qid=rows.qid) for share in (None, 0.3))
        changed += not np.array_equal(free.scores, tight.scores)
    assert changed > 10
