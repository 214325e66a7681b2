"""What is extracted by when, and how alike leaves are, with figures worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from miserly.costs import Costs
from miserly.plan import Plan, Raw
from miserly.plan.extraction import extracted, leaf_similarity

from .hand_made import ROWS, cascade, node, tree


def test_what_may_be_extracted_in_a_tree():
    found = extracted(tree())
    assert found.share.tolist() == [[1, 0, 0], [1, 1, 0], [1, 1, 1]]
    assert found.tiers == ("1", "10", "100") and found.size.tolist() == [1, 1, 1]


def test_what_rows_extract_in_a_tree():
    assert extracted(tree(), ROWS).share.tolist() == [[1, 0, 0], [1, 0.75, 0], [1, 0.75, 0.5]]


def test_only_splits_that_are_met_count():
    """Three of four rows meet the split on b in stage 1; two go on to c in stage 3."""
    assert extracted(cascade(), ROWS).share.tolist() == [[1, 0.75, 0], [1, 0.75, 0], [1, 0.75, 0.5]]


def test_tiers_can_be_given_by_their_upper_ends():
    found = extracted(tree(), tiers=[10])
    assert found.tiers == ("1 to 10", "100") and found.size.tolist() == [2, 1]
    assert found.share.tolist() == [[0.5, 0], [1, 0], [1, 1]]


def test_set_ups_are_part_of_the_price():
    costs = Costs([1.0, 1.0], groups={"blood": {"features": [1], "setup": 4.0}})
    plan = Plan(costs=costs, terms=[Raw(0)], nodes=[node([0])], base=[0.0])
    found = extracted(plan)
    assert found.tiers == ("1", "5") and found.share.tolist() == [[1, 0]]


def test_many_prices_share_tiers():
    plan = Plan(costs=Costs(np.arange(1.0, 11.0)), terms=[Raw(2)], nodes=[node([0])], base=[0.0])
    found = extracted(plan)
    assert found.tiers == ("1 to 2", "3 to 4", "5 to 6", "7 to 8", "9 to 10")
    assert found.share.tolist() == [[0, 0.5, 0, 0, 0]]


def test_leaves_of_a_tree_from_the_top():
    """Leaving at node 1: a and b; node 3: all; node 2: a alone."""
    found = leaf_similarity(tree())
    assert [leaf.nodes[-1] for leaf in found.leaves] == [1, 3, 2]
    assert found.size.tolist() == [2, 3, 1]
    np.testing.assert_allclose(found.matrix, [[1, 2 / 3, 1 / 2], [2 / 3, 1, 1 / 3], [1 / 2, 1 / 3, 1]])


def test_leaves_that_no_row_reaches_are_left_out():
    found = leaf_similarity(tree(), ROWS[[0, 2]])
    assert [leaf.nodes[-1] for leaf in found.leaves] == [3, 2]
    np.testing.assert_allclose(found.matrix, [[1, 1 / 3], [1 / 3, 1]])


def test_stages_at_which_none_can_leave_are_no_leaves():
    assert [leaf.nodes[-1] for leaf in leaf_similarity(cascade()).leaves] == [1, 3]


def test_rows_tell_what_was_really_bought():
    found = leaf_similarity(cascade(), ROWS[[0, 2]])  # the first leaves without b
    assert found.size.tolist() == [1, 3] and found.matrix[0, 1] == pytest.approx(1 / 3)


def test_leaves_that_buy_nothing_are_alike():
    nodes = [node([], 0.0, up=1, low=2), node([]), node([])]
    plan = Plan(costs=Costs([1.0]), terms=[], nodes=nodes, base=[0.0])
    assert leaf_similarity(plan).matrix.tolist() == [[1, 1], [1, 1]]
