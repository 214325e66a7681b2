"""The picture of a frontier shows the metric, its error, the unit and the features."""

from __future__ import annotations

import numpy as np
import pytest

from miserly.errors import DataError
from miserly.report.frontier_plot import _ticks, plot_frontier
from miserly.selection import Point

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")


def point(budget, value, features=(), learner="Miser", metric="accuracy", cost=None):
    return Point(
        learner=learner,
        budget=budget,
        metric=metric,
        value=value,
        error=0.02,
        cost=budget if cost is None else cost,
        whole_cost=budget,
        features=features,
        params={},
        unit="CAD",
    )


POINTS = [point(0, 0.5), point(10, 0.7, ("age",)), point(90, 0.8, ("age", "thal"))]


def texts(axes):
    return [text.get_text() for text in axes.texts]


def test_files_are_written(tmp_path):
    plot_frontier(POINTS, [tmp_path / "a.png", tmp_path / "a.svg"], title="Heart")
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    svg = (tmp_path / "a.svg").read_text()
    assert "average bill (CAD)" in svg and "Heart" in svg and "thal" in svg


def test_the_same_points_give_the_same_file(tmp_path):
    for name in ("a.svg", "b.svg"):
        plot_frontier(POINTS, tmp_path / name)
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()


def test_every_feature_has_a_row_of_dots():
    above, below = plot_frontier(POINTS).axes
    assert [label.get_text() for label in below.get_yticklabels()] == ["age", "thal"]
    dots = [line.get_xydata().tolist() for line in below.lines]
    assert dots == [[], [[10, 0]], [[90, 0], [90, 1]]]
    assert above.get_ylabel() == "accuracy on held-out rows"


def test_the_band_is_one_standard_error_wide():
    above = plot_frontier(POINTS).axes[0]
    corners = above.collections[0].get_paths()[0].vertices
    at_ten = corners[np.isclose(corners[:, 0], 10.0), 1]
    assert at_ten.max() == pytest.approx(0.72) and at_ten.min() == pytest.approx(
        0.48
    )  # and of the step below


def test_the_chosen_point_is_named():
    above = plot_frontier(POINTS, chosen=POINTS[1]).axes[0]
    assert "chosen: 70 %\nfor 10 CAD on average" in texts(above)


def test_several_learners_share_one_panel_with_a_legend():
    figure = plot_frontier([*POINTS, point(50, 0.6, learner="Other", metric="accuracy")])
    (axes,) = figure.axes
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["Miser", "Other"]


def test_axes_of_the_caller_are_drawn_into():
    from matplotlib import pyplot

    figure, axes = pyplot.subplots()
    points = [point(1, 2.0, metric="mse"), point(3, 1.0, metric="mse")]
    assert plot_frontier(points, axes, chosen=points[0]) is figure
    assert "chosen: mse 2\nfor 1 CAD on average" in texts(axes)
    pyplot.close(figure)


def test_nothing_to_draw_is_said():
    with pytest.raises(DataError, match="no points"):
        plot_frontier([])


@pytest.mark.parametrize(("top", "ticks"), [(292, [0, 10, 30, 100, 200, 300]), (0.0, [0])])
def test_ticks_are_round_amounts(top, ticks):
    assert _ticks(top) == pytest.approx(ticks)
