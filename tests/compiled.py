"""Compile what the tests of learners need, before the tests: `python -m tests.compiled`.

Workers that meet a function at the same time compile it twice. Here one process compiles it, beside the
linters in `make test`, and workers read it from the cache. What a learner compiles is what it needs to fit
the smallest tables and to run its plan, so learners written later are included.
"""

from __future__ import annotations

import sys

from miserly.utils.compiled import compile_seconds

from .contract.cases import every_case


def compile_all() -> None:
    """Fit and run every learner on every task; whatever goes wrong here is for the tests to report."""
    for case in every_case():
        try:
            for budget in (None, 0.5 * case.fitted.cost_):
                case.run(case.task.fresh, budget)
                case.predict(case.fitted, case.task.fresh, budget=budget)
        except Exception as error:
            print(f"{case}: {type(error).__name__}: {error}", file=sys.stderr)


if __name__ == "__main__":
    compile_all()
    print(f"Compiled functions are in the cache ({compile_seconds():.0f} s of compiling or reading).")
