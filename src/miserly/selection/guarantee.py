"""Promises about new rows, kept as often as stated: bounds on held-out figures, and certified candidates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Literal, Protocol, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import beta

from miserly.errors import DataError, did_you_mean
from miserly.selection.betting import lowest_level, lowest_limit
from miserly.selection.claims import CostClaims, LossClaims, Units, column, inside

__all__ = [
    "Assurance",
    "HeldOut",
    "Promise",
    "certify",
    "exceed_bound",
    "mean_bound",
    "p_value",
    "read_confidence",
]

Floats = NDArray[np.float64]
Kind = Literal["mean cost", "each row", "loss of metric"]

_SHARES = 1.0 / (1.0 + np.exp(-np.arange(-16.0, 12.0, 0.002)))  # limits tried, of `upper`: 0.2 % apart
_LEVELS = np.exp(-np.arange(0.0, 14.0, 0.05))[1:]  # p-values told apart: by 5 %, down to one in a million
_SCOUTS = 0.1  # the share of rows spent on the order of candidates
_CHANCES = 2  # candidates that may fail before certifying ends: the order is not quite right


# -- bounds ------------------------------------------------------------------------------------------------


def mean_bound(
    values: ArrayLike,
    upper: float,
    confidence: float = 0.95,
    *,
    lower: bool = False,
    groups: ArrayLike | None = None,
) -> float:
    """A bound that the true mean passes with probability `1 - confidence` at most.

    It holds for every number of values and every distribution on [0, upper]; values are independent draws.

    Parameters
    ----------
    values : array of shape (n,)
    upper : float
        The most a value can be, known beforehand and not taken from `values`. What a loose one costs: no
        bound is below about ``3 / n`` of it at 95 %.
    confidence : float, default=0.95
    lower : bool, default=False
        Bound the mean from below instead of from above.
    groups : array of shape (n,), optional
        Rows of a group (query) may depend on each other; groups are independent. The bound is then for the
        mean over groups of each group's mean.

    Notes
    -----
    A test by betting (see `miserly.selection.betting`), turned into a bound. It was chosen because it learns
    how much values vary, as Hoeffding's and Bentkus' bounds do not. From some hundred values on that are not
    skewed the margin is within a tenth of the z-interval's, which promises nothing where they are few or
    skewed. Values are taken in an order drawn once, so that the bound is the same every time and does not
    care how rows were sorted.

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


def p_value(values: ArrayLike, upper: float, limit: float, *, groups: ArrayLike | None = None) -> float:
    """How far `values` speak against "the mean is above limit": small where they refute it.

    If the mean is above `limit`, the p-value is `a` or less with probability `a` at most, for every `a`.

    Examples
    --------
    >>> p_value(np.tile([1.0, 3.0], 50), upper=4.0, limit=2.5) < 0.001
    True
    """
    read = _units(values, upper, groups)
    if limit >= upper:
        return 0.0
    return float(lowest_level(read, float(upper), float(limit), _LEVELS))


def exceed_bound(n_exceed: int, n: int, confidence: float = 0.95) -> float:
    """The share of all rows that are above a limit, at most, if `n_exceed` of `n` were (Clopper, Pearson).

    Examples
    --------
    >>> round(exceed_bound(0, 300), 4)
    0.0099
    """
    read_confidence(confidence)
    if not 0 <= n_exceed <= n or n == 0:
        raise DataError(f"{n_exceed} of {n} rows above a limit: give 0 to n of n rows, n at least 1")
    return 1.0 if n_exceed == n else float(beta.ppf(confidence, n_exceed + 1, n - n_exceed))


# -- promises ----------------------------------------------------------------------------------------------


class HeldOut(Protocol):
    """What a candidate did on held-out rows: all candidates on the same rows, in the same order."""

    @property
    def cost(self) -> Floats:
        """What each row paid."""

    @property
    def value(self) -> Floats:
        """What the metric averages, for each row; higher is better. NaN where there is none."""

    @property
    def upper(self) -> float:
        """The most that a row can cost."""


