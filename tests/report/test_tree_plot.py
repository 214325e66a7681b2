"""The picture of a tree or chain says what rows do there, and no words run into each other."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from miserly.costs import Costs
from miserly.plan import Threshold
from miserly.report import plot_tree

from ..plan import sample_plans
from ..plan.hand_made import LABELS, ROWS, cascade, tree
from .looking import crowded, texts

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")

from miserly.report.style import class_colours, width_of, wrap  # noqa: E402

RANDOM = np.random.default_rng(0).normal(size=(200, 13))


def test_a_tree_says_what_was_worked_out_by_hand():
    written = texts(plot_tree(tree(), ROWS, LABELS, title="By hand"))
    assert "By hand" in written
    for words in (
        "100 % of rows",
        "75 % of rows",
        "50 % of rows",
        "25 % of rows",
        "paid 1 CAD",
        "paid 11 CAD",
        "paid 111 CAD",
    ):
        assert words in written
    for words in (
        "mean label 3.00",
        "mean label 3.67",
        "mean label 4.50",
        "+ a",
        "+ b",
        "+ c",
        "nothing new",
    ):
        assert words in written
    assert "25 % leave here" in written and "node 3" in written


def test_a_chain_tells_who_leaves():
    written = texts(plot_tree(cascade(), ROWS, ["no", "yes", "yes", "no"]))
    assert "steps 1-2" in written and "+ a, b" in written
    assert written.count("yes: 50 %") == 5  # in three boxes, and beside two
    assert "50 % leave here" in written and "50 % end here" in written


def test_levels_that_are_not_shown_are_counted():
    plan = sample_plans.tree_of_classifiers(5)
    written = texts(plot_tree(plan, RANDOM, levels=2))
    assert sum(words.endswith("to 7 more nodes") for words in written) == 4


@pytest.mark.parametrize("levels", [2, 4, 5])
def test_no_words_run_into_each_other_in_a_tree(levels):
    figure = plot_tree(
        sample_plans.tree_of_classifiers(5), RANDOM, RANDOM[:, 0], levels=levels, title="A tree"
    )
    assert crowded(figure) == []


def test_no_words_run_into_each_other_in_a_chain():
    labels = np.where(RANDOM[:, 0] > 0, "present", "absent")
    heart = sample_plans.heart()
    figure = plot_tree(heart, sample_plans.random_rows(heart, 200), labels, title="A chain")
    assert crowded(figure) == []


def test_long_names_and_many_classes_find_room():
    """Ten classes with long names, a long unit: what does not fit is cut or left out."""
    plan = sample_plans.tree_of_classifiers(3)
    names = [f"the class with the number {i}" for i in range(10)]
    nodes = [
        replace(node, terms=node.terms, bias=np.zeros(10), channels=[0, 1, 2], gate=Threshold(0.0, channel=9))
        for node in plan.nodes
    ]
    costs = Costs(sample_plans.HEART, unit="milliseconds of a machine")
    long = plan.replace(
        costs=costs, nodes=nodes, base=np.zeros(10), link="softmax", n_outputs=10, classes=names
    )
    written = texts(figure := plot_tree(long, RANDOM, np.resize(names, 200)))
    assert crowded(figure) == [] and "…" in written
    assert "the class with th…: 10 %" in written
    assert any(words.endswith("millisecond…") for words in written)


@pytest.mark.parametrize("n_classes", [2, 6, 7, 26])
def test_every_class_has_a_colour_of_its_own(n_classes):
    assert len({tuple(colour) for colour in class_colours(n_classes)}) == n_classes


def test_a_tree_without_a_fork_or_labels_can_be_drawn():
    plan = sample_plans.kernel_machine()
    written = texts(plot_tree(plan, np.zeros((3, 8))))
    assert "100 % end here" in written and not any("label" in words for words in written)


@pytest.mark.parametrize("name", ["feature number 7", "x" * 60])
def test_names_that_find_no_place_are_counted(name):
    lines = wrap([name] * 12, 2.0)
    assert len(lines) == 2 and lines[1].endswith("+10 more")
    assert all(width_of(line, 8.0) <= 2.0 for line in lines)


def test_a_box_without_names_says_so():
    assert wrap([], 2.0) == ["nothing new"] and wrap(["age", "sex"], 2.0) == ["+ age, sex"]


def test_files_are_the_same_each_time(tmp_path):
    for name in ("a.svg", "b.svg"):
        plot_tree(tree(), ROWS, LABELS, tmp_path / name)
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()
