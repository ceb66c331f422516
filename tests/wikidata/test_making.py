"""From a dump to a dataset: the real sample by hand, planted dumps by their counts, and whatever can go wrong."""

import bz2
import gzip
import itertools
import os
import tomllib

import polars as pl
import pytest
import zstandard

import knowwhen as kw
from benchmarks.dumps import entity, item, moment, snak, statement, write_dump
from knowwhen.errors import BadInput, BadRequest, DiskError
from knowwhen.wikidata.extraction import extract
from knowwhen.wikidata.making import make, merge, parts_folder
from knowwhen.wikidata.settings import ExtractionSettings, SelectionSettings

EVERYTHING = {"min_degree": 0, "min_predicate": 0, "split": (0, 0)}
SMALL = ExtractionSettings(window_megabytes=1)
REMOVED = (
    "removed_deprecated",
    "removed_value_not_an_item",
    "removed_value_unknown_or_none",
    "removed_unknown_snak_type",
    "removed_begin_after_end",
    "removed_dropped_classes",
    "removed_repetitions",
    "removed_rare_predicates",
    "removed_rare_entities",
)


def content(folder):
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def in_parts(dump, count, folder, silent):
    """The shares of a dump, extracted last to first."""
    shares = [SMALL.model_copy(update={"part": part, "parts": count}) for part in range(count, 0, -1)]
    return [extract(dump, folder / f"part{share.part}", share, silent.bytes) for share in shares]


def spans_in(folder, subject, predicate, object):
    key = (pl.col("subject") == subject) & (pl.col("predicate") == predicate) & (pl.col("object") == object)
    return pl.read_parquet(folder / "train.parquet").filter(key).select("begin", "end").rows()


@pytest.fixture(scope="module")
def by_hand(tmp_path_factory):
    """The real sample with all its facts, by year and by day; made once for all checks."""
    made = {}

    def at(sample, granularity):
        if granularity not in made:
            out = tmp_path_factory.mktemp("sample") / granularity
            settings = SelectionSettings(**EVERYTHING, granularity=granularity)
            make(sample, out, SMALL, settings, type("Silent", (), {"bytes": lambda *_: None, "say": lambda *_: None})())
            made[granularity] = out
        return made[granularity]

    return at


@pytest.mark.parametrize(
    ("fact", "granularity", "expected"),
    [
        # Scotland, capital, Edinburgh: no time
        (("Q22", "P36", "Q23436"), "year", [(None, None)]),
        # Rome, country, Roman Republic: both ends before Christ
        (("Q220", "P17", "Q17167"), "year", [("-0509", "-0027")]),
        # Rome, country, Roman Empire: two statements, one from before Christ to after
        (("Q220", "P17", "Q2277"), "year", [("-0027", "0285"), ("0285", "0476")]),
        # London, country, sub-Roman Britain: from the 5th century to the 730s
        (("Q84", "P17", "Q110888"), "year", [("0401", "0739")]),
        (("Q84", "P17", "Q110888"), "day", [("0401-01-01", "0739-12-31")]),
        # Denmark, head of state, Christian V: Julian, 1670-02-09 to 1699-08-25
        (("Q35", "P35", "Q157793"), "day", [("1670-02-19", "1699-09-04")]),
        (("Q35", "P35", "Q157793"), "year", [("1670", "1699")]),
        # Denmark, head of state, Eric of Pomerania: years on both calendars stay as written
        (("Q35", "P35", "Q161958"), "day", [("1396-01-01", "1439-12-31")]),
        # Berlin, head of government, Michael Müller: end "no value", he still holds
        (("Q64", "P6", "Q102844"), "day", [("2014-12-11", None)]),
        # France, head of state, François Hollande: end "some value", unknown
        (("Q142", "P35", "Q157"), "year", [("2012", None)]),
        # George Washington, award received: points in time, one by day, Berlin's by year
        (("Q23", "P166", "Q721743"), "day", [("1776-03-25", "1776-03-25")]),
        (("Q64", "P166", "Q3323440"), "day", [("2009-01-01", "2009-12-31")]),
        (("Q64", "P166", "Q3323440"), "year", [("2009", "2009")]),
        # universe, significant event, Big Bang: to a million years, so open
        (("Q1", "P793", "Q323"), "year", [(None, None)]),
        # Beethoven, medical condition, deafness: two begins, no end
        (("Q255", "P1050", "Q12133"), "year", [("1796", None)]),
        # George Washington, position held, commander-in-chief: 1775 to 1788; 1798 to 1788 is dropped
        (("Q23", "P39", "Q1115127"), "year", [("1775", "1788")]),
        # Berlin, instance of, municipality of Germany: deprecated
        (("Q64", "P31", "Q262166"), "year", []),
    ],
)
def test_facts_of_the_real_sample_by_hand(by_hand, sample, fact, granularity, expected):
    assert spans_in(by_hand(sample, granularity), *fact) == expected


