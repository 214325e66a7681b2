"""What an image needs: a health check, compiled functions, and a service that writes to no disk."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from miserly.serve.health import is_healthy
from miserly.serve.warming import warm
from tests.runtime.plans import PATIENT, heart
from tests.serve.processes import ServiceProcess

ROOT = Path(__file__).parent.parent.parent


def boxed(*command):
    """A command with the whole file system read-only, no temporary folder, no home and no privileges."""
    bind = ["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--ro-bind", "/proc", "/dev/shm"]
    user = ["--unshare-user", "--uid", "10001", "--gid", "10001", "--cap-drop", "ALL", "--die-with-parent"]
    variables = ["--setenv", "HOME", "/nonexistent", "--setenv", "PYTHONDONTWRITEBYTECODE", "1"]
    return ["bwrap", *bind, *user, *variables, *command]


def can_box():
    return (
        shutil.which("bwrap") is not None
        and not subprocess.run(boxed("true"), capture_output=True).returncode
    )


@pytest.mark.skipif(not can_box(), reason="bwrap (bubblewrap) is not installed or not allowed here")
def test_the_service_runs_on_a_read_only_file_system_without_a_home(tmp_path):
    heart().save(tmp_path / "heart.miser")
    written = subprocess.run(boxed("touch", str(tmp_path / "x")), capture_output=True)
    assert written.returncode != 0 and not (tmp_path / "x").exists()
    service = ServiceProcess(tmp_path / "heart.miser", command=boxed(sys.executable, "-m", "miserly"))
    try:
        service.wait_until_ready()
        with service.client() as client:
            assert (
                client.post("/v1/models/heart/predict", json={"features": PATIENT}).json()["answer"] == "ill"
            )
        assert is_healthy(f"{service.url}/healthz")
    finally:
        service.stop()
    assert not is_healthy(f"{service.url}/healthz")


def test_health_is_no_for_anything_but_a_good_answer():
    for url in ("http://127.0.0.1:9/healthz", "nonsense", "file:///etc/hostname"):
        assert not is_healthy(url, seconds=1.0)


def test_warming_answers_a_plan():
    assert warm() == 3.0


def test_the_image_has_all_that_is_copied_and_runs_without_privileges():
    lines = (ROOT / "Dockerfile").read_text().splitlines()
    copied = [name for line in lines if line.startswith("COPY ") and "--from" not in line
              for name in line.split()[1:-1]]  # fmt: skip
    assert copied and all((ROOT / name).exists() for name in copied)
    ignored = (ROOT / ".dockerignore").read_text().splitlines()
    assert ignored[0] == "*" and {f"!{name}" for name in copied} <= set(ignored)
    users = [line for line in lines if line.startswith("USER ")]
    assert users and users[-1] == "USER 10001:10001" and os.path.exists(ROOT / "LICENSE")
