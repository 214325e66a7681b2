"""Soft trees: gradients by finite differences, leaves against a convex solver, descent that never rises."""

from dataclasses import replace

import cvxpy as cp
import numpy as np
import pytest
from scipy.optimize import check_grad

from miserly import Costs
from miserly.losses import Logistic, MeanSquared, Multinomial
from miserly.solvers.node_block import NodeWeights, weighted_gram
from miserly.solvers.soft_tree import SoftTree, SoftTreeProblem, TreeShape, TreeState
from miserly.solvers.term_prices import Blocks, canonical
from miserly.solvers.tree_descent import (
    DescentLimits,
    _inner_block,
    _Leaf,
    cut_unreached,
    descend,
    fine_tune,
    initialise,
)

EXACT = DescentLimits(negligible=1e-7, max_rounds=20_000)
LOSSES = {"squared": MeanSquared(), "logistic": Logistic(), "multinomial": Multinomial(3)}
SHAPES = {"tree": TreeShape.full(3), "chain": TreeShape.chain(3), "pruned": TreeShape.full(3).without([3])[0]}

losses = pytest.mark.parametrize("loss", LOSSES)
shapes = pytest.mark.parametrize("shape", SHAPES)
on_exit = pytest.mark.parametrize("on_exit", [False, True], ids=["by reach", "by exit"])


def problem_of(loss="squared", tradeoff=0.01, l1=0.001, l2=0.001, on_exit=False, n=100, n_terms=6, seed=0):
    """Terms that share features, a group with a set-up, evaluation costs, and rows that count differently."""
    rng = np.random.default_rng(seed)
    kind = LOSSES[loss]
    n_scores = kind.n_scores
    X = rng.normal(size=(n, n_terms))
    signal = X @ rng.normal(size=(n_terms, n_scores)) + np.abs(X[:, :1]) + rng.normal(size=(n, n_scores))
    if loss == "squared":
        target = signal
    elif loss == "logistic":
        target = (signal[:, 0] > 0).astype(float)
    else:
        target = signal.argmax(axis=1).astype(float)
    uses = rng.random((n_terms, 5)) < 0.4
    costs = Costs([1.0, 2.0, 0.0, 3.0, 1.0], groups={"lab": {"features": [0, 3], "setup": 2.0}})
    mass = rng.gamma(2.0, size=n)
    return SoftTreeProblem(
        columns=np.ascontiguousarray(X.T),
        target=target,
        mass=mass / mass.sum(),
        emphasis=rng.uniform(0.5, 2.0, size=n),
        loss=kind,
        blocks=Blocks.of(uses, np.full(n_terms, 0.3), costs).scaled(tradeoff),
        l1=l1,
        l2=l2,
        on_exit=on_exit,
    )


def tree_of(problem, shape, seed=1):
    rng = np.random.default_rng(seed)
    tree = SoftTree.zeros(shape, problem.n_terms, problem.n_scores)
    for array in (tree.weights, tree.intercept, tree.threshold, tree.direction):
        array[:] = rng.normal(size=array.shape)
    tree.steepness[:] = rng.uniform(0.5, 3.0, size=len(shape))
    tree.weights[rng.random(tree.weights.shape[:2]) < 0.2] = 0.0
    return tree


# -- prices --------------------------------------------------------------------------------------------------


def test_blocks_price_features_groups_and_evaluations_once():
    uses = np.array([[True, False, False], [True, True, False], [False, False, True]])
    costs = Costs([3.0, 4.0, 0.0], groups={"lab": {"features": [1, 2], "setup": 5.0}})
    blocks = Blocks.of(uses, np.array([0.5, 0.5, 0.0]), costs)
    roots = blocks.roots(np.array([[1.0, 0.0], [0.0, 2.0], [2.0, 1.0]]))
    # Terms 0.5 (1 + 2); feature 0: 3 sqrt(1 + 4); feature 1: 4 * 2; the lab, by terms 1 and 2: 5 sqrt(4 + 5).
    assert blocks.price @ roots == pytest.approx(0.5 * 3 + 3 * 5**0.5 + 4 * 2 + 5 * 3)


