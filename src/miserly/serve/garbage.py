"""The garbage collector: what is loaded once is not looked through again and again.

A full collection looks at every object that could be in a cycle. Libraries, compiled code and models have
300,000 of them, which takes a seventh of a second. No request is answered meanwhile, and deadlines pass.
Almost all of them stay as long as the process does. `freeze_loaded` takes them out of further collections,
which then look at the objects of requests alone and take a few milliseconds at most.
"""

from __future__ import annotations

import gc

__all__ = ["freeze_loaded"]


def freeze_loaded() -> None:
    """Collect garbage, and leave out of further collections what is there now.

    It is called when everything is loaded that requests use, and after each reload of models. The first call
    takes as long as a full collection. Further calls look at what is new alone. A model that is frozen and
    replaced is freed all the same, because models have no cycles: the last reference to one frees it.
    """
    gc.collect()
    gc.freeze()
