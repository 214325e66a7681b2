"""Saving a plan to one file and loading it again: data only, nothing is executed.

The file is a `container` of a JSON header (costs, link, classes, categories, info) and the arrays that
`packing` makes of terms and nodes. Whatever is wrong with a file becomes a `PlanFormatError`.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from miserly.costs import Costs
from miserly.errors import MiserlyError, PlanError, PlanFormatError
from miserly.plan.decisions import Decision
from miserly.plan.plan import Plan
from miserly.plan.store.container import PREAMBLE, Arrays, check_length, pack, read_preamble, unpack
from miserly.plan.store.packing import SCHEMAS, check_sizes, node_arrays, read_nodes, read_terms, term_arrays
from miserly.utils.files import atomic_write

__all__ = ["dumps", "load", "load_file", "loads", "save"]

_HEADER = ("costs", "link", "n_outputs", "classes", "categories", "info")
_BUDGETED = (*_HEADER, "budget")  # version 3: who does not know of budgets must not run such plans
_DECIDED = (*_BUDGETED, "decision")  # version 4; the budget may be null
_KEYS = {
    1: _HEADER,
    2: _HEADER,
    3: _BUDGETED,
    4: _DECIDED,
    5: _DECIDED,
    6: _DECIDED,
    7: _DECIDED,  # who does not know of amounts must not run such plans
    8: _DECIDED,
    9: _DECIDED,
}  # from 5: both may be null
_CLASS_DTYPES = {
    "bool": bool,
    **dict.fromkeys(("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"), int),
    **dict.fromkeys(("float16", "float32", "float64"), float),
    "str": str,
}
_MAX_COST = 1e100  # sums of costs up to here are finite
_MAX_LABEL_CELLS = 2**24  # an array of text has the width of its longest entry; 64 MiB is enough for labels


# -- files -------------------------------------------------------------------------------------------------


def save(plan: Plan, path: str | os.PathLike[str] | IO[bytes]) -> None:
    """Write a plan to a file (or an open binary file); the file appears whole or not at all.

    Only a regular file is replaced: a link, a folder, a pipe or a device raises `PlanError`.
    """
    data = dumps(plan)
    if hasattr(path, "write"):
        path.write(data)
        return
    with atomic_write(path, error=PlanError) as file:
        file.write(data)


def load(path: str | os.PathLike[str] | IO[bytes] | bytes) -> Plan:
    """Read a plan. Nothing in the file is executed.

    Parameters
    ----------
    path : str, Path, open binary file or bytes
        Where the plan was saved, or the bytes of such a file.

    Returns
    -------
    Plan

    Raises
    ------
    PlanFormatError
        If it is not a sound plan.
    FileNotFoundError
        If there is no such file.

    Examples
    --------
    >>> import io
    >>> plan, file = Plan(costs=Costs([1.0, 2.0]), terms=[], nodes=[], base=[0.5]), io.BytesIO()
    >>> plan.save(file)
    >>> load(file.getvalue()).predict([[0.0, 0.0]]).tolist()
    [0.5]
    """
    if isinstance(path, (bytes, bytearray, memoryview)):
        return loads(path)
    if hasattr(path, "read"):
        return loads(path.read())
    return load_file(path, follow_links=True)


def load_file(path: str | os.PathLike[str], *, follow_links: bool) -> Plan:
    """Read a plan from a regular file; with `follow_links` it may be behind a link."""
    try:
        return loads(_read(path, follow_links))
    except PlanFormatError as error:
        raise PlanFormatError(f"{os.fspath(path)}: {error}") from None


def _read(path: str | os.PathLike[str], follow_links: bool) -> bytes:
    _check_regular(os.stat(path, follow_symlinks=follow_links))
    flags = os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0)
    flags |= 0 if follow_links else getattr(os, "O_NOFOLLOW", 0)
    with open(os.open(path, flags), "rb") as file:
        found = os.fstat(file.fileno())
        _check_regular(found)  # it may have been replaced since
        start = file.read(PREAMBLE.size)
        length, _ = read_preamble(start)  # before the rest is read: it may be anything, of any size
        check_length(found.st_size, length)
        return start + file.read()


def _check_regular(found: os.stat_result) -> None:
    if not stat.S_ISREG(found.st_mode):
        kinds = ((stat.S_ISDIR, "a directory"), (stat.S_ISLNK, "a link"))
        kind = next((name for is_kind, name in kinds if is_kind(found.st_mode)), "not a regular file")
        raise PlanFormatError(f"this is {kind}, not a saved plan")


def dumps(plan: Plan) -> bytes:
    """A plan as the bytes of its file."""
    prices = [*plan.costs.feature, *plan.costs.setup, *(term.evaluation for term in plan.terms)]
    if max(prices, default=0.0) > _MAX_COST:
        raise PlanError(f"this plan cannot be saved: it has a cost of more than {_MAX_COST:g}")
    header = {
        "costs": plan.costs.to_dict(),
        "link": plan.link,
        "n_outputs": plan.n_outputs,
        "classes": _classes_record(plan.classes),
        "categories": [[f, _category_record(f, plan.categories[f])] for f in sorted(plan.categories)],
        "info": plan.info,
    }
    arrays = {"base": plan.base, **term_arrays(plan), **node_arrays(plan)}
    version = max((term.file_version for term in plan.terms), default=1)
    if any(node.single for node in plan.nodes):
        version = 5
    if plan.acquires:
        version = 6
    if np.isfinite(plan.budget):
        version, header["budget"] = max(version, 3), plan.budget
    if plan.decision is not None:
        decided = 7 if plan.amount_columns else 4
        version, header["decision"] = max(version, decided), plan.decision.record()
    if plan.reads_bought:
        version = 8
    if arrays["mixture_covariance"].dtype == np.float16:
        version = 9
    for key in _KEYS[version]:
        header.setdefault(key, None)
    return pack(header, arrays, SCHEMAS[version], version)


def loads(data: bytes | bytearray | memoryview) -> Plan:
    """The plan whose `dumps` are these bytes.

    >>> plan = Plan(costs=Costs([1.0, 2.0]), terms=[], nodes=[], base=[0.5])
    >>> loads(dumps(plan))
    Plan(0 nodes, 0 terms, 0 of 2 features, at most 0)
    """
    if not isinstance(data, (bytes, bytearray, memoryview)):
        kind = "text: open the file in binary mode" if isinstance(data, str) else f"{type(data).__name__}"
        raise PlanFormatError(f"a saved plan is bytes, not {kind}")
    version, header, arrays = unpack(bytes(data), SCHEMAS)
    keys = _KEYS[version]
    if set(header) != set(keys):
        raise PlanFormatError(f"the header must hold {', '.join(keys)} and arrays, and nothing else")
    try:
        return _build(header, arrays, version)
    except PlanFormatError:
        raise
    except MiserlyError as error:
        raise PlanFormatError(f"the plan in it is not sound: {str(error)[:500]}") from None


def _build(header: Mapping[str, Any], arrays: Arrays, version: int) -> Plan:
    costs = _read_costs(header["costs"])
    sizes = check_sizes(arrays, len(costs), version)
    for evaluation in arrays["term_evaluation"].tolist():
        _check_cost(evaluation)
    if type(header["n_outputs"]) is not int or not 1 <= header["n_outputs"] <= sizes["scores"]:
        raise PlanFormatError("'n_outputs' must be a whole number, at most the number of scores")
    if not isinstance(header["link"], str) or not isinstance(header["info"], dict):
        raise PlanFormatError("'link' must be text and 'info' an object")
    if "budget" in header and not (version > 3 and header["budget"] is None):
        _check_cost(header["budget"])
    given = header.get("decision")
    decision = Decision.from_record(given) if given is not None or version == 4 else None
    if decision is not None and decision.columns and version < 7:
        raise PlanFormatError(f"a file of version {version} cannot have a decision by amounts of rows")
    return Plan(
        costs=costs,
        terms=read_terms(arrays),
        nodes=read_nodes(arrays),
        base=arrays["base"],
        link=header["link"],
        n_outputs=header["n_outputs"],
        classes=_read_classes(header["classes"]),
        categories=_read_categories(header["categories"]),
        info=header["info"],
        budget=header.get("budget"),
        decision=decision,
    )


# -- costs, classes, categories ----------------------------------------------------------------------------


def _read_costs(record: Any) -> Costs:
    """Costs from their record, whose types are checked first: `Costs` itself is made for honest mistakes."""
    _keys(record, ("features", "groups", "evaluation", "unit"), "the costs")
    features, groups = record["features"], record["groups"]
    if not isinstance(features, (dict, list)) or not isinstance(groups, dict):
        raise PlanFormatError("the costs need an object or a list of features, and an object of groups")
    for cost in features.values() if isinstance(features, dict) else features:
        _check_cost(cost)
    _check_cost(record["evaluation"])
    if not isinstance(record["unit"], str):
        raise PlanFormatError("the unit of the costs must be text")
    known = set(features) if isinstance(features, dict) else range(len(features))
    kind = str if isinstance(features, dict) else int
    for group in groups.values():
        _keys(group, ("features", "setup"), "a group")
        _check_cost(group["setup"])
        members = group["features"]
        if not isinstance(members, list) or any(type(m) is not kind or m not in known for m in members):
            raise PlanFormatError("a group must list its features, which must be among those of the costs")
    return Costs.from_dict(record)


def _check_cost(cost: Any) -> None:
    if type(cost) not in (int, float) or not 0 <= cost <= _MAX_COST:
        raise PlanFormatError(f"a cost in the file is not a number from 0 to {_MAX_COST:g}")


def _keys(record: Any, keys: tuple[str, ...], what: str) -> None:
    if not isinstance(record, dict) or set(record) != set(keys):
        raise PlanFormatError(f"{what} must hold {', '.join(keys)}, and nothing else")


def _classes_record(classes: NDArray[Any] | None) -> dict[str, Any] | None:
    if classes is None:
        return None
    kind = "str" if classes.dtype.kind in "UT" else classes.dtype.name
    if classes.dtype.kind == "O" and all(isinstance(label, str) for label in classes):
        kind = "str"
    if kind not in _CLASS_DTYPES:
        raise PlanError(
            f"classes of dtype {classes.dtype} cannot be saved: they must be text, numbers or true and false"
        )
    values = [str(label) for label in classes] if kind == "str" else classes.tolist()
    _check_label_width(values, PlanError)
    return {"dtype": kind, "values": values}


def _read_classes(record: Any) -> NDArray[Any] | None:
    if record is None:
        return None
    _keys(record, ("dtype", "values"), "the classes")
    dtype, values = record["dtype"], record["values"]
    kind = _CLASS_DTYPES.get(dtype) if isinstance(dtype, str) else None
    if kind is None or not isinstance(values, list) or any(type(value) is not kind for value in values):
        raise PlanFormatError(f"the classes must be a list of values of one of {', '.join(_CLASS_DTYPES)}")
    _check_label_width(values, PlanFormatError)
    try:
        with np.errstate(all="ignore"):
            classes = np.array(values, dtype=dtype)
    except OverflowError:
        classes = np.array([])
    if classes.tolist() != values:
        raise PlanFormatError(f"the classes do not fit dtype {dtype!r}")
    return classes


def _check_label_width(values: list[Any], error: type[PlanError]) -> None:
    width = max((len(value) for value in values if isinstance(value, str)), default=0)
    if width * len(values) > _MAX_LABEL_CELLS:
        raise error(f"{len(values)} class labels of up to {width} characters are too much text")


def _category_record(column: int, values: tuple[Any, ...]) -> list[Any]:
    plain = [value.item() if isinstance(value, np.generic) else value for value in values]
    for value in plain:
        if value is not None and not isinstance(value, (str, bool, int, float)):
            raise PlanError(
                f"column {column} has the category {value!r}, which cannot be saved: "
                "categories are text, numbers, true, false or None"
            )
    return plain


def _read_categories(pairs: Any) -> dict[int, list[Any]]:
    categories: dict[int, list[Any]] = {}
    for pair in pairs if isinstance(pairs, list) else [None]:
        if not isinstance(pair, list) or len(pair) != 2 or type(pair[0]) is not int:
            raise PlanFormatError("the categories must be a list of [column, values]")
        column, values = pair
        if not isinstance(values, list) or any(isinstance(value, (list, dict)) for value in values):
            raise PlanFormatError("the categories of a column must be a list of plain values")
        if column in categories:
            raise PlanFormatError(f"the categories of column {column} are given twice")
        categories[column] = values
    return categories