def test_pull_is_the_slope_of_the_penalty_over_the_weight():
    problem = problem_of(tradeoff=1.0)
    weights = np.random.default_rng(3).normal(size=(6, 2))
    blocks = problem.blocks
    slope = np.zeros_like(weights)
    for place in np.ndindex(*weights.shape):
        step = np.zeros_like(weights)
        step[place] = 1e-6
        slope[place] = blocks.price @ (blocks.roots(weights + step) - blocks.roots(weights - step)) / 2e-6
    np.testing.assert_allclose(blocks.pull(blocks.roots(weights))[:, None] * weights, slope, rtol=1e-6)


def test_canonical_numbers_forget_how_they_were_computed():
    values = np.random.default_rng(0).lognormal(sigma=20, size=1000)
    np.testing.assert_array_equal(canonical(values), canonical((values * 10.0) * 0.1))
    np.testing.assert_allclose(canonical(values), values, rtol=1e-11)
    np.testing.assert_array_equal(canonical(np.array([0.0, -2.0])), [0.0, -2.0])


# -- gradients -----------------------------------------------------------------------------------------------


@losses
@shapes
@on_exit
def test_gradients_are_those_of_finite_differences(loss, shape, on_exit):
    problem = problem_of(loss, tradeoff=0.3, on_exit=on_exit)
    tree = tree_of(problem, SHAPES[shape])
    state = TreeState(problem, tree)
    for node in [k for k in range(len(tree.shape)) if not tree.shape.is_leaf(k)]:
        terms = tree.active(node)
        further = state.side(node, True), state.side(node, False)
        block = _inner_block(state, node, terms, problem.mass * state.reach(node), further)
        size = len(terms) * problem.n_scores

        def line(u, terms=terms, size=size):
            return NodeWeights(u[:size].reshape(len(terms), -1), u[size:-1], float(u[-1]))

        def value(u, block=block, line=line):
            return block.value_and_gradient(line(u))[0]

        def slope(u, block=block, line=line):
            found = block.value_and_gradient(line(u))[1]
            return np.concatenate([found.weights.ravel(), found.intercept, [found.threshold]])

        at = np.random.default_rng(node).normal(size=size + problem.n_scores + 1)
        assert check_grad(value, slope, at) < 1e-6 * max(1.0, np.abs(slope(at)).max())


@losses
@shapes
@on_exit
def test_a_node_changes_the_objective_by_what_its_block_says(loss, shape, on_exit):
    problem = problem_of(loss, tradeoff=0.3, on_exit=on_exit)
    tree = tree_of(problem, SHAPES[shape])
    state = TreeState(problem, tree)
    terms = tree.active(0)
    further = state.side(0, True), state.side(0, False)
    block = _inner_block(state, 0, terms, problem.mass, further)
    paths = {exit_: np.sqrt(state.path_squares(exit_)) for exit_ in tree.shape.exits}
    sizes = {0: np.sqrt((tree.weights[0] ** 2).sum(axis=1))}

    def now():
        line = NodeWeights(tree.weights[0, terms], tree.intercept[0], float(tree.threshold[0]))
        return state.objective(paths, sizes), block.value_and_gradient(line)[0]

    before = now()
    assert before[0] == pytest.approx(state.objective(), rel=1e-12)  # auxiliaries at their best
    tree.weights[0, terms] *= 1.3
    tree.threshold[0] += 0.4
    tree.intercept[0] -= 0.1
    state.refresh(0)
    after = now()
    assert after[0] - before[0] == pytest.approx(after[1] - before[1], rel=1e-9)


# -- leaves --------------------------------------------------------------------------------------------------


