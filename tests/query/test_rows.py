"""Many questions at once: from frames, lists and files of any kind, each with an error of its own."""

import gzip
import io
import math
import sys
from datetime import date, datetime

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import knowwhen as kw
from knowwhen.errors import BadInput, BadRequest, KnowwhenError
from knowwhen.query.rows import name_text, read_all, rows_of, time_text

HEADER = ["subject", "predicate", "object", "time"]
ROWS = [("Ada", "leads", "?", "2001"), ("Bob", "leads", "?", None)]
FRAME = pl.DataFrame(ROWS, schema=HEADER, orient="row")
TEXT = FRAME.write_csv()


def parts(source):
    return [(row.number, *row.parts) for row in rows_of(source)]


@pytest.mark.parametrize(
    "source",
    [
        ROWS,
        tuple(list(row) for row in ROWS),
        (row for row in ROWS),
        FRAME.to_dicts(),
        FRAME,
        FRAME.lazy(),
        FRAME.rename({"subject": "Head", "predicate": "rel", "object": "tail", "time": "Year"}),
        FRAME.with_columns(line=pl.lit("x"), note=pl.lit("not looked at")),
        pd.DataFrame(ROWS, columns=HEADER),
        pa.table(FRAME.to_dict(as_series=False)),
    ],
)
def test_rows_of_frames_and_lists_are_numbered_from_1(source):
    assert parts(source) == [(1, "Ada", "leads", "?", "2001"), (2, "Bob", "leads", "?", None)]


def files(folder):
    """The same table in many kinds of files, and the number of its first row."""
    kinds = {
        "q.csv": TEXT.encode(),
        "semicolons.csv": TEXT.replace(",", ";").encode(),
        "marked.csv": b"\xef\xbb\xbf" + TEXT.encode(),
        "wide.csv": TEXT.encode("utf-16"),
        "q.tsv": TEXT.replace(",", "\t").encode(),
        "packed.csv.gz": gzip.compress(TEXT.encode()),
    }
    for name, data in kinds.items():
        (folder / name).write_bytes(data)
    FRAME.write_ndjson(folder / "q.jsonl")
    FRAME.write_parquet(folder / "q.parquet")
    return {**dict.fromkeys(kinds, 2), "q.jsonl": 1, "q.parquet": 1}


def test_rows_of_files_have_their_lines(tmp_path, monkeypatch):
    for name, first in files(tmp_path).items():
        with (tmp_path / name).open("rb") as file:
            sources = [parts(source) for source in (tmp_path / name, str(tmp_path / name), file)]
        for rows in sources:
            found = [(number, *(part or None for part in rest)) for number, *rest in rows]
            assert found == [(first, "Ada", "leads", "?", "2001"), (first + 1, "Bob", "leads", "?", None)], name
    assert len(parts(io.StringIO(TEXT))) == len(parts(io.BytesIO(TEXT.encode()))) == 2
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(TEXT.encode())))
    assert len(parts("-")) == 2


def test_a_line_that_is_no_row_is_an_error_in_its_place(tmp_path):
    (tmp_path / "q.csv").write_bytes(
        b"subject,predicate,object,time\nAda,leads,?,2001\nx,y\n\nBob,leads,?,\n\xff,a,b,c\n"
    )
    found = rows_of(tmp_path / "q.csv")
    assert [row.number for row in found] == [2, 3, 5, 6]
    assert [type(row.error) for row in found] == [type(None), BadInput, type(None), BadInput]
    assert str(found[1].error).startswith("2 columns in 'x,y'; expected 4")


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (None, "cannot read None as rows; expected a frame, a list of tuples or dictionaries, a path"),
        (3, "cannot read 3 as rows"),
        (FRAME.to_dict(as_series=False), "cannot read a dict as rows"),
        (ROWS[0][:3], r"each row is a text, such as 'Ada'; expected tuples of subject, .* model.ask\(\*question\)"),
        (FRAME.drop("object"), "cannot find subject, predicate and object in the frame, which has subject, predicate,"),
        (pl.DataFrame(), "which has no columns; call its columns subject, predicate, object, time"),
        (FRAME.rename({"time": "begin"}), "the frame has a begin or an end for each row; expected one time"),
    ],
)
def test_what_is_no_table_is_said(source, message):
    with pytest.raises(BadRequest, match=message):
        rows_of(source)


