"""Models of XGBoost: boosters, estimators with its scikit-learn API, JSON and UBJSON files."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from miserly.data.tasks import Task
from miserly.errors import DataError
from miserly.learners.wrap.adopt.files import ModelFile
from miserly.learners.wrap.adopt.model import Addend, AdoptedModel, Origin
from miserly.learners.wrap.adopt.readers.document import Document, parse_json
from miserly.learners.wrap.adopt.readers.ubjson import parse_ubjson
from miserly.learners.wrap.adopt.readers.xgboost_trees import read_tree
from miserly.learners.wrap.adopt.registry import Reader, register
from miserly.learners.wrap.adopt.rounds import chosen_rounds
from miserly.plan.terms import Raw, Term
from miserly.utils.checks import shown

__all__ = ["XGBoostReader"]

_LINKS: dict[str, tuple[Task, str]] = {
    **dict.fromkeys(
        (
            "reg:squarederror",
            "reg:linear",
            "reg:squaredlogerror",
            "reg:pseudohubererror",
            "reg:absoluteerror",
            "reg:quantileerror",
            "reg:expectileerror",
            "binary:logitraw",
        ),
        ("numbers", "identity"),
    ),
    **dict.fromkeys(
        ("count:poisson", "reg:gamma", "reg:tweedie", "survival:cox", "survival:aft"),
        ("numbers", "exp_single"),
    ),
    "reg:logistic": ("numbers", "share_single"),
    "binary:logistic": ("classes", "logistic_single"),
    "binary:hinge": ("classes", "sign"),
    "multi:softmax": ("classes", "softmax"),  # its answers are classes, by the scores
    "multi:softprob": ("classes", "softmax_single"),
    **dict.fromkeys(("rank:pairwise", "rank:ndcg", "rank:map"), ("ranking", "identity")),
}
_MAX_COLUMNS = 10_000_000
_MAX_SCORES = 100_000
_LEAST_SHARE = np.float32(1e-6)
_NUMBER = re.compile(r"-?\d+(\.\d*)?([eE][-+]?\d+)?", re.ASCII)
_Rounds = tuple[int, int | None] | None


@register
class XGBoostReader(Reader):
    """Reads boosters, estimators, JSON and UBJSON files of XGBoost.

    It reads the boosters gbtree, dart and gblinear. It raises an error for trees with vector leaves.
    """

    reads: ClassVar[str] = "XGBoost boosters, estimators, JSON and UBJSON files"
    takes_categories: ClassVar[bool] = True

    @staticmethod
    def accepts(source: Any) -> bool:
        """Whether it is a model of XGBoost.

        Parameters
        ----------
        source : object
            A fitted model, or a `ModelFile`.

        Returns
        -------
        bool
        """
        if isinstance(source, ModelFile):
            head = source.data[:4096]
            return head[:2] == b"{L" or (head.lstrip()[:1] == b"{" and b'"learner"' in head)
        return type(source).__module__.partition(".")[0] == "xgboost"

    @staticmethod
    def read(source: Any, *, iterations: _Rounds = None, categories: Any = None) -> AdoptedModel:
        """Read a model.

        Parameters
        ----------
        source : object
            A fitted model, or a `ModelFile`.
        iterations : tuple of int, optional
            The rounds to use, as in ``range(first, stop)``. By default all rounds of a booster, and
            those up to the best iteration of an estimator or its file.
        categories : mapping of column name or number to sequence, optional
            The categories of columns, in place of those that the model holds.

        Returns
        -------
        AdoptedModel
        """
        if isinstance(source, ModelFile):
            return _adopted(_document(source.data), iterations, categories)
        booster = source.get_booster() if hasattr(source, "get_booster") else source
        if not hasattr(booster, "save_raw"):
            raise DataError(f"a xgboost {type(source).__name__} is not a fitted model")
        if iterations is None and booster is not source and booster.attr("best_iteration") is not None:
            iterations = 0, int(booster.attr("best_iteration")) + 1
        missing = getattr(source, "missing", np.nan)
        return _adopted(_document(bytes(booster.save_raw("ubj"))), iterations, categories, float(missing))


def _document(data: bytes) -> Document:
    if data[:2] == b"{L":
        return Document(parse_ubjson(data), "the XGBoost model")
    return parse_json(data, "the XGBoost model")


def _adopted(
    top: Document, iterations: _Rounds, given: Mapping[Any, Sequence[Any]] | None, missing: float = np.nan
) -> AdoptedModel:
    learner, version = top.inner("learner"), top.whole_numbers("version", 3)
    name = learner.inner("objective").text("name")
    if name not in _LINKS:
        raise DataError(f"the XGBoost model has the objective {shown(name)}, which adopt does not know")
    task, link = _LINKS[name]
    param = learner.inner("learner_model_param")
    n_features = param.whole("num_feature", 1, _MAX_COLUMNS)
    n_classes = param.whole("num_class", 0, _MAX_SCORES)
    n_targets = param.whole("num_target", 1, _MAX_SCORES) if "num_target" in param else 1
    n_scores = max(n_classes, n_targets, 1)
    one, several = ("logistic_single", "sign"), ("softmax", "softmax_single")
    if (link in one and n_scores != 1) or (link in several and n_scores < 2):
        raise DataError(
            f"objective {name!r} of the XGBoost model has {n_scores} scores, which adopt does not read"
        )
    base = _base(param, name, n_scores)
    booster = learner.inner("gradient_booster")
    if booster.text("name") == "gblinear":
        if iterations is not None:
            raise DataError("a linear booster has no rounds to choose from: leave out iterations")
        terms, steps, intercept = _linear(booster.inner("model"), n_features, n_scores)
        base = (base[0] + intercept).astype(np.float32).astype(np.float64)  # all outputs share it
        categories: dict[int, Sequence[Any] | None] = {}
    else:
        weights, model = _trees(booster)
        if iterations is None:
            iterations = _best_of_estimator(learner)
        terms, steps = _boosted(model, weights, n_features, n_scores, iterations, missing)
        if not terms and "boost_from_average" in param and param.whole("boost_from_average", 0, 1):
            raise DataError("the XGBoost model has no trees and no base score: it was not fitted")
        categories = _categories(model, n_features)
    read = AdoptedModel(
        task,
        terms,
        steps,
        base,
        n_features,
        link=link,
        feature_names=_names(learner, n_features),
        origin=Origin("xgboost", ".".join(map(str, version.tolist())), name),
        single=True,
    )
    return read.named(categories=_named(categories, given, read))


def _named(
    categories: Mapping[int, Sequence[Any] | None],
    given: Mapping[Any, Sequence[Any]] | None,
    read: AdoptedModel,
) -> dict[int, Sequence[Any]]:
    """The categories of columns: those of the model, and in their place those that are given."""
    known = {**categories, **{read.column(key): tuple(values) for key, values in (given or {}).items()}}
    for column, values in known.items():
        if values is None:
            name = repr(read.feature_names[column]) if read.feature_names else str(column)
            raise DataError(
                f"column {name} of the XGBoost model has categories with letters beyond ASCII, which XGBoost "
                f"stores cut off for pandas; give categories={{{name}: [...]}} in the order of its codes"
            )
    return {column: values for column, values in known.items() if values is not None}


def _names(learner: Document, n_features: int) -> list[str] | None:
    names = learner.texts("feature_names") if "feature_names" in learner else []
    if names and len(names) != n_features:
        raise DataError(f"the XGBoost model has {n_features} columns and {len(names)} names")
    return names or None


def _base(param: Document, objective: str, n_scores: int) -> NDArray[np.float64]:
    """The scores before any tree, in XGBoost's float32 steps. `base_score` is on the prediction scale."""
    parts = param.text("base_score").strip("[]").split(",")
    if not all(_NUMBER.fullmatch(part.strip()) for part in parts) or len(parts) not in (1, n_scores):
        raise DataError(f"the XGBoost model has the base score {shown(param.text('base_score'))}")
    base = np.array([float(part) for part in parts], dtype=np.float32)
    link = _LINKS[objective][1]
    with np.errstate(all="ignore"):
        if link in ("logistic_single", "share_single"):
            if param.text("base_score")[:1] == "[":  # XGBoost 3.1 and later keep it away from 0 and 1
                base = np.clip(base, _LEAST_SHARE, np.float32(1.0) - _LEAST_SHARE)
            base = -_log(np.float32(1.0) / base - np.float32(1.0))
        elif link == "exp_single":
            base = _log(base)
    if not np.isfinite(base).all():
        raise DataError(f"the XGBoost model has the base score {shown(param.text('base_score'))}")
    return np.broadcast_to(base, n_scores).astype(np.float64)


