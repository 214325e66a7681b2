"""One float gives the same bits as an array: single rows and batches agree exactly."""

import numpy as np
import pytest

from miserly.plan import links


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
