"""Files and folders are there whole or not at all."""

import os
import subprocess
import sys
import threading
import time

import pytest

from knowwhen.errors import BadRequest, DiskError
from knowwhen.files import append_line, check_target, in_turn, locked, whole_folder, write_whole, writing


@pytest.fixture
def full_disk(monkeypatch):
    def full(*args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_a_file_is_replaced_and_the_old_one_kept(tmp_path):
    last, previous = tmp_path / "last", tmp_path / "previous"
    for content in (b"one", b"two", b"three"):
        write_whole(last, content, keep=previous)
    assert (last.read_bytes(), previous.read_bytes()) == (b"three", b"two")
    write_whole(last, memoryview(b"four"))
    assert last.read_bytes() == b"four" and names(tmp_path) == ["last", "previous"]


def test_a_failing_write_leaves_the_old_file(tmp_path, full_disk):
    path = tmp_path / "file"
    path.write_bytes(b"old")
    with pytest.raises(DiskError, match=r"cannot write to .*: No space left on device; free some room"):  # noqa: SIM117
        with writing(tmp_path, "free some room"):
            write_whole(path, b"new", keep=tmp_path / "kept")
    assert path.read_bytes() == b"old" and names(tmp_path) == ["file"]


def test_a_disk_error_says_what_is_left_and_other_errors_pass(tmp_path):
    with pytest.raises(DiskError, match="cannot write to here: File exists; earlier checkpoints are intact"):  # noqa: SIM117
        with writing("here"):
            tmp_path.mkdir()
    with pytest.raises(ValueError, match="mine"), writing(tmp_path):
        raise ValueError("mine")


def test_a_folder_appears_when_it_is_whole(tmp_path):
    path = tmp_path / "deep" / "data"
    with whole_folder(path) as folder:
        (folder / "table").write_text("rows")
        (folder / "more").mkdir()
        assert not path.exists()
    assert names(path) == ["more", "table"] and names(path.parent) == ["data"]


def test_a_failing_body_leaves_no_folder_behind(tmp_path):
    def write_half() -> None:
        with whole_folder(tmp_path / "data") as folder:
            (folder / "table").write_text("half")
            raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        write_half()
    assert names(tmp_path) == []


def test_a_folder_that_does_not_reach_the_disk_is_not_there(tmp_path, full_disk):
    with pytest.raises(DiskError, match="No space"), writing(tmp_path), whole_folder(tmp_path / "data") as folder:
        (folder / "table").write_text("rows")
    assert names(tmp_path) == []


def test_an_empty_folder_is_taken_and_another_is_not(tmp_path):
    (tmp_path / "empty").mkdir()
    with whole_folder(tmp_path / "empty") as folder:
        (folder / "table").touch()
    for taken in (tmp_path / "empty", tmp_path / "empty" / "table"):
        with pytest.raises(BadRequest, match="exists and is not an empty folder"), whole_folder(taken):
            pass


def test_what_a_killed_process_left_goes_first(tmp_path):
    left = tmp_path / ".data.part" / "more"
    left.mkdir(parents=True)
    (left.parent / "half").touch()
    with whole_folder(tmp_path / "data") as folder:
        assert names(folder) == []
    assert names(tmp_path) == ["data"]


def test_two_do_not_write_the_same_folder(tmp_path):
    with whole_folder(tmp_path / "data") as folder:
        (folder / "table").touch()
        with pytest.raises(BadRequest, match="another process is writing"), whole_folder(tmp_path / "data"):
            pass
    assert names(tmp_path / "data") == ["table"]


def test_what_others_left_beside_is_swept_unless_they_are_still_at_it(tmp_path):
    (tmp_path / ".left.part").mkdir()
    (tmp_path / ".left.part" / "half").touch()
    (tmp_path / ".left.part.lock").touch()
    (tmp_path / ".mine.part").mkdir()  # without a lock of ours
    with whole_folder(tmp_path / "busy"), whole_folder(tmp_path / "data"):
        assert names(tmp_path) == [".busy.part", ".busy.part.lock", ".data.part", ".data.part.lock", ".mine.part"]
    assert names(tmp_path) == [".mine.part", "busy", "data"]


def test_a_lock_goes_with_its_process_and_a_passing_one_with_its_file(tmp_path):
    path, busy = tmp_path / "lock", BadRequest("busy")
    with locked(path, busy):
        with pytest.raises(BadRequest, match="busy"), locked(path, busy):
            pass
        with pytest.raises(BadRequest, match="busy"), locked(path, busy, passing=True):
            pass
        assert path.exists()
    with locked(path, busy, passing=True):
        pass
    assert names(tmp_path) == []


def test_a_lock_that_was_removed_meanwhile_is_no_lock(tmp_path, monkeypatch):
    path, opened = tmp_path / "lock", []
    real = os.open

    def open_and_lose(name, *rest, **options):
        handle = real(name, *rest, **options)
        if name == path and not opened:
            path.unlink()  # as whoever held it does when he is done
        opened.append(name)
        return handle

    monkeypatch.setattr(os, "open", open_and_lose)
    with locked(path, BadRequest("busy")):
        assert path.exists()
    assert opened == [path, path]


def test_a_line_that_a_kill_cut_short_does_not_spoil_the_next(tmp_path):
    path = tmp_path / "lines"
    append_line(path, "one")
    append_line(path, "two")
    assert path.read_text() == "one\ntwo\n"
    path.write_text("one\ntw")
    append_line(path, "three")
    assert path.read_text() == "one\ntw\nthree\n"


def test_a_target_is_looked_at_without_a_trace(tmp_path):
    (tmp_path / "old").write_text("old")
    for name in ("old", "new"):
        check_target(tmp_path / name)
    assert names(tmp_path) == ["old"] and (tmp_path / "old").read_text() == "old"
    for path, message in ((tmp_path, "is a folder"), (tmp_path / "no" / "x", r"cannot write .*x: .*no does not exist")):
        with pytest.raises(BadRequest, match=message):
            check_target(path)


def test_a_link_stays_and_what_it_leads_to_is_written(tmp_path):
    (tmp_path / "real").write_bytes(b"old")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    write_whole(tmp_path / "link", b"new")
    assert (tmp_path / "link").is_symlink() and (tmp_path / "real").read_bytes() == b"new"


WINDOWS = """
import importlib.util, os, shutil, sys, types
from pathlib import Path
import polars, zstandard
sys.platform, sys.modules["fcntl"] = "win32", None
held, real = {}, os.close
def locking(handle, mode, count):
    if os.fstat(handle).st_ino in held.values():
        raise OSError(13, "held")
    held[handle] = os.fstat(handle).st_ino
def close(handle):
    held.pop(handle, None)
    real(handle)
os.close, sys.modules["msvcrt"] = close, types.SimpleNamespace(locking=locking, LK_NBLCK=2)
from knowwhen.errors import BadRequest
from knowwhen.files import locked, whole_folder, write_whole
here = Path(sys.argv[1])
with whole_folder(here / "data") as folder:
    write_whole(folder / "a", b"x")
with locked(here / "lock", BadRequest("busy")):
    try:
        with locked(here / "lock", BadRequest("busy")):
            raise SystemExit("two have it")
    except BadRequest:
        print(sorted(str(path.relative_to(here)) for path in here.rglob("*")))
"""


def test_the_calls_of_windows_do_the_same(tmp_path):
    done = subprocess.run([sys.executable, "-c", WINDOWS, tmp_path], capture_output=True, text=True, check=True)
    assert done.stdout == "['data', 'data/a', 'lock']\n"


def test_work_in_turn_waits_for_whoever_has_it_and_leaves_no_lock(tmp_path):
    began, order = threading.Event(), []

    def first():
        with in_turn(tmp_path / ".lock"):
            began.set()
            time.sleep(0.2)
            order.append("first")

    thread = threading.Thread(target=first)
    thread.start()
    began.wait()
    with in_turn(tmp_path / ".lock"):
        order.append("second")
    thread.join()
    assert order == ["first", "second"] and names(tmp_path) == []