def _log(numbers: NDArray[np.float32]) -> NDArray[np.float32]:
    """The float32 logarithm, rounded once as in C. NumPy's float32 logarithm may be off by several ulps."""
    return np.log(numbers.astype(np.float64)).astype(np.float32)


def _best_of_estimator(learner: Document) -> _Rounds:
    """The rounds that an estimator uses after early stopping; None for boosters."""
    attributes = learner.inner("attributes") if "attributes" in learner else Document({}, "")
    if "scikit_learn" not in attributes or "best_iteration" not in attributes:
        return None
    return 0, attributes.whole("best_iteration", 0, 1 << 30) + 1


# -- trees ---------------------------------------------------------------------------------------------------


def _trees(booster: Document) -> tuple[NDArray[np.float64] | None, Document]:
    """The weights of the trees (None if all are 1), and the model."""
    kind = booster.text("name")
    if kind == "dart":
        return booster.numbers("weight_drop"), booster.inner("gbtree").inner("model")
    if kind != "gbtree":
        raise DataError(f"the XGBoost model has the booster {shown(kind)}, which adopt does not know")
    return None, booster.inner("model")


def _boosted(
    model: Document,
    weights: NDArray[np.float64] | None,
    n_features: int,
    n_scores: int,
    iterations: _Rounds,
    missing: float,
) -> tuple[list[Term], list[list[Addend]]]:
    trees = model.inners("trees")
    channel = model.whole_numbers("tree_info", len(trees))
    if ((channel < 0) | (channel >= n_scores)).any():
        raise DataError(f"the XGBoost model has trees for a score that is not among {n_scores}")
    if weights is None:
        weights = np.ones(len(trees))
    if len(weights) != len(trees) or not np.isfinite(weights).all():
        raise DataError(f"the XGBoost model has {len(trees)} trees and {len(weights)} weights")
    starts = _starts(model, len(trees), n_scores)
    first, stop = chosen_rounds(iterations, len(starts) - 1)
    begin, end = int(starts[first]), int(starts[stop])
    terms: list[Term] = [read_tree(tree, n_features, missing) for tree in trees[begin:end]]
    addends = [Addend(t - begin, int(channel[t]), float(np.float32(weights[t]))) for t in range(begin, end)]
    if n_scores == 1:
        return terms, [[one] for one in addends]
    rounds = zip(starts[first:stop].tolist(), starts[first + 1 : stop + 1].tolist(), strict=True)
    return terms, [addends[start - begin : after - begin] for start, after in rounds]


