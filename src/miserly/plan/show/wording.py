"""How the features, prices, classes and gates of a plan are spoken of, in words and in pictures.

Names come from data, or from files of strangers: characters that would not print (or would turn a terminal
around) are written as escapes, and long names are cut.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from miserly.plan.links import pairs_of
from miserly.plan.nodes import Capacity, Confidence, Gate, Proximity, Rank, Threshold

if TYPE_CHECKING:
    from miserly.plan.plan import Plan

__all__ = ["Wording", "listing", "number", "plain", "plural"]

_LONGEST = 40


class Wording:
    """The words for one plan."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.unit = plain(plan.costs.unit)
        self._decimals = _decimals(plan)

    def feature(self, i: int) -> str:
        name = self.plan.costs.name(i)
        return plain(name) if isinstance(name, str) else f"feature {name}"

    def features(self, columns: Sequence[int], limit: int = 6) -> str:
        """Several features in one phrase; no more than `limit` of them are named."""
        shown = columns if len(columns) <= limit else columns[: limit - 1]
        return listing([self.feature(i) for i in shown], len(columns) - len(shown))

    def group(self, g: int) -> str:
        return plain(self.plan.costs.group_names[g])

    def amount(self, value: float) -> str:
        """A price without its unit, with as many decimals as this plan's prices need."""
        return f"{value:.6g}" if self._decimals is None else f"{value:.{self._decimals}f}"

    def price(self, value: float) -> str:
        return f"{self.amount(value)} {self.unit}" if self.unit else self.amount(value)

    def label(self, i: int) -> str:
        """Class number `i`, in quotes where it is text."""
        if self.plan.classes is None:
            return f"class {i}"
        label = self.plan.classes[i]
        return f'"{plain(label)}"' if isinstance(label, str) else str(label)

    def score(self, channel: int) -> str:
        """The name of one of the scores."""
        plan = self.plan
        if plan.n_scores == 1:
            return "the score"
        if channel < plan.n_outputs and plan.classes is not None and plan.n_outputs > 1:
            if plan.link == "votes":
                i, j = pairs_of(len(plan.classes))[channel]
                return f"the score of {self.label(i)} against {self.label(j)}"
            return f"the score of {self.label(channel)}"
        return f"score {channel + 1}"

    def up(self, gate: Gate) -> str:
        """When an example goes up, as the end of a sentence that begins with "if"."""
        match gate:
            case Threshold(value, channel):
                return f"{self.score(channel)} is above {number(value)}"
            case Confidence(level):
                return f"no class has a probability of {number(level)} or more yet"
            case Proximity(slack, k):
                return f"its score is within {number(slack)} of the {_ordinal(k)} best still in its query"
            case Rank(k):
                return f"it is among the {k} best still in its query"
            case Capacity(share):
                return f"it is among the best {100 * share:.3g} % of its query"
        return "always"

    def low(self, gate: Gate) -> str:
        """When an example goes low."""
        match gate:
            case Threshold(value, channel):
                return f"{self.score(channel)} is at most {number(value)}"
            case Confidence(level):
                return f"a class has a probability of at least {number(level)}"
            case Proximity(slack, k):
                return (
                    f"its score is more than {number(slack)} below the {_ordinal(k)} best still in its query"
                )
            case Rank(k):
                return f"it is not among the {k} best still in its query"
            case Capacity(share):
                return f"it is not among the best {100 * share:.3g} % of its query"
        return "never"

    def question(self, gate: Gate) -> str:
        """What decides at a fork, in few words."""
        match gate:
            case Threshold(value, channel):
                return f"{self.score(channel).removeprefix('the ')} above {number(value)}?"
            case Confidence(level):
                return f"surer than {number(level)}?"
            case Proximity(slack, k):
                return f"within {number(slack)} of the {_ordinal(k)} best?"
            case Rank(k):
                return f"among the {k} best?"
            case Capacity(share):
                return f"among the best {100 * share:.3g} %?"
        return "all go up"

    def short_up(self, gate: Gate) -> str:
        """The upper way, in a word or two."""
        match gate:
            case Threshold(value):
                return f"> {number(value)}"
            case Confidence():
                return "not yet"
        return "yes"

    def short_low(self, gate: Gate) -> str:
        """The lower way, in a word or two."""
        match gate:
            case Threshold(value):
                return f"≤ {number(value)}"
            case Confidence():
                return "surer"
        return "no"


def plain(text: Any, longest: int = _LONGEST) -> str:
    """Text that can be printed in one line, cut if it is long.

    >>> plain("a\\nb"), plain("x" * 50)[-3:]
    ('a\\\\nb', 'xx…')
    """
    text = str(text)[: longest + 1]
    if not text.isprintable():
        text = text.encode("unicode_escape").decode("ascii")
    return text if len(text) <= longest else text[: longest - 1] + "…"


def number(value: float) -> str:
    """A number with up to six digits that matter.

    >>> number(240.0), number(-0.0), number(1 / 3)
    ('240', '0', '0.333333')
    """
    return f"{value + 0.0:.6g}"


def listing(words: Sequence[str], more: int = 0, last: str = "and") -> str:
    """Words with commas, and `last` before the last one.

    >>> listing(["age"]), listing(["age", "sex"], last="or"), listing(["age", "sex"], more=3)
    ('age', 'age or sex', 'age, sex and 3 more')
    """
    words = [*words, f"{more} more"] if more else list(words)
    if len(words) > 1:
        return f"{', '.join(words[:-1])} {last} {words[-1]}"
    return words[0] if words else "nothing"


def plural(count: int, word: str) -> str:
    """A count and its word.

    >>> plural(1, "tree"), plural(2, "tree")
    ('1 tree', '2 trees')
    """
    return f"{count} {word}" if count == 1 else f"{count} {word}s"


def _ordinal(k: int) -> str:
    ending = "th" if k % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(k % 10, "th")
    return f"{k}{ending}"


def _decimals(plan: Plan) -> int | None:
    """0 if all prices are whole, 2 if they are in hundredths, None where digits that matter must do."""
    evaluations = list({term.evaluation for term in plan.terms})
    prices = np.concatenate([plan.costs.feature, plan.costs.setup, evaluations])
    if prices.size and prices.max() > 1e9:
        return None
    for digits in (0, 2):
        if np.allclose(np.round(prices, digits), prices, rtol=0.0, atol=1e-9):
            return digits
    return None
