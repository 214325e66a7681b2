"""Fingerprints of what every learner does, to show that a change of structure changes no model.

    python -m tests.snapshot write before.json      # at the commit before the change
    python -m tests.snapshot compare before.json    # after it; exit code 1 if anything differs
    python -m tests.snapshot compare before.json --only "CSTC|CSCC"      # a regular expression

Every learner that discovery finds is fitted, in all variants of the contract, to the contract's tables and,
where `MISERLY_DATA` names a folder, to rows of six real data sets. A fingerprint is a hash of the saved plan
(all but `info`), of predictions, of bills and of the acquired features, with and without a budget; and of the
table of two frontiers. Fits use one thread and fixed seeds.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import sys
import warnings
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from miserly import Costs, frontier
from miserly.datasets import load, load_heart
from miserly.learners import all_learners

from .contract.cases import Case, cases_of
from .contract.tasks import Rows, Task

N_LEARN, N_FRESH = 240, 80
REAL = {  # data set: the task it is used for
    "pima": "two classes",
    "ckd": "two classes",
    "splice": "three classes",
    "ann_thyroid": "three classes",
    "wdbc": "numbers",
    "mq2008": "documents",
}


def main(order: str, path: str, *only: str) -> int:
    pattern = re.compile(only[-1] if only else "")
    found = dict(fingerprints(pattern))
    if order == "write":
        with open(path, "w", encoding="utf-8") as file:
            json.dump(found, file, indent=0, sort_keys=True)
        print(f"{len(found)} fingerprints written to {path}")
        return 0
    with open(path, encoding="utf-8") as file:
        known = {key: value for key, value in json.load(file).items() if pattern.search(key)}
    different = sorted(key for key in known.keys() & found.keys() if known[key] != found[key])
    for key in different:
        print(f"differs: {key}")
    for key in sorted(known.keys() ^ found.keys()):
        print(f"{'is gone' if key in known else 'is new'}: {key}")
    print(f"{len(known.keys() & found.keys()) - len(different)} the same, {len(different)} differ")
    return 1 if different or known.keys() - found.keys() else 0


def fingerprints(pattern: re.Pattern[str]) -> Iterator[tuple[str, dict[str, str]]]:
    """The fingerprints of all cases whose names have the pattern in them."""
    real = dict(_real_tasks())
    for learner in all_learners():
        for case in cases_of(learner):
            moved = {name: _moved(case, task) for name, task in real.items() if task.name == case.task.name}
            for name, one in {"contract": case, **moved}.items():
                if pattern.search(key := f"{name}: {case}"):
                    yield key, _of_case(one)
    yield from _frontiers(pattern)


def _moved(case: Case, task: Task) -> Case:
    """The case with the rows of another table of the same kind."""
    if not np.isnan(case.task.learn.X).any():
        task = task.without_missing()
    given = {**case.parameters}
    if "costs" in given:
        given["costs"] = task.costs
    if given.get("budget") is not None:
        given["budget"] = 0.6 * task.costs.total + 6.5 * task.costs.evaluation
    return replace(case, task=task, parameters=given)


def _of_case(case: Case) -> dict[str, str]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            model = case.fit(case.make())
            rows = case.task.fresh
            found = {"plan": model.plan_.digest, "answers": _hash(case.predict(model, rows))}
            for budget in (None, 0.4 * model.cost_):
                done = model.run(rows.X, budget=budget, qid=rows.qid)
                found[f"bills, {'a' if budget else 'no'} budget"] = _hash(
                    done.scores, done.cost, done.acquired, done.exit
                )
        except Exception as error:  # the error is the fingerprint; its words may be improved
            return {"error": type(error).__name__}
    return found


def _hash(*arrays: Any) -> str:
    total = hashlib.sha256()
    for array in arrays:
        kind = np.asarray(array)
        total.update(str(kind.tolist() if kind.dtype.kind in "OUS" else kind.tobytes()).encode())
    return total.hexdigest()[:16]


def _real_tasks() -> Iterator[tuple[str, Task]]:
    if not os.environ.get("MISERLY_DATA"):
        return
    for name, kind in REAL.items():
        given = load(name)
        X, y = np.asarray(given.X, dtype=np.float64), np.asarray(given.y)
        qid = None if given.qid is None else np.asarray(given.qid)
        order = np.arange(len(X)) if qid is not None else np.random.default_rng(3).permutation(len(X))
        if kind == "numbers":  # the first column is the target
            y, X = X[:, 0], X[:, 1:]
            costs = Costs.uniform([f"f{j}" for j in range(X.shape[1])], evaluation=0.05)
        else:
            prices = given.costs or Costs.uniform([f"f{j}" for j in range(X.shape[1])])
            costs = Costs.from_dict({**prices.to_dict(), "evaluation": 0.05})
        parts = order[:N_LEARN], order[N_LEARN : N_LEARN + N_FRESH]
        learn, fresh = (
            Rows(X[part], y[part], None if qid is None else np.unique(qid[part], return_inverse=True)[1])
            for part in parts
        )
        yield name, Task(kind, learn, fresh, costs)


def _frontiers(pattern: re.Pattern[str]) -> Iterator[tuple[str, dict[str, str]]]:
    heart = load_heart()
    tables = {"heart": (heart.X, heart.y, heart.costs)}
    if os.environ.get("MISERLY_DATA"):
        pima = load("pima")
        tables["pima"] = (pima.X, pima.y, pima.costs)
    for name, (X, y, costs) in tables.items():
        for asked in ({}, {"budgets": [5.0, 50.0]}, {"mean_budgets": [5.0, 50.0]}):
            key = f"frontier of {name}, {', '.join(asked) or 'no budgets'}"
            if not pattern.search(key):
                continue
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found = frontier("auto", X, y, costs=costs, max_fits=10, random_state=0, **asked)
                budgets = [0.0, 5.0, 50.0, 200.0]
                table = found.at(*budgets, mean_budgets=budgets)
                recorded = {"table": _hash(np.array([table["value"], table["cost"]], dtype=float))}
                for budget in budgets:
                    recorded[f"best at {budget:g}"] = found.best(budget=budget).plan_.digest
                    recorded[f"best at a mean of {budget:g}"] = found.best(mean_budget=budget).plan_.digest
            yield key, recorded


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
