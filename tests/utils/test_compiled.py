"""Compiled functions: wherever they can or cannot be stored, they work, and give what their sources say."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

import miserly
from miserly import errors
from miserly.utils import compile_cache
from miserly.utils.compile_cache import _Folders
from miserly.utils.compiled import clock, compile_seconds, compiled

SOURCE = """
from miserly.utils.compiled import compiled
from {helpers} import WEIGHT, helper

@compiled()
def answer(x):
    return WEIGHT * helper(x)
"""

HELPERS = """
from miserly.utils.compiled import compiled

WEIGHT = {}

@compiled()
def helper(x):
    return {} * x
"""


@pytest.fixture
def folders(monkeypatch, tmp_path):
    """Folders to keep files in, the usual ones first; by default the last of them works."""
    usual = [tmp_path / "a file" / "own", tmp_path / "user"]
    (tmp_path / "a file").write_text("no folder can be made in it")
    monkeypatch.setattr(compile_cache, "_usual", lambda: usual)
    monkeypatch.setattr(compile_cache, "_temporary", lambda: tmp_path / "temporary" / "kept")
    monkeypatch.setattr(compile_cache, "_folders", _Folders())
    monkeypatch.setattr(errors, "_given", set())
    return usual


def double():
    """A function that nothing is known of: it has no compiled version in this process."""

    @compiled()
    def twice(x):
        return x + x

    return twice


def n_compiled(kernel):
    """How often a function was compiled, rather than read from a file."""
    return sum(kernel.stats.cache_misses.values())


def test_a_second_process_reads_what_the_first_compiled(folders):
    first, second = double(), double()
    assert first(2) == second(2) == 4
    assert (n_compiled(first), n_compiled(second)) == (1, 0)
    assert [path.suffix for path in folders[1].iterdir()] == [".nbc"]


def test_where_no_usual_folder_can_be_written_a_temporary_one_is_used_with_one_warning(folders, tmp_path):
    folders[1] = tmp_path / "a file" / "user"
    with pytest.warns(RuntimeWarning, match="may not last") as given:
        assert double()(2) == 4
        assert double()(2.0) == 4.0
    assert len(given) == 1
    kept = tmp_path / "temporary" / "kept"
    assert len(list(kept.iterdir())) == 2
    again = double()
    assert again(2) == 4 and n_compiled(again) == 0


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="temporary folders are a user's own there")
@pytest.mark.parametrize("mode", [0o777, 0o770])
def test_nothing_is_read_from_or_written_to_a_temporary_folder_that_others_can_write(folders, tmp_path, mode):
    folders[1] = tmp_path / "a file" / "user"
    with pytest.warns(RuntimeWarning, match="may not last"):
        double()(2)
    (tmp_path / "temporary").chmod(mode)
    compile_cache._folders.__init__()
    again = double()
    with pytest.warns(RuntimeWarning, match="cannot be stored"):
        assert again(2) == 4
    assert n_compiled(again) == 1


def test_where_no_folder_can_be_written_functions_are_compiled_with_one_warning(
    folders, monkeypatch, tmp_path
):
    folders[1] = tmp_path / "a file" / "user"
    monkeypatch.setattr(compile_cache, "_temporary", lambda: None)
    with pytest.warns(RuntimeWarning, match="cannot be stored") as given:
        assert double()(2) == 4
        assert double()(2.0) == 4.0
    assert len(given) == 1


def test_a_full_disk_is_no_reason_to_stop(folders, monkeypatch):
    def write(path, content):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(compile_cache, "_write", write)
    with pytest.warns(
        RuntimeWarning
    ) as given:  # of the temporary folder that is tried, and that it is full too
        assert double()(2) == double()(2) == 4
    assert len(given) == 2 and "cannot be stored" in str(given[1].message)


@pytest.mark.parametrize("damage", ["cut", "empty", "flipped", "zeros"])
def test_damaged_files_are_compiled_again_with_one_warning_and_replaced(folders, damage):
    for x in (2, 2.0):
        double()(x)
    for path in folders[1].iterdir():
        content = bytearray(path.read_bytes())
        half = len(content) // 2
        content[half] ^= 0xFF
        cut = {"cut": content[:half], "empty": b"", "zeros": bytes(len(content))}
        path.write_bytes(cut.get(damage, content))
    again = double()
    with pytest.warns(RuntimeWarning, match="damaged") as given:
        assert again(2) == 4 and again(2.0) == 4.0
    assert len(given) == 1 and n_compiled(again) == 2
    sound = double()
    assert sound(2) == 4 and n_compiled(sound) == 0


def test_what_came_with_the_package_is_read_and_passed_over_if_damaged(folders, monkeypatch, tmp_path):
    """A package may be installed with compiled functions, which its users can only read."""
    double()(2)
    installed, can_write = folders[1], compile_cache._can_write
    folders[:] = [installed, tmp_path / "user's own"]
    monkeypatch.setattr(compile_cache, "_can_write", lambda folder: folder != installed and can_write(folder))
    compile_cache._folders.__init__()
    read = double()
    assert read(2) == 4 and n_compiled(read) == 0
    next(installed.iterdir()).write_bytes(b"")
    for expected in (1, 0):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            again = double()
            assert again(2) == 4 and n_compiled(again) == expected


def module(folder, name, text):
    path = folder / f"{name}.py"
    path.write_text(text)
    spec = importlib.util.spec_from_file_location(name, path)
    made = importlib.util.module_from_spec(spec)
    sys.modules[name] = made
    spec.loader.exec_module(made)
    return made


@pytest.mark.parametrize("weight, factor", [(3, 10), (2, 20)])
def test_a_change_in_another_module_is_seen(folders, tmp_path, monkeypatch, weight, factor):
    """A constant, or a function that is called, may come from elsewhere, not from the function's file."""
    monkeypatch.setattr(sys, "dont_write_bytecode", True)  # two versions of a file within one second
    monkeypatch.setattr(compile_cache, "_digest_of_file", compile_cache._digest_of_file.__wrapped__)
    module(tmp_path, "old_helpers", HELPERS.format(2, 10))
    assert module(tmp_path, "old_answers", SOURCE.format(helpers="old_helpers")).answer(1) == 20
    module(tmp_path, "old_helpers", HELPERS.format(weight, factor))
    assert module(tmp_path, "old_answers", SOURCE.format(helpers="old_helpers")).answer(1) == weight * factor


