"""Rows on their way through plans, with figures worked out by hand and checked against cut plans."""

from __future__ import annotations

import numpy as np
import pytest

from miserly.costs import Costs
from miserly.errors import DataError
from miserly.plan import Plan
from miserly.plan.flow import flow, fuse, remaining, stages

from . import sample_plans
from .hand_made import LABELS, ROWS, cascade, tree

NAN = np.nan


def test_stages_end_where_rows_part():
    assert [stage.nodes for stage in stages(cascade())] == [(0, 1), (2,), (3,)]
    parts = stages(tree())
    assert [(s.parent, s.level, s.up, s.low) for s in parts] == [
        (-1, 1, 1, 2),
        (0, 2, 3, None),
        (0, 2, None, None),
        (1, 3, None, None),
    ]
    assert tree().has_forks and not cascade().has_forks


def test_a_tree_by_hand():
    found = flow(tree(), ROWS, LABELS)
    np.testing.assert_allclose(found.reached, [1.0, 0.75, 0.25, 0.5])
    np.testing.assert_allclose(found.left, [0.0, 0.25, 0.25, 0.5])
    np.testing.assert_allclose(found.cost, [1.0, 11.0, 1.0, 111.0])
    np.testing.assert_allclose(found.label[:, 0], [3.0, 11 / 3, 1.0, 4.5])
    np.testing.assert_allclose(found.left_label[:, 0], [NAN, 2.0, 1.0, 4.5])
    assert found.features == ((0,), (1,), (), (2,)) and found.classes == ()


def test_a_cascade_by_hand():
    found = flow(cascade(), ROWS, ["no", "yes", "yes", "no"])
    np.testing.assert_allclose(found.reached, [1.0, 0.5, 0.5])
    np.testing.assert_allclose(found.left, [0.5, 0.0, 0.5])
    # the first row never reads b: (1 + 3 * 11) / 4; the others have read it and go on to read c
    np.testing.assert_allclose(found.cost, [8.5, 11.0, 111.0])
    np.testing.assert_allclose(found.label, [[0.5, 0.5], [0.5, 0.5], [0.5, 0.5]])
    np.testing.assert_allclose(found.left_label, [[0.5, 0.5], [NAN, NAN], [0.5, 0.5]])
    assert found.features == ((0, 1), (), (2,)) and found.classes == ("no", "yes")


def test_remaining_by_hand():
    assert remaining(tree(), ROWS).tolist() == [1.0, 1.0, 0.5]
    assert remaining(cascade(), ROWS).tolist() == [1.0, 0.5, 0.5]
    assert remaining(cascade(), ROWS[:2]).tolist() == [1.0, 0.0, 0.0]


def test_without_labels_none_are_made_up():
    found = flow(tree(), ROWS)
    assert found.label is None and found.left_label is None


def test_a_stage_that_no_row_reaches_has_no_cost():
    found = flow(tree(), ROWS[:1], LABELS[:1])
    np.testing.assert_allclose(found.cost, [1.0, NAN, 1.0, NAN])
    np.testing.assert_allclose(found.label[:, 0], [1.0, NAN, 1.0, NAN])


@pytest.mark.parametrize("plan", [sample_plans.tree_of_classifiers(4), sample_plans.heart()])
def test_what_rows_have_at_a_stage_is_what_the_plan_cut_there_says(plan):
    X = sample_plans.random_rows(plan, 60)
    exits = plan.run(X).exit
    found = flow(plan, X)
    for i, stage in enumerate(found.stages):
        last = stage.nodes[-1]
        cut = plan.prefix(last + 1).run(X)
        inside = cut.exit == last
        assert found.reached[i] == pytest.approx(inside.mean())
        assert found.left[i] == pytest.approx((exits == last).mean())
        if inside.any():
            assert found.cost[i] == pytest.approx(cut.cost[inside].mean())


def test_neighbours_of_a_long_chain_are_taken_together():
    plan = sample_plans.heart()
    X = sample_plans.random_rows(plan, 60)
    whole, fused = flow(plan, X), flow(plan, X, most=2)
    assert [stage.nodes for stage in fuse(stages(plan), 2)] == [tuple(range(20)), tuple(range(20, 40))]
    np.testing.assert_allclose(fused.left, [whole.left[:2].sum(), whole.left[2:].sum()])
    assert fused.cost[-1] == pytest.approx(plan.run(X).cost[plan.run(X).exit >= 20].mean())
    assert len(flow(tree(), ROWS, most=2).stages) == 4  # trees stay as they are


def test_documents_are_compared_within_their_queries():
    plan = sample_plans.ranking()
    X = np.random.default_rng(0).normal(size=(40, plan.n_features))
    qid = np.repeat([1, 2, 3, 4], 10)
    with pytest.raises(DataError, match="give qid"):
        remaining(plan, X)
    found = flow(plan, X, qid=qid)
    exits = plan.run(X, qid=qid).exit
    for stage, left in zip(found.stages, found.left, strict=True):
        assert left == pytest.approx((exits == stage.nodes[-1]).mean())
    np.testing.assert_allclose(remaining(plan, X, qid=qid), found.reached)


def test_what_cannot_be_followed_is_reported():
    with pytest.raises(DataError, match="got dict, which has no plan_"):
        flow({}, ROWS)
    with pytest.raises(DataError, match="has no nodes"):
        flow(Plan(costs=Costs([1.0]), terms=[], nodes=[], base=[0.0]), [[1.0]])
    with pytest.raises(DataError, match="no rows"):
        flow(tree(), ROWS[:0])
    with pytest.raises(DataError, match="label maybe is none of the plan's classes"):
        flow(cascade(), ROWS, ["no", "yes", "maybe", "no"])
    with pytest.raises(DataError, match="for 4 rows"):
        flow(tree(), ROWS, LABELS[:2])
