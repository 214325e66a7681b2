"""A real `miserly serve` in a process of its own."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import httpx

__all__ = ["ServiceProcess", "running"]


class ServiceProcess:
    """A running service: its `url`, what it printed, and its end."""

    def __init__(
        self,
        *arguments: object,
        cwd: Path | None = None,
        env: dict[str, str] | None = None,
        command: Sequence[str] = (sys.executable, "-m", "miserly"),
    ):
        line = [*command, "serve", *map(str, arguments), "--port", "0"]
        self.process = subprocess.Popen(
            line, cwd=cwd, env={**os.environ, **(env or {})}, text=True, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
        self._lines: list[str] = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._lines.append(line)

    @property
    def output(self) -> str:
        """All that was printed so far."""
        return "".join(self._lines)

    def wait_until_ready(self, seconds: float = 60.0) -> None:
        """Wait for the line that says where the service is."""
        end = time.monotonic() + seconds
        while "(Ctrl-C stops)" not in self.output:
            assert self.process.poll() is None and time.monotonic() < end, self.output
            time.sleep(0.02)

    @property
    def url(self) -> str:
        """Where the service is."""
        found = re.search(r"at (https?://\S+?)/ \(", self.output)
        assert found, self.output
        return found[1]

    def client(self, **options: object) -> httpx.Client:
        """A client of the service."""
        return httpx.Client(base_url=self.url, timeout=10.0, **options)  # type: ignore[arg-type]

    def stop(self, number: signal.Signals = signal.SIGTERM) -> int:
        """Send a signal, wait for the end, and give the exit code."""
        if self.process.poll() is None:
            self.process.send_signal(number)
        try:
            self.process.wait(20.0)
        finally:
            self.process.kill()
            self._reader.join(5.0)
            assert self.process.stdout is not None
            self.process.stdout.close()
        return self.process.returncode


@contextmanager
def running(*arguments: object, **options: object) -> Iterator[ServiceProcess]:
    """A service that is ready, and is stopped at the end."""
    service = ServiceProcess(*arguments, **options)  # type: ignore[arg-type]
    try:
        service.wait_until_ready()
        yield service
    finally:
        service.stop()
