"""An interrupt may come at any moment: while trees are grown it is raised as ever, and nothing breaks."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

GROWS = """
import signal
import numpy as np
from miserly import GreedyMiserRegressor

rng = np.random.default_rng(0)
X = rng.normal(size=(3000, 5))
model = GreedyMiserRegressor(n_rounds=1000, costs=np.ones(5), max_depth=5, n_jobs=1)
model.set_params(n_rounds=2).fit(X, X[:, 0] * X[:, 1])  # compiled
model.set_params(n_rounds=1000)

def stop(*_):
    raise KeyboardInterrupt

signal.signal(signal.SIGALRM, stop)
for _ in range(40):
    try:
        signal.setitimer(signal.ITIMER_REAL, rng.uniform(0.03, 0.06))
        model.fit(X, X[:, 0] * X[:, 1])
    except KeyboardInterrupt:
        continue
    raise SystemExit("done before it was interrupted")
print("alive")
"""


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no timers there")
def test_a_fit_can_be_interrupted_at_any_moment():
    done = subprocess.run([sys.executable, "-c", GROWS], capture_output=True, text=True, timeout=100)
    assert (done.returncode, done.stdout) == (0, "alive\n"), done.stderr
