"""What importing the package brings along: nothing that running a saved plan does not need."""

import subprocess
import sys

import pytest

import miserly

HEAVY = {"sklearn", "scipy", "numba", "pandas", "polars", "narwhals", "joblib", "rich", "typer", "matplotlib"}

SHOW = "import sys; print(*sorted({name.partition('.')[0] for name in sys.modules}))"


def brought_along(code):
    done = subprocess.run([sys.executable, "-c", f"{code}\n{SHOW}"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return HEAVY & set(done.stdout.split())


@pytest.mark.parametrize(
    "code",
    [
        "import miserly",
        "from miserly import Costs, Ledger, MiserlyError, Plan, load",
        "import miserly.plan, miserly.costs, miserly.errors",
        "from miserly import Costs, Plan; Plan(costs=Costs([1]), terms=[], nodes=[], base=[0]).start()",
        "import miserly.runtime",
    ],
    ids=["package", "names", "modules", "stepping", "runtime"],
)
def test_costs_and_plans_need_numpy_alone(code):
    assert brought_along(code) == set()


def test_a_plan_runs_on_demand_where_only_numpy_is_installed():
    code = f"""
import sys
sys.modules.update(dict.fromkeys({sorted(HEAVY)!r}))  # importing them now fails
import asyncio
from miserly import Costs, Plan
from miserly.plan import Node, Raw
from miserly.runtime import OnDemand
plan = Plan(costs=Costs([1.0]), terms=[Raw(0)], nodes=[Node([0], [0], [2.0], [0.0])], base=[1.0])
served = OnDemand(plan, {{0: lambda raw: raw}})
assert served.predict(3.0).answer == 7.0 and served.predict(3.0, deadline=5.0).cost == 1.0
assert asyncio.run(served.apredict(3.0)).answer == 7.0
sys.modules = {{name: module for name, module in sys.modules.items() if module is not None}}
"""
    assert brought_along(code) == set()


def test_learners_need_no_extras():
    code = """
import sys
for extra in ("pandas", "polars", "pyarrow", "matplotlib", "lightgbm", "catboost"):
    sys.modules[extra] = None  # importing it now fails
from miserly import GreedyMiserRegressor
model = GreedyMiserRegressor(n_rounds=2, min_samples_leaf=1).fit([[0.0], [1.0]], [0.0, 1.0])
assert model.predict([[1.0]])[0] > model.predict([[0.0]])[0]
"""
    assert "sklearn" in brought_along(code)


def test_every_public_name_is_there():
    assert set(miserly.__all__) <= set(dir(miserly))
    for name in miserly.__all__:
        assert getattr(miserly, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'Cots'"):
        _ = miserly.Cots
