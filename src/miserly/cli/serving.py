"""`miserly serve`: plans behind HTTP."""

from __future__ import annotations

import os
from dataclasses import dataclass, fields
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from miserly.cli.console import Misuse, err, friendly, out, warn
from miserly.cli.options import Debug, expanded
from miserly.errors import MiserlyError

__all__ = ["serve"]

_SOURCES, _LIMITS, _DOORS, _STATE = (
    "Models and sources",
    "Limits",
    "Keys, origins, TLS",
    "Sessions and receipts",
)
KEYS = "MISERLY_KEYS"
PASSWORD = "MISERLY_TLS_PASSWORD"  # of the private key


class JournalSync(StrEnum):
    """When receipts are flushed to the disk."""

    never = "never"
    interval = "interval"
    always = "always"


@dataclass(frozen=True)
class ModelOptions:
    """Options of models and sources."""

    sources: Annotated[
        str | None,
        typer.Option(
            help="The sources of the server, as module:name.",
            show_default=False,
            rich_help_panel=_SOURCES,
        ),
    ] = None
    source_timeout: Annotated[
        float | None,
        typer.Option(
            min=0.001,
            help="Maximum time of one call of a source, in seconds.",
            show_default=False,
            rich_help_panel=_SOURCES,
        ),
    ] = None
    retries: Annotated[
        int,
        typer.Option(
            min=0, help="Maximum number of retries of a source that failed.", rich_help_panel=_SOURCES
        ),
    ] = 0
    source_threads: Annotated[
        int,
        typer.Option(
            min=1, help="Maximum number of threads for blocking sources, per model.", rich_help_panel=_SOURCES
        ),
    ] = 256
    reload_every: Annotated[
        float,
        typer.Option(
            min=0.0,
            help="Seconds between two checks for changed files; 0 turns them off.",
            rich_help_panel=_SOURCES,
        ),
    ] = 2.0
    max_model_bytes: Annotated[
        int, typer.Option(min=1, help="Maximum size of a model file, in bytes.", rich_help_panel=_SOURCES)
    ] = 2**28


@dataclass(frozen=True)
class LimitOptions:
    """Limits of requests."""

    timeout: Annotated[
        float,
        typer.Option(min=0.001, help="Maximum time of one answer, in seconds.", rich_help_panel=_LIMITS),
    ] = 30.0
    max_rows: Annotated[
        int, typer.Option(min=1, help="Maximum number of rows in one request.", rich_help_panel=_LIMITS)
    ] = 1000
    max_body: Annotated[
        int, typer.Option(min=1, help="Maximum size of a request body, in bytes.", rich_help_panel=_LIMITS)
    ] = 2**20
    concurrency: Annotated[
        int,
        typer.Option(
            min=1, help="Maximum number of simultaneous requests, per worker.", rich_help_panel=_LIMITS
        ),
    ] = 256
    rate: Annotated[
        float | None,
        typer.Option(
            min=0.001,
            help="Maximum number of requests per second from one client, per worker.",
            show_default=False,
            rich_help_panel=_LIMITS,
        ),
    ] = None
    burst: Annotated[
        float | None,
        typer.Option(
            min=1.0,
            help="Maximum number of requests from one client at once. By default the number for one second.",
            show_default=False,
            rich_help_panel=_LIMITS,
        ),
    ] = None
    body_timeout: Annotated[
        float,
        typer.Option(
            min=0.001,
            help="Maximum time until a request body has arrived, in seconds.",
            rich_help_panel=_LIMITS,
        ),
    ] = 10.0


@dataclass(frozen=True)
class DoorOptions:
    """Options of access to the service."""

    key: Annotated[
        list[str] | None,
        typer.Option(
            help="An API key that clients must send; may be given several times. Other users of the machine "
            f"can see it in the list of processes: better use --key-file or the variable {KEYS}.",
            show_default=False,
            rich_help_panel=_DOORS,
        ),
    ] = None
    key_file: Annotated[
        Path | None,
        typer.Option(help="A file with one API key per line.", show_default=False, rich_help_panel=_DOORS),
    ] = None
    cors: Annotated[
        list[str] | None,
        typer.Option(
            help="An origin whose pages may call the service; may be given several times.",
            show_default=False,
            rich_help_panel=_DOORS,
        ),
    ] = None
    allowed_host: Annotated[
        list[str] | None,
        typer.Option(
            help="An allowed name in the Host header; may be given several times. By default any "
            "name, or at a loopback address only the names of this machine.",
            show_default=False,
            rich_help_panel=_DOORS,
        ),
    ] = None
    proxy: Annotated[
        list[str] | None,
        typer.Option(
            help="The address of a proxy whose X-Forwarded-For is trusted; may be given several times.",
            show_default=False,
            rich_help_panel=_DOORS,
        ),
    ] = None
    tls_cert: Annotated[
        Path | None,
        typer.Option(help="The TLS certificate.", show_default=False, rich_help_panel=_DOORS),
    ] = None
    tls_key: Annotated[
        Path | None,
        typer.Option(help="Its private key.", show_default=False, rich_help_panel=_DOORS),
    ] = None


