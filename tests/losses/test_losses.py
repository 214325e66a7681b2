"""Losses: derivatives against finite differences, starts that cannot be bettered, lambdarank pair by pair."""

import importlib
import inspect
import itertools
import pkgutil

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from miserly import losses
from miserly.losses import (
    LambdaRank,
    Logistic,
    Loss,
    MeanSquared,
    Multinomial,
    PointwiseLoss,
    Squared,
    SquaredHinge,
    WithinQueries,
)
from miserly.metrics import Queries

RNG = np.random.default_rng(0)
WEIGHT = RNG.uniform(0.2, 3.0, 40)
QUERIES = Queries(RNG.integers(0, 6, 40))
MADE = {  # one of every loss in the package, with labels
    Squared: (Squared(), RNG.normal(size=40)),
    MeanSquared: (MeanSquared(3), RNG.normal(size=(40, 3))),
    Logistic: (Logistic(), RNG.integers(0, 2, 40).astype(float)),
    SquaredHinge: (SquaredHinge(), RNG.integers(0, 2, 40).astype(float)),
    Multinomial: (Multinomial(4), RNG.integers(0, 4, 40).astype(float)),
    WithinQueries: (WithinQueries(QUERIES), RNG.normal(size=40)),
    LambdaRank: (LambdaRank(QUERIES, k=3), RNG.integers(0, 4, 40).astype(float)),
}


def concrete(kind):
    """All classes of losses that can be made, wherever in the package they are; tests define others."""
    for module in pkgutil.iter_modules(losses.__path__):
        importlib.import_module(f"{losses.__name__}.{module.name}")
    is_ours = kind.__module__.startswith("miserly.")
    found = [kind] if is_ours and not inspect.isabstract(kind) else []
    return found + [one for below in kind.__subclasses__() for one in concrete(below)]


def over(kind):
    """Run a test on every loss of a kind."""
    some = [MADE[one] for one in MADE if issubclass(one, kind)]
    return pytest.mark.parametrize(("loss", "y"), some, ids=[type(loss).__name__ for loss, _ in some])


weights = pytest.mark.parametrize("weight", [None, WEIGHT], ids=["plain", "weighted"])


def test_every_loss_of_the_package_is_tested_here():
    assert set(concrete(Loss)) == set(MADE)
    assert {one.__name__ for one in MADE} <= set(losses.__all__)


def numeric_gradient(function, score, width=1e-5):
    gradient = np.zeros(score.shape)
    for index in np.ndindex(*score.shape):
        up, down = score.copy(), score.copy()
        up[index] += width
        down[index] -= width
        gradient[index] = (function(up) - function(down)) / (2 * width)
    return gradient


@weights
@over(Loss)
def test_gradient_is_the_derivative_of_the_loss(loss, y, weight):
    score = RNG.normal(size=(40, loss.n_scores))
    gradient, hessian = loss.gradient_hessian(y, score, weight)
    expected = numeric_gradient(lambda s: loss.loss(y, s, weight) * loss.total_weight(y, weight), score)
    np.testing.assert_allclose(gradient, expected, atol=1e-7)
    assert gradient.shape == hessian.shape == score.shape and (hessian >= 0.0).all()


@weights
@over(PointwiseLoss)
def test_the_loss_is_the_weighted_mean_of_each(loss, y, weight):
    score = 3.0 * RNG.normal(size=(40, loss.n_scores))
    assert loss.loss(y, score, weight) == pytest.approx(
        np.average(loss.each(y, score), weights=weight), rel=1e-13
    )


@over(PointwiseLoss)
def test_derivatives_of_each_row_against_finite_differences(loss, y):
    score, width = RNG.normal(size=(40, loss.n_scores)), 1e-6
    gradient, hessian = loss.gradient(y, score), loss.hessian(y, score)
    for k in range(loss.n_scores):
        up, down = score.copy(), score.copy()
        up[:, k] += width
        down[:, k] -= width
        slope = (loss.each(y, up) - loss.each(y, down)) / (2 * width)
        np.testing.assert_allclose(gradient[:, k], slope, atol=1e-8)
        bend = (loss.gradient(y, up) - loss.gradient(y, down)) / (2 * width)
        np.testing.assert_allclose(hessian[:, :, k], bend, atol=1e-8)


@over(PointwiseLoss)
def test_curvature_is_the_mean_of_the_diagonal_and_never_above_its_bound(loss, y):
    score = RNG.normal(size=(40, loss.n_scores))
    hessian = loss.hessian(y, score)
    diagonal = np.einsum("ikk->ik", hessian).mean(axis=1)
    np.testing.assert_allclose(loss.curvature(y, score), diagonal, rtol=1e-12)
    assert np.linalg.eigvalsh(hessian).max() <= loss.max_curvature * (1 + 1e-12)


