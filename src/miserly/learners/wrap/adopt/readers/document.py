"""JSON documents of models. Access checks types and sizes."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from miserly.errors import DataError
from miserly.utils.checks import shown

__all__ = ["Document", "parse_json"]

_MAX_DIGITS = 400  # of a number


def parse_json(data: bytes, what: str) -> Document:
    """Read a JSON file whose top level is an object.

    Parameters
    ----------
    data : bytes
        The file.
    what : str
        What it is, for errors.

    Returns
    -------
    Document

    Raises
    ------
    DataError
        If the file is not a JSON object.
    """
    try:
        found = json.loads(data.decode("utf-8"), object_pairs_hook=_unique, parse_int=_whole)
    except DataError:
        raise
    except UnicodeDecodeError as error:
        raise DataError(f"{what} is not text: byte {error.start} is not UTF-8") from None
    except RecursionError:
        raise DataError(f"{what} is nested too deeply") from None
    except ValueError as error:
        raise DataError(f"{what} is not JSON, or incomplete: {str(error)[:200]}") from None
    return Document(found, what)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise DataError("a JSON object has two entries of the same name")
    return found


def _whole(text: str) -> int:
    if len(text) > _MAX_DIGITS:
        raise DataError("a JSON file has a number with too many digits")
    return int(text)


class Document:
    """An object of a document: a mapping whose entries are checked when they are read.

    Parameters
    ----------
    values : object
        The object; anything but a dictionary is an error.
    where : str
        Where it is in the document, for errors.

    Examples
    --------
    >>> Document({"a": [1, 2.5]}, "the file").numbers("a", 2).tolist()
    [1.0, 2.5]
    """

    def __init__(self, values: Any, where: str) -> None:
        if not isinstance(values, dict):
            raise DataError(f"{where} is {shown(values)}, not an object")
        self.values: dict[str, Any] = values
        self.where = where

    def __contains__(self, name: str) -> bool:
        return name in self.values

    def get(self, name: str) -> Any:
        """An entry that must be there."""
        if name not in self.values:
            raise DataError(f"{self.where}: {name!r} is missing")
        return self.values[name]

    def inner(self, name: str) -> Document:
        """An entry that is an object."""
        return Document(self.get(name), f"{self.where}, {name!r}")

    def items(self, name: str, most: int = 1 << 30) -> list[Any]:
        """An entry that is a list."""
        found = self.get(name)
        if isinstance(found, np.ndarray):
            found = found.tolist()
        if not isinstance(found, list) or len(found) > most:
            raise DataError(f"{self.where}: {name!r} is not a list of at most {most} entries")
        return found

    def inners(self, name: str) -> list[Document]:
        """An entry that is a list of objects."""
        return [Document(one, f"{self.where}, {name!r} {i}") for i, one in enumerate(self.items(name))]

    def text(self, name: str) -> str:
        """An entry that is text."""
        found = self.get(name)
        if not isinstance(found, str):
            raise DataError(f"{self.where}: {name!r} is {shown(found)}, not text")
        return found

    def texts(self, name: str) -> list[str]:
        """An entry that is a list of texts."""
        found = self.items(name)
        if not all(isinstance(one, str) for one in found):
            raise DataError(f"{self.where}: {name!r} does not hold only text")
        return found

    def numbers(self, name: str, n: int | None = None) -> NDArray[np.float64]:
        """An entry that is a list of `n` numbers, none of them NaN."""
        found = self.get(name)
        if not isinstance(found, np.ndarray):
            found = self.items(name)
            if any(type(one) not in (int, float) for one in found):
                raise DataError(f"{self.where}: {name!r} does not hold only numbers")
        try:
            numbers = np.array(found, dtype=np.float64)
        except OverflowError:
            raise DataError(f"{self.where}: {name!r} holds a number that is too large") from None
        if numbers.ndim != 1 or (n is not None and len(numbers) != n):
            raise DataError(f"{self.where}: {name!r} holds {len(numbers)} numbers, not {n}")
        if np.isnan(numbers).any():
            raise DataError(f"{self.where}: {name!r} holds NaN")
        return numbers

    def whole_numbers(self, name: str, n: int | None = None) -> NDArray[np.int64]:
        """An entry that is a list of `n` whole numbers of at most 53 bits."""
        numbers = self.numbers(name, n)
        if ((numbers != np.floor(numbers)) | (np.abs(numbers) > 2.0**53)).any():
            raise DataError(f"{self.where}: {name!r} does not hold only whole numbers")
        return numbers.astype(np.int64)

    def number(self, name: str) -> float:
        """An entry that is a finite number."""
        found = self.get(name)
        if type(found) not in (int, float) or not math.isfinite(found):
            raise DataError(f"{self.where}: {name!r} is {shown(found)}, not a number")
        return float(found)

    def whole(self, name: str, low: int, high: int) -> int:
        """An entry that is a whole number from `low` to `high`. It may be written as text."""
        found = self.get(name)
        if isinstance(found, str) and len(found) < 20 and found.isascii() and found.isdecimal():
            found = int(found)
        if type(found) is not int or not low <= found <= high:
            raise DataError(f"{self.where}: {name!r} is {shown(found)}, not a whole number {low} to {high}")
        return found
