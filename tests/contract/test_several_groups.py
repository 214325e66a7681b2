"""What every learner does with features that are in several groups, as those derived from others are."""

from __future__ import annotations

import numpy as np
import pytest

from miserly import Costs

from .cases import Case, every_case

# One case of each learner, pressed by prices where it can be.
CASES = list(
    {case.learner: case for case in every_case() if case.variant in ("prices", "tradeoff", "saving")}.values()
)
every = pytest.mark.parametrize("case", CASES, ids=str)


def overlapping(costs: Costs) -> Costs:
    """The costs with two more groups that share features with each other and with those that are there."""
    record = costs.to_dict()
    names = [costs.name(f) for f in range(len(costs))]
    record["groups"]["even"] = {"features": names[::2], "setup": 1.3}
    record["groups"]["late"] = {"features": names[len(names) // 3 :], "setup": 0.7}
    return Costs.from_dict(record)


def bill(costs: Costs, bought) -> float:
    """The price of a set of features, from the record of the costs alone."""
    record = costs.to_dict()
    names = {costs.name(f) for f in np.flatnonzero(bought)}
    own = [costs.feature[costs.index(name)] for name in names]
    setups = [group["setup"] for group in record["groups"].values() if names & set(group["features"])]
    return sum(own) + sum(setups)


@every
def test_each_group_is_paid_once_and_a_budget_counts_it_once(case: Case):
    costs, rows = overlapping(case.task.costs), case.task.fresh
    budget = 0.6 * costs.total
    plan = case.fit(case.make(costs=costs, budget=budget)).plan_
    evaluation = np.array([term.evaluation for term in plan.terms])
    for count in ("path", "tree"):
        run = plan.run(rows.X, count=count, qid=rows.qid)
        np.testing.assert_array_equal(
            run.cost, plan.run(rows.X, count=count, qid=rows.qid, compiled=False).cost
        )
        expected = [bill(plan.costs, row) for row in run.acquired]
        expected += np.array([evaluation[one].sum() for one in run.evaluated])
        np.testing.assert_allclose(run.cost, expected, rtol=1e-12, atol=1e-12)
        if "budget" in case.has:
            assert run.cost.max() <= budget * (1 + 1e-12)
