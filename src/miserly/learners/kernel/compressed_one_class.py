"""Compressed outlier detectors, which have no labels."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import OutlierMixin, _fit_context
from sklearn.svm import OneClassSVM
from sklearn.utils.validation import check_is_fitted

from miserly.data.target import check_weight
from miserly.learners.base import bind_costs
from miserly.learners.base.arguments import refuse_text
from miserly.learners.base.row_training import row_training
from miserly.learners.common.progress import Steps, outcome
from miserly.learners.kernel.compressed_base import CompressedMachine
from miserly.learners.kernel.svm_models import filled

__all__ = ["CompressedOneClassSVM"]

Floats = NDArray[np.float64]


class CompressedOneClassSVM(OutlierMixin, CompressedMachine):
    """One-class support vector machine that is compressed to few vectors.

    Some of the support vectors of a full outlier detector are chosen. Then they are moved, together with
    their coefficients, until the small machine decides as the full one does.

    Parameters
    ----------
    estimator : OneClassSVM, Pipeline or None, default=None
        Detector to compress, or a pipeline that ends with one; ``OneClassSVM()`` by default. If it is not
        fitted, it is trained first. Kernels are "linear", "poly", "rbf" and "sigmoid". Scalers in front of it
        (standard, robust, min-max, max-abs) become part of the plan. `miserly.compress` keeps other steps.
    n_vectors : int or None, default=None
        Number of vectors of the compressed machine. It excludes `ratio`.
    ratio : float or None, default=None
        Number of vectors as a share of the support vectors. Without `n_vectors`, `ratio` and `budget` it is
        0.1.
    budget : float or None, default=None
        Cap on the cost of a prediction: all features, and as many kernel evaluations as the rest pays for.
        By default there is no cap.
    costs : Costs, array-like, mapping of name to cost or None, default=None
        Costs of the features, and of evaluating a kernel (``Costs(..., evaluation=...)``). By default each
        feature costs 1 and kernels cost nothing. A kernel reads all features.
    start : {"lars", "omp", "random"}, default="lars"
        How the first vectors are chosen among the support vectors: by LARS as in the thesis, greedily by
        orthogonal matching pursuit on the decisions, or at random as in [2]_.
    move : bool, default=True
        Whether the vectors are then moved. If False, the model is the thesis' LARS-SVM.
    max_iter : int, default=200
        Largest number of steps in which the vectors are moved. Moving stops earlier if the loss on validation
        rows no longer falls.
    max_rows : int, default=16000
        Largest number of training rows that are used; of more a sample is drawn. Up to three times as many
        synthetic rows are added if most rows are support vectors. At most 3,000 support vectors, also
        sampled, are candidates.
    random_state : int, RandomState or None, default=None
        Random seed of samples, synthetic rows and validation rows.
    verbose : int, default=0
        With 1, the progress of the fit is shown.

    Attributes
    ----------
    plan_ : Plan
        A chain of machines with 1, 2, 4, 8, ... and finally all vectors, each with its own coefficients. A
        row that cannot pay for all vectors is answered by a smaller machine.
    cost_ : float
        Cost of a prediction with all vectors.
    features_ : array
        The features that the model needs: all of them.
    n_vectors_ : int
        Number of vectors of the compressed machine.
    n_vectors_before_ : int
        Number of vectors of the full machine.
    n_iter_ : int
        Number of steps in which the vectors were moved.
    machine_ : KernelMachine
        Vectors, the most useful first, and their coefficients, in scaled coordinates if there is a scaler.
    n_features_in_ : int
        Number of features seen by `fit`.
    feature_names_in_ : array of shape (n_features_in_,)
        Names of the features. It exists only if `X` had names.
    offset_ : float
        Threshold of `score_samples`: rows with a larger score are inliers.

    Notes
    -----
    The vectors are chosen and moved as in `CompressedSVC`. With ``t_i`` the decision of the full machine,
    vectors ``V`` and coefficients ``A`` minimise, on the training rows,

    ``sum_i w_i (k(x_i, V) A + b - t_i)^2``

    The thesis [1]_ compresses classifiers only. Here the decisions take the place of the labels when the
    first vectors are chosen.

    References
    ----------
    .. [1] Z. Xu, "Supervised Machine Learning Under Test-Time Resource Constraints: A Trade-off Between
       Accuracy and Cost", PhD thesis, Washington University in St. Louis, 2014, chapter 4.
    .. [2] C. J. C. Burges, "Simplified Support Vector Decision Rules", ICML 1996.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.svm import OneClassSVM
    >>> from miserly import CompressedOneClassSVM, Costs
    >>> X = np.random.default_rng(0).normal(size=(400, 2))
    >>> full = OneClassSVM(nu=0.1).fit(X)
    >>> costs = Costs([1, 1], evaluation=0.1)
    >>> small = CompressedOneClassSVM(full, n_vectors=16, costs=costs, random_state=0).fit(X)
    >>> agreement = np.mean(small.predict(X) == full.predict(X))
    >>> small.n_vectors_before_, small.n_vectors_, round(small.cost_, 2), bool(agreement > 0.8)
    (54, 16, 3.6, True)
    """

    kind = "one-class"
    default = OneClassSVM

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: ArrayLike | None = None,
        *,
        known: Any = None,
        prices: Any = None,
        ordered: Any = None,
        never_ordered: str = "missing",
    ) -> CompressedOneClassSVM:
        """Train the estimator, unless it is fitted, and compress it.

        Parameters
        ----------
        X : array-like or frame of shape (n, n_features)
            Training rows of numbers. NaN is a missing value and is replaced by the mean of its column. If the
            estimator is fitted, these are the rows on which the decisions are compared.
        y : object, optional
            Not used; present for compatibility with scikit-learn.
        sample_weight : array-like of shape (n,), optional
            Weight of each row. By default every row has weight 1. Rows of weight 0 are left out.
        known, prices : optional
            What each row has already, and what it pays, as for `run`. The model is trained at the mean price
            of each feature over the rows.
        ordered, never_ordered : optional
            Which features were ordered for which rows, and how rows count without them: see
            `ordering_weights`. By default all were ordered.

        Returns
        -------
        self : CompressedOneClassSVM
            The fitted estimator.
        """
        own = row_training(known, prices, ordered, never_ordered)
        if own is not None:
            return own.fit(self, X, y, sample_weight)
        with Steps(self, bool(self.verbose)) as step:
            table = self.read_table(X, reset=True)
            refuse_text(table)
            costs = bind_costs(self.costs, table.names or self.n_features_in_)
            values, weight = table.values, check_weight(sample_weight, table.values)
            if weight is not None:
                values, weight = values[weight > 0], weight[weight > 0]
            fill, rows = filled(values)
            step(f"training on {len(rows)} rows")
            machine, scaler = self._trained(rows, None, weight)
            self._compress(machine, scaler, costs, fill, rows, weight, step)
            step(outcome(self))
        return self

    def predict(
        self,
        X: Any,
        budget: float | None = None,
        qid: ArrayLike | None = None,
        *,
        unknown: str = "error",
        known: Any = None,
        prices: Any = None,
    ) -> NDArray[Any]:
        """Predict whether each row is an inlier.

        Parameters
        ----------
        X : array-like or frame of shape (n, n_features)
            Rows to predict.
        budget : float, optional
            Cap on what each row pays.
        qid : array-like of shape (n,), optional
            Query of each row. It is not used.
        unknown : {"error", "missing"}, default="error"
            Has no effect: this model has no categories.
        known, prices : optional
            As for `run`. They change answers only where there is a budget.

        Returns
        -------
        array of shape (n,)
            1 for inliers, -1 for outliers.
        """
        return self._answers(X, budget, unknown, known, prices)

    def decision_function(
        self,
        X: Any,
        budget: float | None = None,
        *,
        unknown: str = "error",
        known: Any = None,
        prices: Any = None,
    ) -> Floats:
        """Compute the decision function.

        Parameters
        ----------
        X : array-like or frame of shape (n, n_features)
            Rows to predict.
        budget : float, optional
            Cap on what each row pays.
        unknown : {"error", "missing"}, default="error"
            Has no effect: this model has no categories.
        known, prices : optional
            As for `run`. They change answers only where there is a budget.

        Returns
        -------
        array of shape (n,)
            Decisions, positive for inliers.
        """
        return self.raw_scores(X, budget, unknown=unknown, known=known, prices=prices)[:, 0]

    def score_samples(self, X: Any) -> Floats:
        """Compute the decisions before the intercept is added: `decision_function` plus `offset_`.

        Parameters
        ----------
        X : array-like or frame of shape (n, n_features)
            Rows to predict.

        Returns
        -------
        array of shape (n,)
            Scores, larger for inliers.
        """
        return self.decision_function(X) + self.offset_

    @property
    def offset_(self) -> float:
        """Threshold of `score_samples`: rows with a larger score are inliers."""
        check_is_fitted(self, "machine_")
        return -float(self.machine_.intercept[0])

    def labels_from(self, scores: Floats) -> NDArray[Any]:
        return np.where(scores[:, 0] > 0, 1, -1)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = False
        return tags
