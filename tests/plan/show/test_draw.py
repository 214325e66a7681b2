"""Pictures of plans: sound SVG, in proportion, nothing overlapping, nothing outside the card."""

from __future__ import annotations

import itertools
import time
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

from miserly.costs import Costs
from miserly.errors import PlanError
from miserly.plan import Node, Plan, Raw
from miserly.plan.show.svg import width_of

from ..random_plans import random_plan
from ..sample_plans import (
    SAMPLES,
    chain,
    empty,
    heart,
    kernel_machine,
    long_chain,
    stump,
    tree_of_classifiers,
    two_steps,
)

SVG = "{http://www.w3.org/2000/svg}"


def parsed(plan):
    return ElementTree.fromstring(plan.draw().svg)


def words_of(element):
    """The text of a text element, without its tooltip."""
    return "".join([element.text or "", *(child.tail or "" for child in element)])


def texts(root):
    """(left, right, baseline, words) of every text, as wide as the drawing thinks it is."""
    for element in root.iter(f"{SVG}text"):
        words = words_of(element)
        width = width_of(words, float(element.get("font-size")))
        x, y = float(element.get("x")), float(element.get("y"))
        left = {"start": x, "middle": x - width / 2, "end": x - width}[element.get("text-anchor")]
        yield left, left + width, y, words


def rectangles(root, minimum=0.0):
    for element in root.iter(f"{SVG}rect"):
        x, y, w, h = (float(element.get(name)) for name in ("x", "y", "width", "height"))
        if w >= minimum:
            yield x, y, x + w, y + h, element


def tipped(root, start):
    """Rectangles whose tooltip begins with `start`."""
    for *box, element in rectangles(root):
        title = element.find(f"{SVG}title")
        if title is not None and title.text.startswith(start):
            yield box


PLANS = {
    **SAMPLES,
    "tree of 31": lambda: tree_of_classifiers(5),
    "tree of 255": lambda: tree_of_classifiers(8),
    "784 pixels": lambda: kernel_machine(784, 50),
    "all free": lambda: chain([stump(j, 0.5, 0, 1) for j in range(3)], costs=Costs([0.0, 0.0, 0.0])),
    "large prices": lambda: chain(
        [stump(j, 0.5, 0, 1) for j in range(4)],
        costs=Costs({"W" * 60: 1234567.0, "b": 0.01, "c" * 80: 99.5, "d": 1e6}, unit="x" * 50),
    ),
    "equal prices": lambda: long_chain(90, 200).replace(costs=Costs(np.ones(90))),
    **{f"random {seed}": lambda seed=seed: random_plan(seed, seed % 2 == 0) for seed in range(20)},
}


@pytest.mark.parametrize("name", PLANS)
def test_nothing_overlaps_and_nothing_leaves_the_card(name):
    root = parsed(PLANS[name]())
    width, height = float(root.get("width")), float(root.get("height"))
    lines = list(texts(root))
    for left, right, y, words in lines:
        assert left >= 0 and right <= width + 1 and 0 < y < height, words
    for (left, right, y, a), (other_left, other_right, other_y, b) in itertools.combinations(lines, 2):
        assert abs(y - other_y) >= 9 or right <= other_left + 1 or other_right <= left + 1, (a, b)
    for x, y, right, bottom, _ in rectangles(root):
        assert x >= 0 and y >= 0 and right <= width and bottom <= height


@pytest.mark.parametrize("plan", [tree_of_classifiers(3), tree_of_classifiers(5), tree_of_classifiers(8)])
def test_boxes_of_a_tree_do_not_overlap(plan):
    boxes = [box for box in rectangles(parsed(plan), minimum=50) if box[0] > 1]
    assert len(boxes) == min(len(plan.nodes), 31 + 32)  # what is not shown has a small box that counts it
    for a, b in itertools.combinations(boxes, 2):
        assert a[2] < b[0] or b[2] < a[0] or a[3] < b[1] or b[3] < a[1]


def test_bars_are_in_proportion_to_prices():
    root = parsed(two_steps())  # age 1.00, then blood 2.10 + chol 5.17
    (setup,) = tipped(root, "set-up: 2.10 CAD")
    age, chol = tipped(root, "own price")
    scale = (chol[2] - age[0]) / 8.27
    assert age[2] - age[0] == pytest.approx(1.00 * scale, abs=0.2)
    assert setup[2] - setup[0] == pytest.approx(2.10 * scale, abs=0.2)
    assert setup[0] == pytest.approx(age[2], abs=0.2)
    assert chol[0] == pytest.approx(setup[2], abs=0.2)


