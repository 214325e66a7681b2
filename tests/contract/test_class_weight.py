"""`class_weight` of every classifier is the weight of its rows, to the bit (point 8 of the contract)."""

import numpy as np
import pytest
from sklearn.base import is_classifier
from sklearn.utils.class_weight import compute_sample_weight

from miserly.errors import DataError
from miserly.learners import all_learners

from .cases import Case, every_case
from .test_answer_learners import CASES as ANSWERS
from .test_contract import saved


def weighs_rows(case: Case) -> bool:
    return is_classifier(case.make()) and not getattr(case.learner, "class_weight_in_loss", False)


VARIANTS = ("unit costs", "prices", "budget", "early stopping", "saving")
CASES = [case for case in [*every_case(), *ANSWERS] if weighs_rows(case) and case.variant in VARIANTS]
ONE_EACH = list({case.learner: case for case in reversed(CASES)}.values())  # with unit costs

every = pytest.mark.parametrize("case", CASES, ids=str)
one_each = pytest.mark.parametrize("case", ONE_EACH, ids=str)


def by_class(case: Case):
    """Weights 1, 3, 5, ... of the classes."""
    return {label: 1.0 + 2.0 * place for place, label in enumerate(np.unique(case.task.learn.y).tolist())}


def test_every_classifier_has_class_weight():
    for case in CASES:
        assert "class_weight" in case.has, case.learner.__name__
    # CSCC weights its loss, as its authors do, and not the costs of the rows
    other = [one.__name__ for one in all_learners() if getattr(one, "class_weight_in_loss", False)]
    assert other == ["CSCCClassifier"]


@every
def test_class_weights_are_weights_of_rows(case: Case, tmp_path):
    weight = by_class(case)
    of_rows = np.array([weight[label] for label in case.task.learn.y.tolist()])
    here = case.fit(case.make(class_weight=weight))
    there = case.fit(case.make(), sample_weight=of_rows)
    assert saved(here, tmp_path) == saved(there, tmp_path)
    rows = case.task.fresh
    assert (here.run(rows.X, qid=rows.qid).scores != case.run(rows).scores).any()


@one_each
def test_class_weights_multiply_sample_weights(case: Case, tmp_path):
    weight = by_class(case)
    of_rows = np.array([weight[label] for label in case.task.learn.y.tolist()])
    own = np.random.default_rng(3).integers(1, 5, size=len(of_rows)) / 2.0
    here = case.fit(case.make(class_weight=weight), sample_weight=own)
    there = case.fit(case.make(), sample_weight=own * of_rows)
    assert saved(here, tmp_path) == saved(there, tmp_path)


@one_each
def test_balanced_weights_are_those_of_scikit_learn(case: Case, tmp_path):
    if "validation_fraction" in case.has and "estimator" in case.make().get_params():
        pytest.skip("the inner estimator balances the rows that it is given")
    of_rows = compute_sample_weight("balanced", case.task.learn.y)
    here = case.fit(case.make(class_weight="balanced"))
    there = case.fit(case.make(), sample_weight=of_rows)
    assert saved(here, tmp_path) == saved(there, tmp_path)


IN_LOSS = [
    case
    for case in every_case()
    if getattr(case.learner, "class_weight_in_loss", False) and case.variant == "unit costs"
]
in_loss = pytest.mark.parametrize("case", IN_LOSS, ids=str)


@in_loss
def test_weights_in_the_loss_are_given_as_those_of_rows(case: Case, tmp_path):
    y = case.task.learn.y
    weight = by_class(case)
    here = case.fit(case.make(class_weight=weight))
    assert saved(here, tmp_path) != saved(case.fit(case.make()), tmp_path)
    first, *others = weight
    assert weight[first] == 1.0  # which a mapping may leave out
    part = {label: weight[label] for label in others}
    assert saved(here, tmp_path) == saved(case.fit(case.make(class_weight=part)), tmp_path)
    ones = case.fit(case.make(class_weight=dict.fromkeys(weight, 1.0)))
    assert saved(ones, tmp_path) == saved(case.fit(case.make()), tmp_path)
    balanced = {label: len(y) / (len(weight) * np.sum(y == label)) for label in weight}
    one, other = (case.fit(case.make(class_weight=given, prune=False)) for given in ("balanced", balanced))
    assert saved(one, tmp_path) == saved(other, tmp_path)


@pytest.mark.parametrize("case", [*ONE_EACH, *IN_LOSS], ids=str)
def test_wrong_class_weights_are_refused_in_words(case: Case):
    label = case.task.learn.y.tolist()[0]
    for wrong, words in [
        ({label: -1.0}, "finite number of 0 or more"),
        ({label: np.nan}, "finite number of 0 or more"),
        ({label: "3"}, "finite number of 0 or more"),
        ({"who": 3.0}, "'who' is not a class of y"),
        (dict.fromkeys(by_class(case), 0.0), "no row with a weight above zero"),
    ]:
        with pytest.raises(DataError, match=words):
            case.fit(case.make(class_weight=wrong))
    for wrong in ("even", 3.0):
        with pytest.raises(ValueError, match="class_weight"):
            case.fit(case.make(class_weight=wrong))
