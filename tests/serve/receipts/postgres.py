"""A PostgreSQL server of its own for a test, in a temporary folder, on a free port of this machine."""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

_STARTS_IN = 30.0  # seconds


class PostgresServer:
    """A server that can be started, stopped and started again, with its data."""

    def __init__(self, folder: Path, programs: Path) -> None:
        self.folder, self.programs = folder, programs
        with socket.socket() as one:
            one.bind(("127.0.0.1", 0))
            self.port = one.getsockname()[1]
        self.url = f"postgresql+psycopg://miserly@127.0.0.1:{self.port}/postgres"
        self.process: subprocess.Popen[bytes] | None = None

    def make(self) -> None:
        self._call("initdb", "-D", self.folder / "data", "-U", "miserly", "--auth=trust", "--no-sync")

    def start(self) -> None:
        self.process = subprocess.Popen(
            [*_as_user(), self.programs / "postgres", "-D", self.folder / "data", "-p", str(self.port),
             "-k", self.folder, "-h", "127.0.0.1", "-c", "fsync=off", "-c", "max_connections=40"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=_environment(), cwd=self.folder,
        )  # fmt: skip
        end = time.monotonic() + _STARTS_IN
        while time.monotonic() < end:
            done = self._call("pg_isready", "-h", "127.0.0.1", "-p", str(self.port), check=False)
            if done.returncode == 0:
                return
            assert self.process.poll() is None, "PostgreSQL did not start"
            time.sleep(0.05)
        raise AssertionError(f"PostgreSQL did not start in {_STARTS_IN} s")

    def stop(self) -> None:
        if self.process is not None:
            self._call("pg_ctl", "stop", "-D", self.folder / "data", "-m", "immediate", check=False)
            self.process.wait(20)
            self.process = None

    def _call(self, program: str, *words: object, check: bool = True) -> subprocess.CompletedProcess[bytes]:
        command = [*_as_user(), self.programs / program, *map(str, words)]
        return subprocess.run(
            command, check=check, capture_output=True, env=_environment(), cwd=self.folder, timeout=60
        )


@contextlib.contextmanager
def postgres_server() -> Iterator[PostgresServer]:
    """A running server, stopped and deleted at the end; the test is skipped where there is no PostgreSQL."""
    pytest.importorskip("psycopg")
    programs = find_programs()
    if programs is None:
        pytest.skip("PostgreSQL (initdb) is not installed")
    folder = Path(tempfile.mkdtemp(prefix="miserly-pg-"))
    server = PostgresServer(folder, programs)
    try:
        if os.getuid() == 0:
            os.chown(folder, *_user())
        server.make()
        server.start()
        yield server
    finally:
        server.stop()
        shutil.rmtree(folder, ignore_errors=True)


def find_programs() -> Path | None:
    """The folder with the programs of PostgreSQL."""
    found = shutil.which("initdb")
    if found:
        return Path(found).resolve().parent
    return max(
        Path("/usr/lib/postgresql").glob("*/bin"), key=lambda one: float(one.parent.name), default=None
    )


def _user() -> tuple[int, int]:
    """PostgreSQL does not run as root, so root starts it as another user."""
    try:
        found = pwd.getpwnam("postgres")
    except KeyError:
        pytest.skip("PostgreSQL does not run as root, and there is no user postgres")
    return found.pw_uid, found.pw_gid


def _as_user() -> list[str]:
    if os.getuid() != 0:
        return []
    user, group = _user()
    return ["setpriv", f"--reuid={user}", f"--regid={group}", "--clear-groups"]


def _environment() -> dict[str, str]:
    return {"PATH": os.environ["PATH"], "LC_ALL": "C"}
