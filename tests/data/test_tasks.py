"""One rule says what labels are, in Python and on the command line."""

from __future__ import annotations

import numpy as np
import pytest

from miserly import BudgetedEstimator, CostLassoRegressor, GreedyMiserClassifier, frontier
from miserly.cli.training_table import guess_task
from miserly.data.tasks import read_task
from miserly.errors import DataError


@pytest.mark.parametrize(
    ("labels", "task"),
    [
        (np.array(["a", "b", "a"]), "classes"),
        (np.array([True, False]), "classes"),
        (np.array([0.5, 1.0, 2.0]), "numbers"),
        (np.repeat(np.arange(20.0), 5), "classes"),
        (np.repeat(np.arange(20), 4), "numbers"),  # four rows each
        (np.repeat(np.arange(21), 50), "numbers"),
        (np.array([3, 8, 8]), "classes"),  # two values
        (np.arange(25, 346), "numbers"),
    ],
)
def test_one_rule(labels, task):
    assert read_task(labels).task == task
    on_the_command_line = labels.astype(object) if labels.dtype.kind in "Ub" else labels.astype(np.float64)
    assert guess_task(on_the_command_line) == task


def test_queries_metrics_and_what_is_asked_for_come_before_labels():
    whole = np.arange(100)
    assert read_task(whole, metric="accuracy").task == "classes"
    assert read_task(whole % 2, metric="mae").task == "numbers"
    assert read_task(whole, qid=whole // 10, metric="mae").task == "ranking"
    assert read_task(whole, "classes", metric="mse").task == "classes"
    with pytest.raises(DataError, match="needs qid"):
        read_task(whole, "ranking")
    with pytest.raises(DataError, match='"auto", "classes", "numbers" or "ranking", not \'regression\''):
        read_task(whole, "regression")


@pytest.fixture(scope="module")
def diabetes():
    """A target like that of the diabetes set: many different whole numbers."""
    X = np.random.default_rng(0).normal(size=(150, 3))
    return X, np.round(150 + 50 * X[:, 0]).astype(int)


@pytest.mark.parametrize(
    "given", [{"task": "numbers"}, {"metric": "mae"}, {"task": "ranking", "qid": [1, 1]}]
)
def test_text_is_no_number_and_no_grade(given):
    with pytest.raises(DataError, match=r"labels taken as .*, but row 1 holds 'yes'; give task"):
        read_task(np.array([3, "yes"], dtype=object), **given)
    assert read_task(np.array([3, 4.5], dtype=object), **given).task != "classes"


def test_whole_numbers_with_many_values_are_numbers_in_frontier(diabetes, capsys):
    found = frontier(
        [CostLassoRegressor()], *diabetes, max_fits=4, cv=2, certify=0, random_state=0, verbose=1
    )
    assert found.task == "numbers" and found.metric == "mse"
    assert found.best(1).score(*diabetes) > 0.9
    taken = "labels taken as numbers"
    assert taken in repr(found) and taken in capsys.readouterr().err
    model = BudgetedEstimator(1, learners=[CostLassoRegressor()], max_fits=4, cv=2, random_state=0).fit(
        *diabetes
    )
    assert model.task_ == "numbers"


def test_the_task_can_be_given(diabetes):
    X, y = diabetes
    with pytest.raises(
        DataError, match="is not for labels that are numbers; set task= if the labels are something else"
    ):
        frontier([GreedyMiserClassifier()], X, y)
    tens = y // 40
    few = frontier(
        [GreedyMiserClassifier(n_rounds=3)],
        X,
        tens,
        task="classes",
        max_fits=3,
        cv=2,
        certify=0,
        random_state=0,
    )
    assert few.task == "classes" and few.metric == "accuracy"


@pytest.mark.parametrize("n", [300, 2100])
@pytest.mark.parametrize("metric", ["accuracy", "log_loss"])
def test_a_class_with_one_row_is_learned_from(n, metric):
    """Above 2,000 rows a quarter is held out, below there are folds; in both a class may have one row."""
    X = np.random.default_rng(0).normal(size=(n, 2))
    y = np.where(X[:, 0] > 0, "yes", "no")
    y[7] = "odd"
    learner = GreedyMiserClassifier(n_rounds=5, max_depth=1, step=0.5)
    found = frontier([learner], X, y, metric=metric, max_fits=3, certify=0, random_state=0)
    assert not found.failures
    assert set(found.best().classes_) == {"yes", "no", "odd"}


def test_where_every_class_has_one_row_there_is_nothing_to_evaluate_by():
    X = np.random.default_rng(0).normal(size=(12, 2))
    with pytest.raises(DataError, match="every class has one row"):
        frontier([GreedyMiserClassifier()], X, np.array(list("abcdefghijkl")), max_fits=2, certify=0)
