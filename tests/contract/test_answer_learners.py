"""The contract for learners that need the columns of a call, which the tables of all others do not have."""

from dataclasses import replace

import numpy as np
import pytest

from miserly import AnswerClassifier, AnswerRegressor, Costs

from . import test_contract as contract
from .cases import Case
from .tasks import TASKS, Rows, Task

BUDGETS = ("no budget", "nothing", "half", "the median bill")


def call_task(name: str) -> Task:
    """A task whose table also has the answers of a model `expert`, some of them missing."""
    task, rng = TASKS[name](), np.random.default_rng(0)
    labels = np.unique(task.learn.y)
    columns = {
        "two classes": [f"expert={labels[-1]}"],
        "three classes": [f"expert={label}" for label in labels],
        "numbers": ["expert.value"],
    }[name]

    def answered(rows: Rows) -> Rows:
        if name == "numbers":
            scores = 2.0 * rows.y[:, None] + rng.normal(size=(len(rows), 1))
        else:
            wanted = labels[-1:] if len(columns) == 1 else labels
            scores = (rows.y[:, None] == wanted) + 0.7 * rng.normal(size=(len(rows), len(columns)))
        failed = rng.random(len(rows)) < 0.1
        scores = np.where(failed[:, None], np.nan, scores)
        return replace(rows, X=np.column_stack([rows.X, scores]))

    record = task.costs.to_dict()
    record["features"] |= dict.fromkeys(columns, 0.0)
    record["groups"]["expert"] = {"features": columns, "setup": 2.7}
    return Task(name, answered(task.learn), answered(task.fresh), Costs.from_dict(record))


LEARNERS = {
    "two classes": AnswerClassifier,
    "three classes": AnswerClassifier,
    "numbers": AnswerRegressor,
}
CASES = [
    Case(learner, task, "prices", {"costs": task.costs})
    for name, learner in LEARNERS.items()
    for task in [call_task(name)]
]
every = pytest.mark.parametrize("case", CASES, ids=str)
budgeted = pytest.mark.parametrize("budget", BUDGETS)
counted = pytest.mark.parametrize("count", ["path", "tree"])


@every
def test_answers_are_worth_their_price(case):
    """So that the checks below are about models that have learned something."""
    rows = case.task.fresh
    assert case.fitted.score(rows.X, rows.y) > 0.6
    assert (case.run(rows).cost == 2.7).all() and np.isnan(rows.X[:, -1]).any()


@every
@counted
@budgeted
def test_all_ways_of_running_agree(case, count, budget):
    contract.test_compiled_code_and_plain_numpy_agree(case, count, budget)
    contract.test_stepping_agrees_with_the_batch_run(case, count, budget)
    contract.test_cost_is_the_ledger_of_what_was_acquired_and_evaluated(case, count, budget)
    contract.test_what_was_not_acquired_cannot_change_an_answer(case, count, budget)


@every
@pytest.mark.parametrize("how", ["sync", "async"])
@pytest.mark.parametrize("budget", ["no budget", "half"])
def test_on_demand_agrees_with_the_batch_run(case, budget, how, tmp_path):
    contract.test_on_demand_agrees_with_the_batch_run(case, budget, how, tmp_path)


@every
@counted
def test_budgets_are_kept(case, count):
    contract.test_no_row_passes_the_budget_and_cost_never_falls_as_it_rises(case, count)
    contract.test_an_infinite_budget_changes_nothing(case, count)
    contract.test_what_the_whole_model_costs_is_enough_for_every_row(case, count)


@every
@budgeted
def test_predictions_do_not_depend_on_how_rows_come(case, budget):
    contract.test_predictions_are_those_of_the_run(case, budget)
    contract.test_rows_in_another_order_or_in_other_batches_get_the_same_answers(case, budget)


@every
def test_the_same_fit_gives_the_same_model(case, tmp_path):
    contract.test_learners_price_terms_as_their_costs_say(case)
    contract.test_same_random_state_same_model_on_one_or_two_threads(case, 2, tmp_path)
    contract.test_two_threads_answer_as_one_does(case)
    contract.test_prices_in_another_currency_give_the_same_model(case)
    contract.test_weights_three_times_as_large_give_the_same_model(case)
    contract.test_equal_weights_are_no_weights(case, 0.7, tmp_path)


@every
def test_frames_are_read_by_name(case):
    rows, wanted = case.task.fresh, case.predict(case.fitted, case.task.fresh)
    for frame in (case.task.pandas, case.task.polars):
        model = case.fit(case.make(), X=frame(case.task.learn.X))
        np.testing.assert_array_equal(
            case.predict(model, rows, X=frame(rows.X)[case.task.names[::-1]]), wanted
        )
