"""Compile and load code that every plan needs, before the first request.

``python -m miserly.serve.warming`` does this when an image is built.
"""

from __future__ import annotations

import numpy as np

from miserly.costs import Costs
from miserly.plan import Node, Plan, Raw, Tree
from miserly.runtime import Interview, OnDemand

__all__ = ["warm"]


def warm() -> float:
    """Run a small plan in each way that the service uses. Compiled functions are cached.

    Returns
    -------
    float
        What the answer cost.
    """
    feature, left, right = np.array([1, -1, -1]), np.array([1, 0, 0]), np.array([2, 0, 0])
    tree = Tree(
        feature.astype(np.int32), np.zeros(3), left.astype(np.int32), right.astype(np.int32),
        np.zeros(3, dtype=bool), np.array([0.0, 1.0, -1.0]),
    )  # fmt: skip
    first, second, one, zero = np.array([0]), np.array([1]), np.ones(1), np.zeros(1)
    nodes = [Node(first, first, one, zero, up=1), Node(second, first, one, zero)]
    plan = Plan(
        costs=Costs({"first": 1.0, "second": 2.0}), terms=[Raw(0), tree], nodes=nodes, base=[0.0],
        link="logistic", classes=["no", "yes"],
    )  # fmt: skip
    row = {"first": 1.0, "second": 2.0}
    served = OnDemand(plan)
    receipt = served.predict(row)
    served.predict_many([row, row])
    served.predict(row, deadline=1.0)  # in threads
    served.close()
    asynchronous = OnDemand(plan, {"second": _second})
    asynchronous.predict(row, deadline=1.0)
    asynchronous.close()
    interview = Interview(plan)
    assert interview.question is not None
    interview.reply(1.0)
    interview.what_if(more=1.0)
    return receipt.cost


async def _second(row: dict[str, float]) -> float:
    return row["second"]


if __name__ == "__main__":
    warm()