@weights
@over(PointwiseLoss)
def test_trees_get_the_gradient_and_the_curvature_by_each_score(loss, y, weight):
    score = RNG.normal(size=(40, loss.n_scores))
    gradient, hessian = loss.gradient_hessian(y, score, weight)
    times = np.ones(40) if weight is None else weight
    factor = loss.n_scores / (loss.n_scores - 1) if isinstance(loss, Multinomial) else 1.0
    np.testing.assert_allclose(gradient, loss.gradient(y, score) * times[:, None], rtol=1e-13)
    diagonal = np.einsum("ikk->ik", loss.hessian(y, score))
    np.testing.assert_allclose(hessian, factor * diagonal * times[:, None], rtol=1e-12)


@weights
@over(PointwiseLoss)
def test_initial_scores_cannot_be_bettered_by_a_constant(loss, y, weight):
    start = np.tile(loss.initial(y, weight), (40, 1))
    gradient, _ = loss.gradient_hessian(y, start, weight)
    np.testing.assert_allclose(gradient.sum(axis=0), 0.0, atol=1e-12)


@over(Loss)
def test_loss_does_not_depend_on_the_scale_of_the_weights(loss, y):
    score = RNG.normal(size=(40, loss.n_scores))
    assert loss.loss(y, score, WEIGHT) == pytest.approx(loss.loss(y, score, 3 * WEIGHT), rel=1e-14)
    np.testing.assert_allclose(loss.initial(y, WEIGHT), loss.initial(y, 3 * WEIGHT), rtol=1e-13)


def test_one_score_of_the_mean_squared_loss_is_twice_the_squared_loss():
    y, score = RNG.normal(size=40), RNG.normal(size=(40, 1))
    np.testing.assert_allclose(MeanSquared().each(y[:, None], score), 2.0 * Squared().each(y, score))


def test_two_classes_of_multinomial_take_the_step_of_logistic():
    # Scores (-s/2, s/2) give the probabilities of the one score s; each of the two trees moves by half of
    # what the one tree of the logistic loss moves, in opposite directions, so the difference agrees.
    y, s = RNG.integers(0, 2, 40).astype(float), RNG.normal(size=(40, 1))
    one_gradient, one_hessian = Logistic().gradient_hessian(y, s, None)
    gradient, hessian = Multinomial(2).gradient_hessian(y, np.hstack([-s / 2, s / 2]), None)
    step = -gradient / hessian
    np.testing.assert_allclose(step[:, 1] - step[:, 0], (-one_gradient / one_hessian)[:, 0], rtol=1e-12)


def test_losses_by_hand():
    # Squared: 1/2 (1 + 9) / 2. Hinge: y = 1 at 0.5 is 1/2 0.25, y = 0 at 3 is 1/2 16. Logistic at 0: log 2.
    assert Squared().loss(np.array([1.0, 3.0]), np.zeros((2, 1)), None) == 2.5
    hinge = SquaredHinge().loss(np.array([1.0, 0.0]), np.array([[0.5], [3.0]]), None)
    assert hinge == pytest.approx((0.125 + 8.0) / 2)
    assert Logistic().loss(np.array([1.0]), np.zeros((1, 1)), None) == pytest.approx(np.log(2))


def test_extreme_scores_stay_finite():
    y, score = np.array([0.0, 1.0]), np.array([[800.0], [-800.0]])
    assert Logistic().loss(y, score, None) == pytest.approx(800.0)
    for part in Logistic().gradient_hessian(y, score, None):
        assert np.isfinite(part).all()
    wide = np.array([[800.0, -800.0, 0.0], [-800.0, 800.0, 0.0]])
    for part in Multinomial(3).gradient_hessian(np.array([1.0, 1.0]), wide, None):
        assert np.isfinite(part).all()


# -- within queries ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["plain", "weighted"])
def test_a_number_for_a_whole_query_changes_nothing_within_queries(weight):
    loss, y, score = WithinQueries(QUERIES), RNG.normal(size=40), RNG.normal(size=(40, 1))
    moved = score + RNG.normal(size=6)[QUERIES.code][:, None]
    assert loss.loss(y, moved, weight) == pytest.approx(loss.loss(y, score, weight), rel=1e-12)
    np.testing.assert_allclose(
        loss.residual(y, moved, weight), loss.residual(y, score, weight), rtol=0, atol=1e-12
    )


def test_within_one_query_is_squared_loss_around_the_mean():
    loss, y = WithinQueries(Queries(np.zeros(40, dtype=int))), RNG.normal(size=40)
    start = np.tile(loss.initial(y, WEIGHT), (40, 1))
    np.testing.assert_allclose(loss.residual(y, start, WEIGHT), y - np.average(y, weights=WEIGHT), atol=1e-14)
    assert loss.loss(y, start, WEIGHT) == pytest.approx(Squared().loss(y, start, WEIGHT), rel=1e-12)


# -- lambdarank --------------------------------------------------------------------------------------------


def ndcg(grades, places, k):
    gains = 2.0 ** np.asarray(grades) - 1
    discount = np.array([1 / np.log2(2 + place) if place < k else 0.0 for place in range(len(grades))])
    best = (np.sort(gains)[::-1] * discount).sum()
    return (gains * discount[places]).sum() / best if best else 0.0


