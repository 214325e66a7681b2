"""A client of `miserly serve`: local sources, and a plan that is elsewhere."""

from miserly.client.client import Client
from miserly.client.receipt import RemoteReceipt

__all__ = ["Client", "RemoteReceipt"]
