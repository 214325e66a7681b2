"""Files appear whole or not at all, and nothing but a regular file is ever replaced."""

from __future__ import annotations

import errno
import os
import resource
import socket
import stat
import sys

import pytest

from miserly.errors import CostError, DataError
from miserly.utils.files import atomic_path, atomic_write, check_target

OLD = b"the old result"


@pytest.fixture
def target(tmp_path):
    path = tmp_path / "result.csv"
    path.write_bytes(OLD)
    return path


def untouched(target):
    return target.read_bytes() == OLD and [path.name for path in target.parent.iterdir()] == [target.name]


def test_a_file_is_replaced_when_it_is_complete(target):
    with atomic_write(target) as file:
        file.write(b"new")
        file.flush()
        assert target.read_bytes() == OLD
    assert target.read_bytes() == b"new" and len(list(target.parent.iterdir())) == 1


@pytest.mark.parametrize("problem", [ValueError, KeyboardInterrupt, SystemExit, MemoryError])
def test_whatever_happens_meanwhile_leaves_the_old_file(target, problem):
    with pytest.raises(problem), atomic_write(target) as file:
        file.write(b"half of")
        raise problem
    assert untouched(target)


@pytest.mark.parametrize("call", ["fsync", "replace"])
def test_trouble_at_the_end_leaves_the_old_file_and_names_it(target, monkeypatch, call):
    def full(*args):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, call, full)
    with pytest.raises(OSError, match="No space left") as caught, atomic_write(target) as file:
        file.write(b"new")
    monkeypatch.undo()
    assert untouched(target) and caught.value.filename == str(target)


@pytest.mark.skipif(sys.platform == "win32", reason="no limits on sizes of files")
def test_a_disk_that_is_full_leaves_the_old_file(target):
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1_000, limits[1]))
    try:
        with pytest.raises(OSError) as caught, atomic_write(target) as file:
            file.write(b"x" * 100_000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert untouched(target) and caught.value.filename == str(target)


def test_permissions_are_those_of_the_old_file_and_of_any_new_one(target):
    target.chmod(0o640)
    with atomic_write(target) as file:
        drafts = [path for path in target.parent.iterdir() if path != target]
        assert [stat.S_IMODE(path.stat().st_mode) & 0o077 for path in drafts] == [0]
        file.write(b"new")
    assert stat.S_IMODE(target.stat().st_mode) == 0o640
    (target.parent / "plain").write_bytes(b"")
    with atomic_write(target.parent / "new") as file:
        file.write(b"new")
    assert (target.parent / "new").stat().st_mode == (target.parent / "plain").stat().st_mode


def test_a_link_is_neither_followed_nor_replaced(target):
    link = target.parent / "link.csv"
    link.symlink_to(target)
    with pytest.raises(DataError, match=f"link.csv: this is a link to {target}"), atomic_write(link):
        pass
    assert link.is_symlink() and target.read_bytes() == OLD
    link.unlink()
    link.symlink_to("nowhere")
    with pytest.raises(DataError, match="a link to nowhere"), atomic_write(link):
        pass
    assert not (target.parent / "nowhere").exists()


def test_a_link_that_comes_in_the_meantime_stays(target):
    link = target.parent / "new.csv"
    with pytest.raises(DataError, match="this is a link"), atomic_write(link) as file:
        file.write(b"new")
        link.symlink_to(target)
    assert link.is_symlink() and target.read_bytes() == OLD


def test_pipes_devices_sockets_and_folders_are_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # names of sockets are short
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    server = socket.socket(socket.AF_UNIX)
    server.bind("socket")
    server.close()
    for name, what in {"pipe": "a named pipe", "folder": "a folder", "socket": "a socket"}.items():
        with pytest.raises(CostError, match=f"{name}: this is {what}"):
            check_target(tmp_path / name, CostError)
        with pytest.raises(DataError, match=f"{name}: this is {what}"), atomic_write(tmp_path / name):
            pass
    with pytest.raises(DataError, match="/dev/null: this is a device"), atomic_path("/dev/null"):
        pass
    assert sorted(path.name for path in tmp_path.iterdir()) == ["folder", "pipe", "socket"]


def test_a_file_that_is_protected_is_not_replaced(target, monkeypatch):
    monkeypatch.setattr(os, "access", lambda path, mode: False)  # root may write everywhere
    with pytest.raises(DataError, match="write-protected"), atomic_write(target):
        pass
    assert untouched(target)


def test_a_folder_that_is_not_there_is_named_with_the_file(tmp_path):
    with pytest.raises(FileNotFoundError) as caught, atomic_write(tmp_path / "no" / "a.csv"):
        pass
    assert caught.value.filename == str(tmp_path / "no" / "a.csv")


def test_names_have_the_ending_that_libraries_look_at(target):
    with atomic_path(target) as draft:
        assert draft.suffix == ".csv" and draft.parent == target.parent
        draft.write_text("by a library")
    assert target.read_text() == "by a library"
