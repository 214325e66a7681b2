"""Small plans for tests of the runtime."""

from miserly.costs import Costs
from miserly.plan import Node, Plan, Raw, Tree, category_words

__all__ = ["PATIENT", "heart", "linear"]

PATIENT = {"age": 61.0, "pain": "typical", "chol": 200.0, "fbs": 1.0}


def heart(**changes):
    """Age, pain (a category), then two features of one blood sample, one node after the other."""
    costs = Costs(
        {"age": 1, "pain": 2, "chol": 5, "fbs": 3},
        groups={"blood": {"features": ["chol", "fbs"], "setup": 2}},
        unit="CAD",
    )
    pain = Tree([1, -1, -1], [0, 0, 0], [1, 0, 0], [2, 0, 0], [0, 0, 0], [0, 30.0, -30.0], [0, -1, -1],
                [category_words([1])])  # fmt: skip
    nodes = [Node([t], [0], [1.0], [0.0], up=t + 1 if t < 3 else -1) for t in range(4)]
    parts = {
        "costs": costs, "terms": [Raw(0), pain, Raw(2, fill=150.0), Raw(3)], "nodes": nodes, "base": [-80.0],
        "link": "logistic", "classes": ["well", "ill"], "categories": {1: ("none", "typical")},
    }  # fmt: skip
    return Plan(**{**parts, **changes})


def linear(n, **changes):
    """One node over `n` features of price 1: what it needs is known at once."""
    parts = {
        "costs": Costs.uniform([f"x{i}" for i in range(n)]), "terms": [Raw(i) for i in range(n)],
        "nodes": [Node(list(range(n)), [0] * n, [1.0] * n, [0.0])], "base": [0.0],
    }  # fmt: skip
    return Plan(**{**parts, **changes})