@dataclass(frozen=True)
class Promise:
    """What a candidate is to keep on new rows.

    Attributes
    ----------
    kind : {"mean cost", "each row", "loss of metric"}
        The mean cost is `limit` at most; a row costs `limit` at most; the mean value is at most `limit`
        below that of the reference.
    limit : float
    confidence : float, default=0.95
        How surely *all* certified candidates keep the promise.
    share : float, default=0
        Of "each row": the share of rows that may cost more. With 0 only candidates that can never cost more
        (`upper`) are certified: rows cannot show that something never happens.
    span : float, default=1
        Of "loss of metric": how far the values of a row can differ at most. 1 for accuracy and NDCG.

    Examples
    --------
    >>> Promise("mean cost", 3.5).confidence
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
                f"{self.kind!r} cannot be promised, only {', '.join(kinds)}{did_you_mean(self.kind, kinds)}"
            )
        read_confidence(self.confidence)
        if not self.limit >= 0.0:
            raise DataError(f"a limit of {self.limit}: give 0 or more")
        if not 0.0 <= self.share < 1.0:
            raise DataError(f"a share of {self.share} of the rows: give 0 or more and less than 1")
        if not 0.0 < self.span < np.inf:
            raise DataError(f"a span of {self.span}: give how far the values of a row can differ, at most")


@dataclass(frozen=True)
class Assurance:
    """What was promised of a model, and what showed it.

    Attributes
    ----------
    text : str
        The promise, in words.
    kind : as of a `Promise`
    limit : float
    confidence : float
        1 where nothing else is possible: a plan that carries a budget never passes it.
    seen : float
        The mean (cost, loss) on the kept rows.
    bound : float
        What the kept rows show of this model taken by itself: `seen` and a margin. Promised is `limit`.
    n_units : int
        How many rows, or queries, showed it; 0 where none had to.
    plan : str
        The `digest` of the plan that it was shown of. It says nothing about any other plan.
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
    candidates: Sequence[HeldOut],
    promise: Promise | Sequence[Promise],
    *,
    order: Sequence[int] | None = None,
    reference: ArrayLike | None = None,
    groups: ArrayLike | None = None,
) -> list[bool]:
    """Which candidates keep a promise (or several), all of them together with the promise's confidence.

    With that confidence no candidate is certified that breaks the promise, so any of the certified may be
    chosen, by whatever figure. That holds however the candidates resemble each other.

    Parameters
    ----------
    candidates : sequence of objects with `cost`, `value` and `upper`
        Each on the same held-out rows, which had no part in fitting it.
    promise : Promise or sequence of Promise
        Several of one confidence are kept together with that confidence.
    order : sequence of int, optional
        The numbers of the candidates, the likeliest to keep the promise first, settled without looking at
        the held-out rows (by what training rows cost, say). None spends a tenth of the rows on it.
    reference : array of shape (n,), optional
        Of "loss of metric": the values of the model to compare with. None compares with all candidates, so
        that nothing more than `limit` is lost to the best of them, whichever that is.
    groups : array of shape (n,), optional
        As in `mean_bound`: which rows belong together.

    Returns
    -------
    list of bool

    Notes
    -----
    Candidates are tested one after the other, each at half the level, until two have failed. To certify a
    wrong one, one of the first two that are wrong has to pass, each with half of what is allowed: so there
    is nothing to pay for the number of candidates, and one in the wrong place does not end it all. Holm's
    correction needs no order, but divides the level by the number of candidates. Several promises are each
    tested at the whole level: one that breaks any of them has to pass the test of that one.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> rng = np.random.default_rng(0)
    >>> cheap, dear = (SimpleNamespace(cost=rng.choice([1.0, most], 400), value=np.ones(400), upper=most)
    ...                for most in (5.0, 9.0))
    >>> certify([cheap, dear], Promise("mean cost", limit=4.0))
    [True, False]
    """
    if not candidates:
        return []
    promises = [promise] if isinstance(promise, Promise) else list(promise)
    claims = [_claims(candidates, one, reference, groups) for one in promises]
    open_claims = [
        [claim for some in claims if not some.is_certain(k) for claim in some.of(k)]
        for k in range(len(candidates))
    ]
    kept = [not some for some in open_claims]
    queue = list(range(len(candidates)) if order is None else _permutation(order, len(candidates)))
    queue = [k for k in queue if not kept[k]]
    if order is None and len(queue) > 1:
        queue.sort(key=lambda k: -min(claim.split(_SCOUTS)[0].margin for claim in open_claims[k]))
        open_claims = [[claim.split(_SCOUTS)[1] for claim in some] for some in open_claims]
    chances = min(_CHANCES, len(queue))
    level = (1.0 - _one_confidence(promises)) / max(chances, 1)
    for k in queue:
        kept[k] = all(claim.is_shown(level) for claim in open_claims[k])
        chances -= not kept[k]
        if chances == 0:
            break
    return kept


def _claims(
    candidates: Sequence[HeldOut], promise: Promise, reference: ArrayLike | None, groups: ArrayLike | None
) -> CostClaims | LossClaims:
    if promise.kind == "loss of metric":
        return LossClaims(candidates, groups, promise.limit, promise.span, reference)
    share = promise.share if promise.kind == "each row" else None
    return CostClaims(candidates, groups, promise.limit, share)


def _one_confidence(promises: Sequence[Promise]) -> float:
    several = {promise.confidence for promise in promises}
    if len(several) != 1:
        raise DataError(f"promises of confidences {sorted(several)}: give one or more, of one confidence")
    return several.pop()


# -- reading -----------------------------------------------------------------------------------------------


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
    """What independent units are worth, in an order drawn once."""
    read = inside(column(values, "values"), upper, "values")
    return Units(groups, len(read)).means(read)
