"""How tests run commands, and the table that they are run on."""

from __future__ import annotations

import numpy as np
import pandas as pd
from typer.testing import CliRunner

from miserly.cli import app

COSTS = "# unit: CAD\nfeature,cost,group,setup\nage,1,,\nchol,5,blood,2\nthal,90,,\n"
QUICK = ("--rounds", 12, "--depth", 2)


def table(n=120, seed=0):
    """Three tests that say more the more they cost; `thal` in words, one value of `chol` missing."""
    rng = np.random.default_rng(seed)
    truth = rng.normal(size=n)
    frame = pd.DataFrame(
        {
            "age": np.round(50 + 10 * (truth + 1.5 * rng.normal(size=n))),
            "chol": np.round(200 + 40 * (truth + 0.5 * rng.normal(size=n)), 1),
            "thal": np.select([truth < -0.4, truth < 0.4], ["fixed", "normal"], "reversible"),
            "disease": np.where(truth > 0, "presence", "absence"),
            "risk": np.round(truth, 3),
            "grade": np.digitize(truth, [-0.5, 0.5]),
            "patient": np.repeat([f"p{i}" for i in range(n // 6)], 6),
        }
    )
    frame.loc[3, "chol"] = np.nan
    return frame


def run(*words, lines=None):
    """Run a command; `lines` are typed by the person, one answer each."""
    typed = None if lines is None else "".join(f"{line}\n" for line in lines)
    return CliRunner().invoke(app, [str(word) for word in words], input=typed)


def complaints(done, code=1):
    """The lines that say what was wrong."""
    assert done.exit_code == code, done.output
    lines = done.stderr.splitlines()
    assert all(line.startswith("error: ") for line in lines)
    return [line.removeprefix("error: ") for line in lines]


def complaint(done, code=1):
    """The one line that says what was wrong, and the exit code: 1 for what was given, 2 for how."""
    assert done.exit_code == code, done.output
    assert done.stderr.startswith("error: ") and done.stderr.count("\n") == 1
    return done.stderr.strip()
