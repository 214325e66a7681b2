"""One float gives the same bits as an array: single rows and batches agree exactly."""

import numpy as np

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
