"""Calls as features: what other models answer, as columns of a table with one price for each model.

A call is a group of features: all that one model says about a row. The group's set-up is the price of asking
the model; its members cost nothing more. Any learner can then decide for which rows a model is worth its
price, and the answers of models that were asked before stay features of the plan.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Self

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import BaseEstimator, TransformerMixin, is_regressor
from sklearn.frozen import FrozenEstimator
from sklearn.utils.validation import check_is_fitted

from miserly.costs import Costs, measure
from miserly.errors import CostError, DataError, did_you_mean
from miserly.learners.wrap.answer_learners import AnswerClassifier, AnswerRegressor
from miserly.learners.wrap.answers import (
    AnswerSource,
    AsyncAnswerSource,
    ModelSource,
    answer_columns,
    check_outputs,
    fitted_to,
    is_estimator,
    model_columns,
    out_of_fold,
    recorded_answers,
    split_rows,
)
from miserly.learners.wrap.call_rows import (
    Columns,
    RowMaker,
    frame_of,
    numbers,
    ordinary_columns,
    own_costs,
    row_count,
    row_of,
)
from miserly.utils.sources import read_signature

__all__ = ["ModelCalls"]

_TIMED = 50  # rows on which models are timed


class ModelCalls(TransformerMixin, BaseEstimator):
    """Makes features of the answers of models: classifiers, language models, persons.

    `fit_transform` gives the table that learners are trained on. It has the answers of each model to each
    row, from models that were trained without that row, and `costs_`, in which each model is a group with one
    price. `sources` gives what `miserly.runtime.OnDemand` calls for a plan that was learned from the table:
    a model is asked only if the plan needs its answer.

    Parameters
    ----------
    models : mapping of str to model
        A model is a scikit-learn classifier or regressor, which is cloned and fitted, one in a
        `sklearn.frozen.FrozenEstimator`, which is used as it is, or a callable, which takes one raw input and
        may be ``async``. A callable answers with text (a label), a number, a pair of label and confidence, a
        mapping of such values by name, or None if it has no answer.
    prices : mapping of str to float or None, default=None
        Price of asking each model. By default models are timed (`miserly.costs.measure`): the price is the
        median duration of a call for one row, in milliseconds.
    outputs : sequence of {"probabilities", "label", "confidence"}, or mapping of model to it, \
