"""Prices of terms are what the costs say of the sets they add."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from miserly.costs import Costs
from miserly.solvers.term_prices import term_prices


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10**6), n_groups=st.integers(0, 3))
def test_a_term_costs_what_it_adds_to_the_set_that_is_bought(seed, n_groups):
    rng = np.random.default_rng(seed)
    d = 7
    member = rng.integers(-1, n_groups, size=d)
    groups = {
        f"g{g}": {"features": np.flatnonzero(member == g).tolist(), "setup": float(rng.integers(0, 9))}
        for g in range(n_groups)
        if (member == g).any()
    }
    costs = Costs(rng.integers(0, 9, size=d).astype(float), groups=groups, evaluation=0.5)
    uses, bought = rng.random((5, d)) < 0.4, rng.random(d) < 0.4
    prices = term_prices(uses, np.full(5, costs.evaluation), costs, bought)
    added = [costs.of(bought | use, evaluations=1) - costs.of(bought) for use in uses]
    assert prices == pytest.approx(added)
