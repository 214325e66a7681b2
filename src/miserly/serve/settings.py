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
        ``module:name`` of the sources with which the server gets features itself.
    host : str, default="127.0.0.1"
        The address to listen at.
    port : int, default=8000
        The port to listen at; 0 for any free one.
    workers : int, default=1
        How many processes answer.
    reload_every : float, default=2.0
        Seconds between two looks at the files; 0 for never.
    max_model_bytes : int, default=256 MiB
        Larger files are not loaded.
    max_rows : int, default=1000
        The most rows of one request.
    timeout : float, default=30.0
        The most seconds for one answer.
    source_timeout : float, optional
        Seconds that one call of a source may take.
    retries : int, default=0
        How often a source that failed is called again.
    source_threads : int, default=256
        The most threads for sources that block, for each model and worker. A call that hangs holds its thread
        until it returns; while all threads are held so, calls fail with the outcome ``exhausted``.
    max_body : int, default=1 MiB
        The most bytes of a request body.
    concurrency : int, default=256
        The most requests under way at a time, for each worker.
    rate : float, optional
        The most requests a second of one client; no limit by default.
    burst : float, optional
        The most requests of one client at once; those of one second by default.
    body_timeout : float, default=10.0
        The most seconds in which a request body arrives.
    allowed_hosts : tuple of str
        Names in the Host header under which the service may be called, without ports; any by default.
    proxies : tuple of str
        Addresses of proxies whose X-Forwarded-For and X-Forwarded-Proto are believed; none by default.
    keys : tuple of str
        API keys. Without keys everyone is let in.
    cors : tuple of str
        Origins whose pages may call the service; none by default.
    session_ttl : float, default=3600.0
        Seconds without a request after which a session expires.
    max_sessions : int, default=10000
        The most sessions at a time.
    max_session_bytes : int, default=64 MiB
        The most bytes that sessions take together.
    max_session_size : int, default=256 KiB
        The most bytes of one session.
    redis : str, optional
        The URL of a Redis server that keeps the sessions, for several workers.
    receipts : str, optional
        The URL of a database, or a file, that keeps receipts.
    audit : str, optional
        The file to which a line is added for each answer; ``-`` for the standard error stream.
    keep_values : bool, default=False
        Whether receipts that are kept hold the values of features. Retraining needs them.
    receipts_required : bool, default=False
        Whether an answer whose receipt cannot be kept is a 503. Otherwise it is given, counted and logged.
    journal : str, optional
        The folder where receipts wait for the database. By default beside the file of SQLite, else
        ``receipts.pending``.
    journal_sync : {"never", "interval", "always"}, default="never"
        When the journal is flushed to the disk, which matters for power failures alone.
    journal_limit : int, default=1 GiB
        The most bytes of receipts that wait, for each worker.
    log_values : bool, default=False
        Whether the audit log holds the values of features, and the log the messages of sources that fail.
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
