"""Guarantees about new rows: confidence bounds on held-out values, and certified candidates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import beta

from miserly.errors import DataError, did_you_mean
from miserly.selection.claims import CostClaims, LossClaims, Units, column, inside
from miserly.solvers.betting import lowest_limit

if TYPE_CHECKING:
    from miserly.selection.evaluation import Evaluation

__all__ = ["Guarantee", "Requirement", "certify", "exceed_bound", "mean_bound", "read_confidence"]

Floats = NDArray[np.float64]
Kind = Literal["mean cost", "each row", "loss of metric"]

_SHARES = 1.0 / (1.0 + np.exp(-np.arange(-16.0, 12.0, 0.002)))  # limits tried, of `upper`: 0.2 % apart
_ORDER_SHARE = 0.1  # of the rows is used for the order of candidates
_CHANCES = 2  # candidates that may fail before certifying ends


# -- bounds --------------------------------------------------------------------------------------------------


def mean_bound(
    values: ArrayLike,
    upper: float,
    confidence: float = 0.95,
    *,
    lower: bool = False,
    groups: ArrayLike | None = None,
) -> float:
    """A confidence bound on a mean: the true mean is beyond it with probability at most `1 - confidence`.

    It holds for every number of values and every distribution on [0, upper]. Values must be independent.

    Parameters
    ----------
    values : array of shape (n,)
        The values, between 0 and `upper`.
    upper : float
        The largest possible value, known beforehand and not computed from `values`. No bound at 95 % is below
        about ``3 / n`` of it.
    confidence : float, default=0.95
        The probability that the bound holds, at least.
    lower : bool, default=False
        Bound the mean from below instead of from above.
    groups : array of shape (n,), optional
        The group (query) of each row. Rows of a group may depend on each other; groups are independent. The
        bound then is for the mean over groups of their means.

    Returns
    -------
    float
        The bound.

    Notes
    -----
    The bound inverts a test by betting (see `miserly.solvers.betting`). Unlike Hoeffding's and Bentkus'
    bounds, it adapts to the variance of the values. For some hundred values that are not skewed, its margin
    is within a tenth of that of the z-interval, which guarantees nothing if values are few or skewed. Values
    are taken in an order drawn once, so the bound does not depend on how rows are sorted.

    References
    ----------
    I. Waudby-Smith and A. Ramdas. Estimating means of bounded random variables by betting. Journal of the
    Royal Statistical Society B, 2024.

    Examples
    --------
    >>> costs = np.r_[np.full(180, 1.0), np.full(20, 25.0)]
    >>> round(mean_bound(costs, upper=30.0), 2)  # their mean is 3.4
    4.32
    """
    level = 1.0 - read_confidence(confidence)
    read = _units(values, upper, groups)
    if upper == 0.0:
        return 0.0
    if lower:
        return float(upper - lowest_limit(upper - read, float(upper), level, _SHARES))
    return float(lowest_limit(read, float(upper), level, _SHARES))


def exceed_bound(n_exceed: int, n: int, confidence: float = 0.95) -> float:
    """A bound on the share of rows above a limit, if `n_exceed` of `n` rows were (Clopper and Pearson).

    Parameters
    ----------
    n_exceed : int
        The number of rows above the limit.
    n : int
        The number of rows.
    confidence : float, default=0.95
        The probability that the bound holds, at least.

    Returns
    -------
    float
        The upper bound.

    Examples
    --------
    >>> round(exceed_bound(0, 300), 4)
    0.0099
    """
    read_confidence(confidence)
    if not 0 <= n_exceed <= n or n == 0:
        raise DataError(f"{n_exceed} of {n} rows above a limit: give 0 to n of n rows, n at least 1")
    return 1.0 if n_exceed == n else float(beta.ppf(confidence, n_exceed + 1, n - n_exceed))


# -- guarantees ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Requirement:
    """A limit that a candidate must keep on new rows.

    Parameters
    ----------
    kind : {"mean cost", "each row", "loss of metric"}
        The mean cost is at most `limit`; a row costs at most `limit`; the mean value is at most `limit` below
        that of the reference.
    limit : float
        The limit.
    confidence : float, default=0.95
        The probability that *all* certified candidates keep it, at least.
    share : float, default=0
        For "each row": the share of rows that may cost more. With 0, only candidates that can never cost more
        (`max_cost`) are certified: rows cannot show that something never happens.
    span : float, default=1
        For "loss of metric": the largest possible difference between two values of a row. 1 for accuracy
        and NDCG.

    Examples
    --------
    >>> Requirement("mean cost", 3.5).confidence
    0.95
    """

    kind: Kind
    limit: float
    confidence: float = 0.95
    share: float = 0.0
    span: float = 1.0

    def __post_init__(self) -> None:
        kinds = get_args(Kind)
        if self.kind not in kinds:
            raise DataError(
                f"{self.kind!r} cannot be guaranteed, only {', '.join(kinds)}{did_you_mean(self.kind, kinds)}"
            )
        read_confidence(self.confidence)
        if not self.limit >= 0.0:
            raise DataError(f"a limit of {self.limit}: give 0 or more")
        if not 0.0 <= self.share < 1.0:
            raise DataError(f"a share of {self.share} of the rows: give 0 or more and less than 1")
        if not 0.0 < self.span < np.inf:
            raise DataError(f"a span of {self.span}: give how far the values of a row can differ, at most")


@dataclass(frozen=True)
class Guarantee:
    """A guarantee of a model, with the evidence from the guarantee rows.

    Parameters
    ----------
    text : str
        The guarantee in words.
    kind : {"mean cost", "each row", "loss of metric"}
        As of a `Requirement`.
    limit : float
        The limit.
    confidence : float, default=1
        1 if it holds with certainty: a plan never exceeds the budget that it contains.
    seen : float, default=nan
        The mean (cost, loss) on the guarantee rows.
    bound : float, default=nan
        The confidence bound of this model by itself. What is guaranteed is `limit`.
    n_units : int, default=0
        The number of guarantee rows, or queries; 0 if none were needed.
    plan : str, default=""
        The `digest` of the plan. The guarantee does not hold for any other plan.
    """

    text: str
    kind: Kind
    limit: float
    confidence: float = 1.0
    seen: float = np.nan
    bound: float = np.nan
    n_units: int = 0
    plan: str = ""

    def __str__(self) -> str:
        return self.text


def certify(
    candidates: Sequence[Evaluation],
    required: Requirement | Sequence[Requirement],
    *,
    order: Sequence[int] | None = None,
    reference: ArrayLike | None = None,
    groups: ArrayLike | None = None,
) -> list[bool]:
    """Find candidates that all keep a requirement (or several), with its confidence.

    With that confidence, every certified candidate keeps the requirement, so any of them may be chosen, by
    any criterion. This holds however the candidates depend on each other.

    Parameters
    ----------
    candidates : sequence of Evaluation
        Or of any objects with `cost`, `value` (higher is better) and `max_cost`, each on the same held-out
        rows, which had no part in fitting it.
    required : Requirement or sequence of Requirement
        Several of the same confidence are kept together with that confidence.
    order : sequence of int, optional
        The order of the tests: numbers of candidates, the most likely to pass first. It must be found without
        the held-out rows, for example by the costs of training rows. None uses a tenth of the rows to find
        it.
    reference : array of shape (n,), optional
        For "loss of metric": the values of the model to compare with. None compares with all candidates, so
        that at most `limit` is lost to the best of them.
    groups : array of shape (n,), optional
        The group (query) of each row, as in `mean_bound`.

    Returns
    -------
    list of bool
        Whether each candidate is certified.

    Raises
    ------
    DataError
        If values are outside their bounds, or candidates are of different rows.

    Notes
    -----
    Fixed-sequence testing with two chances: candidates are tested one after the other, each at half the
    level, until two have failed. A wrong candidate is certified only if one of the first two wrong ones
    passes, each with probability at most half the level. So the level is not divided by the number of
    candidates, and one failed candidate does not end the tests. Holm's correction needs no order, but divides
    the level by the number of candidates. Several requirements are each tested at the whole level: a
    candidate that violates one of them is certified only if it passes the test of that one.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> rng = np.random.default_rng(0)
    >>> cheap, expensive = (
    ...     SimpleNamespace(cost=rng.choice([1.0, most], 400), value=np.ones(400), max_cost=most)
    ...     for most in (5.0, 9.0)
    ... )
    >>> certify([cheap, expensive], Requirement("mean cost", limit=4.0))
    [True, False]
    """
    if not candidates:
        return []
    requirements = [required] if isinstance(required, Requirement) else list(required)
    claims = [_claims(candidates, one, reference, groups) for one in requirements]
    open_claims = [
        [claim for some in claims if not some.is_certain(k) for claim in some.of(k)]
        for k in range(len(candidates))
    ]
    kept = [not some for some in open_claims]
    queue = list(range(len(candidates)) if order is None else _permutation(order, len(candidates)))
    queue = [k for k in queue if not kept[k]]
    if order is None and len(queue) > 1:
        queue.sort(key=lambda k: -min(claim.split(_ORDER_SHARE)[0].margin for claim in open_claims[k]))
        open_claims = [[claim.split(_ORDER_SHARE)[1] for claim in some] for some in open_claims]
    chances = min(_CHANCES, len(queue))
    level = (1.0 - _one_confidence(requirements)) / max(chances, 1)
    for k in queue:
        kept[k] = all(claim.is_shown(level) for claim in open_claims[k])
        chances -= not kept[k]
        if chances == 0:
            break
    return kept


def _claims(
    candidates: Sequence[Evaluation],
    required: Requirement,
    reference: ArrayLike | None,
    groups: ArrayLike | None,
) -> CostClaims | LossClaims:
    if required.kind == "loss of metric":
        return LossClaims(candidates, groups, required.limit, required.span, reference)
    share = required.share if required.kind == "each row" else None
    return CostClaims(candidates, groups, required.limit, share)


def _one_confidence(requirements: Sequence[Requirement]) -> float:
    several = {one.confidence for one in requirements}
    if len(several) != 1:
        raise DataError(f"confidences {sorted(several)}: give one or more requirements of one confidence")
    return several.pop()


# -- reading -------------------------------------------------------------------------------------------------


def _permutation(order: Sequence[int], n: int) -> list[int]:
    if sorted(order) != list(range(n)):
        raise DataError(f"order {list(order)}: give every number from 0 to {n - 1} once, for {n} candidates")
    return [int(k) for k in order]


def read_confidence(confidence: float) -> float:
    """A confidence as it is given, if it lies between 0 and 1."""
    if isinstance(confidence, bool) or not isinstance(confidence, Real) or not 0.0 < confidence < 1.0:
        raise DataError(f"a confidence of {confidence!r}: give a number between 0 and 1, such as 0.95")
    return confidence


def _units(values: ArrayLike, upper: float, groups: ArrayLike | None) -> Floats:
    """The values of independent units, in an order drawn once."""
    read = inside(column(values, "values"), upper, "values")
    return Units(groups, len(read)).means(read)
