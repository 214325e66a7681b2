"""Plans behind HTTP: predictions, sessions that ask step by step, receipts, and a page.

Needs the extra ``miserly[serve]``. `create_app` gives the ASGI application, ``miserly serve`` runs it. Names
are imported when they are first used, so code that reads or stores receipts needs no web server.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from miserly.serve.app import create_app
    from miserly.serve.settings import ServeSettings

__all__ = ["ServeSettings", "create_app"]

_HOME = {"ServeSettings": "miserly.serve.settings", "create_app": "miserly.serve.app"}


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    raise AttributeError(f"module 'miserly.serve' has no attribute {name!r}")
