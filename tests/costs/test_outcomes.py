"""What outcomes cost: the forms in which users give it, prices of answers, weights, and files."""

import json

import numpy as np
import pytest

from miserly import OutcomeCosts
from miserly.costs import OutcomeTable, read_outcomes
from miserly.errors import CostError
from miserly.plan import Decision

ILL = {("ill", "well"): 1000, ("well", "ill"): 50}


def test_a_matrix_a_mapping_and_a_nested_mapping_are_the_same():
    forms = [
        [[0, 1000], [50, 0]],
        ILL,
        {"ill": {"well": 1000}, "well": {"ill": 50}},
        OutcomeCosts([[0, 50], [1000, 0]], classes=["well", "ill"]),
    ]
    for form in forms:
        table = read_outcomes(form, ["ill", "well"])
        np.testing.assert_array_equal(table.table, [[[0.0, 1000.0], [50.0, 0.0]]])
        assert table.answers == ("ill", "well")


def test_right_answers_and_actions_may_cost_too():
    costs = OutcomeCosts({**ILL, ("ill", "ill"): 200, "refer": 30, ("ill", "refer"): 40})
    table = costs.bind(["ill", "well"])
    np.testing.assert_array_equal(table.table[0], [[200, 1000, 40], [50, 0, 30]])
    assert table.cost_of(["ill", "well", "ill"], ["ill", "refer", "refer"]).tolist() == [200, 30, 40]
    assert OutcomeCosts([[0, 1, 2], [3, 0, 4]]).bind([0, 1]).answers == (0, 1, "refer")
    two = OutcomeCosts([[0, 1, 2, 9], [3, 0, 4, 9]], actions=["wait", "call"]).bind([0, 1])
    assert two.cost_of([1, 0], ["wait", "call"]).tolist() == [4, 9]


def test_amounts_of_rows():
    # a missed fraud costs its amount, a false alarm 15
    amounts = np.array([900.0, 20.0, 300.0])
    costs = OutcomeCosts({("fraud", "fine"): amounts, ("fine", "fraud"): 15})
    table = costs.bind(["fine", "fraud"])
    y = np.array(["fraud", "fine", "fraud"])
    assert table.cost_of(y, ["fine", "fraud", "fraud"]).tolist() == [900, 15, 0]
    assert table.weights(y).tolist() == [900, 15, 300]
    part = table.take(np.array([2, 0]))
    assert part.cost_of(y[[2, 0]], ["fine", "fine"]).tolist() == [300, 900]
    means, weights = table.class_means(y)
    assert means.tolist() == [[0, 15], [600, 0]]  # the mean of 900 and 300
    assert weights.tolist() == [15, 600]
    assert OutcomeCosts([5.0, 7.0]).bind([0, 1]).cost_of([0, 1], [1, 0]).tolist() == [5, 7]


def test_names_of_columns_stand_for_amounts():
    costs = OutcomeCosts({("fraud", "fine"): "amount", ("fine", "fraud"): 15})
    assert costs.columns == ["amount"]
    table = read_outcomes(costs, ["fine", "fraud"], lambda name: {"amount": [9.0, 4.0]}[name])
    assert table.cost_of(["fraud", "fraud"], ["fine", "fine"]).tolist() == [9, 4]
    with pytest.raises(CostError, match="rows have no names"):
        read_outcomes(costs, ["fine", "fraud"])


def test_weights_of_many_classes_are_the_mean_over_wrong_answers():
    table = OutcomeCosts([[1, 3, 5], [2, 0, 4], [0, 0, 0]]).bind(["a", "b", "c"])
    # a: ((3 - 1) + (5 - 1)) / 2 = 3; b: (2 + 4) / 2 = 3; c is free and counts a thousandth of the mean of 2
    assert table.weights(["a", "b", "c"]).tolist() == [3, 3, 0.002]


def test_classes_may_be_fewer_and_in_another_order():
    table = OutcomeCosts([[0, 1, 2, 7], [3, 0, 4, 7], [5, 6, 0, 7]]).bind(["a", "b", "c"])
    assert table.bind(["c", "a"]).table.tolist() == [[[0, 5, 7], [2, 0, 7]]]
    assert (table.span, table.largest) == (7.0, 7.0)


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({("ill", "well"): 1000}, r"\('well', 'ill'\)"),
        ({**ILL, ("il", "well"): 3}, "'il', which is none of the classes"),
        ({**ILL, ("ill", "refer"): 3}, r"no cost of the outcome \('well', 'refer'\)"),
        ({**ILL, "ill": 3}, "needs the actual class"),
        ({("ill", "well"): -1, ("well", "ill"): 50}, "negative"),
        ({("ill", "well"): float("inf"), ("well", "ill"): 50}, "infinite"),
        ({("ill", "well", "x"): 1}, "pair"),
        ({}, "no outcome costs"),
        ([[0, 1], [np.nan, 0]], "finite"),
        ([[0, -1], [2, 0]], "gain"),
        ([[0, 1, 2], [1, 0, 2], [1, 2, 0]], "3 classes, but there are 2"),
        ([[0, 1, 2, 3], [1, 0, 2, 3]], "names of 2 actions"),
        ([[0], [1]], "line per class"),
        ("costs", "mapping, a matrix"),
        ({("ill", "well"): [1.0, 2.0], ("well", "ill"): [1.0]}, "different numbers of rows"),
    ],
)
def test_bad_costs_are_refused(given, problem):
    with pytest.raises(CostError, match=problem):
        OutcomeCosts(given).bind(["ill", "well"])


