"""What every learner guarantees: answers, accounts and budgets (points 2 to 6 and 9 of the contract).

Every test runs over all learners that `all_learners` finds, on every task they can do.
"""

from dataclasses import replace

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from miserly import load
from miserly.costs import Ledger
from miserly.errors import CostError
from miserly.plan import Tree
from miserly.plan.engine.ranking import levels

from ..turns import in_turn
from .cases import Case, every_case
from .stepping import step, step_on_demand
from .tasks import Rows

CASES = every_case()
COUNTS = ("path", "tree")
BUDGETS = ("no budget", "nothing", "a little", "half", "the median bill")
RUN = ("scores", "cost", "acquired", "exit", "stopped", "pending", "begun", "evaluated")

every = pytest.mark.parametrize("case", CASES, ids=str)
a_third_of_them = pytest.mark.parametrize("case", in_turn(CASES, one_in=3), ids=str)
counted = pytest.mark.parametrize("count", COUNTS)
every_way = pytest.mark.parametrize(
    ("case", "count", "budget"), in_turn(CASES, COUNTS, BUDGETS, one_in=3), ids=str
)


def same(one, other, names=RUN):
    for name in names:
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)


# -- 2. Batch run, stepping and OnDemand agree ---------------------------------------------------------------


@every_way
def test_compiled_code_and_plain_numpy_agree(case: Case, count, budget):
    rows, limit = case.task.fresh, case.budgets[budget]
    plain = case.fitted.plan_.run(rows.X, limit, count, rows.qid, compiled=False)
    same(case.run(rows, limit, count), plain)


@every_way
def test_stepping_agrees_with_the_batch_run(case: Case, count, budget):
    rows, limit = case.task.fresh, case.budgets[budget]
    run = case.run(rows, limit, count)
    stepped = step(case.fitted.plan_, rows, limit, count)
    same(stepped, run, ("scores", "cost", "acquired", "exit", "stopped", "evaluated"))
    if count == "path":  # as every learner predicts
        np.testing.assert_array_equal(stepped.answers, case.predict(case.fitted, rows, budget=limit))


@pytest.mark.parametrize(
    ("case", "budget", "how"), in_turn(CASES, ("no budget", "half"), ("sync", "async"), one_in=4), ids=str
)
def test_on_demand_agrees_with_the_batch_run(case: Case, budget, how, tmp_path):
    X, plan, limit = case.task.fresh.X, case.fitted.plan_, case.budgets[budget]
    plan.save(tmp_path / "m.miser")
    receipts = step_on_demand(tmp_path / "m.miser", plan, X, limit, how)
    run = plan.run(X, limit)  # every row a query of its own
    same(receipts, run, ("cost", "acquired", "exit"))
    evaluation = run.evaluated @ np.array([term.evaluation for term in plan.terms])
    np.testing.assert_allclose(receipts.evaluation, evaluation, rtol=0, atol=1e-9)
    np.testing.assert_array_equal(receipts.answers, plan.predict(X, limit))


# -- 3. The cost is the ledger's -----------------------------------------------------------------------------


@every_way
def test_cost_is_the_ledger_of_what_was_acquired_and_evaluated(case: Case, count, budget):
    rows, plan = case.task.fresh, case.fitted.plan_
    run = case.run(rows, case.budgets[budget], count)
    evaluation = np.array([term.evaluation for term in plan.terms])
    for i in range(len(rows)):
        ledger = Ledger(plan.costs)
        for feature in np.flatnonzero(run.acquired[i]):
            ledger.buy(feature)
        assert run.cost[i] == pytest.approx(ledger.spent + evaluation[run.evaluated[i]].sum(), rel=1e-12)


@every
def test_a_path_costs_at_most_what_whole_trees_cost(case: Case):
    rows = case.task.fresh
    plan = case.fitted.plan_.replace(budget=None)  # a budget ends both ways of counting, at different places
    path, tree = plan.run(rows.X, qid=rows.qid), plan.run(rows.X, count="tree", qid=rows.qid)
    same(path, tree, ("scores", "exit", "evaluated"))
    assert (path.acquired <= tree.acquired).all()
    assert (path.cost <= tree.cost * (1 + 1e-12)).all()
    assert (tree.cost <= plan.max_cost * (1 + 1e-12)).all()


@every
def test_learners_price_terms_as_their_costs_say(case: Case):
    plan = case.fitted.plan_
    costs = case.parameters.get("costs")
    assert len(plan.costs) == case.task.learn.X.shape[1]
    if costs is not None:
        assert plan.costs == costs
    assert all(term.evaluation == plan.costs.evaluation for term in plan.terms if isinstance(term, Tree))


