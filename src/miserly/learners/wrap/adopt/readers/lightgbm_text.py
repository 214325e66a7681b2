"""The text files of LightGBM: lines of ``name=value``, first for the model and then for each tree.

Everything in a file is checked before it is used. Numbers are read strictly, and nothing is executed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from miserly.errors import DataError
from miserly.utils.checks import shown

__all__ = ["Lines", "TextModel", "looks_like_lightgbm", "parse_text"]

MAX_TREES = 1_000_000
MAX_COLUMNS = 10_000_000
_VERSIONS = ("v2", "v3", "v4")
_WHOLE = re.compile(r"-?\d{1,19}( -?\d{1,19})* ?", re.ASCII)
_REAL = re.compile(r"(-?inf|[-+.\deE]+)( (-?inf|[-+.\deE]+))* ?", re.ASCII)
_PANDAS = "pandas_categorical:"


def looks_like_lightgbm(data: bytes) -> bool:
    """Whether bytes begin like a text file of LightGBM."""
    return re.match(rb"tree\r?\n", data) is not None


class Lines:
    """The lines ``name=value`` of a model or a tree.

    Parameters
    ----------
    values : mapping of str to str
        The lines; a line without ``=`` has an empty value.
    where : str
        The model or tree that they describe, for errors.
    """

    def __init__(self, values: Mapping[str, str], where: str) -> None:
        self.values = values
        self.where = where

    def text(self, name: str) -> str:
        """The value of a line that must be there."""
        if name not in self.values:
            raise DataError(f"{self.where}: the line {name!r} is missing")
        return self.values[name]

    def whole(self, name: str, low: int, high: int) -> int:
        """A whole number from `low` to `high`."""
        numbers = self.whole_numbers(name, 1)
        if not low <= numbers[0] <= high:
            raise DataError(f"{self.where}: {name!r} is {numbers[0]}, not from {low} to {high}")
        return int(numbers[0])

    def whole_numbers(self, name: str, n: int) -> NDArray[np.int64]:
        """`n` whole numbers."""
        parts = np.array(self._split(name, n, _WHOLE), dtype=np.str_)
        try:
            return parts.astype(np.int64)
        except OverflowError:
            raise DataError(f"{self.where}: {name!r} holds a number with too many digits") from None

    def numbers(self, name: str, n: int) -> NDArray[np.float64]:
        """`n` numbers, which may be infinite."""
        parts = np.array(self._split(name, n, _REAL), dtype=np.str_)
        try:
            return parts.astype(np.float64)
        except ValueError:
            raise DataError(f"{self.where}: {name!r} does not hold plain numbers") from None

    def _split(self, name: str, n: int, pattern: re.Pattern[str]) -> list[str]:
        text = self.text(name)
        if pattern.fullmatch(text) is None:
            raise DataError(f"{self.where}: {name!r} does not hold plain numbers: {shown(text)}")
        parts = text.split()
        if len(parts) != n:
            raise DataError(f"{self.where}: {name!r} holds {len(parts)} numbers, not {n}")
        return parts


@dataclass(frozen=True, eq=False)
class TextModel:
    """What a file holds.

    Attributes
    ----------
    header : Lines
        The lines before the first tree.
    trees : list of Lines
        The lines of each tree.
    parameters : dict of str to str
        The training parameters; empty if the file has none.
    pandas_categories : list of list or None
        The categories of the categorical columns of a pandas frame.
    """

    header: Lines
    trees: list[Lines]
    parameters: dict[str, str]
    pandas_categories: list[list[Any]] | None


def parse_text(data: bytes | str) -> TextModel:
    """Split a file into its parts.

    Parameters
    ----------
    data : bytes or str
        The content of a file, or what ``Booster.model_to_string`` returns.

    Returns
    -------
    TextModel

    Raises
    ------
    DataError
        If it is not such a file, or incomplete.
    """
    try:
        text = data if isinstance(data, str) else data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise DataError(f"the LightGBM model is not text: byte {error.start} is not UTF-8") from None
    head, end, tail = text.replace("\r\n", "\n").partition("\nend of trees\n")
    if not end:
        raise DataError("the LightGBM model has no line 'end of trees': it is incomplete")
    blocks = re.split(r"\nTree=", head)
    header = _lines(blocks[0].split("\n"), "the LightGBM model")
    if "tree" not in header.values or header.text("version") not in _VERSIONS:
        version = header.values.get("version", "unknown")
        raise DataError(f"LightGBM models of version {shown(version)} cannot be read, only {_VERSIONS}")
    if len(blocks) - 1 > MAX_TREES:
        raise DataError(f"the LightGBM model has more than {MAX_TREES:,} trees")
    trees = [_tree_lines(i, block) for i, block in enumerate(blocks[1:])]
    sizes = header.values.get("tree_sizes")
    if sizes is not None and len(sizes.split()) != len(trees):
        expected = len(sizes.split())
        raise DataError(f"the LightGBM model has {len(trees)} trees, but its header names {expected}")
    return TextModel(header, trees, _parameters(tail), _pandas_categories(tail))


def _lines(lines: list[str], where: str) -> Lines:
    values: dict[str, str] = {}
    for line in lines:
        name, _, value = line.partition("=")
        if name in values and name:
            raise DataError(f"{where}: the line {shown(name)} occurs twice")
        if name:
            values[name] = value
    return Lines(values, where)


def _tree_lines(i: int, block: str) -> Lines:
    first, _, rest = block.partition("\n")
    if first != str(i):
        raise DataError(f"tree {i} of the LightGBM model has the number {shown(first)}")
    return _lines(rest.split("\n"), f"tree {i} of the LightGBM model")


def _parameters(tail: str) -> dict[str, str]:
    _, found, rest = tail.partition("\nparameters:\n")
    listed = rest.partition("\nend of parameters")[0] if found else ""
    pairs = (line[1:-1].partition(": ") for line in listed.split("\n") if line[:1] == "[")
    return {name: value for name, _, value in pairs}


def _pandas_categories(tail: str) -> list[list[Any]] | None:
    place = tail.rfind("\n" + _PANDAS)
    if place < 0:
        return None
    line = tail[place + 1 + len(_PANDAS) :].split("\n")[0]
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        raise DataError("the LightGBM model has pandas categories that are not JSON") from None
    if found is None:
        return None
    plain = (str, bool, int, float)
    if not isinstance(found, list) or not all(
        isinstance(one, list) and all(isinstance(value, plain) for value in one) for one in found
    ):
        raise DataError("the pandas categories of the LightGBM model are not lists of plain values")
    return found or None
