"""Documents that a gate sent away rank below those it kept, however the plan is run."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from miserly.costs import Costs
from miserly.plan import Node, Plan, Rank, Raw, Threshold
from miserly.plan.engine.ranking import settle

from ..random_plans import random_plan, random_rows


@settings(max_examples=100, deadline=None)
@given(
    rows=st.lists(
        st.tuples(st.integers(-3, 3), st.integers(0, 3), st.integers(0, 2)), min_size=1, max_size=12
    )
)
def test_a_document_that_left_earlier_ranks_below_in_its_query(rows):
    score, level, qid = (np.array(column) for column in zip(*rows, strict=True))
    settled = settle(score.astype(float), level, qid)
    for i in range(len(rows)):
        for j in range(len(rows)):
            if qid[i] != qid[j]:
                continue
            if level[i] < level[j]:
                assert settled[i] < settled[j]
            elif level[i] == level[j]:
                assert np.sign(settled[i] - settled[j]) == np.sign(score[i] - score[j])


def test_scores_that_are_in_order_already_stay_as_they_are():
    scores = np.array([1.0, 2.0, 3.0, 9.0])
    qid = np.array([0, 0, 0, 1])
    assert settle(scores, np.array([0, 1, 2, 0]), qid).tolist() == scores.tolist()


def two_steps(gate, **rest):
    """The sum of two columns that cost 1 each, with a gate in between."""
    nodes = [Node([0], [0], [1.0], [0.0], gate=gate, up=1), Node([1], [0], [1.0], [0.0])]
    return Plan(costs=Costs([1.0, 1.0]), terms=[Raw(0), Raw(1)], nodes=nodes, base=[0.0], **rest)


X = np.array([[5.0, -9.0], [3.0, 0.0], [4.0, -9.0]])


@pytest.mark.parametrize("gate", [Rank(k=2), Threshold(3.5)])
def test_a_document_sent_away_ranks_below_one_that_fell_later(gate):
    # The best two go on and fall to -4 and -5; the third left with 3, and comes down to one below the last.
    plan = two_steps(gate)
    assert plan.run(X, qid=[7, 7, 7]).scores.tolist() == [-4.0, 3.0, -5.0]
    assert plan.predict(X, qid=[7, 7, 7]).tolist() == [-4.0, -6.0, -5.0]


def test_without_queries_nothing_is_moved():
    assert two_steps(Threshold(3.5)).predict(X).tolist() == [-4.0, 3.0, -5.0]


def test_documents_that_the_budget_stopped_were_not_sent_away():
    # No document pays for the second column: all three answer from the first, two stopped and one sent away.
    assert two_steps(Rank(k=2)).predict(X, budget=1.0, qid=[7, 7, 7]).tolist() == [5.0, 3.0, 4.0]


def test_classes_are_left_alone():
    plan = two_steps(Rank(k=2), link="logistic")
    assert plan.predict(X, qid=[7, 7, 7]).tolist() == [0, 1, 0]


@given(st.integers(0, 2**32 - 1), st.sampled_from([None, 1.0, 5.0]))
@settings(max_examples=60, deadline=None)
def test_a_query_stepped_together_is_ranked_as_the_batch_is(seed, budget):
    plan = random_plan(seed, listwise=True)
    rows = random_rows(plan, seed, n=6)
    query = plan.start_query(len(rows), budget=budget)
    while need := query.next():
        assert len(query.answer()) == len(rows)  # can answer at any time
        query.tell({i: {f: rows[i, plan.costs.index(f)] for f in names} for i, names in need.items()})
    expected = plan.predict(rows, budget=budget, qid=np.zeros(len(rows)))
    np.testing.assert_array_equal([answer.value for answer in query.answer()], expected)
