"""Learn to sort mail: features of mails, measured prices, and four models that hand over to each other."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from examples.email_triage.extractors import SOURCES, Letter
from examples.email_triage.mails import Mail
from numpy.typing import NDArray

from miserly import Costs, GreedyMiserClassifier, Handover
from miserly.runtime import Receipt

__all__ = ["PRICES", "extract", "learn", "measure_costs", "strongest", "table", "used"]

PRICES = Path(__file__).with_name("prices.csv")
THRESHOLD = 0.9  # chosen on mails of seeds 0 and 1


def extract(letter: Letter) -> dict[str, float]:
    """All features of a mail, the cheap ones first."""
    return {name: value for source in SOURCES.values() for name, value in source(letter).items()}


def table(mails: Sequence[Mail]) -> tuple[NDArray[np.float64], NDArray[np.str_]]:
    """All features of some mails, and their labels."""
    rows = [list(extract(Letter(mail.raw)).values()) for mail in mails]
    return np.array(rows), np.array([mail.label for mail in mails])


def measure_costs(mails: Sequence[Mail]) -> Costs:
    """Prices in milliseconds: the mean time of each extractor on mails.

    Each letter is used once, because it keeps what was parsed. Extractors are called in their order, so
    that the first one that needs the parts of a mail pays for parsing them.
    """
    return Costs.measure(SOURCES, [Letter(mail.raw) for mail in mails], repeats=1, price="mean")


def strongest(costs: Costs, budget: float | None = None) -> GreedyMiserClassifier:
    """The model for all features, or for those that a budget pays for."""
    return GreedyMiserClassifier(costs=costs, budget=budget, tradeoff=0.0, max_depth=3, n_rounds=60, step=0.2)


def learn(mails: Sequence[Mail], costs: Costs | None = None, threshold: float = THRESHOLD) -> Handover:
    """A model for each extractor and those before it; mails that it is not sure of go on to the next one."""
    costs = Costs.read(PRICES) if costs is None else costs
    model = strongest(costs)
    for budget in np.cumsum(costs.setup)[-2::-1]:
        model = Handover(strongest(costs, float(budget)), model, threshold=threshold)
    return model.fit(*table(mails))


def used(receipt: Receipt) -> list[str]:
    """The extractors that a request has called, in order."""
    costs = receipt.plan.costs
    groups = (int(costs.group[costs.index(name)]) for name in receipt.acquired)
    return [costs.group_names[g] for g in dict.fromkeys(groups)]
