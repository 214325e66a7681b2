"""What outcomes cost: a wrong answer, a right one, or an action such as calling a person.

`OutcomeCosts` is what a user gives. `OutcomeTable` is the same for known classes and rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from miserly.costs.amounts import Amount
from miserly.costs.outcome_files import read_outcome_file
from miserly.costs.outcome_reading import read_amounts, read_array, read_cells, table_from_cells
from miserly.costs.outcome_table import OutcomeTable
from miserly.errors import CostError
from miserly.utils.checks import read_price, refuse_duplicates

__all__ = ["OutcomeCosts", "read_outcomes"]

Floats: TypeAlias = NDArray[np.float64]

_REFER = "refer"  # the name of one further action that has no name


class OutcomeCosts:
    """What each outcome costs: an actual class together with the class or other action that was answered.

    Costs are in the unit of the test costs. Right answers may cost something too. An action is an answer that
    is no class, such as "refer": abstaining, or calling a person, at a price.

    Parameters
    ----------
    costs : mapping, array of two or three dimensions, or array of amounts
        A mapping ``{(actual, answer): cost}`` or ``{actual: {answer: cost}}``; an answer that is no class is
        an action, and ``{"refer": 50}`` is the price of an action for every class. Or a matrix
        ``cost[actual, answer]`` with classes in sorted order and actions in further columns; with one more
        dimension in front, one matrix per row. Or one amount per row, which every wrong answer to that row
        costs. A cost in a mapping may be an array with one amount per row, or the name of a column with the
        amounts, or a factor and a column such as ``"0.02 * amount"``. If the column is a feature of the
        model, its plan decides by the amount of each row.
    classes : sequence, optional
        The classes in the order of the matrix. By default they are sorted.
    actions : sequence of str, optional
        The names of the columns of a matrix that are no classes. A single one is called "refer" by default.
    default : float, optional
        The cost of wrong answers that a mapping leaves out. By default each must be given. Right answers
        cost 0 unless they are given.
    typical : mapping of str to float, optional
        For columns with amounts: the amount that counts where that of a row is not known at prediction. By
        default the mean over the training rows of each class.

    Raises
    ------
    CostError
        If a cost is negative, missing or infinite, or shapes do not fit.

    Examples
    --------
    >>> costs = OutcomeCosts({("ill", "well"): 1000, ("well", "ill"): 50, "refer": 30})
    >>> table = costs.bind(["ill", "well"])
    >>> table.answers
    ('ill', 'well', 'refer')
    >>> table.cost_of(["ill", "ill", "well"], ["well", "refer", "well"]).tolist()
    [1000.0, 30.0, 0.0]
    """

    def __init__(
        self,
        costs: Any,
        *,
        classes: Sequence[Any] | None = None,
        actions: Sequence[str] | None = None,
        default: float | None = None,
        typical: Mapping[str, float] | None = None,
    ) -> None:
        self._classes = None if classes is None else list(np.asarray(classes).tolist())
        self._default = None if default is None else read_price(default, "an outcome that is left out")
        self._cells: dict[tuple[Any, Any], Any] | None = None
        self._array: Floats | None = None
        if isinstance(costs, Mapping):
            if actions is not None:
                raise CostError("a mapping names its actions itself; `actions` is for a matrix")
            self._cells = read_cells(costs)
            self._actions: tuple[str, ...] = ()
        else:
            if default is not None:
                raise CostError("`default` is for a mapping; a matrix has all its costs")
            self._array = read_array(costs)
            self._actions = () if actions is None else tuple(str(name) for name in actions)
            refuse_duplicates(self._actions, "action")
        self._typical = {name: read_price(one, f"typical {name!r}") for name, one in (typical or {}).items()}
        for name in self._typical:
            if name not in self.columns:
                raise CostError(f"a typical amount of {name!r} is given, but no cost is in that column")

    @classmethod
    def read(
        cls,
        path: str | Path,
        default: float | None = None,
        typical: Mapping[str, float] | None = None,
    ) -> OutcomeCosts:
        """Read outcome costs from a CSV or JSON file.

        Parameters
        ----------
        path : str or Path
            CSV with the columns ``actual,predicted,cost``; an empty cell or ``*`` in `actual` means every
            class. Or JSON: a list of such records, or ``{actual: {predicted: cost}}``. A cost may be the name
            of a column of the data with one amount per row, also with a factor: ``0.02 * amount``.
        default : float, optional
            The cost of wrong answers that the file leaves out.
        typical : mapping of str to float, optional
            As for `OutcomeCosts`.

        Returns
        -------
        OutcomeCosts
            The costs; class names are compared as text.
        """
        try:
            return cls(read_outcome_file(path), default=default, typical=typical)
        except CostError as error:
            raise CostError(f"{path}: {error}" if str(path) not in str(error) else str(error)) from None

    @property
    def columns(self) -> list[str]:
        """The names of columns that hold amounts."""
        return list(dict.fromkeys(cost.column for cost in self._amounts.values()))

    @property
    def _amounts(self) -> dict[tuple[Any, Any], Amount]:
        """The cells that are in columns whose values are not known yet."""
        cells = self._cells or {}
        return {
            pair: cost for pair, cost in cells.items() if isinstance(cost, Amount) and cost.values is None
        }

    def fill(self, column: Callable[[str], ArrayLike]) -> OutcomeCosts:
        """The same costs with the amounts of columns.

        Parameters
        ----------
        column : callable
            From the name of a column to its values.

        Returns
        -------
        OutcomeCosts
            Costs that need no column.
        """
        return self._filled({name: read_amounts(column(name), f"column {name!r}") for name in self.columns})

    def at_typical(self) -> OutcomeCosts:
        """The same costs with the typical amounts of columns, for plans that decide without rows.

        Returns
        -------
        OutcomeCosts
            Costs that need no column.

        Raises
        ------
        CostError
            If there is no typical amount of a column.
        """
        for name in self.columns:
            if name not in self._typical:
                raise CostError(
                    f"outcome costs name the column {name!r}, and there are no rows to take its mean from: "
                    f"give OutcomeCosts(..., typical={{{name!r}: ...}}), or the costs to fit with X and y"
                )
        return self._filled(self._typical)

    def _filled(self, amounts: Mapping[str, Any]) -> OutcomeCosts:
        if not self.columns:
            return self
        filled = copy(self)
        own = {pair: cost.of(amounts[cost.column]) for pair, cost in self._amounts.items()}
        filled._cells = {**(self._cells or {}), **own}
        return filled

    def bind(self, classes: ArrayLike) -> OutcomeTable:
        """The costs for known classes.

        Parameters
        ----------
        classes : array-like
            The classes.

        Returns
        -------
        OutcomeTable
            Costs of these classes, in their order, and of all actions.

        Raises
        ------
        CostError
            If a class has no costs, or names do not match.
        """
        known = np.asarray(classes).tolist()
        if self.columns:
            raise CostError(f"outcome costs name the column {self.columns[0]!r}, which must be filled first")
        if self._cells is not None:
            return table_from_cells(known, self._cells, self._default, self._typical)
        assert self._array is not None
        if self._array.ndim == 1:
            wrong = 1.0 - np.eye(len(known))
            return OutcomeTable(tuple(known), (), self._array[:, None, None] * wrong)
        n_classes, n_answers = self._array.shape[1:]
        listed = known if self._classes is None else self._classes
        if len(listed) != n_classes:
            raise CostError(f"a matrix of outcome costs for {n_classes} classes, but there are {len(listed)}")
        actions = self._actions or ((_REFER,) if n_answers == n_classes + 1 else ())
        if len(actions) != n_answers - n_classes:
            raise CostError(
                f"a matrix of {n_answers} answers for {n_classes} classes needs the names of "
                f"{n_answers - n_classes} actions, not {len(actions)}"
            )
        return OutcomeTable(tuple(listed), actions, self._array).bind(known)

    def cost_of(self, y: ArrayLike, answers: ArrayLike) -> Floats:
        """What answers to rows of known classes cost.

        Parameters
        ----------
        y : array-like of (n,)
            The actual class of each row.
        answers : array-like of (n,)
            The answer to each row: a class or an action.

        Returns
        -------
        array of (n,)
            The cost of each outcome.
        """
        actual, given = np.asarray(y).tolist(), np.asarray(answers).tolist()
        classes = dict.fromkeys([*(self._classes or ()), *actual])
        if self._cells is not None:
            names = {str(label) for label in classes}
            classes |= dict.fromkeys(
                one for one, _ in self._cells if one is not None and str(one) not in names
            )
            return self.bind(list(classes)).cost_of(y, answers)
        classes |= dict.fromkeys(one for one in given if one not in (*self._actions, _REFER))
        return self.bind(self._classes or sorted(classes)).cost_of(y, answers)

    def decide(self, probabilities: ArrayLike, classes: ArrayLike, X: Any = None) -> NDArray[Any]:
        """The answer of least expected cost to each row, by the costs of that row.

        A plan decides by the amounts of each row itself if they are in a column that is one of its features.
        This does it for models of other kinds, and for amounts that are no feature.

        Parameters
        ----------
        probabilities : array-like of (n, n_classes)
            The probability of each class for each row, as `predict_proba` gives them.
        classes : array-like of (n_classes,)
            The classes, in the order of the columns: `classes_` of a model.
        X : frame or mapping, optional
            The rows, if costs name columns with amounts.

        Returns
        -------
        array of (n,)
            Classes and actions.

        Examples
        --------
        >>> costs = OutcomeCosts({("fraud", "fine"): "amount", ("fine", "fraud"): 10})
        >>> costs.decide([[0.9, 0.1], [0.9, 0.1]], ["fine", "fraud"], {"amount": [900, 20]}).tolist()
        ['fraud', 'fine']
        """

        def column(name: str) -> ArrayLike:
            if name not in (getattr(X, "columns", X) if X is not None else ()):
                raise CostError(f"outcome costs name the column {name!r}, which the rows do not have")
            values: ArrayLike = np.asarray(X[name])
            return values

        table: OutcomeTable = read_outcomes(self, classes, column)
        return table.decide(probabilities)

    def __repr__(self) -> str:
        if self._cells is None:
            assert self._array is not None
            return f"OutcomeCosts(array of shape {self._array.shape})"
        return f"OutcomeCosts({self._cells!r})"


def read_outcomes(given: Any, classes: ArrayLike, column: Callable[[str], ArrayLike] | None = None) -> Any:
    """Outcome costs in any form that users give, for known classes.

    Parameters
    ----------
    given : OutcomeCosts, OutcomeTable, mapping or array
        As for `OutcomeCosts`.
    classes : array-like
        The classes.
    column : callable, optional
        From the name of a column to its values, where costs name columns.

    Returns
    -------
    OutcomeTable
        The costs of these classes.
    """
    if isinstance(given, OutcomeTable):
        return given.bind(classes)
    costs = given if isinstance(given, OutcomeCosts) else OutcomeCosts(given)
    if costs.columns:
        if column is None:
            raise CostError(f"outcome costs name the column {costs.columns[0]!r}, but rows have no names")
        costs = costs.fill(column)
    return costs.bind(classes)
