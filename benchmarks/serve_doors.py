"""What the doors of the service cost: processor time per request, without a network.

``python benchmarks/serve_doors.py`` prints microseconds of processor time for one request of `predict`: the
best of five rounds, so that other work on the machine counts little.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any

from miserly.costs import Costs
from miserly.plan import Node, Plan, Raw
from miserly.serve.audit import audit_line
from miserly.serve.doors import Doors
from miserly.serve.metrics import Metrics
from miserly.serve.models import ServedModel
from miserly.serve.service import AnswerEvent, Caller
from miserly.serve.settings import ServeSettings

KEY = "correct-horse-battery-staple"
BODY = b'{"features": {"age": 61, "chol": 240}}'
HEADERS = [
    (b"host", b"127.0.0.1:8000"), (b"user-agent", b"python-httpx"), (b"content-type", b"application/json"),
    (b"content-length", str(len(BODY)).encode()), (b"accept", b"*/*"), (b"x-api-key", KEY.encode()),
]  # fmt: skip
ROUNDS, REQUESTS = 5, 10_000


async def answer(scope: Any, receive: Any, send: Any) -> None:
    """The smallest application: reads the body and answers."""
    await receive()
    headers = [(b"content-type", b"application/json"), (b"content-length", b"2")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": b"{}"})


async def drive(app: Any) -> None:
    """Send requests to an application, one after the other."""

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": BODY, "more_body": False}

    async def send(message: Any) -> None:
        pass

    for _ in range(REQUESTS):
        scope = {
            "type": "http", "method": "POST", "path": "/v1/models/heart/predict", "headers": HEADERS,
            "client": ("127.0.0.1", 40000), "state": {},
        }  # fmt: skip
        await app(scope, receive, send)


def microseconds(work: Callable[[], object]) -> float:
    """Processor time of one of `REQUESTS` pieces of work."""
    best = float("inf")
    for _ in range(ROUNDS):
        began = time.process_time()
        work()
        best = min(best, time.process_time() - began)
    return 1e6 * best / REQUESTS


def run_app(app: Any) -> Callable[[], object]:
    """A function that sends requests to an application in the event loop that uvicorn uses."""
    try:
        import uvloop

        return lambda: uvloop.run(drive(app))
    except ImportError:
        return lambda: asyncio.run(drive(app))


def event() -> AnswerEvent:
    """An answer with 20 purchases."""
    names = [f"x{i}" for i in range(20)]
    node = Node(list(range(20)), [0] * 20, [1.0] * 20, [0.0])
    plan = Plan(costs=Costs.uniform(names), terms=[Raw(i) for i in range(20)], nodes=[node], base=[0.0])
    model = ServedModel.of("linear", plan)
    return AnswerEvent(model.served.predict(dict.fromkeys(names, 1.0)), model, Caller(), "1", None, 0.0)


def main() -> None:
    """Print what each part costs."""
    plain = microseconds(run_app(answer))
    every = {
        "keys": (KEY,), "rate": 1e9, "burst": 1e9, "allowed_hosts": ("127.0.0.1",),
        "cors": ("https://ward.example",),
    }  # fmt: skip
    metrics, seen = Metrics(), event()
    for name, options, counted in (
        ("no options", {}, None),
        ("keys", {"keys": (KEY,)}, None),
        ("keys, rate, hosts, CORS", every, None),
        ("the same, with metrics", every, metrics.responded),
    ):
        app = Doors(answer, ServeSettings("models", **options), counted)  # type: ignore[arg-type]
        print(f"doors, {name:<26}{microseconds(run_app(app)) - plain:7.1f} us a request")
    for name, work in (("metrics of an answer", metrics.answered), ("its audit line", audit_line)):
        spent = microseconds(lambda work=work: [work(seen) for _ in range(REQUESTS)])
        print(f"{name + ', 20 features':<33}{spent:7.1f} us")


if __name__ == "__main__":
    main()
