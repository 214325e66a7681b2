"""Plans whose scores decide between pairs of classes: answers by votes."""

import numpy as np
import pytest

from miserly import Costs, Plan, load
from miserly.errors import PlanError
from miserly.plan import Node, Raw

# The scores 01, 02, 12 are three features as they are.
ROWS = np.array([[1.0, 1.0, 1.0], [-1.0, -1.0, 1.0], [-1.0, -1.0, -1.0], [1.0, -1.0, 1.0]])


def voting(**changes):
    parts = {
        "costs": Costs([1.0, 1.0, 1.0]),
        "terms": [Raw(0), Raw(1), Raw(2)],
        "nodes": [Node([0, 1, 2], [0, 1, 2], np.ones(3), np.zeros(3), inherits=False)],
        "base": [0.0, -1.0, -1.0],
        "link": "votes",
        "classes": ["cat", "dog", "owl"],
    }
    return Plan(**{**parts, **changes})


def test_who_wins_most_pairs_is_the_answer_and_the_first_of_several():
    """Last row: cat beats dog, owl beats cat, dog beats owl."""
    assert voting().predict(ROWS).tolist() == ["cat", "dog", "owl", "cat"]
    assert voting().predict(ROWS, budget=0.0).tolist() == ["owl"] * 4  # from the base: owl beats both


def test_stepping_and_files_agree(tmp_path):
    plan = voting()
    for row, wanted in zip(ROWS, plan.predict(ROWS), strict=True):
        trail = plan.start()
        while need := trail.next():
            trail.tell({name: row[plan.costs.index(name)] for name in need})
        assert trail.answer().value == wanted and trail.answer().probabilities is None
    plan.save(tmp_path / "v.miser")
    assert load(tmp_path / "v.miser").predict(ROWS).tolist() == plan.predict(ROWS).tolist()


def test_words_tell_of_pairs():
    words = " ".join(voting().describe().split())
    assert "Each score decides between two classes" in words and '"cat", "dog" or "owl"' in words


def test_there_must_be_a_score_for_every_pair():
    with pytest.raises(PlanError, match="pair"):
        voting(base=[0.0, 0.0], nodes=[], terms=[], classes=None)
    with pytest.raises(PlanError, match="3 classes"):
        voting(classes=["cat", "dog"])


def test_votes_are_no_probabilities():
    with pytest.raises(PlanError, match="votes"):
        voting().predict_proba(ROWS)
