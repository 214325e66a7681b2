"""Terms are ready to be weighed, and weights of ready columns become weights of the plan's terms."""

import numpy as np
import pytest

from miserly.costs import Costs
from miserly.data.rows import Rows
from miserly.errors import DataError
from miserly.learners.common.terms import BoostedTerms, LinearTerms, trees_of_plan
from miserly.losses import Multinomial, Squared
from miserly.plan import Node, Plan, Tree
from miserly.solvers.columns import ROWS_AT_A_TIME


def table(n=300, d=5, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * [1.0, 1e3, 1e-3, 1.0, 1.0] + [0.0, 5.0, 1.0, -7.0, 3.0]
    X[rng.random(X.shape) < 0.1] = np.nan
    y = np.nan_to_num(X[:, 0]) + np.sign(np.nan_to_num(X[:, 3]) + 7.0)
    return Rows(X, y, weight=rng.gamma(2.0, size=n))


def boosted(samples, **changes):
    given = {"n_terms": 12, "max_depth": 3, "min_samples_leaf": 5, **changes}
    return BoostedTerms.fit(samples, Squared(), Costs([1.0, 2.0, 3.0, 4.0, 5.0], evaluation=0.5), **given)


def answers_of(terms, beta, intercept, X):
    weights, bias = terms.weights_in_plan(beta, intercept)
    each = np.arange(terms.n_terms)
    node = Node(each, np.zeros_like(each), weights, [bias])
    return (
        Plan(costs=Costs.uniform(X.shape[1]), terms=terms.plan_terms, nodes=[node], base=[0.0]).run(X).scores
    )


def test_linear_terms_have_weighted_mean_zero_and_deviation_one():
    samples = table()
    terms = LinearTerms.fit(samples, Costs.uniform(5))
    values = terms.values(samples.X)
    np.testing.assert_allclose(np.average(values, axis=0, weights=samples.weight), 0.0, atol=1e-12)
    np.testing.assert_allclose(np.average(values**2, axis=0, weights=samples.weight), 1.0)
    observed = np.ma.masked_invalid(samples.X)
    mean = np.ma.average(observed, axis=0, weights=samples.weight)
    np.testing.assert_allclose([term.fill for term in terms.plan_terms], mean)
    assert (values[np.isnan(samples.X)] == 0.0).all()
    assert not terms.evaluation.any() and (terms.uses == np.eye(5, dtype=bool)).all()


def test_columns_that_are_constant_or_empty_are_left_at_zero():
    X = np.column_stack([np.full(90, 0.1), np.full(90, np.nan), np.arange(90.0)])
    terms = LinearTerms.fit(Rows(X, np.zeros(90), weight=np.linspace(0.1, 3, 90)), Costs.uniform(3))
    assert terms.scale[:2].tolist() == [1.0, 1.0]
    np.testing.assert_allclose(terms.values(X)[:, :2], 0.0, atol=1e-14)


def test_tiny_differences_on_a_large_offset_are_no_rounding():
    x = 1e6 + 1e-3 * np.arange(50.0)
    terms = LinearTerms.fit(Rows(x[:, None], x), Costs.uniform(1))
    assert terms.scale[0] == pytest.approx(x.std(), rel=1e-6)


def test_many_rows_are_gone_through_in_pieces():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2 * ROWS_AT_A_TIME + 17, 2)).astype(np.float32)
    terms = LinearTerms.fit(Rows(X, X[:, 0]), Costs.uniform(2))
    np.testing.assert_allclose(terms.center, X.mean(axis=0, dtype=np.float64), atol=1e-12)
    np.testing.assert_allclose(terms.scale, X.std(axis=0, dtype=np.float64), rtol=1e-9)


@pytest.mark.parametrize("kind", ["linear", "boosted"])
def test_weights_of_ready_columns_are_weights_of_the_plan(kind):
    samples = table()
    terms = LinearTerms.fit(samples, Costs.uniform(5)) if kind == "linear" else boosted(samples)
    beta = np.random.default_rng(1).normal(size=terms.n_terms)
    expected = terms.values(samples.X) @ beta + 2.0
    np.testing.assert_allclose(answers_of(terms, beta, 2.0, samples.X), expected, atol=1e-9)
    weights, bias = terms.weights_in_plan(np.column_stack([beta, -beta]), [2.0, 1.0])
    one, other = terms.weights_in_plan(beta, 2.0)[0], terms.weights_in_plan(-beta, 1.0)[1]
    np.testing.assert_array_equal(weights[:, 0], one)
    assert bias[1] == pytest.approx(other)


def test_boosted_terms_are_the_trees_of_the_booster():
    samples = table()
    terms = boosted(samples)
    assert terms.n_terms == 12 and (terms.evaluation == 0.5).all()
    for tree, use in zip(terms.plan_terms, terms.uses, strict=True):
        assert np.flatnonzero(use).tolist() == tree.features.tolist()
    start = np.average(samples.y, weights=samples.weight)
    score = start + 0.1 * terms.values(samples.X).sum(axis=1)
    error = np.average((samples.y - score) ** 2, weights=samples.weight)
    assert error < 0.5 * np.average((samples.y - start) ** 2, weights=samples.weight)


