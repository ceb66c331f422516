"""The stream of a dump and its windows, over every compression."""

import bz2
import gzip
import itertools
import mmap
import random
import subprocess
import sys

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from knowwhen.errors import NotFound
from knowwhen.wikidata import windows as windows_module
from knowwhen.wikidata.stream import Dump
from knowwhen.wikidata.windows import SLACK, windows

COMPRESS = {
    "json": bytes,
    "gz": gzip.compress,
    "bz2": bz2.compress,
    "zst": zstandard.ZstdCompressor(write_checksum=True).compress,  # as the program zstd does
}
RANDOM = random.Random(0)
TEXTS = [RANDOM.randbytes(RANDOM.randrange(400)).hex().encode() for _ in range(7500)]
LINES = b"[\n" + b"".join(b'{"n":%d,"text":"%s"},\n' % numbered for numbered in enumerate(TEXTS)) + b"]\n"


def cut(path, size, parts=1, done=()):
    """All windows by number, read by so many machines, and the damage that they met."""
    found, damage = {}, set()
    for part in range(parts):
        dump = Dump(path, 2)
        with mmap.mmap(-1, size + SLACK) as buffer:
            wanted = (number for number in itertools.count(part, parts) if number not in done)
            for window in windows(dump, size, wanted, lambda: buffer):
                found[window.number] = buffer[window.start : window.stop]
        damage.add(dump.damage)
        dump.close()
    return found, damage


def joined(found):
    return b"".join(found[number] for number in sorted(found))


@pytest.mark.parametrize("compression", COMPRESS)
@pytest.mark.parametrize(("size", "parts"), [(1000, 1), (1 << 16, 1), (1 << 16, 3), (1 << 20, 2), (1 << 22, 3)])
def test_windows_are_the_dump_cut_between_lines_whoever_reads_them(tmp_path, compression, size, parts):
    path = tmp_path / f"dump.{compression}"
    path.write_bytes(COMPRESS[compression](LINES))
    found, damage = cut(path, size, parts)
    assert damage == {""}
    assert joined(found) == LINES
    assert all(text == b"" or text.endswith(b"\n") for text in found.values())
    start = 0
    for number in sorted(found):  # the lines that begin in [number * size, (number + 1) * size)
        assert not found[number] or number * size <= start < (number + 1) * size
        start += len(found[number])


@given(
    st.lists(st.binary(max_size=9).map(lambda b: b.replace(b"\n", b".")), max_size=20),
    st.integers(2, 30),
    st.integers(1, 3),
)
def test_any_lines_in_any_windows(tmp_path_factory, lines, size, parts):
    path = tmp_path_factory.mktemp("dump") / "dump.json"
    text = b"a" + b"\n".join(lines)  # never empty, and no magic number
    path.write_bytes(text)
    assert joined(cut(path, size, parts)[0]) == text


def test_what_is_finished_is_skipped(tmp_path):
    for compression, compress in COMPRESS.items():
        path = tmp_path / f"dump.{compression}"
        path.write_bytes(compress(LINES))
        whole, _ = cut(path, 1 << 16)
        some, _ = cut(path, 1 << 16, done={0, 1, 4})
        assert some == {number: text for number, text in whole.items() if number not in {0, 1, 4}}


def test_gzip_members_follow_each_other_and_padding_is_no_damage(tmp_path):
    path = tmp_path / "dump.gz"
    path.write_bytes(gzip.compress(LINES[:5000]) + gzip.compress(LINES[5000:]) + b"\0" * 512)
    found, damage = cut(path, 1 << 16)
    assert (joined(found), damage) == (LINES, {""})


def test_a_dump_of_exactly_some_windows_has_no_empty_one(tmp_path):
    path = tmp_path / "dump.json"
    path.write_bytes(b"0123456\n" * 4)
    assert sorted(cut(path, 16)[0]) == [0, 1]


@pytest.mark.parametrize(("compression", "reason"), [("gz", "ends early"), ("bz2", "."), ("zst", "")])
def test_a_cut_off_dump_gives_what_is_there(tmp_path, compression, reason):
    whole = COMPRESS[compression](LINES)
    path = tmp_path / f"dump.{compression}"
    path.write_bytes(whole[: len(whole) * 9 // 10])
    found, (damage,) = cut(path, 1 << 16)
    assert LINES.startswith(joined(found))
    assert len(joined(found)) > len(LINES) / 3
    assert bool(damage) == bool(reason) and (reason == "." or reason in damage)


@pytest.mark.parametrize("compression", ["gz", "bz2", "zst"])
def test_a_damaged_dump_gives_what_is_before(tmp_path, compression):
    whole = bytearray(COMPRESS[compression](LINES))
    middle = len(whole) * 9 // 10
    whole[middle : middle + 40] = b"\x55" * 40
    path = tmp_path / f"dump.{compression}"
    path.write_bytes(whole)
    found, (damage,) = cut(path, 1 << 16)
    assert damage
    assert joined(found)[:100_000] == LINES[:100_000]


def test_a_line_longer_than_a_window_and_its_slack_is_lost_alone(tmp_path, monkeypatch):
    monkeypatch.setattr(windows_module, "SLACK", 64)
    path = tmp_path / "dump.json"
    path.write_bytes(b"one\n" + b"x" * 500 + b"\nlast\n")
    found, _ = cut(path, 16)
    text = joined(found)
    assert text.startswith(b"one\n") and text.endswith(b"last\n") and len(text) < 100


@pytest.mark.parametrize("compression", COMPRESS)
def test_standard_input_is_a_dump_too(tmp_path, compression):
    code = (
        "import itertools, mmap, sys\n"
        "from knowwhen.wikidata.stream import Dump\n"
        "from knowwhen.wikidata.windows import SLACK, windows\n"
        "dump, buffer = Dump('-', 2), mmap.mmap(-1, 65536 + SLACK)\n"
        "for w in windows(dump, 65536, itertools.count(), lambda: buffer):\n"
        "    sys.stdout.buffer.write(buffer[w.start:w.stop])\n"
        "assert dump.size is None and dump.done > 0\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], input=COMPRESS[compression](LINES), capture_output=True, check=True
    )
    assert done.stdout == LINES


def test_the_same_dump_is_known_again_by_its_size_and_head(tmp_path):
    for name, text in (("a", LINES), ("b", LINES), ("c", LINES + b"\n"), ("d", b"(" + LINES[1:])):
        (tmp_path / name).write_bytes(text)
    a, b, c, d = (Dump(tmp_path / name, 1) for name in "abcd")
    assert a.fingerprint == b.fingerprint
    assert len({a.fingerprint, c.fingerprint, d.fingerprint}) == 3
    for dump in (a, b, c, d):
        dump.close()


def test_no_dump_is_an_error(tmp_path):
    with pytest.raises(NotFound, match=r"no dump .*nowhere'; expected a file such as latest-all.json.gz, or - for"):
        Dump(tmp_path / "nowhere", 1)
