"""A tree of classifiers and its plan answer the same and send rows the same ways."""

import numpy as np
import pytest

from miserly import load
from miserly.costs import Costs
from miserly.data.rows import Rows
from miserly.errors import PlanError
from miserly.learners.common.classifier_tree import ClassifierTree, build_plan
from miserly.learners.common.terms import LinearTerms

LEAVE = -1
COSTS = Costs([1.0, 2.0, 4.0, 8.0], groups={"g": {"features": [2, 3], "setup": 16.0}})


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    return rng.normal(size=(80, 4)) * [1.0, 2.0, 3.0, 4.0] + [0.0, 1.0, 2.0, 3.0]


@pytest.fixture
def terms(rows):
    return LinearTerms.fit(Rows(rows, rows[:, 0]), COSTS)


def three_nodes(n_scores=1, **changes):
    """The root reads column 0, its upper child 0 and 1, its lower child 2; no node reads column 3."""
    rng = np.random.default_rng(1)
    weights = rng.normal(size=(3, 4, n_scores))
    mask = np.array([[1, 0, 0, 0], [1, 1, 0, 0], [0, 0, 1, 0]])
    steer = None if n_scores == 1 else mask * rng.normal(size=(3, 4))
    given = {
        "up": [1, LEAVE, LEAVE],
        "low": [2, LEAVE, LEAVE],
        "weights": weights * mask[:, :, None],
        "intercept": 0.1 + 0.1 * np.arange(3 * n_scores).reshape(3, n_scores),
        "threshold": [0.15, 0.15, 0.15],
        "steer": steer,
        "steer_intercept": None if steer is None else [0.1, 0.2, 0.3],
    }
    return ClassifierTree(**{**given, **changes})


@pytest.mark.parametrize("n_scores", [1, 3])
def test_the_plan_is_the_tree(rows, terms, n_scores, tmp_path):
    tree = three_nodes(n_scores)
    plan = build_plan(tree, terms, COSTS, link="identity" if n_scores == 1 else "softmax")
    scores, leaves = tree.ways(terms.values(rows))
    run = plan.run(rows)
    np.testing.assert_allclose(run.scores.reshape(-1, n_scores), scores, atol=1e-12)
    np.testing.assert_array_equal(run.exit, leaves)
    assert set(leaves) == {1, 2}
    assert sorted(np.unique(run.cost)) == [3.0, 21.0]  # columns 0, 1; or 0, 2 and the set-up of 2
    plan.save(tmp_path / "m.miser")
    np.testing.assert_array_equal(load(tmp_path / "m.miser").run(rows).scores, run.scores)


def test_terms_without_weight_stay_out_of_the_plan(terms):
    plan = build_plan(three_nodes(), terms, COSTS)
    assert [term.feature for term in plan.terms] == [0, 1, 2]
    assert [len(node.terms) for node in plan.nodes] == [1, 2, 1]


def test_rows_that_cannot_afford_the_root_answer_the_base(rows, terms):
    plan = build_plan(three_nodes(3), terms, COSTS, link="softmax", base=[0.1, 0.2, 0.3])
    run = plan.run(rows, budget=0.5)
    assert (run.exit == -1).all() and run.scores.tolist() == [[0.1, 0.2, 0.3]] * len(rows)


@pytest.mark.parametrize(("threshold", "leaf"), [(np.inf, 2), (-np.inf, 1)])
def test_an_infinite_threshold_sends_every_row_one_way(rows, terms, threshold, leaf, tmp_path):
    plan = build_plan(three_nodes(threshold=[threshold, 0.0, 0.0]), terms, COSTS)
    plan.save(tmp_path / "m.miser")
    assert (load(tmp_path / "m.miser").run(rows).exit == leaf).all()


def test_one_weight_per_term_and_one_score_may_be_given_flat(rows, terms):
    tree = three_nodes()
    flat = three_nodes(weights=tree.weights[:, :, 0], intercept=tree.intercept[:, 0])
    np.testing.assert_array_equal(flat.ways(rows)[0], tree.ways(rows)[0])


def test_a_chain_with_an_exit(rows, terms):
    tree = three_nodes(up=[1, 2, LEAVE], low=[LEAVE, LEAVE, LEAVE])
    scores, leaves = tree.ways(terms.values(rows))
    run = build_plan(tree, terms, COSTS).run(rows)
    np.testing.assert_allclose(run.scores, scores[:, 0], atol=1e-12)
    np.testing.assert_array_equal(run.exit, leaves)
    assert set(leaves) == {0, 1, 2}


def test_several_scores_need_a_channel_that_steers():
    with pytest.raises(PlanError, match="steer"):
        three_nodes(3, steer=None)
    with pytest.raises(PlanError, match="threshold must have the shape"):
        three_nodes(threshold=[0.0])


@pytest.mark.parametrize("n_scores", [1, 3])
def test_rescaled_scores_go_the_same_ways(rows, terms, n_scores):
    tree = three_nodes(n_scores)
    values = terms.values(rows)
    scores, leaves = tree.ways(values)
    moved, same = tree.rescaled(3.0, -5.0).ways(values)
    np.testing.assert_allclose(moved, 3.0 * scores - 5.0)
    np.testing.assert_array_equal(same, leaves)