def test_a_plane_with_fourteen_leases_has_fourteen_facts(by_hand, sample):
    """Boeing 747, operator, SAS: 14 begins and 14 ends, out of order, on one statement."""
    found = spans_in(by_hand(sample, "day"), "Q179", "P137", "Q406764")
    assert len(found) == 14
    assert ("1983-08-22", "1983-09-11") in found and ("1981-09-01", "1981-10-31") in found
    assert all(end <= begin for (_, end), (begin, _) in itertools.pairwise(found))


def test_the_real_sample_is_counted_to_the_last_statement(by_hand, sample):
    sheet = tomllib.loads((by_hand(sample, "year") / "dataset.toml").read_text())
    assert (sheet["items"], sheet["statements"], sheet["removed_deprecated"]) == (49, 4282, 12)
    facts = sheet["train"] + sheet["valid"] + sheet["test"]
    assert sheet["statements"] + sheet["added_by_several_times"] == facts + sum(sheet[name] for name in REMOVED)
    assert sheet["events"] + sheet["intervals"] + sheet["half_open"] + sheet["static"] == facts
    assert sheet["percent_with_time"] == pytest.approx(100 * (1 - sheet["static"] / facts), abs=0.05)
    assert "does not end with ']'" in sheet["warnings"]


def test_the_real_sample_loads_with_labels_and_the_sizes_it_claims(by_hand, sample):
    data = kw.load(by_hand(sample, "year"))
    sheet = tomllib.loads((by_hand(sample, "year") / "dataset.toml").read_text())
    for name, value in data.info().items():
        assert name == "hash" or sheet[name] == value
    assert data.entities.label(data.entities.id("Q64")) == "Berlin"
    assert data.about["licence"] == "CC0-1.0"


def test_the_old_sample_of_wikidata_toolkit_is_read_to_its_end(real_data, tmp_path, silent):
    dump = real_data("wikidata-dump-sample") / "wdtk_sample-dump-20150815.json.gz"
    sheet = make(dump, tmp_path / "out", SMALL, SelectionSettings(**EVERYTHING), silent)
    values = sheet.values()
    assert (values["lines"], values["items"], values["properties"], values["warnings"]) == (101, 55, 46, "")
    assert values["train"] == values["extracted_facts"] - values["removed_repetitions"] > 0


