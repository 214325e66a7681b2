"""Kernel machines read from fitted support vector machines of scikit-learn."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import Pipeline
from sklearn.svm import SVC, SVR, NuSVC, NuSVR, OneClassSVM
from sklearn.utils.validation import check_is_fitted

from miserly.errors import DataError
from miserly.solvers.kernel_machine import KERNELS, KernelFunction, KernelMachine, pairs_of

__all__ = ["KINDS", "is_fitted", "machine_of", "pairwise_coefficients"]

Floats: TypeAlias = NDArray[np.float64]

KINDS = {
    SVC: "classifier",
    NuSVC: "classifier",
    SVR: "regressor",
    NuSVR: "regressor",
    OneClassSVM: "one-class",
}


def is_fitted(model: Any) -> bool:
    """Whether a model, or the last step of a pipeline, has been fitted."""
    try:
        check_is_fitted(model[-1] if isinstance(model, Pipeline) else model)
    except NotFittedError:
        return False
    return True


def machine_of(model: Any) -> KernelMachine:
    """Convert a fitted `SVC`, `NuSVC`, `SVR`, `NuSVR` or `OneClassSVM` into a kernel machine.

    >>> svc = SVC(kernel="linear").fit([[0.0], [1.0], [2.0]], [0, 0, 1])
    >>> machine_of(svc).labels(np.array([[0.2], [1.9]])).tolist()
    [0, 1]
    """
    kind = next((kind for type_, kind in KINDS.items() if isinstance(model, type_)), None)
    if kind is None:
        names = ", ".join(type_.__name__ for type_ in KINDS)
        raise DataError(f"model must be one of {names}, got {type(model).__name__}")
    if not is_fitted(model):
        raise DataError(f"this {type(model).__name__} is not fitted yet: fit it first, or use CompressedSVC")
    if model.kernel not in KERNELS:
        raise DataError(f"the kernel must be one of {', '.join(KERNELS)}, got {model.kernel!r}")
    kernel = KernelFunction(model.kernel, float(model._gamma), int(model.degree), float(model.coef0))
    vectors, coef = _dense(model.support_vectors_), _dense(model.dual_coef_)
    intercept = np.array(model.intercept_, dtype=np.float64)
    classes = getattr(model, "classes_", None) if kind == "classifier" else None
    if classes is not None:
        if len(classes) == 2:
            coef, intercept = -coef, -intercept  # scikit-learn's is positive for the second class
        else:
            owner = np.repeat(np.arange(len(classes)), model.n_support_)
            coef = pairwise_coefficients(coef.T, owner, len(classes))
    return KernelMachine(kernel, vectors, coef, intercept, kind, classes)


def _dense(values: Any) -> Floats:
    return np.asarray(values.toarray() if issparse(values) else values, dtype=np.float64)


def pairwise_coefficients(weights: Floats, owner: NDArray[np.int64], n_classes: int) -> Floats:
    """Coefficients (n_pairs, m) of each pair of classes, from LibSVM's `weights` (m, n_classes - 1).

    `owner` is the class that each vector belongs to.
    """
    coef = np.zeros((n_classes * (n_classes - 1) // 2, len(weights)))
    for k, (i, j) in enumerate(pairs_of(n_classes)):
        coef[k, owner == i] = weights[owner == i, j - 1]
        coef[k, owner == j] = weights[owner == j, i]
    return coef
