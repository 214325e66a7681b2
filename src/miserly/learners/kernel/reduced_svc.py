"""Reduced-SVM (Keerthi, Chapelle & DeCoste 2006): a kernel machine grown vector by vector, up to a size."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from numbers import Integral, Real
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import _fit_context
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted
from threadpoolctl import threadpool_limits

from miserly.costs import Costs
from miserly.data.rows import Rows
from miserly.data.target import Target
from miserly.learners.base import PlanClassifier, bind_costs
from miserly.learners.common.labels import encode_classes, refuse_text
from miserly.learners.common.linear_fit import evened
from miserly.learners.common.progress import Steps, outcome
from miserly.learners.kernel.libsvm_files import write_libsvm
from miserly.learners.kernel.plans import affordable
from miserly.plan import LEAVE, Kernel, Node, Plan
from miserly.solvers.columns import means_and_deviations
from miserly.solvers.kernel_machine import KERNELS, KernelFunction, KernelMachine, pairs_of
from miserly.solvers.reduced_svm import ReducedMachine, reduced_svm

__all__ = ["ReducedSVC"]

Floats = NDArray[np.float64]


class ReducedSVC(PlanClassifier):
    """A support vector machine with as many vectors as one can afford, chosen greedily among training rows.

    Trained from rows, with the squared hinge loss; for several classes one against the rest, all with the
    same vectors. To make an SVM smaller that is already there, see `CompressedSVC`, which needs fewer vectors
    for the same accuracy because it may move them.

    Parameters
    ----------
    n_vectors : int, default=100
        How many vectors there may be.
    kernel : {"rbf", "poly", "sigmoid", "linear"}
    gamma : "scale" or float
        As in scikit-learn's `SVC`; so are `degree` and `coef0`.
    degree : int, default=3
    coef0 : float, default=0.0
    penalty : float, default=0.001
        Of the norm, against the *mean* loss of rows: an SVM of n rows has ``C = 1 / (penalty * n)``.
    costs : Costs, array, mapping of name to cost, or None
        What features cost, 1 each by default, and evaluating a kernel (`Costs(evaluation=...)`). A kernel
        reads all features.
    budget : float, optional
        What a prediction may cost: all features, and as many evaluations of the kernel as it pays for. With
        less than all features cost, the model answers with the commonest class.
    random_state : int, RandomState or None
        Draws the candidates.
    verbose : int, default=0
        1 shows what a long fit is at.

    Attributes
    ----------
    classes_ : array
    n_vectors_ : int
        The number of vectors there are.
    machine_ : KernelMachine
        The kernel machine, one decision for each pair of classes, as LibSVM has it.
    plan_ : Plan
        A chain of machines with 1, 2, 4, 8, ... vectors, each with the next one's vectors at hand: with less
        money than for all of them it still answers as well as a smaller machine.

    Examples
    --------
    >>> import numpy as np
    >>> from miserly import Costs, ReducedSVC
    >>> X = np.random.default_rng(0).normal(size=(500, 2))
    >>> y = (X**2).sum(axis=1) > 1.4
    >>> model = ReducedSVC(n_vectors=8, costs=Costs([1, 1], evaluation=0.5), random_state=0).fit(X, y)
    >>> model.cost_, bool(model.score(X, y) > 0.95)
    (6.0, True)
    >>> model.run(X, budget=4).cost.max()
    np.float64(4.0)
    """

    n_vectors_: int
    machine_: KernelMachine

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_vectors": [Interval(Integral, 1, None, closed="left")],
        "kernel": [StrOptions(set(KERNELS))],
        "gamma": [StrOptions({"scale"}), Interval(Real, 0, None, closed="neither")],
        "degree": [Interval(Integral, 0, 64, closed="both")],
        "coef0": [Interval(Real, None, None, closed="neither")],
        "penalty": [Interval(Real, 0, None, closed="neither")],
        "costs": [None, Costs, Mapping, "array-like"],
        "budget": [Interval(Real, 0, None, closed="both"), None],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

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
        self.random_state = random_state
        self.verbose = verbose

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(
        self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None, qid: ArrayLike | None = None
    ) -> ReducedSVC:
        """Fit to classes `y`; `qid` is only checked, nothing is set aside."""
        with Steps(self, bool(self.verbose)) as step, threadpool_limits(1, "blas"):
            table = self._read(X, reset=True)
            refuse_text(table)
            costs = bind_costs(self.costs, self.n_features_in_ if table.names is None else table.names)
            samples = Target(y, sample_weight, qid).checked(table.values, self, False).without_zero_weights()
            self.classes_, codes = encode_classes(samples.y)
            samples = evened(replace(samples, y=codes))
            self._grow(samples, costs, step)
            step(outcome(self))
        return self

    def _grow(self, samples: Rows, costs: Costs, step: Steps) -> None:
        """Choose vectors, and make the machine and the plan of them."""
        every = np.arange(samples.X.shape[1])
        fill, _ = means_and_deviations(samples.X, samples.weight, every, 1)
        rows = np.ascontiguousarray(np.where(np.isnan(samples.X), fill, samples.X), dtype=np.float64)
        kernel = KernelFunction(self.kernel, self._gamma_of(rows, samples.weight), self.degree, self.coef0)
        n_vectors = affordable(self.n_vectors, costs, self.budget)
        chosen, snapshots = reduced_svm(
            rows,
            _targets(samples.y, len(self.classes_)),
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
        """`gamma` as a number, by the rule of `SVC`."""
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
            _node(snapshot, place if place < len(kept) else LEAVE) for place, snapshot in enumerate(kept, 1)
        ]
        return Plan(
            costs=costs,
            terms=terms,
            nodes=nodes,
            base=snapshots[0].intercept,
            link="sign" if len(self.classes_) == 2 else "softmax",  # whose answer is the highest score
            classes=self._plan_classes(),
            categories=self._categories,
            info={"learner": type(self).__name__, "vectors": len(vectors)},
        )

    def to_libsvm(self, path: str | Path) -> None:
        """Write the machine as a LibSVM model file (missing values have no place there)."""
        check_is_fitted(self, "machine_")
        write_libsvm(self.machine_, path)

    def _has_probabilities(self) -> bool:
        return False


def _targets(codes: Floats, n_classes: int) -> Floats:
    """One column of -1 and 1 for two classes, positive for the second; else one for each class."""
    if n_classes == 2:
        return np.where(codes == 1, 1.0, -1.0)[:, None]
    return np.where(codes[:, None] == np.arange(n_classes), 1.0, -1.0)


def _machine(
    kernel: KernelFunction, vectors: Floats, last: ReducedMachine, classes: NDArray[Any]
) -> KernelMachine:
    """One decision for each pair: what speaks for its first class less what speaks for its second.

    Whoever has the highest score wins all its pairs, so that votes give the same answers as scores.
    """
    if len(classes) == 2:
        return KernelMachine(kernel, vectors, -last.coef, -last.intercept, classes=classes)
    first, second = np.array(pairs_of(len(classes))).T
    coef = last.coef[first] - last.coef[second]
    return KernelMachine(
        kernel, vectors, coef, last.intercept[first] - last.intercept[second], classes=classes
    )


def _node(snapshot: ReducedMachine, up: int) -> Node:
    """A machine by itself: nothing of the smaller one before is kept but the kernels evaluated."""
    n_scores, size = snapshot.coef.shape
    return Node(
        np.repeat(np.arange(size), n_scores),
        np.tile(np.arange(n_scores), size),
        snapshot.coef.T.ravel(),
        snapshot.intercept,
        inherits=False,
        up=up,
    )
