"""Links in float32: the roundings of XGBoost, labels after rounding, and exits that know of them."""

import numpy as np
import pytest

from miserly import Costs, Plan, load
from miserly.plan import LEAVE, Node, Raw, Settled, links
from miserly.plan.terms import Tree

STUMP = Tree([0, -1, -1], [0.5, 0.0, 0.0], [1, 0, 0], [2, 0, 0], [True, False, False], [0.0, -1.0, 1.0])
SINGLE = [name for name in links.LINKS if links.in_double(name) != name]


def exact(name, scores):
    """The steps in float32, with the exponentials of a wider type."""
    s = scores.astype(np.float32)
    if name in ("exp_single", "share_single"):
        power = np.exp(
            (s if name == "exp_single" else np.minimum(-s, np.float32(88.7))).astype(np.longdouble)
        )
        power = power.astype(np.float32)
        return power if name == "exp_single" else np.float32(1.0) / (power + np.float32(1.0))
    if name == "logistic_single":
        positive = exact("share_single", scores[:, 0])
        return np.column_stack([np.float32(1.0) - positive, positive])
    parts = np.exp((s - s.max(axis=1, keepdims=True)).astype(np.longdouble)).astype(np.float32)
    return parts / parts.astype(np.float64).sum(axis=1, keepdims=True).astype(np.float32)


@pytest.mark.parametrize("name", SINGLE)
def test_answers_are_those_of_float32_steps(name):
    width = {"softmax_single": 4}.get(name, 1)
    scores = np.random.default_rng(0).normal(size=(5000, width)) * np.geomspace(1e-6, 40.0, 5000)[:, None]
    link = links.LINKS[name]
    found = link.numbers(scores) if links.gives_numbers(name) else link.probabilities(scores)
    np.testing.assert_allclose(found, exact(name, scores).reshape(found.shape), rtol=2e-7, atol=1e-44)


def test_small_shares_end_where_float32_does():
    assert links.probabilities("logistic_single", np.array([[-200.0]]))[0, 1] == pytest.approx(3.006636e-39)
    assert links.probabilities("logistic_single", np.array([[30.0]]))[0].tolist() == [0.0, 1.0]


def test_scores_that_give_one_half_are_the_first_class():
    # exp(-5e-8) is 1 - 2**-24 in float32, and 2 - 2**-24 is rounded to 2: the probability is exactly 1/2.
    scores = np.array([[-1.0], [0.0], [5e-8], [2e-7], [1.0]])
    assert links.labels("logistic_single", scores, None).tolist() == [0, 0, 0, 1, 1]
    assert links.labels("logistic", scores, None).tolist() == [0, 0, 1, 1, 1]


def test_classes_with_equal_probabilities_are_the_first_of_them():
    scores = np.array([[0.0, 1e-8, -1.0], [0.0, 1e-6, -1.0]])
    assert links.labels("softmax_single", scores, None).tolist() == [0, 1]
    assert links.labels("softmax", scores, None).tolist() == [1, 1]


@pytest.mark.parametrize("scores", [[5e-8], [0.0, 5e-8, -9.0]])
def test_rows_do_not_leave_while_rounding_can_change_their_class(scores):
    """The last node moves a score by 1e-7: with a link in float64 the class is settled before it."""
    s = len(scores)
    last = np.zeros(s)
    last[-1 if s == 1 else 1] = 1e-7
    for name, leaves in (("logistic", True), ("logistic_single", False)):
        name = name if s == 1 else name.replace("logistic", "softmax")
        nodes = [Node([], [], [], np.zeros(s), gate=Settled(), up=1, low=LEAVE), Node([], [], [], last)]
        plan = Plan(costs=Costs([1.0]), terms=[Raw(0)], nodes=nodes, base=scores, link=name)
        for compiled in (False, True):
            assert (plan.run([[0.0]], compiled=compiled).exit[0] == 0) == leaves
        assert plan.predict([[0.0]])[0] == links.labels(name, np.atleast_2d(scores + last), None)[0]
        assert plan.start().answer().value == plan.predict([[0.0]])[0]


def test_words_and_files_know_them(tmp_path):
    node = Node([0], [0], [1.0], [0.0])
    plan = Plan(
        costs=Costs([1.0]),
        terms=[Raw(0)],
        nodes=[node],
        base=[0.0],
        link="logistic_single",
        classes=["a", "b"],
    )
    plan.save(tmp_path / "plan.miser")
    assert load(tmp_path / "plan.miser").link == "logistic_single"
    assert 'The answer is "b" if the score is above 0, else "a".' in plan.describe()
    assert "objective=binary sigmoid:1" in plan.replace(terms=[STUMP]).to_lightgbm()