def test_a_missing_file_is_said(tmp_path):
    with pytest.raises(BadInput, match=r"cannot read .*nowhere.csv: it does not exist; expected a file"):
        rows_of(tmp_path / "nowhere.csv")


def test_bad_rows_raise_with_their_place_or_are_returned():
    def read(subject, predicate, object, time=None):
        if subject == "Eve":
            raise BadRequest("nobody knows Eve")
        return subject

    rows = [ROWS[0], ("Eve", "leads", "?"), ("Ada",), 5, "Ada", ROWS[1]]
    found = read_all(rows, 3, read, "return")
    assert [one.row if isinstance(one, KnowwhenError) else one for one in found] == ["Ada", 2, 3, 4, 5, "Bob"]
    assert str(found[2]) == "1 value in ('Ada',); expected subject, predicate, object and time"
    assert str(found[3]) == "the row is 5; expected a tuple of subject, predicate, object, time, or a dictionary"
    with pytest.raises(BadRequest, match=r"^row 2: nobody knows Eve$"):
        read_all(rows, 3, read)
    with pytest.raises(BadRequest, match="errors is 'ignore'; expected 'raise' or 'return'"):
        read_all(rows, 3, read, "ignore")


@pytest.mark.parametrize(
    ("given", "text"),
    [
        (2012, "2012"),
        (2012.0, "2012"),
        (" 2012 ", "2012"),
        (None, ""),
        (math.nan, ""),
        (pd.NaT, ""),
        (date(2012, 5, 1), "2012-05-01"),
        (datetime(2012, 5, 1), "2012-05-01"),
        (pd.Timestamp("2012-05-01"), "2012-05-01"),
        (datetime(2012, 5, 1, 10, 30), "2012-05-01 10:30:00"),
    ],
)
def test_times_as_text(given, text):
    assert time_text(given) == text


def test_names_as_text():
    assert [name_text(name) for name in ("Ada ", 7, 7.0, None, math.nan)] == ["Ada ", "7", "7", "", ""]


@pytest.fixture(scope="module")
def model():
    facts = [(1, 10, 2, 2001), (1, 10, 3, 2002), (2, 10, 3, 2003)]
    return kw.train(kw.load(facts, fractions=(0, 0)), rank=2, epochs=1, overrides={"dating.passes": 1})


def test_numbers_are_names_too_and_blanks_do_not_matter(model):
    alone = model.ask("1", "10", "?", 2001)
    numbers = pl.DataFrame({"subject": [1], "predicate": [10.0], "object": ["?"], "time": [2001]})
    for found in (model.ask(1, 10, "?", 2001.0), model.ask(" 1", "10 ", " ? ", "2001"), *model.ask(numbers)):
        assert found == alone


def test_when_and_holds_take_rows_and_return_errors(model):
    rows = [(1, 10, 2, 2001), (9, 10, 2, 2001), (1, 10, 2, "soon"), (1, 10)]
    frame = pl.DataFrame([rows[0]], schema=HEADER, orient="row")
    assert model.when(frame)[0].to_dict() == model.when(1, 10, 2).to_dict()
    assert model.holds(frame) == [model.holds("1", "10", "2", "2001")]
    kinds = [type(one).__name__ for one in model.when(rows, errors="return")]
    assert kinds == ["When", "UnknownName", "When", "BadRequest"]
    found = model.holds(rows, errors="return")
    assert [type(one).__name__ for one in found] == ["Holds", "UnknownName", "BadDate", "BadRequest"]
    assert [(one.row, one.column) for one in found[1:]] == [(2, "subject"), (3, "time"), (4, None)]
    with pytest.raises(BadRequest, match="the predicate is empty; expected a name"):
        model.when(1, None, 2)


def test_a_batch_tells_its_progress(model):
    seen = []
    model.ask([(1, 10, "?")] * 1500, progress=lambda done, total: seen.append((done, total)))
    assert seen == [(1000, 1500), (1500, 1500)]


@pytest.mark.parametrize("option", [{"errors": "return"}, {"progress": True}])
def test_options_of_a_batch_are_not_for_one_question(model, option):
    with pytest.raises(BadRequest, match=f"{next(iter(option))} is for many questions, and this is one; leave it out"):
        model.ask(1, 10, "?", **option)
