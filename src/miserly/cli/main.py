"""The program `miserly`: each command is in a module of its own in `commands`.

Nothing that learns is imported before it is needed: `miserly --help` and `miserly predict` start at once.
"""

from __future__ import annotations

from typing import Annotated

import typer

from miserly import __version__
from miserly.cli.commands.bench import bench
from miserly.cli.commands.compress import compress
from miserly.cli.commands.datasets import datasets
from miserly.cli.commands.demo import demo
from miserly.cli.commands.fit import fit
from miserly.cli.commands.frontier import frontier
from miserly.cli.commands.predict import predict
from miserly.cli.commands.show import show

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
