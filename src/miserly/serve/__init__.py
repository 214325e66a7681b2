"""Plans behind HTTP: predictions, sessions that ask step by step, receipts, and a page.

Needs the extra ``miserly[serve]``. `create_app` gives the ASGI application, ``miserly serve`` runs it.
"""

from miserly.serve.app import create_app
from miserly.serve.settings import ServeSettings

__all__ = ["ServeSettings", "create_app"]
