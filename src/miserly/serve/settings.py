"""All options of the service, in one place."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from miserly.errors import ServeError

__all__ = ["ServeSettings"]

_MIB = 2**20


@dataclass(frozen=True)
class ServeSettings:
    """All options of the service.

    Parameters
    ----------
    models : str
        A saved plan, or a folder with saved plans (``*.miser``).
    sources : str, optional
        The sources of the server, as ``module:name``.
    host : str, default="127.0.0.1"
        The address to listen at.
    port : int, default=8000
        The port to listen at; 0 selects a free port.
    workers : int, default=1
        Number of worker processes.
    reload_every : float, default=2.0
        Seconds between two checks for changed files; 0 turns them off.
    max_model_bytes : int, default=256 MiB
        Larger files are not loaded.
    max_rows : int, default=1000
        Maximum number of rows in one request.
    timeout : float, default=30.0
        Maximum time of one answer, in seconds.
    source_timeout : float, optional
        Maximum time of one call of a source, in seconds.
    retries : int, default=0
        Maximum number of retries of a source that failed.
    source_threads : int, default=256
        Maximum number of threads for blocking sources, for each model and worker. A call that hangs occupies
        its thread until it returns. If all threads are occupied, calls fail with the outcome ``exhausted``.
    max_body : int, default=1 MiB
        Maximum size of a request body, in bytes.
    concurrency : int, default=256
        Maximum number of simultaneous requests, for each worker.
    rate : float, optional
        Maximum number of requests per second from one client. No limit by default.
    burst : float, optional
        Maximum number of requests from one client at once. By default the number for one second.
    body_timeout : float, default=10.0
        Maximum time until a request body has arrived, in seconds.
    allowed_hosts : tuple of str
        Allowed names in the Host header, without ports. By default any name is allowed.
    proxies : tuple of str
        Addresses of proxies whose X-Forwarded-For and X-Forwarded-Proto are trusted; none by default.
    keys : tuple of str
        Accepted API keys. Without keys, all clients are accepted.
    cors : tuple of str
        Origins whose pages may call the service; none by default.
    session_ttl : float, default=3600.0
        Seconds without a request after which a session expires.
    max_sessions : int, default=10000
        Maximum number of sessions.
    max_session_bytes : int, default=64 MiB
        Maximum size of all sessions together, in bytes.
    max_session_size : int, default=256 KiB
        Maximum size of one session, in bytes.
    redis : str, optional
        The URL of a Redis server that stores sessions. Several workers need it to share sessions.
    receipts : str, optional
        The URL of a database, or an SQLite file, that stores receipts.
    audit : str, optional
        The file to which a line is added for each answer; ``-`` for the standard error stream.
    keep_values : bool, default=False
        Whether stored receipts hold the values of features. Retraining needs them.
    receipts_required : bool, default=False
        Whether to respond with 503 if a receipt cannot be stored. Otherwise the loss is counted and logged.
    journal : str, optional
        The folder where receipts wait for the database. By default a folder beside the SQLite file, or
        ``receipts.pending``.
    journal_sync : {"never", "interval", "always"}, default="never"
        When the journal is flushed to disk. This matters only for power failures.
    journal_limit : int, default=1 GiB
        Maximum size of waiting receipts, in bytes, for each worker.
    log_values : bool, default=False
        Whether the audit log holds values of features, and the log holds messages of failed sources.
    tls_cert : str, optional
        The file of a TLS certificate.
    tls_key : str, optional
        The file of its private key.
    tls_password : str, optional
        The password of the private key, if it is encrypted.
    """

    models: str
    sources: str | None = None
    host: str = "127.0.0.1"
    port: int = 8000
    workers: int = 1
    reload_every: float = 2.0
    max_model_bytes: int = 256 * _MIB
    max_rows: int = 1000
    timeout: float = 30.0
    source_timeout: float | None = None
    retries: int = 0
    source_threads: int = 256
    max_body: int = _MIB
    concurrency: int = 256
    rate: float | None = None
    burst: float | None = None
    body_timeout: float = 10.0
    allowed_hosts: tuple[str, ...] = ()
    proxies: tuple[str, ...] = ()
    keys: tuple[str, ...] = field(default=(), repr=False)
    cors: tuple[str, ...] = ()
    session_ttl: float = 3600.0
    max_sessions: int = 10_000
    max_session_bytes: int = 64 * _MIB
    max_session_size: int = _MIB // 4
    redis: str | None = field(default=None, repr=False)  # may hold a password
    receipts: str | None = field(default=None, repr=False)
    audit: str | None = None
    keep_values: bool = False
    receipts_required: bool = False
    journal: str | None = None
    journal_sync: str = "never"
    journal_limit: int = 1024 * _MIB
    log_values: bool = False
    tls_cert: str | None = None
    tls_key: str | None = None
    tls_password: str | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "models", str(Path(self.models)))
        for name in ("keys", "cors", "allowed_hosts", "proxies"):
            object.__setattr__(self, name, tuple(getattr(self, name)))
        if (self.tls_cert is None) != (self.tls_key is None):
            raise ServeError("TLS needs both a certificate (tls_cert) and its private key (tls_key)")
