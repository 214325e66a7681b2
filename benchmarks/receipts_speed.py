"""What keeping receipts costs: the time of one append, and predictions a second with and without receipts.

    python benchmarks/receipts_speed.py [--quick]

The service and the load are those of `serve_speed.py`: one process, one row in each request, a plan that buys
20 features for it. Services with and without receipts run at the same time and get the load in turns, so that
other work on the machine changes all of them alike.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from common import table, write
from miserly.plan import Plan
from miserly.runtime import OnDemand
from miserly.serve.receipts import ReceiptKeeper, summarise
from serve_speed import load, make_plan, miserly

PATH = "/v1/models/boosted/predict"
GOAL = 30.0  # microseconds for one append
SERVICES = {
    "no receipts": (),
    "SQLite": ("--receipts",),
    "SQLite, values": ("--receipts", "--keep-values"),
    "SQLite, values, flushed each second": ("--receipts", "--keep-values", "--journal-sync", "interval"),
}

clock = time.perf_counter


def append_times(plan: Plan, rows: list[dict[str, float]], turns: int) -> dict[str, float]:
    """Microseconds of `ReceiptKeeper.append`, by the number of purchases; without the thread that moves."""
    found = {}
    for n_features in (6, 20):
        served = OnDemand(plan)
        with TemporaryDirectory() as folder:
            keeper = ReceiptKeeper(Path(folder) / "receipts.db", keep_values=True)
            took = []
            for _ in range(turns):
                for row in rows:
                    receipt = served.predict(row, budget=float(n_features))
                    _ = receipt.answer, receipt.probabilities  # the response has them, too
                    begun = clock()
                    keeper.append(receipt, model="boosted")
                    took.append(clock() - begun)
            keeper.database.check()
            keeper.close()
        found[f"{len(receipt.trail)} purchases, median"] = 1e6 * float(np.median(took))
        found[f"{len(receipt.trail)} purchases, 99th percentile"] = 1e6 * float(np.quantile(took, 0.99))
    return found


def compare(folder: Path, bodies: list[str], seconds: int, rounds: int) -> dict[str, Any]:
    """Rates of all services in turns, then the percentiles at half of the rate without receipts."""
    found: dict[str, Any] = {name: {"rates": [], "p99": []} for name in SERVICES}
    with contextlib.ExitStack() as stack:
        urls, databases = {}, {}
        for i, (name, options) in enumerate(SERVICES.items()):
            databases[name] = folder / f"{i}.db"
            words = [("--receipts", databases[name]) if word == "--receipts" else (word,) for word in options]
            server = miserly(str(folder / "boosted.miser"), 1, *(word for part in words for word in part))
            urls[name] = stack.enter_context(server)
            load(urls[name] + PATH, bodies, 1)
        for _ in range(rounds):
            for name, url in urls.items():
                found[name]["rates"].append(load(url + PATH, bodies, seconds)["rate"])
                time.sleep(1.0)  # what waits is moved, and does not slow the next one
        half = float(np.median(found["no receipts"]["rates"])) / 2
        for _ in range(rounds):
            for name, url in urls.items():
                found[name]["p99"].append(load(url + PATH, bodies, seconds, rate=half)["p99"])
    for name, options in SERVICES.items():
        if options:
            found[name]["kept"] = summarise(databases[name])["receipts"]
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    if shutil.which("wrk") is None:
        raise SystemExit("this benchmark needs wrk: apt-get install wrk")
    plan, rows = make_plan()
    bodies = [json.dumps({"features": row}) for row in rows]
    before = os.getloadavg()[0]
    found: dict[str, Any] = {"append": append_times(plan, rows, 10 if options.quick else 60), "load": before}
    with TemporaryDirectory() as folder:
        plan.save(Path(folder) / "boosted.miser")
        seconds, rounds = (2, 2) if options.quick else (5, 6)
        found["services"] = compare(Path(folder), bodies, seconds, rounds)
    write("receipts_speed", page(found), found, options.quick)


def page(found: dict[str, Any]) -> str:
    plain = found["services"]["no receipts"]
    lines = []
    for name, one in found["services"].items():
        ratios = np.array(one["rates"]) / np.array(plain["rates"])
        lines.append(
            [name, f"{np.median(one['rates']):,.0f}", f"{np.median(ratios):.2f}",
             f"{ratios.min():.2f} to {ratios.max():.2f}", f"{np.median(one['p99']):.2f}",
             f"{one['kept']:,}" if "kept" in one else ""]
        )  # fmt: skip
    head = ["receipts", "requests a second", "of that without", "in rounds", "p99 at half load (ms)", "kept"]
    append = [[name, f"{value:.1f}"] for name, value in found["append"].items()]
    return f"""# What keeping receipts costs

`python benchmarks/receipts_speed.py`; the load of the machine before was {found["load"]:.1f}.

One process of `miserly serve`, one row in each request, 20 features bought for it; medians of rounds in
turns. "At half load" is half of the rate without receipts, for all.

{table(head, lines)}

Microseconds of one `ReceiptKeeper.append`, which is what an answer waits for; the goal is a median of
{GOAL:g}:

{table(["append", "microseconds"], append)}
"""


if __name__ == "__main__":
    main()
