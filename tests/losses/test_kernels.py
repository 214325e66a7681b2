"""Compiled derivatives agree with their twins in NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from miserly.losses import Logistic, Multinomial, Squared, SquaredHinge
from miserly.losses.kernels import NO_KERNEL, derive, kernel_of


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("loss", [Logistic(), SquaredHinge(), Squared()], ids=lambda one: type(one).__name__)
def test_a_kernel_agrees_with_its_loss(loss, weighted):
    rng = np.random.default_rng(0)
    score = np.concatenate([rng.normal(size=20_000) * 3, [-800.0, 800.0, 0.0, 1.0, -1.0]])
    y = rng.integers(0, 2, len(score)).astype(float)
    weight = rng.uniform(0.5, 2.0, len(y)) if weighted else None
    gradient, hessian = np.full((2, len(y)), np.nan)
    if loss.least_squares:
        hessian[:] = 1.0 if weight is None else weight  # it is constant, and the caller's
    derive(kernel_of(loss), y, score, np.empty(0) if weight is None else weight, gradient, hessian)
    expected = loss.gradient_hessian(y, score[:, None], weight)
    np.testing.assert_allclose(gradient, expected[0][:, 0], rtol=1e-14, atol=1e-16)
    np.testing.assert_allclose(hessian, expected[1][:, 0], rtol=1e-14, atol=1e-16)


def test_a_subclass_that_may_change_the_gradient_has_no_kernel():
    class Steeper(Logistic):
        def gradient(self, y, score):
            return 2.0 * super().gradient(y, score)

    assert kernel_of(Steeper()) == kernel_of(Multinomial(3)) == NO_KERNEL
