"""One factor that makes probabilities of scores."""

import numpy as np
import pytest

from miserly.learners.common.training import LEAST, MOST, steepness_of


@pytest.mark.parametrize("n_scores", [1, 4])
def test_the_factor_that_made_the_classes_is_found(n_scores):
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(20_000, n_scores))
    whole = np.column_stack([np.zeros(len(scores)), scores]) if n_scores == 1 else scores
    codes = (3.0 * whole + rng.gumbel(size=whole.shape)).argmax(axis=1)  # a draw from the softmax
    assert steepness_of(scores, codes, None) == pytest.approx(3.0, rel=0.05)


def test_weights_count():
    scores = np.array([[1.0], [1.0]])
    sure, unsure = (steepness_of(scores, np.array([1, 0]), np.array(w)) for w in ([9.0, 1.0], [6.0, 4.0]))
    assert sure == pytest.approx(np.log(9.0), rel=1e-3) and unsure == pytest.approx(np.log(1.5), rel=1e-3)


def test_it_stays_within_bounds_where_no_factor_is_best():
    scores = np.array([[-1.0], [1.0]])
    assert steepness_of(scores, np.array([0, 1]), None) == pytest.approx(MOST, rel=0.01)
    assert steepness_of(scores, np.array([1, 0]), None) == pytest.approx(LEAST, rel=0.01)
