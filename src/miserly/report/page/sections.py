"""Sections of a report: the table of budgets, the plan of the chosen model, and the appendix."""

from __future__ import annotations

import base64
import io
import platform
import warnings
from collections.abc import Mapping
from importlib.metadata import version
from typing import Any

import numpy as np

from miserly.plan import Plan
from miserly.plan.show.phrases import number, plain
from miserly.report.page.content import ReportContent, Words, model_name, price_text, settings
from miserly.report.page.html import Column, details, paragraph, section, table, text
from miserly.report.style import STYLE, matplotlib, percent
from miserly.report.tree_plot import plot_tree
from miserly.selection.evaluation import Candidate
from miserly.selection.offers import Offer
from miserly.selection.tables import record

__all__ = ["appendix_section", "budgets_section", "plan_section"]


def budgets_section(content: ReportContent) -> str:
    """One line for each step of the slider."""
    words = content.words
    columns = [
        Column(f"{words.budget}{words.in_unit}", "number"),
        Column(words.metric_in_unit, "number"),
        Column("95 % interval", "number"),
        Column(f"mean price{words.in_unit}", "number"),
        Column("no row pays more than".replace("row", words.row), "number"),
        Column("features", "number"),
        Column("model", "wide"),  # the last, so that a phone shows figures
    ]
    lines = [_line(one, words) for one in content.offers]
    caption = (
        f"{_meant(words)} {words.title} and mean price are estimates from held-out {words.rows}. The highest "
        f"price and the mean number of features are those of the delivered plan on the given {words.rows}."
    )
    return section("table", "What each budget buys", table(caption, columns, lines, name="budgets"))


def _meant(words: Words) -> str:
    if words.is_cap:
        return f"A budget is a cap: no {words.row} ever pays more."
    return f"A mean budget is what {words.rows} may pay on average."


def _line(one: Offer, words: Words) -> tuple[object, ...]:
    return (
        price_text(one.budget),
        words.figure(one.value),
        words.interval(one.low, one.high),
        price_text(one.cost),
        price_text(one.max_cost),
        f"{one.features:.1f}",
        (model_name(one.candidate), settings(one.candidate.params))
        if one.same_as is None
        else f"no better model found: same as {price_text(one.same_as)}",
    )


# -- the plan, drawn and in words ----------------------------------------------------------------------------

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
    return plan.has_forks or any(node.is_exit for node in plan.nodes)


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
    shape = "tree" if content.plan.has_forks else "chain"
    label = f"The plan drawn as a {shape}, with the shares of {content.words.rows}. A description is below."
    data = base64.b64encode(file.getvalue()).decode("ascii")
    return f'<img alt="{text(label)}" src="data:image/svg+xml;base64,{data}">'


# -- the appendix --------------------------------------------------------------------------------------------

_PARTS = ("miserly", "numpy", "scipy", "scikit-learn", "numba", "plotly")
_LONGEST = 60  # letters of a name
_LONGEST_ERROR = 400


def appendix_section(content: ReportContent) -> str:
    """Reference tables, closed until they are opened."""
    found = content.found
    parts = [
        details("How it was measured", _method(content)),
        details(f"All {len(found.candidates):,} models", _models(content), on_paper=False),
        details("Learners compared", _comparison(content)),
        details(f"Fits that failed: {len(found.failures)}", _failures(content)),
        details("Prices", _prices(content)),
        details("Versions and seeds", _versions(content)),
    ]
    return section("appendix", "Appendix", "".join(parts))


# -- how it was measured -------------------------------------------------------------------------------------


def _method(content: ReportContent) -> str:
    words = content.words
    rows, units = words.rows, words.units
    return "".join(
        map(
            paragraph,
            [
                f"{_held_out(content)} Every model is evaluated on {rows} that were not used to train it. "
                f"{_kept(content)}",
                f"Intervals are normal 95 % intervals over {units}, for each model separately. They cover "
                f"the choice of evaluation {rows}, not the choice of training {rows}.",
                f"The best held-out {words.metric} of many models is too optimistic, because the choice of "
                "the best also selects for chance. The estimate for a budget avoids this: held-out "
                f"{units} are split into five parts, the best model inside the budget is chosen on four of "
                "them and evaluated on the fifth, for each part in turn.",
                f"The price of a {words.row} counts the features that it meets in the model. A feature and a "
                f"group set-up are paid once. Mean prices are estimates from held-out {rows}. Maximum "
                "prices, histograms, purchases and the drawing are those of the delivered plan on the given "
                f"{rows}. That plan was fitted to {len(content.rows):,} {rows}.",
                "Each learner was fitted with several values of its hyperparameter. The search took "
                f"{content.found.seconds:,.0f} seconds.",
            ],
        )
    )


def _held_out(content: ReportContent) -> str:
    parts, rows = content.found.splits, content.words.rows
    train, test = parts[0]
    sizes = f"{len(train):,} {rows} for training and {len(test):,} held-out {rows}"
    if len(parts) == 1:
        return f"The data were split once: {sizes}."
    return f"The data were split into {len(parts)} folds; the first has {sizes}."


def _kept(content: ReportContent) -> str:
    kept, rows = content.found.n_kept, content.words.rows
    if not kept:
        return f"No {rows} were kept for guarantees."
    return f"{kept:,} {rows} were kept for guarantees. No model was trained, evaluated or chosen with them."


