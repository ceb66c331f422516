"""Files and folders are there whole or not at all."""

import os

import pytest

from knowwhen.errors import BadRequest, DiskError
from knowwhen.files import whole_folder, write_whole, writing


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
    with pytest.raises(DiskError, match="cannot write to here: File exists; what was saved before is intact"):  # noqa: SIM117
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
