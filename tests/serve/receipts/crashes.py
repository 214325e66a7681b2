"""Processes that keep receipts until they are killed: ``python -m tests.serve.receipts.crashes``.

A child appends receipts, and writes the identifier of each one to a file of its own afterwards, as a service
would send the answer then. It is killed at a random time.
"""

from __future__ import annotations

import itertools
import os
import random
import signal
import sys
import time

from miserly.runtime import OnDemand
from miserly.serve.receipts import ReceiptKeeper
from miserly.serve.receipts.database import ReceiptDatabase
from tests.runtime.plans import PATIENT, heart


def write_until_killed(url: str, folder: str, acknowledged: str, ready: int) -> None:
    served = OnDemand(heart())
    done = os.open(f"{acknowledged}/{os.getpid()}", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    keeper = ReceiptKeeper(url, folder, keep_values=True, interval=0.01)
    keeper.start()
    os.write(ready, b".")
    for n in itertools.count():
        kept = keeper.append(served.predict(PATIENT), model="heart")
        os.write(done, f"{kept}\n".encode())
        if n > 300:  # what was written is stored meanwhile
            time.sleep(0.002)


def main(url: str, folder: str, acknowledged: str, rounds: str, at_once: str) -> None:
    draw = random.Random(0)
    OnDemand(heart()).predict(PATIENT)  # everything is compiled before the first fork
    ReceiptDatabase(url).close()  # everything is imported, too
    for _ in range(int(rounds)):
        children, (is_ready, ready) = [], os.pipe()
        for _ in range(int(at_once)):
            child = os.fork()
            if not child:
                try:
                    write_until_killed(url, folder, acknowledged, ready)
                finally:
                    os._exit(1)  # reached only by an error
            children.append(child)
        if draw.random() < 0.8:  # others are killed while they start
            for _ in children:
                os.read(is_ready, 1)
        # The process that stores receipts takes about half a second to start.
        time.sleep(draw.uniform(0.0, 0.25) if draw.random() < 0.8 else draw.uniform(0.5, 1.5))
        os.close(is_ready)
        os.close(ready)
        for child in children:
            os.kill(child, signal.SIGKILL)
            _, status = os.waitpid(child, 0)
            assert os.WTERMSIG(status) == signal.SIGKILL, "the child ended by itself"


if __name__ == "__main__":
    main(*sys.argv[1:])
