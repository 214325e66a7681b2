"""The sources of the server for each model, from a module or a given object."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable, Mapping
from typing import Any

from miserly.errors import ServeError, did_you_mean
from miserly.runtime import Source

__all__ = ["import_sources", "sources_by_model"]


def sources_by_model(named: str | None, given: Any = None) -> Callable[[str], Any]:
    """Return a function from model name to the sources of the model.

    Parameters
    ----------
    named : str or None
        ``module:name``.
    given : object, optional
        The sources themselves. If given, `named` is ignored.

    Returns
    -------
    callable
    """
    found = given if given is not None else None if named is None else import_sources(named)
    if found is None:
        return lambda name: None
    if isinstance(found, Mapping):
        kinds = {isinstance(one, Mapping) for one in found.values()}
        if kinds == {True}:
            return lambda name: found.get(name)
        if kinds <= {False} and all(callable(one) or isinstance(one, Source) for one in found.values()):
            return lambda name: found
    elif callable(found):
        return lambda name: _of_function(found, name)
    what = named or "sources"
    raise ServeError(
        f"{what}: sources are a mapping of feature or group to callable, a mapping of model name to such a "
        "mapping, or a function that takes the name of a model and gives such a mapping"
    )


def import_sources(named: str) -> Any:
    """Return the object at ``module:name``.

    Parameters
    ----------
    named : str
        An importable module (the current folder is searched too), and the name of an object in it.

    Returns
    -------
    object
    """
    module_name, colon, name = named.partition(":")
    if not (module_name and colon and name):
        raise ServeError(f"{named}: sources are given as module:name, such as my_module:sources")
    if os.getcwd() not in sys.path and "" not in sys.path:
        sys.path.insert(0, os.getcwd())
    try:
        module = importlib.import_module(module_name)
    except Exception as error:
        raise ServeError(
            f"{named}: the module cannot be imported: {type(error).__name__}: {error}"
        ) from error
    if not hasattr(module, name):
        raise ServeError(f"{named}: the module has no {name!r}{did_you_mean(name, vars(module))}")
    return getattr(module, name)


def _of_function(function: Callable[[str], Any], name: str) -> Any:
    try:
        sources = function(name)
    except Exception as error:
        raise ServeError(f"its sources cannot be loaded: {type(error).__name__}: {error}") from error
    if sources is not None and not isinstance(sources, Mapping):
        raise ServeError(f"its sources are a {type(sources).__name__}, not a mapping")
    return sources
