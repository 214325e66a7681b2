"""Bounds hold as often as they say, whatever is drawn; all certified candidates keep their guarantee."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import binom

from miserly.errors import DataError
from miserly.selection.guarantee import Requirement, certify, exceed_bound, mean_bound
from miserly.solvers.betting import outbids

from ..turns import in_turn

DRAWS = {  # (rng, shape) -> values, their mean, the most they can be
    "uniform": (lambda rng, shape: rng.uniform(0, 10, shape), 5.0, 10.0),
    "two prices": (lambda rng, shape: rng.choice([2.0, 8.0], shape), 5.0, 8.0),
    "skewed": (lambda rng, shape: 20.0 * rng.beta(0.3, 5.7, shape), 1.0, 20.0),
    "one row in a hundred is expensive": (
        lambda rng, shape: np.where(rng.random(shape) < 0.01, 200.0, 1.0),
        2.99,
        200.0,
    ),
    "most rows are cheap": (lambda rng, shape: 1.0 - (rng.random(shape) < 0.1), 0.9, 1.0),
    "constant": (lambda rng, shape: np.full(shape, 3.0), 3.0, 10.0),
    "zero": (lambda rng, shape: np.zeros(shape), 0.0, 1.0),
    "upper bound 1,000 times too high": (lambda rng, shape: rng.uniform(0, 1, shape), 0.5, 1000.0),
}
REPEATS = 4_000


def most(level, n):
    """How often something of probability `level` happens in n trials, but for one case in a thousand."""
    return binom.ppf(0.999, n, level)


def held_out(cost, value=None, upper=None):
    value = np.ones(len(cost)) if value is None else value
    return SimpleNamespace(cost=cost, value=value, max_cost=cost.max() if upper is None else upper)


# -- bounds ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "level", "n"), in_turn(DRAWS, [0.05, 0.3], [30, 300], one_in=2))
def test_the_true_mean_is_seldom_refuted(name, level, n):
    draw, mean, upper = DRAWS[name]
    drawn = draw(np.random.default_rng(n), (REPEATS, n))
    above = sum(outbids(values, upper, mean, level) for values in drawn)
    below = sum(outbids(values, upper, upper - mean, level) for values in upper - drawn)
    assert above <= most(level, REPEATS)
    assert below <= most(level, REPEATS)


def test_the_check_above_finds_the_usual_interval_out():
    """Mean plus 1.645 standard errors misses the mean far too often where expensive rows are rare."""
    draw, mean, _ = DRAWS["one row in a hundred is expensive"]
    drawn = draw(np.random.default_rng(30), (REPEATS, 30))
    bound = drawn.mean(axis=1) + 1.645 * drawn.std(axis=1, ddof=1) / np.sqrt(30)
    assert (bound < mean).sum() > 10 * most(0.05, REPEATS)


@pytest.mark.parametrize("name", DRAWS)
def test_bounds_hold_as_often_as_stated(name):
    draw, mean, upper = DRAWS[name]
    drawn = draw(np.random.default_rng(5), (120, 60))
    assert sum(mean_bound(values, upper, 0.8) < mean for values in drawn) <= most(0.2, 120)
    assert sum(mean_bound(values, upper, 0.8, lower=True) > mean for values in drawn) <= most(0.2, 120)


def test_what_is_refuted_at_a_level_is_refuted_at_larger_ones():
    values = np.tile([1.0, 3.0], 50)
    found = [outbids(values, 4.0, 2.5, level) for level in (1e-9, 1e-3, 0.05, 0.5)]
    assert found == [False, True, True, True]


def test_bound_is_nearly_as_near_as_the_normal_one_where_that_can_be_trusted():
    drawn = np.random.default_rng(0).uniform(0, 10, (50, 1_000))
    margin = np.mean([mean_bound(values, 10.0) - values.mean() for values in drawn])
    normal = 1.645 * drawn.std() / np.sqrt(1_000)
    assert normal < margin < 1.25 * normal


def test_values_that_do_not_vary_are_bounded_within_a_few_nths():
    """The best possible bound for n zeros is 1 - 0.05 ** (1 / n), about 3 / n. Here up to 40 % more."""
    for n in (30, 1_000):
        best = 1 - 0.05 ** (1 / n)
        assert best <= mean_bound(np.zeros(n), 1.0) <= 1.15 * best
        assert 3.0 + 7.0 * best < mean_bound(np.full(n, 3.0), 10.0) <= 3.0 + 7.0 * 1.4 * best
        assert mean_bound(np.ones(n), 1.0) == 1.0


def test_loose_upper_bound_costs_what_it_must():
    values = np.random.default_rng(1).uniform(0, 1, 1_000)
    tight, loose = mean_bound(values, 1.0), mean_bound(values, 1_000.0)
    assert 0.5 < tight < 0.53
    unseen = 1_000 * (1 - 0.05 ** (1 / 1_000))  # rows that cost 1,000 may be so frequent and not be seen
    assert unseen < loose < values.mean() + 1.15 * unseen


def test_bounds_do_not_care_about_the_unit():
    values = np.random.default_rng(2).exponential(1.0, 200).clip(0, 9)
    assert mean_bound(values * 1e-6, 9e-6) == pytest.approx(1e-6 * mean_bound(values, 9.0))
    for level in (0.001, 0.01, 0.1):
        assert outbids(values * 1e6, 9e6, 1.2e6, level) == outbids(values, 9.0, 1.2, level)


def test_sorted_rows_are_bounded_like_mixed_ones():
    """Bets on rows in rising order would win on cheap rows what they never see lost again."""
    drawn = np.random.default_rng(3).choice([0.0, 1.0], (150, 50))
    broken = sum(mean_bound(np.sort(values), 1.0, 0.8) < 0.5 for values in drawn)
    assert broken <= most(0.2, 150)


def test_rows_of_a_group_count_once():
    """Twenty copies of each of forty values say no more than the forty."""
    values = np.random.default_rng(4).uniform(0, 1, 40)
    copies, groups = np.tile(values, 20), np.tile(np.arange(40), 20)
    assert mean_bound(copies, 1.0, groups=groups) == pytest.approx(mean_bound(values, 1.0))
    assert mean_bound(copies, 1.0) < mean_bound(values, 1.0) - 0.03


def test_shares_above_a_limit():
    """0 of n: the share p with (1 - p) ** n = 0.05."""
    assert exceed_bound(0, 30) == pytest.approx(1 - 0.05 ** (1 / 30))
    assert exceed_bound(7, 7) == 1.0
    for share in (0.01, 0.3):
        counts = np.random.default_rng(7).binomial(80, share, 2_000)
        assert sum(exceed_bound(k, 80, 0.9) < share for k in counts.tolist()) <= most(0.1, 2_000)


# -- certified candidates ----------------------------------------------------------------------------------


def family(rng, means, n, rho):
    """Costs between 0 and 10 with given means; candidates resemble each other the more, the larger rho."""
    common, own = rng.random(n), rng.random((len(means), n))
    drawn = np.where(rng.random((len(means), n)) < rho, common, own)
    return [
        held_out(np.where(row < mean / 10, 10.0, 0.0), upper=10.0)
        for row, mean in zip(drawn, means, strict=True)
    ]


@pytest.mark.parametrize("rho", [0.0, 0.9])
@pytest.mark.parametrize("means", [np.full(30, 4.001), np.linspace(3.0, 5.0, 30)])
def test_seldom_is_any_wrong_candidate_certified(rho, means):
    rng, requirement = np.random.default_rng(8), Requirement("mean cost", 4.0, confidence=0.8)
    wrong = naive = 0
    for _ in range(300):
        candidates = family(rng, means, 150, rho)
        kept = certify(candidates, requirement)
        wrong += any(kept[k] for k in range(30) if means[k] > 4.0)
        naive += any(
            one.cost.mean() <= 4.0 for one, mean in zip(candidates, means, strict=True) if mean > 4.0
        )
    assert wrong <= most(0.2, 300)
    assert naive > 150


def test_candidates_well_inside_the_limit_are_certified_whatever_their_number():
    means = np.r_[np.full(100, 8.0), np.full(100, 3.0)]
    kept = certify(family(np.random.default_rng(9), means, 400, 0.5), Requirement("mean cost", 4.5))
    assert kept == [False] * 100 + [True] * 100


def test_given_order_saves_rows_and_is_kept_to():
    """What a tenth of the rows adds; and behind two candidates that fail nothing is tested."""
    requirement = Requirement("mean cost", 4.0)
    found = [0, 0]
    for seed in range(400):
        candidates = family(np.random.default_rng(seed), [3.0, 3.0], 100, 0.5)
        found[0] += sum(certify(candidates, requirement, order=[0, 1]))
        found[1] += sum(certify(candidates, requirement))
    assert found[0] > 1.05 * found[1] > 0
    candidates = family(np.random.default_rng(0), [1.0, 9.0, 9.0], 100, 0.0)
    assert certify(candidates, requirement, order=[0, 1, 2]) == [True, False, False]
    assert certify(candidates, requirement, order=[1, 0, 2]) == [True, False, False]
    assert certify(candidates, requirement, order=[1, 2, 0]) == [False, False, False]


def test_what_can_never_cost_more_needs_no_rows():
    sure, unsure = held_out(np.ones(2), upper=4.0), held_out(np.ones(2), upper=40.0)
    for kind in ("mean cost", "each row"):
        assert certify([unsure, sure], Requirement(kind, 4.0), order=[0, 1]) == [False, True]


def test_each_row_allows_a_share_or_asks_for_certainty():
    cost = np.r_[np.full(990, 1.0), np.full(10, 9.0)]
    candidate = held_out(cost)
    assert certify([candidate], Requirement("each row", 5.0)) == [False]
    assert certify([candidate], Requirement("each row", 5.0, share=0.02)) == [True]
    assert certify([candidate], Requirement("each row", 5.0, share=0.015)) == [
        exceed_bound(10, 1_000) <= 0.015
    ]
    assert certify([candidate], Requirement("each row", 5.0, share=0.011)) == [False]


def test_each_row_is_wrong_as_seldom_as_stated():
    rng, requirement = np.random.default_rng(10), Requirement("each row", 5.0, confidence=0.8, share=0.05)
    wrong = 0
    for _ in range(400):
        common = rng.random(200)
        costs = [np.where((common + shift) % 1.0 < 0.051, 9.0, 1.0) for shift in np.linspace(0, 0.9, 10)]
        wrong += any(certify([held_out(cost, upper=9.0) for cost in costs], requirement))
    assert wrong <= most(0.2, 400)


def accuracies(rng, shares, n):
    """Right and wrong answers; all candidates agree on easy rows."""
    easy, luck = rng.random(n) < 0.7, rng.random((len(shares), n))
    right = [easy | (row < (share - 0.7) / 0.3) for row, share in zip(luck, shares, strict=True)]
    return [held_out(np.ones(n), value=row.astype(float)) for row in right]


def test_loss_is_against_the_best_of_all_or_against_a_reference():
    candidates = accuracies(np.random.default_rng(11), [0.9, 0.89, 0.75], 3_000)
    requirement = Requirement("loss of metric", 0.05)
    assert certify(candidates, requirement) == [True, True, False]
    assert certify(candidates, requirement, reference=candidates[2].value) == [True, True, True]


def test_loss_is_wrong_as_seldom_as_stated():
    rng, requirement = np.random.default_rng(12), Requirement("loss of metric", 0.05, confidence=0.8)
    shares = [0.9, *np.full(8, 0.849)]
    wrong = sum(any(certify(accuracies(rng, shares, 200), requirement)[1:]) for _ in range(300))
    assert wrong <= most(0.2, 300)


def test_several_guarantees_are_kept_together():
    """Of four candidates one costs little, one loses little, one both, and one neither."""
    rng = np.random.default_rng(15)
    right, wrong = np.ones(400), (rng.random(400) < 0.5) * 1.0
    costs = rng.choice([1.0, 5.0], 400), rng.choice([1.0, 9.0], 400)
    four = [held_out(cost, value, upper=9.0) for cost in costs for value in (right, wrong)]
    both = [Requirement("mean cost", 4.0), Requirement("loss of metric", 0.1)]
    assert certify(four, both[0]) == [True, True, False, False]
    assert certify(four, both[1], reference=right) == [True, False, True, False]
    assert certify(four, both, order=[0, 1, 2, 3], reference=right) == [True, False, False, False]
    with pytest.raises(DataError, match="one confidence"):
        certify(four, [both[0], Requirement("loss of metric", 0.1, confidence=0.9)])


def test_several_guarantees_are_broken_as_seldom_as_one():
    """All cost a little too much and lose nothing: one of two guarantees is broken by each."""
    rng = np.random.default_rng(16)
    both = [
        Requirement("mean cost", 4.99, confidence=0.8),
        Requirement("loss of metric", 0.5, confidence=0.8),
    ]
    wrong = 0
    for _ in range(300):
        candidates = family(rng, np.full(6, 5.0), 150, 0.5)
        wrong += any(certify(candidates, both, order=range(6), reference=np.ones(150)))
    assert wrong <= most(0.2, 300)


def test_rows_without_a_value_do_not_count():
    rng = np.random.default_rng(17)
    there, query = rng.random(600) < 0.5, np.repeat(np.arange(200), 3)
    values = [(rng.random(600) < share) * 1.0 for share in (0.95, 0.9, 0.5)]
    some = [held_out(np.ones(600), np.where(there, value, np.nan)) for value in values]
    less = [held_out(np.ones(there.sum()), value[there]) for value in values]
    requirement = Requirement("loss of metric", 0.12)
    for groups in (None, query):
        given = None if groups is None else groups[there]
        assert certify(some, requirement, groups=groups) == certify(less, requirement, groups=given)
    assert certify(some, requirement) == [True, True, False]
    other = held_out(np.ones(600), np.where(there, np.nan, 1.0))
    with pytest.raises(DataError, match=r"value of candidate 1: .* leave such rows out for all"):
        certify([some[0], other], requirement)


def test_certified_do_not_change_from_call_to_call():
    candidates = family(np.random.default_rng(13), np.linspace(3, 5, 20), 200, 0.5)
    requirement = Requirement("mean cost", 4.2)
    assert certify(candidates, requirement) == certify(candidates, requirement)
    assert certify([], requirement) == []


def test_groups_are_what_is_counted():
    """Five queries of a hundred documents are five observations: too few to show anything."""
    candidate = held_out(np.random.default_rng(14).choice([0.0, 5.0], 500), upper=10.0)
    requirement, query = Requirement("mean cost", 3.0), np.repeat(np.arange(5), 100)
    assert certify([candidate], requirement) == [True]
    assert certify([candidate], requirement, groups=query) == [False]
    share = Requirement("each row", 6.0, share=0.05)
    assert certify([candidate], share) == [True]
    assert certify([candidate], share, groups=query) == [False]


# -- what cannot be used -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: mean_bound([1.0, 12.0], 10.0), "12 in row 1 is not between 0 and the upper bound 10"),
        (lambda: mean_bound([1.0, -1.0], 10.0), "-1 in row 1"),
        (lambda: mean_bound([1.0, np.nan], 10.0), "nan in row 1"),
        (lambda: mean_bound([], 10.0), "one number for each"),
        (lambda: mean_bound([1.0], np.inf), "finite"),
        (lambda: mean_bound([1.0], 2.0, 95), "such as 0.95"),
        (lambda: mean_bound([1.0], 2.0, groups=[1, 2]), "groups of shape"),
        (lambda: exceed_bound(3, 2), "3 of 2 rows"),
        (lambda: Requirement("mean costs", 1.0), "did you mean 'mean cost'"),
        (lambda: Requirement("mean cost", -1.0), "a limit of -1"),
        (lambda: Requirement("each row", 1.0, share=1.0), "a share of 1"),
        (lambda: Requirement("loss of metric", 1.0, span=0.0), "a span of 0"),
        (
            lambda: certify([held_out(np.ones(3)), held_out(np.ones(4))], Requirement("mean cost", 1.0)),
            "same rows",
        ),
        (
            lambda: certify([held_out(np.ones(3))], Requirement("mean cost", 1.0), order=[1]),
            "from 0 to 0 once",
        ),
    ],
)
def test_errors_say_what_to_do(call, words):
    with pytest.raises(DataError, match=words):
        call()


def test_values_wider_than_the_span_are_refused():
    pair = [held_out(np.ones(3), value=np.zeros(3)), held_out(np.ones(3), value=np.array([0.0, 4.0, 0.0]))]
    with pytest.raises(DataError, match="differs by 4 from another candidate in row 1"):
        certify(pair, Requirement("loss of metric", 0.1))
    assert certify(pair, Requirement("loss of metric", 4.5, span=4.0)) == [True, True]