# -- 4. Budgets are kept -------------------------------------------------------------------------------------


@every
@counted
def test_no_row_passes_the_budget_and_cost_never_falls_as_it_rises(case: Case, count):
    rows = case.task.fresh
    whole = case.run(rows, count=count)
    before = np.zeros(len(rows))
    for budget in [0.0, *np.linspace(0.01, 1.0, 12) * case.fitted.cost_, *np.unique(whole.cost)[:5]]:
        assert (case.run(rows, budget, count).cost <= budget).all()
    for budget in np.linspace(0.0, 1.0, 12) * case.fitted.cost_:
        cost = case.run(rows, budget, count).cost
        assert (cost >= before).all()
        before = cost


@every
@counted
def test_an_infinite_budget_changes_nothing(case: Case, count):
    rows = case.task.fresh
    whole = case.run(rows, count=count)
    same(case.run(rows, np.inf, count), whole)
    np.testing.assert_array_equal(
        case.predict(case.fitted, rows, budget=np.inf), case.predict(case.fitted, rows)
    )


@every
@counted
def test_what_the_whole_model_costs_is_enough_for_every_row(case: Case, count):
    rows = case.task.fresh
    enough, whole = case.run(rows, case.fitted.cost_, count), case.run(rows, count=count)
    same(enough, whole, [name for name in RUN if name != "cost"])
    np.testing.assert_allclose(enough.cost, whole.cost, rtol=1e-12)


@pytest.mark.parametrize(("case", "budget"), in_turn(CASES, BUDGETS, one_in=2), ids=str)
def test_predictions_are_those_of_the_run(case: Case, budget):
    rows, model, limit = case.task.fresh, case.fitted, case.budgets[budget]
    run = case.run(rows, limit)
    answers = case.predict(model, rows, budget=limit)
    np.testing.assert_array_equal(answers, model.plan_.predict(rows.X, budget=limit, qid=rows.qid))
    votes = voted(run.scores) if model.plan_.link == "votes" else None
    if hasattr(model, "classes_"):
        scores = run.scores if votes is None else votes
        best = scores > 0 if scores.ndim == 1 else scores.argmax(axis=1)
        np.testing.assert_array_equal(answers, model.classes_[best.astype(int)])
    else:
        kept = levels(model.plan_, run.exit, ~run.stopped) == len(model.plan_.nodes)  # by every gate met
        assert kept.all() or "rule" in case.has
        np.testing.assert_array_equal(answers[kept], run.scores[kept])
        for query in () if rows.qid is None else np.unique(rows.qid):
            here = rows.qid == query
            assert answers[here & ~kept].max(initial=-np.inf) < answers[here & kept].min(initial=np.inf)
    if votes is not None:  # moved a little by how clear each decision was
        np.testing.assert_array_equal(np.rint(model.decision_function(rows.X, budget=limit)), votes)
    elif hasattr(model, "decision_function"):
        scores = run.scores
        if len(model.classes_) == 2 and scores.ndim == 2:
            scores = scores[:, 1] - scores[:, 0]
        np.testing.assert_array_equal(model.decision_function(rows.X, budget=limit), scores)
    if hasattr(model, "predict_proba"):
        shares = model.predict_proba(rows.X, budget=limit)
        np.testing.assert_array_equal(shares, model.plan_.predict_proba(rows.X, budget=limit))
        np.testing.assert_allclose(shares.sum(axis=1), 1.0)


def voted(scores):
    """The pairs 01, 02, 12 won by each of three classes; a positive score is for the first of its pair."""
    first, second, third = (scores > 0).T.astype(int)
    return np.column_stack([first + second, 1 - first + third, 2 - second - third])


PRESSED = [case for case in CASES if case.variant in ("budget", "tradeoff", "prices")]
# Only a tradeoff makes another case of one with a budget, once every case is given the same budget.
OF_ALL_BUDGETS = [case for case in PRESSED if case.variant != "prices" and "budget" in case.has]


@pytest.mark.parametrize(("case", "share"), in_turn(OF_ALL_BUDGETS, (0.0, 0.05, 0.3, 1.0), one_in=2), ids=str)
def test_training_keeps_its_budget(case: Case, share):
    budget = share * case.task.costs.total
    model = case.fit(case.make(budget=budget))
    assert model.cost_ <= budget * (1 + 1e-12)
    for rows in (case.task.learn, case.task.fresh, noise_rows(case)):
        run = model.run(rows.X, count="tree", qid=rows.qid)
        assert (run.cost <= budget * (1 + 1e-12)).all()


