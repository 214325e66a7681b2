"""The appendix of a page, for engineers: all models, failures, comparisons, prices, and how it was made."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from importlib.metadata import version
from typing import Any

import numpy as np

from miserly.plan.show.phrases import number, plain
from miserly.report.page.html import Column, details, paragraph, section, table
from miserly.report.page.story import Story
from miserly.report.page.words import Words, price_text, settings
from miserly.report.style import percent
from miserly.selection.evaluation import Candidate
from miserly.selection.tables import record

__all__ = ["appendix_section"]

_PARTS = ("miserly", "numpy", "scipy", "scikit-learn", "numba", "plotly")
_LONGEST = 60  # letters of a name
_LONGEST_ERROR = 400


def appendix_section(story: Story) -> str:
    """Tables to look things up in, closed until they are asked for."""
    found = story.found
    parts = [
        details("How it was measured", _method(story)),
        details(f"All {len(found.candidates):,} models", _models(story), on_paper=False),
        details("Learners compared", _comparison(story)),
        details(f"Fits that failed: {len(found.failures)}", _failures(story)),
        details("Prices", _prices(story)),
        details("Versions and seeds", _versions(story)),
    ]
    return section("appendix", "Appendix", "".join(parts))


# -- how it was measured -----------------------------------------------------------------------------------


def _method(story: Story) -> str:
    words = story.words
    rows, units = words.rows, words.units
    return "".join(
        map(
            paragraph,
            [
                f"{_held_out(story)} Every model is judged on {rows} that it did not learn from. "
                f"{_kept(story)}",
                f"Intervals are normal ones of 95 % over {units}, for each model by itself. They speak of "
                f"new {rows}, not of other {rows} to learn from.",
                "The best of many held-out figures flatters, because luck is chosen too. So for the "
                f"{words.metric} to expect of a budget, held-out {units} are dealt into five parts: the best "
                "model inside the budget is chosen by four of them and judged on the fifth, in turn.",
                f"Prices are what a {words.row} pays on its own way through the model, each feature and each "
                "set-up of a group once. Mean prices are estimates of the chosen model on held-out {rows}. "
                f"What {rows} pay at most, histograms, purchases and the drawing are of the plan that is "
                f"delivered, which was fitted again, on the {rows} that were given.",
                f"Every learner was swept over a dial of its own, in {story.found.seconds:,.0f} seconds.",
            ],
        )
    )


def _held_out(story: Story) -> str:
    parts, rows = story.found.splits, story.words.rows
    train, test = parts[0]
    sizes = f"{len(train):,} {rows} to learn from and {len(test):,} to judge by"
    if len(parts) == 1:
        return f"One part was held out: {sizes}."
    return f"{rows.capitalize()} were held out in {len(parts)} turns, in the first {sizes}."


def _kept(story: Story) -> str:
    kept, rows = story.found.n_kept, story.words.rows
    if not kept:
        return f"No {rows} were kept aside for promises."
    return f"{kept:,} {rows} were kept aside for promises: no model was judged or chosen by them."


# -- models ------------------------------------------------------------------------------------------------


def _models(story: Story) -> str:
    words = story.words
    columns = [
        Column("learner"),
        Column("parameters", "wide"),
        Column(f"mean price{words.in_unit}", "number"),
        Column("95 % interval", "number"),
        Column(words.metric, "number"),
        Column("95 % interval", "number"),
        Column("features", "number"),
        Column("price at most", "number"),
    ]
    best = story.found.pareto_candidates
    lines = [_model_line(one, one in best, words) for one in story.found.candidates]
    caption = f"All models by their mean price on held-out {words.rows}. ★: no cheaper one is as good."
    return table(caption, columns, lines, tall=True)


def _model_line(one: Candidate, is_best: bool, words: Words) -> tuple[str, ...]:
    line = record(one)
    low, high = line["cost_low"], line["cost_high"]
    return (
        plain(one.learner, _LONGEST) + (" ★" if is_best else ""),
        settings(one.params),
        price_text(line["cost"]),
        f"{price_text(max(low, 0.0))} to {price_text(high)}" if np.isfinite(low) else "",
        words.value(line["value"]),
        words.interval(line["value_low"], line["value_high"]),
        f"{line['features']:.1f}",
        price_text(line["max_cost"]),
    )


def _comparison(story: Story) -> str:
    found, words = story.found, story.words
    table_of = _compared(story) if len(found.learners) > 1 else []
    lines = table_of if isinstance(table_of, list) else table_of.to_dict("records")
    if not lines:
        return paragraph("There is but one learner.")
    columns = [
        Column(f"{words.budget}{words.in_unit}", "number"),
        Column("learner"),
        Column("difference", "number"),
        Column("95 % interval", "number"),
        Column("p", "number"),
    ]
    points = " in percentage points" if words.is_share else ""
    caption = (
        f"The best model of each learner inside a budget, against {plain(lines[0]['against'], _LONGEST)}: "
        f"the difference in {words.metric}{points}, paired over {words.units}, judged by choices that did "
        "not see them. p-values are of t-tests, corrected by Holm's method."
    )
    return table(caption, columns, [_comparison_line(line, words) for line in lines], tall=True)


def _compared(story: Story) -> Any:
    """Learners at some of the page's budgets: those the frontier is made for, or a few of all."""
    found = story.found
    if not story.words.is_cap:
        return found.compare(mean_budgets=found.mean_budgets or [one.budget for one in story.offers[::3]])
    return found.compare(*(found.budgets or [one.budget for one in story.offers[::3]]))


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


def _failures(story: Story) -> str:
    failures, left_out = story.found.failures, story.found.left_out
    told = [
        f"Left out: {plain(name, _LONGEST)}: {plain(why, _LONGEST_ERROR)}." for name, why in left_out.items()
    ]
    if not failures:
        return paragraph("None. " + " ".join(told))
    columns = [Column("learner"), Column("parameters"), Column("error", "wide")]
    lines = [
        (plain(one.learner, _LONGEST), settings(one.params), plain(one.error, _LONGEST_ERROR))
        for one in failures
    ]
    return table("Fits that raised an error; all others went on. " + " ".join(told), columns, lines)


# -- prices and versions -----------------------------------------------------------------------------------


def _prices(story: Story) -> str:
    costs, words = story.found.costs, story.words
    columns = [
        Column("feature", "wide"),
        Column(f"price{words.in_unit}", "number"),
        Column("group"),
        Column("set-up of the group", "number"),
        Column(f"{words.rows} that buy it", "number"),
    ]
    evaluation = f" Evaluating a term costs {number(costs.evaluation)}." if costs.evaluation else ""
    caption = (
        f"What features cost, and how many of the given {words.rows} buy each with the model for "
        f"{words.price(story.chosen.budget)}. The first feature of a group also pays its set-up.{evaluation}"
    )
    return table(caption, columns, [_price_line(story, f) for f in range(len(costs))], tall=True)


def _price_line(story: Story, f: int) -> tuple[str, ...]:
    costs, group = story.found.costs, int(story.found.costs.group[f])
    return (
        plain(costs.name(f), _LONGEST),
        number(float(costs.feature[f])),
        "" if group < 0 else plain(costs.group_names[group], _LONGEST),
        "" if group < 0 else number(float(costs.setup[group])),
        percent(float(story.chosen.share[f])),
    )


def _versions(story: Story) -> str:
    lines = [("Python", platform.python_version()), *((part, version(part)) for part in _PARTS)]
    seed = paragraph(f"The seed of splits and learners is {story.found.seed}.")
    return seed + table("What made this page.", [Column("part"), Column("version")], lines)
