"""Trees, forests and boosted trees of scikit-learn.

Trees and forests compare ``float32(x) <= threshold``; histogram-based boosting compares ``x <= threshold``. A
plan compares in float64, so a threshold of the first kind becomes the largest float64 that goes left.

A forest averages its trees. Scores are sums over trees, and the link divides them. The link "proportions"
divides the score of each class by the sum over classes; the link "average" divides a number by the number of
trees. So every node of the chain answers with the forest of the trees so far.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from miserly.errors import DataError
from miserly.learners.wrap.adopt.folding.columns import Categories, Column
from miserly.learners.wrap.adopt.folding.folding import fold
from miserly.learners.wrap.adopt.folding.search import largest_true
from miserly.learners.wrap.adopt.folding.transformers import columns_after, input_columns
from miserly.learners.wrap.adopt.folding.trees import unit_tree
from miserly.learners.wrap.adopt.model import Addend, AdoptedModel
from miserly.learners.wrap.adopt.scikit.parts import (
    Rounds,
    common_parts,
    one_target,
    refuse_rounds,
    rounds_of,
)
from miserly.plan.terms import Tree

__all__ = ["read_forest", "read_gradient_boosting", "read_hist_gradient_boosting", "read_single_tree"]

Floats = NDArray[np.float64]

# The weight of the answer of a forest before its first tree, and of the term that breaks ties. Rounding
# removes it from any sum with another number, so sums are exactly those of scikit-learn.
_TRACE = 1e-300


def read_single_tree(model: Any, rounds: Rounds = None) -> AdoptedModel:
    """Read a decision tree or extra tree."""
    refuse_rounds(model, rounds)
    return _averaged(model, [model], common_parts(model, "tree_"))


def read_forest(model: Any, rounds: Rounds = None) -> AdoptedModel:
    """Read a random forest or extra trees."""
    refuse_rounds(model, rounds)
    parts = common_parts(model, "estimators_")
    return _averaged(model, model.estimators_, parts)


def _averaged(model: Any, members: Sequence[Any], parts: dict[str, Any]) -> AdoptedModel:
    one_target(model, int(model.n_outputs_))
    trees = [member.tree_ for member in members]
    thresholds = _thresholds(trees)
    is_classifier = parts["classes"] is not None
    n_values = len(parts["classes"]) if is_classifier else 1
    terms: list[Tree] = []
    steps: list[list[Addend]] = []
    for tree, threshold in zip(trees, thresholds, strict=True):
        steps.append([Addend(len(terms) + c, c) for c in range(n_values)])
        terms += [_plan_tree(tree, threshold, tree.value[:, 0, c]) for c in range(n_values)]
    start = np.mean([tree.value[0, 0, :n_values] for tree in trees], axis=0)
    if is_classifier:
        return _classes(terms, steps, start, parts)
    count = len(terms)
    terms.append(unit_tree())
    steps = [[*step, Addend(count, 1)] for step in steps]
    base = _TRACE * np.append(start, 1.0)
    return AdoptedModel("numbers", terms, steps, base, link="average", **parts)


def _classes(terms: Any, steps: Any, start: Floats, parts: dict[str, Any]) -> AdoptedModel:
    if len(parts["classes"]) < 2:
        raise DataError("the model has one class only and always predicts it")
    return AdoptedModel("classes", terms, steps, _TRACE * start, link="proportions", **parts)


def _thresholds(trees: Sequence[Any]) -> list[Floats]:
    """The float64 thresholds that are equivalent to comparisons in float32."""
    given = np.concatenate([tree.threshold for tree in trees])
    kinds, place = np.unique(given, return_inverse=True)
    found = largest_true(lambda x: x.astype(np.float32).astype(np.float64) <= kinds, len(kinds))
    bounds = np.cumsum([len(tree.threshold) for tree in trees])[:-1]
    return np.split(found[place.ravel()], bounds)


def _plan_tree(tree: Any, threshold: Floats, value: Floats) -> Tree:
    inner = tree.children_left >= 0
    return Tree(
        np.where(inner, tree.feature, -1),
        np.where(inner, threshold, 0.0),
        np.where(inner, tree.children_left, 0),
        np.where(inner, tree.children_right, 0),
        inner & np.asarray(tree.missing_go_to_left, dtype=np.bool_),
        np.where(inner, 0.0, value),
    )


# -- boosting ------------------------------------------------------------------------------------------------


def read_gradient_boosting(model: Any, rounds: Rounds = None) -> AdoptedModel:
    """Read a `GradientBoostingClassifier` or `GradientBoostingRegressor`."""
    parts = common_parts(model, "estimators_")
    if model.init is not None and not isinstance(model.init, str):
        raise DataError(
            f"the first estimate of this {type(model).__name__} is a {type(model.init).__name__} (init=), "
            "which a plan does not contain; fit it with init=None or 'zero'"
        )
    used = rounds_of(rounds, model.estimators_)
    trees = [member.tree_ for row in model.estimators_ for member in row]
    n_scores = model.estimators_.shape[1]
    # The first estimate is the same for all rows: the scores of one row minus the sum of its trees.
    row = np.zeros((1, model.n_features_in_), dtype=np.float32)
    scores = _scores_of(model, row)
    grown = [[float(one.tree_.predict(row)[0, 0]) for one in line] for line in model.estimators_]
    base = scores - model.learning_rate * np.sum(grown, axis=0)
    first = 0 if rounds is None else rounds[0]
    thresholds = _thresholds(trees)[first * n_scores :]
    terms = [
        _plan_tree(member.tree_, threshold, member.tree_.value[:, 0, 0])
        for member, threshold in zip([one for line in used for one in line], thresholds, strict=False)
    ]
    factor = 2.0 if parts["classes"] is not None and model.loss == "exponential" else 1.0
    weight = factor * model.learning_rate
    read = _boosted(terms, len(used), n_scores, weight, factor * base, parts, "identity")
    return _ties_to_second(read) if read.link == "logistic" else read


def _ties_to_second(model: AdoptedModel) -> AdoptedModel:
    """The model with ties (a score of exactly zero) answered by the second class, as in scikit-learn."""
    *steps, last = model.steps
    trace = Addend(len(model.terms), 0, _TRACE)
    return replace(model, terms=[*model.terms, unit_tree()], steps=[*steps, [*last, trace]])


def _scores_of(model: Any, row: Any) -> Floats:
    unnamed = copy.copy(model)  # a model that was fitted to a frame warns if it is given an array
    vars(unnamed).pop("feature_names_in_", None)
    found = unnamed.decision_function(row) if hasattr(model, "classes_") else unnamed.predict(row)
    return np.atleast_1d(np.asarray(found, dtype=np.float64).ravel())


def _boosted(
    terms: Sequence[Tree], n_rounds: int, n_scores: int, weight: float, base: Floats, parts: dict[str, Any],
    numbers_link: str,
) -> AdoptedModel:  # fmt: skip
    steps = [[Addend(r * n_scores + c, c, weight) for c in range(n_scores)] for r in range(n_rounds)]
    if parts["classes"] is None:
        return AdoptedModel("numbers", terms, steps, base, link=numbers_link, **parts)
    link = "logistic" if n_scores == 1 else "softmax"
    return AdoptedModel("classes", terms, steps, base, link=link, **parts)


def read_hist_gradient_boosting(model: Any, rounds: Rounds = None) -> AdoptedModel:
    """Read a `HistGradientBoostingClassifier` or `HistGradientBoostingRegressor`."""
    parts = common_parts(model, "_predictors")
    used = rounds_of(rounds, model._predictors)
    n_scores = int(model.n_trees_per_iteration_)
    columns: list[Column] = input_columns(parts["n_features"])
    if model._preprocessor is not None:
        columns = columns_after(model._preprocessor, columns, "its encoder of categories")
    terms = [_hist_tree(predictor) for line in used for predictor in line]
    base = np.asarray(model._baseline_prediction, dtype=np.float64).ravel()
    link = "exp" if getattr(model, "loss", "") in ("poisson", "gamma") else "identity"
    read = _boosted(terms, len(used), n_scores, 1.0, base, {**parts, "feature_names": None}, link)
    if not any(isinstance(column, Categories) for column in columns):
        return _boosted(terms, len(used), n_scores, 1.0, base, parts, link)
    return fold(read, columns, parts["n_features"], parts["feature_names"])


def _hist_tree(predictor: Any) -> Tree:
    nodes = predictor.nodes
    inner = nodes["is_leaf"] == 0
    categorical = inner & (nodes["is_categorical"] != 0)
    words = np.asarray(predictor.raw_left_cat_bitsets, dtype=np.uint32).reshape(-1, 8)
    return Tree(
        np.where(inner, nodes["feature_idx"], -1),
        np.where(inner & ~categorical, nodes["num_threshold"], 0.0),
        np.where(inner, nodes["left"], 0).astype(np.int64),
        np.where(inner, nodes["right"], 0).astype(np.int64),
        inner & (nodes["missing_go_to_left"] != 0),
        np.where(inner, 0.0, nodes["value"]),
        np.where(categorical, nodes["bitset_idx"], -1).astype(np.int64),
        words,
    )
