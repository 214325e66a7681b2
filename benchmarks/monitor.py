"""How soon a `Monitor` notices a change, and how often it raises a false alarm.

    python benchmarks/monitor.py [--quick] [--runs 200]

Simulated receipts of a classifier whose rows pay 1, 5, 20 or 80 (mean 7.8, standard deviation 14.4), or
5, 10, 20 or 40 (mean 10.4, standard deviation 7.4); 30 % are answered with the second class, and 1 % have a
failure. Each run has a reference of its own, of as many receipts as stated, and a monitor with a false alarm
rate of 0.01 for all four quantities. "More rows go on" raises the mean cost, because more rows pay for
everything. "Higher tariff" raises what sources charge over their listed price: a request pays half of it or
one and a half, at random, times 1.1 or 1.3; before the change it pays the listed price.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.runtime.streams import World, classifier, first_alarms, references

from common import table, write
from miserly.runtime.watched import WATCHED

AFTER = 10_000  # receipts after a change
SKEWED = World()
EVEN = World(costs=(5.0, 10.0, 20.0, 40.0), chances=(0.45, 0.35, 0.17, 0.03))

PAGE = """# Monitoring: false alarms and delays

{about}

`{command}`

## False alarms

Nothing changes for 10,000 receipts. A run counts if any of the four quantities raises an alarm.

{false_alarms}

## Delays

Receipts from the change to the alarm: the median and, in brackets, the 90th percentile over {runs} runs.
"-" is a change that most runs had not noticed after {after:,} receipts; a share is given if some had not.
The change is there from the first receipt, or comes after 5,000 receipts.

{delays}

A reference of n rows does not tell its own mean exactly. What is within the limits of the reference is never
noticed: with 2,000 rows, the share of a class of 30 % has limits of about 27 % and 33 %.
"""


def more_go_on(world: World, factor: float) -> World:
    """Rows that paid least pay most instead, until the mean is `factor` times as high."""
    costs, chances = np.array(world.costs), np.array(world.chances)
    moved = (factor - 1.0) * (costs @ chances) / (costs[-1] - costs[0])
    chances[[0, -1]] += [-moved, moved]
    return world.changed(chances=tuple(chances.tolist()))


def changes() -> list[tuple[str, World, World, str]]:
    found = []
    for name, world in (("sd 14.4", SKEWED), ("sd 7.4", EVEN)):
        for percent in (10, 30):
            factor = 1 + percent / 100
            found.append((f"mean cost +{percent} %: more rows go on ({name})", world,
                          more_go_on(world, factor), "price"))  # fmt: skip
    for percent in (10, 30):
        after = SKEWED.changed(tariff=1 + percent / 100)
        found.append((f"mean cost +{percent} %: higher tariff", SKEWED, after, "tariff"))
    found.append(("share of a class 30 % to 35 %", SKEWED, SKEWED.changed(share=0.35), "answers"))
    found.append(("failures 1 % to 3 %", SKEWED, SKEWED.changed(failing=0.03), "failures"))
    return found


def delays(found: np.ndarray, change: int) -> str:
    late = found[found > change] - change
    if len(late) <= len(found) / 2:
        return "-"
    every = np.concatenate([late, np.full(len(found) - len(late), np.inf)])
    median, slow = np.median(every), np.quantile(every, 0.9, method="higher")
    share = "" if len(late) == len(found) else f", {len(late) / len(found):.0%} noticed"
    return f"{median:.0f} ({'-' if np.isinf(slow) else f'{slow:.0f}'}{share})"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--runs", type=int, default=200)
    args = parser.parse_args()
    runs = 20 if args.quick else args.runs
    sizes = (2_000,) if args.quick else (200, 2_000, 20_000)
    plan, rng = classifier(), np.random.default_rng(17)
    alarms = []
    for size in sizes:
        for rate in (0.01, 0.2):
            n = 20 if args.quick else 500
            given = references(plan, SKEWED, rng, n, size)
            found = first_alarms(plan, given, SKEWED, SKEWED, rng, AFTER, false_alarm=rate)
            alarms.append((size, rate, n, int((found > 0).any(axis=1).sum())))
            print(*alarms[-1], flush=True)
    rows = []
    for words, before, after, quantity in changes():
        for size in sizes:
            row = [words, size]
            for change in (0, 5_000):
                given = references(plan, before, rng, runs, size)
                found = first_alarms(plan, given, before, after, rng, change + AFTER, change, until=quantity)
                row.append(delays(found[:, WATCHED.index(quantity)], change))
            rows.append(row)
            print(*row, flush=True)
    head = ("reference", "stated rate", "runs", "runs with an alarm")
    text = PAGE.format(
        about=__doc__.split("\n\n", 2)[2].strip(),
        command=f"python benchmarks/monitor.py {'--quick' if args.quick else f'--runs {runs}'}",
        false_alarms=table(head, [(f"{n:,}", f"{rate:g}", k, m) for n, rate, k, m in alarms]),
        runs=runs,
        after=AFTER,
        delays=table(("change", "reference", "from the start", "after 5,000"),
                     [(one[0], f"{one[1]:,}", *one[2:]) for one in rows]),
    )  # fmt: skip
    write("monitor", text, {"false_alarms": alarms, "delays": rows}, args.quick)


if __name__ == "__main__":
    main()
