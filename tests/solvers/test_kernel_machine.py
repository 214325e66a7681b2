"""Kernel machines: one convention, votes as LibSVM counts them, and rows in chunks."""

import numpy as np
import pytest

from miserly.errors import DataError
from miserly.solvers import kernel_machine
from miserly.solvers.kernel_machine import KernelFunction, KernelMachine, chunks


def machine(n_classes=3):
    rng = np.random.default_rng(0)
    n_pairs = n_classes * (n_classes - 1) // 2
    return KernelMachine(
        KernelFunction("rbf", 0.5),
        rng.normal(size=(5, 2)),
        rng.normal(size=(n_pairs, 5)),
        rng.normal(size=n_pairs),
        classes=np.arange(n_classes) * 10,
    )


def test_decisions_by_hand():
    """f = 2 k(x, v) + 0.5, k = exp(-0.5 |x - v|^2): at distance 2, 2 exp(-2) + 0.5."""
    one = KernelMachine(KernelFunction("rbf", 0.5), [[1.0, 0.0]], [[2.0]], [0.5], kind="regressor")
    np.testing.assert_allclose(one.decisions(np.array([[1.0, 2.0]])), [[2.0 * np.exp(-2.0) + 0.5]])


def test_rows_in_chunks_are_rows_at_once(monkeypatch):
    rows = np.random.default_rng(1).normal(size=(23, 2))
    whole = machine().decisions(rows)
    monkeypatch.setattr(kernel_machine, "CHUNK_VALUES", 20)  # four rows at a time
    assert [part.stop - part.start for part in chunks(23, 5)] == [4, 4, 4, 4, 4, 3]
    np.testing.assert_allclose(machine().decisions(rows), whole, rtol=1e-12)


def test_a_positive_decision_is_for_the_first_of_two_classes():
    two = machine(2)
    decisions = np.array([[0.1], [-0.1], [0.0]])
    assert two.labels_of(decisions).tolist() == [0, 10, 10]


def test_votes_are_counted_and_the_first_wins_ties():
    """Pairs 01, 02, 12. Last row: 0 beats 1, 2 beats 0, 1 beats 2: a tie, for class 0."""
    decisions = np.array([[1.0, 1.0, 1.0], [-1.0, -1.0, 1.0], [-1.0, -1.0, -1.0], [1.0, -1.0, 1.0]])
    assert machine(3).labels_of(decisions).tolist() == [0, 10, 20, 0]


def test_one_class_machines_answer_one_and_minus_one():
    one = KernelMachine(KernelFunction(), [[0.0]], [[1.0]], [-0.5], kind="one-class")
    assert one.labels(np.array([[0.0], [3.0]])).tolist() == [1, -1]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"coef": np.ones((3, 4))}, "coefficients"),
        ({"kind": "oracle"}, "oracle"),
        ({"classes": None}, "classes"),
        ({"classes": np.arange(4)}, "6 decisions"),
        ({"kind": "regressor"}, "1 decisions"),
    ],
)
def test_machines_that_make_no_sense_are_refused(change, words):
    sound = {name: getattr(machine(), name) for name in ("vectors", "coef", "intercept", "classes")}
    with pytest.raises(DataError, match=words):
        KernelMachine(KernelFunction(), **{**sound, **change})


def test_unknown_kernels_are_refused():
    with pytest.raises(DataError, match="chi2"):
        KernelFunction("chi2")


def test_rough_decisions_are_the_same_but_for_single_precision():
    rng = np.random.default_rng(0)
    vectors, rows = 3.0 + rng.normal(size=(2, 60, 300)) / np.sqrt(300)
    kernel = KernelFunction("rbf", gamma=0.5)
    machine = KernelMachine(kernel, vectors, rng.normal(size=(3, 60)), rng.normal(size=3), classes=range(3))
    exact, rough = machine.decisions(rows), machine.rough_decisions(rows)
    assert 0.0 < np.abs(rough - exact).max() < 1e-5
    few = KernelMachine(kernel, vectors[:, :9], machine.coef, machine.intercept, classes=range(3))
    np.testing.assert_array_equal(few.rough_decisions(rows[:, :9]), few.decisions(rows[:, :9]))
