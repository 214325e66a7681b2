"""Checks that the parts of a plan fit each other."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from miserly.errors import PlanError
from miserly.plan import links
from miserly.plan.engine.rest import problem_after
from miserly.plan.nodes import LEAVE, Node
from miserly.plan.terms import Term, Tree

if TYPE_CHECKING:
    from miserly.plan.plan import Plan

__all__ = ["check_plan"]

_SCORES = {1: "one score", 2: "two scores"}


def check_plan(plan: Plan) -> None:
    """Raise `PlanError` if the link, scores, classes, categories, terms or nodes do not fit each other."""
    if plan.link not in links.LINKS:
        raise PlanError(f"unknown link {plan.link!r}: one of {', '.join(links.LINKS)}")
    if plan.base.ndim != 1 or not np.isfinite(plan.base).all():
        raise PlanError("the base must be a list of finite scores")
    if not 1 <= plan.n_outputs <= plan.n_scores:
        raise PlanError(f"{plan.n_outputs} outputs of {plan.n_scores} scores")
    outputs = links.LINKS[plan.link].outputs
    if outputs is not None and plan.n_outputs != outputs:
        raise PlanError(f"link {plan.link!r} answers from {_SCORES[outputs]}, not {plan.n_outputs}")
    n_labels = links.n_labels(plan.link, plan.n_outputs)
    if plan.classes is not None and plan.classes.shape != (n_labels,):
        raise PlanError(f"{plan.n_outputs} outputs need {n_labels} classes, not {plan.classes.shape}")
    if plan.decision is not None:
        plan.decision.check(n_labels, plan.classes, plan.has_probabilities)
        plan.decision.check_columns(plan.n_features, plan.categories)
        if plan.decision.columns and any(node.gate.needs_rest for node in plan.nodes):
            raise PlanError("a gate that waits until the answer is settled suits no decision by own amounts")
    for f, values in plan.categories.items():
        if not 0 <= f < plan.n_features or len(set(values)) != len(values):
            raise PlanError(f"categories of column {f} are repeated or belong to no column")
    for i, term in enumerate(plan.terms):
        _check_term(plan, i, term)
    for k, node in enumerate(plan.nodes):
        _check_node(plan, k, node)
    children = [c for node in plan.nodes for c in (node.up, node.low) if c != LEAVE]
    if plan.nodes and sorted(children) != list(range(1, len(plan.nodes))):
        raise PlanError("every node but the root must be the child of exactly one node")
    if plan.reads_bought:
        _check_what_is_read(plan)
    for k, node in enumerate(plan.nodes):
        problem = problem_after(plan, k) if node.gate.needs_rest else None
        if problem:
            raise PlanError(f"node {k} has {problem}")


def _check_term(plan: Plan, i: int, term: Term) -> None:
    if not (np.isfinite(term.evaluation) and term.evaluation >= 0):
        raise PlanError(f"term {i} has an evaluation cost of {term.evaluation}")
    problem = term.problem_in(plan.n_features)
    if problem:
        raise PlanError(f"term {i} {problem}")


def _check_what_is_read(plan: Plan) -> None:
    """Nodes that read only what is bought read what a row can have: what is acquired on the way to them."""
    acquired = np.zeros((len(plan.nodes) + 1, plan.n_features), dtype=np.bool_)  # the last is before the root
    acquired[-1, list(plan.amount_columns)] = True
    for k, (node, parent) in enumerate(zip(plan.nodes, plan.parents.tolist(), strict=True)):
        acquired[k] = acquired[parent]
        for t in node.paid_terms:
            acquired[k, plan.terms[t].features] = True
        if node.acquisition is not None:
            acquired[k, list(node.acquisition.pool)] = True
        if not node.bought_only:
            continue
        for term in (plan.terms[t] for t in node.terms.tolist()):
            if not (isinstance(term, Tree) and term.evaluation == 0.0):
                raise PlanError(
                    f"node {k} reads only what is bought: its terms must be trees that cost nothing"
                )
            never = term.features[~acquired[k, term.features]]
            if never.size:
                name = plan.costs.name(int(never[0]))
                raise PlanError(
                    f"node {k} reads only what is bought, and no node before it acquires {name!r}"
                )


def _check_node(plan: Plan, k: int, node: Node) -> None:
    if node.terms.size and not (node.terms.min() >= 0 and node.terms.max() < len(plan.terms)):
        raise PlanError(f"node {k} uses a term that is not among {len(plan.terms)}")
    if node.terms.size and not (node.channels.min() >= 0 and node.channels.max() < plan.n_scores):
        raise PlanError(f"node {k} adds to a score that is not among {plan.n_scores}")
    if node.bias.shape != (plan.n_scores,):
        raise PlanError(f"node {k} has a bias of {node.bias.shape} for {plan.n_scores} scores")
    for child in (node.up, node.low):
        if child != LEAVE and not k < child < len(plan.nodes):
            raise PlanError(f"node {k} leads to node {child}: children come after their parent")
    if node.acquisition is not None:
        problem = node.acquisition.problem_in(plan.n_features, plan.n_outputs)
        if problem:
            raise PlanError(f"node {k} has {problem}")
    problem = node.gate.problem_in(plan.n_scores, plan.link)
    if problem:
        raise PlanError(f"node {k} has {problem}")
