"""The program a fitted model is: terms, nodes, batch run, stepping, save and load."""

from miserly.plan.acquisition import MixtureAcquisition
from miserly.plan.decisions import Decision
from miserly.plan.gates import (
    Capacity,
    Confidence,
    Gate,
    Onward,
    Proximity,
    Rank,
    Settled,
    SettledTop,
    Threshold,
)
from miserly.plan.nodes import LEAVE, Node
from miserly.plan.plan import Plan
from miserly.plan.store.format import load
from miserly.plan.terms import Kernel, Raw, Tree, category_words

__all__ = [
    "LEAVE",
    "Capacity",
    "Confidence",
    "Decision",
    "Gate",
    "Kernel",
    "MixtureAcquisition",
    "Node",
    "Onward",
    "Plan",
    "Proximity",
    "Rank",
    "Raw",
    "Settled",
    "SettledTop",
    "Threshold",
    "Tree",
    "category_words",
    "load",
]
