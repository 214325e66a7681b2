"""What long fits show: nothing by default, and what they are at if they are asked to."""

from __future__ import annotations

import numpy as np
import pytest

from miserly.learners import all_learners

from ...contract.cases import SMALL, give, make, takes

TALKATIVE = [learner for learner in all_learners() if "verbose" in make(learner, "two classes").get_params()]


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    return X, X[:, 0] + 0.5 * X[:, 1]


@pytest.mark.parametrize("learner", TALKATIVE, ids=lambda learner: learner.__name__)
def test_verbose_says_what_was_done_and_silence_is_the_default(learner, rows, capsys):
    model = give(make(learner, "two classes"), {**SMALL, "budget": 2.0})
    X, y = rows
    given = {}
    if takes(model, "two classes"):
        y = (y > 0).astype(int)
    elif takes(model, "documents"):
        y, given = (y > 0).astype(int), {"qid": np.arange(300) // 10}
    model.fit(X, y, **given)
    assert capsys.readouterr() == ("", "")
    model.set_params(verbose=1).fit(X, y, **given)
    shown = capsys.readouterr().err
    assert "cost" in shown and (type(model).__name__ in shown or "8/8" in shown), shown


def test_a_fit_that_fails_leaves_the_terminal_alone(rows, capsys):
    learner = next(learner for learner in TALKATIVE if learner.__name__ == "CSTCRegressor")
    with pytest.raises(ValueError):
        learner(verbose=1).fit(rows[0], np.full(300, np.nan))
    assert "\u2713" not in capsys.readouterr().err


def test_there_are_learners_that_talk():
    assert len(TALKATIVE) >= 10
