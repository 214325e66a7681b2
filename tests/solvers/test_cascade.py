from itertools import pairwise

import numpy as np
import pytest
from scipy.optimize import approx_fprime
from sklearn.linear_model import Lasso, LinearRegression

from miserly import Costs
from miserly.solvers.cascade import CascadeProblem, initialise, refit_stages, sparse_weights
from miserly.solvers.cascade_descent import _CascadeState, _StageObjective, optimise
from miserly.solvers.columns import DenseColumns
from miserly.solvers.term_prices import Blocks

COSTS = Costs(
    [1.0, 2.0, 8.0, 8.0, 1.0, 3.0], groups={"g": {"features": [2, 3], "setup": 4.0}}, evaluation=0.5
)
USES = np.array(
    [
        [1, 0, 0, 0, 0, 0],
        [1, 1, 0, 0, 0, 0],
        [0, 0, 1, 0, 0, 0],
        [0, 0, 1, 1, 0, 0],
        [0, 0, 0, 0, 1, 0],
        [0, 1, 0, 0, 0, 1],
        [0, 0, 0, 1, 0, 1],
    ],
    dtype=bool,
)


def make(tradeoff=0.002, l1=0.0, n=300, seed=0, uses=USES, costs=COSTS):
    """Rare positives: what costs little tells most negatives, the rest takes the expensive columns."""
    rng = np.random.default_rng(seed)
    H = rng.normal(size=(n, len(uses)))
    y = np.where((H[:, 0] + H[:, 1] > 0.5) & (H[:, 2] + 0.5 * H[:, 3] > 0.3), 1.0, -1.0)
    H[:, 0] += 0.5 * y
    weight = rng.gamma(2.0, size=n)
    share = weight * np.where(y > 0, 3.5, 1.0)
    blocks = Blocks.of(uses, np.full(len(uses), 0.5), costs).scaled(tradeoff)
    return CascadeProblem(DenseColumns(H), y, share / share.sum(), weight / weight.sum(), blocks, l1)


# -- one stage -----------------------------------------------------------------------------------------------


def test_a_single_stage_with_a_feature_each_is_the_weighted_lasso():
    costs = Costs([1.0, 2.0, 0.5, 0.3, 5.0, 1.0, 1.0])
    problem = make(tradeoff=0.02, uses=np.eye(7, dtype=bool), costs=costs)
    blocks = Blocks.of(np.eye(7, dtype=bool), np.zeros(7), costs).scaled(0.02)
    weights = sparse_weights(problem.gram_of(None), blocks, tolerance=1e-8, max_rounds=5000)
    price = 0.02 * costs.feature
    peer = Lasso(alpha=1.0, tol=1e-12)
    peer.fit(problem.columns.values / price, problem.target, sample_weight=problem.share)
    np.testing.assert_allclose(weights, peer.coef_ / price, atol=1e-4)
    assert 0 < np.count_nonzero(weights) < 7


def objective_of_one(problem, gram, weights, reach, before):
    loss = 0.5 * (weights @ gram.products @ weights - 2 * weights @ gram.moments[:, 0] + gram.squares[0])
    squares = before + reach**2 * problem.blocks.squares(weights[:, None])
    return loss + problem.l1 * np.abs(weights).sum() + problem.blocks.price @ np.sqrt(squares)


@pytest.mark.parametrize("l1", [0.0, 0.01])
@pytest.mark.parametrize("reach", [1.0, 0.4])
def test_the_closed_forms_find_the_minimum_of_the_convex_objective(l1, reach):
    problem = make(tradeoff=0.005, l1=l1)
    before = np.random.default_rng(1).gamma(1.0, size=len(problem.blocks.price)) * 0.01
    gram = problem.gram_of(None)
    weights = sparse_weights(
        gram,
        problem.blocks,
        l1=l1,
        reach=reach,
        before=before,
        tolerance=1e-9,
        max_rounds=3000,
    )
    best = objective_of_one(problem, gram, weights, reach, before)
    rng = np.random.default_rng(2)
    for size in (1e-1, 1e-2, 1e-3):
        for _ in range(200):
            other = weights + size * rng.normal(size=7) * (rng.random(7) < 0.5)
            assert objective_of_one(problem, gram, other, reach, before) >= best - 1e-7


def test_what_is_expensive_is_left_out_and_what_was_paid_before_is_cheap():
    problem = make(tradeoff=0.04)
    gram = problem.gram_of(None)
    alone = sparse_weights(gram, problem.blocks)
    paid = np.where(problem.blocks.price > 0.04 * 3.5, 1.0, 0.0)  # the expensive columns and their group
    later = sparse_weights(gram, problem.blocks, before=paid)
    assert alone[2] == alone[3] == 0.0 and later[2] != 0.0
    assert not sparse_weights(gram, problem.blocks.scaled(1e6)).any()


# -- all stages ----------------------------------------------------------------------------------------------


def test_each_stage_lets_its_share_of_those_still_there_go():
    problem = make(n=2000)
    cascade = initialise(problem, 4, leaving=0.2, inflation=1.2)
    rows = np.arange(2000)
    for k in range(len(cascade) - 1):
        scores = problem.scores(cascade.weights[k], rows) + cascade.intercept[k]
        out = scores <= cascade.threshold[k]
        assert problem.mass[rows[out]].sum() / problem.mass[rows].sum() == pytest.approx(0.2, abs=0.01)
        rows = rows[~out]
    assert len(cascade) == 4 and np.isneginf(cascade.threshold[-1])


