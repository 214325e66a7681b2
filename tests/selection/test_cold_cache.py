"""The first search on a machine: compiling takes longer than the fits may, and none fails for that."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import miserly

SEARCHES = """
import json
from miserly import ASTCClassifier, SpeedBoostClassifier, frontier
from miserly.datasets import load_heart

if __name__ == "__main__":
    heart = load_heart()
    learners = [SpeedBoostClassifier(), ASTCClassifier()]
    found = frontier(learners, heart.X, heart.y, costs=heart.costs, time_limit=20, random_state=0)
    print(json.dumps({"fitted": found.learners, "failures": [str(one) for one in found.failures]}))
"""


@pytest.mark.long  # it compiles all that two learners need
def test_nothing_takes_too_long_because_it_must_be_compiled_first(tmp_path):
    package = Path(miserly.__file__).parent
    shutil.copytree(package, tmp_path / "src" / "miserly", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "home").mkdir()
    (tmp_path / "searches.py").write_text(SEARCHES)
    unset = ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME")
    env = {name: value for name, value in os.environ.items() if name not in unset}
    env |= {"HOME": str(tmp_path / "home"), "PYTHONPATH": str(tmp_path / "src")}
    done = subprocess.run(
        [sys.executable, tmp_path / "searches.py"],
        env=env,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert list((tmp_path / "src").rglob("*.nbc"))  # it was compiled there, by this search
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["failures"] == []
    assert found["fitted"] == ["ASTCClassifier", "SpeedBoostClassifier"]
