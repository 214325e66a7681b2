"""``python -m miserly.serve.health``: a health check for containers. It exits with 0 if the service answers.

The variable MISERLY_HEALTH holds the address. The certificate is not verified, because its name differs from
the local address and the request holds no secret.
"""

from __future__ import annotations

import os
import ssl
import sys
import urllib.error
import urllib.request

__all__ = ["is_healthy"]


def is_healthy(url: str, seconds: float = 4.0) -> bool:
    """Return whether a service answers at an address."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    opener = urllib.request.build_opener(
        urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=context)
    )
    if not url.startswith(("http://", "https://")):
        return False
    try:
        with opener.open(url, timeout=seconds) as response:
            return bool(response.status == 200)
    except (OSError, ValueError):  # an HTTP error is an OSError, too
        return False


if __name__ == "__main__":
    sys.exit(not is_healthy(os.environ.get("MISERLY_HEALTH", "http://127.0.0.1:8000/healthz")))