def test_early_stages_are_cheaper():
    problem = make(tradeoff=0.004, n=2000)
    flat, inflated = (initialise(problem, 4, inflation=inflation) for inflation in (1.0, 3.0))
    price = lambda weights: problem.blocks.price @ (problem.blocks.squares(weights[:, None]) > 0)  # noqa: E731
    assert price(inflated.weights[0]) < price(flat.weights[0])
    assert price(inflated.weights[0]) < price(inflated.weights[-1])


def test_stages_that_let_all_rows_pass_are_left_out():
    expensive = initialise(make(tradeoff=0.01, n=2000), 6, inflation=3.0)
    assert len(expensive) < 6 and expensive.weights.any()
    assert not np.isneginf(expensive.threshold[:-1]).any()
    nothing = initialise(make(tradeoff=1e6), 6)
    assert len(nothing) == 1 and not nothing.weights.any()


def test_refitting_is_least_squares_on_what_was_chosen_so_far():
    problem = make(n=2000)
    cascade = initialise(problem, 3)
    refitted = refit_stages(problem, cascade)
    chosen = np.flatnonzero(cascade.weights[0])
    peer = LinearRegression().fit(
        problem.columns.values[:, chosen], problem.target, sample_weight=problem.share
    )
    np.testing.assert_allclose(refitted.weights[0, chosen], peer.coef_, rtol=1e-3)
    for k in range(3):
        bought = (cascade.weights[: k + 1] != 0).any(axis=0)
        np.testing.assert_array_equal(refitted.weights[k] != 0, bought)


# -- the joint objective -------------------------------------------------------------------------------------


def by_hand(problem, cascade):
    """Equation 8, row by row and stage by stage."""
    H, n = problem.columns.values, len(problem.target)
    loss, reached = 0.0, np.zeros(len(cascade))
    for i in range(n):
        p = 1.0
        for k in range(len(cascade)):
            score = H[i] @ cascade.weights[k] + cascade.intercept[k]
            passes = 1 / (1 + np.exp(-cascade.steepness[k] * (score - cascade.threshold[k])))
            passes = 0.0 if k == len(cascade) - 1 else passes
            reached[k] += problem.mass[i] * p
            loss += 0.5 * problem.share[i] * p * (1 - passes) * (score - problem.target[i]) ** 2
            p *= passes
    squares = sum(reached[k] ** 2 * problem.blocks.squares(w[:, None]) for k, w in enumerate(cascade.weights))
    return loss + problem.l1 * np.abs(cascade.weights).sum() + problem.blocks.price @ np.sqrt(squares)


def test_the_joint_objective_is_equation_8():
    problem = make(l1=0.003, n=60)
    cascade = initialise(problem, 3)
    assert _CascadeState(problem, cascade).objective() == pytest.approx(by_hand(problem, cascade), rel=1e-6)


@pytest.mark.parametrize("stage", [0, 1, 2])
def test_slopes_are_those_of_finite_differences(stage):
    problem = make(l1=0.003)
    cascade = initialise(problem, 3)
    assert len(cascade) == 3
    visit = _StageObjective(_CascadeState(problem, cascade), stage)
    x = visit.begin * 1.03 + 0.01
    _, slope = visit.value_and_slope(x)
    by_differences = approx_fprime(x, lambda x: visit.value_and_slope(x)[0], 1e-7)
    np.testing.assert_allclose(slope, by_differences, rtol=1e-4, atol=1e-6 * np.abs(slope).max())


@pytest.mark.parametrize("stage", [0, 2])
def test_the_quadratics_touch_the_objective_and_lie_above_it(stage):
    problem = make(l1=0.003)
    state = _CascadeState(problem, initialise(problem, 3))
    visit = _StageObjective(state, stage)
    rng = np.random.default_rng(0)
    gap_here = _gap(problem, state, stage, visit.begin)
    for _ in range(20):
        x = visit.begin + 0.05 * rng.normal(size=len(visit.begin))
        assert _gap(problem, state, stage, x) >= gap_here - 1e-12


def _gap(problem, state, stage, x):
    """How far the relaxed objective of a stage lies above the joint one, up to a constant."""
    fresh = _CascadeState(problem, state.start)
    relaxed = _StageObjective(fresh, stage).value_and_slope(x)[0]
    _StageObjective(fresh, stage).take(x)
    return relaxed - fresh.objective()


@pytest.mark.parametrize("l1", [0.0, 0.003])
def test_optimising_lowers_the_joint_objective(l1):
    problem = make(l1=l1, n=600)
    start = initialise(problem, 4)
    found, history = optimise(problem, start, max_cycles=4)
    assert all(after <= before * (1 + 1e-6) for before, after in pairwise(history))
    assert history[-1] < 0.9 * history[0]
    assert history[0] == pytest.approx(_CascadeState(problem, start).objective(), rel=1e-6)
    assert (found.weights[:, (start.weights == 0).all(axis=0)] == 0).all()
