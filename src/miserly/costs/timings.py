"""What measuring sources found: the times of each source, as a table and as costs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from miserly.utils.checks import as_number, is_missing
from miserly.utils.sources import Invalid, Priced, Signature, values_by_name

if TYPE_CHECKING:
    from miserly.costs.costs import Costs

__all__ = ["CALLS", "UNITS", "Measurement", "TimedSource", "Timing"]

UNITS = {"ms": 1e6, "s": 1e9, "us": 1e3}  # nanoseconds
CALLS = ("warm", "new", "cold", "mean")
# First calls with a sample that take so many times longer than later ones, and so many ns, are noted.
_REMEMBERS = 2.0
_NOTICED = 50_000


@dataclass(frozen=True, slots=True)
class Timing:
    """How long one source took. Times are in the unit of the measurement, of sound calls alone.

    Attributes
    ----------
    source : str
        The feature or group that it gets.
    features : tuple of str
        Its features.
    is_group : bool
        Whether it gets several features at once.
    warm, lower, upper : float
        Median and quartiles of calls after the first round.
    mean : float
        Mean of calls after the first round.
    cold : float
        The very first call.
    new : float
        Median of the first calls with each sample, without the very first call.
    calls : int
        How many calls were timed.
    failed_samples : int
        On how many samples some call failed.
    problems : dict of str to int
        What went wrong, and how often.
    """

    source: Any
    features: tuple[Any, ...]
    is_group: bool
    warm: float
    lower: float
    upper: float
    mean: float
    cold: float
    new: float
    calls: int
    failed_samples: int
    problems: dict[str, int]


@dataclass(eq=False)
class TimedSource:
    """A source, and what was seen of it so far. Times are in nanoseconds."""

    key: Any
    function: Callable[..., Any]
    signature: Signature
    batched: bool
    features: list[Any]
    is_group: bool | None  # None until its first result shows it
    is_open: bool  # whether its results tell which features it gets
    cold: float | None = None
    new: list[float] = field(default_factory=list)
    warm: list[float] = field(default_factory=list)
    problems: Counter[str] = field(default_factory=Counter)
    failed: set[int] = field(default_factory=set)
    sound: set[int] = field(default_factory=set)

    @property
    def name(self) -> Any:
        return "+".join(map(str, self.key)) if isinstance(self.key, tuple) else self.key

    def note(self, sample: int, first_round: bool, nanoseconds: float) -> None:
        """Take the time of a sound call."""
        self.sound.add(sample)
        if self.cold is None:
            self.cold = nanoseconds
        else:
            (self.new if first_round else self.warm).append(nanoseconds)

    def fail(self, sample: int, problem: str) -> None:
        self.failed.add(sample)
        self.problems[problem] += 1

    def read(self, result: Any) -> dict[Any, Any]:
        """The values of a result by feature; `Invalid` if it is not sound."""
        result = result.value if isinstance(result, Priced) else result
        if self.is_group is None:
            self.is_group = isinstance(result, Mapping)
            self.features = list(result) if self.is_group else self.features
        if not self.is_group:
            values = {self.features[0]: result}
        elif self.is_open and isinstance(result, Mapping):
            self.features += [name for name in result if name not in self.features]
            values = dict(result)
        else:
            values = values_by_name(result, self.features)
            for name in self.features:
                if name not in values:
                    raise Invalid(f"it gave no value for {name!r}")
        for name, value in values.items():
            _check_value(name, value)
        return values

    def timing(self, factor: float) -> Timing:
        """The times in a unit of `factor` nanoseconds."""
        cold = np.array([self.cold]) / factor
        new = np.array(self.new) / factor if self.new else cold
        warm = np.array(self.warm) / factor if self.warm else new
        lower, median, upper = np.quantile(warm, [0.25, 0.5, 0.75]).tolist()
        return Timing(
            source=self.name,
            features=tuple(self.features),
            is_group=bool(self.is_group),
            warm=median,
            lower=lower,
            upper=upper,
            mean=float(warm.mean()),
            cold=float(cold[0]),
            new=float(np.median(new)),
            calls=1 + len(self.new) + len(self.warm),
            failed_samples=len(self.failed),
            problems=dict(self.problems),
        )


@dataclass(frozen=True)
class Measurement:
    """The times of sources. `print` shows a table, `costs` gives the costs.

    Parameters
    ----------
    timings : tuple of Timing
        One for each source.
    unit : {"ms", "s", "us"}
        Unit of all times.
    price : {"warm", "new", "cold", "mean"}
        Which time of a source is its price.
    n_samples : int
        How many samples there were.
    repeats : int
        How many rounds over the samples.

    Examples
    --------
    >>> from miserly.costs import measure
    >>> found = measure({"length": len}, ["a text"], unit="us", repeats=3)
    >>> found.timings[0].calls, found.costs.unit
    (3, 'us')
    """

    timings: tuple[Timing, ...]
    unit: str
    price: str
    n_samples: int
    repeats: int

    @property
    def costs(self) -> Costs:
        """The prices, to four digits. A group has its price as set-up, and its features cost 0."""
        from miserly.costs.costs import Costs

        features, groups = {}, {}
        for one in self.timings:
            price = float(f"{getattr(one, self.price):.4g}")
            features.update(dict.fromkeys(one.features, 0.0 if one.is_group else price))
            if one.is_group:
                groups[str(one.source)] = {"features": list(one.features), "setup": price}
        if all(isinstance(name, int) for name in features):
            features = dict(sorted(features.items()))
        return Costs(features, groups=groups, unit=self.unit)

    def table(self) -> list[dict[str, Any]]:
        """Return the times as plain values, one row for each source.

        Returns
        -------
        list of dict
            The attributes of `Timing`. A frame can be made from it.
        """
        return [{**asdict(one), "features": list(one.features)} for one in self.timings]

    def to_dict(self) -> dict[str, Any]:
        """Return the measurement as plain values that JSON can hold.

        Returns
        -------
        dict
        """
        names = ("unit", "price", "n_samples", "repeats")
        return {"timings": self.table(), **{name: getattr(self, name) for name in names}}

    def __str__(self) -> str:
        head = ("source", "warm", "quartiles", "cold", "new", "calls")
        rows = [
            (
                str(one.source), _short(one.warm), f"{_short(one.lower)} - {_short(one.upper)}",
                _short(one.cold), _short(one.new), str(one.calls),
            )
            for one in self.timings
        ]  # fmt: skip
        widths = [max(len(row[k]) for row in [head, *rows]) for k in range(len(head))]
        lines = [
            "  ".join(text.ljust(wide) if not k else text.rjust(wide)
                      for k, (text, wide) in enumerate(zip(row, widths, strict=True)))
            for row in [head, *rows]
        ]  # fmt: skip
        plural = "s" if self.n_samples > 1 else ""
        lines.append(f"times in {self.unit}, {self.n_samples} sample{plural}, {self.repeats} rounds")
        return "\n".join([*lines, *self._notes()])

    def _notes(self) -> list[str]:
        notes = []
        for one in self.timings:
            for problem, times in one.problems.items():
                notes.append(f"{one.source} failed {times} times and was not timed then: {problem}")
            noticed = one.new - one.warm > _NOTICED / UNITS[self.unit]
            if noticed and one.new > _REMEMBERS * one.warm and one.calls > 2 * self.repeats:
                notes.append(
                    f"{one.source} takes {one.new / one.warm:.1f} times longer on a sample that it has not "
                    "seen: if it remembers its inputs, price='new' is the price of new inputs"
                )
        return notes

    def __repr__(self) -> str:
        return f"Measurement({len(self.timings)} sources, {self.n_samples} samples, unit={self.unit!r})"


def _short(value: float) -> str:
    return f"{value:.3g}" if value < 1000 else f"{value:.0f}"


def _check_value(name: Any, value: Any) -> None:
    """Raise `Invalid` for what no feature can be."""
    if value is None:
        return
    if is_missing(value):
        raise Invalid(f"it gave NaN for {name!r}; give None where there is no value")
    if np.ndim(value) or isinstance(value, (bytes, Mapping, set, frozenset)):
        raise Invalid(f"it gave {type(value).__name__} for {name!r}, which is one value")
    number = as_number(value)
    if number is not None and np.isinf(number):
        raise Invalid(f"it gave an infinite number for {name!r}")
