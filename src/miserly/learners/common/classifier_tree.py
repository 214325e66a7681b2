"""Trees and chains of linear classifiers over terms, the plans they become, and the base class of cascades.

Node `k` of `K` gives a row the scores ``values @ weights[k] + intercept[k]``, over the ready columns of
`terms`. It goes to ``up[k]`` if its steering score is greater than ``threshold[k]``, else to ``low[k]``;
where that is `LEAVE` it leaves with the scores of this node. With one score (C = 1) that score steers; with
several (C classes) a score of its own does, ``values @ steer[k] + steer_intercept[k]``, which is no answer.

Node 0 is the root, children come after their parent. A node's scores replace those of its parent. What is
zero costs nothing: a plan holds only terms that some node weighs, and a node pays only for those it weighs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from miserly.costs import Costs
from miserly.data.rows import Rows
from miserly.errors import DataError, PlanError
from miserly.learners.base import PlanClassifier, as_columns
from miserly.learners.base.kinds import WeightedFit
from miserly.learners.common.linear_fit import FitData
from miserly.learners.common.terms import TermSet
from miserly.learners.common.training import steepness_of
from miserly.plan import LEAVE, Node, Onward, Plan, Threshold
from miserly.plan.engine.batch import Run
from miserly.plan.engine.ranking import levels, settle
from miserly.solvers.term_prices import canonical

__all__ = [
    "CascadeClassifier",
    "ClassifierTree",
    "build_plan",
    "cascade_plan",
    "exact_weights",
    "merged",
    "ranking_scores",
]

Floats: TypeAlias = NDArray[np.float64]

SMALL = 1 << 21  # values of a table


@dataclass(frozen=True, eq=False)
class ClassifierTree:
    """A tree (or a chain) of linear classifiers.

    Attributes
    ----------
    up, low : int arrays of (K,)
        The children of each node, or `LEAVE`.
    weights : array of (K, T) or (K, T, C)
        Of the ready columns.
    intercept : array of (K,) or (K, C)
    threshold : array of (K,)
        May be infinite: then all rows go the same way.
    steer : array of (K, T), optional
        What the gates read where C > 1, with `steer_intercept` (K,).
    """

    up: NDArray[np.int64]
    low: NDArray[np.int64]
    weights: Floats
    intercept: Floats
    threshold: Floats
    steer: Floats | None = None
    steer_intercept: Floats | None = None

    def __post_init__(self) -> None:
        put = object.__setattr__
        for name in ("up", "low"):
            put(self, name, np.asarray(getattr(self, name), dtype=np.int64))
        n = len(self.up)
        weights = np.asarray(self.weights, dtype=np.float64)
        put(self, "weights", weights[:, :, None] if weights.ndim == 2 else weights)
        put(self, "intercept", np.asarray(self.intercept, dtype=np.float64).reshape(n, -1))
        put(self, "threshold", np.asarray(self.threshold, dtype=np.float64))
        if self.steer is not None:
            put(self, "steer", np.asarray(self.steer, dtype=np.float64))
            offset = np.zeros(n) if self.steer_intercept is None else self.steer_intercept
            put(self, "steer_intercept", np.asarray(offset, dtype=np.float64))
        self._check()

    def _check(self) -> None:
        n, n_terms, n_scores = self.weights.shape
        shapes = {"low": (n,), "threshold": (n,), "intercept": (n, n_scores)}
        if self.steer is not None:
            shapes |= {"steer": (n, n_terms), "steer_intercept": (n,)}
        for name, shape in shapes.items():
            if getattr(self, name).shape != shape:
                raise PlanError(f"{name} must have the shape {shape}, not {getattr(self, name).shape}")
        divides = (self.up != LEAVE) | (self.low != LEAVE)
        if n_scores > 1 and divides.any() and self.steer is None:
            raise PlanError(f"with {n_scores} scores, gates read a score of their own: give `steer`")

    @property
    def n_nodes(self) -> int:
        return len(self.up)

    @property
    def n_scores(self) -> int:
        return int(self.weights.shape[2])

    def rescaled(self, factor: float, offset: float = 0.0) -> ClassifierTree:
        """The tree that answers ``factor * score + offset`` and sends all rows the same way (factor > 0)."""
        return replace(
            self,
            weights=factor * self.weights,
            intercept=factor * self.intercept + offset,
            threshold=factor * self.threshold + offset if self.steer is None else self.threshold,
        )

    def scores(self, node: int, values: Floats) -> Floats:
        """The scores (n, C) of a node for rows of ready columns."""
        return values @ self.weights[node] + self.intercept[node]

    def steering(self, node: int, values: Floats) -> Floats:
        """What the gate of a node reads, (n,)."""
        if self.steer is None or self.steer_intercept is None:
            return self.scores(node, values)[:, 0]
        return values @ self.steer[node] + self.steer_intercept[node]

    def ways(self, values: Floats) -> tuple[Floats, NDArray[np.int64]]:
        """The scores (n, C) that rows leave with, and the nodes (n,) they leave from."""
        at = np.zeros(len(values), dtype=np.int64)
        out = np.zeros((len(values), self.n_scores))
        for k in range(self.n_nodes):
            rows = np.flatnonzero(at == k)
            out[rows] = self.scores(k, values[rows])
            above = self.steering(k, values[rows]) > self.threshold[k]
            child = np.where(above, self.up[k], self.low[k])
            at[rows] = np.where(child == LEAVE, k, child)
        return out, at


def build_plan(
    tree: ClassifierTree,
    terms: TermSet,
    costs: Costs,
    link: str = "identity",
    base: ArrayLike = 0.0,
    classes: ArrayLike | None = None,
    info: Mapping[str, Any] | None = None,
    categories: Mapping[int, Sequence[Any]] | None = None,
) -> Plan:
    """The plan of a tree; `base` (C,) is the answer for rows that cannot afford the root.

    Examples
    --------
    >>> from miserly.data.rows import Rows
    >>> from miserly.learners.common.terms import LinearTerms
    >>> costs = Costs([1.0, 10.0])
    >>> terms = LinearTerms.fit(Rows(np.array([[0.0, 0.0], [2.0, 4.0]]), np.zeros(2)), costs)
    >>> tree = ClassifierTree(up=[1, -1], low=[-1, -1], weights=[[1.0, 0.0], [0.0, 1.0]], intercept=[0, 0],
    ...                       threshold=[0.0, np.inf])
    >>> run = build_plan(tree, terms, costs).run([[0.0, 3.0], [2.0, 3.0]])
    >>> run.scores.tolist(), run.cost.tolist()
    ([-1.0, 0.5], [1.0, 11.0])
    """
    steers = tree.steer is not None
    used = np.flatnonzero(np.any(_any_weight(tree), axis=0))
    place = np.full(terms.n_terms, -1, dtype=np.int64)
    place[used] = np.arange(len(used))
    nodes = [_node(tree, k, terms, place) for k in range(tree.n_nodes)]
    answers = np.broadcast_to(np.asarray(base, dtype=np.float64), (tree.n_scores,))
    return Plan(
        costs=costs,
        terms=[terms.plan_terms[t] for t in used],
        nodes=nodes,
        base=np.append(answers, 0.0) if steers else answers,
        link=link,
        n_outputs=tree.n_scores,
        classes=classes,
        categories=categories,
        info=info,
    )


def _any_weight(tree: ClassifierTree) -> NDArray[np.bool_]:
    """Which terms each node needs, (K, T)."""
    needs = (tree.weights != 0.0).any(axis=2)
    return needs if tree.steer is None else needs | (tree.steer != 0.0)


def _node(tree: ClassifierTree, k: int, terms: TermSet, place: NDArray[np.int64]) -> Node:
    """One node with its gate; weights term after term, so that each is evaluated when first met."""
    weights, bias = terms.weights_in_plan(tree.weights[k], tree.intercept[k])
    if tree.steer is not None and tree.steer_intercept is not None:
        steer, offset = terms.weights_in_plan(tree.steer[k], tree.steer_intercept[k])
        weights, bias = np.column_stack([weights, steer]), np.append(bias, offset)
    term, channel = np.nonzero(weights)
    up, low = int(tree.up[k]), int(tree.low[k])
    ends = up == LEAVE and low == LEAVE
    steering = tree.n_scores if tree.steer is not None else 0
    return Node(
        terms=place[term],
        channels=channel,
        weights=weights[term, channel],
        bias=bias,
        inherits=False,
        gate=Onward() if ends else Threshold(float(tree.threshold[k]), steering),
        up=up,
        low=low,
    )


class CascadeClassifier(PlanClassifier, WeightedFit):
    """A chain of classifiers. Rows with low scores leave, most of them as members of the first class."""

    def decision_function(
        self,
        X: Any,
        budget: float | None = None,
        qid: ArrayLike | None = None,
        *,
        unknown: str = "error",
        known: Any = None,
        prices: Any = None,
    ) -> NDArray[np.float64]:
        """Return the scores of rows before the link, positive for the second class.

        Parameters
        ----------
        X : array or frame of (n, n_features)
            Rows to score.
        budget : float or None, default=None
            Cap on the cost of every row. By default only the budget of the plan limits it.
        qid : array of (n,) or None, default=None
            Query of each row. If given, scores rank the documents of each query: those that left the cascade
            earlier come below those that left later.
        unknown : {"error", "missing"}, default="error"
            Whether a value that is no known category is an error, or counts as missing.
        known, prices : optional
            As for `run`. They change answers only where there is a budget.

        Returns
        -------
        array of (n,)
            The scores.
        """
        if qid is None:
            return super().decision_function(X, budget, unknown=unknown, known=known, prices=prices)
        run = self.run(X, budget=budget, unknown=unknown, known=known, prices=prices)
        return ranking_scores(run, np.asarray(qid))

    def _encode(self, y: NDArray[Any]) -> NDArray[np.float64]:
        codes = super()._encode(y)
        if len(self.classes_) > 2:
            raise DataError(
                "Only binary classification is supported. The type of the target is multiclass: "
                f"y holds {len(self.classes_)} classes"
            )
        return codes

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags


def ranking_scores(run: Run, qid: NDArray[Any] | None) -> Floats:
    """Scores that rank documents which left a cascade earlier below all that stayed longer in their query."""
    if qid is None:
        return run.scores
    return settle(run.scores, levels(run.plan, run.exit, ~run.stopped), qid)


def exact_weights(samples: Rows) -> Rows:
    """Weights as multiples of the smallest, to 10 digits.

    A factor common to all weights changes no bit of the model, and whole numbers stay whole.
    """
    if samples.weight is None:
        return samples
    return replace(samples, weight=canonical(samples.weight / samples.weight.min(), 10))


def merged(samples: Rows) -> Rows:
    """Equal rows as one row with the sum of their weights, in a fixed order; large tables unchanged.

    Descent through steep gates amplifies rounding errors. Here sums do not depend on the order of rows, nor
    on whether a row comes twice or has twice the weight.
    """
    if samples.X.size > SMALL:
        return samples
    table = np.column_stack([samples.X, samples.y])
    order = np.lexsort(table.T)
    table = table[order]
    same = (table[1:] == table[:-1]) | (np.isnan(table[1:]) & np.isnan(table[:-1]))
    first = np.flatnonzero(np.append(True, ~same.all(axis=1)))
    weight = np.ones(len(samples)) if samples.weight is None else samples.weight
    some = replace(samples, weight=None, qid=None).take(order[first])
    return exact_weights(replace(some, weight=np.add.reduceat(weight[order], first)))


def cascade_plan(
    learner: CascadeClassifier,
    rows: FitData,
    terms: TermSet,
    weights: Floats,
    intercept: Floats,
    threshold: Floats,
    base: float,
    steer: tuple[Floats, Floats] | None = None,
) -> Plan:
    """A chain of nodes with weights (K, T); rows that score at most a stage's threshold leave there.

    Scores are multiplied by one factor, so that their logistic is a probability. `base` is the score of rows
    that cannot afford the first stage. With `steer`, weights (K, T) and intercepts (K,), gates read scores of
    their own.
    """
    n = len(intercept)
    chain = ClassifierTree(
        up=np.append(np.arange(1, n), LEAVE),
        low=np.full(n, LEAVE),
        weights=weights,
        intercept=intercept,
        threshold=threshold,
        steer=None if steer is None or n == 1 else steer[0],
        steer_intercept=None if steer is None or n == 1 else steer[1],
    )
    samples = rows.training
    draft = build_plan(chain, terms, rows.costs, base=base, categories=learner.categories_)
    scores = draft.run(samples.X, n_threads=learner.n_threads, encoded=True).scores
    factor = steepness_of(as_columns(scores), samples.y, samples.weight)
    return build_plan(
        chain.rescaled(factor),
        terms,
        rows.costs,
        link="logistic",
        base=factor * base,
        classes=learner.plan_classes(),
        info={"learner": type(learner).__name__},
        categories=learner.categories_,
    )