@dataclass(frozen=True)
class StateOptions:
    """Options of sessions, receipts and logs."""

    session_ttl: Annotated[
        float,
        typer.Option(
            min=1.0, help="Seconds without a request after which a session expires.", rich_help_panel=_STATE
        ),
    ] = 3600.0
    max_sessions: Annotated[
        int, typer.Option(min=1, help="Maximum number of sessions.", rich_help_panel=_STATE)
    ] = 10_000
    max_session_bytes: Annotated[
        int,
        typer.Option(
            min=1024, help="Maximum size of all sessions together, in bytes.", rich_help_panel=_STATE
        ),
    ] = 2**26
    max_session_size: Annotated[
        int, typer.Option(min=1024, help="Maximum size of one session, in bytes.", rich_help_panel=_STATE)
    ] = 2**18
    redis: Annotated[
        str | None,
        typer.Option(
            help="The URL of a Redis server that stores sessions. Several workers need it to share sessions.",
            envvar="MISERLY_REDIS",
            show_default=False,
            rich_help_panel=_STATE,
        ),
    ] = None
    receipts: Annotated[
        str | None,
        typer.Option(
            help="Store receipts in this database: a URL, or an SQLite file.",
            envvar="MISERLY_RECEIPTS",
            show_default=False,
            rich_help_panel=_STATE,
        ),
    ] = None
    keep_values: Annotated[
        bool,
        typer.Option(
            "--keep-values",
            help="Store the values of features in receipts. Retraining needs them.",
            rich_help_panel=_STATE,
        ),
    ] = False
    receipts_required: Annotated[
        bool,
        typer.Option(
            "--receipts-required",
            help="Respond with 503 if a receipt cannot be stored.",
            rich_help_panel=_STATE,
        ),
    ] = False
    journal: Annotated[
        str | None,
        typer.Option(
            help="The folder where receipts wait for the database.",
            show_default=False,
            rich_help_panel=_STATE,
        ),
    ] = None
    journal_sync: Annotated[
        JournalSync,
        typer.Option(help="When receipts are flushed to disk.", rich_help_panel=_STATE),
    ] = JournalSync.never
    journal_limit: Annotated[
        int,
        typer.Option(
            min=1, help="Maximum size of waiting receipts, in bytes, per worker.", rich_help_panel=_STATE
        ),
    ] = 2**30
    audit: Annotated[
        str | None,
        typer.Option(
            help="Add a line for each answer to this file; - for the standard error stream.",
            envvar="MISERLY_AUDIT",
            show_default=False,
            rich_help_panel=_STATE,
        ),
    ] = None
    log_values: Annotated[
        bool,
        typer.Option(
            "--log-values",
            help="Write values of features to the audit log, and messages of failed sources to the log.",
            rich_help_panel=_STATE,
        ),
    ] = False


@friendly
@expanded
def serve(
    models: Annotated[
        Path, typer.Argument(help="A saved plan, or a folder of saved plans.", show_default=False)
    ],
    from_models: ModelOptions,
    limits: LimitOptions,
    doors: DoorOptions,
    state: StateOptions,
    host: Annotated[str, typer.Option(help="The address to listen at.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port; 0 selects a free port.")] = 8000,
    workers: Annotated[int, typer.Option(min=1, max=256, help="Number of worker processes.")] = 1,
    debug: Debug = False,
) -> None:
    """Serve plans over HTTP: predictions, sessions that ask step by step, and a page at /."""
    try:
        from miserly.serve.running import run
        from miserly.serve.settings import ServeSettings
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("miserly"):
            raise
        raise MiserlyError(
            f"the service needs {error.name}, which is not installed: pip install 'miserly[serve]'"
        ) from None
    if (doors.tls_cert is None) != (doors.tls_key is None):
        raise Misuse("--tls-cert and --tls-key go together: a certificate needs its private key")
    options: dict[str, Any] = {}
    for group in (from_models, limits, doors, state):
        options |= {one.name: getattr(group, one.name) for one in fields(group)}
    for name in ("key", "key_file", "allowed_host", "proxy"):
        del options[name]
    paths = {name: str(options[name]) for name in ("tls_cert", "tls_key") if options[name] is not None}
    settings = ServeSettings(
        **{**options, **paths, "cors": tuple(doors.cors or ())},
        allowed_hosts=tuple(doors.allowed_host or ()),
        proxies=tuple(doors.proxy or ()),
        tls_password=os.environ.get(PASSWORD),
        models=str(models),
        host=host,
        port=port,
        workers=workers,
        keys=_read_keys(doors),
    )
    if workers > 1 and settings.redis is None:
        warn("each worker has sessions of its own: give --redis, or use predict alone")
    run(settings, lambda line: out.print(line, soft_wrap=True, highlight=False))
    err.print("Stopped.")


def _read_keys(doors: DoorOptions) -> tuple[str, ...]:
    """The API keys of the options, of the file and of the environment."""
    from miserly.serve.keys import read_keys

    keys = [*(doors.key or ()), *os.environ.get(KEYS, "").replace(",", " ").split()]
    if doors.key_file is not None:
        keys += read_keys(doors.key_file)
    return tuple(dict.fromkeys(keys))
