"""The budgeted tree: no path costs more than the budget, and each answers from what it has asked."""

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from miserly import BudgetedTreeClassifier, Costs


def rows(n=600, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    y = np.where(X[:, 0] > 0, X[:, 1] > -1, X[:, 2] + 0.3 * X[:, 3] > 1).astype(int)
    return X, y


def test_it_asks_as_many_questions_as_it_may():
    X, y = rows()
    scores = []
    for max_nodes in (1, 3, 7, 11):
        model = BudgetedTreeClassifier(max_nodes=max_nodes).fit(X, y)
        assert model.n_nodes_ == max_nodes == len(model.plan_.nodes)
        scores.append(model.score(X, y))
    assert scores == sorted(scores) and scores[-1] > 0.95


def test_one_question_is_the_best_one():
    # 10 rows: the first column gets all right after one split, the second none.
    X = np.column_stack([np.arange(10.0), np.tile([0.0, 1.0], 5)])
    model = BudgetedTreeClassifier().fit(X, X[:, 0] > 6)
    assert model.n_nodes_ == 1 and model.plan_.terms[0].threshold[0] == 6.5
    assert model.score(X, X[:, 0] > 6) == 1.0


def test_paths_keep_the_budget_and_features_off_a_path_do_not_count():
    X, y = rows()
    costs = Costs([1.0, 4.0, 4.0, 4.0], groups={"lab": {"features": [2, 3], "setup": 1.0}}, evaluation=0.1)
    for budget in (0.5, 1.5, 6.0, 8.0, 30.0):
        model = BudgetedTreeClassifier(costs=costs, budget=budget).fit(X, y)
        run = model.run(X)
        assert run.cost.max(initial=0.0) <= budget * (1 + 1e-12)
        assert model.cost_ <= budget * (1 + 1e-12)
    assert run.cost.mean() < costs.of(model.plan_.features)
    assert BudgetedTreeClassifier(costs=costs, budget=0.5).fit(X, y).n_nodes_ == 0


def test_stopped_on_the_way_it_answers_as_rows_that_came_so_far():
    X, y = rows()
    model = BudgetedTreeClassifier(costs=[1, 5, 5, 5]).fit(X, y)
    assert model.plan_.terms[0].features[0] == 0
    short = model.predict_proba(X, budget=1)[:, 1]
    cut = model.plan_.terms[0].threshold[0]
    for side in (X[:, 0] <= cut, X[:, 0] > cut):
        paid_one = side & (model.run(X, budget=1).cost == 1)
        assert paid_one.any()
    assert len(np.unique(short)) < len(np.unique(model.predict_proba(X)[:, 1]))
    np.testing.assert_allclose(model.predict_proba(X, budget=0)[:, 1], y.mean())


@pytest.mark.parametrize("n_classes", [2, 3])
def test_it_learns_what_other_decision_trees_learn(n_classes):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(3000, 5))
    y = np.digitize(X[:, 0] + (X[:, 1] > 0) * X[:, 2], np.linspace(-1, 1, n_classes + 1)[1:-1])
    train, test = slice(0, 1500), slice(1500, None)
    mine = BudgetedTreeClassifier(max_nodes=20).fit(X[train], y[train])
    other = DecisionTreeClassifier(max_leaf_nodes=21, criterion="entropy", random_state=0)
    other.fit(X[train], y[train])
    assert mine.score(X[test], y[test]) > other.score(X[test], y[test]) - 0.03


def test_missing_values_go_the_way_that_helps():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 2))
    y = X[:, 0] > 0
    X[y & (rng.random(400) < 0.4), 0] = np.nan  # only of the positive ones
    model = BudgetedTreeClassifier(max_nodes=1).fit(X, y)
    assert model.score(X, y) == 1.0