def test_leaf_codes_are_decoded_to_the_values():
    samples = table()
    terms = boosted(samples)
    codes = terms.codes(samples.X)
    assert codes.dtype == np.uint8
    decoded = terms.decoder[np.arange(terms.n_terms), codes]
    np.testing.assert_array_equal(decoded, terms.values(samples.X))


def test_a_tradeoff_makes_the_trees_cheaper():
    samples = table()
    noise = np.random.default_rng(2).normal(size=len(samples))
    samples = Rows(samples.X, samples.y + noise)
    plain, cheap = boosted(samples), boosted(samples, tradeoff=0.02)
    assert cheap.uses.any(axis=0).sum() < plain.uses.any(axis=0).sum()


def test_a_falling_tradeoff_gives_cheap_trees_first_and_expensive_ones_in_the_end():
    samples = table()
    terms = boosted(samples, n_terms=40, tradeoff=(0.3, 0.0003))
    bought = np.maximum.accumulate(terms.uses, axis=0).sum(axis=1)
    assert terms.n_terms == 40 and bought[0] < 3 and bought[-1] > bought[0]
    alike = boosted(samples, n_terms=40, tradeoff=0.3), boosted(samples, n_terms=40, tradeoff=0.0003)
    assert alike[0].uses.any(axis=0).sum() < bought[-1] <= alike[1].uses.any(axis=0).sum()


def test_a_tradeoff_too_high_for_any_split_falls_at_once():
    samples = table()
    assert boosted(samples, tradeoff=1e6).n_terms == 0
    assert boosted(samples, tradeoff=(1e6, 1e-6)).n_terms == 12


def test_several_scores_give_several_trees_a_round_and_never_too_many():
    samples = table()
    code = np.digitize(samples.y, [-0.5, 0.5]).astype(float)
    three = Rows(samples.X, code)
    terms = BoostedTerms.fit(three, Multinomial(3), Costs.uniform(5), n_terms=7, min_samples_leaf=5)
    assert terms.n_terms == 7


def test_a_constant_target_gives_no_terms():
    samples = table()
    terms = boosted(Rows(samples.X, np.ones(len(samples))))
    assert terms.n_terms == 0 and terms.values(samples.X).shape == (len(samples), 0)
    assert terms.codes(samples.X).shape == (len(samples), 0)


def test_trees_too_deep_for_a_byte_are_refused():
    with pytest.raises(DataError, match="depth of 1 to 7"):
        boosted(table(), max_depth=8)


def test_each_tree_adds_features_for_no_more_than_its_price_allows():
    samples = table()
    noise = np.random.default_rng(2).normal(size=len(samples))
    costs = Costs([1.0, 2.0, 3.0, 4.0, 5.0], evaluation=0.5)
    terms = boosted(Rows(samples.X, samples.y + noise), max_price=4.6)
    bought = np.zeros(5, dtype=bool)
    for t, use in enumerate(terms.uses):
        assert terms.prices(costs, bought)[t] <= 4.6
        bought |= use
    assert bought.sum() > 2, "later trees add to what earlier ones have paid"


def test_some_of_the_terms_are_terms():
    samples = table()
    for terms in (LinearTerms.fit(samples, Costs.uniform(5)), boosted(samples)):
        some = terms.take(np.arange(terms.n_terms) % 2 == 1)
        np.testing.assert_array_equal(some.values(samples.X), terms.values(samples.X)[:, 1::2])
        np.testing.assert_array_equal(some.uses, terms.uses[1::2])


def test_trees_have_as_much_freedom_as_leaves_but_one():
    samples = table()
    terms = boosted(samples)
    assert terms.freedom.tolist() == [tree.n_leaves - 1 for tree in terms.plan_terms]
    assert (LinearTerms.fit(samples, Costs.uniform(5)).freedom == 1.0).all()


def test_trees_of_a_plan_are_scaled_together_so_that_the_largest_leaf_is_one():
    """Leaves -8, 4 and 2, 1: the largest is 8, so the trees become -1, 0.5 and 0.25, 0.125."""
    shape = {"feature": [0, -1, -1], "threshold": [0.0] * 3, "left": [1, 0, 0], "right": [2, 0, 0]}
    shape["missing_left"] = [True] * 3
    trees = [Tree(**shape, value=[0.0, *leaves]) for leaves in ((-8.0, 4.0), (2.0, 1.0))]
    node = Node([0, 1], [0, 0], [1.0, 1.0], [0.0])
    plan = Plan(costs=Costs([1.0]), terms=trees, nodes=[node], base=[0.0])
    found = trees_of_plan(plan, Costs([1.0], evaluation=0.5))
    assert [tree.value[1:].tolist() for tree in found.plan_terms] == [[-1.0, 0.5], [0.25, 0.125]]
    assert [tree.evaluation for tree in found.plan_terms] == [0.5, 0.5]
