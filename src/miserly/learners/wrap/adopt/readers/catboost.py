"""Models of CatBoost: estimators and JSON files."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from miserly.data.tasks import Task
from miserly.errors import DataError
from miserly.learners.wrap.adopt.files import ModelFile
from miserly.learners.wrap.adopt.model import Addend, AdoptedModel, Origin
from miserly.learners.wrap.adopt.readers.catboost_trees import Columns, read_nested, read_oblivious
from miserly.learners.wrap.adopt.readers.document import Document, parse_json
from miserly.learners.wrap.adopt.registry import Reader, register
from miserly.learners.wrap.adopt.rounds import chosen_rounds
from miserly.plan.terms import MAX_CATEGORY
from miserly.utils.checks import shown

__all__ = ["CatBoostReader"]

_RANKING = (
    "YetiRank",
    "YetiRankPairwise",
    "PairLogit",
    "PairLogitPairwise",
    "QueryRMSE",
    "QuerySoftMax",
    "QueryCrossEntropy",
    "StochasticRank",
    "LambdaMart",
)
_NUMBERS = (
    "RMSE",
    "MAE",
    "Quantile",
    "MultiQuantile",
    "Expectile",
    "LogLinQuantile",
    "Lq",
    "Huber",
    "MAPE",
    "LogCosh",
    "MultiRMSE",
    "MultiRMSEWithMissingValues",
    "Cox",
    "SurvivalAft",
)
_LINKS: dict[str, tuple[Task, str]] = {
    **dict.fromkeys(_NUMBERS, ("numbers", "identity")),
    **dict.fromkeys(("Poisson", "Tweedie"), ("numbers", "exp")),
    **dict.fromkeys(("Logloss", "CrossEntropy", "Focal"), ("classes", "logistic")),
    "MultiClass": ("classes", "softmax"),
    "MultiClassOneVsAll": ("classes", "one_vs_rest"),
    **dict.fromkeys(_RANKING, ("ranking", "identity")),
}
_MAX_COLUMNS = 10_000_000
_WHOLE = re.compile(r"0|-?[1-9]\d{0,15}", re.ASCII)
_VERSION = re.compile(r"tags/v([\d.]+)", re.ASCII)
_JSON = (b'"features_info"', b'"ctr_data"', b'"model_info"', b'"oblivious_trees"')
_Rounds = tuple[int, int | None] | None


@register
class CatBoostReader(Reader):
    """Reads estimators and JSON files of CatBoost.

    It reads oblivious and other trees over numbers and one-hot categories. It raises an error for
    statistics of categories (CTR), text, embeddings and files in the format cbm.
    """

    reads: ClassVar[str] = "CatBoost estimators and JSON files"
    takes_categories: ClassVar[bool] = True

    @staticmethod
    def accepts(source: Any) -> bool:
        """Whether it is a model of CatBoost.

        Parameters
        ----------
        source : object
            A fitted model, or a `ModelFile`.

        Returns
        -------
        bool
        """
        if isinstance(source, ModelFile):
            head = source.data[:4096].lstrip()
            return head[:4] == b"CBM1" or (head[:1] == b"{" and any(name in head for name in _JSON))
        return type(source).__module__.partition(".")[0] == "catboost"

    @staticmethod
    def read(source: Any, *, iterations: _Rounds = None, categories: Any = None) -> AdoptedModel:
        """Read a model.

        Parameters
        ----------
        source : object
            A fitted model, or a `ModelFile`.
        iterations : tuple of int, optional
            The rounds to use, as in ``range(first, stop)``. By default all.
        categories : mapping of column name or number to sequence, optional
            The categories of the categorical columns, for a model object.

        Returns
        -------
        AdoptedModel
        """
        if isinstance(source, ModelFile):
            if source.data[:4] == b"CBM1":
                raise DataError(
                    f"{str(source.path)!r} is a binary file of CatBoost; export the model as JSON: "
                    "CatBoost().load_model(path).save_model('model.json', format='json')"
                )
            if categories is not None:
                raise DataError(
                    "a CatBoost file has its own table of categories; give categories only for a model object"
                )
            return _adopted(parse_json(source.data, "the CatBoost model"), iterations)
        if not hasattr(source, "save_model") or not source.is_fitted():
            raise DataError(f"a catboost {type(source).__name__} is not a fitted model")
        return _adopted(parse_json(_exported(source, categories), "the CatBoost model"), iterations)


def _exported(model: Any, categories: Mapping[Any, Sequence[Any]] | None) -> bytes:
    """The JSON of a model object."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "model.json"
        rows = None if categories is None else _rows_of(model, categories)
        model.save_model(str(path), format="json", pool=rows)
        return path.read_bytes()


def _rows_of(model: Any, categories: Mapping[Any, Sequence[Any]]) -> Any:
    """Rows in which all categories occur. CatBoost exports the hashes of the categories in these rows."""
    import catboost  # it is installed, because the model is one of its objects

    names, held = list(model.feature_names_), list(model.get_cat_feature_indices())
    known: dict[int, list[str]] = {}
    for key, values in categories.items():
        column = names.index(key) if key in names else key
        if column not in held or isinstance(values, str):
            raise DataError(f"categories are given for {shown(key)}, which is not a categorical column")
        known[column] = [str(value) for value in values]
    n_rows = max((len(values) for values in known.values()), default=0) or 1
    table: list[list[Any]] = [["" if c in held else 0.0 for c in range(len(names))] for _ in range(n_rows)]
    for column, texts in known.items():
        for row, text in zip(table, texts, strict=False):
            row[column] = text
    return catboost.Pool(table, cat_features=held, feature_names=names)


