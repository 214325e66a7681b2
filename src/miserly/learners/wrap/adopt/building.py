"""The plan of an adopted model: a chain with one node for each step."""

from __future__ import annotations

from typing import Any

import numpy as np

from miserly.learners.base import bind_costs
from miserly.learners.wrap.adopt.model import AdoptedModel
from miserly.plan import LEAVE, Node, Plan

__all__ = ["build_plan"]


def build_plan(model: AdoptedModel, costs: Any = None) -> Plan:
    """Make the plan of a model.

    Parameters
    ----------
    model : AdoptedModel
        The model.
    costs : Costs, array, mapping of name to cost or None, default=None
        Costs of its columns; by default each costs 1.

    Returns
    -------
    Plan
        A chain without early exits.

    Examples
    --------
    >>> from miserly.learners.wrap.adopt.model import Addend
    >>> from miserly.plan.terms import Raw
    >>> model = AdoptedModel("numbers", [Raw(0)], [[Addend(0, weight=2.0)]], [1.0], n_features=1)
    >>> build_plan(model).predict([[5.0]]).tolist()
    [11.0]
    """
    bound = bind_costs(costs, model.n_features if model.feature_names is None else list(model.feature_names))
    last = len(model.steps) - 1
    nodes = [
        Node(
            np.array([one.term for one in step], dtype=np.int64),
            np.array([one.channel for one in step], dtype=np.int64),
            np.array([one.weight for one in step], dtype=np.float64),
            np.zeros(model.n_scores),
            up=LEAVE if i == last else i + 1,
            single=model.single,
        )
        for i, step in enumerate(model.steps)
    ]
    evaluation = bound.evaluation
    terms = [
        term.with_evaluation(evaluation) if evaluation and len(term.features) else term  # constants are free
        for term in model.terms
    ]
    origin = model.origin
    return Plan(
        costs=bound,
        terms=terms,
        nodes=nodes or [Node([], [], [], np.zeros(model.n_scores))],  # type: ignore[arg-type]
        base=model.base,
        link=model.link,
        classes=None if model.classes is None else np.array(model.classes.tolist()),
        categories=model.categories,
        info={
            "learner": "adopt",
            "library": origin.library,
            "version": origin.version,
            "objective": origin.objective,
        },
    )
