"""No matrix of columns by columns without a look at how many columns there are."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from miserly.errors import DataError, MiserlyError
from miserly.learners import all_learners
from miserly.losses import Logistic, Squared
from miserly.solvers import cost_lasso as solver
from miserly.solvers.columns import MAX_COLUMNS, DenseColumns, check_table, check_width
from miserly.solvers.gram import gram
from miserly.solvers.node_block import weighted_gram

GIGABYTES = 4
ROOT = Path(__file__).parents[2]
PROBE = """
import resource, sys, warnings
import numpy as np
from miserly.errors import MiserlyError
from miserly.learners import all_learners
from tests.contract.cases import SMALL, give, make, takes

warnings.simplefilter("ignore")
name, given = sys.argv[1], eval(sys.argv[2])
learner = next(one for one in all_learners() if one.__name__ == name)
X = np.random.default_rng(0).normal(size=(50, 100_000))
task = next(task for task in ("two classes", "numbers", "documents") if takes(make(learner, task), task))
y = X[:, 0] + X[:, 1]
y = y if task == "numbers" else (y > 0).astype(int)
small = {**SMALL, "n_rounds": 2, "n_terms": 3, "n_vectors": 3, "tradeoff": 0.05}
model = give(make(learner, task), {**small, **given})
limit = GIGABYTES << 30
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
try:
    model.fit(X, y, **({"qid": np.repeat(np.arange(10), 5)} if task == "documents" else {}))
    assert model.predict(X[:5]).shape == (5,)
    print("fitted")
except MiserlyError as error:
    print(error)
"""


def fit_wide(name, **given):
    """What a fit to 50 rows of 100,000 columns says in 4 GB of memory."""
    program = PROBE.replace("GIGABYTES", str(GIGABYTES))
    done = subprocess.run(
        [sys.executable, "-c", program, name, repr(given)],
        cwd=ROOT, capture_output=True, text=True, timeout=500, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout.strip()


def explained(text):
    return "fewer columns" in text and "GiB" in text


def test_a_square_of_too_many_columns_is_refused_with_what_to_do():
    check_width(MAX_COLUMNS)
    check_table(MAX_COLUMNS, 8 * MAX_COLUMNS)
    for refuse in (lambda: check_width(MAX_COLUMNS + 1), lambda: check_table(100_000, 100_000)):
        with pytest.raises(DataError) as refusal:
            refuse()
        assert explained(str(refusal.value)) and isinstance(refusal.value, MiserlyError)


def test_grams_look_first():
    wide = np.zeros((2, MAX_COLUMNS + 1), dtype=np.float32)
    with pytest.raises(DataError, match="columns by columns"):
        gram(DenseColumns(wide), np.zeros((2, 1)))
    with pytest.raises(DataError, match="columns by columns"):
        weighted_gram(wide.T, np.ones(2))


@pytest.mark.parametrize("loss", [Squared(), Logistic()], ids=["squared", "logistic"])
def test_the_lasso_of_many_columns_is_the_same(loss, monkeypatch):
    rng = np.random.default_rng(0)
    columns = rng.normal(size=(30, 60))
    y = (columns[:, 0] > 0).astype(float)
    penalty = solver.Penalty(np.full(60, 0.05), np.full(60, -1), np.zeros(0))
    narrow = solver.cost_lasso(columns, y, penalty, loss=loss)
    monkeypatch.setattr(solver, "MAX_COLUMNS", 20)
    wide = solver.cost_lasso(columns, y, penalty, loss=loss)
    np.testing.assert_allclose(wide.weights, narrow.weights, atol=1e-6)
    assert narrow.chosen.size


def test_a_tree_of_linear_classifiers_says_so_with_100_000_columns():
    assert explained(fit_wide("CSTCClassifier"))


@pytest.mark.long
@pytest.mark.parametrize("learner", [learner.__name__ for learner in all_learners()])
def test_no_learner_runs_out_of_memory_with_100_000_columns(learner):
    answer = fit_wide(learner)
    assert answer == "fitted" or explained(answer)


@pytest.mark.long
@pytest.mark.parametrize("learner", ["SoftCascadeClassifier", "ASTCRegressor", "CronusClassifier"])
def test_no_learner_runs_out_of_memory_under_a_budget(learner):
    answer = fit_wide(learner, budget=20.0, **({"terms": "linear"} if "Cronus" in learner else {}))
    assert answer == "fitted" or explained(answer)