def pairs_one_by_one(y, score, k):
    """Lambdarank of one query by its formula, averaged over every order of tied documents."""
    n = len(y)
    orders = [o for o in itertools.permutations(range(n)) if (np.diff(score[list(o)]) <= 0).all()]
    gradient, hessian, loss = np.zeros(n), np.zeros(n), 0.0
    for order in orders:
        places = np.empty(n, dtype=int)
        places[list(order)] = np.arange(n)
        for i, j in itertools.permutations(range(n), 2):
            if y[i] <= y[j]:
                continue
            swapped = places.copy()
            swapped[[i, j]] = places[[j, i]]
            change = abs(ndcg(y, places, k) - ndcg(y, swapped, k)) / len(orders)
            wrong = 1 / (1 + np.exp(score[i] - score[j]))
            gradient[i] -= change * wrong
            gradient[j] += change * wrong
            hessian[[i, j]] += change * wrong * (1 - wrong)
            loss += change * np.log1p(np.exp(score[j] - score[i]))
    return gradient, hessian, loss


@settings(max_examples=60, deadline=None)
@given(
    grades=st.lists(st.integers(0, 3), min_size=1, max_size=5),
    scores=st.lists(st.integers(-1, 1), min_size=5, max_size=5),
    k=st.integers(1, 6),
)
def test_lambdarank_equals_its_pair_formula_also_with_ties(grades, scores, k):
    y = np.array(grades, dtype=float)
    score = np.array(scores[: len(y)], dtype=float)
    loss = LambdaRank(Queries(np.zeros(len(y))), k=k)
    gradient, hessian = loss.gradient_hessian(y, score[:, None], None)
    expected = pairs_one_by_one(y, score, k)
    np.testing.assert_allclose(gradient[:, 0], expected[0], atol=1e-12)
    np.testing.assert_allclose(hessian[:, 0], expected[1], atol=1e-12)
    assert loss.loss(y, score[:, None], None) == pytest.approx(expected[2], abs=1e-12)


def test_lambdarank_gradient_is_the_derivative_while_the_order_stays():
    qid = RNG.integers(0, 6, 40)
    loss = LambdaRank(Queries(qid), k=3)
    y, score = RNG.integers(0, 4, 40).astype(float), RNG.normal(size=(40, 1))
    for weight in (None, WEIGHT):
        gradient, hessian = loss.gradient_hessian(y, score, weight)
        expected = numeric_gradient(
            lambda s, weight=weight: loss.loss(y, s, weight) * loss.total_weight(y, weight), score, 1e-7
        )
        np.testing.assert_allclose(gradient, expected, atol=1e-6)
        assert (hessian >= 0).all()


def test_lambdarank_query_weight_is_the_mean_of_its_documents():
    qid = np.array([0, 0, 1, 1])
    y, score = np.array([1.0, 0.0, 1.0, 0.0]), np.zeros((4, 1))
    loss = LambdaRank(Queries(qid))
    plain, _ = loss.gradient_hessian(y, score, None)
    weighted, _ = loss.gradient_hessian(y, score, np.array([1.0, 3.0, 1.0, 0.0]))
    np.testing.assert_allclose(weighted[:, 0], plain[:, 0] * [2.0, 2.0, 0.5, 0.5])


@pytest.mark.parametrize("grades", [[2.0], [0.0, 0.0, 0.0], [1.0, 1.0]])
def test_lambdarank_query_with_nothing_to_order_has_no_gradient(grades):
    y = np.array(grades)
    loss = LambdaRank(Queries(np.zeros(len(y))))
    gradient, hessian = loss.gradient_hessian(y, np.zeros((len(y), 1)), None)
    assert not gradient.any() and not hessian.any()
    assert loss.loss(y, np.zeros((len(y), 1)), None) == 0.0


def test_following_lambdarank_gradients_raises_ndcg():
    qid = np.repeat(np.arange(8), 10)
    y, score = RNG.integers(0, 4, 80).astype(float), RNG.normal(size=(80, 1))
    loss = LambdaRank(Queries(qid), k=5)

    def mean_ndcg():
        values = []
        for q in range(8):
            places = np.empty(10, dtype=int)
            places[np.argsort(-score[qid == q, 0])] = np.arange(10)
            values.append(ndcg(y[qid == q], places, 5))
        return np.mean(values)

    before = mean_ndcg()
    for _ in range(200):
        score -= 1.0 * loss.gradient_hessian(y, score, None)[0]
    assert before < 0.8 and mean_ndcg() > 0.95


def test_rows_of_a_query_need_not_be_neighbours():
    qid = np.array([5, 3, 5, 3, 5])
    y, score = np.array([2.0, 0.0, 1.0, 1.0, 0.0]), RNG.normal(size=(5, 1))
    order = np.array([1, 3, 0, 2, 4])
    apart, _ = LambdaRank(Queries(qid)).gradient_hessian(y, score, None)
    together, _ = LambdaRank(Queries(qid[order])).gradient_hessian(y[order], score[order], None)
    np.testing.assert_allclose(apart[order], together, rtol=1e-14)
