"""Words for people: what a plan, its features, their values and its classes are called.

They are notes in `Plan.info`, under ``features``, ``title``, ``target``, ``about`` and ``class_names``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from miserly.costs.notes import plain_note, read_note
from miserly.errors import CostError, PlanError, did_you_mean

if TYPE_CHECKING:
    from miserly.costs import Costs
    from miserly.plan.plan import Plan

__all__ = ["CLASS_NAMES", "FEATURES", "add_metadata", "choice_value", "class_names", "merge_notes",
           "notes_of", "texts_of"]  # fmt: skip

FEATURES, CLASS_NAMES = "features", "class_names"  # keys of `Plan.info`
_BOOLEANS = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


def notes_of(costs: Costs) -> dict[str, dict[str, Any]]:
    """The notes of costs in plain values, for ``plan.info["features"]``."""
    return {str(name): plain_note(note) for name, note in costs.notes.items()}


def merge_notes(info: Mapping[str, Any], added: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """The notes under ``info["features"]`` with others added, which replace earlier ones of the same name."""
    known = info.get(FEATURES)
    notes = dict(known) if isinstance(known, Mapping) else {}
    for name, note in added.items():
        earlier = notes.get(name)
        notes[name] = {**(earlier if isinstance(earlier, Mapping) else {}), **note}
    return notes


def class_names(plan: Plan) -> dict[str, str]:
    """The name of each class, by the text of its label. A class without a name is called by its label.

    Parameters
    ----------
    plan : Plan
        The plan.

    Returns
    -------
    dict of str
        Empty if the plan has no classes.
    """
    labels = [] if plan.classes is None else [str(label) for label in plan.classes.tolist()]
    given = texts_of(plan.info.get(CLASS_NAMES))
    return {label: given.get(label) or label for label in labels}


def texts_of(given: Any) -> dict[str, str]:
    """The entries of a note that are texts with text keys; empty if the note is no mapping."""
    pairs = given.items() if isinstance(given, Mapping) else ()
    return {k: v.strip() for k, v in pairs if isinstance(k, str) and isinstance(v, str) and v.strip()}


def choice_value(text: str, categories: tuple[Any, ...]) -> Any:
    """The value of a feature that a text means: a category, or a number; None if it means none.

    >>> choice_value("3", ()), choice_value("yes", (False, True)), choice_value("3", ("a", "b"))
    (3.0, True, None)
    """
    for value in categories:
        if str(value) == text:
            return value
    if categories:
        return _BOOLEANS.get(text.lower()) if set(categories) <= {False, True} else None
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


# -- adding them ---------------------------------------------------------------------------------------------


def add_metadata(
    plan: Plan,
    features: Mapping[Any, Mapping[str, Any]] | None,
    texts: Mapping[str, str | None],
    classes: Mapping[Any, str] | None,
) -> dict[str, Any]:
    """The info of a plan with these words. See `Plan.with_metadata`."""
    info = dict(plan.info)
    if features is not None:
        info[FEATURES] = _with_features(plan, features)
    for key, text in texts.items():
        if text is not None:
            info[key] = _text(text, f"the {key}")
    if classes is not None:
        info[CLASS_NAMES] = _read_classes(plan, classes)
    return {key: value for key, value in info.items() if value != "" or key not in texts}


def _with_features(plan: Plan, features: Any) -> dict[str, dict[str, Any]]:
    if not isinstance(features, Mapping):
        raise PlanError(f"the words of features are given as {{feature: {{'label': ...}}}}, not {features!r}")
    added, removed = {}, []
    for feature, given in features.items():
        try:
            column = plan.costs.index(feature)
            note = plain_note(read_note(given, f"feature {feature!r}"))
        except CostError as error:
            raise PlanError(str(error)) from None
        for text in note.get("choices", {}):
            if choice_value(text, plan.categories.get(column, ())) is None:
                values = [str(value) for value in plan.categories.get(column, ())]
                kind = f"one of its categories{did_you_mean(text, values)}" if values else "a number"
                raise PlanError(f"feature {feature!r}: the choice {text!r} is not {kind}")
        name = str(plan.costs.name(column))
        added[name] = note
        removed += [(name, key) for key in given if key not in note]
    notes = merge_notes(plan.info, added)
    for name, key in removed:
        notes[name].pop(key, None)
    return notes


def _read_classes(plan: Plan, classes: Any) -> dict[str, str]:
    known = class_names(plan)
    if not isinstance(classes, Mapping):
        raise PlanError(f"the names of classes are given as {{class: name}}, not {classes!r}")
    for label in classes:
        if str(label) not in known:
            raise PlanError(f"the plan has no class {label!r}{did_you_mean(str(label), known)}")
    return {str(label): _text(name, f"the name of class {label!r}") for label, name in classes.items()}


def _text(value: Any, what: str) -> str:
    if not isinstance(value, str):
        raise PlanError(f"{what} must be text, not {value!r}")
    return value.strip()
