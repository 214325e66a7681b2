"""The plan: a small program over one example that says what to acquire next, or answers.

A plan is inputs with their costs, terms, nodes and a link. It is immutable; running it in batches is in
`batch`, one example at a time in `trail`, saving in `format`, words and pictures in `describe` and `draw`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from miserly.costs import Costs, read_budget
from miserly.data.encoder import Encoder
from miserly.errors import PlanError
from miserly.plan import links
from miserly.plan.nodes import LEAVE, Node
from miserly.plan.terms import Term

if TYPE_CHECKING:
    from miserly.plan.engine.batch import Run
    from miserly.plan.engine.staged import Stage
    from miserly.plan.engine.stepping import QueryTrail, Trail
    from miserly.plan.engine.tables import Tables
    from miserly.plan.show.draw import Drawing

__all__ = ["Plan"]

# Keys of `info`, and what they were called in files of earlier versions.
_GUARANTEES, _GUARANTEED = "guarantees", "guarantees_of"
_EARLIER = {"promises": _GUARANTEES, "promises_of": _GUARANTEED}


class Plan:
    """What a fitted model is: terms over costed features, nodes with gates, and a link.

    Parameters
    ----------
    costs : Costs
        One entry per input column; its names, if it has any, are the input names.
    terms : sequence of Raw, Tree, Kernel
    nodes : sequence of Node
        Node 0 is the root. Children come after their parent, and each has one parent. May be empty: then
        the plan answers its base, for nothing.
    base : array of n_scores
        The scores before any node: the answer of an example that could not afford even the root.
    link : {"identity", "logistic", "softmax", "sign", "votes"}
        With votes there is one output for each pair of three or more classes; see `links.votes`.
    n_outputs : int, optional
        How many of the scores are answers (all of them by default); further channels only steer gates.
    classes : array, optional
        The labels that logistic, softmax, sign and votes answer with.
    categories : mapping of column number to sequence, optional
        The values of categorical columns: position in the sequence is the code that trees use.
    info : mapping, optional
        Anything worth keeping that JSON can hold: which learner, which parameters. Guarantees are under
        `guarantees`, with the `digest` of the plan they hold for under `guarantees_of`. A plan with another
        digest drops them.
    budget : float, optional
        What no example ever pays more than, however the plan is run: it goes where the plan goes, into files
        too. A smaller one can be given for each run, a larger one changes nothing.
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
    ) -> None:
        self.costs = costs
        self.terms = tuple(terms)
        self.nodes = tuple(nodes)
        self.base: NDArray[np.float64] = np.atleast_1d(np.array(base, dtype=np.float64))
        self.link = link
        self.n_outputs = len(self.base) if n_outputs is None else int(n_outputs)
        self.classes: NDArray[Any] | None = None if classes is None else np.asarray(classes)
        self.categories = {int(f): tuple(values) for f, values in (categories or {}).items()}
        self.info = {_EARLIER.get(key, key): note for key, note in (info or {}).items()}
        self.budget = read_budget(budget)
        self._tables: Tables | None = None
        self._digest: str | None = None
        self._answering: Plan | None = None
        self._check()
        self.encoder = Encoder(self.n_features, self.costs.names, self.categories)
        if _GUARANTEES in self.info and self.info.get(_GUARANTEED) != self.digest:
            self.info = _without_guarantees(self.info)

    # -- what it is ----------------------------------------------------------------------------------

    @property
    def n_features(self) -> int:
        return len(self.costs)

    @property
    def n_scores(self) -> int:
        return len(self.base)

    @property
    def listwise(self) -> bool:
        """Whether some gate compares a document with the others of its query."""
        return any(node.gate.listwise for node in self.nodes)

    @property
    def can_rank(self) -> bool:
        """Whether answers are single numbers, by which the documents of a query can be put in order."""
        return self.link == "identity" and self.n_outputs == 1

    @property
    def digest(self) -> str:
        """What tells this plan from others: a hash of all but `info`, the same after saving and loading.

        >>> plan = Plan(costs=Costs([1.0, 2.0]), terms=[], nodes=[], base=[0.5])
        >>> [plan.digest == plan.replace(**part).digest for part in ({"info": {"by": "me"}}, {"base": [0.6]})]
        [True, False]
        """
        if self._digest is None:
            from miserly.plan.store.digest import digest

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

    @property
    def features(self) -> NDArray[np.int64]:
        """The columns that some example might need."""
        used = {t for node in self.nodes for t in node.terms.tolist()}
        mask = np.zeros(self.n_features, dtype=np.bool_)
        for t in used:
            mask[self.terms[t].features] = True
        return np.flatnonzero(mask)

    @property
    def max_cost(self) -> float:
        """The most that an example can pay: everything on the costliest way through, or the plan's budget."""
        from miserly.plan.purchases import costliest

        return min(costliest(self), self.budget)

    @property
    def parents(self) -> NDArray[np.int64]:
        """The parent of each node; -1 for the root."""
        parents = np.full(len(self.nodes), -1, dtype=np.int64)
        for k, node in enumerate(self.nodes):
            for child in (node.up, node.low):
                if child != LEAVE:
                    parents[child] = k
        return parents

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
        """The first `n_nodes` nodes alone; rows that would go past them leave instead."""
        from miserly.plan.compose import keep_nodes

        return keep_nodes(self, np.arange(min(n_nodes, len(self.nodes))))

    def replace(self, **changes: Any) -> Plan:
        """A copy with some parts changed."""
        parts: dict[str, Any] = {
            name: getattr(self, name)
            for name in (
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
            )
        }
        return Plan(**{**parts, **changes})

    # -- running -------------------------------------------------------------------------------------

    def run(
        self,
        X: Any,
        budget: float | None = None,
        count: str = "path",
        qid: ArrayLike | None = None,
        compiled: bool | None = None,
        n_threads: int | None = None,
        *,
        unknown: str = "error",
        account: bool = True,
        encoded: bool = False,
    ) -> Run:
        """Run every row. All predictions of learners, plans and the command line come from here.

        Parameters
        ----------
        X : frame or array of (n, n_features)
            Values as they were when the model was fitted: numbers, or categories where a column has
            categories. Columns of frames are found by name, in any order; those that the plan never reads
            may be missing, and others are ignored. Columns of arrays are found by place.
        budget : float, optional
            No row pays more than this.
        count : {"path", "tree"}, default="path"
            Pay for the splits a row really meets, or for every feature of every tree it evaluates.
        qid : array of (n,), optional
            The query of each row, for list-wise gates. Without it every row is a query of its own.
        compiled : bool, optional
            Use compiled kernels (the default where numba is installed) or plain NumPy. Same results.
        n_threads : int, optional
            Threads for large batches (all by default).
        unknown : {"error", "missing"}, default="error"
            A value that is neither a known category nor missing is an error, or counts as missing.
        account : bool, default=True
            If False and there is no budget, `cost` and `acquired` stay zero, which is faster. Scores are the
            same.
        encoded : bool, default=False
            Whether `X` is what `encode` gives: a float32 or float64 matrix, with codes for categories.

        Returns
        -------
        Run
            With `scores`, `cost` (n,), `acquired` (n, n_features) and `exit` (n,).

        Examples
        --------
        >>> from miserly.plan import Node, Raw
        >>> plan = Plan(costs=Costs({"age": 1.0, "sex": 2.0}), terms=[Raw(1)],
        ...             nodes=[Node([0], [0], [1.0], [0.0])], base=[0.0], categories={1: ("f", "m")})
        >>> run = plan.run([[61, "m"], [40, "f"]])
        >>> run.scores.tolist(), run.cost.tolist()
        ([1.0, 0.0], [2.0, 2.0])
        >>> plan.run([[61, 1], [40, 0]])
        Traceback (most recent call last):
        miserly.errors.DataError: column 'sex' holds numbers, but held categories such as 'f' when the model \
was fitted (row 0: 1)
        """
        from miserly.plan.engine.batch import run_rows

        return run_rows(
            self,
            X if encoded else self.encode(X, unknown),
            budget=budget,
            count=count,
            qid=qid,
            compiled=compiled,
            n_threads=n_threads,
            account=account,
        )

    def run_staged(
        self,
        X: Any,
        stops: Iterable[int] | None = None,
        count: str = "path",
        compiled: bool | None = None,
        n_threads: int | None = None,
        *,
        unknown: str = "error",
        account: bool = True,
        encoded: bool = False,
    ) -> Iterator[Stage]:
        """Run every row through a chain, and stop after some nodes on the way. Each node runs once.

        Parameters
        ----------
        X : frame or array of (n, n_features)
            As for `run`.
        stops : iterable of int, optional
            Numbers of nodes, rising. By default after each node.
        count, compiled, n_threads, unknown, account, encoded
            As for `run`.

        Yields
        ------
        Stage
            With `n_nodes`, `scores` (n, n_scores), `acquired` (n, n_features) and `cost` (n,). The arrays are
            not changed later.

        Raises
        ------
        PlanError
            If the plan is not a chain, or has a budget; see `can_stage`.

        Examples
        --------
        >>> from miserly.plan import Node, Raw
        >>> nodes = [Node([0], [0], [1.0], [0.0], up=1), Node([1], [0], [1.0], [0.0])]
        >>> plan = Plan(costs=Costs([1.0, 5.0]), terms=[Raw(0), Raw(1)], nodes=nodes, base=[0.0])
        >>> [(stage.scores[0, 0].item(), stage.cost[0].item()) for stage in plan.run_staged([[2.0, 3.0]])]
        [(2.0, 1.0), (5.0, 6.0)]
        """
        from miserly.plan.engine.staged import run_staged

        return run_staged(
            self,
            X if encoded else self.encode(X, unknown),
            range(1, len(self.nodes) + 1) if stops is None else stops,
            count=count,
            account=account,
            compiled=compiled,
            n_threads=n_threads,
        )

    def encode(self, X: Any, unknown: str = "error") -> NDArray[Any]:
        """Rows as numbers, with codes for categories: what `run` takes with ``encoded=True``.

        Parameters
        ----------
        X : frame or array of (n, n_features)
            As for `run`.
        unknown : {"error", "missing"}, default="error"
            As for `run`.

        Returns
        -------
        array of (n, n_features), float32 or float64
            Columns that the plan never reads may be NaN.
        """
        from miserly.plan.engine.batch import encode

        return encode(self, X, unknown)

    def predict(
        self,
        X: Any,
        budget: float | None = None,
        qid: ArrayLike | None = None,
        *,
        unknown: str = "error",
    ) -> NDArray[Any]:
        """Answers in the user's terms: numbers, or classes; for the parameters see `run`.

        With `qid`, numbers are there to rank the documents of each query: a document that a gate sent away
        comes below those it kept.
        """
        from miserly.plan.engine.ranking import ranked

        scores = ranked(self.run(X, budget=budget, qid=qid, unknown=unknown), qid)
        return links.labels(self.link, _columns(scores), self.classes)

    def predict_proba(
        self, X: Any, budget: float | None = None, *, unknown: str = "error"
    ) -> NDArray[np.float64]:
        """Class probabilities, for links that have them; for the parameters see `run`."""
        return links.probabilities(self.link, _columns(self.run(X, budget=budget, unknown=unknown).scores))

    def start(
        self,
        known: Mapping[Any, Any] | None = None,
        budget: float | None = None,
        count: str = "path",
        *,
        unknown: str = "error",
    ) -> Trail:
        """Begin one example; see `miserly.plan.engine.stepping.Trail`."""
        from miserly.plan.engine.stepping import Trail

        return Trail(self, known=known, budget=budget, count=count, unknown=unknown)

    def start_query(
        self,
        n_documents: int,
        budget: float | None = None,
        count: str = "path",
        *,
        unknown: str = "error",
    ) -> QueryTrail:
        """Begin the documents of one query together, as list-wise gates need."""
        from miserly.plan.engine.stepping import QueryTrail

        return QueryTrail(self, n_documents, budget=budget, count=count, unknown=unknown)

    @property
    def tables(self) -> Tables:
        """The plan in flat arrays, as compiled code and files want it."""
        if self._tables is None:
            from miserly.plan.engine.tables import Tables

            self._tables = Tables.of(self)
        return self._tables

    def walker(self) -> Callable[[NDArray[Any]], NDArray[np.float64]]:
        """A function from one row to its scores, as fast as it gets; see `batch.walker`."""
        from miserly.plan.engine.batch import walker

        return walker(self)

    # -- keeping and showing ---------------------------------------------------------------------------

    def save(self, path: str | Path) -> None:
        """Write the plan to one file; `miserly.load` reads it back."""
        from miserly.plan.store.format import save

        save(self, path)

    def describe(self) -> str:
        """What the plan does, in words."""
        from miserly.plan.show.describe import describe

        return describe(self)

    def draw(self) -> Drawing:
        """A picture of the plan (SVG; shown by notebooks, saved with `.save("plan.svg")`)."""
        from miserly.plan.show.draw import draw

        return draw(self)

    def __repr__(self) -> str:
        unit = f" {self.costs.unit}" if self.costs.unit else ""
        return (
            f"Plan({len(self.nodes)} nodes, {len(self.terms)} terms, {len(self.features)} of "
            f"{self.n_features} features, at most {self.max_cost:g}{unit})"
        )

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_tables": None, "_answering": None}

    # -- checking --------------------------------------------------------------------------------------

    def _check(self) -> None:
        if self.link not in links.LINKS:
            raise PlanError(f"unknown link {self.link!r}: one of {', '.join(links.LINKS)}")
        if self.base.ndim != 1 or not np.isfinite(self.base).all():
            raise PlanError("the base must be a list of finite scores")
        if not 1 <= self.n_outputs <= self.n_scores:
            raise PlanError(f"{self.n_outputs} outputs of {self.n_scores} scores")
        if links.LINKS[self.link].one_output and self.n_outputs != 1:
            raise PlanError(f"link {self.link!r} answers from one score, not {self.n_outputs}")
        n_labels = links.n_labels(self.link, self.n_outputs)
        if self.classes is not None and self.classes.shape != (n_labels,):
            raise PlanError(f"{self.n_outputs} outputs need {n_labels} classes, not {self.classes.shape}")
        for f, values in self.categories.items():
            if not 0 <= f < self.n_features or len(set(values)) != len(values):
                raise PlanError(f"categories of column {f} are repeated or belong to no column")
        for i, term in enumerate(self.terms):
            self._check_term(i, term)
        for k, node in enumerate(self.nodes):
            self._check_node(k, node)
        children = [c for node in self.nodes for c in (node.up, node.low) if c != LEAVE]
        if self.nodes and sorted(children) != list(range(1, len(self.nodes))):
            raise PlanError("every node but the root must be the child of exactly one node")

    def _check_term(self, i: int, term: Term) -> None:
        if not (np.isfinite(term.evaluation) and term.evaluation >= 0):
            raise PlanError(f"term {i} has an evaluation cost of {term.evaluation}")
        problem = term.problem_in(self.n_features)
        if problem:
            raise PlanError(f"term {i} {problem}")

    def _check_node(self, k: int, node: Node) -> None:
        if node.terms.size and not (node.terms.min() >= 0 and node.terms.max() < len(self.terms)):
            raise PlanError(f"node {k} uses a term that is not among {len(self.terms)}")
        if node.terms.size and not (node.channels.min() >= 0 and node.channels.max() < self.n_scores):
            raise PlanError(f"node {k} adds to a score that is not among {self.n_scores}")
        if node.bias.shape != (self.n_scores,):
            raise PlanError(f"node {k} has a bias of {node.bias.shape} for {self.n_scores} scores")
        for child in (node.up, node.low):
            if child != LEAVE and not k < child < len(self.nodes):
                raise PlanError(f"node {k} leads to node {child}: children come after their parent")
        problem = node.gate.problem_in(self.n_scores, self.link)
        if problem:
            raise PlanError(f"node {k} has {problem}")


def _columns(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    return scores[:, None] if scores.ndim == 1 else scores


def _without_guarantees(info: Mapping[str, Any]) -> dict[str, Any]:
    return {name: note for name, note in info.items() if name not in (_GUARANTEES, _GUARANTEED)}
