"""Kernel machines made smaller: accuracy against the number of vectors (thesis, Fig. 4.3), time and memory.

    MISERLY_DATA=... python benchmarks/cvm.py [--quick] [--draws 1] [--sets magic letter] [--jobs 2]

For each set an SVM with RBF kernel is trained (C and gamma by a fifth of the rows), and machines of 0.5 to
10 % of its support vectors are made by

- LARS-SVM: some of its own support vectors, chosen by least angle regression, with coefficients fitted again;
- Reduced-SVM (Keerthi et al. 2006): `ReducedSVC` on the training rows, with the same kernel; its penalty, of
  three, by a fifth of the rows at 2 %;
- random start (Burges 1996): support vectors drawn at random, then moved as in CVM;
- CVM: `compress`, which begins with a choice and moves it.

Accuracy is that of test rows, which chose nothing. Times are of one thread.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed, parallel_config
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from common import write
from cvm_page import METHODS, page, picture
from cvm_sets import GRID_ROWS, SETS, Rows, full_machine, rows_of
from miserly import ReducedSVC, compress
from miserly.data.rows import validation_mask
from miserly.datasets import make_ring

SHARES = (0.005, 0.01, 0.02, 0.05, 0.1)
FIRST_SEED = 0  # 100 and up were looked at while this was being made
# Draws of sets with few test rows, or figures close together:
SMALL = {"page_blocks": 5, "magic": 3}
# A random start costs as much as CVM: of a machine with 1,500 features and 20 classes only where it is small.
RANDOM_UP_TO = {"newsgroups20_bow1500": 0.01}
SLOW = ("newsgroups20_bow1500", "letter")
STARTS = ("lars", "omp", "random")
START_SETS, START_SHARES, START_DRAWS = ("page_blocks", "magic"), (0.01, 0.02), 3
REPEATS = 7
TIMED_ROWS = 4_000

Answers = Callable[[np.ndarray], np.ndarray]


# -- the methods -------------------------------------------------------------------------------------------


def lars(full: Any, rows: Rows, size: int, seed: int) -> Answers:
    return compress(full, n_vectors=size, start="lars", move=False, X=rows.X, random_state=seed).predict


def random_start(full: Any, rows: Rows, size: int, seed: int) -> Answers:
    return compress(full, n_vectors=size, start="random", X=rows.X, random_state=seed).predict


def cvm(full: Any, rows: Rows, size: int, seed: int) -> Answers:
    return compress(full, n_vectors=size, X=rows.X, random_state=seed).predict


def reduced(full: Any, rows: Rows, size: int, seed: int, penalty: float) -> Answers:
    model = ReducedSVC(n_vectors=size, gamma=full._gamma, penalty=penalty, random_state=seed)
    return model.fit(rows.X, rows.y).machine_.labels


def chosen_penalty(full: Any, rows: Rows, seed: int, most: int) -> float:
    """That of the full machine, or ten times less or more, by a fifth of (some of) the rows."""
    some = np.random.default_rng(seed).permutation(len(rows.y))[:most]
    X, y = rows.X[some], rows.y[some]
    held_out = validation_mask(len(y), 0.2, seed, y)
    size = max(2, round(0.02 * len(full.support_)))
    tried = {}
    for factor in (0.1, 1.0, 10.0):
        penalty = factor / (full.C * len(rows.y))
        model = ReducedSVC(n_vectors=size, gamma=full._gamma, penalty=penalty, random_state=seed)
        tried[penalty] = model.fit(X[~held_out], y[~held_out]).score(X[held_out], y[held_out])
    return max(tried, key=lambda penalty: tried[penalty])


# -- accuracy ----------------------------------------------------------------------------------------------


def race(name: str, seed: int, quick: bool) -> dict[str, Any]:
    """Every method at every size on one draw of one set."""
    most = 1_500 if quick else None
    rows = rows_of(name, seed, most)
    full = full_machine(rows, seed, most or GRID_ROWS)
    penalty = chosen_penalty(full, rows, seed, most or GRID_ROWS)
    makers = {
        "LARS-SVM": lars,
        "Reduced-SVM": lambda *given: reduced(*given, penalty=penalty),
        "random start": random_start,
        "CVM": cvm,
    }
    found: dict[str, Any] = {
        "rows": len(rows.y),
        "features": rows.X.shape[1],
        "classes": len(full.classes_),
        "vectors": len(full.support_),
        "C": full.C,
        "gamma": full._gamma,
        "full": rows.accuracy(full.predict(rows.X_test)),
        "sizes": [],
        "accuracy": {method: [] for method in METHODS},
        "seconds": {method: [] for method in METHODS},
    }
    for share in SHARES[1:] if quick else SHARES:
        size = max(2, round(share * found["vectors"]))
        found["sizes"].append([share, size])
        for method, make in makers.items():
            if method == "random start" and share > RANDOM_UP_TO.get(name, 1.0):
                found["seconds"][method].append(None)
                found["accuracy"][method].append(None)
                continue
            begin = time.perf_counter()
            answers = make(full, rows, size, seed)
            found["seconds"][method].append(time.perf_counter() - begin)
            found["accuracy"][method].append(rows.accuracy(answers(rows.X_test)))
            print(f"{name} {size}: {method} {found['accuracy'][method][-1]:.4f} (full {found['full']:.4f}, "
                  f"{found['seconds'][method][-1]:.1f} s)", flush=True)  # fmt: skip
    return found | {"prediction": prediction_times(full, rows, seed)}


def starts(name: str, seed: int, quick: bool) -> dict[str, Any]:
    """What becomes of each way to choose vectors, as chosen and once moved, at the sizes where it matters."""
    most = 1_500 if quick else None
    rows = rows_of(name, seed, most)
    full = full_machine(rows, seed, most or GRID_ROWS)
    found: dict[str, Any] = {"full": rows.accuracy(full.predict(rows.X_test)), "sizes": [], "accuracy": {}}
    found["sizes"] = [[share, max(2, round(share * len(full.support_)))] for share in START_SHARES]
    for start in STARTS:
        for move in (False, True):
            made = [
                compress(full, n_vectors=size, start=start, move=move, X=rows.X, random_state=seed)
                for _, size in found["sizes"]
            ]
            accuracy = [rows.accuracy(small.predict(rows.X_test)) for small in made]
            found["accuracy"][f"{start}, {'moved' if move else 'chosen'}"] = accuracy
            print(f"{name}: {start}, {'moved' if move else 'chosen'} {accuracy}", flush=True)
    return found


# -- time and memory ---------------------------------------------------------------------------------------


def prediction_times(full: Any, rows: Rows, seed: int) -> dict[str, float]:
    """Seconds for some test rows, full machine and 1 % of it in turns; the medians of seven."""
    size = max(2, round(0.01 * len(full.support_)))
    small = compress(full, n_vectors=size, X=rows.X[:500], max_iter=5, random_state=seed)
    forms = {
        "full": full.predict,
        "small": small.predict,
        "sklearn": small.to_sklearn().predict,
        "machine": small.machine_.labels,
    }
    X = np.resize(rows.X_test, (TIMED_ROWS, rows.X.shape[1]))
    taken: dict[str, list[float]] = {name: [] for name in forms}
    for _ in range(REPEATS):
        for name, predict in forms.items():
            begin = time.perf_counter()
            predict(X)
            taken[name].append(time.perf_counter() - begin)
    return {"vectors": size, **{name: float(np.median(some)) for name, some in taken.items()}}


def compress_large(n_rows: int, size: int) -> dict[str, float]:
    """Seconds and peak memory of compressing an SVM of as many noisy rows, in this very process."""
    import resource

    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, 20))
    y = (np.sin(X[:, 0]) + X[:, 1] * X[:, 2] + rng.normal(size=len(X)) > 0).astype(int)
    full = SVC(C=0.1).fit(X, y)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    begin = time.perf_counter()
    small = compress(full, n_vectors=size, random_state=0)
    seconds = time.perf_counter() - begin
    fresh = rng.normal(size=(4_000, 20))
    return {
        "vectors": len(full.support_),
        "size": size,
        "seconds": seconds,
        "before_gb": before / 2**20,
        "peak_gb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20,
        "agreement": float(np.mean(small.predict(fresh) == full.predict(fresh))),
    }


def elsewhere(n_rows: int, size: int) -> dict[str, float]:
    """`compress_large` in a process of its own, whose peak is its own."""
    command = [sys.executable, str(Path(__file__)), "--large", str(n_rows), str(size)]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def ring(seeds: range) -> list[dict[str, float]]:
    """The ring of Fig. 4.2: eight vectors, and on how many points they agree with all."""
    found = []
    for seed in seeds:
        data = make_ring(random_state=seed)
        full = SVC(C=0.07, gamma=0.5).fit(data.X, data.y)
        small = compress(full, n_vectors=8, random_state=seed)
        agree = float(np.mean(small.predict(data.X) == full.predict(data.X)))
        found.append({"vectors": len(full.support_), "agreement": agree})
    return found


def drawn(
    look: Callable[..., dict[str, Any]], n_draws: dict[str, int], args: argparse.Namespace
) -> dict[str, list[dict[str, Any]]]:
    """What some draws of each set give, `--jobs` at a time and those that take longest first."""
    asked = [(name, FIRST_SEED + k) for name, n in n_draws.items() for k in range(n)]
    asked.sort(key=lambda one: one[0] not in SLOW)
    with parallel_config("loky", inner_max_num_threads=1):
        found = Parallel(args.jobs)(delayed(look)(name, seed, args.quick) for name, seed in asked)
    by_draw = dict(zip(asked, found, strict=True))
    return {name: [by_draw[name, FIRST_SEED + k] for k in range(n)] for name, n in n_draws.items()}


# -- all of it ---------------------------------------------------------------------------------------------


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--draws", type=int, default=1)
    parser.add_argument("--sets", nargs="+", choices=SETS)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--large", nargs=2, type=int, help=argparse.SUPPRESS)
    args = parser.parse_args()
    with threadpool_limits(1):
        if args.large:
            print(json.dumps(compress_large(*args.large)))
            return
        sets = args.sets or (["page_blocks", "magic"] if args.quick else SETS)
        rings = ring(range(3 if args.quick else 10))
        large = [elsewhere(2_200, 50), *([] if args.quick else [elsewhere(28_000, 200)])]
        print(rings, large, flush=True)
        few = {name: args.draws if args.quick else max(args.draws, SMALL.get(name, 1)) for name in sets}
        results = drawn(race, few, args)
        few = {name: 1 if args.quick else START_DRAWS for name in START_SETS if name in sets}
        begun = drawn(starts, few, args)
    figures = {"sets": results, "large": large, "ring": rings, "starts": begun}
    command = f"python benchmarks/cvm.py{' --quick' if args.quick else ''}"
    write("cvm", page(results, large, rings, begun, command), figures, args.quick)
    picture(results, args.quick)


if __name__ == "__main__":
    main()
