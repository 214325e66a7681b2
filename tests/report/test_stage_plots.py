"""Pictures of stages show the figures that were worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from miserly.costs import Costs
from miserly.plan import LEAVE, Node, Plan, Raw, Threshold
from miserly.report import plot_extracted, plot_leaf_similarity, plot_remaining

from ..plan.hand_made import ROWS, cascade, tree
from .looking import crowded, texts

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")


def test_remaining_draws_a_line_per_model():
    (axes,) = plot_remaining({"tree": tree(), "cascade": cascade()}, ROWS).axes
    assert [line.get_ydata().tolist() for line in axes.lines] == [[1.0, 1.0, 0.5], [1.0, 0.5, 0.5]]
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["tree", "cascade"]
    assert axes.get_xlabel() == "stage"


def test_extracted_draws_a_line_per_tier():
    (axes,) = plot_extracted(tree(), ROWS, tiers=[10]).axes
    assert [line.get_ydata().tolist() for line in axes.lines] == [[0.5, 0.875, 0.875], [0, 0, 0.5]]
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["100 (1)", "1 to 10 (2)"]
    assert axes.get_legend().get_title().get_text().startswith("price in CAD")


def test_similarity_draws_a_square_per_pair_of_leaves(tmp_path):
    figure = plot_leaf_similarity(tree(), None, tmp_path / "alike.png", title="Alike")
    assert (tmp_path / "alike.png").read_bytes().startswith(b"\x89PNG")
    assert texts(figure).count("0.67") == 2 and crowded(figure) == []
    labels = [label.get_text() for label in figure.axes[0].get_yticklabels()]
    assert labels == ["node 1 (2)", "node 3 (3)", "node 2 (1)"]


def test_similarity_of_many_leaves_names_some_of_them():
    """70 exits: with room for about 32 names, every third one is named."""
    nodes = [
        Node([k], [0], [1.0], [0.0], gate=Threshold(0.0), up=k + 1 if k < 69 else LEAVE) for k in range(70)
    ]
    chain = Plan(costs=Costs(np.ones(70)), terms=[Raw(f) for f in range(70)], nodes=nodes, base=[0.0])
    (axes,) = plot_leaf_similarity(chain).axes
    assert axes.get_xticks().tolist() == list(range(0, 70, 3))
    assert "0.50" not in texts(axes.figure)  # numbers only in up to 16 by 16 squares


def test_axes_of_the_caller_are_drawn_into():
    from matplotlib import pyplot

    figure, axes = pyplot.subplots()
    assert plot_remaining(cascade(), ROWS, axes, title="Here") is figure
    assert axes.get_title(loc="left") == "Here" and axes.get_legend() is None
    pyplot.close(figure)
