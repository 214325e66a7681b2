"""Plans small enough to work out by hand, and the rows that go through them."""

from __future__ import annotations

import numpy as np

from miserly.costs import Costs
from miserly.plan import LEAVE, Node, Plan, Raw, Threshold, Tree

COSTS = Costs({"a": 1.0, "b": 10.0, "c": 100.0}, unit="CAD")
ROWS = np.array([[-1.0, 0.0, 0.0], [1.0, -1.0, 0.0], [1.0, 1.0, 0.0], [1.0, 1.0, 9.0]])
LABELS = np.array([1.0, 2.0, 3.0, 6.0])


def node(terms, gate=None, up=LEAVE, low=LEAVE):
    more = {} if gate is None else {"gate": Threshold(gate)}
    return Node(terms, [0] * len(terms), [1.0] * len(terms), [0.0], False, up=up, low=low, **more)


def tree():
    """a > 0? No: node 2 answers. Yes: b > 0? No: leave. Yes: node 3 reads c.

    Of the four rows the first goes to node 2, the second leaves at node 1, two get to node 3.
    """
    nodes = [node([0], 0.0, up=1, low=2), node([1], 0.0, up=3), node([]), node([2])]
    return Plan(costs=COSTS, terms=[Raw(0), Raw(1), Raw(2)], nodes=nodes, base=[0.0])


def cascade():
    """Steps 1 and 2 have one exit after them, step 3 another that no row takes, step 4 is the end.

    Step 1 reads a; step 2 a tree that reads b only where a > 0; steps 3 and 4 nothing and c. Of the four
    rows, two have a score of more than 0 after step 2 (the value of b where a > 0, else -1) and go on.
    """
    maybe_b = Tree(
        feature=[0, -1, 1, -1, -1], threshold=[0.0, 0, 0.0, 0, 0], left=[1, -1, 3, -1, -1],
        right=[2, -1, 4, -1, -1], missing_left=[True] * 5, value=[0, -1.0, 0, -1.0, 1.0],
    )  # fmt: skip
    nodes = [node([0], up=1), node([1], 0.0, up=2), node([], -np.inf, up=3), node([2])]
    return Plan(
        costs=COSTS, terms=[Raw(0), maybe_b, Raw(2)], nodes=nodes, base=[0.0],
        link="logistic", classes=["no", "yes"],
    )  # fmt: skip
