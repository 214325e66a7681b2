"""How CSTC and CSCC are pruned, stopped and chosen: weighed as their loss is, ties by what they minimise."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from miserly.data.target import Target
from miserly.learners import CSCCClassifier, CSTCClassifier
from miserly.learners.common.linear_fit import FitData, fit_terms, read_fit_data
from miserly.learners.common.training import ScoreEvaluator
from miserly.learners.trees.astc_growth import NEGLIGIBLE, TreeGrower
from miserly.learners.trees.soft_tree_fit import SoftTreeFit
from miserly.metrics import get_metric
from miserly.solvers.columns import DenseColumns
from miserly.solvers.soft_tree import SoftTree, TreeShape


def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    return X, (X[:, 0] + 0.5 * rng.normal(size=400) > 1.2).astype(int)


def fit_of(learner):
    X, y = rows()
    given: FitData = read_fit_data(learner, X, Target(y, None, None), learner._encode, 0.3)
    metric, loss = learner._evaluated_by(given.training)
    evaluator = ScoreEvaluator(get_metric(learner.metric or metric), loss, given.training)
    terms = fit_terms(learner, given, loss, 0.0)
    return SoftTreeFit(learner, given, terms, evaluator, SimpleNamespace())


def constant(score):
    """A tree of one node that answers a constant."""
    tree = SoftTree.zeros(TreeShape.chain(1), 3, 1)
    tree.intercept[0] = score
    return tree


@pytest.mark.parametrize("class_weight", [{0: 1.0, 1: 50.0}, "balanced"])
def test_cscc_evaluates_by_the_classes_as_its_loss_weighs_them(class_weight):
    """Of two constant answers, plain accuracy prefers the common class and a weighed one need not."""
    plain = fit_of(CSCCClassifier(random_state=0))
    weighed = fit_of(CSCCClassifier(class_weight=class_weight, random_state=0))
    low, high = constant(-1.0), constant(1.0)
    assert plain.rank(low, low) > plain.rank(high, high)
    y = weighed.rows.validation.y
    by_class = weighed.learner._class_weights(weighed.rows.training)
    expected = np.average(y == 1, weights=by_class[y.astype(int)])
    assert weighed.rank(high, high)[0] == pytest.approx(expected)
    if class_weight != "balanced":
        assert weighed.rank(high, high) > weighed.rank(low, low)


def test_balanced_classes_of_cscc_count_rows_by_their_weights():
    made = fit_of(CSCCClassifier(class_weight="balanced", random_state=0))
    rows = made.rows.training
    weighted = replace(rows, weight=np.where(rows.y == 1, 3.0, 1.0))
    by_class = made.learner._class_weights(weighted)
    low, high = np.sum(rows.y == 0), 3.0 * np.sum(rows.y == 1)
    np.testing.assert_allclose(by_class, (low + high) / (2.0 * np.array([low, high])))


def test_a_metric_of_ones_own_is_not_weighed():
    made = fit_of(CSCCClassifier(class_weight={0: 1.0, 1: 50.0}, metric="accuracy", random_state=0))
    low = constant(-1.0)
    assert made.rank(low, low)[0] == np.mean(made.rows.validation.y == 0)


@pytest.mark.parametrize("learner", [CSTCClassifier, CSCCClassifier])
def test_ties_of_squared_trees_are_broken_by_the_squared_error(learner):
    """Two answers with the same labels: of the larger the log-loss is less, as scores are not log-odds."""
    made = fit_of(learner(loss="squared", random_state=0))
    near, far = constant(-0.8), constant(-1.8)
    assert made.rank(near, near)[0] == made.rank(far, far)[0]
    assert made.rank(near, near) > made.rank(far, far)
    aims = 2.0 * made.rows.validation.y - 1.0
    assert made.rank(near, near)[1] == pytest.approx(-np.mean((-0.8 - aims) ** 2))


def test_a_metric_of_probabilities_sees_squared_trees_calibrated():
    """A factor of all scores changes no probability once they are calibrated."""
    made = fit_of(CSTCClassifier(loss="squared", metric="log_loss", random_state=0))
    trees = [SoftTree.zeros(TreeShape.chain(1), 3, 1) for _ in range(2)]
    for tree, factor in zip(trees, (1.0, 2.0), strict=True):
        tree.weights[0, 0], tree.intercept[0] = 0.5 * factor, -0.5 * factor
    one, two = (made.rank(tree, tree)[0] for tree in trees)
    assert one == pytest.approx(two, rel=1e-4)


def test_the_shares_of_soft_children_add_up():
    """What is negligible on one side is whole on the other, so that one Gram is the rest of the other."""
    rng = np.random.default_rng(0)
    columns, target = rng.normal(size=(200, 2)), rng.normal(size=(200, 1))
    grower = TreeGrower(DenseColumns(columns), target, None, 2, 5, np.ones(2), soft=True)
    up, low = grower._shares(columns[:, 0], 0.1, None)
    np.testing.assert_array_equal(up + low, 1.0)
    assert (up == 0.0).any() and (low == 0.0).any()
    assert min(up[up > 0].min(), low[low > 0].min()) >= NEGLIGIBLE * (1 - 1e-9)
