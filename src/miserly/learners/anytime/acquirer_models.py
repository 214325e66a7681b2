"""The plans of an acquirer: a mixture that chooses, behind a tree for the first purchases if there is one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from miserly.costs import Costs, read_budget
from miserly.data.rows import Rows
from miserly.grow.class_cuts import IMPURITIES
from miserly.learners.anytime.corrections import CorrectionOptions
from miserly.learners.anytime.pool import PoolColumns
from miserly.learners.anytime.tree_start import start_tree, with_start
from miserly.learners.base.arguments import as_columns
from miserly.losses import log_loss
from miserly.plan import MixtureAcquisition, Node, Plan, links
from miserly.solvers.mixture import ClassMixture, fit_mixture

__all__ = ["AcquirerPlans", "FirstTree"]

FirstTree = tuple[float, str]  # the share of the budget that the tree spends, and its impurity


@dataclass(frozen=True, eq=False)
class AcquirerPlans:
    """Makes the plans of one fit, and evaluates them.

    Attributes
    ----------
    costs : Costs
        The prices.
    budget : float or None
        Cap on the cost of every row.
    n_components, shrinkage
        As `AcquirerClassifier` has them.
    rules : dict
        Confidence, tradeoff and price exponent, as `MixtureAcquisition` has them.
    options : CorrectionOptions
        Categorical features, seed and threads.
    parts : dict
        Classes, categories and other parts of the plan.
    n_classes : int
        Number of classes.
    """

    costs: Costs
    budget: float | None
    n_components: int
    shrinkage: float
    rules: dict[str, float]
    options: CorrectionOptions
    parts: dict[str, Any]
    n_classes: int

    def mixture(self, samples: Rows, pool: PoolColumns, seed: int) -> ClassMixture:
        """The mixture of some rows."""
        return fit_mixture(
            pool.standardised(samples.X),
            samples.y,
            self.n_components,
            weight=samples.weight,
            shrinkage=self.shrinkage,
            seed=seed,
        )

    def node(self, pool: PoolColumns, mixture: ClassMixture, noise: float, sharpness: float) -> Node:
        """The node that chooses, with the mixture of the pool."""
        acquisition = MixtureAcquisition(
            pool.feature,
            pool.category,
            pool.centre,
            pool.scale,
            mixture.mean,
            _in_half_precision(mixture.covariance + noise * np.eye(len(pool.feature))),
            mixture.weight,
            mixture.label,
            clip=pool.clip,
            sharpness=sharpness,
            **self.rules,
        )
        none, n_scores = np.zeros(0), 1 if self.n_classes == 2 else self.n_classes
        codes = none.astype(np.int64)
        return Node(codes, codes, none, np.zeros(n_scores), inherits=False, acquisition=acquisition)

    def plan(self, samples: Rows, nodes: list[Node]) -> Plan:
        """The plan of some nodes; without nodes it answers with the shares of the classes."""
        base = _log_prior(samples, self.n_classes)
        return Plan(
            costs=self.costs,
            terms=[],
            nodes=nodes,
            base=base,
            link="logistic" if len(base) == 1 else "softmax",
            budget=self.budget,
            **self.parts,
        )

    def started(self, plan: Plan, rows: Rows, pool: PoolColumns, tree: FirstTree) -> Plan:
        """The plan with a tree for the first purchases, if that has a share of the budget."""
        share, impurity = tree
        if share == 0.0:
            return plan
        start = start_tree(
            rows,
            self.n_classes,
            self.costs,
            np.unique(pool.feature),
            share * read_budget(self.budget),
            self.rules["price_exponent"],
            IMPURITIES.index(impurity),
            self.options.categorical,
            self.options.seed,
            self.options.n_threads,
        )
        return with_start(plan, start, log_loss(self.n_classes))

    def rank(self, plan: Plan, rows: Rows) -> tuple[float, float]:
        """Accuracy on a validation set, and the negative log loss."""
        scores = as_columns(plan.run(rows.X, n_threads=self.options.n_threads, encoded=True).scores)
        loss = log_loss(self.n_classes).loss(rows.y.astype(np.float64), scores, rows.weight)
        right = links.labels(plan.link, scores, None) == rows.y
        return float(np.average(right, weights=rows.weight)), -loss


def _log_prior(samples: Rows, n_classes: int) -> NDArray[np.float64]:
    """The answer without any feature: log odds of the second of two classes, else logarithms of shares."""
    share = np.bincount(samples.y, samples.weight, minlength=n_classes)
    logs = np.log(share / share.sum())
    return np.array([logs[1] - logs[0]]) if n_classes == 2 else logs


def _in_half_precision(covariance: NDArray[np.float64]) -> NDArray[np.float64]:
    """Covariances rounded to half precision, which takes less room, if they stay positive definite."""
    with np.errstate(over="ignore"):
        rounded = covariance.astype(np.float16).astype(np.float64)
    if not np.isfinite(rounded).all():
        return covariance
    try:
        np.linalg.cholesky(rounded)
    except np.linalg.LinAlgError:
        return covariance
    return rounded
