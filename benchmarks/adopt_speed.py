"""How fast adopted models of LightGBM and scikit-learn answer, against these libraries in the same process.

    python benchmarks/adopt_speed.py [--quick]

Models of 300 trees: 16 leaves and 31 leaves (the default) over 28 columns of float64 numbers with missing
values, and 31 leaves with six columns of categories. One row is answered by `Booster.predict`, by the
fast path of LightGBM's C API for single rows (called through ctypes with everything prepared), and by
`plan.walker()`. Batches are answered by `Booster.predict` and by `plan.run(..., account=False)`, with one
thread each. Models of scikit-learn answer batches by `predict_proba` or `predict`, and so do the adopted
models, with one thread each. All take turns, and the figures are medians over the turns. They are times of
the processor, which depend less than others on what else a shared machine does.
"""

from __future__ import annotations

import argparse
import ctypes
import time
from collections.abc import Callable

import lightgbm as lgb
import numpy as np
from sklearn import ensemble
from threadpoolctl import threadpool_limits

import miserly
from common import table, write

TURNS = 7
ROWS_ALONE = 1000  # how many single rows make one timing
N_TREES, N_COLUMNS, N_CATEGORICAL = 300, 28, 6


def make_rows(n: int, categorical: bool, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, N_COLUMNS))
    if categorical:
        X[:, :N_CATEGORICAL] = rng.integers(0, 40, (n, N_CATEGORICAL))
    y = X[:, 10] + np.sin(3 * X[:, 11]) + X[:, 12] * X[:, 13] + np.sin(X[:, 0] * 7 + X[:, 1])
    y += 0.2 * X[:, 14:].sum(axis=1)
    X[rng.random(X.shape) < 0.05] = np.nan
    return X, y + rng.standard_normal(n)


def make_model(n_leaves: int, categorical: bool) -> lgb.Booster:
    X, y = make_rows(20_000, categorical, seed=0)
    columns = list(range(N_CATEGORICAL)) if categorical else []
    parameters = {"objective": "regression", "num_leaves": n_leaves, "num_threads": 2, "verbose": -1}
    return lgb.train(parameters, lgb.Dataset(X, y, categorical_feature=columns), N_TREES)


def single_row_api(booster: lgb.Booster, rows: list[np.ndarray]) -> tuple[Callable[[], None], list[float]]:
    """LightGBM's fast path for single rows of float64 numbers, with one thread: calls, and their answers."""
    library = lgb.basic._LIB
    config, length, result = ctypes.c_void_p(), ctypes.c_int64(), ctypes.c_double()
    code = library.LGBM_BoosterPredictForMatSingleRowFastInit(
        booster._handle, 0, 0, -1, 1, ctypes.c_int32(N_COLUMNS), b"num_threads=1", ctypes.byref(config)
    )
    if code != 0:
        raise RuntimeError("LightGBM refuses to prepare single rows")
    predict = library.LGBM_BoosterPredictForMatSingleRowFast
    to_length, to_result = ctypes.byref(length), ctypes.byref(result)
    addresses = [ctypes.c_void_p(row.ctypes.data) for row in rows]

    def work() -> None:
        for address in addresses:
            predict(config, address, to_length, to_result)

    answers = []
    for address in addresses:
        predict(config, address, to_length, to_result)
        answers.append(result.value)
    return work, answers


def race(runners: dict[str, Callable[[], object]]) -> dict[str, float]:
    """Median seconds of each, taking turns after one turn to warm up."""
    times: dict[str, list[float]] = {name: [] for name in runners}
    for _ in range(TURNS + 1):
        for name, work in runners.items():
            start = time.process_time()
            work()
            times[name].append(time.process_time() - start)
    return {name: float(np.median(seconds[1:])) for name, seconds in times.items()}


def each(answer: Callable[[np.ndarray], object], rows: list[np.ndarray]) -> Callable[[], None]:
    def work() -> None:
        for row in rows:
            answer(row)

    return work


