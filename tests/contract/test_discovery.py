"""The contract covers every learner there is, also one that was written a minute ago, and it has teeth."""

import re
from importlib import import_module
from inspect import isabstract, signature
from pkgutil import walk_packages

import pytest
from sklearn.base import BaseEstimator, OutlierMixin

import miserly
from miserly import learners
from miserly.learners import all_learners

from . import test_class_weight as class_weight
from . import test_contract as contract
from .cases import cases_of, every_case

# A learner as somebody might add it: the mean of y, moved by one column.
MODULE = """
import numpy as np

from miserly.learners.base import PlanRegressor, bind_costs
from miserly.plan import Node, Plan, Raw

__all__ = ["LineRegressor"]


class LineRegressor(PlanRegressor):
    def __init__(self, *, costs=None, budget=None):
        self.costs = costs
        self.budget = budget

    def fit(self, X, y, sample_weight=None):
        table = self.read_table(X, reset=True)
        costs = bind_costs(self.costs, table.names or self.n_features_in_)
        x, y = np.nan_to_num(table.values[:, 0]), np.asarray(y, dtype=float)
        weight = np.ones(len(y)) if sample_weight is None else sample_weight / np.mean(sample_weight)
        slope = {slope}
        bias = np.average(y - slope * x, weights=weight)
        price = costs.of([0]) + costs.evaluation
        nodes = [Node([0], [0], [slope], [bias])]
        if self.budget is not None and price > {budget}:
            nodes = []
        terms = [Raw(0, evaluation=costs.evaluation)] if nodes else []
        self.plan_ = Plan(costs=costs, terms=terms, nodes=nodes, base=[np.average(y, weights=weight)])
        return self
"""
SLOPE = "np.average(x * y, weights=weight) / np.average(x * x, weights=weight)"


@pytest.fixture
def add_learner(tmp_path, monkeypatch):
    """Puts a module with `LineRegressor` among the learners, and gives what discovery makes of it."""

    def add(name, slope=SLOPE, budget="self.budget"):
        (tmp_path / f"{name}.py").write_text(MODULE.format(slope=slope, budget=budget))
        monkeypatch.setattr(learners, "__path__", [*learners.__path__, str(tmp_path)])
        return next(learner for learner in all_learners() if learner.__name__ == "LineRegressor")

    return add


def public_estimators():
    """Every class with `fit` and `predict` that a public module defines under a public name."""
    for info in walk_packages(miserly.__path__, "miserly."):
        if any(part.startswith("_") for part in info.name.split(".")):
            continue
        for name, thing in vars(import_module(info.name)).items():
            if (
                isinstance(thing, type)
                and issubclass(thing, BaseEstimator)
                and hasattr(thing, "fit")
                and hasattr(thing, "predict")  # transformers answer nothing
                and thing.__module__.startswith("miserly")
                and not name.startswith("_")
                and not isabstract(thing)  # what several learners share
                and not issubclass(thing, OutlierMixin)  # which have no labels
            ):
                yield thing


def test_every_public_estimator_is_found():
    chooser = miserly.BudgetedEstimator  # has no plan of its own kind; tests/selection runs its checks
    # need columns of a call, which ordinary tables do not have; test_answer_learners runs their contract
    of_calls = {miserly.AnswerClassifier, miserly.AnswerRegressor}
    # have a plan before any fit; tests/learners/wrap/adopt compares them with the libraries
    adopted = {miserly.AdoptedClassifier, miserly.AdoptedRegressor, miserly.AdoptedRanker}
    assert set(public_estimators()) == {*all_learners(), chooser, *of_calls, *adopted}
    assert not of_calls & set(all_learners())


def test_every_learner_is_at_hand():
    for learner in all_learners():
        assert getattr(miserly, learner.__name__) is learner
        assert getattr(learners, learner.__name__) is learner and learner.__name__ in learners.__all__


def test_every_learner_has_cases_with_prices():
    cases = every_case()
    assert {case.learner for case in cases} == set(all_learners())
    assert len({str(case) for case in cases}) == len(cases)
    for learner in all_learners():
        mine = [case for case in cases if case.learner is learner]
        assert any("costs" in case.parameters for case in mine) and all("costs" in case.has for case in mine)


def test_every_learner_has_its_turn():
    """`make test` runs some tests on a part of the cases: that leaves out no learner."""
    for sample in (contract.a_third_of_them, class_weight.half_of_them):
        _, cases = sample.args
        now = {one.values[0].learner for one in cases if not one.marks}
        assert now == {one.values[0].learner for one in cases}


def test_cases_try_every_option_and_pressure():
    named = {str(case) for case in every_case()}
    assert {
        "GreedyMiserClassifier, two classes, loss=squared_hinge",
        "GreedyMiserClassifier, three classes, tradeoff",
        "GreedyMiserRegressor, numbers, budget",
        "GreedyMiserRanker, documents, loss=lambdarank",
        "EarlyExit, three classes, saving",
        "EarlyExit, documents, rule=proximity",
        "EarlyExit, documents, rule=rank",
        "EarlyExit, documents, rule=score",
        "EarlyExit, documents, rule=lossless",
        "EarlyExit, three classes, rule=lossless",
        "EarlyExit, documents, unit costs",  # rule=capacity
    } <= named


def test_a_learner_written_later_is_covered(add_learner, tmp_path):
    cases = cases_of(add_learner("lines"))
    assert [case.variant for case in cases] == ["unit costs", "prices", "budget"]
    for case in cases:
        contract.test_compiled_code_and_plain_numpy_agree(case, "path", "no budget")
        contract.test_stepping_agrees_with_the_batch_run(case, "path", "half")
        contract.test_what_was_not_acquired_cannot_change_an_answer(case, "path", "no budget")
        contract.test_training_keeps_its_budget(case, 0.05)
        contract.test_same_random_state_same_model_on_one_or_two_threads(case, 1, tmp_path)
        contract.test_weights_three_times_as_large_give_the_same_model(case)


def test_a_learner_that_overspends_is_caught(add_learner):
    *_, case = cases_of(add_learner("spenders", budget="np.inf"))
    with pytest.raises(AssertionError):
        contract.test_training_keeps_its_budget(case, 0.05)


def test_a_learner_that_depends_on_the_scale_of_weights_is_caught(add_learner):
    slope = "(0.0 if sample_weight is None else np.sum(sample_weight))"
    case, *_ = cases_of(add_learner("scales", slope=slope))
    with pytest.raises(AssertionError):
        contract.test_weights_three_times_as_large_give_the_same_model(case)


def test_a_learner_that_is_never_the_same_is_caught(add_learner, tmp_path):
    case, *_ = cases_of(add_learner("dice", slope="np.random.default_rng().normal()"))
    with pytest.raises(AssertionError):
        contract.test_same_random_state_same_model_on_one_or_two_threads(case, 1, tmp_path)


@pytest.mark.parametrize("learner", all_learners(), ids=lambda learner: learner.__name__)
def test_every_tradeoff_says_what_unit_it_is_in(learner):
    """A tradeoff is a price in some loss; "as for another learner" does not say which."""
    if "tradeoff" not in signature(learner).parameters:
        return
    entry = re.search(r"^    tradeoff : .*\n((?:        .*\n)+)", learner.__doc__, re.MULTILINE)
    assert entry is not None and re.search("loss|squared error", entry.group(1))
