"""How many predictions a second `miserly serve` answers, and how long one takes at half of that load.

    python benchmarks/serve_speed.py [--quick]

A boosted classifier of 300 trees over 20 features is served by one process, then by two; `wrk` on the same
machine (without it an asyncio client) posts one row in each request. At half load every connection waits at
random between two requests, so that about half of the highest number of requests a second arrives. The
ceiling is a server of the same kind that answers every request with the same bytes. `OnDemand.predict` and
the bare walker say what the model itself takes.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import random
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile
from typing import Any

import numpy as np

from common import table, write
from miserly import GreedyMiserClassifier
from miserly.plan import Plan
from miserly.runtime import OnDemand

N_FEATURES, N_TREES = 20, 300
CONNECTIONS = 32
GOALS = {"rate": 2000.0, "p99": 10.0}  # requests a second on two cores; milliseconds at half load
SAME = b'{"answer":"ill"}'  # what the ceiling answers

clock = time.perf_counter

SCRIPT = """
local bodies = {%(bodies)s}
local headers = {["Content-Type"] = "application/json"}
local at = 0
function request()
  at = at %% #bodies + 1
  return wrk.format("POST", nil, headers, bodies[at])
end
%(delay)s
function done(summary, latency, requests)
  local e = summary.errors
  io.write(string.format(
    "RESULT %%d %%d %%.1f %%.1f %%.1f %%.1f %%d\\n", summary.requests, summary.duration,
    latency:percentile(50), latency:percentile(90), latency:percentile(99), latency.max,
    e.connect + e.read + e.write + e.status + e.timeout))
end
"""
DELAY = """
local mean = %.3f
function delay() return math.floor(-mean * math.log(1 - math.random())) end
"""


def make_plan(seed: int = 0) -> tuple[Plan, list[dict[str, float]]]:
    """The plan, and rows to predict."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((4000, N_FEATURES))
    y = np.where(X @ rng.uniform(0.5, 1.5, N_FEATURES) + rng.standard_normal(4000) > 0, "ill", "well")
    names = [f"test_{f}" for f in range(N_FEATURES)]
    model = GreedyMiserClassifier(
        costs=dict.fromkeys(names, 1.0), n_rounds=N_TREES, max_depth=4, step=0.1, n_jobs=1,
        early_stopping=False,
    )  # fmt: skip
    import pandas as pd

    plan = model.fit(pd.DataFrame(X, columns=names), y).plan_
    rows = [
        dict(zip(names, row.round(4).tolist(), strict=True)) for row in rng.standard_normal((50, N_FEATURES))
    ]
    return plan, rows


# -- servers -------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def serving(*arguments: Any) -> Iterator[str]:
    """A server in a process of its own; gives its address."""
    with TemporaryFile("a+") as output:  # no pipe: the lines of the audit log would fill it
        process = subprocess.Popen(
            [sys.executable, *map(str, arguments)], stdout=output, stderr=subprocess.STDOUT, text=True
        )
        try:
            yield _address(process, output)
        finally:
            process.terminate()
            process.wait(30)


def _address(process: subprocess.Popen[str], output: Any) -> str:
    end = clock() + 60
    while process.poll() is None and clock() < end:
        output.seek(0)
        if found := re.search(r"at (http://[\d.:]+)/", output.read(100_000)):
            output.seek(0, os.SEEK_END)
            return found[1]
        time.sleep(0.05)
    raise SystemExit("the server did not start")


def miserly(folder: str, workers: int, *options: Any) -> Any:
    return serving(
        "-m", "miserly", "serve", folder, "--port", 0, "--workers", workers, "--reload-every", 0, *options
    )


async def same_answer(scope: Any, receive: Any, send: Any) -> None:
    """An application that reads the request and answers the same."""
    if scope["type"] != "http":
        return
    while (await receive()).get("more_body"):
        pass
    head = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(SAME))]
    await send({"type": "http.response.start", "status": 200, "headers": head})
    await send({"type": "http.response.body", "body": SAME})


def serve_ceiling(workers: int) -> None:
    """Serve `same_answer` with the same server as miserly; called in a process of its own."""
    import socket

    import uvicorn
    from uvicorn.supervisors import Multiprocess

    listener = socket.create_server(("127.0.0.1", 0), backlog=2048)
    listener.set_inheritable(True)
    config = uvicorn.Config(
        same_answer, workers=workers, lifespan="off", log_config=None, access_log=False, server_header=False
    )

    class Group(Multiprocess):
        def init_processes(self) -> None:
            super().init_processes()
            assert all(one.wait_until_ready(60.0) for one in self.processes)
            print(f"at http://127.0.0.1:{listener.getsockname()[1]}/", flush=True)

    Group(config, [listener]).run()


# -- load ----------------------------------------------------------------------------------------------------


def load(url: str, bodies: list[str], seconds: int, rate: float | None = None) -> dict[str, float]:
    """Requests a second, milliseconds in percentiles, errors: by wrk, or without it by an asyncio client."""
    if shutil.which("wrk") is None:
        return asyncio.run(post_all(url, bodies, seconds, rate))
    return wrk(url, bodies, seconds, rate)