def test_a_stamp_is_the_same_in_every_process():
    code = (
        "from miserly.utils.compile_cache import stamp_of; from miserly.grow.growth import grow as kernel; "
    )
    code += "print(stamp_of(kernel).hex())"
    seen = {
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
        for _ in "ab"
    }
    assert len(seen) == 1


SHARES = """
import sys
from miserly.utils import compile_cache
from miserly.utils.compiled import compiled

@compiled()
def twice(x):
    return x + x

values = [eval(one) for one in sys.argv[1:]]
print([twice(x) for x in values], sum(twice.stats.cache_misses.values()))
"""


def test_processes_that_compile_at_the_same_time_share_a_folder(tmp_path):
    """Each for other argument types, and both for the same: a third process finds all of it."""
    (tmp_path / "shares.py").write_text(SHARES)
    env = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "kept")}

    def start(*values):
        command = [sys.executable, tmp_path / "shares.py", *values]
        return subprocess.Popen(command, env=env, stdout=subprocess.PIPE, text=True)

    both = [start("1", "'a'"), start("1.5", "'a'")]
    assert [one.communicate(timeout=120)[0] for one in both] == ["[2, 'aa'] 2\n", "[3.0, 'aa'] 2\n"]
    assert start("1", "1.5", "'a'").communicate(timeout=120)[0] == "[2, 3.0, 'aa'] 0\n"


def test_bounds_are_checked_where_that_is_asked_for(folders, monkeypatch):
    """Functions compiled without such checks are not taken for those with them."""
    before = double()
    before(2)
    monkeypatch.setattr(compile_cache.config, "BOUNDSCHECK", 1)
    after = double()
    after(2)
    assert n_compiled(after) == 1


def test_compiling_is_timed():
    before = compile_seconds()
    double()(np.float32(2))
    assert compile_seconds() > before and clock.since is None


