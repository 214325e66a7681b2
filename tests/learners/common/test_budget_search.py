import numpy as np
import pytest

from miserly.learners.common.budget_search import tradeoff_for_budget


def stairs(tradeoff):
    """A model is a cost here: 100, 50, 20 or 0, the less the dearer cost is held."""
    return next((cost for edge, cost in ((0.01, 100.0), (0.3, 50.0), (7.0, 20.0)) if tradeoff < edge), 0.0)


def search(budget, fit=stairs, **rest):
    fits = []

    def counted(tradeoff):
        fits.append(tradeoff)
        return fit(tradeoff)

    return tradeoff_for_budget(counted, lambda cost: cost, budget, **rest), fits


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
    assert search(np.inf, lowest=0.2)[0].tradeoff == 0.2
    found, fits = search(60.0, lowest=0.2)
    assert found.tradeoff == 0.2 and fits == [0.2]


def test_a_tradeoff_below_the_lowest_is_never_tried():
    found, fits = search(30.0, lowest=0.2)
    assert found.cost == 20.0 and min(fits) == 0.2


@pytest.mark.parametrize("first", [1e-6, 1e-2, 1e3])
def test_the_first_guess_matters_little(first):
    found, _ = search(49.0, first=first)
    assert 0.3 <= found.tradeoff <= 0.31


def test_the_number_of_fits_is_bounded():
    assert len(search(49.0, max_fits=6)[1]) == 6
    assert search(49.0, max_fits=6)[0].cost <= 49.0


def test_a_budget_out_of_reach_is_said_and_the_cheapest_model_given():
    with pytest.warns(UserWarning, match="keeps to the budget of 5"):
        found, _ = search(5.0, fit=lambda tradeoff: 7.0 + 1.0 / (1.0 + tradeoff))
    assert found.cost == pytest.approx(7.0, abs=1e-6)


def test_costs_in_another_unit_give_the_tradeoff_in_that_unit():
    cost = lambda tradeoff: 30.0 / (0.1 + tradeoff)  # noqa: E731
    here, mine = search(17.0, fit=cost)
    there, theirs = search(170.0, fit=lambda tradeoff: 10.0 * cost(10.0 * tradeoff), first=0.1)
    np.testing.assert_allclose(mine, np.multiply(theirs, 10.0))
    assert there.tradeoff == pytest.approx(here.tradeoff / 10.0)
