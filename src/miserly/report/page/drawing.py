"""The plan of the chosen model, drawn and in words."""

from __future__ import annotations

import base64
import io
import warnings

import numpy as np

from miserly.plan import Plan
from miserly.plan.purchases import stretches
from miserly.report.page.content import ReportContent
from miserly.report.page.html import details, paragraph, section, text
from miserly.report.style import STYLE, matplotlib
from miserly.report.tree_plot import plot_tree

__all__ = ["plan_section"]

_MOST_ROWS = 5000  # rows that are run for the picture of a plan


def plan_section(content: ReportContent) -> str:
    """The drawing, and the description, which opens on demand."""
    words, budget = content.words, content.words.price(content.chosen.budget)
    intro = (
        f"What the model for {budget} does with a {words.row}. It was fitted to {len(content.rows):,} "
        f"{words.rows}. {_key(content)}"
    )
    picture = _chart_of_rows(content) if _has_branches(content.plan) else content.plan.draw().svg
    inside = (
        f"{paragraph(intro)}\n"
        f'<div class="drawing" tabindex="0" role="region" aria-label="The plan, drawn">{picture}</div>\n'
        '<button type="button" class="enlarge">Enlarge the drawing</button>\n'
        + details("The plan in words", f"<pre>{text(content.plan.describe())}</pre>", on_paper=False)
    )
    return section("plan", f"The plan for {budget}", inside)


def _has_branches(plan: Plan) -> bool:
    """Whether rows take different paths."""
    return len(stretches(plan)) > 1 or any(node.is_exit for node in plan.nodes)


def _key(content: ReportContent) -> str:
    row, rows = content.words.row, content.words.rows
    if _has_branches(content.plan):
        return f"{rows.capitalize()} take different paths: each box shows the share that reaches it."
    return (
        f"Every {row} goes through all steps. A bar begins at the cost before a purchase and ends at the "
        "cost after it."
    )


def _chart_of_rows(content: ReportContent) -> str:
    """Boxes with the shares of rows, as an image: its styles must not affect the page."""
    rows = content.rows
    if rows.qid is None and len(rows) > _MOST_ROWS:
        rows = rows.take(np.linspace(0, len(rows) - 1, _MOST_ROWS).astype(np.int64))
    file = io.BytesIO()
    _, rc_context = matplotlib()
    with rc_context(STYLE), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing")  # text stays text and uses the browser's fonts
        figure = plot_tree(content.plan, rows.X, rows.y, qid=rows.qid)
        figure.savefig(file, format="svg", metadata={"Date": None})
    shape = "tree" if len(stretches(content.plan)) > 1 else "chain"
    label = f"The plan drawn as a {shape}, with the shares of {content.words.rows}. A description is below."
    data = base64.b64encode(file.getvalue()).decode("ascii")
    return f'<img alt="{text(label)}" src="data:image/svg+xml;base64,{data}">'
