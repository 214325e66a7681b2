"""Running the application: one process, or several that share a socket."""

from __future__ import annotations

import functools
import logging
import signal
import socket
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import uvicorn
from uvicorn.supervisors import Multiprocess

from miserly.errors import ServeError
from miserly.serve.app import create_app
from miserly.serve.connections import BoundedProtocol
from miserly.serve.doors import Doors
from miserly.serve.metrics import metrics_folder
from miserly.serve.models import ModelFolder
from miserly.serve.settings import ServeSettings
from miserly.serve.sources import sources_by_model
from miserly.serve.tls import check_tls

__all__ = ["run"]

LOOPBACK = ("127.0.0.1", "::1", "localhost")
_BACKLOG = 2048


def run(settings: ServeSettings, announce: Callable[[str], None]) -> None:
    """Serve until a signal stops the process. Requests in progress are completed.

    Parameters
    ----------
    settings : ServeSettings
        All options.
    announce : callable
        Called with the line that names the models and the address, once the service is ready.

    Raises
    ------
    ServeError
        If there is no model to serve, or the address, the certificate or the sources cannot be used.
    """
    names = _check_models(settings)
    _check_certificate(settings)
    settings = _with_host_names(settings)
    Doors(_no_application, settings)  # raises if keys or origins are not valid
    listener = _bind(settings)
    host, port = listener.getsockname()[:2]
    shown = f"[{host}]" if ":" in host else host
    scheme = "http" if settings.tls_cert is None else "https"
    some = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
    line = f"Serving {some} at {scheme}://{shown}:{port}/ (Ctrl-C stops)"
    _log_to_stderr()
    config = _config(settings)
    for number in (signal.SIGINT, signal.SIGTERM):  # uvicorn raises the signal again when it has stopped
        signal.signal(number, lambda number, frame: None)
    if settings.workers > 1:
        with metrics_folder(settings.workers):
            _WorkerGroup(config, [listener], lambda: announce(line)).run()
    else:
        _Server(config, lambda: announce(line)).run(sockets=[listener])


def _application(settings: ServeSettings) -> Any:
    """The application of a worker process."""
    _log_to_stderr()
    return create_app(settings)


async def _no_application(scope: Any, receive: Any, send: Any) -> None:
    """A placeholder application that is never called."""


def _config(settings: ServeSettings) -> uvicorn.Config:
    return uvicorn.Config(
        functools.partial(_application, settings),
        factory=True,
        workers=settings.workers,
        loop="auto",
        http=BoundedProtocol,
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=bool(settings.proxies),
        forwarded_allow_ips=list(settings.proxies),
        backlog=_BACKLOG,
        timeout_keep_alive=75,
        timeout_graceful_shutdown=int(settings.timeout) + 5,
        ssl_certfile=settings.tls_cert,
        ssl_keyfile=settings.tls_key,
        ssl_keyfile_password=settings.tls_password,
    )


class _Server(uvicorn.Server):
    """A server that reports when it is ready."""

    def __init__(self, config: uvicorn.Config, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._ready()


class _WorkerGroup(Multiprocess):
    """Worker processes that share a socket. A worker that dies is replaced."""

    def __init__(
        self, config: uvicorn.Config, sockets: list[socket.socket], ready: Callable[[], None]
    ) -> None:
        super().__init__(config, sockets)
        self._ready = ready

    def init_processes(self) -> None:
        super().init_processes()
        if all(one.wait_until_ready(60.0, self.should_exit) for one in self.processes):
            self._ready()


# -- checks before the start -----------------------------------------------------------------------------


def _check_models(settings: ServeSettings) -> list[str]:
    """The names of the models. Raises an error that says what to correct."""
    path = Path(settings.models)
    if not path.exists():
        raise ServeError(f"{path}: there is no such file or folder")
    sources = sources_by_model(settings.sources)
    folder = ModelFolder(settings, sources)
    folder.refresh()
    if not folder.names:
        problems = "; ".join(f"{name}: {why}" for name, why in folder.problems.items())
        if problems:
            raise ServeError(f"{path}: no model can be served: {problems}")
        raise ServeError(f"{path}: there is no saved plan (*.miser) in this folder")
    return folder.names


def _check_certificate(settings: ServeSettings) -> None:
    if settings.tls_cert is not None and settings.tls_key is not None:
        check_tls(settings.tls_cert, settings.tls_key, settings.tls_password)


def _with_host_names(settings: ServeSettings) -> ServeSettings:
    """At a loopback address, accept only local host names, unless names are given.

    Otherwise a web page whose host name resolves to 127.0.0.1 could use the service through a local browser.
    """
    if settings.allowed_hosts or settings.host not in LOOPBACK:
        return settings
    return replace(settings, allowed_hosts=("localhost", "127.0.0.1", "[::1]"))


def _bind(settings: ServeSettings) -> socket.socket:
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    listener = socket.socket(family)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((settings.host, settings.port))
        listener.listen(_BACKLOG)
    except OSError as error:
        listener.close()
        reason = (error.strerror or str(error)).lower()
        raise ServeError(
            f"cannot listen at {settings.host}, port {settings.port}: {reason}; choose another with --port"
        ) from None
    listener.set_inheritable(True)
    return listener


class Seldom(logging.Filter):
    """Passes the same warning once a minute, so that clients cannot fill the log with bad requests.

    Parameters
    ----------
    seconds : float, default=60.0
        The time between two lines with the same warning.

    Examples
    --------
    >>> seldom = Seldom()
    >>> record = logging.makeLogRecord({"msg": "Invalid HTTP request received.", "levelno": logging.WARNING})
    >>> seldom.filter(record), seldom.filter(record)
    (True, False)
    """

    def __init__(self, seconds: float = 60.0) -> None:
        super().__init__()
        self._seconds = seconds
        self._last: dict[str, float] = {}  # by message without arguments, so the number is small

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether a line is logged."""
        now, message = time.monotonic(), str(record.msg)
        if record.levelno > logging.WARNING:
            return True
        if now - self._last.get(message, -self._seconds) < self._seconds:
            return False
        self._last[message] = now
        return True


def _log_to_stderr() -> None:
    """Log warnings of the server, and all messages about models, to standard error."""
    log = logging.getLogger("miserly.serve")
    if not log.handlers:
        handler = logging.StreamHandler()
        handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
        log.addHandler(handler)
        log.setLevel(logging.INFO)
        log.propagate = False
        server = logging.getLogger("uvicorn.error")
        server.addHandler(handler)
        server.addFilter(Seldom())
        server.setLevel(logging.WARNING)
        server.propagate = False
