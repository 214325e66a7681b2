"""The runner of local sources for a plan on a server."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from miserly.client.connection import Connection
from miserly.client.plan import RemotePlan
from miserly.runtime.receipt import plain_value
from miserly.runtime.runner import SourceRunner
from miserly.runtime.sources import Source

__all__ = ["RemoteRunner"]


class RemoteRunner(SourceRunner):
    """Local sources that are bound to a plan of a service.

    Parameters
    ----------
    plan : RemotePlan
        The plan.
    connection : Connection
        The connection to its service.
    sources : mapping, or None
        As for `OnDemand`.
    defaults : Source
        The default options of sources.
    together : bool, default=False
        As for `Client`.
    **options : object
        Options of `SourceRunner`.
    """

    plan: RemotePlan

    def __init__(
        self,
        plan: RemotePlan,
        connection: Connection,
        sources: Mapping[Any, Any] | None,
        defaults: Source,
        together: bool = False,
        **options: Any,
    ) -> None:
        super().__init__(plan, sources, defaults, **options)
        self.connection, self.together = connection, together

    def in_background(self, work: Any) -> Any:
        """Run a coroutine in the thread of the connection, and wait for it.

        Parameters
        ----------
        work : coroutine
            The coroutine.

        Returns
        -------
        object
            Its result.
        """
        return self.connection.run(work)

    def json_value(self, f: int, given: Any) -> Any:
        """Return a value of a column in the form that the service accepts; None if it is missing.

        Parameters
        ----------
        f : int
            The column.
        given : object
            The value from a source or a caller.

        Returns
        -------
        object
        """
        if given is None:
            return None
        number = self.encode(f, given)
        if math.isnan(number):
            return None
        return plain_value(self.plan.categories[f][int(number)]) if f in self.plan.categories else number

    def json_values(self, given: Mapping[Any, Any] | None) -> dict[str, Any]:
        """Return values of features in the form that the service accepts.

        Parameters
        ----------
        given : mapping of feature to value, or None
            The values from a caller.

        Returns
        -------
        dict
        """
        index = self.plan.costs.index
        return {str(name): self.json_value(index(name), value) for name, value in (given or {}).items()}

    def features_of(self, raw: Any) -> dict[str, Any]:
        """Return the features that a raw input holds, by name, as `OnDemand` looks them up.

        Parameters
        ----------
        raw : object
            A mapping, or anything that is read by ``raw[feature]``.

        Returns
        -------
        dict
            Values in the form that the service accepts.
        """
        found = {}
        for f in self.plan.features.tolist():
            name = self.plan.costs.name(f)
            try:
                given = raw[name]
            except (KeyError, IndexError, TypeError):
                continue
            found[str(name)] = self.json_value(f, given)
        return found
