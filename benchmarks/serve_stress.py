"""Clients of `miserly serve` whose sources fail, hang and lie: statuses, deadlines, receipts and memory.

    python benchmarks/serve_stress.py [--seconds 60] [--quick]

A plan over eight features is served by one process, which gets all features from its own sources. Of the
calls 2 % raise an error, 1 % hang for two seconds, and 1 % lie: NaN, text or a list. 64 clients on the
same machine each post a request, wait for the answer, pause for about a tenth of a second, and go on.
Every request has a deadline and a budget drawn at random. This is done with async sources, then with
sources that block in threads.

Time past a deadline is measured twice. For the client it is from the first byte sent to the last byte
received. For the server it is from when it had read the request to when the answer was ready, as the
receipt says. Server and clients share the cores: a turn of the clients' event loop that comes late makes
answers late for the client alone.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import os
import random
import re
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from common import table, write
from runtime_stress import FEATURES, Fate, awaitable, blocking, limits, make_plan
from serve_speed import serving

CLIENTS = 64
PAUSE = 0.1  # mean seconds between two requests of a client
PATH = "/v1/models/stress/predict"
DOCUMENTED = frozenset({200, 429, 503})  # of requests that are well-formed: OpenAPI names these

clock = time.perf_counter


def async_sources(model: str) -> dict[str, Any]:
    """For ``--sources serve_stress:async_sources``."""
    fate = Fate(os.getpid())
    return {f"x{i}": awaitable(fate) for i in range(FEATURES)}


def blocking_sources(model: str) -> dict[str, Any]:
    """For ``--sources serve_stress:blocking_sources``."""
    fate = Fate(os.getpid())
    return {f"x{i}": blocking(fate) for i in range(FEATURES)}


@dataclass
class Load:
    """What came out of all requests."""

    statuses: Counter[int] = field(default_factory=Counter)
    stops: Counter[str] = field(default_factory=Counter)
    outcomes: Counter[str] = field(default_factory=Counter)
    past: list[float] = field(default_factory=list)  # seconds past the deadline of each request
    past_there: list[float] = field(default_factory=list)  # the same by the clock of the server
    lag: float = 0.0  # the most seconds that a turn of the clients' event loop came late
    wrong_sums: int = 0
    budgets_passed: int = 0
    memory: list[float] = field(default_factory=list)  # MB of the server, by time

    def add(self, status: int, body: bytes, seconds: float, deadline: float, budget: float) -> None:
        self.statuses[status] += 1
        self.past.append(seconds - deadline)
        if status != 200:
            return
        receipt = json.loads(body)["receipt"]
        self.past_there.append(receipt["seconds"] - deadline)
        self.wrong_sums += (
            sum(one["cost"] for one in receipt["trail"]) + receipt["evaluation_cost"] != receipt["cost"]
        )
        self.budgets_passed += receipt["cost"] > budget
        self.stops[receipt["stopped_by"]] += 1
        self.outcomes.update(one["outcome"] for one in receipt["trail"])

    def figures(self, seconds: float) -> dict[str, Any]:
        n, past, there = sum(self.statuses.values()), np.array(self.past), np.array(self.past_there)
        return {
            "requests": n,
            "requests a second": n / seconds,
            "statuses": {str(status): count for status, count in sorted(self.statuses.items())},
            "undocumented statuses": sum(self.statuses[one] for one in self.statuses.keys() - DOCUMENTED),
            "client: latest past its deadline (ms)": 1000.0 * float(past.max()),
            "client: more than 50 ms past it": int((past > 0.05).sum()),
            "server: latest past its deadline (ms)": 1000.0 * float(there.max()),
            "server: more than 50 ms past it": int((there > 0.05).sum()),
            "latest turn of the clients' event loop (ms)": 1000.0 * self.lag,
            "receipts that do not add up": self.wrong_sums,
            "budgets passed": self.budgets_passed,
            "stopped by": dict(self.stops),
            "outcomes of calls": dict(self.outcomes),
            "memory of the server by sixths (MB)": [round(one) for one in self.memory],
        }


async def client(url: str, number: int, end: float, found: Load) -> None:
    """Post requests over one connection until the end."""
    host, port = re.match(r"http://([\d.]+):(\d+)", url).groups()  # type: ignore[union-attr]
    rng = random.Random(number)
    reader, writer = await asyncio.open_connection(host, int(port))
    head = f"POST {PATH} HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\n"
    while clock() < end:
        await asyncio.sleep(rng.expovariate(1.0 / PAUSE))
        deadline, budget = limits(rng)
        body = json.dumps({"features": {}, "deadline": deadline, "budget": budget, "receipt": True})
        begun = clock()
        writer.write(f"{head}Content-Length: {len(body)}\r\n\r\n{body}".encode())
        answer = await reader.readuntil(b"\r\n\r\n")
        length = re.search(rb"content-length: (\d+)", answer, re.IGNORECASE)
        content = await reader.readexactly(int(length[1]) if length else 0)
        found.add(int(answer[9:12]), content, clock() - begun, deadline, budget)
    writer.close()


async def memory(pid: int, end: float, found: Load) -> None:
    """Read the memory of the server six times."""
    step = (end - clock()) / 6
    for _ in range(6):
        await asyncio.sleep(step)
        status = Path(f"/proc/{pid}/status").read_text()
        found.memory.append(float(re.search(r"VmRSS:\s+(\d+)", status)[1]) / 1024)  # type: ignore[index]


async def watch_turns(end: float, found: Load) -> None:
    """Find out how late a turn of this event loop comes."""
    while (begun := clock()) < end:
        await asyncio.sleep(0.01)
        found.lag = max(found.lag, clock() - begun - 0.01)


def server_of(url: str) -> int:
    """The process that listens at an address: the child that was started last by this one."""
    children = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
    return int(children[-1])


async def post_all(url: str, seconds: float) -> dict[str, Any]:
    found = Load()
    warm = Load()
    await asyncio.gather(*(client(url, 1000 + i, clock() + 1.0, warm) for i in range(8)))
    gc.collect()
    gc.freeze()  # a pause of the clients would count as one of the server
    begun = clock()
    clients = [client(url, i, begun + seconds, found) for i in range(CLIENTS)]
    watches = [memory(server_of(url), begun + seconds, found), watch_turns(begun + seconds, found)]
    await asyncio.gather(*clients, *watches)
    return found.figures(clock() - begun)


def stress(sources: str, seconds: float) -> dict[str, Any]:
    """One server with some sources, and its clients."""
    with TemporaryDirectory() as folder:
        make_plan().save(Path(folder) / "stress.miser")
        options = ("--port", 0, "--reload-every", 0, "--sources", f"serve_stress:{sources}")
        with serving("-m", "miserly", "serve", folder, *options) as url:
            return asyncio.run(post_all(url, seconds))


def page(found: dict[str, dict[str, Any]], seconds: float) -> str:
    keys = list(next(iter(found.values())))
    rows = [[key, *(_shown(one[key]) for one in found.values())] for key in keys]
    paragraphs = (__doc__ or "").strip().split("\n\n")[2:]
    opening = "\n\n".join(" ".join(one.split()) for one in paragraphs)
    return f"""# Stress of the service

`python benchmarks/serve_stress.py`, {seconds:g} seconds for each kind of source, on {os.cpu_count()}
cores; load of the machine {os.getloadavg()[0]:.1f} at the end.

{opening}

{table(["", *found], rows)}

Goals: no undocumented status, no answer more than 50 ms past its deadline, receipts that add up, flat memory.
"""


def _shown(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {count:,}" for name, count in value.items())
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return f"{value:,.0f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    seconds = 5.0 if options.quick else options.seconds
    os.chdir(Path(__file__).parent)  # the server imports the sources from here
    found = {"async sources": stress("async_sources", seconds)}
    found["blocking sources"] = stress("blocking_sources", seconds)
    write("serve_stress", page(found, seconds), found, options.quick)


if __name__ == "__main__":
    main()