def convex_optimum(problem, weight, others):
    """The least objective of a leaf next to `others`, by cvxpy."""
    beta = cp.Variable((problem.n_terms, problem.n_scores))
    score = problem.columns.T @ beta + np.ones((len(weight), 1)) @ cp.Variable((1, problem.n_scores))
    if isinstance(problem.loss, MeanSquared):
        each = cp.sum(cp.square(score - problem.target), axis=1) / problem.n_scores
    elif isinstance(problem.loss, Logistic):
        each = cp.logistic(score[:, 0]) - cp.multiply(problem.target, score[:, 0])
    else:
        hot = np.eye(3)[problem.target.astype(int)]
        each = cp.log_sum_exp(score, axis=1) - cp.sum(cp.multiply(hot, score), axis=1)
    member = problem.blocks.member.toarray() > 0
    roots = [
        price * cp.norm(cp.hstack([cp.vec(beta[inside], order="C"), [np.sqrt(other)]]))
        for price, inside, other in zip(problem.blocks.price, member, others, strict=True)
        if inside.any()
    ]
    penalty = problem.l1 * cp.sum(cp.norm(beta, axis=1)) + 0.5 * problem.l2 * cp.sum_squares(beta)
    penalty += weight.sum() * sum(roots)
    value = cp.Problem(cp.Minimize((weight * problem.emphasis) @ each + penalty))
    value.solve(solver="CLARABEL", tol_gap_rel=1e-9, tol_gap_abs=1e-9, tol_feas=1e-9)
    return value.value, beta.value


@losses
@pytest.mark.parametrize("tradeoff", [0.001, 0.03])
def test_leaves_reach_the_convex_optimum(loss, tradeoff):
    problem = problem_of(loss, tradeoff=tradeoff, n=80)
    rng = np.random.default_rng(4)
    weight = problem.mass * rng.random(80)
    others = problem.blocks.squares(rng.normal(size=(6, 1)) * (rng.random((6, 1)) < 0.5))
    least, best = convex_optimum(problem, weight, others)
    terms, line = _Leaf(problem, weight, others, np.arange(6)).fit(None, EXACT)
    weights = np.zeros_like(best)
    weights[terms] = line.weights
    np.testing.assert_allclose(weights, best, atol=2e-4)
    score = problem.columns.T @ weights + line.intercept
    value = (weight * problem.emphasis) @ problem.loss.each(problem.target, score)
    value += problem.l1 * np.linalg.norm(weights, axis=1).sum() + 0.5 * problem.l2 * (weights**2).sum()
    value += weight.sum() * problem.blocks.price @ np.sqrt(others + problem.blocks.squares(weights))
    others_alone = sum(  # blocks that no term belongs to are a constant, which cvxpy was not given
        weight.sum() * price * np.sqrt(other)
        for price, inside, other in zip(
            problem.blocks.price, problem.blocks.member.toarray() > 0, others, strict=True
        )
        if not inside.any()
    )
    assert value - others_alone == pytest.approx(least, rel=1e-6)


def test_a_leaf_is_the_ridge_solution():
    """One pass by hand: with weights of 1 the auxiliary of a block is the root of the number of its terms."""
    problem = problem_of(l1=0.0, l2=0.0, n_terms=3)
    leaf = _Leaf(problem, problem.mass, np.zeros(len(problem.blocks.price)), np.arange(3))
    ones = NodeWeights(np.ones((3, 1)), np.zeros(1))
    terms, line = leaf.fit(ones, replace(EXACT, max_rounds=1))
    W = np.diag(problem.mass * problem.emphasis)
    X = np.column_stack([problem.columns.T, np.ones(len(W))])
    counts = problem.blocks.member.toarray()
    gamma = counts.T @ (problem.blocks.price / np.sqrt(np.maximum(1.0, counts.sum(axis=1))))
    by_hand = np.linalg.solve(X.T @ W @ X + np.diag(np.append(gamma / 2, 0.0)), X.T @ W @ problem.target)
    np.testing.assert_allclose(np.vstack([line.weights, line.intercept]), by_hand, rtol=1e-6)
    assert terms.tolist() == [0, 1, 2]


