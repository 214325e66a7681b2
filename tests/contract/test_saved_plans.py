"""Save, load where nothing but NumPy can be imported, predict: identical (point 7 of the contract)."""

import subprocess
import sys

import numpy as np
import pytest

from .cases import Case, every_case

BUDGETS = ("no budget", "half")

# Runs in a process of its own: everything but the standard library, NumPy and miserly is out of reach.
READER = """
import sys

class Nothing:
    def find_spec(self, name, path=None, target=None):
        top = name.partition(".")[0]
        if top not in sys.stdlib_module_names and top not in ("numpy", "miserly"):
            raise ImportError(f"{name} is not here")

sys.meta_path.insert(0, Nothing())
foreign = {"sklearn", "scipy", "numba", "pandas", "polars", "narwhals", "joblib"}
assert not foreign & set(sys.modules)

import pathlib
import numpy as np
import miserly

def read(folder):
    given = np.load(folder / "given.npz")
    qid = given["qid"] if "qid" in given else None
    plan = miserly.load(folder / "m.miser")
    out = {}
    for name, budget in zip(given["names"].tolist(), given["budgets"].tolist()):
        run = plan.run(given["X"], budget=budget, qid=qid)
        out[name + "/answers"] = plan.predict(given["X"], budget=budget, qid=qid)
        for part in ("scores", "cost", "acquired", "exit", "evaluated"):
            out[name + "/" + part] = getattr(run, part)
        if plan.link in ("logistic", "softmax"):
            out[name + "/shares"] = plan.predict_proba(given["X"], budget=budget)
    np.savez(folder / "found.npz", **out)

for folder in sorted(pathlib.Path(".").iterdir()):
    try:
        read(folder)
    except Exception as error:
        (folder / "error").write_text(repr(error))
assert not foreign & set(sys.modules)
"""

CASES = every_case()


@pytest.fixture(scope="module")
def read_elsewhere(tmp_path_factory):
    """What saved plans say about the fresh rows in a bare process: one for all of them."""
    top = tmp_path_factory.mktemp("saved")
    for place, case in enumerate(CASES):
        _save(case, top / f"{place:04d}")
    done = subprocess.run([sys.executable, "-c", READER], cwd=top, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr

    def found(case: Case) -> dict:
        folder = top / f"{CASES.index(case):04d}"
        assert not (folder / "error").exists(), (folder / "error").read_text()
        with np.load(folder / "found.npz") as read:
            return dict(read)

    return found


def _save(case: Case, folder) -> None:
    folder.mkdir()
    rows = case.task.fresh
    queries = {} if rows.qid is None else {"qid": rows.qid}
    limits = [np.inf if b is None else b for b in (case.budgets[name] for name in BUDGETS)]
    np.savez(folder / "given.npz", X=rows.X, names=BUDGETS, budgets=limits, **queries)
    case.fitted.plan_.save(folder / "m.miser")


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_saved_plan_answers_the_same_with_numpy_alone(case: Case, read_elsewhere):
    found = read_elsewhere(case)
    rows, model = case.task.fresh, case.fitted
    for name in BUDGETS:
        limit = case.budgets[name]
        run = case.run(rows, limit)
        for part in ("scores", "cost", "acquired", "exit", "evaluated"):
            np.testing.assert_array_equal(found[f"{name}/{part}"], getattr(run, part), err_msg=part)
        np.testing.assert_array_equal(found[f"{name}/answers"], case.predict(model, rows, budget=limit))
        if hasattr(model, "predict_proba"):
            shares = model.predict_proba(rows.X, budget=limit)
            np.testing.assert_array_equal(found[f"{name}/shares"], shares)
