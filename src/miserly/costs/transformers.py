"""The sources of the columns that a fitted scikit-learn transformer makes.

scikit-learn is not imported: transformers are recognised by their fitted attributes. Simple transformers are
asked for the names of their outputs with marked names of inputs. An output is made from the inputs whose
marks are in its name; an output without a mark is made from all inputs.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

import numpy as np

from miserly.errors import CostError

__all__ = ["places_of", "sources_of"]

Sources: TypeAlias = list[frozenset[int]]

# Their outputs have the names of the inputs one by one, but are computed from all of them.
_MIXING = {"IterativeImputer", "KNNImputer", "Normalizer"}


def sources_of(transformer: Any) -> tuple[list[str], list[tuple[str, frozenset[int]]]]:
    """The names of the inputs of a transformer, and for each output its name and the inputs it is made from.

    Raises `CostError` if the transformer is not fitted or does not name its outputs.
    """
    inputs = _input_names(transformer)
    try:
        names = [str(name) for name in transformer.get_feature_names_out()]
    except (AttributeError, ValueError) as error:
        raise CostError(f"{_kind(transformer)} does not name its outputs: {error}") from None
    found = _outputs(transformer, [frozenset([i]) for i in range(len(inputs))])
    if len(found) != len(names):
        raise CostError(f"{_kind(transformer)} names {len(names)} outputs, but its parts make {len(found)}")
    return inputs, list(zip(names, found, strict=True))


def _input_names(transformer: Any) -> list[str]:
    names = getattr(transformer, "feature_names_in_", None)
    if names is not None:
        return [str(name) for name in names]
    try:
        number = int(transformer.n_features_in_)
    except AttributeError:
        raise CostError(f"{_kind(transformer)} is not fitted, or no transformer of columns") from None
    return [f"x{i}" for i in range(number)]


def _kind(transformer: Any) -> str:
    return type(transformer).__name__


def _outputs(transformer: Any, inputs: Sequence[frozenset[int]]) -> Sources:
    """The original columns that each output of a transformer is made from, given those of its inputs."""
    if isinstance(transformer, str):
        return list(inputs) if transformer == "passthrough" else []
    if hasattr(transformer, "output_indices_") and hasattr(transformer, "transformers_"):
        return _of_column_transformer(transformer, inputs)
    if hasattr(transformer, "steps"):
        found = list(inputs)
        for _, step in transformer.steps:
            if step is not None and not (isinstance(step, str) and step == "passthrough"):
                found = _outputs(step, found)
        return found
    if hasattr(transformer, "transformer_list"):
        parts = [part for _, part in transformer.transformer_list if part is not None]
        return [one for part in parts for one in _outputs(part, inputs)]
    return _of_simple(transformer, inputs)


def _of_column_transformer(transformer: Any, inputs: Sequence[frozenset[int]]) -> Sources:
    width = max((part.stop for part in transformer.output_indices_.values()), default=0)
    found: Sources = [frozenset()] * width
    for name, part, columns in transformer.transformers_:
        place = transformer.output_indices_.get(name)
        if place is None or place.stop == place.start:
            continue
        picked = [inputs[i] for i in places_of(columns, transformer, len(inputs))]
        outputs = _outputs(part, picked)
        if len(outputs) != place.stop - place.start:
            raise CostError(
                f"{name!r} of the column transformer makes {place.stop - place.start} columns, but the "
                f"sources of {len(outputs)} were found"
            )
        found[place] = outputs
    return found


def places_of(columns: Any, transformer: Any, width: int) -> list[int]:
    """The numbers of columns that are given by name, by number, as a slice or as a mask."""
    if isinstance(columns, (str, int, np.integer)) and not isinstance(columns, bool):
        columns = [columns]
    if isinstance(columns, slice):
        if isinstance(columns.start, str) or isinstance(columns.stop, str):
            names = _input_names(transformer)
            start = 0 if columns.start is None else names.index(columns.start)
            stop = width if columns.stop is None else names.index(columns.stop) + 1
            return list(range(start, stop))
        return list(range(width))[columns]
    if not isinstance(columns, Iterable):
        raise CostError(f"the columns of a column transformer cannot be read: {columns!r}")
    listed = list(columns)
    if listed and all(isinstance(one, (bool, np.bool_)) for one in listed):
        return np.flatnonzero(listed).tolist()
    names = _input_names(transformer) if any(isinstance(one, str) for one in listed) else []
    return [names.index(one) if isinstance(one, str) else int(one) % width for one in listed]


def _of_simple(transformer: Any, inputs: Sequence[frozenset[int]]) -> Sources:
    everything: frozenset[int] = frozenset().union(*inputs)
    powers = getattr(transformer, "powers_", None)
    if powers is not None:
        return [frozenset().union(*(inputs[i] for i in np.flatnonzero(row).tolist())) for row in powers]
    mixing = _kind(transformer) in _MIXING
    marks = [f"\x02{i}\x03" for i in range(len(inputs))]
    found = []
    for name in _marked_names(transformer, marks):
        used = [int(i) for i in re.findall("\x02(\\d+)\x03", name)]
        found.append(everything if mixing or not used else frozenset().union(*(inputs[i] for i in used)))
    return found


def _marked_names(transformer: Any, marks: list[str]) -> list[str]:
    """The names of the outputs of a transformer whose inputs have these names."""
    unnamed = copy.copy(transformer)
    vars(unnamed).pop("feature_names_in_", None)
    try:
        return [str(name) for name in unnamed.get_feature_names_out(np.array(marks, dtype=object))]
    except (AttributeError, ValueError) as error:
        raise CostError(f"{_kind(transformer)} does not name its outputs: {error}") from None
