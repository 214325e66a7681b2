"""Reduced-SVM (Keerthi et al. 2006): a kernel machine that is grown vector by vector."""

from __future__ import annotations

from dataclasses import replace
from numbers import Integral, Real
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted
from threadpoolctl import threadpool_limits

from miserly.costs import Costs
from miserly.data.rows import Rows
from miserly.data.target import Target
from miserly.learners.base import PlanClassifier, bind_costs
from miserly.learners.base.arguments import ONE_OR_MORE, POSITIVE, class_signs, constraints, refuse_text
from miserly.learners.base.kinds import WeightedFit
from miserly.learners.common.linear_fit import evened
from miserly.learners.common.progress import Steps, outcome
from miserly.learners.kernel.libsvm_files import write_libsvm
from miserly.learners.kernel.svm_models import affordable, filled, kernel_node
from miserly.plan import LEAVE, Kernel, Plan
from miserly.solvers.kernel_machine import KERNELS, KernelFunction, KernelMachine, pairs_of
from miserly.solvers.reduced_svm import ReducedMachine, reduced_svm

__all__ = ["ReducedSVC"]

Floats = NDArray[np.float64]


class ReducedSVC(PlanClassifier, WeightedFit):
    """Support vector classifier that is grown vector by vector, up to a given size.

    It is trained with the squared hinge loss. Its vectors are training rows that are chosen greedily. With
    three or more classes, each class is separated from the rest, and all share the vectors. Missing values
    are replaced by the mean of their column. `CompressedSVC` compresses an SVM that exists already; it needs
    fewer vectors because it moves them.

    Parameters
    ----------
    n_vectors : int, default=100
        Largest number of vectors.
    kernel : {"rbf", "poly", "sigmoid", "linear"}, default="rbf"
        Kernel, as in scikit-learn's `SVC`.
    gamma : {"scale"} or float, default="scale"
        Coefficient of the rbf, poly and sigmoid kernels. "scale" is ``1 / (n_features * X.var())``.
    degree : int, default=3
        Degree of the poly kernel.
    coef0 : float, default=0.0
        Constant term of the poly and sigmoid kernels.
    penalty : float, default=0.001
        Penalty on the norm, relative to the *mean* loss of the rows. An SVM of n rows has
        ``C = 1 / (penalty * n)``.
    costs : Costs, array-like, mapping of name to cost or None, default=None
        Costs of the features, and of evaluating a kernel (``Costs(..., evaluation=...)``). By default each
        feature costs 1 and kernels cost nothing. A kernel reads all features.
    budget : float or None, default=None
        Cap on the cost of a prediction: all features, and as many kernel evaluations as the rest pays for. If
        it is less than the cost of all features, the model predicts the most frequent class. By default
        there is no cap.
    class_weight : mapping of class to weight, "balanced" or None, default=None
        Weights of the classes, by which the weights of the rows are multiplied. "balanced" gives all classes
        the same total weight. Classes that a mapping leaves out have weight 1.
    random_state : int, RandomState or None, default=None
        Random seed of the candidates.
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
        Number of vectors.
    machine_ : KernelMachine
        The vectors and, for each pair of classes, their coefficients, as in LibSVM.
    n_features_in_ : int
        Number of features seen by `fit`.
    feature_names_in_ : array of shape (n_features_in_,)
        Names of the features. It exists only if `X` had names.

    Notes
    -----
    The objective, over a set `J` of training rows, coefficients ``B`` and intercepts ``b``, is

    ``penalty / 2 sum_k B_k K_JJ B_k' + 1/2 mean_i sum_k max(0, 1 - y_ik (K_iJ B_k' + b_k))^2``

    with targets ``y_ik`` of -1 and 1. In each step 59 rows drawn at random are candidates, and the one joins
    `J` that lowers the objective most. All coefficients are fitted again by Newton's method whenever the size
    has grown by a tenth.

    Differences from the paper [1]_: it has two classes; here several targets share the vectors. The gain of a
    candidate is estimated by the slope and curvature of the objective. For kernels that are not positive
    definite, a multiple of the identity is added to ``K_JJ``.

    References
    ----------
    .. [1] S. S. Keerthi, O. Chapelle, D. DeCoste, "Building Support Vector Machines with Reduced Classifier
       Complexity", Journal of Machine Learning Research 7, 2006.

    Examples
    --------
    >>> import numpy as np
    >>> from miserly import Costs, ReducedSVC
    >>> X = np.random.default_rng(0).normal(size=(500, 2))
    >>> y = (X**2).sum(axis=1) > 1.4
    >>> model = ReducedSVC(n_vectors=8, costs=Costs([1, 1], evaluation=0.5), random_state=0).fit(X, y)
    >>> model.cost_, round(model.score(X, y), 2)
    (6.0, 0.99)
    >>> float(model.run(X, budget=4).cost.max()), round(float(np.mean(model.predict(X, budget=4) == y)), 2)
    (4.0, 0.99)
    """

    n_vectors_: int
    machine_: KernelMachine

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = constraints(
        *("costs", "budget", "class_weight", "random_state", "verbose"),
        n_vectors=[ONE_OR_MORE],
        kernel=[StrOptions(set(KERNELS))],
        gamma=[StrOptions({"scale"}), POSITIVE],
        degree=[Interval(Integral, 0, 64, closed="both")],
        coef0=[Interval(Real, None, None, closed="neither")],
        penalty=[POSITIVE],
    )

    def __init__(
        self,
        *,
        n_vectors: int = 100,
        kernel: str = "rbf",
        gamma: float | str = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        penalty: float = 1e-3,
        costs: Any = None,
        budget: float | None = None,
        class_weight: Any = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.n_vectors = n_vectors
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.penalty = penalty
        self.costs = costs
        self.budget = budget
        self.class_weight = class_weight
        self.random_state = random_state
        self.verbose = verbose

    def _fit(self, X: Any, given: Target) -> None:
        with Steps(self, bool(self.verbose)) as step, threadpool_limits(1, "blas"):
            table = self.read_table(X, reset=True)
            refuse_text(table)
            costs = bind_costs(self.costs, table.names or self.n_features_in_)
            samples = given.checked(table.values, self, False).without_zero_weights()
            samples = evened(replace(samples, y=self._encode(samples.y)))
            self._grow(samples, costs, step)
            step(outcome(self))

    def _grow(self, samples: Rows, costs: Costs, step: Steps) -> None:
        """Choose the vectors, and build the machine and the plan."""
        fill, rows = filled(samples.X, samples.weight)
        kernel = KernelFunction(self.kernel, self._gamma_of(rows, samples.weight), self.degree, self.coef0)
        n_vectors = affordable(self.n_vectors, costs, self.budget)
        chosen, snapshots = reduced_svm(
            rows,
            class_signs(samples.y, len(self.classes_)),
            kernel,
            n_vectors,
            penalty=self.penalty,
            weight=samples.weight,
            candidates=np.unique(rows, axis=0, return_index=True)[1],
            random=np.random.default_rng(check_random_state(self.random_state).randint(2**31 - 1)),
            watch=lambda grown: step(f"{grown.size} of {n_vectors} vectors, objective {grown.objective:.4g}"),
        )
        self.n_vectors_ = len(chosen)
        self.machine_ = _machine(kernel, rows[chosen], snapshots[-1], self.classes_)
        self.plan_ = self._plan(kernel, rows[chosen], snapshots, costs, fill)

    def _gamma_of(self, rows: Floats, weight: Floats | None) -> float:
        """`gamma` as a number, computed as in `SVC`."""
        if not isinstance(self.gamma, str):
            return float(self.gamma)
        mean = np.average(rows, axis=0, weights=weight).mean()
        spread = float(np.average((rows - mean) ** 2, axis=0, weights=weight).mean())
        return 1.0 / (rows.shape[1] * (spread if spread > 0 else 1.0))

    def _plan(
        self,
        kernel: KernelFunction,
        vectors: Floats,
        snapshots: list[ReducedMachine],
        costs: Costs,
        fill: Floats,
    ) -> Plan:
        """A chain of the machines whose size is a power of two, and the last."""
        sizes = {1 << k for k in range(32)} | {len(vectors)}
        kept = [snapshot for snapshot in snapshots if snapshot.size in sizes - {0}]
        terms = [
            Kernel(v, kernel.name, kernel.gamma, kernel.coef0, kernel.degree, fill, costs.evaluation)
            for v in vectors
        ]
        nodes = [
            kernel_node(one.coef.T, one.intercept, place if place < len(kept) else LEAVE)
            for place, one in enumerate(kept, 1)
        ]
        return Plan(
            costs=costs,
            terms=terms,
            nodes=nodes,
            base=snapshots[0].intercept,
            link="sign" if len(self.classes_) == 2 else "softmax",  # predicts the highest score
            classes=self.plan_classes(),
            categories=self.categories_,
            info={"learner": type(self).__name__, "vectors": len(vectors)},
        )

    def to_libsvm(self, path: str | Path) -> None:
        """Write a LibSVM model file.

        Such a file has no rule for missing values.

        Parameters
        ----------
        path : str or Path
            The file.
        """
        check_is_fitted(self, "machine_")
        write_libsvm(self.machine_, path)

    def gives_probabilities(self) -> bool:
        return False


def _machine(
    kernel: KernelFunction, vectors: Floats, last: ReducedMachine, classes: NDArray[Any]
) -> KernelMachine:
    """One decision for each pair of classes: the score of the first minus the score of the second.

    The class with the highest score wins all its pairs, so votes and scores give the same predictions.
    """
    if len(classes) == 2:
        return KernelMachine(kernel, vectors, -last.coef, -last.intercept, classes=classes)
    first, second = np.array(pairs_of(len(classes))).T
    coef = last.coef[first] - last.coef[second]
    return KernelMachine(
        kernel, vectors, coef, last.intercept[first] - last.intercept[second], classes=classes
    )
