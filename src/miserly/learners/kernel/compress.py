"""`compress`: a trained kernel machine in, a small one out; and outlier detectors, which have no labels."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import OutlierMixin, _fit_context, clone
from sklearn.pipeline import Pipeline
from sklearn.svm import OneClassSVM
from sklearn.utils.validation import check_is_fitted

from miserly.data.target import check_weight
from miserly.errors import DataError
from miserly.learners.base import bind_costs
from miserly.learners.common.labels import refuse_text
from miserly.learners.common.progress import Steps, outcome
from miserly.learners.kernel.compressed_base import CompressedMachine
from miserly.learners.kernel.compressed_svc import CompressedSVC, CompressedSVR
from miserly.learners.kernel.svm_models import Affine, scaled_machine
from miserly.solvers.columns import means_and_deviations
from miserly.solvers.kernel_machine import KernelMachine

__all__ = ["CompressedOneClassSVM", "compress"]

Floats = NDArray[np.float64]


class CompressedOneClassSVM(OutlierMixin, CompressedMachine):
    """An outlier detector with few vectors, made from a full `OneClassSVM`.

    Parameters
    ----------
    estimator : OneClassSVM, or a pipeline that ends with one, default=OneClassSVM()
    n_vectors, ratio, budget, costs, start, move, max_iter, max_rows, random_state, verbose :
        As for `CompressedSVC`; moving lowers the squared difference of the decisions.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.svm import OneClassSVM
    >>> from miserly import CompressedOneClassSVM
    >>> X = np.random.default_rng(0).normal(size=(400, 2))
    >>> small = CompressedOneClassSVM(OneClassSVM(nu=0.1), n_vectors=8, random_state=0).fit(X)
    >>> small.predict([[0.5, 0.5], [5.0, 5.0]]).tolist()
    [1, -1]
    """

    kind = "one-class"
    default = OneClassSVM

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> CompressedOneClassSVM:
        """Train the estimator unless it is fitted, and compress it; `y` is not used."""
        with Steps(self, bool(self.verbose)) as step:
            table = self._read(X, reset=True)
            refuse_text(table)
            costs = bind_costs(self.costs, self.n_features_in_ if table.names is None else table.names)
            values, weight = table.values, check_weight(sample_weight, table.values)
            if weight is not None:
                values, weight = values[weight > 0], weight[weight > 0]
            fill, rows = _filled(values)
            step(f"training on {len(rows)} rows")
            machine, scaler = self._trained(rows, None, weight)
            self._compress(machine, scaler, costs, fill, rows, weight, step)
            step(outcome(self))
        return self

    def predict(
        self, X: Any, budget: float | None = None, qid: ArrayLike | None = None, *, unknown: str = "error"
    ) -> NDArray[Any]:
        """1 for inliers, -1 for outliers."""
        return self._answers(X, budget, unknown)

    def decision_function(self, X: Any, budget: float | None = None, *, unknown: str = "error") -> Floats:
        """Positive for inliers, (n,)."""
        return self._scores(X, budget, unknown=unknown)[:, 0]

    def score_samples(self, X: Any) -> Floats:
        """Decisions before the intercept is added: `decision_function` plus `offset_`."""
        return self.decision_function(X) + self.offset_

    @property
    def offset_(self) -> float:
        """Whose score is above this is an inlier."""
        check_is_fitted(self, "machine_")
        return -float(self.machine_.intercept[0])

    def _labels(self, scores: Floats) -> NDArray[Any]:
        return np.where(scores[:, 0] > 0, 1, -1)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = False
        return tags


SMALL = {"classifier": CompressedSVC, "regressor": CompressedSVR, "one-class": CompressedOneClassSVM}


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
    """A small machine that answers as a trained one does.

    Parameters
    ----------
    model : SVC, NuSVC, SVR, NuSVR or OneClassSVM, fitted, or a pipeline that ends with one
        Or a `KernelMachine`, as read from a LibSVM file.
    n_vectors, ratio, budget :
        How many vectors there may be: a number; a share of those there are, 0.1 if nothing is said; or as
        many as a prediction's budget pays for.
    X : array or frame of (n, n_features), optional
        Rows like those to come, labels not needed: where to be right. The rows the model was trained on are
        good. Without them support vectors and points about them are looked at, which does less well.
    sample_weight : array of (n,), optional
        Weights of these rows.
    **options :
        `costs`, `start`, `move`, `loss` (classifiers), `max_iter`, `max_rows`, `random_state`, `verbose` of
        `CompressedSVC`.

    Returns
    -------
    CompressedSVC, CompressedSVR, CompressedOneClassSVM, or a pipeline that ends with one
        Steps in front of the machine stay in front of it, unless all are scalers, which the small model takes
        in: it reads features as they are.

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
    >>> small.n_vectors_, bool((small.predict(X) == model.predict(X)).mean() > 0.98)
    (6, True)
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
    """The estimator of the small machine; refitted, it would train such a model as was compressed."""
    fresh = None if isinstance(model, KernelMachine) else clone(model)
    small = SMALL[machine.kind](fresh, **sizes)
    small._validate_params()
    names = getattr(model, "feature_names_in_", None)
    small.n_features_in_, small._categories = machine.n_features, {}
    if names is not None:
        small.feature_names_in_ = names
    if isinstance(small, CompressedSVC):
        assert machine.classes is not None
        small.classes_ = machine.classes
    costs = bind_costs(small.costs, machine.n_features if names is None else list(names))
    with Steps(small, bool(small.verbose)) as step:
        rows = None if X is None else small._read(X, reset=False).values
        weight = None if rows is None else check_weight(sample_weight, rows)
        known = machine.vectors / scaler.scale + scaler.center if rows is None else rows
        fill, rows = _filled(known, keep=rows is not None)
        small._compress(machine, scaler, costs, fill, rows, weight, step)
        step(outcome(small))
    return small


def _filled(values: NDArray[Any], keep: bool = True) -> tuple[Floats, Any]:
    """What stands in for missing values, and rows without any (None if they are not to be kept)."""
    fill, _ = means_and_deviations(values, None, np.arange(values.shape[1]), 1)
    if not keep:
        return fill, None
    return fill, np.ascontiguousarray(np.where(np.isnan(values), fill, values), dtype=np.float64)
