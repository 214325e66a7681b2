"""Requests to sources that fail, hang and lie: deadlines, budgets, receipts, threads and memory.

    python benchmarks/runtime_stress.py [--requests 100000] [--clients 8]

A plan over eight features, each with a source of its own. Of the calls 2 % raise an error, 1 % hang for two
seconds, and 1 % lie: NaN, text or a list. Every request has a deadline and a budget drawn at random. The same
is done with sources that block, in threads, and with async ones.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import resource
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from miserly.costs import Costs
from miserly.plan import Node, Plan, Raw, Threshold
from miserly.runtime import OnDemand, Receipt, Source

FEATURES = 8
HANG = 2.0
LIES = (float("nan"), "high", [1.0, 2.0])


@dataclass
class Report:
    """What came out of many requests."""

    latest: float = 0.0  # the most that a request was past its deadline, in seconds
    wrong_sums: int = 0
    budgets_passed: int = 0
    stops: Counter[str] = field(default_factory=Counter)
    outcomes: Counter[str] = field(default_factory=Counter)
    threads: int = 0
    memory: list[float] = field(default_factory=list)  # peak MB at each tenth
    lock: Any = field(default_factory=threading.Lock)

    def add(self, receipt: Receipt, seconds: float, deadline: float, budget: float) -> None:
        with self.lock:
            self.latest = max(self.latest, seconds - deadline)
            self.wrong_sums += (
                sum(one.cost for one in receipt.trail) + receipt.evaluation_cost != receipt.cost
            )
            self.budgets_passed += receipt.cost > budget
            self.stops[receipt.stopped_by] += 1
            self.outcomes.update(one.outcome for one in receipt.trail)
            self.threads = max(self.threads, threading.active_count())

    def lines(self) -> list[str]:
        return [
            f"latest answer after its deadline: {1000 * self.latest:.1f} ms",
            f"receipts that do not add up: {self.wrong_sums}; budgets passed: {self.budgets_passed}",
            f"stopped by {dict(self.stops)}",
            f"outcomes of calls {dict(self.outcomes)}",
            f"most threads: {self.threads}",
            f"peak memory at each tenth, MB: {[round(one) for one in self.memory]}",
        ]


def make_plan() -> Plan:
    """A chain of eight nodes that rows may leave, with two groups and prices that are no round numbers."""
    costs = Costs(
        {f"x{i}": 0.1 * (i + 1) for i in range(FEATURES)},
        groups={"a": {"features": ["x1", "x2"], "setup": 0.3}, "b": {"features": ["x4", "x5"], "setup": 0.7}},
    )
    nodes = [
        Node([i], [0], [1.0], [0.0], gate=Threshold(-3.0), up=i + 1 if i + 1 < FEATURES else -1)
        for i in range(FEATURES)
    ]
    return Plan(costs=costs, terms=[Raw(i) for i in range(FEATURES)], nodes=nodes, base=[0.0])


class Fate:
    """What a call does: almost always its duty."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._lock = threading.Lock()

    def draw(self) -> tuple[float, float]:
        with self._lock:
            return self._random.random(), self._random.gauss(0.0, 1.0)


def blocking(fate: Fate) -> Any:
    def source(raw: Any) -> Any:
        chance, value = fate.draw()
        if chance < 0.02:
            raise ConnectionError("no line")
        if chance < 0.03:
            time.sleep(HANG)
        if chance < 0.04:
            return LIES[int(1e6 * chance) % 3]
        return value

    return source


def awaitable(fate: Fate) -> Any:
    async def source(raw: Any) -> Any:
        chance, value = fate.draw()
        if chance < 0.02:
            raise ConnectionError("no line")
        if chance < 0.03:
            await asyncio.sleep(HANG)
        if chance < 0.04:
            return LIES[int(1e6 * chance) % 3]
        return value

    return source


def serve(make: Any, seed: int, threads: int) -> OnDemand:
    """A served plan whose sources have different rules."""
    rules: list[dict[str, Any]] = [
        {},
        {"retries": 2, "backoff": 0.001},
        {"charge_on_failure": True},
        {"fallback": "stop"},
        {"timeout": 0.02},
        {"retries": 1, "backoff": 0.001, "charge_on_failure": True},
        {"timeout": 0.05, "fallback": "stop"},
        {},
    ]
    fate = Fate(seed)
    sources = {f"x{i}": Source(make(fate), **rules[i]) for i in range(FEATURES)}
    return OnDemand(make_plan(), sources, threads=threads)


def limits(rng: random.Random) -> tuple[float, float]:
    """A deadline and a budget."""
    return rng.choice([0.03, 0.06, 0.12]), rng.choice([0.5, 1.0, 2.0, 5.0])


def peak_memory() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024.0


def run_threads(n: int, clients: int, seed: int = 0, threads: int = 256) -> Report:
    """Clients in threads, sources that block."""
    served, report = serve(blocking, seed, threads), Report()

    def client(number: int) -> None:
        rng = random.Random(seed + number)
        for i in range(n // clients):
            deadline, budget = limits(rng)
            begun = time.perf_counter()
            receipt = served.predict(None, budget=budget, deadline=deadline)
            report.add(receipt, time.perf_counter() - begun, deadline, budget)
            if number == 0 and i % max(1, n // clients // 10) == 0:
                report.memory.append(peak_memory())

    workers = [threading.Thread(target=client, args=(number,)) for number in range(clients)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    served.close()
    return report


def run_async(n: int, clients: int, seed: int = 0) -> Report:
    """Clients in one event loop, async sources."""
    served, report = serve(awaitable, seed, 8), Report()

    async def client(number: int) -> None:
        rng = random.Random(seed + number)
        for i in range(n // clients):
            deadline, budget = limits(rng)
            begun = time.perf_counter()
            receipt = await served.apredict(None, budget=budget, deadline=deadline)
            report.add(receipt, time.perf_counter() - begun, deadline, budget)
            if number == 0 and i % max(1, n // clients // 10) == 0:
                report.memory.append(peak_memory())

    async def everyone() -> None:
        await asyncio.gather(*(client(number) for number in range(clients)))

    asyncio.run(everyone())
    return report


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--requests", type=int, default=100_000)
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    for name, run in (("async", run_async), ("threads", run_threads)):
        begun = time.perf_counter()
        report = run(asked.requests, asked.clients, asked.seed)
        print(f"{asked.requests} requests, {name}, {time.perf_counter() - begun:.0f} seconds", flush=True)
        print("\n".join(f"  {line}" for line in report.lines()), flush=True)


if __name__ == "__main__":
    main()
