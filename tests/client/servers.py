"""Services to test clients with: the application behind a real port, in a thread of this process."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import uvicorn

from miserly.plan import Plan
from miserly.serve import ServeSettings, create_app

__all__ = ["listening", "saved"]


def saved(folder: Path, **plans: Plan) -> Path:
    """A folder with plans."""
    for name, plan in plans.items():
        plan.save(folder / f"{name}.miser")
    return folder


@contextmanager
def listening(models: Path, sources: Any = None, wrap: Any = None, **options: Any) -> Iterator[str]:
    """The URL of a service; `wrap` may put an ASGI application around it."""
    app = create_app(ServeSettings(models=str(models), **{"reload_every": 0, **options}), sources)
    config = uvicorn.Config(
        app if wrap is None else wrap(app), port=0, log_level="error", lifespan="on", access_log=False
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    try:
        end = time.monotonic() + 30.0
        while not server.started:
            assert thread.is_alive() and time.monotonic() < end
            time.sleep(0.01)
        port = server.servers[0].sockets[0].getsockname()[1]
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join(10.0)
