"""The limits of a model (a cap, a mean budget, a confidence, a loss of the metric) and of a search."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from numbers import Real

import numpy as np

from miserly.errors import CostError, DataError
from miserly.selection.guarantee import Requirement, read_confidence
from miserly.utils.checks import read_budget

__all__ = ["Request", "SearchBudgets", "read_budgets", "read_requests"]


@dataclass(frozen=True, kw_only=True)
class Request:
    """The limits that a model has to keep.

    Attributes
    ----------
    budget : float
        A cap: no row pays more. Infinite if there is none.
    mean_budget : float
        What rows pay on average, at most. Infinite if there is none.
    confidence : float, optional
        The confidence of the guarantee; None asks for no guarantee.
    max_loss : float, optional
        How much worse the metric may be than that of the best model; None if only budgets count.
    """

    budget: float = np.inf
    mean_budget: float = np.inf
    confidence: float | None = None
    max_loss: float | None = None

    @classmethod
    def read(
        cls,
        budget: float | None,
        mean_budget: float | None,
        confidence: float | None = None,
        max_loss: float | None = None,
    ) -> Request:
        """A request from what a user gives; None is no limit."""
        if max_loss is not None and not (isinstance(max_loss, Real) and 0.0 <= max_loss < np.inf):
            raise DataError(f"max_loss is what may be lost of the metric, 0 or more, not {max_loss!r}")
        if confidence is not None:
            read_confidence(confidence)
            if budget is None and mean_budget is None and max_loss is None:
                raise DataError(
                    "nothing to guarantee: with a confidence give budget, mean_budget or max_loss"
                )
        return cls(
            budget=read_budget(budget),
            mean_budget=read_budget(mean_budget),
            confidence=confidence,
            max_loss=max_loss,
        )

    @property
    def amount(self) -> float:
        """The smaller of the two budgets."""
        return min(self.budget, self.mean_budget)

    @property
    def kind(self) -> str:
        """Which budget `amount` is: "budget" or "mean_budget"."""
        return "budget" if self.budget <= self.mean_budget else "mean_budget"

    @property
    def is_capped(self) -> bool:
        """Whether there is a cap."""
        return self.budget < np.inf

    @property
    def needs_rows(self) -> bool:
        """Whether a guarantee must be shown by guarantee rows; a cap is kept with certainty without them."""
        return self.confidence is not None and (self.mean_budget < np.inf or self.max_loss is not None)

    def requirements(self, span: float) -> list[Requirement]:
        """The requirements that guarantee rows must support."""
        assert self.confidence is not None
        found = []
        if self.mean_budget < np.inf:
            found.append(Requirement("mean cost", self.mean_budget, self.confidence))
        if self.max_loss is not None:
            found.append(Requirement("loss of metric", self.max_loss, self.confidence, span=span))
        return found

    @property
    def words(self) -> str:
        """The limits in words, as in "no model costs ..."."""
        words = [f"{self.mean_budget:g} or less on average"] if self.mean_budget < np.inf else []
        words += [f"{self.budget:g} or less for every row"] if self.is_capped else []
        return " and ".join(words) or "any amount"


def read_requests(
    budgets: Iterable[float], mean_budgets: Iterable[float] | None, default: Sequence[Request]
) -> list[Request]:
    """One request for each cap and for each mean budget, the smallest first; or the `default`."""
    caps = sorted({read_budget(budget) for budget in budgets})
    means = sorted({read_budget(budget) for budget in mean_budgets or ()})
    found = [*(Request(budget=one) for one in caps), *(Request(mean_budget=one) for one in means)]
    return found or list(default)


# -- the budgets of a search ---------------------------------------------------------------------------------

_MOST = 8  # budgets at which one learner is fitted; the others lie between two of these


@dataclass(frozen=True)
class SearchBudgets:
    """The budgets that a search is made for; none if every cost is of interest.

    Attributes
    ----------
    amounts : tuple of float
        Budgets in increasing order.
    on_average : bool
        Whether all of them are mean budgets. Then only one learner is fitted at them first: a model whose
        rows pay different amounts is better at a mean budget, and other hyperparameters find such models.
    """

    amounts: tuple[float, ...] = ()
    on_average: bool = False

    @property
    def caps(self) -> tuple[float, ...]:
        """The budgets, unless all of them are mean budgets."""
        return () if self.on_average else self.amounts

    @property
    def largest(self) -> float:
        """The largest budget; infinite if there is none."""
        return max(self.amounts, default=np.inf)

    def to_fit_at(self, everything: float) -> tuple[float, ...]:
        """The budgets to fit at: the largest first, then each as far as possible from those before it.

        A budget above the cost of `everything` is replaced by that cost. Of many budgets, eight are fitted
        at. A model of a larger budget, stopped early, serves those between.

        >>> SearchBudgets((5.0, 10.0, 20.0, 30.0, 50.0)).to_fit_at(784.0)
        (50.0, 5.0, 20.0, 10.0, 30.0)
        """
        left = sorted({min(budget, everything) for budget in self.amounts if budget > 0.0})
        if not left:
            return ()
        logs = np.log(left)
        order = [len(left) - 1]
        while len(order) < min(len(left), _MOST):
            away = np.abs(logs[:, None] - logs[order]).min(axis=1)
            order.append(int(np.argmax(away)))
        return tuple(left[place] for place in order)


def read_budgets(budgets: Sequence[float]) -> list[float]:
    """Budgets without duplicates, in increasing order."""
    found = sorted({read_budget(budget) for budget in budgets})
    if not found:
        raise CostError("an empty list of budgets")
    return found