RUNS = """
import numpy as np
from miserly.grow import Bins
print(Bins.fit(np.arange(8.0)[:, None]).transform(np.arange(8.0)[:, None]).codes[0].tolist())
"""


def held_to_permissions():
    """What to put before a command so that read-only folders are read-only for it, for every user."""
    if sys.platform == "win32":
        pytest.skip("folders cannot be made read-only there")
    if os.getuid() != 0:
        return []
    if shutil.which("setpriv") is None:
        pytest.skip("needs setpriv, or another user than root")
    return ["setpriv", "--inh-caps=-all", "--bounding-set=-dac_override,-dac_read_search"]


def test_an_installation_and_a_home_that_cannot_be_written_are_enough(tmp_path):
    held, here = held_to_permissions(), Path(miserly.__file__).parent
    shutil.copytree(here, tmp_path / "src" / "miserly", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "home").mkdir()
    (tmp_path / "temporary").mkdir()
    subprocess.run(["chmod", "-R", "a-w", tmp_path / "src", tmp_path / "home"], check=True)
    env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path / "home"), "TMPDIR": str(tmp_path / "temporary")}
    env |= {"PYTHONPATH": str(tmp_path / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
    ask = {"env": env, "cwd": tmp_path, "capture_output": True, "text": True, "timeout": 120}
    try:
        done = [subprocess.run([*held, sys.executable, "-c", RUNS], **ask, check=False) for _ in range(2)]
    finally:
        subprocess.run(["chmod", "-R", "u+w", tmp_path], check=True)
    assert [one.stdout for one in done] == ["[0, 1, 2, 3, 4, 5, 6, 7]\n"] * 2, done[0].stderr
    assert done[0].stderr.count("may not last") == 1 and "Warning" not in done[1].stderr


TRAINS = """
import numpy as np
from miserly import GreedyMiserClassifier, MiserlyError
try:
    GreedyMiserClassifier().fit(np.arange(8.0)[:, None], np.arange(8) % 2)
except MiserlyError as error:
    print(error)
"""

BROKEN = """
import sys
class Blocks:
    def find_spec(self, name, path=None, target=None):
        if name == "numba":
            raise {error}
sys.meta_path.insert(0, Blocks())
import numpy as np
from miserly import Costs, Plan
from miserly.plan.nodes import Node
from miserly.plan.terms import Raw
plan = Plan(costs=Costs([1.0]), terms=[Raw(0)], nodes=[Node([0], [0], [2.0], [0.0])], base=[0.0])
for _ in range(2):
    print(plan.run(np.array([[3.0]])).scores.tolist())
"""


def test_without_a_usable_numba_growing_trees_is_refused_in_words():
    code = BROKEN.format(error="OSError('no LLVM')").partition("import numpy")[0] + TRAINS
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.stdout == "growing trees needs numba, which cannot be used: OSError: no LLVM\n", done.stderr


@pytest.mark.parametrize("error, warns", [("OSError('no LLVM')", 1), ("ModuleNotFoundError('numba')", 0)])
def test_without_a_usable_numba_plans_run_in_numpy(error, warns):
    done = subprocess.run(
        [sys.executable, "-c", BROKEN.format(error=error)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.stdout == "[6.0]\n" * 2, done.stderr
    assert done.stderr.count("plans run in NumPy") == warns


def test_tables_that_cannot_be_written_to_are_not_compiled_for_again():
    """Memory maps and columns of pandas frames are read-only; compiling takes half a minute."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 3)), rng.normal(size=60)
    model = miserly.GreedyMiserRegressor(n_rounds=3, n_jobs=1).fit(X, y)
    linear = miserly.CostLassoRegressor().fit(X, y)
    model.run(X), model.predict(X), model.plan_.walker()(X[0]), linear.run(X)
    X.flags.writeable = y.flags.writeable = False
    before = compile_seconds()
    again = miserly.GreedyMiserRegressor(n_rounds=3, n_jobs=1).fit(X, y)
    again.run(X), again.predict(X), again.plan_.walker()(X[0]), miserly.CostLassoRegressor().fit(X, y).run(X)
    assert compile_seconds() == before
