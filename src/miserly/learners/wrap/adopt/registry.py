"""The registry of readers: one reader for each library or format.

To add a reader, write a module in `readers` with a class that is decorated with `register`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from pkgutil import iter_modules
from typing import Any, ClassVar, TypeVar

from miserly.errors import DataError
from miserly.learners.wrap.adopt.files import ModelFile
from miserly.learners.wrap.adopt.model import AdoptedModel

__all__ = ["Reader", "read_model", "readers", "register"]

_READERS: list[type[Reader]] = []
_Class = TypeVar("_Class", bound="type[Reader]")


class Reader(ABC):
    """Reads the models of one library.

    A reader is a class with two static methods; it has no instances.

    Attributes
    ----------
    reads : str
        What it reads, for the error message if no reader accepts a model.
    takes_categories : bool
        Whether `read` has a parameter `categories`, because it needs the values of categories to read trees.

    Examples
    --------
    >>> [reader.reads for reader in readers() if reader.accepts("a text is no model")]
    []
    """

    reads: ClassVar[str]
    takes_categories: ClassVar[bool] = False

    @staticmethod
    @abstractmethod
    def accepts(source: Any) -> bool:
        """Whether the reader accepts a model object or a `ModelFile`. It must not import the library.

        Parameters
        ----------
        source : object
            A fitted model, or a `ModelFile`.

        Returns
        -------
        bool
        """

    @staticmethod
    @abstractmethod
    def read(source: Any, *, iterations: tuple[int, int | None] | None = None) -> AdoptedModel:
        """Read a model.

        Parameters
        ----------
        source : object
            A fitted model, or a `ModelFile`.
        iterations : tuple of int, optional
            The rounds to use, as in ``range(first, stop)``. By default those that the library uses.

        Returns
        -------
        AdoptedModel

        Raises
        ------
        DataError
            If the model cannot be read, or a plan cannot give the same answers.
        """


def register(reader: _Class) -> _Class:
    """Register a reader; used as a decorator. Readers are tried in the order of their registration.

    Parameters
    ----------
    reader : type of Reader
        The class.

    Returns
    -------
    type of Reader
        The same class.
    """
    _READERS.append(reader)
    return reader


def readers() -> Iterator[type[Reader]]:
    """All readers: those of the package `readers`, and those that were registered elsewhere.

    Yields
    ------
    type of Reader
    """
    from miserly.learners.wrap.adopt import readers as package

    for info in iter_modules(package.__path__, f"{package.__name__}."):
        import_module(info.name)
    yield from _READERS


def read_model(
    source: Any,
    iterations: tuple[int, int | None] | None = None,
    categories: Mapping[Any, Sequence[Any]] | None = None,
) -> AdoptedModel:
    """Read a fitted model with the first reader that accepts it.

    Parameters
    ----------
    source : object
        A fitted model, a `ModelFile`, or an `AdoptedModel`.
    iterations : tuple of int, optional
        The rounds to use, as in ``range(first, stop)``.
    categories : mapping of column name or number to sequence, optional
        Categories of the categorical columns.

    Returns
    -------
    AdoptedModel
    """
    if isinstance(source, AdoptedModel):
        return source.named(categories=categories)
    known = list(readers())
    for reader in known:
        if reader.accepts(source):
            if reader.takes_categories:
                return reader.read(source, iterations=iterations, categories=categories)  # type: ignore[call-arg]
            return reader.read(source, iterations=iterations).named(categories=categories)
    what = f"the file {str(source.path)!r}" if isinstance(source, ModelFile) else f"a {_kind(source)}"
    raise DataError(f"adopt cannot read {what}; it reads {'; '.join(one.reads for one in known)}")


def _kind(source: Any) -> str:
    kind = type(source)
    return f"{kind.__module__.partition('.')[0]} {kind.__name__}"
