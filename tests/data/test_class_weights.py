"""Weights of classes as weights of rows."""

import numpy as np
import pytest
from sklearn.utils.class_weight import compute_class_weight, compute_sample_weight

from miserly import GreedyMiserClassifier
from miserly.data.class_weights import class_weights, weigh_classes, weigh_validation
from miserly.data.rows import Rows
from miserly.errors import DataError

Y = np.array(["a", "b", "a", "c", "a", "b"])


def test_balanced_is_that_of_scikit_learn():
    known = np.unique(Y)
    expected = compute_class_weight("balanced", classes=known, y=Y)
    assert class_weights("balanced", Y) == dict(zip(known.tolist(), expected.tolist(), strict=True))
    weight = np.array([1.0, 2.0, 0.5, 3.0, 1.0, 1.0])
    expected = compute_class_weight("balanced", classes=known, y=Y, sample_weight=weight)
    np.testing.assert_allclose(list(class_weights("balanced", Y, weight).values()), expected, rtol=1e-15)


def test_rows_of_no_weight_do_not_count():
    weight = np.array([0.0, 1.0, 1.0, 0.0, 0.0, 1.0])
    kept = weight > 0
    whole, part = weigh_classes("balanced", Y, weight), weigh_classes("balanced", Y[kept], weight[kept])
    np.testing.assert_array_equal(whole[kept], part)
    assert not whole[~kept].any()


def test_a_mapping_may_leave_out_classes_or_name_others():
    assert class_weights({"b": 2}, Y) == {"a": 1.0, "b": 2.0, "c": 1.0}
    assert class_weights({"a": 1, "b": 2, "c": 3, "d": 4}, Y) == {"a": 1.0, "b": 2.0, "c": 3.0}
    np.testing.assert_array_equal(weigh_classes({"b": 2}, Y, None), compute_sample_weight({"b": 2}, Y))
    with pytest.raises(DataError, match="'B' is not a class of y; the classes are 'a', 'b', 'c'"):
        class_weights({"B": 2}, Y)


def test_booleans_and_numbers_are_the_same_keys():
    assert class_weights({0: 2.0, 1: 3.0}, np.array([False, True])) == {False: 2.0, True: 3.0}
    assert class_weights({0: 2.0, 1: 3.0}, np.array([0.0, 1.0])) == {0.0: 2.0, 1.0: 3.0}


def test_none_changes_nothing():
    weight = np.ones(6)
    assert weigh_classes(None, Y, weight) is weight and weigh_classes(None, Y, None) is None
    rows = Rows(np.zeros((6, 1)), Y)
    assert weigh_validation(None, rows, rows) is rows and weigh_validation({"a": 2}, rows, None) is None


def test_a_validation_set_has_the_balance_of_all_rows():
    rows = Rows(np.zeros((6, 1)), Y)
    held = weigh_validation("balanced", rows, rows.take(np.array([0, 1])))
    np.testing.assert_array_equal(held.weight, [6 / 9, 6 / 6])


def test_greedy_miser_weighs_the_validation_set_it_is_given():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    y = np.where(X[:, 0] + rng.normal(size=400) > 1.0, "yes", "no")
    model = GreedyMiserClassifier(n_rounds=6, class_weight="balanced", early_stopping=3, random_state=0)
    model.fit(X[:300], y[:300], X_val=X[300:], y_val=y[300:])
    weight = class_weights("balanced", y[:300])
    of_rows = np.array([weight[label] for label in y])
    plain = GreedyMiserClassifier(n_rounds=6, early_stopping=3, random_state=0)
    plain.fit(
        X[:300],
        y[:300],
        of_rows[:300],
        X_val=X[300:],
        y_val=y[300:],
        sample_weight_val=of_rows[300:],
    )
    np.testing.assert_array_equal(model.validation_curve_, plain.validation_curve_)
    assert model.plan_.digest == plain.plan_.digest


def test_labels_that_are_no_classes_are_refused_as_before():
    model = GreedyMiserClassifier(class_weight="balanced")
    with pytest.raises(DataError, match="Unknown label type"):
        model.fit(np.zeros((3, 1)), [0.5, 1.5, 2.5])
