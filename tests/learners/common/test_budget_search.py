import numpy as np
import pytest

from miserly.errors import CostError
from miserly.learners.common.budget_search import BudgetSearch, PerTradeoff


def stairs(tradeoff):
    """A model is a cost here: 100, 50, 20 or 0, the less the larger the tradeoff."""
    return next((cost for edge, cost in ((0.01, 100.0), (0.3, 50.0), (7.0, 20.0)) if tradeoff < edge), 0.0)


def search(budget, fit=stairs, **rest):
    fits = []

    def counted(tradeoff):
        fits.append(tradeoff)
        return fit(tradeoff)

    return BudgetSearch(counted, lambda cost: cost, mean_budget=budget, **rest).best(), fits


@pytest.mark.parametrize(
    ("budget", "cost", "edge"), [(60, 50, 0.01), (50, 50, 0.01), (49, 20, 0.3), (5, 0, 7)]
)
def test_it_is_the_smallest_tradeoff_inside_the_budget(budget, cost, edge):
    found, fits = search(budget)
    assert found.cost == found.model == cost
    assert edge <= found.tradeoff <= 1.05 * edge or found.cost >= 0.98 * budget
    assert len(fits) <= 20


def test_a_budget_that_is_no_limit_takes_the_lowest_tradeoff():
    assert search(1000.0)[0].tradeoff == 0.0
    assert search(np.inf, tradeoff=0.2)[0].tradeoff == 0.2
    found, fits = search(60.0, tradeoff=0.2)
    assert found.tradeoff == 0.2 and fits == [0.2]


def test_a_tradeoff_below_the_lowest_is_never_tried():
    found, fits = search(30.0, tradeoff=0.2)
    assert found.cost == 20.0 and min(fits) == 0.2


@pytest.mark.parametrize("first", [1e-6, 1e-2, 1e3])
def test_the_first_guess_matters_little(first):
    found, _ = search(49.0, first=first)
    assert 0.3 <= found.tradeoff <= 0.31


def test_the_number_of_fits_is_bounded():
    assert len(search(49.0, max_fits=6)[1]) == 6
    assert search(49.0, max_fits=6)[0].cost <= 49.0


def test_a_budget_that_is_no_number_is_an_error():
    with pytest.raises(CostError, match="a budget is a number or None, not True"):
        BudgetSearch(stairs, lambda cost: cost, mean_budget=True)
    assert search(10**400)[0].tradeoff == 0.0


def test_a_budget_out_of_reach_is_reported_and_the_cheapest_model_given():
    with pytest.warns(UserWarning, match="keeps to the budget of 5"):
        found, _ = search(5.0, fit=lambda tradeoff: 7.0 + 1.0 / (1.0 + tradeoff))
    assert found.cost == pytest.approx(7.0, abs=1e-6)


def test_costs_in_another_unit_give_the_tradeoff_in_that_unit():
    cost = lambda tradeoff: 30.0 / (0.1 + tradeoff)  # noqa: E731
    here, mine = search(17.0, fit=cost)
    there, theirs = search(170.0, fit=lambda tradeoff: 10.0 * cost(10.0 * tradeoff), first=0.1)
    np.testing.assert_allclose(mine, np.multiply(theirs, 10.0))
    assert there.tradeoff == pytest.approx(here.tradeoff / 10.0)


# -- several candidates ------------------------------------------------------------------------------------


def ranked(cost, rank, **rest):
    """A search over models that are tradeoffs, with costs and ranks given as functions of them."""
    fits = []
    search = BudgetSearch(lambda one: fits.append(one) or one, cost, rank, **rest)
    return search.best(), fits


def test_without_any_budget_one_model_is_fitted_and_none_is_ranked_or_priced():
    found, fits = ranked(None, None, tradeoff=0.3)
    assert found.model == found.tradeoff == 0.3 and fits == [0.3]


def test_under_a_cap_the_best_of_several_tradeoffs_is_taken_and_the_smallest_of_equals():
    found, fits = ranked(None, lambda one: one >= 0.01, tradeoff=1e-4, first=1.0, capped=True)
    assert fits == [1e-4, 1e-3, 1e-2, 1e-1, 1.0] and found.tradeoff == 0.01


def test_under_a_cap_a_better_model_above_the_mean_budget_is_not_taken():
    cost = lambda one: 1.0 / one  # noqa: E731
    found, fits = ranked(
        cost, lambda one: -one, tradeoff=1e-3, first=1.0, capped=True, mean_budget=20.0, close=0.5
    )
    assert found.tradeoff == min(one for one in fits if cost(one) <= 20.0) > min(fits)
    assert sorted(set(fits)) == sorted(fits)  # no tradeoff is fitted twice


def test_neighbours_of_the_smallest_tradeoff_compete_if_they_keep_the_budget():
    def cost(one):
        return 1.0 / (1.0 + one)

    plain, _ = ranked(cost, None, mean_budget=0.5)
    found, fits = ranked(cost, lambda one: one, mean_budget=0.5, neighbours=(1.25, 1.6))
    assert found.tradeoff == 1.6 * plain.tradeoff and fits[-2:] == [1.25 * plain.tradeoff, found.tradeoff]
    found, _ = ranked(
        lambda one: cost(one) + (one == fits[-1]), lambda one: one, mean_budget=0.5, neighbours=(1.25, 1.6)
    )
    assert found.tradeoff == 1.25 * plain.tradeoff


def test_all_models_met_on_the_way_may_compete():
    def cost(one):
        return 1.0 / (1.0 + one)

    found, fits = ranked(cost, lambda one: one, mean_budget=0.02, compare_all=True)
    assert found.tradeoff == max(fits) == 100.0
    assert ranked(cost, lambda one: one, mean_budget=0.02)[0].tradeoff < 100.0


def test_a_repaired_model_takes_the_place_of_the_one_found():
    given = {"expected_cost": lambda one: 0.0 if one > 7.0 else 9.0, "mean_budget": 5.0, "tradeoff": 0.1}
    found = BudgetSearch(lambda one: one, repair=lambda one: 3 * one, **given).best()
    assert found.model > 21.0 and found.tradeoff == 0.1
    kept = BudgetSearch(lambda one: one, repair=lambda one: None, **given).best()
    assert kept.model == kept.tradeoff > 7.0


@pytest.mark.parametrize(("depends", "made"), [(True, [1.0, 2.0, 1.0]), (False, [1.0])])
def test_what_does_not_depend_on_the_tradeoff_is_made_once(depends, made):
    calls = []
    terms = PerTradeoff(lambda one: calls.append(one) or one, depends)
    for tradeoff in (1.0, 1.0, 2.0, 1.0):
        assert terms.at(tradeoff) == (tradeoff if depends else 1.0)
    assert calls == made