def test_a_chain_lists_steps_features_and_totals():
    lines = {words for *_, words in texts(parsed(heart()))}
    assert {"oldpeak", "87.30", "90.30", "26-40", "nothing new", "323.97"} <= lines
    assert "leaves after steps 10, 20 and 30, if a class has a probability of at least 0.95" in lines
    assert "40 steps · 13 of 13 features · at most 323.97 CAD" in lines


def test_many_features_share_rows_and_are_counted():
    plan = long_chain()
    root = parsed(plan)
    named = [words for *_, words in texts(root) if words.startswith("sensor_")]
    more = [int(words.split(" + ")[1].split()[0]) for words in named if " + " in words]
    assert len(named) <= 28
    assert len(named) + sum(more) == 100
    most_expensive = plan.costs.name(int(plan.costs.feature.argmax()))
    assert most_expensive in named


def test_a_step_that_buys_everything_is_one_row():
    lines = [words for *_, words in texts(parsed(kernel_machine(784, 50)))]
    assert "feature 0 + 783 more" in lines


def test_a_box_tells_what_is_bought_and_what_decides():
    lines = {words for *_, words in texts(parsed(tree_of_classifiers(3)))}
    assert {"node 0", "205.70 CAD", "+ restecg", "15.50", "score above 1.3?", "> 1.3", "≤ 1.3"} <= lines
    assert {"nothing new", "answers"} <= lines


def test_a_box_names_a_few_features_and_counts_the_rest():
    nodes = [
        Node(np.arange(10), np.zeros(10), np.ones(10), [0.0], up=1, low=2),
        Node([], [], [], [0.0]),
        Node([], [], [], [0.0]),
    ]
    plan = Plan(costs=Costs(np.ones(10)), terms=[Raw(j) for j in range(10)], nodes=nodes, base=[0.0])
    lines = {words for *_, words in texts(parsed(plan))}
    assert {"+ feature 2", "+ 7 more", "7"} <= lines
    assert "+ feature 3" not in lines


def test_what_is_not_shown_of_a_tree_is_counted():
    lines = [words for *_, words in texts(parsed(tree_of_classifiers(8)))]
    assert lines.count("+ 7 more nodes") == 32  # 255 nodes, of which 31 are shown


def test_an_empty_plan_has_a_picture_too():
    assert "always gives the same answer" in empty().draw().svg


def test_names_are_escaped():
    hostile = {'</text><script>alert("x")</script>': 1.0, "a&b <c>": 2.0, "\x00\x1b[2J": 1.0, "\ufffe": 1.0}
    plan = chain([stump(j, 0.5, 0, 1) for j in range(4)], costs=Costs(hostile, unit="<b>"))
    root = parsed(plan)  # control characters would not even be XML
    assert not list(root.iter(f"{SVG}script"))
    assert "a&b <c>" in {words for *_, words in texts(root)}


def test_saving_as_svg_and_html(tmp_path):
    drawing = heart().draw()
    assert drawing._repr_svg_() == drawing.svg
    drawing.save(tmp_path / "plan.svg")
    drawing.save(str(tmp_path / "plan.HTML"))
    assert (tmp_path / "plan.svg").read_text(encoding="utf-8") == drawing.svg
    page = (tmp_path / "plan.HTML").read_text(encoding="utf-8")
    assert page.startswith("<!DOCTYPE html>") and drawing.svg in page
    with pytest.raises(PlanError, match=r"saved as \.svg or \.html"):
        drawing.save(tmp_path / "plan.png")


def test_drawings_are_deterministic():
    assert long_chain().draw() == long_chain().draw()


def test_large_plans_are_drawn_quickly_and_small():
    n = 5_000
    comb = [Node([0], [0], [1.0], [0.0], up=k + 1, low=n + k) for k in range(n - 1)]
    comb += [Node([0], [0], [1.0], [0.0]) for _ in range(n)]
    plans = [
        Plan(costs=Costs([1.0]), terms=[Raw(0)], nodes=comb, base=[0.0]),
        chain([Raw(j) for j in range(n)], costs=Costs(np.ones(n))),
    ]
    for plan in plans:
        start = time.process_time()
        drawing = plan.draw()
        assert time.process_time() - start < 2.0
        assert len(drawing.svg) < 200_000
