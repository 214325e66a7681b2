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
    """What is served, and how features are got."""

    sources: Annotated[
        str | None,
        typer.Option(
            help="module:name of the sources with which the server gets features itself.",
            show_default=False,
            rich_help_panel=_SOURCES,
        ),
    ] = None
    source_timeout: Annotated[
        float | None,
        typer.Option(
            min=0.001, help="Seconds for one call of a source.", show_default=False, rich_help_panel=_SOURCES
        ),
    ] = None
    retries: Annotated[
        int, typer.Option(min=0, help="How often a source is called again.", rich_help_panel=_SOURCES)
    ] = 0
    source_threads: Annotated[
        int,
        typer.Option(
            min=1, help="The most threads of a model for sources that block.", rich_help_panel=_SOURCES
        ),
    ] = 256
    reload_every: Annotated[
        float,
        typer.Option(
            min=0.0, help="Seconds between two looks at the files; 0 for never.", rich_help_panel=_SOURCES
        ),
    ] = 2.0
    max_model_bytes: Annotated[
        int, typer.Option(min=1, help="Larger files are not loaded.", rich_help_panel=_SOURCES)
    ] = 2**28


@dataclass(frozen=True)
class LimitOptions:
    """Limits of one request, and of all together."""

    timeout: Annotated[
        float, typer.Option(min=0.001, help="The most seconds for one answer.", rich_help_panel=_LIMITS)
    ] = 30.0
    max_rows: Annotated[
        int, typer.Option(min=1, help="The most rows of one request.", rich_help_panel=_LIMITS)
    ] = 1000
    max_body: Annotated[
        int, typer.Option(min=1, help="The most bytes of a request body.", rich_help_panel=_LIMITS)
    ] = 2**20
    concurrency: Annotated[
        int,
        typer.Option(
            min=1, help="The most requests under way at a time, per worker.", rich_help_panel=_LIMITS
        ),
    ] = 256
    rate: Annotated[
        float | None,
        typer.Option(
            min=0.001,
            help="The most requests a second of one client, per worker.",
            show_default=False,
            rich_help_panel=_LIMITS,
        ),
    ] = None
    burst: Annotated[
        float | None,
        typer.Option(
            min=1.0,
            help="The most requests of one client at once; those of one second by default.",
            show_default=False,
            rich_help_panel=_LIMITS,
        ),
    ] = None
    body_timeout: Annotated[
        float,
        typer.Option(
            min=0.001, help="The most seconds in which a request body arrives.", rich_help_panel=_LIMITS
        ),
    ] = 10.0


@dataclass(frozen=True)
class DoorOptions:
    """Who is let in."""

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
        typer.Option(help="A file with one API key a line.", show_default=False, rich_help_panel=_DOORS),
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
            help="A name under which the service may be called; may be given several times. By default any "
            "name, and at a loopback address those of this machine alone.",
            show_default=False,
            rich_help_panel=_DOORS,
        ),
    ] = None
    proxy: Annotated[
        list[str] | None,
        typer.Option(
            help="The address of a proxy whose X-Forwarded-For is believed; may be given several times.",
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
    """What is kept."""

    session_ttl: Annotated[
        float,
        typer.Option(
            min=1.0, help="Seconds without a request after which a session expires.", rich_help_panel=_STATE
        ),
    ] = 3600.0
    max_sessions: Annotated[
        int, typer.Option(min=1, help="The most sessions at a time.", rich_help_panel=_STATE)
    ] = 10_000
    max_session_bytes: Annotated[
        int, typer.Option(min=1024, help="The most bytes of all sessions.", rich_help_panel=_STATE)
    ] = 2**26
    max_session_size: Annotated[
        int, typer.Option(min=1024, help="The most bytes of one session.", rich_help_panel=_STATE)
    ] = 2**18
    redis: Annotated[
        str | None,
        typer.Option(
            help="The URL of a Redis server that keeps the sessions, for several workers.",
            envvar="MISERLY_REDIS",
            show_default=False,
            rich_help_panel=_STATE,
        ),
    ] = None
    receipts: Annotated[
        str | None,
        typer.Option(
            help="Keep receipts: the URL of a database, or a file for SQLite.",
            envvar="MISERLY_RECEIPTS",
            show_default=False,
            rich_help_panel=_STATE,
        ),
    ] = None
    keep_values: Annotated[
        bool,
        typer.Option(
            "--keep-values",
            help="Keep the values of features in receipts; retraining needs them.",
            rich_help_panel=_STATE,
        ),
    ] = False
    receipts_required: Annotated[
        bool,
        typer.Option(
            "--receipts-required",
            help="Give no answer whose receipt cannot be kept: 503 instead.",
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
        typer.Option(help="When receipts are flushed to the disk.", rich_help_panel=_STATE),
    ] = JournalSync.never
    journal_limit: Annotated[
        int,
        typer.Option(min=1, help="The most bytes of receipts that wait, per worker.", rich_help_panel=_STATE),
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
            help="Write values of features to the audit log, and messages of sources that fail to the log.",
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
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port; 0 for any free one.")] = 8000,
    workers: Annotated[int, typer.Option(min=1, max=256, help="The number of processes.")] = 1,
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
