"""The hyperparameters of an acquirer, chosen on validation sets."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

import numpy as np

from miserly.data.rows import Rows, hold_out
from miserly.learners.anytime.acquirer_models import AcquirerPlans, FirstTree
from miserly.learners.anytime.corrections import mean_losses
from miserly.learners.anytime.pool import PoolColumns
from miserly.learners.common.racing import race
from miserly.plan import Plan
from miserly.solvers.mixture import ClassMixture

__all__ = ["NO_TREE", "AcquirerChoice", "AcquirerChoices", "choose"]

MOST_VALIDATION = 4_000  # rows in a validation set
WANTED_VALIDATION, MOST_DIVISIONS = 3_000, 3  # rows in all validation sets together, and number of these

NO_TREE: FirstTree = (0.0, "gini")


class AcquirerChoice(NamedTuple):
    """The hyperparameters that validation sets may choose."""

    noise: float
    sharpness: float
    tree: FirstTree
    n_rounds: int
    max_depth: int


class AcquirerChoices(NamedTuple):
    """The values of each hyperparameter that are compared; the first counts where they are not."""

    noise: Sequence[float]
    sharpness: Sequence[float]
    tree: Sequence[FirstTree]
    n_rounds: Sequence[int]
    max_depth: Sequence[int]

    @property
    def first(self) -> AcquirerChoice:
        """The first value of each."""
        return AcquirerChoice(
            self.noise[0], self.sharpness[0], self.tree[0], self.n_rounds[0], self.max_depth[0]
        )

    @property
    def is_open(self) -> bool:
        """Whether there is anything to choose."""
        return any(len(every) > 1 for every in self)


class _Division(NamedTuple):
    """A validation set, the other rows, and the mixture of these."""

    training: Rows
    rows: Rows
    mixture: ClassMixture


def choose(
    plans: AcquirerPlans, pool: PoolColumns, samples: Rows, choices: AcquirerChoices, fraction: float
) -> AcquirerChoice:
    """Choose one hyperparameter after the other.

    Noise, sharpness and the tree for the first purchases race by accuracy, and where that is equal by log
    loss. The boosted trees are compared by log loss at several budgets.

    Parameters
    ----------
    plans : AcquirerPlans
        Makes plans.
    pool : PoolColumns
        The columns of the mixture.
    samples : Rows
        Training rows.
    choices : AcquirerChoices
        What is compared.
    fraction : float
        Share of the rows in a validation set.

    Returns
    -------
    AcquirerChoice
    """
    seed = plans.options.seed
    divisions = [
        _divided(plans, pool, samples, fraction, seed + n) for n in range(_number(samples, fraction))
    ]
    found = choices.first._replace(tree=NO_TREE)

    @cache
    def made(one: AcquirerChoice, number: int) -> Plan:
        part = divisions[number]
        node = plans.node(pool, part.mixture, one.noise, one.sharpness)
        return plans.started(plans.plan(samples, [node]), part.training, pool, one.tree)

    @cache
    def rank(one: AcquirerChoice, number: int) -> tuple[float, float]:
        return plans.rank(made(one, number), divisions[number].rows)

    for name in ("noise", "sharpness", "tree"):
        every = [found._replace(**{name: value}) for value in getattr(choices, name)]
        found = race(every, len(divisions), rank)
    if len(choices.n_rounds) > 1 or (len(choices.max_depth) > 1 and choices.n_rounds[0] > 0):
        chosen = [made(found, number) for number in range(len(divisions))]
        losses = mean_losses(chosen, divisions, choices.n_rounds, choices.max_depth, plans.options)
        n_rounds, max_depth = min(losses, key=losses.__getitem__)
        found = found._replace(n_rounds=n_rounds, max_depth=max_depth)
    return found


def _number(samples: Rows, fraction: float) -> int:
    """The number of validation sets: more of them for small tables."""
    return int(np.clip(np.ceil(WANTED_VALIDATION / max(1.0, fraction * len(samples))), 1, MOST_DIVISIONS))


def _divided(plans: AcquirerPlans, pool: PoolColumns, samples: Rows, fraction: float, seed: int) -> _Division:
    training, rows = hold_out(samples, fraction, seed, samples.y)
    if len(np.unique(training.y)) < len(np.unique(samples.y)):
        training = samples  # whole queries were held out, and a class is missing
    rows = rows.take(np.arange(min(len(rows), MOST_VALIDATION)))
    return _Division(training, rows, plans.mixture(training, pool, seed))