def noise_rows(case: Case) -> Rows:
    """Rows like nothing there was to learn from, with many values missing where a learner takes that."""
    rows, rng = case.task.fresh, np.random.default_rng(7)
    noise = rng.normal(scale=1e3, size=rows.X.shape)
    if np.isnan(case.task.learn.X).any():
        noise[rng.random(noise.shape) < 0.3] = np.nan
    return replace(rows, X=noise)


@pytest.mark.parametrize("case", [case for case in CASES if case.variant == "budget"], ids=str)
@counted
def test_a_budget_goes_where_the_plan_goes(case: Case, count, tmp_path):
    """Into its file, and wherever it is stepped through."""
    limit = case.parameters["budget"] * (1 + 1e-12)
    case.fitted.plan_.save(tmp_path / "m.miser")
    plan, noise = load(tmp_path / "m.miser"), noise_rows(case)
    for rows in (case.task.learn, case.task.fresh, noise):
        assert (plan.run(rows.X, count=count, qid=rows.qid).cost <= limit).all()
    assert (step(plan, noise, None, count).cost <= limit).all()


def test_every_learner_has_a_budget():
    assert not {case.learner.__name__ for case in CASES if "budget" not in case.has}


ONE_EACH = list({case.learner: case for case in CASES}.values())


@pytest.mark.parametrize("case", ONE_EACH, ids=str)
@pytest.mark.parametrize("name", ["budget", "mean_budget"])
def test_a_budget_is_a_number_of_any_size(case: Case, name):
    if name not in case.make().get_params():
        pytest.skip(f"has no {name}")
    with pytest.raises(CostError, match="a budget is a number or None, not True"):
        case.fit(case.make().set_params(**{name: True}))
    model = case.fit(case.make().set_params(**{name: 10**400}))
    assert model.run(case.task.fresh.X, qid=case.task.fresh.qid).cost.max() > 0


AVERAGED = [case for case in CASES if case.variant == "budget" and "mean_budget" in case.has]


@pytest.mark.parametrize(("case", "share"), in_turn(AVERAGED, (0.0, 0.05, 0.3), one_in=3), ids=str)
def test_training_keeps_its_mean_budget(case: Case, share):
    budget = share * case.task.costs.total
    model = case.fit(case.make(mean_budget=budget, budget=None))
    assert model.expected_cost_ <= budget * (1 + 1e-12)


@pytest.mark.parametrize("case", [case for case in PRESSED if "tree_budget" in case.has], ids=str)
@pytest.mark.parametrize("n_trees", [0.0, 1.5, 4.0])
def test_training_keeps_its_tree_budget(case: Case, n_trees):
    tree_budget = n_trees * case.task.costs.evaluation
    model = case.fit(case.make(tree_budget=tree_budget))
    n_learners = sum(path.endswith("tree_budget") for path in model.get_params(deep=True))  # each has its own
    assert sum(term.evaluation for term in model.plan_.terms) <= n_learners * tree_budget


# -- 5. What was not acquired cannot matter ------------------------------------------------------------------


@every_way
def test_what_was_not_acquired_cannot_change_an_answer(case: Case, count, budget):
    limit = case.budgets[budget]
    for rows in (case.task.learn, case.task.fresh):
        run = case.run(rows, limit, count)
        noise = np.random.default_rng(0).normal(scale=1e3, size=rows.X.shape)
        for other in (np.nan, noise):
            same(case.run(rows, limit, count, X=np.where(run.acquired, rows.X, other)), run)


# -- 6. Nothing but the random state matters -----------------------------------------------------------------


def saved(model, folder):
    model.plan_.save(folder / "m.miser")
    return (folder / "m.miser").read_bytes()


@pytest.mark.parametrize(("case", "n_jobs"), in_turn(CASES, (1, 2, None), one_in=3), ids=str)
def test_same_random_state_same_model_on_one_or_two_threads(case: Case, n_jobs, tmp_path):
    with threadpool_limits(2 if n_jobs == 2 else None, "blas"):  # `make test` gives it one
        again = case.fit(case.make(n_jobs=n_jobs))
    assert saved(again, tmp_path) == saved(case.fitted, tmp_path)