def test_a_default_is_for_wrong_answers_that_are_left_out():
    table = OutcomeCosts({("ill", "well"): 9}, default=2).bind(["ill", "well"])
    assert table.table.tolist() == [[[0, 9], [2, 0]]]


def test_an_action_cannot_have_the_name_of_a_class():
    with pytest.raises(CostError, match="is a class"):
        OutcomeTable(("a", "b"), ("b",), np.zeros((1, 2, 3)))


def test_strange_labels_and_wrong_numbers_of_rows_are_refused():
    table = OutcomeCosts(ILL).bind(["ill", "well"])
    with pytest.raises(CostError, match="did you mean 'well'"):
        table.cost_of(["ill"], ["wel"])
    with pytest.raises(CostError, match="2 rows were given for 3"):
        OutcomeCosts([1.0, 2.0]).bind(["ill", "well"]).check_rows(3)


def test_files(tmp_path):
    csv, as_json = tmp_path / "costs.csv", tmp_path / "costs.json"
    csv.write_text("# CAD\nactual,predicted,cost\n1,0,1000\n0,1,50\n*,refer,30\n")
    as_json.write_text(json.dumps({"1": {"0": 1000}, "0": {"1": 50}, "refer": 30}))
    records = tmp_path / "records.json"
    listed = [{"actual": "1", "predicted": "0", "cost": 1000}, {"actual": "0", "predicted": "1", "cost": 50}]
    records.write_text(json.dumps([*listed, {"predicted": "refer", "cost": 30}]))
    for path in (csv, as_json, records):
        table = OutcomeCosts.read(path).bind([0, 1])  # class names are compared as text
        assert table.table.tolist() == [[[0, 50, 30], [1000, 0, 30]]], path
    csv.write_text("actual,predicted,cost\nfraud,fine,amount\nfine,fraud,15\n")
    assert OutcomeCosts.read(csv).columns == ["amount"]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("actual,cost\n", "columns must be"),
        ("actual,predicted,cost\na,b\n", "line 2: 2 cells"),
        ("actual,predicted,cost\na,b,1\na,b,2\n", "line 3: the cost of"),
        ("actual,predicted,cost\na,,1\n", "line 2: `predicted` is empty"),
        ("actual,predicted,cost\na,b,\n", "line 2: `cost` is empty"),
        ("actual,predicted,cost\na,b,-3\n", "negative"),
        ("", "no outcome costs"),
    ],
)
def test_bad_files_are_refused_with_their_line(tmp_path, text, problem):
    path = tmp_path / "bad.csv"
    path.write_text(text)
    with pytest.raises(CostError, match=problem) as error:
        OutcomeCosts.read(path)
    assert "bad.csv" in str(error.value)


def test_costs_of_answers_without_binding():
    assert OutcomeCosts(ILL).cost_of(["ill"], ["well"]).tolist() == [1000]
    assert OutcomeCosts([[0, 1], [2, 0]]).cost_of([0, 0], [1, 0]).tolist() == [1, 0]


# -- deciding ------------------------------------------------------------------------------------------------


def test_each_row_is_decided_by_its_own_costs():
    rng = np.random.default_rng(3)
    chances, amounts = rng.dirichlet(np.ones(3), size=200), rng.uniform(1, 500, size=200)
    costs = OutcomeCosts({("a", "b"): "amount", ("a", "c"): 30, ("b", "a"): 40, ("b", "c"): 80, ("c", "a"): 9,
                          ("c", "b"): 60, "refer": 8})  # fmt: skip
    given = costs.decide(chances, ["a", "b", "c"], {"amount": amounts})
    table = costs.fill(lambda name: amounts).bind(["a", "b", "c"])
    for i in range(200):
        means = {
            answer: sum(
                p * table.take(np.array([i])).cost_of([label], [answer])[0]
                for label, p in zip("abc", chances[i], strict=True)
            )
            for answer in ("a", "b", "c", "refer")
        }
        assert means[given[i]] == pytest.approx(min(means.values()))
    assert len(set(given.tolist())) > 2


def test_answers_of_a_matrix_are_those_of_a_plan_that_decides_by_it():
    chances = np.random.default_rng(0).dirichlet([1.0, 1.0], size=50)
    matrix = [[0.0, 10.0, 6.0], [100.0, 0.0, 6.0]]
    answers = OutcomeCosts(matrix, actions=["expert"]).decide(chances, [0, 1])
    assert answers.tolist() == Decision(matrix, ["expert"]).labels(chances, np.array([0, 1])).tolist()


@pytest.mark.parametrize(
    ("chances", "rows", "words"),
    [
        ([[0.5, 0.5]], None, "name the column 'amount', which the rows do not have"),
        ([[0.5, 0.5]], {"price": [1.0]}, "name the column 'amount'"),
        ([[0.2, 0.3, 0.5]], {"amount": [1.0]}, "a column for each of 2 classes"),
        ([0.5, 0.5], {"amount": [1.0]}, "a column for each of 2 classes"),
        ([[0.5, 0.5]] * 3, {"amount": [1.0, 2.0]}, "of 2 rows were given for 3 rows"),
    ],
)
def test_decisions_that_cannot_be_made(chances, rows, words):
    costs = OutcomeCosts({(1, 0): "amount", (0, 1): 5.0})
    with pytest.raises(CostError, match=words):
        costs.decide(chances, [0, 1], rows)
