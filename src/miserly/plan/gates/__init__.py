"""Gates: how a node sends each row up, sends it low, or lets it leave.

*Up* is the way on, or the upper child in a tree of classifiers. *Low* is the other child. Where there is no
such child the row leaves, and the scores of the node are its answer.

A gate is one class. It holds its fields and their check, its number in files and compiled code, its rule in
NumPy and its words. To add a gate, write a class in `kinds`, decorate it with `register`,
and write its compiled rule in `engine.compiled_rules`. Without a compiled rule, plans with the gate run in
NumPy.
"""

from miserly.plan.gates.base import GATES, Gate, ListwiseGate, gate_from_numbers, register
from miserly.plan.gates.kinds import (
    Capacity,
    Confidence,
    Onward,
    Proximity,
    Rank,
    Settled,
    SettledTop,
    Threshold,
)

__all__ = [
    "GATES",
    "Capacity",
    "Confidence",
    "Gate",
    "ListwiseGate",
    "Onward",
    "Proximity",
    "Rank",
    "Settled",
    "SettledTop",
    "Threshold",
    "gate_from_numbers",
    "register",
]