@pytest.mark.parametrize(("case", "budget"), in_turn(CASES, ("no budget", "half"), one_in=4), ids=str)
def test_rows_in_another_order_or_in_other_batches_get_the_same_answers(case: Case, budget):
    rows, limit = case.task.fresh, case.budgets[budget]
    whole, answers = case.run(rows, limit), case.predict(case.fitted, rows, budget=limit)
    other_order = np.random.default_rng(0).permutation(len(rows))
    for some in [other_order, *rows.batches(1), *rows.batches(13)]:
        part = case.run(rows.take(some), limit)
        for name in ("scores", "cost", "acquired", "exit", "stopped"):
            np.testing.assert_array_equal(getattr(part, name), getattr(whole, name)[some], err_msg=name)
        np.testing.assert_array_equal(case.predict(case.fitted, rows.take(some), budget=limit), answers[some])


@every
def test_two_threads_answer_as_one_does(case: Case):
    rows = case.task.fresh.repeated(40)  # enough for threads to be worth waking
    plan = case.fitted.plan_
    for budget in (None, 0.5 * case.fitted.cost_):
        one, two = (plan.run(rows.X, budget, qid=rows.qid, n_threads=n) for n in (1, 2))
        same(one, two)


# -- 9. Units and scales do not matter -----------------------------------------------------------------------


def same_model(one, other):
    """The same splits in the same order, leaves equal to 1e-9."""
    assert len(one.plan_.terms) == len(other.plan_.terms) and len(one.plan_.nodes) == len(other.plan_.nodes)
    for mine, yours in zip(one.plan_.terms, other.plan_.terms, strict=True):
        np.testing.assert_array_equal(mine.features, yours.features)
        if isinstance(mine, Tree):
            np.testing.assert_array_equal(mine.feature, yours.feature)
            np.testing.assert_array_equal(mine.threshold, yours.threshold)
            np.testing.assert_allclose(mine.value, yours.value, rtol=1e-9, atol=1e-12)
    for mine, yours in zip(one.plan_.nodes, other.plan_.nodes, strict=True):
        np.testing.assert_array_equal(mine.terms, yours.terms)
        np.testing.assert_allclose(mine.weights, yours.weights, rtol=1e-9)
        assert type(mine.gate) is type(yours.gate)


@a_third_of_them
def test_prices_in_another_currency_give_the_same_model(case: Case):
    costs = case.parameters.get("costs", case.task.costs)
    here = case.fitted if "costs" in case.parameters else case.fit(case.make(costs=costs))
    parameters = {k: v for k, v in here.get_params(deep=True).items() if v is not None}
    factor = {"tradeoff": 0.1, "budget": 10.0, "mean_budget": 10.0, "tree_budget": 10.0}
    changes = {
        name: parameters[key] * factor[name]
        for key in parameters
        if (name := key.rpartition("__")[2]) in factor
    }
    there = case.fit(case.make(costs=costs.scaled(10.0), **changes))
    same_model(here, there)
    rows = case.task.fresh
    one, other = (model.run(rows.X, qid=rows.qid) for model in (here, there))
    same(one, other, ("scores", "acquired", "exit"))
    np.testing.assert_allclose(10.0 * one.cost, other.cost, rtol=1e-12)


@a_third_of_them
def test_weights_three_times_as_large_give_the_same_model(case: Case):
    if "sample_weight" not in case.fit_parameters:
        pytest.skip("takes no sample_weight")
    once = case.fitted_with_weights
    thrice = case.fit(case.make(), sample_weight=3.0 * case.weights)
    same_model(once, thrice)
    rows = case.task.fresh
    one, other = (model.run(rows.X, qid=rows.qid) for model in (once, thrice))
    same(one, other, ("acquired", "exit"))
    np.testing.assert_allclose(one.scores, other.scores, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(("case", "weight"), in_turn(CASES, (1.0, 0.7), one_in=4), ids=str)
def test_equal_weights_are_no_weights(case: Case, weight, tmp_path):
    if "sample_weight" not in case.fit_parameters:
        pytest.skip("takes no sample_weight")
    equal = np.full(len(case.task.learn), weight)
    assert saved(case.fit(case.make(), sample_weight=equal), tmp_path) == saved(case.fitted, tmp_path)


def test_the_cases_have_something_to_test():
    for case in CASES:
        run = case.run(case.task.fresh)
        assert run.cost.max() > 0 and len(np.unique(run.scores)) > 2, case
        if case.variant == "saving":
            assert len(np.unique(run.exit)) > 1, f"{case}: no row leaves early"
