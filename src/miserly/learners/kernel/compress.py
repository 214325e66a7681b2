"""`compress`: from a trained kernel machine to a small one."""

from __future__ import annotations

from typing import Any

from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from miserly.data.target import check_weight
from miserly.errors import DataError
from miserly.learners.base import bind_costs
from miserly.learners.common.progress import Steps, outcome
from miserly.learners.kernel.compressed_base import CompressedMachine
from miserly.learners.kernel.compressed_one_class import CompressedOneClassSVM
from miserly.learners.kernel.compressed_svc import CompressedSVC, CompressedSVR
from miserly.learners.kernel.svm_models import Affine, filled, scaled_machine
from miserly.solvers.kernel_machine import KernelMachine

__all__ = ["compress"]


COMPRESSED = {"classifier": CompressedSVC, "regressor": CompressedSVR, "one-class": CompressedOneClassSVM}


def compress(
    model: Any,
    *,
    n_vectors: int | None = None,
    ratio: float | None = None,
    budget: float | None = None,
    X: Any = None,
    sample_weight: ArrayLike | None = None,
    **options: Any,
) -> Any:
    """Compress a trained kernel machine to few vectors.

    Parameters
    ----------
    model : SVC, NuSVC, SVR, NuSVR, OneClassSVM, Pipeline or KernelMachine
        A fitted model, a fitted pipeline that ends with one, or a machine that was read from a LibSVM file.
    n_vectors : int, optional
        Number of vectors of the compressed machine. It excludes `ratio`.
    ratio : float, optional
        Number of vectors as a share of the support vectors. Without `n_vectors`, `ratio` and `budget` it is
        0.1.
    budget : float, optional
        Cap on the cost of a prediction: all features, and as many kernel evaluations as the rest pays for.
    X : array-like or frame of shape (n, n_features), optional
        Rows on which the decisions are compared, such as the rows that the model was trained on. Labels are
        not needed. Without them, support vectors and points near them are used, and the result is worse.
    sample_weight : array-like of shape (n,), optional
        Weight of each row of `X`.
    **options : dict
        Other parameters of `CompressedSVC`: `costs`, `start`, `move`, `loss` (classifiers only), `max_iter`,
        `max_rows`, `random_state` and `verbose`.

    Returns
    -------
    CompressedSVC, CompressedSVR, CompressedOneClassSVM or Pipeline
        The compressed model. If the steps in front of the machine are scalers only, the model includes them
        and reads features that are not scaled. Other steps stay in front of it, in a pipeline.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from sklearn.svm import SVC
    >>> from miserly import compress
    >>> X = np.random.default_rng(0).normal(size=(600, 2)) * [1.0, 100.0]
    >>> y = X[:, 0] ** 2 + (X[:, 1] / 100.0) ** 2 > 1.4
    >>> model = make_pipeline(StandardScaler(), SVC()).fit(X, y)
    >>> small = compress(model, n_vectors=6, X=X, random_state=0)
    >>> small.n_vectors_before_, small.n_vectors_, small.cost_
    (137, 6, 2.0)
    >>> round(model.score(X, y), 2), round(small.score(X, y), 2)
    (0.98, 0.98)
    """
    sizes = {"n_vectors": n_vectors, "ratio": ratio, "budget": budget, **options}
    if not isinstance(model, Pipeline):
        return _compress_one(*scaled_machine(model), model, sizes, X, sample_weight)
    try:
        machine, scaler = scaled_machine(model)
    except DataError:
        rows = None if X is None else model[:-1].transform(X)
        small = _compress_one(*scaled_machine(model[-1]), model[-1], sizes, rows, sample_weight)
        return Pipeline([*model.steps[:-1], (model.steps[-1][0], small)])
    return _compress_one(machine, scaler, model, sizes, X, sample_weight)


def _compress_one(
    machine: KernelMachine, scaler: Affine, model: Any, sizes: dict[str, Any], X: Any, sample_weight: Any
) -> CompressedMachine:
    """The compressed estimator. A later `fit` trains a clone of `model`."""
    fresh = None if isinstance(model, KernelMachine) else clone(model)
    small = COMPRESSED[machine.kind](fresh, **sizes)
    small._validate_params()
    names = getattr(model, "feature_names_in_", None)
    small.n_features_in_, small.categories_ = machine.n_features, {}
    if names is not None:
        small.feature_names_in_ = names
    if isinstance(small, CompressedSVC):
        assert machine.classes is not None
        small.classes_ = machine.classes
    costs = bind_costs(small.costs, machine.n_features if names is None else list(names))
    with Steps(small, bool(small.verbose)) as step:
        rows = None if X is None else small.read_table(X, reset=False).values
        weight = None if rows is None else check_weight(sample_weight, rows)
        known = machine.vectors / scaler.scale + scaler.center if rows is None else rows
        fill, known = filled(known)
        rows = None if rows is None else known
        small._compress(machine, scaler, costs, fill, rows, weight, step)
        step(outcome(small))
    return small
