"""scikit-learn's own checks, for every learner with every option (point 1 of the contract)."""

import sys
from functools import cache
from inspect import signature

import numpy as np
import pytest
from sklearn.base import is_regressor
from sklearn.datasets import make_blobs
from sklearn.ensemble import AdaBoostClassifier
from sklearn.model_selection import train_test_split
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.validation import _num_samples

from miserly import AdaBoostBTClassifier

from .cases import every_case

WEIGHTS = "check_sample_weight_equivalence_on_dense_data"
HELD_OUT = "which rows are held out goes by row: one row of weight two is not two rows"
PAIRS = "a document that is twice in its query changes its NDCG, as one of twice the weight does not"
LINES = (
    "queries are five rows in a line here, so repeated rows make others (the learner's own tests do it right)"
)
NOISE = "what a term must explain so as not to be noise goes by rows: one row of weight two is not two rows"
CLASSES = "check_class_weight_classifiers"
PURE = (
    "a split without errors decides, whatever the weights: 18 % of the rows lie where the training rows are "
    "all of the class of weight 0.0001, and scikit-learn's AdaBoostClassifier with these weights agrees"
)
SHRUNK = "covariances are shrunk by the number of rows: one row of weight two is not two rows"
COUNTED = "the C of an SVM is against the number of rows: one row of weight two is not two rows"


def expected_failures(model):
    """Checks that a learner cannot pass, and why. If one passes all the same, that is a failure too."""
    parameters = model.get_params(deep=True)
    given = {key.rpartition("__")[2]: value for key, value in parameters.items()}
    if given.get("base") == "stump" or "max_nodes" in given:
        return {CLASSES: PURE}
    if (
        given.get("early_stopping")
        or given.get("prune")
        or "n_blocks" in given  # AFR, which always holds rows out
        or ("prefit" in given and given["threshold"] is None and given["rule"] != "lossless")
    ):
        return {WEIGHTS: HELD_OUT}
    if "estimator" in given and "max_rows" in given:  # compressed machines
        return {WEIGHTS: COUNTED}
    if given.get("loss") == "lambdarank":
        return {WEIGHTS: PAIRS}
    if given.get("loss") == "within_queries":
        return {WEIGHTS: LINES}
    if "price_exponent" in given:
        return {WEIGHTS: SHRUNK}
    if "node_budget" in given and (given["terms"] == "linear" or not is_regressor(model)):
        return {WEIGHTS: NOISE}
    return {}


# Sixty checks fit each instance hundreds of times, to tables of 20 to 200 rows.
SMALLER = {
    "min_samples_leaf": 1,
    "n_rounds": 5,
    "n_stages": 3,
    "n_blocks": 2,
    "n_vectors": 6,
    "max_iter": 5,
}


@cache
def with_queries(learner):
    """The learner, given queries, which scikit-learn's checks know nothing about.

    Five rows in a line are a query when fitting; when predicting each row is one by itself.
    """

    class Queried(learner):
        def fit(self, X, y, sample_weight=None):
            return super().fit(X, y, sample_weight=sample_weight, qid=np.arange(_num_samples(X)) // 5)

        def predict(self, X, qid=None):
            if "qid" not in signature(super().predict).parameters:
                return super().predict(X)
            return super().predict(X, qid=np.arange(_num_samples(X)) if qid is None else qid)

        def score(self, X, y, sample_weight=None):
            return super().score(X, y, sample_weight=sample_weight, qid=np.arange(_num_samples(X)) // 5)

    Queried.__name__ = Queried.__qualname__ = f"Queried{learner.__name__}"
    setattr(sys.modules[__name__], Queried.__name__, Queried)  # where pickle looks for it
    return Queried


def instances():
    """Learners as they come, with each option, and with rows held out or not.

    Costs stay out of it: those of a task are for its columns, not for those of the checks.
    """
    found = {}
    for case in every_case():
        changes = [{}]
        if case.variant == "unit costs" and "threshold" in case.has:
            score = case.make().get_params().get("rule") == "score"
            changes.append({"threshold": -9.0 if score else 1.0})  # nothing to choose, nothing held out
        elif case.variant == "unit costs" and "early_stopping" in case.has:
            changes.append({"early_stopping": 3})
        elif case.variant in ("prices", "tradeoff", "budget", "early stopping", "saving", "n_members=auto"):
            continue
        for change in changes:
            model = case.make(costs=None, **SMALLER, **change)
            if case.task.name == "documents":
                model = with_queries(case.learner)(**model.get_params(deep=False))
            found[repr(model)] = model  # classifiers come once for each of their tasks
    return list(found.values())


def checks():
    """Names, values and `ids` of parameters: each learner as it comes, with every check of scikit-learn.

    With options, `make test` runs one check in four, in turn, and `make test-long` the rest.
    """
    every = parametrize_with_checks(instances(), expected_failed_checks=expected_failures, xfail_strict=True)
    names, values = every.args
    found, met = [], {}
    for turn, given in enumerate(values):
        given = given if hasattr(given, "marks") else pytest.param(*given)
        model, check = given.values
        kind = type(model), is_regressor(model)
        is_long = met.setdefault(kind, repr(model)) != repr(model) and turn % 4 != 0
        found.append(pytest.param(model, check, marks=[*given.marks, *[pytest.mark.long] * is_long]))
    return names, found, every.kwargs["ids"]


NAMES, CHECKS, IDS = checks()


@pytest.mark.parametrize(NAMES, CHECKS, ids=IDS)
def test_scikit_learn_is_content(estimator, check):
    check(estimator)


def test_adaboost_of_scikit_learn_would_fail_the_same_check():
    """So that `PURE` stays true: the same weights, the same data, the same predictions."""
    X, y = make_blobs(centers=2, random_state=0, cluster_std=20)
    X, new, y, _ = train_test_split(X, y, test_size=0.5, random_state=0)
    weight = {0: 1000, 1: 0.0001}
    theirs = AdaBoostClassifier().fit(X, y, sample_weight=[weight[label] for label in y])
    ours = AdaBoostBTClassifier(class_weight=weight, random_state=0).fit(X, y)
    np.testing.assert_array_equal(ours.predict(new), theirs.predict(new))
    assert np.mean(theirs.predict(new) == 0) == 0.82
