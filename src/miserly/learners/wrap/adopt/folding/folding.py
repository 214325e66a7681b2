"""The model of a pipeline, rewritten as a function of the raw columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from miserly.errors import DataError
from miserly.learners.wrap.adopt.folding.columns import Categories, Column, Numbers, Unread
from miserly.learners.wrap.adopt.folding.trees import fold_trees, indicator_tree, lookup_tree, unit_tree
from miserly.learners.wrap.adopt.model import Addend, AdoptedModel
from miserly.plan.terms import Kernel, Raw, Term, Tree

__all__ = ["fold"]


def fold(
    model: AdoptedModel,
    columns: Sequence[Column],
    n_features: int,
    feature_names: Sequence[str] | None = None,
) -> AdoptedModel:
    """Rewrite a model as a function of raw columns.

    Parameters
    ----------
    model : AdoptedModel
        A model that reads the output columns of the pipeline.
    columns : sequence of Column
        Each output column as a function of a raw column.
    n_features : int
        The number of raw columns.
    feature_names : sequence of str, optional
        Their names.

    Returns
    -------
    AdoptedModel

    Raises
    ------
    DataError
        If a plan cannot give the same answers from raw columns.
    """
    if len(columns) != model.n_features:
        raise DataError(f"the model reads {model.n_features} columns, and the steps make {len(columns)}")
    used = sorted({f for term in model.terms for f in term.features.tolist()})
    known = {j: _read(columns[j], model.categories.get(j)) for j in used}
    categories = _categories(known)
    folded = _Folding(model, known, n_features)
    return replace(
        model,
        terms=folded.terms,
        steps=folded.steps(),
        n_features=n_features,
        feature_names=feature_names,
        categories=categories,
        single=model.single and not any(isinstance(term, Raw) for term in model.terms),  # weights are scaled
    )


def _read(column: Column, own: Sequence[Any] | None) -> Numbers | Categories:
    """A column as the model reads it: codes of the categories `own`, or numbers if `own` is None."""
    if isinstance(column, Unread) and own is None:
        fill = np.nan if column.fill is None else column.fill
        if not isinstance(fill, (int, float)):
            raise DataError(
                f"the model reads numbers from a column whose missing values are replaced by {fill!r}"
            )
        return Numbers(column.source, missing=float(fill))
    if own is None:
        assert not isinstance(column, Unread)
        return column
    codes = {value: float(code) for code, value in enumerate(own)}
    if isinstance(column, Unread):
        missing = np.nan if column.fill is None else codes.get(column.fill, np.nan)
        return Categories(column.source, tuple(own), np.arange(float(len(own))), missing)
    if isinstance(column, Numbers):
        raise DataError("a model reads categories in a column that a step before it makes from numbers")
    table = np.array([codes.get(value, np.nan) for value in column.table.tolist()])
    return replace(column, table=table, missing=codes.get(column.missing, np.nan))


def _categories(known: dict[int, Numbers | Categories]) -> dict[int, Sequence[Any]]:
    """The categories of raw columns. A raw column holds numbers or categories, not both."""
    found: dict[int, Any] = {}
    for column in known.values():
        values = column.values if isinstance(column, Categories) else None
        if found.setdefault(column.source, values) != values:
            raise DataError(
                f"raw column {column.source} is read both as a number and as a category, or with two lists "
                "of categories; give the model a copy of the column with another name"
            )
    return {source: values for source, values in found.items() if values is not None}


@dataclass(eq=False)
class _Folding:
    """The new terms over raw columns, and the mapping from old terms to new ones."""

    model: AdoptedModel
    columns: dict[int, Numbers | Categories]
    n_features: int
    terms: list[Term] = field(default_factory=list)
    _became: dict[int, list[tuple[int, float]]] = field(default_factory=dict)
    _unit: int = -1

    def __post_init__(self) -> None:
        trees = [i for i, term in enumerate(self.model.terms) if isinstance(term, Tree)]
        listed: Any = [self.model.terms[i] for i in trees]
        for i, tree in zip(trees, fold_trees(listed, self.columns), strict=True):
            self._became[i] = [(self._add(tree), 1.0)]
        for i, term in enumerate(self.model.terms):
            if isinstance(term, Raw) and isinstance(self.columns[term.feature], Numbers):
                self._became[i] = self._fold_raw(term)
            elif isinstance(term, Kernel):
                self._became[i] = self._fold_kernel(term)

    def steps(self) -> list[list[Addend]]:
        """The steps of the model. All columns made from one categorical raw column become one table."""
        tables = self._tables()
        found = []
        for step in self.model.steps:
            addends: list[Addend] = []
            for one in step:
                for term, factor in self._became.get(one.term, ()):
                    addends.append(Addend(term, one.channel, one.weight * factor))
                if one.term not in self._became:
                    column = self.columns[self.model.terms[one.term].features[0]]
                    addends += tables.pop(column.source, [])
            if addends:
                found.append(_merged(addends))
        return found

    def _add(self, term: Term) -> int:
        self.terms.append(term)
        return len(self.terms) - 1

    def _constant(self) -> int:
        if self._unit < 0:
            self._unit = self._add(unit_tree())
        return self._unit

    # -- linear models -------------------------------------------------------------------------------------

    def _fold_raw(self, term: Raw) -> list[tuple[int, float]]:
        """A weighted column as the slope times the raw column plus the intercept."""
        column: Any = self.columns[term.feature]
        missing = term.fill if np.isnan(column.missing) else column.missing
        if column.line is None:
            raise DataError(f"a linear model reads raw column {column.source} through a step that clips it")
        slope, intercept = column.line
        if slope == 0.0:
            return [(self._add(indicator_tree(column.source, intercept, missing)), 1.0)]
        found = [(self._add(Raw(column.source, (missing - intercept) / slope, term.evaluation)), slope)]
        return found + [(self._constant(), intercept)] * (intercept != 0.0)

    def _tables(self) -> dict[int, list[Addend]]:
        """For each categorical raw column, the sum that its encoded columns add to each score."""
        sums: dict[tuple[int, int], Any] = {}
        for step in self.model.steps:
            for one in step:
                if one.term in self._became:
                    continue
                term: Any = self.model.terms[one.term]
                column: Any = self.columns[term.feature]
                value = np.append(column.table, column.missing)
                value = one.weight * np.where(np.isnan(value), term.fill, value)
                key = column.source, one.channel
                sums[key] = sums.get(key, 0.0) + value
        found: dict[int, list[Addend]] = {}
        for (source, channel), value in sums.items():
            tree = self._add(lookup_tree(source, value[:-1], float(value[-1])))
            found.setdefault(source, []).append(Addend(tree, channel))
        return found

    # -- kernels -------------------------------------------------------------------------------------------

    def _fold_kernel(self, term: Kernel) -> list[tuple[int, float]]:
        sources = [self.columns[j].source for j in range(self.model.n_features)]
        lines = [
            column.line if isinstance(column, Numbers) else None for _, column in sorted(self.columns.items())
        ]
        if sorted(sources) != list(range(self.n_features)) or any(not line or not line[0] for line in lines):
            raise DataError(
                "a kernel reads all columns at once: the steps before it must scale each raw column, and "
                "neither clip, drop, copy nor encode any"
            )
        place = np.argsort(sources)
        slope, intercept = np.array(lines, dtype=np.float64)[place].T
        assert term.fill is not None and term.scale is not None
        filled = np.array([self.columns[j].missing for j in range(self.model.n_features)])
        fill = (np.where(np.isnan(filled), term.fill, filled)[place] - intercept) / slope
        vector = term.vector[place]
        if term.kernel == "rbf":
            scale = term.scale[place] * slope
            return [
                (self._add(replace(term, vector=(vector - intercept) / slope, fill=fill, scale=scale)), 1.0)
            ]
        moved = float(vector @ intercept)
        if term.kernel == "linear":
            return [
                (self._add(replace(term, vector=vector * slope, fill=fill)), 1.0),
                (self._constant(), moved),
            ]
        coef0 = term.coef0 + term.gamma * moved
        return [(self._add(replace(term, vector=vector * slope, fill=fill, coef0=coef0)), 1.0)]


def _merged(addends: Sequence[Addend]) -> list[Addend]:
    """Add up the weights of each pair of term and score, and put addends of one term side by side."""
    order = {term: i for i, term in enumerate(dict.fromkeys(one.term for one in addends))}
    weights: dict[tuple[int, int], float] = {}
    for one in addends:
        weights[one.term, one.channel] = weights.get((one.term, one.channel), 0.0) + one.weight
    pairs = sorted(weights.items(), key=lambda item: order[item[0][0]])
    return [Addend(term, channel, weight) for (term, channel), weight in pairs]
