"""Facts written for other programs come back the same, and what is inferred never comes back as known."""

import io

import polars as pl
import pytest

import knowwhen as kw
from knowwhen.facts.exporting import EXPORTS, export_bytes

FACTS = [
    ("Ada L.", "works at", "Bakery & Söhne", "2001", "2006"),
    ("Ada L.", "works at", "http://example.org/x", "2014-05", None),
    ("Bén/#?", "met", "Ada L.", "2014-03-05", "2014-03-05"),
    ("Ben", "born in", "-44", None, None),
]
NAMES = ["subject", "predicate", "object", "begin", "end"]


def rows_of(data):
    return sorted(data.named(data.all_facts).rows(), key=str)


@pytest.mark.parametrize("format", sorted(EXPORTS))
def test_facts_come_back_the_same(format, tmp_path):
    data = kw.load([row for row in FACTS if format != "kgtk" or row[2] != "-44"], fractions=(0, 0), granularity="day")
    frame = data.named(data.all_facts)
    path = tmp_path / f"facts.{ {'kgtk': 'tsv'}.get(format, format) }"
    path.write_bytes(export_bytes(frame, data, format))
    again = kw.load(path, fractions=(0, 0), granularity="day")
    assert rows_of(again) == rows_of(data)


@pytest.mark.parametrize("format", ["ttl", "kgtk"])
def test_what_is_inferred_is_marked_and_is_no_known_date(format, tmp_path):
    data = kw.load([("a", "p", "b", "2001", None), ("a", "p", "c", "2001", "2004")], fractions=(0, 0))
    frame = data.named(data.train).with_columns(
        inferred_begin=pl.lit(None, pl.String),
        inferred_end=pl.Series(["2003", None], dtype=pl.String),
        inferred_probability=pl.Series([0.25, None]),
    )
    written = bytes(export_bytes(frame, data, format))
    assert b"inferred_end" in written and b"inferred_begin" not in written and b"0.25" in written
    path = tmp_path / ("f.tsv" if format == "kgtk" else "f.ttl")
    path.write_bytes(written)
    assert rows_of(kw.load(path, fractions=(0, 0))) == [("a", "p", "b", "2001", None), ("a", "p", "c", "2001", "2004")]


@pytest.mark.parametrize("format", ["ttl", "kgtk"])
def test_labels_go_with_their_keys(format, tmp_path):
    frame = pl.DataFrame({"key": ["Q76"], "label": ["Barack Obama"]})
    data = kw.load([("Q76", "P39", "Q11696", "2009", "2017")], fractions=(0, 0))
    data.save(tmp_path / "data")
    frame.write_parquet(tmp_path / "data" / "entities.parquet")
    (tmp_path / "data" / "SHA256SUMS").unlink()
    labelled = kw.load(tmp_path / "data")
    path = tmp_path / ("f.tsv" if format == "kgtk" else "f.ttl")
    path.write_bytes(export_bytes(labelled.named(labelled.train), labelled, format))
    assert kw.load(path, fractions=(0, 0)).entities.id("Barack Obama") == 1


def test_tables_of_facts_are_tables():
    data = kw.load(FACTS, fractions=(0, 0), granularity="day")
    written = export_bytes(data.named(data.train), data, "csv")
    assert pl.read_csv(io.BytesIO(bytes(written)), infer_schema=False).columns == NAMES
