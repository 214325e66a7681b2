"""What `describe` says, whole for small plans, in essentials for large ones."""

# ruff: noqa: RUF001 (the multiplication sign is meant)
from __future__ import annotations

import time

import numpy as np
import pytest

from miserly.costs import Costs
from miserly.plan import LEAVE, Node, Onward, Plan, Raw, Threshold

from ..sample_plans import (
    SAMPLES,
    category_tree,
    chain,
    empty,
    heart,
    kernel_machine,
    long_chain,
    random_tree,
    ranking,
    stump,
    three_classes,
    tree_of_classifiers,
    two_steps,
)


def test_a_small_chain_is_described_in_full():
    assert (
        two_steps().describe()
        == """\
This plan has 2 steps. It may buy 2 of 3 features, for at most 8.27 CAD (all 3 would cost 10.27
CAD).

What it may buy, in this order:
  step 1  age   1.00  total 1.00 CAD
  step 2  chol  7.27  total 8.27 CAD  2.10 of it to set up blood

Where a row may leave early:
  after step 1, if a class has a probability of at least 0.9

How the steps work:
  step 1 adds to the score:
    if age <= 54.5 or missing: -0.04
    otherwise: 0.06
  step 2 adds to the score:
    if chol <= 240 or missing: -0.02
    otherwise: 0.03

The answer is "present" if the score is above 0, else "absent". The probability of "present" is 1 /
(1 + exp(-score)).
The plan can be stopped at any time, for a budget or a deadline: it then answers from the last step
it finished, and before the first one it answers "absent", for nothing."""
    )


def test_a_tree_of_classifiers_indents_its_branches():
    raw = [Raw(0), Raw(1), Raw(2)]
    nodes = [
        Node([0], [0], [1.0], [0.0], False, Threshold(0.5), up=1, low=2),
        Node([0, 1], [0, 0], [2.0, -1.0], [0.1], False),
        Node([2], [0], [-0.5], [0.0], True),
    ]
    costs = Costs({"age": 1, "ca": 100, "sex": 0})
    assert (
        Plan(costs=costs, terms=raw, nodes=nodes, base=[0.25]).describe()
        == """\
This plan is a tree of 3 nodes: what a row scores at a node decides where it goes next. It may buy 3
of 3 features, for at most 101.

node 0 buys age (1); total 1
it sets the score to age
if the score is above 0.5:
  node 1 buys ca (100); total 101
  it sets the score to 0.1 + 2 × age - ca
  here it answers
if the score is at most 0.5:
  node 2 buys sex (free); total 1
  it adds -0.5 × sex to the score
  here it answers

The answer is the score.
The plan can be stopped at any time, for a budget or a deadline: it then answers from the last node
it finished, and before the first one it answers 0.25, for nothing."""
    )


def test_an_empty_plan_answers_its_base():
    text = empty().describe()
    assert "It buys nothing." in text
    assert "always answers 0.3." in text


@pytest.mark.parametrize("name", SAMPLES)
def test_every_feature_that_may_be_bought_is_named_unless_there_are_many(name):
    plan = SAMPLES[name]()
    text = plan.describe()
    for feature in plan.features[:50]:
        name = plan.costs.name(feature)
        assert str(name) in text or len(plan.features) > 50
    assert text == plan.describe()
    assert max(map(len, text.splitlines())) < 160


def test_groups_are_set_up_once():
    text = heart().describe()
    assert text.count("to set up exercise test") == 1
    assert text.count("exercise test is already set up") == 2
    assert "87.30   total 90.30 CAD  86.30 of it to set up exercise test" in text


def test_steps_that_buy_nothing_are_described_together():
    assert "steps 26-40  use only what is already paid          total 323.97 CAD" in heart().describe()


def test_totals_include_evaluations():
    text = ranking().describe()
    assert "total 1.01  and 0.01 to evaluate" in text
    assert "total 221.06  and 0.03 to evaluate" in text
    assert "at most\n221.06" in text or "at most 221.06" in text.replace("\n", " ")


def test_list_wise_gates_are_described_in_words():
    text = ranking().describe()
    assert "The documents of a query run together." in text
    assert "after step 1, if its score is more than 1.5 below the 5th best still in its query" in text
    assert "after step 2, if it is not among the 20 best still in its query" in text
    assert "after step 3, if it is not among the best 50 % of its query" in text
    assert "after step 4, if the score is at most -2" in text


