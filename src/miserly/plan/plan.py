"""The plan: a small program for one row that says which feature to acquire next, or answers.

A plan has inputs with their costs, terms, nodes and a link. `running` has the ways to run it, `engine` the
code that does, `store` its files, `show` its words and pictures.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from miserly.costs import Costs, read_budget
from miserly.data.encoder import Encoder
from miserly.plan import links
from miserly.plan.checking import check_plan
from miserly.plan.decisions import Decision
from miserly.plan.exporting import Exportable
from miserly.plan.metadata import FEATURES, add_metadata, notes_of
from miserly.plan.nodes import LEAVE, Node
from miserly.plan.running import Runnable
from miserly.plan.terms import Term

if TYPE_CHECKING:
    from miserly.plan.engine.tables import Tables
    from miserly.plan.show.draw import Drawing

__all__ = ["Plan"]

_PARTS = [
    "costs",
    "terms",
    "nodes",
    "base",
    "link",
    "n_outputs",
    "classes",
    "categories",
    "info",
    "budget",
    "decision",
]
# Keys of `info`, and what they were called in files of earlier versions.
_GUARANTEES, _GUARANTEED = "guarantees", "guarantees_of"
_EARLIER = {"promises": _GUARANTEES, "promises_of": _GUARANTEED}


class Plan(Runnable, Exportable):
    """What a fitted model is: terms over costed features, nodes with gates, and a link.

    A plan is a small program for one row: it says which feature to acquire next, or answers. It is immutable.

    Parameters
    ----------
    costs : Costs
        One entry per input column; its names, if it has any, are the input names.
    terms : sequence of Term
        What is computed from features: `Raw`, `Tree`, `Kernel`.
    nodes : sequence of Node
        Node 0 is the root. Children come after their parent, and each has one parent. A plan without nodes
        answers its base and costs nothing.
    base : array of n_scores
        The scores before any node: the answer of a row that cannot pay for the root.
    link : str, default="identity"
        How scores become answers: numbers with "identity", "exp", "share", "softplus", "signed_square" and
        "average" (the first score divided by the second one), classes with "logistic", "softmax",
        "proportions", "one_vs_rest", "one_vs_rest_shares", "largest", "sign" and "votes" (one output for each
        pair of classes). "exp", "share", "logistic" and "softmax" with "_single" round to float32.
    n_outputs : int, optional
        How many of the scores are answers (all of them by default); further channels only steer gates.
    classes : array, optional
        The labels that links of classes answer with.
    categories : mapping of column number to sequence, optional
        The values of categorical columns: position in the sequence is the code that trees use.
    info : mapping, optional
        Anything worth keeping that JSON can hold: which learner, which parameters. Guarantees are under
        `guarantees`, with the `digest` of the plan they hold for under `guarantees_of`. A plan with another
        digest drops them. Words for people (see `with_metadata`) are by default those of the costs.
    budget : float, optional
        A cap: no row ever pays more, however the plan is run. The cap is saved with the plan. Runs can be
        given a smaller one; a larger one changes nothing.
    decision : Decision, optional
        Which class or action to answer with, by expected costs. By default the most probable class. Columns
        with amounts that it reads are acquired before anything else.

    Examples
    --------
    >>> from miserly.plan import Node, Raw, Threshold
    >>> nodes = [Node([0], [0], [1.0], [0.0], gate=Threshold(0.0), up=1), Node([1], [0], [1.0], [0.0])]
    >>> plan = Plan(costs=Costs({"age": 1.0, "chol": 5.0}), terms=[Raw(0), Raw(1)], nodes=nodes, base=[0.0])
    >>> plan.run([[-2.0, 7.0], [2.0, 7.0]]).cost.tolist()  # rows with a positive score go on
    [1.0, 6.0]
    """

    def __init__(
        self,
        *,
        costs: Costs,
        terms: Sequence[Term],
        nodes: Sequence[Node],
        base: ArrayLike,
        link: str = "identity",
        n_outputs: int | None = None,
        classes: ArrayLike | None = None,
        categories: Mapping[int, Sequence[Any]] | None = None,
        info: Mapping[str, Any] | None = None,
        budget: float | None = None,
        decision: Decision | None = None,
    ) -> None:
        self.costs = costs
        self.terms = tuple(terms)
        self.nodes = tuple(nodes)
        self._listwise = any(node.gate.listwise for node in self.nodes)
        self.acquires = any(node.acquisition is not None for node in self.nodes)
        self.reads_bought = any(node.bought_only for node in self.nodes)
        self._looks_at_known = any(node.gate.looks_at_known for node in self.nodes)
        self.base: NDArray[np.float64] = np.atleast_1d(np.array(base, dtype=np.float64))
        self.link = link
        self.n_outputs = len(self.base) if n_outputs is None else int(n_outputs)
        self.classes = None if classes is None else np.asarray(classes)
        self.categories = {int(f): tuple(values) for f, values in (categories or {}).items()}
        self.info = {_EARLIER.get(key, key): note for key, note in (info or {}).items()}
        if costs.notes:
            self.info.setdefault(FEATURES, notes_of(costs))
        self.budget = read_budget(budget)
        self.decision = decision
        self._tables: Tables | None = None
        self._digest: str | None = None
        self._answering: Plan | None = None
        self.programs: dict[bool, Any] = {}  # for trails: lists, and arrays for compiled code
        check_plan(self)
        self.encoder = Encoder(self.n_features, self.costs.names, self.categories)
        if _GUARANTEES in self.info and self.info.get(_GUARANTEED) != self.digest:
            self.info = _without_guarantees(self.info)

    # -- what it is ----------------------------------------------------------------------------------

    @property
    def n_features(self) -> int:
        """The number of input columns."""
        return len(self.costs)

    @property
    def n_scores(self) -> int:
        """The number of scores; the first `n_outputs` are answers."""
        return len(self.base)

    @property
    def listwise(self) -> bool:
        """Whether some gate compares a document with the others of its query."""
        return self._listwise

    @property
    def looks_at_known(self) -> bool:
        """Whether answers depend on which features a row has bought, so that runs must keep account."""
        return self._looks_at_known or self.acquires or self.reads_bought

    @property
    def can_rank(self) -> bool:
        """Whether answers are single numbers, by which the documents of a query can be put in order."""
        return links.gives_numbers(self.link) and self.n_outputs == 1

    @property
    def has_probabilities(self) -> bool:
        """Whether the link gives class probabilities."""
        return links.has_probabilities(self.link)

    @property
    def digest(self) -> str:
        """A hash of all parts but `info`, the same after saving and loading.

        >>> plan = Plan(costs=Costs([1.0, 2.0]), terms=[], nodes=[], base=[0.5])
        >>> [plan.digest == plan.replace(**part).digest for part in ({"info": {"by": "me"}}, {"base": [0.6]})]
        [True, False]
        """
        if self._digest is None:
            from miserly.plan.store.packing import digest

            self._digest = digest(self)
        return self._digest

    @property
    def guarantees(self) -> tuple[str, ...]:
        """What is guaranteed for exactly this plan, one sentence each; empty where nothing is."""
        return tuple(self.info.get(_GUARANTEES, ()))

    def with_guarantees(self, guarantees: Sequence[str]) -> Plan:
        """A copy with these guarantees, which must hold for this plan. Plans derived from it have none.

        Parameters
        ----------
        guarantees : sequence of str
            One sentence each. They replace those the plan has.

        Returns
        -------
        Plan

        Examples
        --------
        >>> plan = Plan(costs=Costs([1.0]), terms=[], nodes=[], base=[0.5])
        >>> sure = plan.with_guarantees(["no row costs more than 0"])
        >>> sure.guarantees, sure.replace(base=[0.6]).guarantees
        (('no row costs more than 0',), ())
        """
        added = {_GUARANTEES: list(guarantees), _GUARANTEED: self.digest} if guarantees else {}
        return self.replace(info={**_without_guarantees(self.info), **added})

    def with_metadata(
        self,
        features: Mapping[Any, Mapping[str, Any]] | None = None,
        *,
        title: str | None = None,
        target: str | None = None,
        about: str | None = None,
        classes: Mapping[Any, str] | None = None,
    ) -> Plan:
        """A copy with words for the people who answer its questions. Answers, digest and guarantees stay.

        Parameters
        ----------
        features : mapping of feature to mapping, optional
            Any of `label`, `unit`, `help` and `choices` (value to label). What is not given stays; an empty
            text removes it.
        title : str, optional
            What the plan is called.
        target : str, optional
            What it predicts.
        about : str, optional
            For whom it is, and what to know before using it.
        classes : mapping of class to str, optional
            The names of classes.

        Returns
        -------
        Plan

        Raises
        ------
        PlanError
            If the plan has no such feature, class or value.

        Examples
        --------
        >>> plan = Plan(costs=Costs({"chol": 5.0}), terms=[], nodes=[], base=[0.0])
        >>> plan = plan.with_metadata({"chol": {"label": "Cholesterol", "unit": "mg/dl"}}, title="Heart")
        >>> plan.info
        {'features': {'chol': {'label': 'Cholesterol', 'unit': 'mg/dl'}}, 'title': 'Heart'}
        """
        texts = {"title": title, "target": target, "about": about}
        return self.replace(info=add_metadata(self, features, texts, classes))

    @property
    def features(self) -> NDArray[np.int64]:
        """The columns that some row may need."""
        used = {t for node in self.nodes for t in node.terms.tolist()}
        mask = np.zeros(self.n_features, dtype=np.bool_)
        for t in used:
            mask[self.terms[t].features] = True
        mask[[f for node in self.nodes if node.acquisition for f in node.acquisition.pool]] = True
        mask[list(self.amount_columns)] = True
        return np.flatnonzero(mask)

    @property
    def max_cost(self) -> float:
        """The most that a row can pay: all on the most expensive way, or the budget if that is less."""
        from miserly.plan.purchases import costliest

        return min(costliest(self), self.budget)

    @property
    def parents(self) -> NDArray[np.int64]:
        """The parent of each node; -1 for the root."""
        parents = np.full(len(self.nodes), -1, dtype=np.int64)
        for k, node in enumerate(self.nodes):
            for child in (node.up, node.low):
                if child > k:  # not LEAVE; children come after their parent
                    parents[child] = k
        return parents

    @property
    def has_forks(self) -> bool:
        """Whether a node has two children. Without forks a plan is a chain, which rows may leave early."""
        return any(LEAVE not in (node.up, node.low) for node in self.nodes)

    @property
    def can_stage(self) -> bool:
        """Whether `run_staged` can run the plan: a chain without gates and without a budget of its own."""
        from miserly.plan.compose import is_chain

        return bool(np.isinf(self.budget)) and is_chain(self)

    @property
    def answering_part(self) -> Plan:
        """The part of the plan that decides its answers; the plan itself but for chains that start again.

        In a chain whose node `k` does not inherit, the nodes before it decide costs and answers under a
        budget, but not the final answer.
        """
        if self._answering is None:
            from miserly.plan.compose import last_restart, segment

            first = last_restart(self)
            self._answering = segment(self, first, len(self.nodes)) if first else self
        return self._answering

    def prefix(self, n_nodes: int) -> Plan:
        """The first nodes alone; rows that would go past them leave instead.

        Parameters
        ----------
        n_nodes : int
            How many nodes to keep.

        Returns
        -------
        Plan
            With the terms that these nodes use, and no others.
        """
        from miserly.plan.compose import keep_nodes

        return keep_nodes(self, np.arange(min(n_nodes, len(self.nodes))))

    def replace(self, **changes: Any) -> Plan:
        """A copy with some parts changed.

        Parameters
        ----------
        **changes : object
            Parameters of `Plan` and their new values.

        Returns
        -------
        Plan
        """
        return Plan(**{**{name: getattr(self, name) for name in _PARTS}, **changes})

    @property
    def tables(self) -> Tables:
        """The plan in flat arrays, as compiled code and files want it."""
        if self._tables is None:
            from miserly.plan.engine.tables import Tables

            self._tables = Tables.of(self)
        return self._tables

    # -- keeping and showing ---------------------------------------------------------------------------

    def save(self, path: str | Path) -> None:
        """Write the plan to one file; `miserly.load` reads it back.

        Parameters
        ----------
        path : str or Path
            A regular file is replaced; a link, a folder, a pipe or a device is refused.
        """
        from miserly.plan.store.format import save

        save(self, path)

    def describe(self) -> str:
        """What the plan does, in words.

        Returns
        -------
        str
            Several paragraphs of plain text.
        """
        from miserly.plan.show.describe import describe

        return describe(self)

    def draw(self) -> Drawing:
        """A picture of the plan.

        Returns
        -------
        Drawing
            An SVG picture. Notebooks show it; ``.save("plan.svg")`` saves it.
        """
        from miserly.plan.show.draw import draw

        return draw(self)

    def __repr__(self) -> str:
        unit = f" {self.costs.unit}" if self.costs.unit else ""
        return (
            f"Plan({len(self.nodes)} nodes, {len(self.terms)} terms, {len(self.features)} of "
            f"{self.n_features} features, at most {self.max_cost:g}{unit})"
        )

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_tables": None, "_answering": None, "programs": {}}


def _without_guarantees(info: Mapping[str, Any]) -> dict[str, Any]:
    return {name: note for name, note in info.items() if name not in (_GUARANTEES, _GUARANTEED)}
