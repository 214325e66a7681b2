"""CVM, the compressed vector machine (thesis, chapter 4): a support vector machine with few vectors."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import _fit_context
from sklearn.svm import SVC, SVR
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.multiclass import _ovr_decision_function

from miserly.data.rows import Rows
from miserly.data.target import Target
from miserly.errors import DataError
from miserly.learners.base import PlanClassifier, PlanRegressor, bind_costs
from miserly.learners.common.labels import encode_classes, refuse_text
from miserly.learners.common.linear_fit import evened
from miserly.learners.common.progress import Steps, outcome
from miserly.learners.kernel.compressed_base import CompressedMachine
from miserly.learners.kernel.compression import LOSSES
from miserly.plan import links
from miserly.solvers.columns import means_and_deviations
from miserly.solvers.kernel_machine import KernelMachine

__all__ = ["CompressedSVC", "CompressedSVR"]

Floats = NDArray[np.float64]


class _Supervised(CompressedMachine):
    """Classifiers and regressors, which have labels to train by."""

    def _fit(self, X: Any, given: Target) -> None:
        with Steps(self, bool(self.verbose)) as step:
            table = self._read(X, reset=True)
            refuse_text(table)
            costs = bind_costs(self.costs, self.n_features_in_ if table.names is None else table.names)
            samples = given.checked(table.values, self, self.kind == "regressor").without_zero_weights()
            samples = evened(samples)
            fill, _ = means_and_deviations(samples.X, samples.weight, np.arange(self.n_features_in_), 1)
            rows = np.ascontiguousarray(np.where(np.isnan(samples.X), fill, samples.X), dtype=np.float64)
            self._check_labels(samples)
            step(f"training on {len(rows)} rows")
            machine, scaler = self._trained(rows, samples.y, samples.weight)
            self._adopt(machine, samples)
            self._compress(machine, scaler, costs, fill, rows, samples.weight, step)
            step(outcome(self))

    def _check_labels(self, samples: Rows) -> None:
        """Refuse labels there is nothing to learn from."""

    def _adopt(self, machine: KernelMachine, samples: Rows) -> None:
        """Take over what the machine answers with."""


class CompressedSVC(PlanClassifier, _Supervised):
    """A support vector classifier with a hundredth of the vectors, made from a full one.

    First some of the support vectors are chosen, then they are moved, with their coefficients, until the
    small machine decides as the full one does. With three or more classes, pairs of classes vote as in
    LibSVM and scikit-learn, and all pairs share all vectors: each is evaluated once.

    Parameters
    ----------
    estimator : SVC, NuSVC, or a pipeline that ends with one, default=SVC()
        If it is fitted it is compressed as it is, and `X` only says where to be right; else it is trained
        first. Kernels: linear, poly, rbf, sigmoid. Scalers in front (standard, robust, min-max, max-abs)
        become part of the plan, which reads features as they are; `miserly.compress` keeps other steps.
    n_vectors : int, optional
        How many vectors there may be.
    ratio : float, optional
        The same as a share of the support vectors; 0.1 if nothing is said.
    budget : float, optional
        What a prediction may cost: all features, and as many evaluations as it pays for.
    costs : Costs, array, mapping of name to cost, or None
        What features cost, 1 each by default, and evaluating a kernel (`Costs(evaluation=...)`). A kernel
        reads all features.
    start : {"lars", "omp", "random"}
        How the vectors to begin with are chosen: LARS-SVM as in the thesis; greedily, by what they explain of
        the decisions; or by chance, as Burges (1996) did.
    move : bool, default=True
        Whether they are then moved. If not, the model is the intermediate one (LARS-SVM).
    loss : {"margin", "squared"}
        What moving lowers: errors that may change an answer, or, as in the thesis, the squared difference of
        the decisions.
    max_iter : int, default=200
        Steps of moving at most. It ends before, when rows set aside show no more progress.
    max_rows : int, default=16000
        Of more rows a sample is looked at; up to three times as many are made up where nearly every row is a
        support vector. At most 3,000 support vectors, sampled too, are candidates.
    random_state : int, RandomState or None
        For samples, and which rows are set aside.
    verbose : int, default=0
        1 shows what a long fit is at.

    Attributes
    ----------
    classes_ : array
    n_vectors_, n_vectors_before_ : int
        How many vectors there are, and how many the full machine has.
    n_iter_ : int
        How many steps they were moved.
    machine_ : KernelMachine
        Vectors, the most useful first, and coefficients; behind a scaler, where scaled rows are.
    plan_ : Plan
        A chain of machines with 1, 2, 4, 8, ... and finally all vectors, each with its own coefficients: with
        less money than for all of them it answers as a smaller machine.

    Notes
    -----
    Ties of votes go to the first class, as in LibSVM and `SVC(break_ties=False)`. There are no probabilities.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.svm import SVC
    >>> from miserly import CompressedSVC
    >>> X = np.random.default_rng(0).normal(size=(600, 2))
    >>> y = (X**2).sum(axis=1) > 1.4
    >>> svc = SVC(C=1.0).fit(X, y)
    >>> small = CompressedSVC(svc, n_vectors=6, random_state=0).fit(X, y)
    >>> len(svc.support_), small.n_vectors_, bool((small.predict(X) == svc.predict(X)).mean() > 0.98)
    (138, 6, True)
    """

    kind = "classifier"
    default = SVC
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **CompressedMachine._parameter_constraints,
        "loss": [StrOptions(set(LOSSES))],
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

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(
        self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None, qid: ArrayLike | None = None
    ) -> CompressedSVC:
        """Train the estimator unless it is fitted, and compress it; `qid` is only checked."""
        self._fit(X, Target(y, sample_weight, qid))
        return self

    def predict(
        self, X: Any, budget: float | None = None, qid: ArrayLike | None = None, *, unknown: str = "error"
    ) -> NDArray[Any]:
        """The class of every row."""
        return self._answers(X, budget, unknown)

    def decision_function(self, X: Any, budget: float | None = None, *, unknown: str = "error") -> Floats:
        """As `SVC` has it: (n,), positive for the second of two classes, or (n, n_classes).

        With three or more classes these are votes, moved by less than a half by how clear the decisions were.
        The class that is the answer is never below another: where votes are tied, `SVC` may have it so.
        """
        scores = self._scores(X, budget, unknown=unknown)
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
        strange = np.setdiff1d(np.unique(samples.y), machine.classes)
        if len(strange):
            raise DataError(f"y holds {strange.tolist()[0]!r}, which is no class of the estimator")
        self.classes_ = machine.classes

    def _has_probabilities(self) -> bool:
        return False


class CompressedSVR(PlanRegressor, _Supervised):
    """A support vector regressor with few vectors, made from a full one.

    Parameters
    ----------
    estimator : SVR, NuSVR, or a pipeline that ends with one, default=SVR()
    n_vectors, ratio, budget, costs, start, move, max_iter, max_rows, random_state, verbose :
        As for `CompressedSVC`; moving lowers the squared difference of the predictions.

    Examples
    --------
    >>> import numpy as np
    >>> from miserly import CompressedSVR
    >>> X = np.random.default_rng(0).uniform(-3, 3, size=(400, 1))
    >>> y = np.sin(X[:, 0])
    >>> small = CompressedSVR(n_vectors=5, random_state=0).fit(X, y)
    >>> small.n_vectors_, bool(small.score(X, y) > 0.98)
    (5, True)
    """

    kind = "regressor"
    default = SVR

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(
        self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None, qid: ArrayLike | None = None
    ) -> CompressedSVR:
        """Train the estimator unless it is fitted, and compress it; `qid` is only checked."""
        self._fit(X, Target(y, sample_weight, qid))
        return self