def _adopted(top: Document, iterations: _Rounds) -> AdoptedModel:
    info = top.inner("model_info")
    loss = info.inner("params").inner("loss_function").text("type")
    if loss not in _LINKS:
        raise DataError(f"the CatBoost model has the loss {shown(loss)}, which adopt does not know")
    task, link = _LINKS[loss]
    scale, bias = _scale_and_bias(top)
    n_scores = len(bias)
    if (link == "logistic" and n_scores != 1) or (link in ("softmax", "one_vs_rest") and n_scores < 2):
        raise DataError(f"loss {loss!r} of the CatBoost model has {n_scores} scores")
    columns, categories = _columns(top.inner("features_info"))
    oblivious = "oblivious_trees" in top
    read = read_oblivious if oblivious else read_nested
    trees = top.inners("oblivious_trees" if oblivious else "trees")
    first, stop = chosen_rounds(iterations, len(trees))
    terms = [one for tree in trees[first:stop] for one in read(tree, columns, n_scores)]
    steps = [[Addend(i * n_scores + k, k, scale) for k in range(n_scores)] for i in range(stop - first)]
    names = [columns.names.get(c, str(c)) for c in range(max(columns.names) + 1)]
    version = _VERSION.search(str(info.values.get("catboost_version_info", "")))
    return AdoptedModel(
        task,
        terms,
        steps,
        bias if first == 0 else np.zeros(n_scores),
        len(names),
        link=link,
        classes=_classes(info, n_scores) if task == "classes" else None,
        feature_names=None if names == [str(c) for c in range(len(names))] else names,
        categories=categories,
        origin=Origin("catboost", version[1] if version else "", loss),
    )


def _scale_and_bias(top: Document) -> tuple[float, NDArray[np.float64]]:
    given = top.items("scale_and_bias", 2)
    if len(given) != 2:
        raise DataError("'scale_and_bias' of the CatBoost model is not a scale and a list")
    both = Document({"scale": given[0], "bias": given[1] if isinstance(given[1], list) else [given[1]]}, "")
    bias = both.numbers("bias")
    if not len(bias) or not np.isfinite(bias).all():
        raise DataError("'scale_and_bias' of the CatBoost model holds no finite bias")
    return both.number("scale"), bias


def _classes(info: Document, n_scores: int) -> NDArray[Any] | None:
    if "class_params" not in info:
        return None
    params = info.inner("class_params")
    names = params.items("class_names")
    if not names:
        return None
    if len(names) != max(2, n_scores) or not all(type(one) in (str, int, float, bool) for one in names):
        raise DataError(f"the CatBoost model has {n_scores} scores and the classes {shown(names)}")
    return np.array(names)


# -- columns -------------------------------------------------------------------------------------------------


def _columns(info: Document) -> tuple[Columns, dict[int, list[Any]]]:
    """The columns, and the categories of the categorical columns."""
    for name in ("text_features", "embedding_features"):
        if name in info and info.items(name):
            raise DataError(f"the CatBoost model has {name.replace('_', ' ')}, which plans do not have")
    columns = Columns()
    for feature in info.inners("float_features") if "float_features" in info else []:
        treatment = feature.text("nan_value_treatment")
        if treatment not in ("AsIs", "AsFalse", "AsTrue"):
            raise DataError(f"{feature.where} has the unknown treatment of missing values {shown(treatment)}")
        columns.floats[feature.whole("feature_index", 0, _MAX_COLUMNS)] = (
            _place(feature, columns),
            treatment == "AsTrue",
        )
    for feature in info.inners("categorical_features") if "categorical_features" in info else []:
        columns.categorical[feature.whole("feature_index", 0, _MAX_COLUMNS)] = _place(feature, columns)
    if not columns.names:
        raise DataError("the CatBoost model has no features")
    categories: dict[int, list[Any]] = {}
    if info.values.get("cat_features_hash") is not None:  # null if no column holds categories
        hashes = _hashes(info)
        for feature in info.inners("categorical_features"):
            column = columns.categorical[feature.whole("feature_index", 0, _MAX_COLUMNS)]
            categories[column], columns.codes[column] = _coded(hashes)
    return columns, categories


def _place(feature: Document, columns: Columns) -> int:
    """The column of a feature. Its name is stored in `columns`."""
    column = feature.whole("flat_feature_index", 0, _MAX_COLUMNS)
    if column in columns.names:
        raise DataError(f"{feature.where}: column {column} occurs twice")
    name = feature.text("feature_id") if "feature_id" in feature else ""
    columns.names[column] = name or str(column)
    return column


def _hashes(info: Document) -> dict[str, int]:
    """The hash of each category of any column."""
    return {one.text("value"): one.whole("hash", 0, 0xFFFFFFFF) for one in info.inners("cat_features_hash")}


def _coded(hashes: dict[str, int]) -> tuple[list[Any], dict[int, list[int]]]:
    """The categories of a column, and the codes of those with a hash.

    CatBoost reads whole numbers as text. "3" also stands for the number 3, so both are categories.
    """
    known: list[Any] = list(hashes)
    known += [int(text) for text in hashes if _WHOLE.fullmatch(text)]
    if len(known) > MAX_CATEGORY + 1:
        raise DataError(
            f"the CatBoost model has {len(known)} categories; a column of a plan has at most "
            f"{MAX_CATEGORY + 1}"
        )
    codes: dict[int, list[int]] = {}
    for code, value in enumerate(known):
        codes.setdefault(hashes[str(value)], []).append(code)
    return known, codes
