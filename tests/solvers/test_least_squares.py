"""Least squares from a Gram matrix: that of NumPy, and greedily what refitting every candidate chooses."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from miserly.costs import Costs
from miserly.solvers.columns import ROWS_AT_A_TIME, DenseColumns
from miserly.solvers.gram import gram
from miserly.solvers.least_squares import Evidence, greedy_least_squares, least_squares
from miserly.solvers.term_prices import PurchaseState


@pytest.fixture(scope="module")
def problem():
    rng = np.random.default_rng(0)
    n = ROWS_AT_A_TIME + 100
    H = (rng.normal(size=(n, 8)) + 3.0 * rng.normal(size=(n, 1)) + 1.0).astype(np.float32)
    Y = H[:, :3] @ rng.normal(size=(3, 2)) + rng.normal(size=(n, 2))
    rows = np.flatnonzero(rng.random(n) < 0.9)
    return H, Y, rows, rng.gamma(2.0, size=n)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("dtype", "near"), [(np.float32, 1e-9), (np.float64, 1e-9)])
def test_the_weights_are_those_of_lstsq(problem, dtype, near, weighted):
    H, Y, rows, w = problem
    terms = np.array([6, 0, 2])
    columns = DenseColumns(H.astype(dtype))
    found = gram(columns, Y, w if weighted else None, rows=rows).centred()
    weight = w[rows] if weighted else None
    weights, intercept, scores = least_squares(found, terms, columns, Y, rows, weight, n_threads=2)
    root = np.sqrt(w[rows] if weighted else np.ones(len(rows)))[:, None]
    design = np.column_stack([H[rows][:, terms], np.ones(len(rows))]).astype(np.float64)
    right = np.linalg.lstsq(design * root, Y[rows] * root, rcond=None)[0]
    np.testing.assert_allclose(np.vstack([weights, intercept]), right, atol=near)
    np.testing.assert_allclose(scores, design @ right, atol=10 * near)


def test_no_terms_answer_the_mean(problem):
    H, Y, rows, w = problem
    columns = DenseColumns(H)
    found = gram(columns, Y, w, rows=rows).centred()
    weights, intercept, scores = least_squares(found, np.array([], dtype=int), columns, Y, rows, w[rows])
    np.testing.assert_allclose(intercept, np.average(Y[rows], axis=0, weights=w[rows]), atol=1e-6)
    assert weights.shape == (0, 2) and (scores == intercept).all()


def test_columns_that_only_rounding_tells_apart_fit_as_well_as_one(problem):
    H, Y, rows, _ = problem
    H = H.astype(np.float64)
    twice = np.column_stack([H[:, :2], H[:, 0] - 1e-9 * H[:, 1], H[:, 0] + 1e-9 * H[:, 1]])
    columns = DenseColumns(twice)
    weights, _, scores = least_squares(gram(columns, Y, rows=rows).centred(), np.arange(4), columns, Y, rows)
    design = np.column_stack([H[rows, :2], np.ones(len(rows))])
    right = design @ np.linalg.lstsq(design, Y[rows], rcond=None)[0]
    np.testing.assert_allclose(scores, right, atol=1e-3 * Y.std())
    assert np.isfinite(weights).all() and np.abs(weights).max() < 1e3


def error_of(H, Y, w, terms):
    """The weighted squared error of least squares with an intercept, refitted."""
    root = np.sqrt(w)[:, None]
    design = np.column_stack([np.ones(len(H)), H[:, terms]])
    weights = np.linalg.lstsq(design * root, Y * root, rcond=1e-10)[0]
    return float((w[:, None] * (Y - design @ weights) ** 2).sum())


def slow_greedy(H, Y, w, uses, costs, budget):
    """The same by refitting: clear, and slow."""
    terms, bought, spent = [], np.zeros(uses.shape[1], bool), 0.0
    error = whole = error_of(H, Y, w, terms)
    while True:
        best = None
        for t in set(range(H.shape[1])) - set(terms):
            price = costs.of(bought | uses[t]) - costs.of(bought) + costs.evaluation
            drop = error - error_of(H, Y, w, [*terms, t])
            if drop <= 1e-9 * whole or spent + price > budget + 1e-9:
                continue
            key = (price == 0.0, drop / price if price > 0.0 else drop)
            if best is None or key > best[0]:
                best = key, t, price
        if best is None:
            return terms, spent
        _, t, price = best
        terms.append(t)
        bought |= uses[t]
        spent += price
        error = error_of(H, Y, w, terms)


def random_problem(seed, linear):
    rng = np.random.default_rng(seed)
    n, d = 60, 6
    T = d if linear else 9
    H = rng.normal(size=(n, T)) + rng.normal(size=(n, 1))
    Y = H[:, :3] @ rng.normal(size=(3, 2)) + rng.normal(size=(n, 2))
    uses = np.eye(d, dtype=bool) if linear else rng.random((T, d)) < 0.35
    prices = rng.choice([0.0, 1.0, 2.0, 5.0, 7.5], size=d)
    groups = {"g": {"features": [1, 3, 4], "setup": float(rng.integers(0, 6))}}
    costs = Costs(prices, groups=groups, evaluation=0.0 if linear else 0.25)
    return H, Y, rng.gamma(2.0, size=n), uses, costs


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    linear=st.booleans(),
    budget=st.sampled_from([0.0, 1.0, 4.0, 9.0, 14.0, np.inf]),
)
def test_the_choices_are_those_of_refitting_every_candidate(seed, linear, budget):
    H, Y, w, uses, costs = random_problem(seed, linear)
    market = PurchaseState.of(uses, np.full(H.shape[1], costs.evaluation), costs)
    choice = greedy_least_squares(gram(DenseColumns(H), Y, w).centred(), market, budget)
    terms, spent = slow_greedy(H, Y, w, uses, costs, budget)
    assert choice.terms.tolist() == terms
    assert choice.cost == pytest.approx(spent) and spent <= budget + 1e-9
    assert choice.cost == pytest.approx(costs.of(market.bought, evaluations=len(terms)))
    left = error_of(H, Y, w, []) - choice.drops.sum()
    assert left == pytest.approx(error_of(H, Y, w, terms), rel=1e-8)


def buy(H, y, prices, budget=np.inf, bought=(), groups=None, **given):
    costs = Costs(prices, groups=groups)
    market = PurchaseState.of(np.eye(len(prices), dtype=bool), np.zeros(len(prices)), costs)
    market.bought[list(bought)] = True
    found = gram(DenseColumns(np.asarray(H, float)), np.asarray(y, float).reshape(len(H), -1))
    return greedy_least_squares(found.centred(), market, budget, **given)


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def test_what_is_paid_is_taken_first_and_costs_nothing(rng):
    H = rng.normal(size=(50, 3))
    y = H @ [1.0, 3.0, 0.2]
    choice = buy(H, y, [1.0, 1.0, 1.0], budget=1.0, bought=[2])
    assert choice.terms.tolist() == [2, 1] and choice.cost == 1.0


def test_free_features_come_before_bargains(rng):
    H = rng.normal(size=(50, 3))
    assert buy(H, H @ [5.0, 0.1, 1.0], [0.5, 0.0, 1.0]).terms.tolist() == [1, 0, 2]


def test_a_winner_that_does_not_fit_is_passed_over(rng):
    H = rng.normal(size=(500, 3))
    choice = buy(H, H @ [4.0, 2.0, 1.0], [10.0, 3.0, 3.0], budget=7.0)
    assert choice.terms.tolist() == [1, 2]


def test_an_open_group_makes_its_features_cheaper(rng):
    H = rng.normal(size=(200, 3))
    groups = {"g": {"features": [0, 1], "setup": 8.0}}
    choice = buy(H, H @ [3.0, 1.0, 1.2], [1.0, 1.0, 2.0], groups=groups)
    # Alone, column 1 would cost 9 and column 2 be the better buy; once column 0 has opened the group, 1 is.
    assert choice.terms.tolist() == [0, 1, 2] and choice.cost == 12.0


def test_combinations_of_chosen_columns_are_left_out(rng):
    H = rng.normal(size=(50, 3))
    H = np.column_stack([H, H[:, 0] + H[:, 1], 3.0 * H[:, 2] + 7.0])
    choice = buy(H, H.sum(axis=1) + rng.normal(size=50), np.ones(5))
    assert len(choice.terms) == 3


def test_nothing_is_bought_for_constant_targets_or_from_constant_columns(rng):
    H = np.column_stack([np.full(30, 0.1), rng.normal(size=30)])
    assert buy(H, np.full(30, 0.3), [1.0, 1.0]).terms.size == 0
    assert buy(H, rng.normal(size=30), [1.0, 1.0]).terms.tolist() == [1]


def test_several_targets_count_together(rng):
    H = rng.normal(size=(2000, 3))
    Y = np.column_stack([3.0 * H[:, 0], 2.0 * H[:, 1] + 2.0 * H[:, 2], 2.5 * H[:, 1]])
    assert buy(H, Y, [1.0, 1.0, 1.0]).terms[0] == 1


def test_noise_is_recognised_by_how_little_it_explains(rng):
    H = rng.normal(size=(200, 40))
    y = H[:, :2] @ [2.0, 1.0] + rng.normal(size=200)
    everything = buy(H, y, np.ones(40))
    strict = buy(H, y, np.ones(40), evidence=Evidence(200, np.ones(40), 12.0))
    assert len(everything.terms) == 40 and sorted(strict.terms.tolist()) == [0, 1]
    # A term made of many fitted numbers has to explain so much the more.
    heavy = buy(H, y, np.ones(40), evidence=Evidence(200, np.r_[1.0, np.full(39, 30.0)], 12.0))
    assert heavy.terms.tolist() == [0]


def test_the_share_that_noise_takes_grows_as_rows_are_used_up():
    evidence = Evidence(21, np.array([1.0, 5.0, 1.0]), 4.0)
    np.testing.assert_allclose(evidence.share([]), [0.2, 1.0, 0.2])  # 4 times 1, 5, 1 of 20
    np.testing.assert_allclose(evidence.share([1, 0]), np.array([4.0, 20.0, 4.0]) / 14.0)


def test_a_toll_is_what_a_unit_of_cost_must_bring(rng):
    H = rng.normal(size=(300, 2))
    y = H @ [1.0, 1.0]
    first, second = buy(H, y, [1.0, 10.0]).drops
    assert buy(H, y, [1.0, 10.0], toll=0.99 * second / 10.0).terms.tolist() == [0, 1]
    assert buy(H, y, [1.0, 10.0], toll=1.01 * second / 10.0).terms.tolist() == [0]
    assert buy(H, y, [1.0, 10.0], toll=1.01 * first).terms.size == 0
