"""Frames, lists and open files in place of paths."""

import datetime
import io
import subprocess
import sys

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import knowwhen as kw
from knowwhen.errors import BadRequest

ROWS = [("Ada", "works at", "Bakery", 2001, 2006), ("Ada", "works at", "City Hall", 2014, None)]
FOUND = [("Ada", "works at", "Bakery", "2001", "2006"), ("Ada", "works at", "City Hall", "2014", None)]
NAMES = ["subject", "predicate", "object", "begin", "end"]
CSV = "subject,predicate,object,begin,end\nAda,works at,Bakery,2001,2006\nAda,works at,City Hall,2014,\n"


class WithoutArrow:
    """pandas where pyarrow is not installed."""

    def __init__(self, frame):
        self.frame, self.columns = frame, frame.columns

    def __getitem__(self, name):
        return self.frame[name]

    def __dataframe__(self):
        raise ImportError("pyarrow")

    def __arrow_c_stream__(self, schema=None):
        raise ImportError("pyarrow")


def pandas():
    return pd.DataFrame(ROWS, columns=NAMES)


@pytest.mark.parametrize(
    "source",
    [
        pl.DataFrame(ROWS, schema=NAMES, orient="row"),
        pl.DataFrame(ROWS, schema=NAMES, orient="row").lazy(),
        pandas(),
        pandas().convert_dtypes(),
        WithoutArrow(pandas()),
        pa.Table.from_pandas(pandas()),
        ROWS,
        tuple(ROWS),
        (row for row in ROWS),
        [ROWS[0], (*ROWS[1][:4], float("nan"))],
        [dict(zip(NAMES, row, strict=True)) for row in ROWS],
        io.StringIO(CSV),
        io.BytesIO(CSV.encode("utf-16")),
    ],
    ids=lambda source: type(source).__name__,
)
def test_every_table_in_memory_gives_the_same_facts(source):
    data = kw.load(source, fractions=(0, 0))
    assert data.named(data.train).rows() == FOUND
    assert data.timeline.granularity == "year"


def test_rows_may_have_one_time_or_none_and_dates_of_python():
    data = kw.load([("a", "b", "c", datetime.date(2014, 3, 5)), ("a", "b", "d")], fractions=(0, 0))
    assert data.named(data.train).rows() == [("a", "b", "c", "2014-03-05", "2014-03-05"), ("a", "b", "d", None, None)]


def test_what_is_missing_in_pandas_or_infinite_stands_alone():
    rows = [("a", "b", "c", 2001.0, pd.NA), ("a", "b", "d", pd.NaT, float("nan"))]
    assert load_rows(rows) == [("a", "b", "c", "2001", None), ("a", "b", "d", None, None)]
    mixed = pd.DataFrame({"s": ["a", "a"], "p": ["b", "b"], "o": ["c", "d"], "time": [2001, "2002-03"]})
    assert load_rows(mixed, granularity="year") == [("a", "b", "c", "2001", "2001"), ("a", "b", "d", "2002", "2002")]
    endless = pl.DataFrame({"s": ["a", "a"], "p": ["b", "b"], "o": ["c", "d"], "time": [2001.0, float("inf")]})
    assert load_rows(endless, skip_bad=True, rejects=False) == [("a", "b", "c", "2001", "2001")]


def load_rows(source, **options):
    data = kw.load(source, fractions=(0, 0), **options)
    return data.named(data.train).rows()


def test_objects_in_dictionaries_are_columns_with_dots_and_never_names():
    rows = [{"subject": {"name": "a"}, "predicate": "b", "object": "c", "year": 2001, "tags": ["x"]}]
    assert load_rows(rows, columns={"subject": "subject.name"}) == [("a", "b", "c", "2001", "2001")]


def test_headers_are_recognised_in_frames_too_and_unused_ones_named():
    data = kw.load([{"head": "a", "rel": "b", "tail": "c", "From": 2001, "note": "x"}], fractions=(0, 0))
    assert data.named(data.train).rows() == [("a", "b", "c", "2001", None)]
    assert data.notes == ["the table in memory: 1 unused column: note"]


@pytest.mark.parametrize("name", ["facts.parquet", "facts.csv.gz", "facts.jsonl"])
def test_open_files_are_unpacked_and_recognised_by_their_bytes(tmp_path, name):
    import gzip

    frame = pl.DataFrame(FOUND, schema=NAMES, orient="row")
    content = {
        "facts.parquet": lambda: io_bytes(frame.write_parquet),
        "facts.csv.gz": lambda: gzip.compress(CSV.encode()),
        "facts.jsonl": lambda: frame.write_ndjson().encode(),
    }[name]()
    data = kw.load(io.BytesIO(content), fractions=(0, 0))
    assert data.named(data.train).rows() == FOUND
    (tmp_path / name).write_bytes(content)
    with (tmp_path / name).open("rb") as file:
        assert kw.load(file, fractions=(0, 0)).hash == data.hash


def io_bytes(write):
    file = io.BytesIO()
    write(file)
    return file.getvalue()


def test_standard_input_is_a_source():
    code = "import knowwhen as kw; data = kw.load('-', fractions=(0, 0)); print(data.named(data.train).rows())"
    done = subprocess.run([sys.executable, "-c", code], input=CSV, capture_output=True, text=True, check=True)
    assert done.stdout == f"{FOUND}\n"


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (3, "cannot read a int as a table; expected a path, a file object, a polars"),
        ([], "the list of rows is empty"),
        ([("a", "b")], r"the row \('a', 'b'\); expected a dictionary, or a tuple of subject, predicate, object or"),
        (["abc"], "cannot read the row 'abc'; expected a dictionary"),
        ([({"id": 1}, "b", "c")], r"cannot read \{'id': 1\} as a cell"),
        (pd.DataFrame([["a", "b", "c"]], columns=["s", "s", "o"]), "the DataFrame has two columns 's'"),
        (pl.scan_csv("nowhere.csv"), "cannot read this LazyFrame as a table: .*nowhere.csv"),
        ([("a", "b", "c", 1), ("a", "b", "c", 1, 2)], "some rows have one time and others have two"),
    ],
)
def test_what_is_no_table_is_said(source, message):
    with pytest.raises(BadRequest, match=message):
        kw.load(source)


def test_a_dataset_prints_in_one_line():
    assert repr(kw.load(ROWS, fractions=(0, 0))) == (
        "<Dataset 'facts': 2 train facts, 3 entities, 1 predicate, 2001 to 2014 by year>"
    )
