"""The ways to run a plan: all rows, all rows in stages, and one row step by step."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from miserly.plan.answering import Answering

if TYPE_CHECKING:
    from miserly.costs import RowCosts
    from miserly.plan.engine.batch import Run
    from miserly.plan.engine.query_stepping import QueryTrail
    from miserly.plan.engine.staged import Stage
    from miserly.plan.engine.stepping import Trail

__all__ = ["Runnable"]


class Runnable(Answering):
    """The part of `Plan` that runs it. Engines are imported when they are needed."""

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
        known: Any = None,
        prices: Any = None,
    ) -> Run:
        """Run every row. All predictions of learners, plans and the command line come from here.

        Parameters
        ----------
        X : frame or array of (n, n_features)
            Values as they were when the model was fitted: numbers, or categories where a column has
            categories. Columns of frames are found by name, in any order; those that the plan never reads
            may be missing, and others are ignored. Columns of arrays are found by place.
        budget : float, optional
            No row pays more than this. The budget of the plan holds as well.
        count : {"path", "tree"}, default="path"
            Pay for the splits a row really meets, or for every feature of every tree it evaluates.
        qid : array of (n,), optional
            The query of each row, for list-wise gates. Without it every row is a query of its own.
        compiled : bool, optional
            Use compiled code (the default where numba is installed) or NumPy. Same results.
        n_threads : int, optional
            Threads for large batches (all by default).
        unknown : {"error", "missing"}, default="error"
            A value that is neither a known category nor missing is an error, or counts as missing.
        account : bool, default=True
            If False and there is no budget, `cost` and `acquired` stay zero, which is faster. Scores are the
            same.
        encoded : bool, default=False
            Whether `X` is what `encode` gives: a float32 or float64 matrix, with codes for categories.
        known : bool array of (n, n_features), frame or mapping of bools, or list of features, optional
            What each row has already: it is used without paying, and its group counts as set up. A list of
            names or columns is for all rows.
        prices : array of (n, n_features), frame, mapping or function, optional
            What each row pays instead of the prices of the plan. Columns of a frame, and keys of a mapping,
            name features, or groups for the price of their set-up; the others keep their prices. A function
            takes a mapping of the free features to their values, and gives one of these.

        Returns
        -------
        Run
            With `scores`, `cost` (n,), `acquired` (n, n_features), `exit` (n,) and `amounts`, which
            `labels_from` takes.

        Raises
        ------
        DataError
            If a column is missing, or a value is not what the column held when the model was fitted.
        PlanError
            If compiled code is asked for and numba, or the rule of a gate, is missing.

        Examples
        --------
        >>> from miserly import Costs, Plan
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
        from miserly.plan.engine.batch import encode, run_rows

        rows = X if encoded else encode(self._plan, X, unknown)
        return run_rows(
            self._plan,
            rows,
            budget=budget,
            count=count,
            qid=qid,
            compiled=compiled,
            n_threads=n_threads,
            account=account,
            row_costs=self._row_costs(X, rows, encoded, known, prices),
        )

    def _row_costs(self, X: Any, rows: Any, encoded: bool, known: Any, prices: Any) -> RowCosts | None:
        """What rows know and pay, if it is given."""
        if known is None and prices is None:
            return None
        from miserly.costs import read_row_costs

        return read_row_costs(self._plan.costs, len(rows) if encoded else X, known, prices, len(rows))

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
        known: Any = None,
        prices: Any = None,
    ) -> Iterator[Stage]:
        """Run every row through a chain, and stop after some nodes on the way. Each node runs once.

        Parameters
        ----------
        X : frame or array of (n, n_features)
            As for `run`.
        stops : iterable of int, optional
            Numbers of nodes, rising. By default after each node.
        count : {"path", "tree"}, default="path"
            As for `run`.
        compiled : bool, optional
            As for `run`.
        n_threads : int, optional
            As for `run`.
        unknown : {"error", "missing"}, default="error"
            As for `run`.
        account : bool, default=True
            As for `run`.
        encoded : bool, default=False
            As for `run`.
        known, prices : optional
            As for `run`.

        Returns
        -------
        iterator of Stage
            With `n_nodes`, `scores` (n, n_scores), `acquired` (n, n_features) and `cost` (n,). The arrays are
            not changed later.

        Raises
        ------
        PlanError
            If the plan is not a chain, or has a budget; see `can_stage`.

        Examples
        --------
        >>> from miserly import Costs, Plan
        >>> from miserly.plan import Node, Raw
        >>> nodes = [Node([0], [0], [1.0], [0.0], up=1), Node([1], [0], [1.0], [0.0])]
        >>> plan = Plan(costs=Costs([1.0, 5.0]), terms=[Raw(0), Raw(1)], nodes=nodes, base=[0.0])
        >>> [(stage.scores[0, 0].item(), stage.cost[0].item()) for stage in plan.run_staged([[2.0, 3.0]])]
        [(2.0, 1.0), (5.0, 6.0)]
        """
        from miserly.plan.engine.staged import run_staged

        rows = X if encoded else self.encode(X, unknown)
        return run_staged(
            self._plan,
            rows,
            range(1, len(self._plan.nodes) + 1) if stops is None else stops,
            count=count,
            account=account,
            compiled=compiled,
            n_threads=n_threads,
            row_costs=self._row_costs(X, rows, encoded, known, prices),
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
        array of (n, n_features)
            Float32 or float64. Columns that the plan never reads may be NaN.
        """
        from miserly.plan.engine.batch import encode

        return encode(self._plan, X, unknown)

    def predict(
        self,
        X: Any,
        budget: float | None = None,
        qid: ArrayLike | None = None,
        *,
        unknown: str = "error",
        known: Any = None,
        prices: Any = None,
    ) -> NDArray[Any]:
        """Answers: numbers, or classes.

        Parameters
        ----------
        X : frame or array of (n, n_features)
            As for `run`.
        budget : float, optional
            No row pays more than this.
        qid : array of (n,), optional
            The query of each row. Numbers then rank the documents of each query: a document that a gate
            removed comes below those that the gate kept.
        unknown : {"error", "missing"}, default="error"
            As for `run`.
        known, prices : optional
            As for `run`. They change answers only where there is a budget.

        Returns
        -------
        array of (n,) or (n, n_outputs)
            Entries of `classes` where the plan has classes.
        """
        from miserly.plan.engine.ranking import ranked

        done = self.run(X, budget=budget, qid=qid, unknown=unknown, known=known, prices=prices)
        scores = ranked(done, qid)
        return self.labels_from(_columns(scores), amounts=done.amounts)

    def predict_proba(
        self,
        X: Any,
        budget: float | None = None,
        *,
        unknown: str = "error",
        known: Any = None,
        prices: Any = None,
    ) -> NDArray[np.float64]:
        """Class probabilities, for links that have them.

        Parameters
        ----------
        X : frame or array of (n, n_features)
            As for `run`.
        budget : float, optional
            No row pays more than this.
        unknown : {"error", "missing"}, default="error"
            As for `run`.
        known, prices : optional
            As for `run`. They change answers only where there is a budget.

        Returns
        -------
        array of (n, n_classes)
            One column per class, in the order of `classes`.
        """
        scores = self.run(X, budget=budget, unknown=unknown, known=known, prices=prices).scores
        return self.probabilities_from(_columns(scores))

    def start(
        self,
        known: Mapping[Any, Any] | None = None,
        budget: float | None = None,
        count: str = "path",
        *,
        unknown: str = "error",
        prices: Mapping[Any, float] | None = None,
    ) -> Trail:
        """Begin one row, to be run step by step.

        Parameters
        ----------
        known : mapping of feature to value, optional
            What is known already: used without asking and without paying. The group of such a feature counts
            as set up.
        budget : float, optional
            The row stops before the first thing that does not fit.
        count : {"path", "tree"}, default="path"
            Ask for features as splits meet them, or for all that a term may need at once.
        unknown : {"error", "missing"}, default="error"
            As for `run`.
        prices : mapping of feature or group to float, optional
            Prices that this row pays instead of those of the plan: of features, and of the set-up of groups.

        Returns
        -------
        Trail
            With `next()`, `tell(values)` and `answer()`.

        Examples
        --------
        >>> from miserly import Costs, Plan
        >>> from miserly.plan import Node, Raw
        >>> plan = Plan(costs=Costs({"age": 1.0}), terms=[Raw(0)], nodes=[Node([0], [0], [2.0], [0.0])],
        ...             base=[0.0])
        >>> trail = plan.start()
        >>> while need := trail.next():
        ...     trail.tell({name: 40.0 for name in need})
        >>> float(trail.answer()), trail.cost
        (80.0, 1.0)
        """
        from miserly.plan.engine.stepping import Trail

        return Trail(self._plan, known=known, budget=budget, count=count, unknown=unknown, prices=prices)

    def start_query(
        self,
        n_documents: int,
        budget: float | None = None,
        count: str = "path",
        *,
        unknown: str = "error",
    ) -> QueryTrail:
        """Begin the documents of one query together, as list-wise gates need.

        Parameters
        ----------
        n_documents : int
            The number of documents.
        budget : float, optional
            For each document, as for `start`.
        count : {"path", "tree"}, default="path"
            As for `start`.
        unknown : {"error", "missing"}, default="error"
            As for `run`.

        Returns
        -------
        QueryTrail
            With `next()`, `tell(values)` and `answer()` for all documents.
        """
        from miserly.plan.engine.query_stepping import QueryTrail

        return QueryTrail(self._plan, n_documents, budget=budget, count=count, unknown=unknown)

    def walker(self) -> Callable[[NDArray[Any]], NDArray[np.float64]]:
        """A function from one row to its scores: `run` for one row, prepared once and without accounts.

        It suits a service that answers one request at a time.

        Returns
        -------
        callable
            Takes an array or list of (n_features,), gives scores (n_outputs,). Additive chains of 300 trees
            take about 5 microseconds for an array of float32 or float64. Models whose columns hold categories
            by name take a list or an array of objects, which are looked up first.
        """
        from miserly.plan.engine.row_walker import walker

        return walker(self._plan)


def _columns(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    return scores[:, None] if scores.ndim == 1 else scores
