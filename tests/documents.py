"""Run the Python blocks and `miserly` commands of documents, and compare the output shown under them.

A document is run from top to bottom in an empty folder. A ``python`` block followed by a ``text`` block must
print exactly that text. A ``console`` block contains commands after ``$`` and their output; ``< FILE`` gives
a command its standard input. A line of three dots matches any output. Blocks marked ``python no-run`` or
``console no-run`` are not run.

``$ miserly serve ... &`` starts a service in a process of its own and shows its first line; ``$ curl ...``
asks it, ``$ kill %1`` stops it. The service gets any free port, which documents show as 8000.

``python -m tests.documents README.md docs/*.md`` writes the present output into the documents.
"""

from __future__ import annotations

import contextlib
import doctest
import io
import os
import re
import shlex
import subprocess
import sys
import tempfile
import time
import warnings
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path

from typer.testing import CliRunner

FENCE = re.compile(r"^```([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
WIDTH = "80"


@dataclass(frozen=True)
class Block:
    """One fenced block: its language, its text and its position in the document."""

    kind: str
    text: str
    start: int
    end: int
    line: int


def blocks_of(document: str) -> list[Block]:
    return [
        Block(
            found[1].strip(),
            found[2],
            found.start(2),
            found.end(2),
            document[: found.start()].count("\n") + 1,
        )
        for found in FENCE.finditer(document)
    ]


def run_document(path: Path) -> list[tuple[Block, str]]:
    """Run a document and return every block that shows output, with its present output."""
    blocks = blocks_of(path.read_text(encoding="utf-8"))
    names: dict[str, object] = {"__name__": "document"}
    shown: list[tuple[Block, str]] = []
    try:
        for block, after in zip_longest(blocks, blocks[1:]):
            if block.kind == "python":
                printed = _run_python(block, names, path)
                if after is not None and after.kind == "text":
                    shown.append((after, printed))
            elif block.kind == "console":
                shown.append((block, _run_console(block)))
    finally:
        SERVICES.stop()
    return shown


def _run_python(block: Block, names: dict[str, object], path: Path) -> str:
    text = SERVICES.with_port(block.text)
    code = compile("\n" * block.line + text, str(path), "exec")  # so that errors name the right line
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(code, names)
    return SERVICES.without_port(printed.getvalue())


def _run_console(block: Block) -> str:
    out: list[str] = []
    for command in re.findall(r"^\$ (.*)$", block.text, re.MULTILINE):
        run = next(run for begin, run in RUNNERS.items() if command.startswith(begin))
        out += [f"$ {command}", *(line.rstrip() for line in run(command).splitlines())]
    return "\n".join(out) + "\n"


def _run_miserly(command: str) -> str:
    from miserly.cli import app

    words = shlex.split(command)
    if words[-1] == "&":
        return SERVICES.start(words[1:-1])
    typed = None
    if "<" in words:
        typed = Path(words[-1]).read_text(encoding="utf-8")
        words = words[: words.index("<")]
    done = CliRunner().invoke(app, words[1:], env={"COLUMNS": WIDTH}, input=typed)
    assert done.exit_code == 0, f"{command}: {done.output}"
    return done.stdout


def _refuse(command: str) -> str:
    raise AssertionError(f"only miserly commands and curl are run, not {command!r}")


class Services:
    """The services that a document has started."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None
        self._port = ""

    def start(self, words: list[str]) -> str:
        """Start a service; gives the line that says where it is."""
        assert words[0] == "serve" and self._process is None, "one service at a time"
        command = [sys.executable, "-m", "miserly", *words, "--port", "0"]
        with open("service.log", "w", encoding="utf-8") as log:
            self._process = subprocess.Popen(command, stdout=log, stderr=log, stdin=subprocess.DEVNULL)
        end = time.monotonic() + 60.0
        while not (found := re.search(r"^Serving .*:(\d+)/ .*$", _log(), re.MULTILINE)):
            assert self._process.poll() is None and time.monotonic() < end, _log()
            time.sleep(0.05)
        self._port = found[1]
        return self.without_port(found[0])

    def with_port(self, text: str) -> str:
        """Put the port of the service, if there is one, in the place of that which documents show."""
        return re.sub(rf":{PORT}\b", f":{self._port}", text) if self._port else text

    def without_port(self, text: str) -> str:
        """Put back the port that documents show."""
        return re.sub(rf":{self._port}\b", f":{PORT}", text) if self._port else text

    def ask(self, command: str) -> str:
        """Run curl."""
        asked = self.with_port(command)
        done = subprocess.run(["bash", "-c", asked], capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 0, f"{command}: {done.stderr}"
        return self.without_port(done.stdout)

    def stop(self, command: str = "") -> str:
        """Stop the service, if there is one."""
        if self._process is not None:
            self._process.terminate()
            assert self._process.wait(30) == 0, _log()
            self._process = None
        return ""


def _log() -> str:
    return Path("service.log").read_text(encoding="utf-8")


PORT = 8000  # of services, as documents show it
SERVICES = Services()
RUNNERS = {"miserly ": _run_miserly, "curl ": SERVICES.ask, "kill %1": SERVICES.stop, "": _refuse}


def agree(block: Block, printed: str) -> bool:
    """Whether a block shows what was printed, ignoring trailing blanks and with three dots as a wildcard."""
    commands_only = block.kind == "console" and all(
        line.startswith("$ ") for line in block.text.splitlines() if line.strip()
    )
    wanted, got = (_stripped(text) for text in (block.text, printed))
    checker = doctest.OutputChecker()
    return commands_only or checker.check_output(wanted, got, doctest.ELLIPSIS)


def _stripped(text: str) -> str:
    return "\n".join(line.rstrip() for line in text.strip("\n").splitlines()) + "\n"


@contextlib.contextmanager
def in_empty_folder():
    """Change into an empty temporary folder and turn warnings into errors."""
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("error")
        os.chdir(folder)
        try:
            yield Path(folder)
        finally:
            os.chdir(before)


def update(path: Path) -> None:
    """Write the present output into a document, last block first, so that positions stay valid."""
    path = path.resolve()
    document = path.read_text(encoding="utf-8")
    with in_empty_folder():
        shown = run_document(path)
    for block, printed in reversed(shown):
        if not agree(block, printed):
            document = document[: block.start] + _stripped(printed) + document[block.end :]
            print(f"{path.name}, line {block.line}: changed")
    path.write_text(document, encoding="utf-8")


if __name__ == "__main__":
    for name in sys.argv[1:]:
        update(Path(name))