def test_the_gram_matrix_is_the_plain_one():
    rng = np.random.default_rng(0)
    columns, weight = rng.normal(size=(4, 20_000)), rng.random(20_000) * (rng.random(20_000) < 0.5)
    both = np.vstack([columns, np.ones(20_000)])
    np.testing.assert_allclose(
        weighted_gram(columns, weight), (both * weight) @ both.T, rtol=1e-10, atol=1e-9
    )


# -- whole trees ---------------------------------------------------------------------------------------------


@losses
@shapes
@on_exit
@pytest.mark.parametrize("tradeoff", [0.0, 0.02])
def test_descent_never_rises_and_lowers_the_objective(loss, shape, on_exit, tradeoff):
    problem = problem_of(loss, tradeoff=tradeoff, on_exit=on_exit)
    tree = initialise(problem, SHAPES[shape], DescentLimits())
    history = descend(problem, tree, DescentLimits(max_sweeps=2, tolerance=0.0))
    assert (np.diff(history) <= 1e-9).all()
    assert history[-1] < 0.999 * history[0]


def test_leaving_early_is_no_reward():
    """In a pruned tree, a row that leaves counts as if copies of the node followed down to the last level."""
    problem = problem_of(tradeoff=0.0, l1=0.0, l2=0.0)
    tree = tree_of(problem, TreeShape.full(3))
    for child, parent in ((1, 0), (3, 1), (4, 1), (6, 2)):
        tree.weights[child], tree.intercept[child] = tree.weights[parent], tree.intercept[parent]
    whole = TreeState(problem, tree).objective()
    for gone in ([6], [3, 4], [1], [1, 6]):
        assert TreeState(problem, tree.without(gone)).objective() == pytest.approx(whole, rel=1e-12)


def test_zeros_stay_zeros():
    problem = problem_of(tradeoff=0.5)
    tree = initialise(problem, TreeShape.full(3), DescentLimits())
    none = tree.weights == 0
    assert none.any()
    descend(problem, tree, DescentLimits(max_sweeps=2))
    assert (tree.weights[none] == 0).all()


def test_expensive_terms_vanish():
    used = [
        (initialise(problem_of(tradeoff=tradeoff), TreeShape.full(3), DescentLimits()).weights != 0).sum()
        for tradeoff in (0.0, 0.1, 1.0, 100.0)
    ]
    assert used == sorted(used, reverse=True) and used[0] > used[-1] == 0


def test_a_root_that_separates_no_rows_has_no_children():
    tree = initialise(problem_of(tradeoff=100.0), TreeShape.full(3), DescentLimits())
    assert len(tree.shape) == 1 and not tree.weights.any()


@losses
def test_fine_tuning_lowers_the_loss_and_buys_nothing(loss):
    problem = problem_of(loss, tradeoff=0.03, l1=0.0)
    tree = initialise(problem, TreeShape.full(2), DescentLimits())
    answers = fine_tune(problem, tree, DescentLimits())
    mine, tuned = TreeState(problem, tree), TreeState(problem, answers)
    for node in range(len(tree.shape)):
        assert set(answers.active(node)) <= {t for k in tree.shape.path(node) for t in tree.active(k)}
        weight = problem.mass * mine.reach(node)
        assert weight @ tuned.loss[node] < weight @ mine.loss[node]


def test_nodes_that_no_row_gets_to_are_cut():
    problem = problem_of()
    tree = initialise(problem, TreeShape.full(3), DescentLimits())
    assert len(cut_unreached(problem, tree).shape) == 7
    tree.threshold[2] = np.inf  # no row goes up
    assert len(cut_unreached(problem, tree).shape) == 6
    tree.threshold[0] = np.inf
    assert len(cut_unreached(problem, tree).shape) == 3


def test_pruned_shapes_keep_children_after_their_parent():
    shape, kept = TreeShape.full(3).without([1])
    assert (shape, kept) == (TreeShape((-1, 2, -1, -1), (1, 3, -1, -1)), [0, 2, 5, 6])
    assert shape.path(3) == [0, 1, 3] and shape.exits == (0, 2, 3) and shape.below(1) == [1, 2, 3]
