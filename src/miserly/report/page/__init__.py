"""The report of a frontier: one HTML file that needs no network."""

from __future__ import annotations

import os
from datetime import date
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

from miserly.errors import DataError
from miserly.report.page.content import ReportContent, read_content
from miserly.report.page.explore import explore_data, explore_section
from miserly.report.page.html import data_script, text
from miserly.report.page.opening import opening
from miserly.report.page.sections import appendix_section, budgets_section, plan_section
from miserly.report.style import matplotlib
from miserly.utils.files import atomic_write, check_writable

if TYPE_CHECKING:
    from miserly.selection import Frontier
    from miserly.selection.requests import Request

__all__ = ["write_page"]

_TITLE = "What a budget buys"
# Forbids the browser to load anything, whatever the page contains.
_POLICY = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:"


def write_page(
    found: Frontier,
    path: str | os.PathLike[str],
    asked: Request | None = None,
    confidence: float | None = None,
    title: str | None = None,
) -> Path:
    """Write the report of a frontier to an HTML file.

    The file contains everything it needs. It opens in any browser without a network.

    Parameters
    ----------
    found : Frontier
        The search result to report.
    path : str or path
        The file to write.
    asked : Request, optional
        The budget whose model is shown first: a cap for each row or a mean budget, with its confidence. By
        default the smallest budget whose metric is within one standard error of the best.
    confidence : float, optional
        The confidence of the guarantee if no budget is asked for. See `Frontier.best`.
    title : str, optional
        The heading of the page.

    Returns
    -------
    Path
        The file that was written.

    Raises
    ------
    DataError
        If the file cannot be written, or plotly or matplotlib is not installed.
    CostError
        If no model fits the budget that is asked for.
    """
    target = Path(path)
    if target.is_dir():
        raise DataError(f"{target} is a folder; give the name of a file, such as {target / 'report.html'}")
    check_writable(target)
    plotly = _plotly_script()
    matplotlib()  # raises before any model is fitted if it is missing
    content = read_content(found, asked, confidence)
    page = _page(content, title or _TITLE, plotly)
    try:
        with atomic_write(target, "w") as file:
            file.write(page)
    except OSError as error:
        raise DataError(f"{target}: cannot be written: {error.strerror}") from error
    return target


def _plotly_script() -> str:
    """The script that draws the charts. `DataError` if plotly is not installed."""
    try:
        from plotly.offline import get_plotlyjs
    except ImportError:
        raise DataError("the report needs plotly: pip install 'miserly[report]'") from None
    script: str = get_plotlyjs()
    return script


def _page(content: ReportContent, title: str, plotly: str) -> str:
    folder = files("miserly.report.page") / "assets"
    style, script = ((folder / name).read_text(encoding="utf-8") for name in ("page.css", "page.js"))
    made = f"Made by miserly {version('miserly')} on {date.today().isoformat()}. This file needs no network."
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{_POLICY}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{text(title)}</title>
<link rel="icon" href="data:,">
<style>
{style}</style>
</head>
<body>
<header>
{opening(content, title)}
<nav aria-label="Sections">
<a href="#explore">Other budgets</a><a href="#table">Table</a>
<a href="#plan">The plan</a><a href="#appendix">Appendix</a>
</nav>
</header>
<main>
<noscript><p>The charts and the slider need JavaScript. All figures are in the tables below.</p></noscript>
{explore_section(content)}{budgets_section(content)}{plan_section(content)}{appendix_section(content)}</main>
<footer>{text(made)}</footer>
{data_script(explore_data(content))}
<script>{plotly}</script>
<script>
{script}</script>
</body>
</html>
"""