def test_many_exits_of_one_kind_share_a_line():
    text = long_chain().describe()
    assert (
        "after 29 steps from 10 to 290: if the score is at most 1.117 the first time, if the score is at most"
        in text
    )


def test_an_exit_for_high_scores():
    nodes = [
        Node([0], [0], [1.0], [0.0], gate=Threshold(2.0), up=LEAVE, low=1),
        Node([1], [0], [1.0], [0.0]),
    ]
    plan = Plan(costs=Costs([1.0, 2.0]), terms=[Raw(0), Raw(1)], nodes=nodes, base=[0.0])
    assert "after step 1, if the score is above 2" in plan.describe()


def test_a_step_that_all_rows_leave():
    nodes = [Node([0], [0], [1.0], [0.0], gate=Onward(), low=1), Node([0], [0], [1.0], [0.0])]
    plan = Plan(costs=Costs([1.0]), terms=[Raw(0)], nodes=nodes, base=[0.0])
    assert "after step 1, always" in plan.describe()


def test_categories_are_named_in_rules():
    plan = chain(
        [category_tree(0, [0, 2], 1.0, -1.0)], costs=Costs({"cp": 1.0}), categories={0: ["a", "b", "c"]}
    )
    assert "if cp is a or c: 0.1" in plan.describe()
    assert "if cp is 0 or 2: 0.1" in plan.replace(categories=None).describe()


def test_long_formulas_are_counted_not_printed():
    text = kernel_machine(n_features=784, n_vectors=50).describe()
    assert "feature 0, feature 1, feature 2, feature 3, feature 4 and 779 more" in text
    assert "step 1 adds a weighted sum of 50 kernels (rbf) to the score" in text
    assert "total 1593.00 ms  and 25.00 to evaluate" in text  # 784 features at 2, 50 evaluations at 0.5


def test_large_trees_are_counted_not_printed():
    tree = random_tree(np.random.default_rng(0), [0, 1], depth=5)
    plan = chain([tree] * 30, costs=Costs({"age": 1.0, "sex": 1.0}))
    text = plan.describe()
    assert "step 1 adds the value of a tree with 32 leaves over age and sex to the score" in text
    assert "... and 24 more steps of this kind" in text


def test_classes_and_steering_scores_are_described():
    text = three_classes().describe().replace("\n", " ")
    assert 'largest: "setosa", "versicolor" or "virginica".' in text
    assert "1 further score only decides its path." in text
    assert 'it adds 0.1 + feature 1 to the score of "setosa"' in text
    assert "if score 4 is above 0.5:" in text


def test_names_cannot_take_over_the_page():
    costs = Costs({"a\nstep 9  gold": 1.0, "\x1b[2Jb": 1.0, "x" * 5000: 1.0, "\u202eevil": 1.0})
    text = chain([stump(j, 0.5, 0, 1) for j in range(4)], costs=costs).describe()
    assert "\x1b" not in text and "\u202e" not in text
    assert "\nstep 9" not in text
    assert max(map(len, text.splitlines())) < 160


def test_a_large_tree_of_classifiers_is_cut_and_counted():
    text = tree_of_classifiers(depth=8).describe()
    assert "... and 192 more nodes, not shown here" in text
    assert len(text.splitlines()) < 400


def test_a_comb_of_forks_is_described_quickly_and_narrowly():
    n = 5_000
    nodes = [Node([0], [0], [1.0], [0.0], up=k + 1, low=n + k) for k in range(n - 1)]
    nodes += [Node([0], [0], [1.0], [0.0]) for _ in range(n)]
    plan = Plan(costs=Costs([1.0]), terms=[Raw(0)], nodes=nodes, base=[0.0])
    start = time.process_time()
    text = plan.describe()
    assert time.process_time() - start < 3.0
    assert len(text) < 40_000


def test_prices_keep_the_digits_that_matter():
    plan = chain([stump(0, 0.5, 0, 1)], costs=Costs({"a": 0.00012345678}, unit="s"))
    assert "total 0.000123457 s" in plan.describe()
    assert "total 3 s" in plan.replace(costs=Costs({"a": np.float64(3)}, unit="s")).describe()
