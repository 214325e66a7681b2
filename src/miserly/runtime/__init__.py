"""Running a plan against the world: sources, requests, receipts. Needs NumPy alone."""

from miserly.runtime.faults import Breaker, Unavailable
from miserly.runtime.hooks import SourceCall
from miserly.runtime.interview import Interview, Question
from miserly.runtime.on_demand import OnDemand
from miserly.runtime.receipt import Acquisition, Receipt
from miserly.runtime.sources import Priced, Source, batched

__all__ = [
    "Acquisition",
    "Breaker",
    "Interview",
    "OnDemand",
    "Priced",
    "Question",
    "Receipt",
    "Source",
    "SourceCall",
    "Unavailable",
    "batched",
]
