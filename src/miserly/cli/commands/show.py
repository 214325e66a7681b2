"""`miserly show`: a saved plan in words and as a picture."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from miserly.cli.console import check_output, friendly, out, print_json
from miserly.cli.options import Debug, Force, Json, Model

__all__ = ["show"]


@friendly
def show(
    model: Model,
    draw: Annotated[
        Path | None, typer.Option(help="Also draw the plan to this .svg or .html file.", show_default=False)
    ] = None,
    force: Force = False,
    everything: Annotated[
        bool, typer.Option("--all", help="Also list the features that it never buys.")
    ] = False,
    as_json: Json = False,
    debug: Debug = False,
) -> None:
    """Describe a saved plan, and list what its features cost."""
    from miserly.cli.plan_output import plan_record, print_plan
    from miserly.plan import load

    plan = load(model)
    if draw is not None:
        check_output(draw, (".svg", ".html", ".htm"), (model,), force)
        plan.draw().save(draw)
    if as_json:
        print_json(plan_record(plan))
        return
    print_plan(plan, model.name, everything)
    if draw is not None:
        out.print(f"Drawn to {draw}", soft_wrap=True)
