"""Every classifier decides by the amounts of rows if outcome costs name a column of its features."""

import numpy as np
import pytest
from sklearn.base import is_classifier

from miserly import OutcomeCosts, load
from miserly.learners.base.arguments import fit_arguments

from .cases import Case, every_case
from .stepping import step
from .tasks import Rows

CASES = [
    case
    for case in every_case()
    if is_classifier(case.make()) and case.variant == "unit costs" and "outcome_costs" in case.fit_parameters
]
PRICE = 0.4  # of the amount


def with_amounts(case: Case, rows, seed):
    """The rows with one more column of amounts, as an array and as a frame."""
    X = np.column_stack([rows.X, np.random.default_rng(seed).lognormal(3.0, 1.5, len(rows))])
    frame = case.task.pandas(rows.X)
    return X, frame.assign(amount=X[:, -1])


def costs_of(classes):
    """A row of the last class that is taken for another one costs its amount; other mistakes cost 12."""
    last = classes[-1]
    pairs = [(one, other) for one in classes for other in classes if one != other]
    return OutcomeCosts({(k, a): "amount" if k == last else 12.0 for k, a in pairs})


@pytest.mark.parametrize("case", CASES, ids=str)
def test_classifiers_decide_by_the_amount_of_each_row(case: Case, tmp_path):
    learn, fresh = case.task.learn, case.task.fresh
    _, frame = with_amounts(case, learn, 0)
    X, new = with_amounts(case, fresh, 1)
    costs = costs_of(np.unique(learn.y).tolist())
    model = case.make(costs={**dict.fromkeys(case.task.names, 1.0), "amount": PRICE})
    model.fit(frame, learn.y, **fit_arguments(model, None, outcome_costs=costs))
    if not hasattr(model, "predict_proba"):
        assert model.plan_.decision is None
        return
    assert model.plan_.amount_columns == (X.shape[1] - 1,)
    assert np.isinf(model.plan_.budget)
    own = costs.decide(model.predict_proba(new), model.classes_, new)
    np.testing.assert_array_equal(model.predict(new), own)
    mean = new.assign(amount=new["amount"].mean())
    assert (own != costs.decide(model.predict_proba(new), model.classes_, mean)).any()
    model.plan_.save(tmp_path / "plan.miser")
    plan = load(tmp_path / "plan.miser")
    rows = Rows(X, fresh.y)
    assert plan.run(X, budget=0.9 * PRICE).cost.tolist() == [0.0] * len(X)
    for budget in (None, 1.5):
        answers = model.predict(new, budget=budget)
        np.testing.assert_array_equal(plan.predict(X, budget=budget), answers)
        stepped = step(plan, rows, budget, "path")
        np.testing.assert_array_equal(stepped.answers, answers)
        run = plan.run(X, budget=budget)
        np.testing.assert_array_equal(stepped.acquired, run.acquired)
        np.testing.assert_array_equal(stepped.cost, run.cost)
        assert run.acquired[:, -1].all()
