"""The journal: whole lines, segments, locks, and what happens when the disk is full."""

import os
import resource
import subprocess
import sys

import pytest

from miserly.errors import DataError
from miserly.serve.receipts.journal import Journal, NotKept, abandoned

from .databases import ROOT


def everything(journal, most=50):
    found = b""
    while data := journal.read(most):
        assert data.endswith(b"\n")
        found += data
        journal.done(len(data), data.count(b"\n"))
    return found


def test_lines_come_back_in_order_over_many_segments(tmp_path):
    journal = Journal(tmp_path, "m", segment=100)
    lines = [b"%d\n" % i for i in range(500)]
    for line in lines[:300]:
        journal.append(line)
    assert len(list(tmp_path.glob("*.jsonl"))) > 5
    found = everything(journal)
    for line in lines[300:]:
        journal.append(line)
    assert found + everything(journal) == b"".join(lines)
    assert journal.waiting_bytes == journal.waiting_lines == 0
    assert len(list(tmp_path.glob("*.jsonl"))) == 1  # what was moved is deleted
    journal.close()
    assert not list(tmp_path.iterdir())


def test_a_living_journal_is_not_abandoned_and_a_closed_one_with_lines_is(tmp_path):
    journal = Journal(tmp_path, "m")
    journal.append(b"line\n")
    assert not list(abandoned(tmp_path, "m"))
    journal.close()
    assert not list(abandoned(tmp_path, "other"))
    (left,) = [(one.segments()[0].read_bytes(), one.delete()) for one in abandoned(tmp_path, "m")]
    assert left[0] == b"line\n" and not list(tmp_path.iterdir())


def test_a_child_that_was_forked_does_not_hold_the_lock(tmp_path):
    journal = Journal(tmp_path, "m")
    journal.append(b"line\n")
    ready, done = os.pipe(), os.pipe()
    child = os.fork()
    if not child:
        os.write(ready[1], b".")
        os.read(done[0], 1)
        os._exit(0)
    os.read(ready[0], 1)
    journal.forget()  # as a process that ends
    found = [one.name for one in abandoned(tmp_path, "m")]
    os.write(done[1], b".")
    os.waitpid(child, 0)
    for end in (*ready, *done):
        os.close(end)
    assert found == [journal.name]


FULL = """
import resource, sys
from pathlib import Path
from miserly.serve.receipts.journal import Journal, NotKept
journal = Journal(Path(sys.argv[1]), "m")
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, resource.RLIM_INFINITY))
kept = []
for i in range(30):
    line = b"%030d" % i * 2 + b"\\n"
    try:
        journal.append(line)
        kept.append(line)
    except NotKept as error:
        problem = str(error)
assert 0 < len(kept) < 30, len(kept)
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
journal.append(b"after\\n")
kept.append(b"after\\n")
assert journal.read() == b"".join(kept), journal.read()
print(problem)
"""


def test_a_full_disk_leaves_whole_lines_and_writing_goes_on_afterwards(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", FULL, str(tmp_path)],
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    assert "cannot be written" in done.stdout
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] == resource.RLIM_INFINITY


def test_a_part_of_a_line_that_cannot_be_cut_off_harms_no_other_line(tmp_path, monkeypatch):
    journal = Journal(tmp_path, "m")
    journal.append(b"one\n")
    write = os.write

    def fail(fd, size):
        raise OSError(5, "no")

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", lambda fd, data: write(fd, data[:2]))
        patch.setattr(os, "ftruncate", fail)
        with pytest.raises(NotKept):
            journal.append(b"two\n")
    journal.append(b"three\n")
    assert journal.read() == b"one\ntw\nthree\n"
    journal.close()


def test_the_limit_counts_what_waits(tmp_path):
    journal = Journal(tmp_path, "m", limit=10)
    journal.append(b"12345678\n")
    with pytest.raises(NotKept, match="full: 9 of 10 bytes wait"):
        journal.append(b"1\n")
    everything(journal)
    journal.append(b"1\n")
    everything(journal)
    journal.close()


@pytest.mark.parametrize(("sync", "flushed"), [("never", 0), ("interval", 1), ("always", 2)])
def test_lines_are_flushed_to_the_disk_as_asked(tmp_path, monkeypatch, sync, flushed):
    calls = []
    monkeypatch.setattr(os, "fdatasync", calls.append)
    journal = Journal(tmp_path, "m", sync=sync)
    journal.append(b"1\n")
    journal.append(b"2\n")
    if sync == "interval":
        journal.flush()
        journal.flush()
    assert len(calls) == flushed
    everything(journal)
    journal.close()


def test_what_cannot_be_a_journal_is_explained(tmp_path):
    with pytest.raises(DataError, match="sync must be one of never, interval, always"):
        Journal(tmp_path, "m", sync="now")
    (tmp_path / "file").write_text("")
    with pytest.raises(DataError, match="cannot be made"):
        Journal(tmp_path / "file" / "x", "m")