def measure(booster: lgb.Booster, X: np.ndarray) -> dict[str, dict[str, float]]:
    """Seconds for one row, and for all rows with one thread; answers must be equal."""
    plan = miserly.adopt(booster).plan_
    rows = [np.ascontiguousarray(row) for row in X[:ROWS_ALONE]]
    walk, (calls, called) = plan.walker(), single_row_api(booster, rows)
    expected = booster.predict(X)
    assert (plan.run(X, account=False).scores == expected).all()
    answers = expected[:ROWS_ALONE].tolist()
    assert [float(walk(row)[0]) for row in rows] == called == answers
    alone = race(
        {
            "C API, single row": calls,
            "Booster.predict": each(lambda row: booster.predict(row[None], num_threads=1), rows[:200]),
            "plan.walker()": each(walk, rows),
        }
    )
    alone = {name: t / (200 if name == "Booster.predict" else len(rows)) for name, t in alone.items()}
    found = {"1 row": alone}
    found[f"{len(X):,} rows"] = race(
        {
            "Booster.predict": lambda: booster.predict(X, num_threads=1),
            "plan.run": lambda: plan.run(X, account=False, n_threads=1),
        }
    )
    return found


def scikit_models() -> dict[str, object]:
    """Models of scikit-learn over numbers. Leaves of the first three forests hold five rows or more."""
    X, y = make_rows(10_000, categorical=False, seed=0)
    X = np.nan_to_num(X)
    two, three = y > 0, np.digitize(y, [-1.0, 1.0])
    given = {"random_state": 0, "n_jobs": 1}
    return {
        "HistGradientBoostingRegressor": ensemble.HistGradientBoostingRegressor(random_state=0).fit(X, y),
        "GradientBoostingRegressor": ensemble.GradientBoostingRegressor(random_state=0).fit(X, y),
        "RandomForestClassifier, 2 classes": ensemble.RandomForestClassifier(
            50, min_samples_leaf=5, **given
        ).fit(X, two),
        "RandomForestClassifier, 3 classes": ensemble.RandomForestClassifier(
            50, min_samples_leaf=5, **given
        ).fit(X, three),
        "RandomForestRegressor": ensemble.RandomForestRegressor(
            30, min_samples_leaf=5, max_features=0.3, **given
        ).fit(X, y),
        "RandomForestRegressor, full trees": ensemble.RandomForestRegressor(
            30, max_features=0.3, **given
        ).fit(X, y),
        "ExtraTreesClassifier, full trees": ensemble.ExtraTreesClassifier(30, **given).fit(X, three),
    }


def measure_scikit(model: object, X: np.ndarray) -> dict[str, dict[str, float]]:
    """Seconds for all rows, with one thread each."""
    adopted = miserly.adopt(model, n_jobs=1)
    how = "predict_proba" if hasattr(model, "predict_proba") else "predict"
    np.testing.assert_allclose(getattr(adopted, how)(X), getattr(model, how)(X), rtol=1e-9, atol=1e-12)
    runners = {"scikit-learn": getattr(model, how), "adopted": getattr(adopted, how)}
    with threadpool_limits(1):
        return {
            f"{len(X):,} rows": race({name: lambda f=f: f(X) for name, f in runners.items()})  # type: ignore[misc]
        }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true")
    quick = parser.parse_args().quick
    cases = {
        "16 leaves": (16, False),
        "31 leaves": (31, False),
        "31 leaves, categories": (31, True),
    }
    figures, lines = {}, []
    for name, (n_leaves, categorical) in cases.items():
        X, _ = make_rows(20_000 if quick else 100_000, categorical, seed=1)
        figures[name] = measure(make_model(n_leaves, categorical), X)
    X = np.nan_to_num(make_rows(5_000 if quick else 20_000, categorical=False, seed=1)[0])
    figures |= {name: measure_scikit(model, X) for name, model in scikit_models().items()}
    for name in figures:
        for what, times in figures[name].items():
            base = next(iter(times.values()))
            for who, t in times.items():
                shown = f"{t * 1e6:.1f} us" if t < 1e-3 else f"{t * 1e3:.0f} ms"
                lines.append((name, what, who, shown, f"{t / base:.2f}"))
    page = [
        "# Speed of adopted models",
        f"LightGBM models of {N_TREES} trees over {N_COLUMNS} float64 columns with 5 % missing values, as "
        "boosters and as plans made by `miserly.adopt`; then models of scikit-learn. Scores of the first are "
        f"equal to the bit. All sides take turns in one process, with one thread each; medians over {TURNS} "
        "turns of the processor time. Others used the machine at the same time: times depend on that, "
        "ratios much less. The last column is the time over that of the first line of its group. The C API "
        "is called through ctypes, with the address of each row prepared.",
        "`python benchmarks/adopt_speed.py" + (" --quick`" if quick else "`"),
        table(("model", "what", "who", "time", "ratio"), lines),
    ]
    write("adopt_speed", "\n\n".join(page) + "\n", figures, quick)


if __name__ == "__main__":
    main()
