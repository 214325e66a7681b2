"""Plans as text files of LightGBM, for tools that read such models: SHAP values, viewers, other runtimes.

Only plans that are sums of trees can be written: chains without gates. The text has no costs and no order of
purchase. It is made with NumPy alone.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from miserly.errors import PlanError
from miserly.plan import links
from miserly.plan.compose import is_chain
from miserly.plan.terms import Tree

if TYPE_CHECKING:
    from miserly.plan.plan import Plan

__all__ = ["lightgbm_text"]

Floats: TypeAlias = NDArray[np.float64]

_OBJECTIVES = {  # of links; others are written without one, and give plain scores
    "identity": "regression",
    "average": "regression",  # of the average, which is one score
    "exp": "poisson",
    "share": "cross_entropy",
    "softplus": "cross_entropy_lambda",
    "signed_square": "regression sqrt",
    "logistic": "binary sigmoid:1",
    "softmax": "multiclass num_class:{}",
    "one_vs_rest": "multiclassova num_class:{} sigmoid:1",
}
_CATEGORICAL, _DEFAULT_LEFT, _NAN = 1, 2, 8  # bits of `decision_type`
_LARGEST = float(np.finfo(np.float64).max)
_ONLY = "only sums of trees can be written for LightGBM"
_SMOOTH = 1000  # rows count so much, and every leaf once, if a leaf has no rows


@dataclass(frozen=True, eq=False)
class _Addend:
    """A tree, what its leaves are multiplied by, and what is added to them."""

    tree: Tree
    weight: float
    offset: float


def lightgbm_text(plan: Plan, X: Any = None) -> str:
    """Write a plan as a LightGBM model.

    Parameters
    ----------
    plan : Plan
        A plan that is a sum of trees.
    X : array or frame of (n, n_features), optional
        Rows that are counted in the nodes of the trees.

    Returns
    -------
    str
        The text of a model file.
    """
    steps = _rounds(plan)
    counted = None if X is None else plan.encode(X, unknown="missing")
    blocks = [_block(place, one, counted) for place, one in enumerate(_in_turn(steps))]
    categorical = _categorical(plan, steps)
    with_text = [f for f in sorted(plan.categories) if not _is_boolean(plan.categories[f])]
    objective = _OBJECTIVES.get(links.in_double(plan.link))
    header = [
        "tree",
        "version=v4",
        f"num_class={len(steps)}",
        f"num_tree_per_iteration={len(steps)}",
        "label_index=0",
        f"max_feature_idx={plan.n_features - 1}",
        *([] if objective is None else [f"objective={objective.format(plan.n_outputs)}"]),
        f"feature_names={' '.join(_names(plan))}",
        f"feature_infos={' '.join(_info(plan, f, categorical) for f in range(plan.n_features))}",
        f"tree_sizes={' '.join(str(len(block.encode())) for block in blocks)}",
        "",
        "",
    ]
    known = [list(plan.categories[f]) for f in with_text]
    listed = ",".join(str(f) for f in with_text)
    tail = [
        "end of trees",
        "",
        "feature_importances:",
        "",
        "parameters:",
        *([f"[categorical_feature: {listed}]"] if with_text else []),
        "end of parameters",
        "",
        f"pandas_categorical:{json.dumps(known or None)}",
        "",
    ]
    return "\n".join(header) + "".join(blocks) + "\n".join(tail)


# -- the sum -------------------------------------------------------------------------------------------------


def _rounds(plan: Plan) -> list[list[_Addend]]:
    """The trees of each score, in their order; the first of each score has the constants in it."""
    _check(plan)
    base = plan.base.astype(np.float64).copy()
    found: list[list[tuple[Tree, float]]] = [[] for _ in range(plan.n_outputs)]
    for node in plan.nodes:
        if not node.inherits:
            base, found = np.zeros_like(base), [[] for _ in range(plan.n_outputs)]
        base = base + node.bias
        for term, channel, weight in zip(node.terms, node.channels, node.weights, strict=True):
            if channel < plan.n_outputs:
                tree = plan.terms[term]
                if not isinstance(tree, Tree):
                    raise PlanError(f"{_ONLY}, and this plan has a {tree.kind} term")
                found[channel].append((tree, float(weight)))
    if plan.link == "average":
        number = _number_of_parts(base[1], found[1])
        base, found = base[:1] / number, [[(tree, w / number) for tree, w in found[0]]]
    return [
        [_Addend(tree, w, 0.0 if k else float(base[c])) for k, (tree, w) in enumerate(own)]
        or [_Addend(_nothing(0.0), 1.0, float(base[c]))]
        for c, own in enumerate(found)
    ]


def _number_of_parts(start: float, trees: list[tuple[Tree, float]]) -> float:
    """What the sum of an average is divided by: the same number for all rows."""
    if any(len(tree.feature) > 1 for tree, _ in trees):
        raise PlanError(f"{_ONLY}, but this plan divides by a number that is not the same for all rows")
    number = float(start) + sum(w * float(tree.value[0]) for tree, w in trees)
    if number == 0.0:
        raise PlanError(f"{_ONLY}, but this plan is an average of nothing")
    return number


def _check(plan: Plan) -> None:
    why = ""
    if plan.acquires or plan.reads_bought:
        why = "what rows buy decides the answers of this plan"
    elif not is_chain(plan):
        why = "rows of this plan take different ways or leave early"
    elif np.isfinite(plan.budget) and plan.replace(budget=None).max_cost > plan.budget:
        why = f"the plan has a budget of {plan.budget:g}, which may stop a row before the last tree"
    elif plan.link == "votes":
        why = "this plan has a score for each pair of classes"
    if why:
        raise PlanError(f"{_ONLY}, but {why}")


def _in_turn(scores: list[list[_Addend]]) -> list[_Addend]:
    """One tree of each score after the other; a score with fewer trees gets some that add nothing."""
    most = max(len(own) for own in scores)
    empty = _Addend(_nothing(0.0), 1.0, 0.0)
    return [own[k] if k < len(own) else empty for k in range(most) for own in scores]


def _nothing(value: float) -> Tree:
    """A tree with two equal leaves: readers of such files expect a split in every tree."""
    leaves = np.array([0.0, value, value])
    return Tree(
        feature=np.array([0, -1, -1], dtype=np.int32),
        threshold=np.zeros(3),
        left=np.array([1, 0, 0], dtype=np.int32),
        right=np.array([2, 0, 0], dtype=np.int32),
        missing_left=np.ones(3, np.bool_),
        value=leaves,
    )


# -- one tree ------------------------------------------------------------------------------------------------


def _block(place: int, one: _Addend, rows: NDArray[Any] | None) -> str:
    """The lines of a tree. Splits are numbered from 0, and leaves from -1 down."""
    tree = one.tree if len(one.tree.feature) > 1 else _nothing(float(one.tree.value[0]))
    assert tree.category is not None and tree.words is not None
    inner, leaves = np.flatnonzero(tree.feature >= 0), np.flatnonzero(tree.feature < 0)
    number = np.empty(len(tree.feature), dtype=np.int64)
    number[inner], number[leaves] = np.arange(len(inner)), -1 - np.arange(len(leaves))
    is_set = tree.category[inner] >= 0
    # a missing category always goes right: where it went left, the sides change places
    turned = is_set & tree.missing_left[inner]
    left = np.where(turned, tree.right[inner], tree.left[inner])
    right = np.where(turned, tree.left[inner], tree.right[inner])
    words = tree.words[tree.category[inner][is_set]]
    words = np.where(turned[is_set][:, None], ~words, words)
    kind = np.where(is_set, _CATEGORICAL, _DEFAULT_LEFT * tree.missing_left[inner]) + _NAN
    threshold = np.where(is_set, np.cumsum(is_set) - 1, np.clip(tree.threshold[inner], -_LARGEST, _LARGEST))
    count = _counts(tree, rows)
    value = _means(tree, one.weight * tree.value + one.offset, count)
    lines = {
        "num_leaves": len(leaves),
        "num_cat": len(words),
        "split_feature": tree.feature[inner],
        "split_gain": np.zeros(len(inner), dtype=np.int64),
        "threshold": threshold,
        "decision_type": kind,
        "left_child": number[left],
        "right_child": number[right],
        "leaf_value": value[leaves],
        "leaf_weight": count[leaves],
        "leaf_count": count[leaves],
        "internal_value": value[inner],
        "internal_weight": count[inner],
        "internal_count": count[inner],
    }
    if len(words):
        lines["cat_boundaries"] = np.arange(len(words) + 1) * words.shape[1]
        lines["cat_threshold"] = words.ravel()
    body = [f"{name}={_text(given)}" for name, given in lines.items()]
    return "\n".join([f"Tree={place}", *body, "is_linear=0", "shrinkage=1", "", "", ""])


def _counts(tree: Tree, rows: NDArray[Any] | None) -> NDArray[np.int64]:
    """How many rows come to each node; without rows, how many leaves are below it."""
    count = np.zeros(len(tree.feature), dtype=np.int64)
    leaves = tree.feature < 0
    if rows is None:
        count[leaves] = 1
    else:
        numbers = Tree(**{**_arrays(tree), "value": np.arange(len(count), dtype=np.float64)})
        reached = numbers.evaluate(rows, np.arange(len(rows))).astype(np.int64)
        count = np.bincount(reached, minlength=len(count)).astype(np.int64)
        if not count[leaves].all():  # shares of 0 rows are not defined
            count[leaves] = _SMOOTH * count[leaves] + 1
    for i in np.flatnonzero(~leaves)[::-1]:
        count[i] = count[tree.left[i]] + count[tree.right[i]]
    return count


def _means(tree: Tree, value: Floats, count: NDArray[np.int64]) -> Floats:
    """The values of the leaves, and at splits their means over rows."""
    mean = value.copy()
    for i in np.flatnonzero(tree.feature >= 0)[::-1]:
        sides = [tree.left[i], tree.right[i]]
        mean[i] = np.average(mean[sides], weights=count[sides])
    return mean


def _arrays(tree: Tree) -> dict[str, Any]:
    names = ("feature", "threshold", "left", "right", "missing_left", "value", "category", "words")
    return {name: getattr(tree, name) for name in names}


def _text(given: Any) -> str:
    if isinstance(given, int):
        return str(given)
    return " ".join(repr(one) for one in np.asarray(given).tolist())


# -- columns -------------------------------------------------------------------------------------------------


def _names(plan: Plan) -> list[str]:
    """Names without blanks and signs that such files cannot have; numbers if they would be equal then."""
    plain = [f"Column_{f}" for f in range(plan.n_features)]
    if plan.costs.names is None:
        return plain
    names = [re.sub(r"[\s\",:\[\]{}=]", "_", str(name)) or "_" for name in plan.costs.names]
    return names if len(set(names)) == len(names) else plain


def _categorical(plan: Plan, scores: list[list[_Addend]]) -> dict[int, int]:
    """The columns that are split by category, and how many codes they have."""
    found = {f: len(known) for f, known in plan.categories.items() if not _is_boolean(known)}
    for one in (one for own in scores for one in own):
        assert one.tree.category is not None
        for feature in one.tree.feature[one.tree.category >= 0].tolist():
            if feature not in plan.categories:
                found[feature] = 32 * 8
    return found


def _info(plan: Plan, feature: int, categorical: dict[int, int]) -> str:
    if feature in categorical:
        return ":".join(map(str, range(categorical[feature])))
    return "[0:1]" if feature in plan.categories else f"[{-_LARGEST}:{_LARGEST}]"


def _is_boolean(known: Any) -> bool:
    return all(isinstance(value, (bool, np.bool_)) for value in known)
