"""Nodes that read only what a row has bought."""

from __future__ import annotations

from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

if TYPE_CHECKING:
    from miserly.plan.plan import Plan

__all__ = ["chose_last", "node_alone"]

_ALONE: WeakKeyDictionary[Plan, dict[int, Plan]] = WeakKeyDictionary()


def node_alone(plan: Plan, k: int) -> Plan:
    """Node `k`, which reads only what is bought, as a plan that adds its terms to scores that are given.

    In its table, what a row has not bought must be missing.
    """
    found = _ALONE.setdefault(plan, {})
    if k not in found:
        from miserly.plan.compose import node_alone  # it imports plans, and plans import the engine

        found[k] = node_alone(plan, k)
    return found[k]


def chose_last(plan: Plan, k: int) -> bool:
    """Whether a row that left at node `k` chose its last purchases itself, in a node with an acquisition."""
    while plan.nodes[k].bought_only and plan.parents[k] >= 0:
        k = int(plan.parents[k])
    return plan.nodes[k].acquisition is not None
