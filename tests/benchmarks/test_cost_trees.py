"""The trees of benchmarks/cost_trees.py and what they are billed, on cases computed by hand.

Eight rows, two features. The first separates the classes: its gain is 1 bit. The second has 3 rows of one
class and 1 of the other on each side: its gain is 1 - H(1/4) = 0.188722 bits. The prices are 15 and 1.
"""

import numpy as np
import pytest

import cost_trees as trees
import turney_setting as setting
from miserly import Costs

COLUMNS = np.array([[1, 2, 3, 4, 5, 6, 7, 8], [0, 0, 0, 1, 0, 1, 1, 1]], dtype=float)
Y = np.array([0, 0, 0, 0, 1, 1, 1, 1])
PRICE = np.array([15.0, 1.0])
LOW_GAIN = 1 - (0.25 * np.log2(4) + 0.75 * np.log2(4 / 3))


@pytest.fixture(scope="module")
def order():
    return trees.sorted_order(COLUMNS)


def test_best_threshold_is_between_the_classes(order):
    gain, split, cut = trees.best_threshold(COLUMNS[0], Y, order[0], 2, 2.0)
    assert (gain, split, cut) == pytest.approx((1.0, 1.0, 4.5))
    gain, split, cut = trees.best_threshold(COLUMNS[1], Y, order[1], 2, 2.0)
    assert (gain, split, cut) == pytest.approx((LOW_GAIN, 1.0, 0.5))
    assert pytest.approx(0.188722, abs=1e-6) == LOW_GAIN


def test_no_threshold_if_a_side_would_be_too_small(order):
    assert trees.best_threshold(COLUMNS[0], Y, order[0], 2, 5.0)[0] == 0.0


@pytest.mark.parametrize(
    ("rule", "omega", "scores"),
    [
        ("C4.5", 1.0, [1.0, -np.inf]),  # the second gain is below the mean of both
        ("EG2", 1.0, [1 / 16, (2**LOW_GAIN - 1) / 2]),  # 0.0625 and 0.0699
        ("EG2", 0.0, [1.0, 2**LOW_GAIN - 1]),
        ("CS-ID3", 1.0, [1 / 15, LOW_GAIN**2]),  # 0.0667 and 0.0356
        ("IDX", 1.0, [1 / 15, LOW_GAIN]),
    ],
)
def test_scores_of_the_rules(order, rule, omega, scores):
    gain, split = np.array([1.0, LOW_GAIN]), np.ones(2)
    found = trees.feature_scores(gain, split, PRICE, trees.RULES[rule], omega)
    assert found == pytest.approx(scores)
    tree = trees.grow_tree(COLUMNS, Y, order, 2, PRICE, rule, omega, confidence=1.0)
    assert tree.feature[0] == np.argmax(scores)


def test_a_feature_without_gain_is_never_chosen():
    scores = trees.feature_scores(np.zeros(2), np.ones(2), PRICE, trees.IDX, 1.0)
    assert (scores == -np.inf).all()


def test_added_errors_are_those_of_quinlans_book():
    # U_25%(0, 6) = 0.206, U_25%(0, 1) = 0.750, U_25%(1, 16) = 0.157
    assert trees.added_errors(6.0, 0.0, 0.25, 0.6925) / 6 == pytest.approx(0.206, abs=5e-4)
    assert trees.added_errors(1.0, 0.0, 0.25, 0.6925) == pytest.approx(0.75, abs=5e-4)
    assert (1 + trees.added_errors(16.0, 1.0, 0.25, 0.6925)) / 16 == pytest.approx(0.157, abs=5e-4)


def test_pruning_keeps_a_split_that_separates_and_drops_one_that_does_not(order):
    kept = trees.grow_tree(COLUMNS, Y, order, 2, PRICE, "C4.5")
    assert kept.feature.tolist() == [0, -1, -1]
    mixed = np.array([0, 1, 0, 0, 0, 0, 1, 0])
    dropped = trees.grow_tree(COLUMNS, mixed, order, 2, PRICE, "C4.5")
    assert dropped.feature[0] == -1 and dropped.label[0] == 0


# -- bills -------------------------------------------------------------------------------------------------
#
# A question (1, at once) at the root; above 0.5 a blood test (5, later), and if that is at most 0.5 a
# second one (8, later). Drawing blood costs 2, once.

COSTS = Costs(
    {"question": 1.0, "first": 5.0, "second": 8.0},
    groups={"blood": {"features": ["first", "second"], "setup": 2.0}},
)
DELAYED = np.array([False, True, True])
ROWS = np.array([[0, 0, 0], [1, 1, 0], [1, 0, 1]], dtype=float)


@pytest.fixture(scope="module")
def prices():
    return setting.price_list(COSTS, DELAYED)


@pytest.fixture(scope="module")
def tree():
    return trees.CostTree(
        feature=np.array([0, -1, 1, 2, -1, -1, -1]),
        threshold=np.full(7, 0.5),
        left=np.array([1, -1, 3, 5, -1, -1, -1]),
        right=np.array([2, -1, 4, 6, -1, -1, -1]),
        label=np.array([0, 0, 0, 0, 1, 0, 1]),
    )


def test_prices_alone_and_together(prices):
    assert prices.alone.tolist() == [1.0, 7.0, 10.0]
    assert prices.total == 16.0


def test_bill_with_delays_orders_the_whole_subtree(tree, prices):
    answer, bought = tree.run(np.ascontiguousarray(ROWS.T), prices.delayed)
    assert answer.tolist() == [0, 1, 1]
    assert prices.of(bought).tolist() == [
        1.0,
        16.0,
        16.0,
    ]  # 1; 1 + 2 + 5 + 8, also if the second is not needed


def test_bill_without_delays_pays_for_the_path(tree, prices):
    _, bought = tree.run(np.ascontiguousarray(ROWS.T), prices.at_once().delayed)
    assert prices.of(bought).tolist() == [1.0, 8.0, 16.0]  # 1; 1 + 2 + 5; 1 + 2 + 5 + 8


def test_prices_are_those_of_the_ledger(prices):
    bought = np.random.default_rng(0).random((40, 3)) < 0.5
    assert prices.of(bought) == pytest.approx(COSTS.of_each(bought))


# -- the setting -------------------------------------------------------------------------------------------


def test_standard_cost_is_all_tests_and_the_mistakes_of_a_constant():
    clinic = setting.Clinic("by hand", np.zeros((4, 3)), np.array([0, 0, 0, 1]), COSTS, DELAYED)
    assert clinic.standard_cost(100.0) == 16.0 + 0.25 * 100.0


def test_split_takes_two_thirds():
    clinic = setting.Clinic("by hand", np.zeros((345, 3)), np.zeros(345, dtype=int), COSTS, DELAYED)
    train, test = clinic.split(0)
    assert (len(train), len(test)) == (230, 115)
    assert sorted([*train, *test]) == list(range(345))


def test_missing_values_are_those_of_the_nearest_row():
    # scaled distances of the second row to the others: 0.1 + 1 and 0.8 + 1
    X = np.array([[0.0, 5.0], [1.0, np.nan], [9.0, 7.0], [10.0, 6.0]])
    assert setting.filled(X)[1].tolist() == [1.0, 5.0]
