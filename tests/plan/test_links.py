"""One float gives the same bits as an array: single rows and batches agree exactly."""

import numpy as np
import pytest

from miserly import Costs, PlanError
from miserly.plan import Confidence, Node, Plan, Raw, links


def test_the_exponential_of_a_float_has_the_bits_of_the_array():
    rng = np.random.default_rng(0)
    x = np.concatenate([scale * rng.normal(size=2000) for scale in (1e-300, 1e-9, 1.0, 30.0, 300.0, 1000.0)])
    x = np.concatenate([x, [0.0, -0.0, np.inf, -np.inf, 700.0, -700.0, 0.5, 1.5, 2.5]])
    assert [links.exp_of_float(one) for one in x.tolist()] == links.exp(x).tolist()
    assert np.isnan(links.exp_of_float(np.nan))


def test_probabilities_of_one_row_are_those_of_many():
    scores = np.random.default_rng(1).normal(size=(500, 1)) * 20.0
    rows = np.concatenate([links.probabilities("logistic", scores[i : i + 1]) for i in range(500)])
    assert (rows == links.probabilities("logistic", scores)).all()


@pytest.mark.parametrize(
    ("link", "expected"),
    [
        ("exp", [np.exp(-1.5), 1.0, np.exp(2.0)]),
        ("share", [1 / (1 + np.exp(1.5)), 0.5, 1 / (1 + np.exp(-2.0))]),
        ("softplus", [np.log1p(np.exp(-1.5)), np.log(2.0), np.log1p(np.exp(2.0))]),
        ("signed_square", [-2.25, 0.0, 4.0]),
    ],
)
def test_links_of_numbers(link, expected):
    scores = np.array([[-1.5], [0.0], [2.0]])
    assert links.gives_numbers(link) and not links.has_probabilities(link)
    np.testing.assert_allclose(links.labels(link, scores, None), expected, rtol=1e-15)
    np.testing.assert_allclose(
        links.labels(link, np.hstack([scores, scores]), None)[:, 1], expected, rtol=1e-15
    )


def test_one_versus_rest_has_a_probability_for_each_class_that_no_gate_may_use():
    scores = np.array([[0.0, 1.0, -1.0]])
    np.testing.assert_allclose(
        links.probabilities("one_vs_rest", scores), 1 / (1 + np.exp(-scores)), rtol=1e-15
    )
    assert links.labels("one_vs_rest", scores, None).tolist() == [1]
    assert not links.has_confidence("one_vs_rest")


def test_shares_of_scores_and_of_one_versus_rest_sum_to_one():
    scores = np.array([[1.0, 2.0, 1.0], [0.0, 0.0, 0.0]])
    found = links.probabilities("proportions", scores)
    assert found.tolist() == [[0.25, 0.5, 0.25], [1 / 3, 1 / 3, 1 / 3]]
    assert links.confidence("proportions", scores).tolist() == [0.5, 1 / 3]
    assert links.labels("proportions", scores, None).tolist() == [1, 0]
    each = 1 / (1 + np.exp(-scores))
    np.testing.assert_allclose(
        links.probabilities("one_vs_rest_shares", scores), each / each.sum(axis=1)[:, None], rtol=1e-15
    )


def test_an_average_is_a_sum_divided_by_the_number_of_its_parts():
    scores = np.array([[6.0, 4.0], [0.0, 0.0]])
    assert links.labels("average", scores, None).tolist() == [1.5, 0.0]
    with pytest.raises(PlanError, match="'average' answers from two scores, not 1"):
        Plan(costs=Costs([1.0]), terms=[], nodes=[], base=[0.0], link="average")


def test_the_largest_score_has_no_probabilities():
    assert links.labels("largest", np.array([[1.0, 3.0, 2.0]]), None).tolist() == [1]
    assert not links.has_probabilities("largest") and not links.has_confidence("largest")


def test_rows_leave_by_their_share_in_both_engines_and_step_by_step():
    """The first node gives shares (x, 2) / (x + 2); rows whose larger share is at least 0.75 leave."""
    terms = [Raw(0), Raw(1)]
    nodes = [
        Node([0], [0], [1.0], [0.0, 2.0], up=1, gate=Confidence(0.75)),
        Node([1], [1], [1.0], [0.0, 0.0]),
    ]
    plan = Plan(costs=Costs([1.0, 5.0]), terms=terms, nodes=nodes, base=[0.0, 0.0], link="proportions")
    X = np.column_stack([[0.0, 0.5, 2.0, 5.9, 6.0, 7.0], np.ones(6)])
    costs = [1.0, 1.0, 6.0, 6.0, 1.0, 1.0]
    for compiled in (True, False):
        assert plan.run(X, compiled=compiled).cost.tolist() == costs
    for x, cost in zip(X, costs, strict=True):
        trail = plan.start()
        while not trail.done:
            trail.tell({f: x[f] for f in trail.next()})
        assert trail.cost == cost
