"""The command line: `miserly demo | frontier | fit | predict | show | compress | bench | datasets`.

The commands are in `plan_commands` and `search_commands`. Nothing that learns is imported before it is
needed: `miserly --help` and `miserly predict` start at once.
"""

from __future__ import annotations

from typing import Annotated

import typer

from miserly import __version__
from miserly.cli.plan_commands import compress, fit, predict, show
from miserly.cli.search_commands import bench, datasets, demo, frontier

__all__ = ["app"]

app = typer.Typer(
    name="miserly",
    help="Models that pay for a feature only when it is worth its price.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for command in (demo, frontier, fit, predict, show, compress, bench, datasets):
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
