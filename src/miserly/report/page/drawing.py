"""The plan of a page's chosen model: drawn, and in words."""

from __future__ import annotations

import base64
import io
import warnings

import numpy as np

from miserly.plan import Plan
from miserly.plan.purchases import stretches
from miserly.report.page.html import details, paragraph, section, text
from miserly.report.page.story import Story
from miserly.report.style import STYLE, matplotlib
from miserly.report.tree_plot import plot_tree

__all__ = ["plan_section"]

_MOST_ROWS = 5000  # that are sent through a plan for its picture


def plan_section(story: Story) -> str:
    """The picture, and on demand the words."""
    words, budget = story.words, story.words.price(story.chosen.budget)
    told = (
        f"What the model for {budget} does with a {words.row}. It was fitted to {len(story.rows):,} "
        f"{words.rows}. {_key(story)}"
    )
    picture = _chart_of_rows(story) if _do_rows_part(story.plan) else story.plan.draw().svg
    inside = (
        f"{paragraph(told)}\n"
        f'<div class="drawing" tabindex="0" role="region" aria-label="The plan, drawn">{picture}</div>\n'
        '<button type="button" class="enlarge">Enlarge the drawing</button>\n'
        + details("The plan in words", f"<pre>{text(story.plan.describe())}</pre>", on_paper=False)
    )
    return section("plan", f"The plan for {budget}", inside)


def _do_rows_part(plan: Plan) -> bool:
    """Whether rows go different ways, so that it matters how many go where."""
    return len(stretches(plan)) > 1 or any(node.is_exit for node in plan.nodes)


def _key(story: Story) -> str:
    row, rows = story.words.row, story.words.rows
    if _do_rows_part(story.plan):
        return f"{rows.capitalize()} part on their way: the shares say how many get where."
    return (
        f"Every {row} goes through all steps. A bar begins at what was spent before a purchase and ends at "
        "what is spent after it."
    )


def _chart_of_rows(story: Story) -> str:
    """Boxes with the shares of rows, as a picture of its own: its styles must not reach the page."""
    rows = story.rows
    if rows.qid is None and len(rows) > _MOST_ROWS:
        rows = rows.take(np.linspace(0, len(rows) - 1, _MOST_ROWS).astype(np.int64))
    file = io.BytesIO()
    _, rc_context = matplotlib()
    with rc_context(STYLE), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing")  # letters stay letters, for the browser's fonts
        figure = plot_tree(story.plan, rows.X, rows.y, qid=rows.qid)
        figure.savefig(file, format="svg", metadata={"Date": None})
    shape = "tree" if len(stretches(story.plan)) > 1 else "chain"
    says = f"The plan drawn as a {shape}, with the shares of {story.words.rows}; below it is told in words."
    data = base64.b64encode(file.getvalue()).decode("ascii")
    return f'<img alt="{text(says)}" src="data:image/svg+xml;base64,{data}">'
