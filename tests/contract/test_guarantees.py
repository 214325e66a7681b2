"""A guarantee belongs to one plan: it is gone once a learner is fitted again, whichever learner it is."""

from __future__ import annotations

import pickle
from copy import copy

import pytest

from miserly.plan.store.format import dumps, loads
from miserly.selection.certification import with_guarantees
from miserly.selection.guarantee import Guarantee

from .cases import every_case

ONE_OF_EACH = list({case.learner: case for case in reversed(every_case())}.values())


@pytest.mark.parametrize("case", ONE_OF_EACH, ids=str)
def test_a_guarantee_is_gone_once_the_model_is_fitted_again(case):
    model = with_guarantees(copy(case.fitted), [Guarantee("no row costs more than 9", "each row", 9.0)])
    (certificate,) = model.guarantee_
    assert certificate.plan == model.plan_.digest and model.plan_.guarantees == ("no row costs more than 9",)
    assert [str(one) for one in pickle.loads(pickle.dumps(model)).guarantee_] == [str(certificate)]
    case.fit(model.set_params(**model.get_params(deep=False)))
    assert model.guarantee_ == () == model.plan_.guarantees and "guarantees" not in model.plan_.info


@pytest.mark.parametrize("case", ONE_OF_EACH, ids=str)
def test_a_digest_is_that_of_the_content(case):
    """The same after a file; without its last node a plan is another one."""
    plan = case.fitted.plan_
    assert loads(dumps(plan)).digest == plan.digest == plan.replace(info={}).digest
    assert plan.prefix(len(plan.nodes) - 1).digest != plan.digest