default=("probabilities", "confidence")
        What the answer of a classifier is made of. "probabilities" is one column for each class (one for two
        classes), "label" a category, "confidence" the probability of the label.
    costs : Costs, array-like, mapping of name to cost or None, default=None
        Costs of the ordinary features that stand beside the calls. Free by default.
    unit : str or None, default=None
        Unit of all costs. By default that of `costs`, or "ms" if models are timed.
    cv : int, splitter or iterable, default=5
        Folds for the answers to training rows.
    random_state : int or None, default=None
        Random seed of the folds, if `cv` is a number.
    n_jobs : int or None, default=None
        Number of processes that fit models.

    Attributes
    ----------
    models_ : dict of str to model
        The models, fitted to all rows.
    prices_ : dict of str to float
        Price of each model.
    costs_ : Costs
        Costs of the columns of the table.
    columns_ : dict of str to list of str
        Names of the columns of each model.
    categories_ : dict of str to set of str
        Values in the training table of columns that hold categories. Others count as missing later.

    Notes
    -----
    Training rows are answered out of fold, as in stacking [1]_. The answers of a model to the rows that it
    was fitted to are too confident: a learner would trust them too much. Therefore
    ``fit(X, y).transform(X)`` is not ``fit_transform(X, y)``; use `transform` for new rows only. Callables
    and frozen models are assumed not to have seen the training rows.

    A classifier without `predict_proba` gives decision values in the place of probabilities. The confidence
    is then the distance of the best one to the second. One with neither gives its label. The label is that
    of the highest value. A regressor gives one column, "value".

    References
    ----------
    .. [1] D. H. Wolpert, "Stacked Generalization", Neural Networks 5, 1992.

    Examples
    --------
    A cheap rule, and an expert for the rows that the rule leaves unclear:

    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> from miserly import GreedyMiserClassifier, ModelCalls
    >>> from miserly.runtime import OnDemand
    >>> X = np.random.default_rng(0).normal(size=(2000, 3))
    >>> y = X @ [1.0, 1.0, 1.0] > 0
    >>> def rule(x):
    ...     return float(x[0])
    >>> calls = ModelCalls({"rule": rule, "expert": LogisticRegression()}, prices={"rule": 1, "expert": 20})
    >>> table = calls.fit_transform(X, y)
    >>> calls.costs_
    Costs(3 features; total 21; groups rule, expert)
    >>> model = GreedyMiserClassifier(costs=calls.costs_, budget=1).fit(table, y)
    >>> receipt = OnDemand(model, calls.sources()).predict(np.array([2.0, 0.5, -0.1]))
    >>> bool(receipt.answer), receipt.cost, receipt.acquired
    (True, 1.0, ('rule.value',))
    """

    models_: dict[str, Any]
    prices_: dict[str, float]
    costs_: Costs
    columns_: dict[str, list[str]]
    categories_: dict[str, set[str]]

    def __init__(
        self,
        models: Mapping[str, Any],
        *,
        prices: Mapping[str, float] | None = None,
        outputs: Any = ("probabilities", "confidence"),
        costs: Any = None,
        unit: str | None = None,
        cv: Any = 5,
        random_state: int | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.models = models
        self.prices = prices
        self.outputs = outputs
        self.costs = costs
        self.unit = unit
        self.cv = cv
        self.random_state = random_state
        self.n_jobs = n_jobs

    # -- tables --------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None, *, features: Any = None, answers: Any = None) -> Self:
        """Fit the models, and find prices and columns.

        Parameters
        ----------
        X : sequence, array or frame of n rows
            As for `fit_transform`.
        y : array-like of shape (n,), optional
            As for `fit_transform`.
        features : frame or array of shape (n, n_features), optional
            As for `fit_transform`.
        answers : mapping of str to sequence, optional
            As for `fit_transform`.

        Returns
        -------
        self : ModelCalls
            The fitted calls.
        """
        self.fit_transform(X, y, features=features, answers=answers)
        return self

    def fit_transform(self, X: Any, y: Any = None, *, features: Any = None, answers: Any = None) -> Any:
        """Fit the models, and make the training table from answers to rows that they have not seen.

        Parameters
        ----------
        X : sequence, array or frame of n rows
            Raw inputs: texts, arrays, a frame, or whatever the models take.
        y : array-like of shape (n,), optional
            Labels. Needed if a model is fitted.
        features : frame or array of shape (n, n_features), optional
            Ordinary features that stand beside the calls.
        answers : mapping of str to sequence, optional
            Recorded answers of callables to all rows. Callables without them are called once for each row.

        Returns
        -------
        frame
            The ordinary features, then the columns of each model. Of the library of `features`, else of
            pandas or polars.

        Raises
        ------
        DataError
            If a model is neither an estimator nor a callable, or answers do not fit.
        CostError
            If a price is missing, or a callable with recorded answers has none.
        """
        self._check(answers)
        n = row_count(X)
        maker = RowMaker.of(X)
        folds = split_rows(self.models, X, y, self.cv, self.random_state)
        self.models_, self.columns_, self.categories_ = {}, {}, {}
        self._maker = maker
        columns: Columns = {}
        for name, model in self.models.items():
            given = (answers or {}).get(name)
            found = self._learn(name, model, X, y, folds, given, n)
            self.columns_[name] = list(found)
            self.categories_.update(
                (column, {value for value in values if value is not None})
                for column, values in found.items()
                if isinstance(values, list)
            )
            columns.update(found)
        self.prices_ = self._price(X, n, answers or {})
        ordinary = ordinary_columns(features, self.costs, n)
        self.costs_ = self._joint_costs(ordinary, columns)
        return frame_of({**ordinary, **columns}, features)

    def transform(self, X: Any, *, features: Any = None, answers: Any = None) -> Any:
        """Make the table of new rows, for `predict` and `run`: every model answers every row.

        Parameters
        ----------
        X : sequence, array or frame of n rows
            Raw inputs that the models were not fitted to.
        features : frame or array of shape (n, n_features), optional
            Ordinary features, if there were some in `fit_transform`.
        answers : mapping of str to sequence, optional
            Recorded answers of callables. Callables without them are called once for each row.

        Returns
        -------
        frame
            As in `fit_transform`.
        """
        check_is_fitted(self, "costs_")
        n = row_count(X)
        columns: Columns = {}
        for name, source in self._sources().items():
            given = (answers or {}).get(name)
            if isinstance(source, ModelSource):
                rows = source.rows_of(X)
            else:
                rows = [source.read(one) for one in recorded_answers(name, self.models[name], X, given, n)]
            for column in self.columns_[name]:
                values = [row[column] for row in rows]
                columns[column] = values if column in self.categories_ else numbers(values)
        return frame_of({**ordinary_columns(features, self.costs, n), **columns}, features)

    def sources(self, row: Callable[[Any], Any] | None = None) -> dict[str, Any]:
        """Return what asks the models when a plan needs them: the sources of `OnDemand`, by group.

        Parameters
        ----------
        row : callable, optional
            Gives the input of the models, as one row of `X` in `fit`, from the raw input of a request. By
            default they are the same. It must be a named function if sources are to be pickled.

        Returns
        -------
        dict of str to callable
            Sources of classifiers and regressors take many raw inputs at once, so that
            `OnDemand.predict_many` calls a model once for all rows that need it at a step.
        """
        check_is_fitted(self, "costs_")
        return self._sources(row)

    def learners(self) -> list[AnswerClassifier] | list[AnswerRegressor]:
        """Give a learner for each model that answers with this model's own scores or values.

        Returns
        -------
        list of AnswerClassifier, or of AnswerRegressor if no model is a classifier
            Not fitted, in the order of the models. Models without scores of classes are left out.
        """
        check_is_fitted(self, "costs_")
        names = [
            name for name, some in self.columns_.items() if any(one.startswith(f"{name}=") for one in some)
        ]
        if names:
            return [AnswerClassifier(name, costs=self.costs_) for name in names]
        valued = [name for name, some in self.columns_.items() if some == [f"{name}.value"]]
        return [AnswerRegressor(name, costs=self.costs_) for name in valued]

    def _sources(self, row: Callable[[Any], Any] | None = None) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for name, model in self.models_.items():
            columns = self.columns_[name]
            known = {one: self.categories_[one] for one in columns if one in self.categories_}
            if is_estimator(model):
                found[name] = ModelSource(name, model, self._parts(name), known, row, self._maker)
            else:
                kind = AsyncAnswerSource if read_signature(model, name).is_async else AnswerSource
                found[name] = kind(name, model, columns, known, row)
        return found

    # -- one model -----------------------------------------------------------------------------------------

    def _learn(self, name: str, model: Any, X: Any, y: Any, folds: Any, given: Any, n: int) -> Columns:
        """Fit one model, and give the columns of its answers to the training rows."""
        if not is_estimator(model):
            self.models_[name] = model
            return answer_columns(name, recorded_answers(name, model, X, given, n))
        if given is not None:
            raise DataError(f"{name!r} is an estimator and answers itself; leave its recorded answers out")
        parts = self._parts(name)
        if isinstance(model, FrozenEstimator):
            self.models_[name] = model
            return model_columns(name, model, X, parts)
        classes = None if is_regressor(model) else np.unique(np.asarray(y))
        work = Parallel(n_jobs=self.n_jobs)
        *held_out, self.models_[name] = work(
            [
                *(delayed(out_of_fold)(name, model, X, y, fold, parts, classes) for fold in folds),
                delayed(fitted_to)(model, X, y, None),
            ]
        )
        found: Columns = {}
        for column, first in held_out[0].items():
            values = np.full(n, np.nan) if not isinstance(first, list) else np.full(n, None, dtype=object)
            for (_, rows), answers in zip(folds, held_out, strict=True):
                values[rows] = answers[column]
            found[column] = values.tolist() if isinstance(first, list) else values
        return found

    def _parts(self, name: str) -> tuple[str, ...]:
        default = ("probabilities", "confidence")
        parts = self.outputs.get(name, default) if isinstance(self.outputs, Mapping) else self.outputs
        return check_outputs(parts)

    # -- prices --------------------------------------------------------------------------------------------

    def _price(self, X: Any, n: int, answers: Mapping[str, Any]) -> dict[str, float]:
        if self.prices is not None:
            return {name: float(self.prices[name]) for name in self.models}
        sources = self._sources()
        for name, source in sources.items():
            if name in answers or isinstance(source, AsyncAnswerSource):
                raise CostError(f"{name!r} cannot be timed by its recorded answers; give its price")
        samples = [row_of(X, int(i)) for i in np.linspace(0, n - 1, min(n, _TIMED))]
        timed = measure(sources, samples, repeats=3, batch_size=1)
        return {timing.source: timing.warm for timing in timed.timings}

    def _joint_costs(self, ordinary: Columns, columns: Columns) -> Costs:
        own = own_costs(self.costs, ordinary)
        record: dict[str, Any] = (
            own.to_dict(notes=True) if own is not None else {"features": {}, "groups": {}, "unit": ""}
        )
        record["features"] |= dict.fromkeys(columns, 0.0)
        for name, members in self.columns_.items():
            if name in record["groups"]:
                raise CostError(f"{name!r} is a group of the ordinary features and a model")
            record["groups"][name] = {"features": members, "setup": self.prices_[name]}
        record["unit"] = self.unit or record["unit"] or ("ms" if self.prices is None else "")
        return Costs.from_dict(record)

    def _check(self, answers: Mapping[str, Any] | None) -> None:
        if not isinstance(self.models, Mapping) or not self.models:
            raise DataError("models are a mapping of name to model, with at least one")
        for name, model in self.models.items():
            if not isinstance(name, str):
                raise DataError(f"names of models are text, not {name!r}")
            if not is_estimator(model) and not callable(model):
                raise DataError(f"{name!r} must be an estimator or a callable, not {model!r}")
        for what, given in (("answers", answers), ("a price", self.prices)):
            for name in given or ():
                if name not in self.models:
                    raise DataError(
                        f"{what} for {name!r}, which is no model{did_you_mean(name, self.models)}"
                    )
        if self.prices is not None:
            for name in self.models:
                if name not in self.prices:
                    raise CostError(f"no price for {name!r}; give all prices, or none to have models timed")
