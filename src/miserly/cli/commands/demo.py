"""`miserly demo`: heart disease with real prices, from the table of budgets to the report."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from miserly.cli.console import friendly
from miserly.cli.options import Debug

__all__ = ["demo"]


@friendly
def demo(
    folder: Annotated[
        Path, typer.Option("--out", help="The folder for the plan, the drawing and the report.")
    ] = Path("miserly-demo"),
    debug: Debug = False,
) -> None:
    """Show what budgets buy on heart disease data with real prices, and one patient step by step."""
    from miserly.cli.demo import run_demo

    run_demo(folder)
