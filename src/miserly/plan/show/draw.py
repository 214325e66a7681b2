"""A picture of a plan: a shopping timeline for a chain, boxes and ways for a tree of classifiers."""

from __future__ import annotations

import os
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from miserly.errors import PlanError
from miserly.plan.purchases import stretches
from miserly.plan.show.draw_chain import WIDTH, draw_chain
from miserly.plan.show.draw_tree import draw_tree
from miserly.plan.show.phrases import plural
from miserly.plan.show.svg import SOFT, Sheet, fit
from miserly.plan.show.wording import Wording
from miserly.utils.files import atomic_write

if TYPE_CHECKING:
    from miserly.plan.plan import Plan

__all__ = ["Drawing", "draw"]

_TITLE = "What this plan may buy, and when"
_MARGIN = 28.0


@dataclass(frozen=True)
class Drawing:
    """A picture in SVG; notebooks show it by themselves."""

    svg: str

    def _repr_svg_(self) -> str:
        return self.svg

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the picture to a `.svg` file, or to an `.html` page that any browser opens."""
        path = Path(path)
        if path.suffix.lower() not in (".svg", ".html", ".htm"):
            raise PlanError(f"{path}: a drawing is saved as .svg or .html")
        with atomic_write(path, "w", error=PlanError) as file:
            file.write(self.svg if path.suffix.lower() == ".svg" else _page(self.svg))

    def __repr__(self) -> str:
        return f"Drawing(<svg of {len(self.svg)} characters>)"


def draw(plan: Plan) -> Drawing:
    """A picture of what a plan may buy, in which order, for how much, and where it may stop.

    >>> from miserly import Costs, Plan
    >>> draw(Plan(costs=Costs({"age": 1}), terms=[], nodes=[], base=[0.0])).svg[:39]
    '<svg xmlns="http://www.w3.org/2000/svg"'
    """
    words = Wording(plan)
    sheet = Sheet()
    parts = len(stretches(plan))
    summary = _summary(plan, words, parts)
    sheet.text(_MARGIN, 38, _TITLE, size=17, bold=True)
    width, height = WIDTH, 100.0
    if parts == 0:
        sheet.text(_MARGIN, 86, "It takes no step and always gives the same answer, for nothing.")
        height = 116.0
    elif parts == 1:
        width, height = draw_chain(plan, sheet, words, top=92.0)
    else:
        width, height = draw_tree(plan, sheet, words, top=88.0)
    sheet.text(_MARGIN, 59, fit(summary, width - 2 * _MARGIN), fill=SOFT)
    return Drawing(sheet.svg(width, height, _TITLE, summary))


def _summary(plan: Plan, words: Wording, parts: int) -> str:
    size = plural(len(plan.nodes), "step" if parts <= 1 else "node")
    features = f"{len(plan.features)} of {plural(plan.n_features, 'feature')}"
    return f"{size} · {features} · at most {words.price(plan.max_cost)}"


def _page(svg: str) -> str:
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f"<title>{escape(_TITLE)}</title>\n</head>\n"
        f'<body style="margin: 2em; overflow-x: auto">\n{svg}</body>\n</html>\n'
    )