# -- models --------------------------------------------------------------------------------------------------


def _models(content: ReportContent) -> str:
    words = content.words
    columns = [
        Column("learner"),
        Column("parameters", "wide"),
        Column(f"mean price{words.in_unit}", "number"),
        Column("95 % interval", "number"),
        Column(words.metric_in_unit, "number"),
        Column("95 % interval", "number"),
        Column("features", "number"),
        Column("price at most", "number"),
    ]
    best = content.found.pareto_candidates
    lines = [_model_line(one, one in best, words) for one in content.found.candidates]
    caption = f"All models by mean price on held-out {words.rows}. ★: no cheaper model is as good."
    return table(caption, columns, lines, tall=True)


def _model_line(one: Candidate, is_best: bool, words: Words) -> tuple[str, ...]:
    line = record(one)
    low, high = line["cost_low"], line["cost_high"]
    return (
        plain(one.learner, _LONGEST) + (" ★" if is_best else ""),
        settings(one.params),
        price_text(line["cost"]),
        f"{price_text(max(low, 0.0))} to {price_text(high)}" if np.isfinite(low) else "",
        words.figure(line["value"]),
        words.interval(line["value_low"], line["value_high"]),
        f"{line['features']:.1f}",
        price_text(line["max_cost"]),
    )


def _comparison(content: ReportContent) -> str:
    found, words = content.found, content.words
    table_of = _compared(content) if len(found.learners) > 1 else []
    lines = table_of if isinstance(table_of, list) else table_of.to_dict("records")
    if not lines:
        return paragraph("There is only one learner.")
    columns = [
        Column(f"{words.budget}{words.in_unit}", "number"),
        Column("learner"),
        Column("difference", "number"),
        Column("95 % interval", "number"),
        Column("p", "number"),
    ]
    points = " in percentage points" if words.is_share else ""
    caption = (
        f"The best model of each learner inside a budget, compared with that of "
        f"{plain(lines[0]['against'], _LONGEST)}: the difference in {words.metric}{points}, paired over "
        f"{words.units}. Models were chosen on other {words.units} than those they are compared on. p-values "
        "are of t-tests, corrected by Holm's method."
    )
    return table(caption, columns, [_comparison_line(line, words) for line in lines], tall=True)


def _compared(content: ReportContent) -> Any:
    """Learners at some of the page's budgets: those the frontier is made for, or a few of all."""
    found = content.found
    if not content.words.is_cap:
        return found.compare(mean_budgets=found.mean_budgets or [one.budget for one in content.offers[::3]])
    return found.compare(*(found.budgets or [one.budget for one in content.offers[::3]]))


def _comparison_line(line: Mapping[str, Any], words: Words) -> tuple[str, ...]:
    def signed(name: str) -> str:
        return f"{100 * line[name]:+.1f}" if words.is_share else f"{line[name]:+.3g}"

    return (
        price_text(line["budget" if words.is_cap else "mean_budget"]),
        plain(line["learner"], _LONGEST),
        signed("difference"),
        f"{signed('difference_low')} to {signed('difference_high')}",
        f"{line['p']:.3f}" if line["p"] >= 0.001 else "< 0.001",
    )


def _failures(content: ReportContent) -> str:
    failures, left_out = content.found.failures, content.found.left_out
    omitted = [
        f"Left out: {plain(name, _LONGEST)}: {plain(why, _LONGEST_ERROR)}." for name, why in left_out.items()
    ]
    if not failures:
        return paragraph("None. " + " ".join(omitted))
    columns = [Column("learner"), Column("parameters"), Column("error", "wide")]
    lines = [
        (plain(one.learner, _LONGEST), settings(one.params), plain(one.error, _LONGEST_ERROR))
        for one in failures
    ]
    return table("Fits that raised an error. All others succeeded. " + " ".join(omitted), columns, lines)


# -- prices and versions -------------------------------------------------------------------------------------


def _prices(content: ReportContent) -> str:
    costs, words = content.found.costs, content.words
    columns = [
        Column("feature", "wide"),
        Column(f"price{words.in_unit}", "number"),
        Column("group"),
        Column("set-up of the group", "number"),
        Column(f"{words.rows} that buy it", "number"),
    ]
    evaluation = f" Evaluating a term costs {number(costs.evaluation)}." if costs.evaluation else ""
    caption = (
        f"What features cost, and the share of the given {words.rows} that buy each with the model for "
        f"{words.price(content.chosen.budget)}. The first feature of a group also pays its "
        f"set-up.{evaluation}"
    )
    return table(caption, columns, [_price_line(content, f) for f in range(len(costs))], tall=True)


def _price_line(content: ReportContent, f: int) -> tuple[str, ...]:
    costs, groups = content.found.costs, content.found.costs.groups_of(f)
    return (
        plain(costs.name(f), _LONGEST),
        number(float(costs.feature[f])),
        ", ".join(plain(costs.group_names[group], _LONGEST) for group in groups),
        " + ".join(number(float(costs.setup[group])) for group in groups),
        percent(float(content.chosen.share[f])),
    )


def _versions(content: ReportContent) -> str:
    lines = [("Python", platform.python_version()), *((part, version(part)) for part in _PARTS)]
    seed = paragraph(f"The seed of splits and learners is {content.found.seed}.")
    return seed + table("Software versions.", [Column("part"), Column("version")], lines)
