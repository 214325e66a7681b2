"""Derivatives of losses in compiled code, for rounds of boosting that call no Python in between.

A loss names its kernel by a number, `kernel`; one without a kernel computes its derivatives in NumPy once per
round. The softmax has none: NumPy computes exponentials several at a time, which is ten times as fast.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from miserly.grow.compiled import compiled, prange, threaded

__all__ = ["LOGISTIC", "NO_KERNEL", "SQUARED", "SQUARED_HINGE", "derive", "kernel_of"]

NO_KERNEL, LOGISTIC, SQUARED, SQUARED_HINGE = range(4)
_CHUNK = 16384  # rows handled at a time by one thread


def kernel_of(loss: Any) -> int:
    """The number of a loss's kernel. A subclass has none unless it names one itself.

    >>> from miserly.losses import Logistic
    >>> class Other(Logistic):
    ...     pass
    >>> kernel_of(Logistic()) == LOGISTIC, kernel_of(Other()) == NO_KERNEL
    (True, True)
    """
    return int(vars(type(loss)).get("kernel", NO_KERNEL))


@threaded
def derive(kernel, y, scores, weight, gradient, hessian):  # type: ignore[no-untyped-def]
    """Write the derivatives of each row by its score, times its weight. Without weights `weight` is empty.

    The hessian of the squared loss is its weight and stays as it is.
    """
    n = len(y)
    for chunk in prange(-(-n // _CHUNK)):
        first, last = chunk * _CHUNK, min(n, (chunk + 1) * _CHUNK)
        if kernel == LOGISTIC:
            derive_logistic(y, scores, gradient, hessian, first, last)
        elif kernel == SQUARED_HINGE:
            derive_hinge(y, scores, gradient, hessian, first, last)
        else:
            derive_squared(y, scores, gradient, first, last)
        if len(weight) > 0:
            for i in range(first, last):
                gradient[i] *= weight[i]
            if kernel != SQUARED:
                for i in range(first, last):
                    hessian[i] *= weight[i]


@compiled
def derive_logistic(y, scores, gradient, hessian, first, last):  # type: ignore[no-untyped-def]
    """The derivatives of `Logistic`."""
    for i in range(first, last):
        positive = 1.0 / (1.0 + np.exp(-scores[i]))
        gradient[i] = positive - y[i]
        hessian[i] = positive * (1.0 - positive)


@compiled
def derive_hinge(y, scores, gradient, hessian, first, last):  # type: ignore[no-untyped-def]
    """The derivatives of `SquaredHinge`."""
    for i in range(first, last):
        side = 2.0 * y[i] - 1.0
        inside = max(0.0, 1.0 - side * scores[i])
        gradient[i] = -side * inside
        hessian[i] = 1.0 if inside > 0.0 else 0.0


@compiled
def derive_squared(y, scores, gradient, first, last):  # type: ignore[no-untyped-def]
    """The gradient of `Squared`."""
    for i in range(first, last):
        gradient[i] = scores[i] - y[i]
