"""A Parquet file's sizes, compared with what polars makes of it, and refused where they cannot be true."""

import io

import polars as pl
import pytest

from knowwhen.errors import BadInput
from knowwhen.facts.frames import read_parquet
from knowwhen.facts.parquet import BadSizes, unpacked_size

TABLE = pl.DataFrame({"subject": ["a"] * 40, "number": range(40), "object": [f"e{i % 7}" for i in range(40)]})


def content(table=TABLE, **options):
    file = io.BytesIO()
    table.write_parquet(file, **options)
    return file.getvalue()


@pytest.mark.parametrize("compression", ["zstd", "uncompressed", "snappy", "gzip"])
@pytest.mark.parametrize("size", [None, 7])
def test_sound_files_pass(compression, size):
    data = content(compression=compression, row_group_size=size)
    assert 0 < unpacked_size(memoryview(data)) < 20_000
    assert unpacked_size(memoryview(content(TABLE.head(0)))) == 0
    nested = pl.DataFrame({"l": [[1, 2], [], None], "s": [{"a": 1}, {"a": None}, None], "e": ["", "", ""]})
    assert unpacked_size(memoryview(content(nested, compression=compression))) > 0


def test_what_is_large_unpacked_is_seen_before_it_is_unpacked(tmp_path, monkeypatch):
    long = pl.DataFrame({"subject": ["x" * 2_000_000], "predicate": ["p"], "object": ["b"]})
    (tmp_path / "long.parquet").write_bytes(content(long))
    assert (tmp_path / "long.parquet").stat().st_size < 10_000
    monkeypatch.setenv("KNOWWHEN_MAX_GB", "0.001")
    with pytest.raises(BadInput, match=r"long.parquet takes more than 0.001 GB when unpacked"):
        read_parquet(tmp_path / "long.parquet")


def test_no_flipped_bit_of_a_page_header_has_polars_ask_for_exabytes(tmp_path):
    """The first page's header: some of its bits would abort the process."""
    data, refused = content(), 0
    for bit in range(4 * 8, 60 * 8):
        flipped = bytearray(data)
        flipped[bit // 8] ^= 1 << bit % 8
        (tmp_path / "t.parquet").write_bytes(flipped)
        try:
            read_parquet(tmp_path / "t.parquet")
        except BadInput:
            refused += 1
    assert refused > 20


@pytest.mark.parametrize(
    "data", [b"", b"PAR1", b"PAR1" + b"\xff" * 60 + b"\x20\0\0\0PAR1", b"PAR1\x1c" * 3 + b"\5\0\0\0PAR1"]
)
def test_what_is_no_parquet_is_said(data, tmp_path):
    with pytest.raises(BadSizes):
        unpacked_size(memoryview(data))
    (tmp_path / "t.parquet").write_bytes(data)
    with pytest.raises(BadInput, match="cannot read"):
        read_parquet(tmp_path / "t.parquet")
