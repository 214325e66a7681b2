"""What every learner does with training rows that know features, pay their own prices, or lack an order."""

from __future__ import annotations

import numpy as np
import pytest

from miserly.costs import read_row_costs
from miserly.errors import DataError

from .cases import Case, every_case

# One case of each learner, pressed by a tradeoff if it has one.
CASES = list(
    {
        case.learner: case
        for case in every_case()
        if case.variant in ("prices", "tradeoff") and "known" in case.fit_parameters
    }.values()
)
every = pytest.mark.parametrize("case", CASES, ids=str)


def fit(case: Case, model, **given):
    rows = case.task.learn
    if rows.qid is not None:
        given["qid"] = rows.qid
    return model.fit(rows.X, rows.y, **given)


def saved(model, folder):
    model.plan_.save(folder / "m.miser")
    return (folder / "m.miser").read_bytes()


def own_prices(case: Case):
    """Prices and masks whose means are exact, so that they equal costs that are given."""
    n, costs, rng = len(case.task.learn), case.task.costs, np.random.default_rng(3)
    known = rng.random((n, len(costs))) < 0.3
    factor = rng.choice([0.5, 1.0, 2.0], (n, len(costs)))
    return known, costs.feature * factor


def test_every_learner_takes_them():
    without = {case.learner.__name__ for case in every_case() if "known" not in case.fit_parameters}
    assert without == {name for name in without if name.startswith("Adopted")}


@every
def test_a_model_is_that_of_the_mean_prices_at_the_list_prices(case: Case, tmp_path):
    known, prices = own_prices(case)
    costs = case.task.costs
    expected = read_row_costs(costs, len(known), known, prices).expected(costs)
    assert expected != costs
    here = fit(case, case.make(costs=costs), known=known, prices=prices)
    there = fit(case, case.make(costs=expected))
    there.plan_ = there.plan_.replace(costs=costs)
    assert here.plan_.costs == costs and here.get_params(deep=True).get("costs", costs) == costs
    assert saved(here, tmp_path) == saved(there, tmp_path)


@every
def test_prices_of_the_list_change_nothing(case: Case, tmp_path):
    costs = case.task.costs
    listed = np.tile(costs.feature, (len(case.task.learn), 1))
    plain = fit(case, case.make(costs=costs))
    assert saved(fit(case, case.make(costs=costs), prices=listed), tmp_path) == saved(plain, tmp_path)
    assert saved(fit(case, case.make(costs=costs), known=[]), tmp_path) == saved(plain, tmp_path)


@every
def test_the_budget_holds_row_by_row_at_what_rows_really_pay(case: Case):
    known, prices = own_prices(case)
    budget = 0.3 * case.task.costs.total + (
        6.5 * case.task.costs.evaluation if "n_vectors" in case.has else 0
    )
    model = fit(case, case.make(costs=case.task.costs, budget=budget), known=known, prices=prices)
    rows = case.task.learn
    for given in ({}, {"known": known}, {"prices": 3.0 * prices}, {"known": known, "prices": prices}):
        run = model.run(rows.X, qid=rows.qid, count="tree", **given)
        assert (run.cost <= budget * (1 + 1e-12)).all()


@every
def test_dropped_rows_are_not_there(case: Case, tmp_path):
    rows, rng = case.task.learn, np.random.default_rng(4)
    ordered = np.ones(rows.X.shape, dtype=bool)
    ordered[:, 1] = rng.random(len(rows)) < 0.8
    plain = fit(case, case.make())
    missing = fit(case, case.make(), ordered=ordered)
    assert saved(missing, tmp_path) == saved(plain, tmp_path)
    dropped = fit(case, case.make(), ordered=ordered, never_ordered="drop")
    left = case.fit(case.make(), rows.take(np.flatnonzero(ordered[:, 1])))
    assert saved(dropped, tmp_path) == saved(left, tmp_path)
    weight = rng.random(len(rows)) + 0.5
    weighted = fit(case, case.make(), ordered=ordered, never_ordered="drop", sample_weight=weight)
    both = fit(case, case.make(), sample_weight=weight * ordered[:, 1])
    assert saved(weighted, tmp_path) == saved(both, tmp_path)


def test_what_cannot_be_is_named():
    case = next(case for case in CASES if "warm_start" in case.make().get_params())
    with pytest.raises(DataError, match="never_ordered='ipw' needs `ordered`"):
        fit(case, case.make(), never_ordered="ipw")
    with pytest.raises(DataError, match="warm_start=True does not go with"):
        fit(case, case.make().set_params(warm_start=True), known=[0])
    ordered = np.ones(case.task.learn.X.shape, dtype=bool)
    with pytest.raises(DataError, match="never_ordered is 'missing', 'drop' or 'ipw', not 'dropped'"):
        fit(case, case.make(), ordered=ordered, never_ordered="dropped")
    ordered[5:, 2] = False
    with pytest.raises(DataError, match=r"every feature was ordered in 5 rows only; .* in 5 of"):
        fit(case, case.make(), ordered=ordered, never_ordered="drop")