async def post_all(url: str, bodies: list[str], seconds: int, rate: float | None) -> dict[str, float]:
    """What `wrk` does, with asyncio; it takes as much time as the server, so rates are lower."""
    host, port, path = re.match(r"http://([\d.]+):(\d+)(/.*)", url).groups()  # type: ignore[union-attr]
    taken: list[float] = []
    errors = 0
    end = clock() + seconds
    rng = random.Random(0)

    async def connection(first: int) -> None:
        nonlocal errors
        reader, writer = await asyncio.open_connection(host, int(port))
        at = first
        while clock() < end:
            if rate is not None:
                await asyncio.sleep(rng.expovariate(rate / CONNECTIONS))
            body = bodies[at % len(bodies)].encode()
            at += 1
            head = f"POST {path} HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\n"
            begun = clock()
            writer.write(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
            answer = await reader.readuntil(b"\r\n\r\n")
            length = re.search(rb"content-length: (\d+)", answer, re.IGNORECASE)
            await reader.readexactly(int(length[1]) if length else 0)
            taken.append(1000 * (clock() - begun))
            errors += not answer.startswith(b"HTTP/1.1 200")
        writer.close()

    begun = clock()
    await asyncio.gather(*(connection(i) for i in range(CONNECTIONS)))
    p50, p90, p99, longest = np.quantile(taken, [0.5, 0.9, 0.99, 1.0]).tolist()
    rates = {"rate": len(taken) / (clock() - begun), "errors": float(errors)}
    return {**rates, "p50": p50, "p90": p90, "p99": p99, "max": longest}


def wrk(url: str, bodies: list[str], seconds: int, rate: float | None) -> dict[str, float]:
    """What wrk measures."""
    delay = "" if rate is None else DELAY % (1000.0 * CONNECTIONS / rate)
    quoted = ", ".join(f"[==[{body}]==]" for body in bodies)
    with TemporaryDirectory() as folder:
        script = Path(folder) / "post.lua"
        script.write_text(SCRIPT % {"bodies": quoted, "delay": delay})
        command = ["wrk", "-t", "1", "-c", str(CONNECTIONS), "-d", f"{seconds}s", "-s", str(script), url]
        done = subprocess.run(command, capture_output=True, text=True, timeout=seconds + 30, check=True)
    found = re.search(r"RESULT (.*)", done.stdout)
    assert found, done.stdout + done.stderr
    n, micros, p50, p90, p99, longest, errors = map(float, found[1].split())
    return {
        "rate": 1e6 * n / micros, "p50": p50 / 1000, "p90": p90 / 1000, "p99": p99 / 1000,
        "max": longest / 1000, "errors": errors,
    }  # fmt: skip


def measure(server: Any, path: str, bodies: list[str], seconds: int) -> dict[str, Any]:
    """The highest rate, then the percentiles at half of it; with the load of the machine before."""
    with server as url:
        load(url + path, bodies, 1)
        before = os.getloadavg()[0]
        full = load(url + path, bodies, seconds)
        half = load(url + path, bodies, seconds, rate=full["rate"] / 2)
    return {"full": full, "half": half, "load": before}


def in_process(plan: Plan, rows: list[dict[str, float]]) -> dict[str, float]:
    """Microseconds of one prediction without a server, in the fastest of many turns."""
    served, walk = OnDemand(plan), plan.walker()
    arrays = [np.array(list(row.values())) for row in rows]
    best = {"walker": np.inf, "OnDemand.predict": np.inf}
    for _ in range(60):
        for name, one, given in (("walker", walk, arrays), ("OnDemand.predict", served.predict, rows)):
            begun = clock()
            for row in given:
                one(row)
            best[name] = min(best[name], 1e6 * (clock() - begun) / len(given))
    return {name: float(value) for name, value in best.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--ceiling", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.ceiling:
        serve_ceiling(options.ceiling)
        return
    seconds = 3 if options.quick else 15
    plan, rows = make_plan()
    bodies = [json.dumps({"features": row}) for row in rows]
    path = "/v1/models/boosted/predict"
    found: dict[str, Any] = {"in process": in_process(plan, rows)}
    with TemporaryDirectory() as folder:
        plan.save(Path(folder) / "boosted.miser")
        for workers in (1, 2):
            kept = ("--receipts", f"sqlite:///{folder}/receipts.db")
            for name, more in (("miserly serve", ()), ("miserly serve --receipts", kept)):
                server = miserly(folder, workers, *more)
                found[f"{name}, {workers}"] = measure(server, path, bodies, seconds)
            ceiling = serving(Path(__file__), "--ceiling", workers)
            found[f"the same bytes, {workers}"] = measure(ceiling, path, bodies, seconds)
    write("serve_speed", page(found), found, options.quick)


def page(found: dict[str, Any]) -> str:
    head = ["server", "workers", "requests a second", "p50 (ms)", "p99 (ms)", "at half load", "p50 (ms)",
            "p99 (ms)", "errors", "load before"]  # fmt: skip
    lines = []
    for name, one in found.items():
        if name != "in process":
            what, workers = name.rsplit(", ", 1)
            full, half = one["full"], one["half"]
            cells = [what, workers, f"{full['rate']:,.0f}", f"{full['p50']:.2f}", f"{full['p99']:.2f}",
                     f"{half['rate']:,.0f}", f"{half['p50']:.2f}", f"{half['p99']:.2f}",
                     f"{full['errors'] + half['errors']:.0f}", f"{one['load']:.1f}"]  # fmt: skip
            lines.append(cells)
    alone = found["in process"]
    client = "an asyncio client" if shutil.which("wrk") is None else "`wrk`"
    return f"""# Speed of the service

One row in each request, posted by {client} ({CONNECTIONS} connections) on the same machine of
{os.cpu_count()} cores, to a boosted classifier of {N_TREES} trees over {N_FEATURES} features. "The same
bytes" is a server of the same kind (uvicorn) that answers without a model: the ceiling. Goals:
{GOALS["rate"]:,.0f} requests a second, and a 99th percentile of {GOALS["p99"]:g} ms at half load.

`python benchmarks/serve_speed.py`

{table(head, lines)}

Without a server, one prediction takes {alone["OnDemand.predict"]:.0f} microseconds by `OnDemand.predict` and
{alone["walker"]:.0f} by the bare walker.
"""


if __name__ == "__main__":
    main()
