"""Metrics that are no means, as one number per row."""

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.metrics import f1_score, roc_auc_score

from miserly.metrics.influence import area_rows, centred, f1_counts, ratio_rows
from miserly.selection.intervals import IntervalShape, mean_and_error


def draw(seed, n=60):
    """Rows with tied scores, classes, predictions and weights."""
    rng = np.random.default_rng(seed)
    positive = np.arange(n) % 3 == 0
    score = np.round(positive + rng.normal(size=n), 1)
    truth = rng.integers(0, 4, n)
    guess = np.where(rng.random(n) < 0.6, truth, rng.integers(0, 4, n))
    return positive, score, truth, guess, rng.gamma(1.0, size=n)


@pytest.mark.parametrize("seed", range(5))
def test_means_are_those_of_scikit_learn(seed):
    positive, score, truth, guess, w = draw(seed)
    assert area_rows(positive, score).mean() == pytest.approx(roc_auc_score(positive, score), abs=1e-12)
    weighted = centred(area_rows(positive, score, w), w)
    assert weighted.mean() == pytest.approx(roc_auc_score(positive, score, sample_weight=w), abs=1e-12)
    for n_classes, average in ((4, "macro"), (2, "binary")):
        t, g = (truth, guess) if n_classes == 4 else (truth // 2, guess // 2)
        counts = f1_counts(t, g, n_classes)
        assert ratio_rows(counts).mean() == pytest.approx(f1_score(t, g, average=average), abs=1e-12)
        weighted = centred(ratio_rows(counts, w), w)
        expected = f1_score(t, g, average=average, sample_weight=w)
        assert weighted.mean() == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_the_variance_of_an_area_is_that_of_delong(seed):
    positive, score, *_ = draw(seed)
    wins = np.sign(score[positive][:, None] - score[~positive]) / 2 + 0.5
    first, second = wins.mean(axis=1), wins.mean(axis=0)
    expected = first.var(ddof=1) / len(first) + second.var(ddof=1) / len(second)
    assert mean_and_error(area_rows(positive, score))[1] ** 2 == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("kind", ["area", "f1"])
def test_numbers_say_how_the_metric_changes_with_a_row(kind):
    """A small increase of the weight of a row moves the metric by (number - metric) / n."""
    positive, score, truth, guess, _ = draw(7)
    n, step = len(score), 1e-6

    def metric(weight):
        if kind == "area":
            return roc_auc_score(positive, score, sample_weight=weight)
        return f1_score(truth, guess, average="macro", sample_weight=weight)

    rows = ratio_rows(f1_counts(truth, guess, 4))
    if kind == "area":  # without the factors that make the variance exact for few rows
        rows = area_rows(np.repeat(positive, 500), np.repeat(score, 500))[::500]
    for row in range(0, n, 7):
        heavier = 1.0 + step * (np.arange(n) == row)
        slope = (metric(heavier) - metric(np.ones(n))) / step
        assert slope * n == pytest.approx(rows[row] - rows.mean(), abs=2e-3)


def test_nothing_to_compare_has_no_value():
    assert np.isnan(area_rows(np.array([True, True]), np.array([1.0, 2.0]))).all()
    assert np.isnan(ratio_rows(f1_counts(np.zeros(3, int), np.zeros(3, int), 2))).all()
    assert np.isnan(centred(np.array([np.nan, np.nan]), np.ones(2))).all()


def test_intervals_contain_the_truth_as_often_as_stated():
    """Area 0.8 with 20 positives of 200 rows, and F1: 95 % of intervals should contain the truth.

    Intervals that are symmetric and normal contain the area in 92 % of cases.
    """
    rng = np.random.default_rng(0)
    covered = {"area": 0, "f1": 0}
    n_times, n, share = 400, 200, 0.1
    hit, alarm = share * norm.sf(0.8 - 1.2), (1 - share) * norm.sf(0.8)
    truth = {"area": norm.cdf(1.2 / np.sqrt(2)), "f1": 2 * hit / (hit + alarm + share)}
    for _ in range(n_times):
        y = rng.random(n) < share
        score = 1.2 * y + rng.normal(size=n)
        rows = {
            "area": area_rows(y, score),
            "f1": ratio_rows(f1_counts(y.astype(int), (score > 0.8).astype(int), 2)),
        }
        shape = IntervalShape(True, float(y.sum() - 1))
        for kind, values in rows.items():
            low, high = shape.ends(*mean_and_error(values))
            covered[kind] += low <= truth[kind] <= high
    for kind, times in covered.items():
        assert 0.925 <= times / n_times <= 0.985, (kind, times / n_times)


def test_weighted_means_have_the_error_of_a_ratio():
    """The spread of weighted means over many samples is what `centred` says of one."""
    rng = np.random.default_rng(1)
    means, errors = [], []
    for _ in range(400):
        w = rng.gamma(0.5, size=150)
        values = rng.normal(5.0, 1.0, size=150)
        mean, error = mean_and_error(centred(values, w))
        assert mean == pytest.approx(np.average(values, weights=w))
        means.append(mean)
        errors.append(error)
    assert np.mean(errors) == pytest.approx(np.std(means), rel=0.1)
