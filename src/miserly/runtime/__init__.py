"""Running a plan against the world: sources, requests, receipts. Needs NumPy alone."""

from miserly.runtime.faults import Breaker, Unavailable
from miserly.runtime.hooks import SourceCall
from miserly.runtime.interview import Interview, Question
from miserly.runtime.monitor import Drift, Monitor
from miserly.runtime.on_demand import OnDemand
from miserly.runtime.receipt import Acquisition, Receipt
from miserly.runtime.reference import Reference
from miserly.runtime.replies import SourceReport
from miserly.runtime.sources import Priced, Source, batched
from miserly.runtime.what_if import WhatIf

__all__ = [
    "Acquisition",
    "Breaker",
    "Drift",
    "Interview",
    "Monitor",
    "OnDemand",
    "Priced",
    "Question",
    "Receipt",
    "Reference",
    "Source",
    "SourceCall",
    "SourceReport",
    "Unavailable",
    "WhatIf",
    "batched",
]
