"""The command line: `miserly demo | frontier | fit | predict | ask | show | serve | compress | ...`.

The commands are in `plan_commands`, `search_commands`, `serving` and `receipt_commands`. Learners
are imported only when they are needed, so `miserly --help` and `miserly predict` start quickly.
"""

from __future__ import annotations

from typing import Annotated

import typer

from miserly import __version__
from miserly.cli import plan_commands, receipt_commands, search_commands, serving

__all__ = ["app"]

app = typer.Typer(
    name="miserly",
    help="Models that pay for a feature only when it is worth its price.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for command in (
    search_commands.demo,
    search_commands.frontier,
    plan_commands.fit,
    plan_commands.predict,
    plan_commands.ask,
    plan_commands.show,
    serving.serve,
    receipt_commands.receipts,
    plan_commands.compress,
    search_commands.bench,
    search_commands.datasets,
):
    app.command()(command)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"miserly {__version__}")
        raise typer.Exit


@app.callback()
def miserly(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Models that pay for a feature only when it is worth its price."""
