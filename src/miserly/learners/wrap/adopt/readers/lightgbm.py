"""Models of LightGBM: boosters, estimators with its scikit-learn API, and text files."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

import numpy as np

from miserly.data.tasks import Task
from miserly.errors import DataError
from miserly.learners.wrap.adopt.files import ModelFile
from miserly.learners.wrap.adopt.model import Addend, AdoptedModel, Origin
from miserly.learners.wrap.adopt.readers.lightgbm_text import (
    MAX_COLUMNS,
    TextModel,
    looks_like_lightgbm,
    parse_text,
)
from miserly.learners.wrap.adopt.readers.lightgbm_trees import read_tree
from miserly.learners.wrap.adopt.registry import Reader, register
from miserly.learners.wrap.adopt.rounds import chosen_rounds
from miserly.utils.checks import shown

__all__ = ["LightGBMReader"]

_LINKS: dict[str, tuple[Task, str]] = {
    **dict.fromkeys(
        ("regression", "regression_l1", "huber", "fair", "quantile", "mape", "custom"),
        ("numbers", "identity"),
    ),
    **dict.fromkeys(("poisson", "gamma", "tweedie"), ("numbers", "exp")),
    "cross_entropy": ("numbers", "share"),
    "cross_entropy_lambda": ("numbers", "softplus"),
    "binary": ("classes", "logistic"),
    "multiclass": ("classes", "softmax"),
    "multiclassova": ("classes", "one_vs_rest"),
    **dict.fromkeys(("lambdarank", "rank_xendcg"), ("ranking", "identity")),
}
_Rounds: TypeAlias = tuple[int, int | None] | None
_Given: TypeAlias = Mapping[Any, Sequence[Any]] | None
_OPTION = re.compile(r"(\w+):([-+.\deE]+)", re.ASCII)


@dataclass(frozen=True)
class _Objective:
    """The task and the link of an objective, and the factor of scores before the link."""

    name: str
    task: Task
    link: str
    factor: float = 1.0


@register
class LightGBMReader(Reader):
    """Reads boosters, estimators and text files of LightGBM.

    It reads models of all objectives, with missing values, categories and averaged outputs (random forests).
    It raises an error for trees with linear models in their leaves.
    """

    reads: ClassVar[str] = "LightGBM boosters, estimators and text files"
    takes_categories: ClassVar[bool] = True

    @staticmethod
    def accepts(source: Any) -> bool:
        """Whether it is a model of LightGBM.

        Parameters
        ----------
        source : object
            A fitted model, or a `ModelFile`.

        Returns
        -------
        bool
        """
        if isinstance(source, ModelFile):
            return looks_like_lightgbm(source.data)
        return type(source).__module__.partition(".")[0] == "lightgbm"

    @staticmethod
    def read(source: Any, *, iterations: _Rounds = None, categories: _Given = None) -> AdoptedModel:
        """Read a model.

        Parameters
        ----------
        source : object
            A fitted model, or a `ModelFile`.
        iterations : tuple of int, optional
            The rounds to use, as in ``range(first, stop)``. By default those up to the best iteration.
        categories : mapping of column name or number to sequence, optional
            The categories of columns. Models of frames with ordered categories do not name their columns.

        Returns
        -------
        AdoptedModel
        """
        if isinstance(source, ModelFile):
            return _adopted(parse_text(source.data), iterations, categories)
        booster = getattr(source, "booster_", source)  # raises if an estimator is not fitted
        if not hasattr(booster, "model_to_string"):
            raise DataError(f"a lightgbm {type(source).__name__} is not a fitted model")
        text = booster.model_to_string() if iterations is None else booster.model_to_string(num_iteration=-1)
        return _adopted(parse_text(text), iterations, categories, getattr(source, "classes_", None))


def _adopted(text: TextModel, iterations: _Rounds, categories: _Given, classes: Any = None) -> AdoptedModel:
    header = text.header
    n_features = header.whole("max_feature_idx", 0, MAX_COLUMNS) + 1
    n_scores = header.whole("num_tree_per_iteration", 1, 1_000_000)
    objective = _objective(header.values.get("objective", "custom"), classes is not None)
    many = objective.link in ("softmax", "one_vs_rest")
    if objective.name != "custom" and many != (n_scores > 1):
        raise DataError(f"objective {objective.name!r} of the LightGBM model has {n_scores} scores")
    if len(text.trees) % n_scores:
        raise DataError(f"the LightGBM model has {len(text.trees)} trees, not {n_scores} in each round")
    first, stop = chosen_rounds(iterations, len(text.trees) // n_scores)
    terms = [read_tree(lines, n_features) for lines in text.trees[first * n_scores : stop * n_scores]]
    factor = objective.factor / (stop - first if "average_output" in header.values else 1)
    steps = [
        [Addend(term, term % n_scores, factor) for term in range(start, start + n_scores)]
        for start in range(0, len(terms), n_scores)
    ]
    read = AdoptedModel(
        objective.task,
        terms,
        steps,
        np.zeros(n_scores),
        n_features,
        link=objective.link,
        classes=None if classes is None or objective.task != "classes" else np.asarray(classes),
        feature_names=_names(text, n_features),
        categories=_categories(text, n_features, categories or {}),
        origin=Origin("lightgbm", header.text("version"), objective.name),
    )
    return read.named(categories=categories)


def _objective(line: str, is_classifier: bool) -> _Objective:
    name, _, rest = line.partition(" ")
    if name not in _LINKS:
        raise DataError(f"the LightGBM model has the objective {shown(name)}, which adopt does not know")
    task, link = _LINKS[name]
    if name == "regression" and "sqrt" in rest.split():
        link = "signed_square"
    if is_classifier and link == "share":
        task, link = "classes", "logistic"
    options = dict(_OPTION.findall(rest))
    factor = 1.0
    if name in ("binary", "multiclassova") and "sigmoid" in options:
        try:
            factor = float(options["sigmoid"])
        except ValueError:
            factor = -1.0
        if not 0.0 < factor < 1e6:
            raise DataError(f"the LightGBM model has the sigmoid {shown(options['sigmoid'])}")
    return _Objective(name, task, link, factor)


def _names(text: TextModel, n_features: int) -> list[str] | None:
    """The names of the columns; None if LightGBM generated them."""
    names = text.header.text("feature_names").split(" ")
    if len(names) != n_features:
        raise DataError(f"the LightGBM model has {n_features} columns and {len(names)} names")
    return None if names == [f"Column_{i}" for i in range(n_features)] else names


def _categories(text: TextModel, n_features: int, given: Mapping[Any, Sequence[Any]]) -> dict[int, list[Any]]:
    """The categories of pandas columns. The file lists them in order, but may not name their columns.

    It is empty if they are all among the given ones, which name the columns.
    """
    known = text.pandas_categories
    lists = [list(values) for values in given.values()]
    if known is None or all(lists.count(one) >= known.count(one) for one in known):
        return {}
    infos = text.header.text("feature_infos").split(" ")
    listed = re.findall(r"\d+", text.parameters.get("categorical_feature", ""), re.ASCII)
    for columns in (
        [int(one) for one in listed],
        [i for i, info in enumerate(infos) if info[:1] != "[" and info != "none"],
    ):
        if len(columns) == len(known) and len(infos) == n_features and max(columns) < n_features:
            return dict(zip(sorted(columns), known, strict=True))
    raise DataError(
        f"the LightGBM model was fitted to a frame with {len(known)} columns of categories, but does not say "
        "which: some are ordered, or other columns count as categorical too. Give categories={column: [...]} "
        f"with {' and '.join(map(shown, known[:3]))}{' and others' if len(known) > 3 else ''}"
    )