def _starts(model: Document, n_trees: int, n_scores: int) -> NDArray[np.int64]:
    """The first tree of each round, and the number of trees."""
    if "iteration_indptr" in model:
        starts = model.whole_numbers("iteration_indptr")
    else:  # before version 2.0
        param = model.inner("gbtree_model_param")
        parallel = max(1, param.whole("num_parallel_tree", 0, 1 << 30)) if "num_parallel_tree" in param else 1
        starts = np.arange(0, n_trees + 1, parallel * n_scores)
    if not len(starts) or starts[0] != 0 or starts[-1] != n_trees or (np.diff(starts) < 0).any():
        raise DataError(f"the rounds of the XGBoost model do not cover its {n_trees} trees")
    return starts


def _categories(model: Document, n_features: int) -> dict[int, Sequence[Any] | None]:
    """The categories of the columns of a frame. Models hold them since XGBoost 3.1.

    None stands for texts that may be wrong: for frames of pandas, XGBoost counts letters where it should
    count bytes, which differ beyond ASCII.
    """
    if "cats" not in model or not model.inner("cats").items("enc"):
        return {}
    columns = model.inner("cats").inners("enc")
    if len(columns) != n_features:
        raise DataError(f"the XGBoost model has {n_features} columns and categories for {len(columns)}")
    found: dict[int, Sequence[Any] | None] = {}
    for i, column in enumerate(columns):
        values = column.whole_numbers("values")
        known = _texts(column, values) if "offsets" in column else values.tolist()
        if known is None or len(known):
            found[i] = known
    return found


def _texts(column: Document, values: NDArray[np.int64]) -> list[str] | None:
    """Texts from their concatenated bytes and their offsets; None if some are beyond ASCII."""
    offsets = column.whole_numbers("offsets")
    if len(offsets) and (offsets[0] != 0 or offsets[-1] != len(values) or (np.diff(offsets) < 0).any()):
        raise DataError(f"{column.where}: the offsets of the categories do not fit")
    if ((values < -128) | (values > 255)).any():
        raise DataError(f"{column.where}: a category holds a number that is not a byte")
    data = (values & 255).astype(np.uint8).tobytes()
    return [data[a:b].decode("ascii") for a, b in pairwise(offsets.tolist())] if data.isascii() else None


def _linear(
    model: Document, n_features: int, n_scores: int
) -> tuple[list[Term], list[list[Addend]], NDArray[np.float64]]:
    """A linear booster: one weight for each column and score. The last row holds the intercepts."""
    given = model.numbers("weights", (n_features + 1) * n_scores).reshape(n_features + 1, n_scores)
    with np.errstate(over="ignore"):
        weights = given.astype(np.float32).astype(np.float64)  # JSON has fewer digits than a float64
    if not np.isfinite(weights).all():
        raise DataError("the XGBoost model has a weight that is not finite")
    terms: list[Term] = [Raw(f) for f in range(n_features)]  # a missing value adds nothing
    used = zip(*(places.tolist() for places in np.nonzero(weights[:-1])), strict=True)
    return terms, [[Addend(f, k, float(weights[f, k])) for f, k in used]], weights[-1]
