"""The picture of a frontier has every model, the best ones with intervals, and a ring for a budget."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from miserly import CostLassoClassifier, GreedyMiserClassifier
from miserly.errors import CostError
from miserly.selection import frontier

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")


@pytest.fixture(scope="module")
def found():
    rng = np.random.default_rng(0)
    truth = rng.normal(size=200)
    X = np.column_stack([truth + noise * rng.normal(size=200) for noise in (1.5, 0.7, 0.05)])
    learners = [CostLassoClassifier(), GreedyMiserClassifier(n_rounds=6, max_depth=2)]
    return frontier(learners, X, truth > 0, costs=[1.0, 5.0, 40.0], cv=3, max_fits=10, random_state=0)


@pytest.fixture
def axes():
    from matplotlib import pyplot

    figure, axes = pyplot.subplots()
    yield axes
    pyplot.close(figure)


def test_all_models_are_drawn_once(found, axes):
    assert found.plot(axes) is axes
    marked = [line for line in axes.lines if line.get_marker() in tuple("osD^vPX*")]
    assert sum(len(line.get_xdata()) for line in marked) == len(found.points)


def test_intervals_are_those_of_the_best_models(found, axes):
    found.plot(axes)
    ends = np.vstack([segment[:, 1] for bars in axes.collections for segment in bars.get_segments()])
    best = found.pareto()
    assert sorted(ends[:, 0]) == pytest.approx(sorted(best.value_low))
    assert sorted(ends[:, 1]) == pytest.approx(sorted(best.value_high))


def test_the_model_for_a_budget_has_a_ring(found, axes):
    found.plot(axes, mean_budget=30)
    ring = next(line for line in axes.lines if line.get_markersize() == 15)
    line = found.at(mean_budgets=[30]).iloc[0]
    same = [
        one for one in found.points.itertuples() if (one.learner, one.params) == (line.learner, line.params)
    ]
    assert (ring.get_xdata()[0], ring.get_ydata()[0]) == (same[0].cost, same[0].value)
    assert "for 30 on average" in [text.get_text() for text in axes.get_legend().get_texts()]


def test_new_axes_are_made_where_none_are_given(found):
    from matplotlib import pyplot

    axes = found.plot()
    assert axes.get_ylabel() == "accuracy on held-out rows"
    assert axes.get_xscale() == "symlog"  # costs from 1 to 46
    pyplot.close(axes.figure)


def test_a_budget_below_the_cheapest_is_reported(found, axes):
    paid = [one for one in found.candidates if one.mean_cost > 0]
    expensive = type(found)(replace(found.result, candidates=paid))
    with pytest.raises(CostError, match="the cheapest costs"):
        expensive.plot(axes, mean_budget=0.1)
