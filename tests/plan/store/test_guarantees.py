"""A guarantee belongs to one plan: plans derived from it have none."""

from __future__ import annotations

import numpy as np
import pytest

from miserly import Costs, EarlyExit, GreedyMiserClassifier, Handover, load
from miserly.plan.compose import hand_over
from miserly.plan.store.format import dumps
from miserly.selection import frontier
from miserly.selection.certification import with_guarantees
from miserly.selection.evaluation import repriced
from miserly.selection.guarantee import Guarantee
from miserly.selection.hyperparameters import viewed

from ..mutations import arrays_of, repacked

X = np.random.default_rng(0).normal(size=(120, 3))
Y = (X @ [1.0, 2.0, 4.0] > 0).astype(int)
COSTS = Costs([1.0, 5.0, 20.0])
WORDS = ["a row costs 9 or less on average"]


def fitted(**changes):
    return GreedyMiserClassifier(**{"n_rounds": 6, "max_depth": 2, "costs": COSTS, **changes}).fit(X, Y)


@pytest.fixture(scope="module")
def plan():
    return fitted().plan_.with_guarantees(WORDS)


DERIVED = {
    "prefix": lambda plan: plan.prefix(2),
    "costs": lambda plan: plan.replace(costs=Costs([2.0, 5.0, 20.0])),
    "unit": lambda plan: plan.replace(costs=Costs([1.0, 5.0, 20.0], unit="CAD")),
    "reprice": lambda plan: repriced(plan, Costs([1.0, 6.0, 20.0])),
    "budget": lambda plan: plan.replace(budget=6.0),
    "base": lambda plan: plan.replace(base=plan.base + 1e-9),
    "classes": lambda plan: plan.replace(classes=["no", "yes"]),
    "first of two": lambda plan: hand_over(plan, fitted(max_depth=3).plan_, 0.8),
    "second of two": lambda plan: hand_over(fitted(budget=1.0).plan_, plan, 0.8),
    "another with its notes": lambda plan: fitted(max_depth=3).plan_.replace(info=plan.info),
}


@pytest.mark.parametrize("way", DERIVED)
def test_derived_plans_have_no_guarantee(plan, way):
    other = DERIVED[way](plan)
    assert other.digest != plan.digest
    assert other.guarantees == () and not {"guarantees", "guarantees_of"} & set(other.info)


def test_notes_do_not_end_a_guarantee(plan):
    assert plan.guarantees == tuple(WORDS)
    assert plan.replace(info={**plan.info, "target": "sick"}).guarantees == tuple(WORDS)


def test_a_file_keeps_a_guarantee_until_its_plan_is_changed(plan, tmp_path):
    plan.save(tmp_path / "a.miser")
    again = load(tmp_path / "a.miser")
    assert again.guarantees == tuple(WORDS) and again.info["guarantees_of"] == plan.digest == again.digest
    again.replace(budget=3.0).save(tmp_path / "b.miser")
    assert load(tmp_path / "b.miser").guarantees == ()


def test_files_of_earlier_versions_keep_their_guarantees(plan):
    """They say "promises", and hold for the same digest."""
    earlier = {"promises": WORDS, "promises_of": plan.digest, "target": "sick"}
    header, arrays = arrays_of(dumps(fitted().plan_))
    data = repacked({**header, "info": earlier}, arrays)
    assert b'"promises":' in data and b'"guarantees":' not in data
    assert load(data).guarantees == tuple(WORDS) and load(data).info["target"] == "sick"
    other = repacked({**header, "info": {**earlier, "promises_of": "another"}}, arrays)
    assert load(other).guarantees == () and load(other).info == {"target": "sick"}


@pytest.fixture(scope="module")
def guaranteed():
    """A model with a guarantee of `best`."""
    found = frontier([GreedyMiserClassifier(n_rounds=6, max_depth=2)], X, Y, costs=COSTS, cv=3, max_fits=5,
                     certify=0, random_state=0)  # fmt: skip
    model = found.best(budget=26.0)
    assert model.guarantee_ and model.plan_.guarantees
    return model


def test_models_made_of_a_model_have_no_guarantee(guaranteed):
    free = GreedyMiserClassifier(n_rounds=6, max_depth=2, costs=COSTS).fit(X, Y)
    with_guarantees(free, [Guarantee(WORDS[0], "mean cost", 9.0)])  # as `best` does
    assert free.guarantee_
    made = [
        EarlyExit(free, prefit=True, threshold=0.6, every=1).fit(X, Y),
        Handover.of(free, fitted(max_depth=3), threshold=0.9),
        viewed(guaranteed, {"rounds": 2}),
        viewed(free, {"rounds": 2}),
    ]
    for model in made:
        assert model.guarantee_ == () == model.plan_.guarantees, type(model).__name__


def test_other_parameters_end_a_guarantee(guaranteed):
    from copy import copy

    model = copy(guaranteed).set_params(max_depth=1).fit(X, Y)
    assert model.guarantee_ == () == model.plan_.guarantees and guaranteed.guarantee_