def test_planted_counts_come_out_rule_by_rule(tmp_path, silent):
    expected = write_dump(tmp_path / "dump.json.gz", 4)
    sheet = make(tmp_path / "dump.json.gz", tmp_path / "out", SMALL, SelectionSettings(), silent).values()
    for name in ("items", "properties", "statements", *REMOVED):
        assert sheet[name] == expected[name], name
    assert sheet["train"] + sheet["valid"] + sheet["test"] == expected["facts"]
    assert (sheet["valid"], sheet["test"]) == (expected["facts"] // 10, expected["facts"] // 10)
    checked = kw.load(tmp_path / "out").check()
    assert not any(checked.values())
    assert not parts_folder(tmp_path / "out").exists()


TABLES = ("train", "valid", "test", "entities", "predicates")
COMPRESS = {"json": bytes, "json.gz": gzip.compress, "json.bz2": bz2.compress, "json.zst": zstandard.compress}


def test_every_compression_makes_the_same_tables(tmp_path, silent):
    write_dump(tmp_path / "dump", 3)
    tables = set()
    for suffix, compress in COMPRESS.items():
        dump, out = tmp_path / f"dump.{suffix}", tmp_path / suffix
        dump.write_bytes(compress((tmp_path / "dump").read_bytes()))
        make(dump, out, SMALL, SelectionSettings(min_degree=3, min_predicate=10), silent)
        tables.add(tuple(content(out)[f"{name}.parquet"] for name in TABLES))
    assert len(tables) == 1


@pytest.mark.parametrize("suffix", ["json", "json.gz"])
def test_many_machines_make_the_same_as_one_bit_for_bit(tmp_path, silent, suffix):
    dump = tmp_path / f"dump.{suffix}"
    write_dump(dump, 4)
    settings = SelectionSettings(min_degree=3, min_predicate=10, granularity="month")
    make(dump, tmp_path / "data", SMALL, settings, silent)
    merge(in_parts(dump, 3, tmp_path, silent), tmp_path / "merged" / "data", settings, silent)
    assert content(tmp_path / "merged" / "data") == content(tmp_path / "data")


def test_a_cut_off_dump_is_used_as_far_as_it_goes_and_that_is_said(tmp_path, silent):
    write_dump(tmp_path / "whole.json.gz", 3)
    whole = (tmp_path / "whole.json.gz").read_bytes()
    dump = tmp_path / "cut.json.gz"
    dump.write_bytes(whole[: len(whole) * 3 // 4])
    settings = SelectionSettings(min_degree=2, min_predicate=2)
    sheet = make(dump, tmp_path / "out", SMALL, settings, silent).values()
    assert "the dump is damaged or cut off (EOFError: the compressed file ends early)" in sheet["warnings"]
    assert "1 of " in sheet["warnings"] and "lines could not be read as entities" in sheet["warnings"]
    assert sheet["items"] > 200
    assert sheet["warnings"].split(";")[0] in (tmp_path / "out" / "DATASHEET.md").read_text()
    merge(in_parts(dump, 2, tmp_path, silent), tmp_path / "merged" / "out", settings, silent)
    assert content(tmp_path / "merged" / "out") == content(tmp_path / "out")


def test_bad_lines_are_counted_and_the_rest_survives(tmp_path, silent):
    good = [entity(n, [(9, statement(snak(9, item(n % 7 + 1))))]) for n in range(1, 30)]
    lines = [b"[", *good[:10], b'{"type":"item","id":', b"\xff\xfe", b'{"type":"item","id":"Qx"}', *good[10:], b"]"]
    (tmp_path / "dump.json").write_bytes(b",\n".join(lines))
    sheet = make(tmp_path / "dump.json", tmp_path / "out", SMALL, SelectionSettings(**EVERYTHING), silent).values()
    assert (sheet["items"], sheet["bad_lines"], sheet["lines"], sheet["train"]) == (29, 3, 32, 29)
    assert sheet["warnings"] == "3 of 32 lines could not be read as entities and were skipped"


def test_classes_labels_and_the_axis_are_what_is_asked_for(tmp_path, silent):
    when = {"P580": [snak(580, moment("+1999-05-17T00:00:00Z", 11), kind="time")]}
    lines = [
        entity(1, [(31, statement(snak(31, item(5)))), (9, statement(snak(9, item(2)), **when))]),
        entity(2, [(31, statement(snak(31, item(6)))), (9, statement(snak(9, item(3))))]),
        entity(3, []),
        entity(9, [], kind="property"),
    ]
    (tmp_path / "dump.json").write_bytes(b"[\n" + b",\n".join(lines) + b"\n]\n")
    settings = SelectionSettings(**EVERYTHING, drop={6: "thing"}, granularity="month")
    extraction = ExtractionSettings(window_megabytes=1, lang="de")
    make(tmp_path / "dump.json", tmp_path / "out", extraction, settings, silent)
    data = kw.load(tmp_path / "out")
    assert data.named(data.train).rows() == [("Q1", "P31", "Q5", None, None)]
    assert "- dropped: Q6 thing" in (tmp_path / "out" / "DATASHEET.md").read_text()
    assert data.entities.label(0) == 'Q1 in "de"'
    kept = SelectionSettings(**EVERYTHING, keep={5: ""}, granularity="month")
    make(tmp_path / "dump.json", tmp_path / "kept", extraction, kept, silent)
    data = kw.load(tmp_path / "kept")
    assert data.named(data.train).rows() == [("Q1", "P9", "Q2", "1999-05", None), ("Q1", "P31", "Q5", None, None)]
    assert data.predicates.label(data.predicates.id("P9")) == 'P9 in "de"'


def test_thresholds_that_leave_nothing_are_an_error_and_the_extraction_is_kept(tmp_path, silent):
    write_dump(tmp_path / "dump.json", 1)
    out = tmp_path / "out"
    with pytest.raises(
        BadInput, match=r"none of [\d,]+ facts is left: every entity needs 500 facts and every predicate 50;"
    ):
        make(tmp_path / "dump.json", out, SMALL, SelectionSettings(min_degree=500), silent)
    assert not out.exists() and parts_folder(out).exists()
    assert make(tmp_path / "dump.json", out, SMALL, SelectionSettings(), silent).values()["train"] > 0


def test_a_folder_with_something_in_it_is_not_touched(tmp_path, silent):
    out = tmp_path / "out"
    out.mkdir()
    (out / "precious.txt").write_text("mine")
    with pytest.raises(BadRequest, match="out exists and is not an empty folder; choose another"):
        make(tmp_path / "dump.json", out, SMALL, SelectionSettings(), silent)
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_a_folder_that_cannot_be_written_is_an_error(tmp_path, silent):
    (tmp_path / "file").write_text("not a folder")
    (tmp_path / "dump.json").write_text("[\n]\n")
    with pytest.raises(
        DiskError, match=r"cannot write to .*out.parts: Not a directory; run the same command to continue"
    ):
        make(tmp_path / "dump.json", tmp_path / "file" / "out", SMALL, SelectionSettings(), silent)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_dump_that_may_not_be_read_is_an_error(tmp_path, silent):
    (tmp_path / "dump.json").write_text("[\n]\n")
    (tmp_path / "dump.json").chmod(0)
    with pytest.raises(BadInput, match=r"cannot read the dump .*dump.json': Permission denied"):
        make(tmp_path / "dump.json", tmp_path / "out", SMALL, SelectionSettings(), silent)


@pytest.mark.parametrize(
    ("split", "facts", "expected"),
    [
        (None, 7_000_000, (50_000, 50_000)),
        (None, 1_000, (100, 100)),
        (None, 3, (0, 0)),
        ((0.2, 0.1), 100, (20, 10)),
        ((5, 0), 100, (5, 0)),
    ],
)
def test_held_out_facts_are_50000_each_or_a_share(split, facts, expected):
    assert SelectionSettings(split=split).held_out(facts) == expected


@pytest.mark.parametrize("split", [(60, 40), (0.5, 0.5), (-1, 5)])
def test_a_split_must_leave_something_to_train_on(split):
    with pytest.raises(BadRequest, match=r"--split .* leaves no training facts of 100; choose smaller numbers"):
        SelectionSettings(split=split).held_out(100)
