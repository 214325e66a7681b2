"""CVM, the compressed vector machine (thesis, chapter 4): support vector machines with few vectors."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.svm import SVC, SVR
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.multiclass import _ovr_decision_function

from miserly.data.rows import Rows
from miserly.errors import DataError
from miserly.learners.base import PlanClassifier, PlanRegressor
from miserly.learners.base.arguments import constraints, encode_classes
from miserly.learners.kernel.compression import LOSSES
from miserly.learners.kernel.supervised import SupervisedMachine
from miserly.plan import links
from miserly.solvers.kernel_machine import KernelMachine

__all__ = ["CompressedSVC", "CompressedSVR"]

Floats = NDArray[np.float64]


class CompressedSVC(PlanClassifier, SupervisedMachine):
    """Support vector classifier that is compressed to few vectors.

    Some of the support vectors of a full classifier are chosen. Then they are moved, together with their
    coefficients, until the small machine decides as the full one does. With three or more classes, pairs of
    classes vote as in LibSVM, and all pairs share all vectors.

    Parameters
    ----------
    estimator : SVC, NuSVC, Pipeline or None, default=None
        Classifier to compress, or a pipeline that ends with one; ``SVC()`` by default. If it is not fitted,
        it is trained first. Kernels are "linear", "poly", "rbf" and "sigmoid". Scalers in front of it
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
    loss : {"margin", "squared"}, default="margin"
        Loss that moving the vectors minimises. "squared" is the squared difference of the decisions, as in
        the thesis. "margin" ignores differences beyond the margin, which change no prediction.
    max_iter : int, default=200
        Largest number of steps in which the vectors are moved. Moving stops earlier if the loss on validation
        rows no longer falls.
    max_rows : int, default=16000
        Largest number of training rows that are used; of more a sample is drawn. Up to three times as many
        synthetic rows are added if most rows are support vectors. At most 3,000 support vectors, also
        sampled, are candidates.
    class_weight : mapping of class to weight, "balanced" or None, default=None
        Weights of the classes, by which the weights of the rows are multiplied. "balanced" gives all classes
        the same total weight. Classes that a mapping leaves out have weight 1.
    random_state : int, RandomState or None, default=None
        Random seed of samples, synthetic rows and validation rows.
    verbose : int, default=0
        With 1, the progress of the fit is shown.

    Attributes
    ----------
    plan_ : Plan
        A chain of machines with 1, 2, 4, 8, ... and finally all vectors, each with its own coefficients. A
        row that cannot pay for all vectors is answered by a smaller machine.
    classes_ : array of shape (n_classes,)
        The classes, sorted.
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

    Notes
    -----
    With the kernel matrix ``K`` of the support vectors, their labels ``y`` and the intercept ``b``, LARS-SVM
    [1]_ minimises ``|y - b - K a|^2 + a' K a`` over few nonzero coefficients ``a``. Then the vectors ``V``
    and their coefficients ``A`` minimise, on the training rows,

    ``sum_i w_i (k(x_i, V) A + b - t_i)^2``

    where ``t_i`` is the decision of the full machine. With ``loss="margin"``, ``t_i`` is clipped to -1 and 1,
    and a decision further on the same side is no error.

    Differences from the thesis:

    - The default loss is "margin".
    - Intercepts are fitted, too. All pairs of classes share the vectors.
    - If most rows are support vectors, the decisions are also compared on synthetic rows, each of which takes
      its values from two training rows.
    - The rbf kernel is ``exp(-gamma |x - v|^2)``; the thesis omits the minus sign.

    Ties of votes go to the first class, as in LibSVM. There are no probabilities.

    References
    ----------
    .. [1] Z. Xu, "Supervised Machine Learning Under Test-Time Resource Constraints: A Trade-off Between
       Accuracy and Cost", PhD thesis, Washington University in St. Louis, 2014, chapter 4.
    .. [2] C. J. C. Burges, "Simplified Support Vector Decision Rules", ICML 1996.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.svm import SVC
    >>> from miserly import Costs, CompressedSVC
    >>> X = np.random.default_rng(0).normal(size=(600, 2))
    >>> y = (X**2).sum(axis=1) > 1.4
    >>> svc = SVC(C=1.0).fit(X, y)
    >>> costs = Costs([1, 1], evaluation=0.1)
    >>> small = CompressedSVC(svc, n_vectors=6, costs=costs, random_state=0).fit(X, y)
    >>> len(svc.support_), small.n_vectors_
    (138, 6)
    >>> round(small.cost_, 2), round(svc.score(X, y), 2), round(small.score(X, y), 2)
    (2.6, 0.98, 0.98)
    """

    kind = "classifier"
    default = SVC
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **SupervisedMachine._parameter_constraints,
        "loss": [StrOptions(set(LOSSES))],
        **constraints("class_weight"),
    }

    def __init__(
        self,
        estimator: Any = None,
        *,
        n_vectors: int | None = None,
        ratio: float | None = None,
        budget: float | None = None,
        costs: Any = None,
        start: str = "lars",
        move: bool = True,
        loss: str = "margin",
        max_iter: int = 200,
        max_rows: int = 16_000,
        class_weight: Any = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        super().__init__(
            estimator,
            n_vectors=n_vectors,
            ratio=ratio,
            budget=budget,
            costs=costs,
            start=start,
            move=move,
            max_iter=max_iter,
            max_rows=max_rows,
            random_state=random_state,
            verbose=verbose,
        )
        self.loss = loss
        self.class_weight = class_weight

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
        """Compute the decision function, as `SVC` defines it.

        With three or more classes the values are votes, plus less than a half for the size of the decisions.
        The predicted class always has the largest value; in `SVC` this may fail where votes are tied.

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
        array of shape (n,) or (n, n_classes)
            With two classes one value per row, positive for the second class.
        """
        scores = self.raw_scores(X, budget, unknown=unknown, known=known, prices=prices)
        if len(self.classes_) == 2:
            return scores[:, 0]
        values = np.asarray(_ovr_decision_function(scores < 0, -scores, len(self.classes_)))
        rows = np.arange(len(values))
        values[rows, links.votes(scores).argmax(axis=1)] = values.max(axis=1)
        return values

    def _check_labels(self, samples: Rows) -> None:
        encode_classes(samples.y)

    def _adopt(self, machine: KernelMachine, samples: Rows) -> None:
        assert machine.classes is not None
        unknown = np.setdiff1d(np.unique(samples.y), machine.classes)
        if len(unknown):
            raise DataError(f"y holds {unknown.tolist()[0]!r}, which is not a class of the estimator")
        self.classes_ = machine.classes

    def gives_probabilities(self) -> bool:
        return False


class CompressedSVR(PlanRegressor, SupervisedMachine):
    """Support vector regressor that is compressed to few vectors.

    Some of the support vectors of a full regressor are chosen. Then they are moved, together with their
    coefficients, until the small machine predicts as the full one does.

    Parameters
    ----------
    estimator : SVR, NuSVR, Pipeline or None, default=None
        Regressor to compress, or a pipeline that ends with one; ``SVR()`` by default. If it is not fitted,
        it is trained first. Kernels are "linear", "poly", "rbf" and "sigmoid". Scalers in front of it
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

    Notes
    -----
    The vectors are chosen and moved as in `CompressedSVC`. With ``t_i`` the prediction of the full machine,
    vectors ``V`` and coefficients ``A`` minimise, on the training rows,

    ``sum_i w_i (k(x_i, V) A + b - t_i)^2``

    The thesis [1]_ compresses classifiers only. Here the predictions take the place of the labels when the
    first vectors are chosen.

    References
    ----------
    .. [1] Z. Xu, "Supervised Machine Learning Under Test-Time Resource Constraints: A Trade-off Between
       Accuracy and Cost", PhD thesis, Washington University in St. Louis, 2014, chapter 4.
    .. [2] C. J. C. Burges, "Simplified Support Vector Decision Rules", ICML 1996.

    Examples
    --------
    >>> import numpy as np
    >>> from miserly import CompressedSVR, Costs
    >>> X = np.random.default_rng(0).uniform(-3, 3, size=(400, 1))
    >>> y = np.sin(X[:, 0])
    >>> costs = Costs([1], evaluation=0.1)
    >>> small = CompressedSVR(n_vectors=5, costs=costs, random_state=0).fit(X, y)
    >>> small.n_vectors_before_, small.n_vectors_, small.cost_, round(small.score(X, y), 2)
    (13, 5, 1.5, 0.99)
    """

    kind = "regressor"
    default = SVR

    def _adopt(self, machine: KernelMachine, samples: Rows) -> None:
        """A regressor has no classes."""
