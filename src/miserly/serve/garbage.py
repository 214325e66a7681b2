"""Exclude objects that are loaded once from garbage collection.

A full collection visits every object that could be in a cycle. Libraries, compiled code and models have
300,000 of them, which takes a seventh of a second. The service answers no request in this time, and deadlines
pass. Almost all of these objects live as long as the process. `freeze_loaded` excludes them from further
collections. These then visit only the objects of requests, and take a few milliseconds at most.
"""

from __future__ import annotations

import gc

__all__ = ["freeze_loaded"]


def freeze_loaded() -> None:
    """Collect garbage, and exclude all present objects from further collections.

    It is called when all objects that requests use are loaded, and after each reload of models. The first
    call takes as long as a full collection. Further calls visit only new objects. A frozen model is still
    freed when it is replaced: models have no cycles, so reference counting frees them.
    """
    gc.collect()
    gc.freeze()
