"""Cuts that separate classes, and greedy trees after them."""

import numpy as np
import pytest

from miserly.costs import Costs, Ledger
from miserly.grow import Bins
from miserly.grow.class_cuts import IMPURITIES, ClassRows, class_cuts, impurity_of
from miserly.grow.rollouts import Greed, rollouts


def some_rows(seed: int, n: int = 200, d: int = 5, n_classes: int = 3) -> ClassRows:
    rng = np.random.default_rng(seed)
    X = rng.integers(6, size=(n, d)).astype(float)
    X[rng.random(X.shape) < 0.1] = np.nan
    y = ((np.nan_to_num(X[:, 0]) + X[:, :2].shape[1] * rng.integers(3, size=n)) % n_classes).astype(int)
    return ClassRows.of(Bins.fit(X).transform(X), y, rng.random(n) + 0.5, n_classes)


def slow_impurity(data: ClassRows, rows: np.ndarray, kind: int) -> float:
    weights = np.array([data.weight[rows][data.y[rows] == k].sum() for k in range(data.n_classes)])
    p = weights[weights > 0] / weights.sum()
    return float(weights.sum() * (1 - (p**2).sum() if kind == 0 else -(p * np.log(p)).sum()))


def slow_cuts(data: ClassRows, rows: np.ndarray, f: int, kind: int, min_rows: int) -> dict[int, float]:
    """The impurity after each cut that leaves enough rows on both sides."""
    found = {}
    for cut in range(int(data.n_bins[f])):
        low = data.codes[f][rows] <= cut
        if min(low.sum(), (~low).sum()) >= min_rows:
            found[cut] = sum(slow_impurity(data, part, kind) for part in (rows[low], rows[~low]))
    return found


@pytest.mark.parametrize("kind", range(len(IMPURITIES)))
@pytest.mark.parametrize("seed", range(3))
def test_cuts_are_the_best_of_all(seed, kind):
    data = some_rows(seed)
    rows = np.flatnonzero(np.random.default_rng(seed).random(len(data.y)) < 0.6)
    assert impurity_of(data, rows, kind) == pytest.approx(slow_impurity(data, rows, kind))
    impurity, cut = class_cuts(data, rows, np.arange(5), kind, 10)
    for f in range(5):
        every = slow_cuts(data, rows, f, kind, 10)
        assert impurity[f] == pytest.approx(min(every.values()))
        assert every[cut[f]] == pytest.approx(impurity[f])


def test_no_cut_leaves_too_few_rows():
    data = some_rows(0)
    impurity, cut = class_cuts(data, np.arange(20), np.arange(5), 0, 11)
    assert np.isinf(impurity).all() and (cut == -1).all()


def slow_rollout(data, rows, split, features, ledger, greed) -> float:
    """As `rollouts` with one start, by recursion and with a ledger for each node."""
    feature, cut = split
    after = ledger.copy()
    after.buy(feature)
    after.evaluate(1)
    total = 0.0
    low = data.codes[feature][rows] <= cut
    for part in (rows[low], rows[~low]):
        here, best = slow_impurity(data, part, greed.kind), {}
        for f in features if len(part) >= 2 * greed.min_rows else ():
            cuts = slow_cuts(data, part, f, greed.kind, greed.min_rows)
            if cuts and after.fits(after.price(f) + after.costs.evaluation):
                least = min(cuts, key=lambda one: (cuts[one], one))
                if here - cuts[least] > 1e-9 * here:
                    best[f] = (here - cuts[least], least)
        paid = {f: one for f, one in best.items() if after.is_paid(f)}
        new = {f: one for f, one in best.items() if f not in paid}
        chosen = max(new, key=lambda f: new[f][0] / greed.power[f], default=None)
        free = max(paid, key=lambda f: paid[f][0], default=None)
        if free is not None and (chosen is None or paid[free][0] >= new[chosen][0]):
            chosen = free
        if chosen is None:
            total += here
        else:
            total += slow_rollout(data, part, (chosen, best[chosen][1]), features, after, greed)
    return total


@pytest.mark.parametrize("kind", range(len(IMPURITIES)))
@pytest.mark.parametrize("budget", [3.0, 6.5, 12.0])
def test_rollouts_equal_a_slow_reference(kind, budget):
    data = some_rows(7)
    costs = Costs(
        np.array([1.0, 2.0, 0.0, 3.0, 1.5]),
        groups={"lab": {"features": [1, 3], "setup": 1.0}},
        evaluation=0.25,
    )
    ledger, rows, features = Ledger(costs, budget), np.arange(len(data.y)), np.arange(5)
    greed = Greed(kind, np.maximum(ledger.prices(), 1e-3) ** 0.5, 10)
    fitting = np.flatnonzero(ledger.fits(ledger.prices() + costs.evaluation))
    _, cut = class_cuts(data, rows, fitting, kind, 10)
    found = rollouts(data, rows, (fitting, cut), features, ledger, greed)
    slow = [
        slow_rollout(data, rows, (int(f), int(c)), features, ledger, greed)
        for f, c in zip(fitting, cut, strict=True)
    ]
    assert found == pytest.approx(slow)


def test_rollouts_do_not_depend_on_threads_nor_change_the_rows():
    data = some_rows(3, n=3000, d=40)
    rows, features = np.arange(3000), np.arange(40)
    ledger, greed = Ledger(Costs(np.ones(40)), 4), Greed(0, np.ones(40), 20)
    _, cut = class_cuts(data, rows, features, 0, 20)
    one, two = (rollouts(data, rows, (features, cut), features, ledger, greed, n) for n in (1, 2))
    assert one.tolist() == two.tolist()
    assert rows.tolist() == list(range(3000)) and ledger.spent == 0.0


def test_a_larger_budget_never_ends_with_a_larger_impurity_where_all_is_bought():
    data = some_rows(5)
    rows, features = np.arange(len(data.y)), np.arange(5)
    _, cut = class_cuts(data, rows, features, 0, 10)
    ends = [
        rollouts(
            data, rows, (features, cut), features, Ledger(Costs(np.ones(5)), b), Greed(0, np.ones(5), 10)
        )
        for b in (1, 5)
    ]
    assert (ends[1] <= ends[0] + 1e-9).all()
