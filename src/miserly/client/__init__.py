"""A client of `miserly serve`: it calls local sources for a plan that runs on a server."""

from miserly.client.client import Client
from miserly.client.receipt import RemoteReceipt

__all__ = ["Client", "RemoteReceipt"]
