"""Anyone's table: what is recognised, what comes out, and what is said of bad rows."""

import gzip

import polars as pl
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

import knowwhen as kw
from knowwhen.errors import BadFacts, BadInput, BadRequest
from knowwhen.facts.formats.delimited import _read_irregular, _read_regular
from knowwhen.facts.formats.problems import Problems

CSV = """subject,predicate,object,begin,end
France,has president,Charles de Gaulle,1959,1969
France,has president,Georges Pompidou,1969,1974
"France, again",has president,"Valéry ""VGE"" Giscard",1974-05-27,1981
France,has president,Emmanuel Macron,2017,
France,has capital,Paris,,
"""
HEADER = ["subject", "predicate", "object", "begin", "end"]
FACTS = [
    ("France", "has president", "Charles de Gaulle", "1959", "1969"),
    ("France", "has president", "Georges Pompidou", "1969", "1974"),
    ("France, again", "has president", 'Valéry "VGE" Giscard', "1974", "1981"),
    ("France", "has president", "Emmanuel Macron", "2017", None),
    ("France", "has capital", "Paris", None, None),
]


def write(path, content):
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def rows_of(dataset):
    return sorted(dataset.named(dataset.all_facts).rows(), key=str)


def frame():
    return pl.DataFrame(FACTS, schema=HEADER, orient="row")


@pytest.mark.parametrize(
    "make",
    [
        lambda folder: write(folder / "f.csv", CSV),
        lambda folder: write(folder / "f.csv", CSV.replace("\n", "\r\n")),
        lambda folder: write(folder / "f.csv", b"\xef\xbb\xbf" + CSV.encode()),
        lambda folder: write(folder / "f.csv.gz", gzip.compress(CSV.encode())),
        lambda folder: write(folder / "f.csv.zst", zstandard.compress(CSV.encode())),
        lambda folder: write(
            folder / "f.tsv", "\n".join("\t".join(x or "" for x in r) for r in [frame().columns, *FACTS])
        ),
        lambda folder: write(folder / "f.jsonl", frame().write_ndjson()),
        lambda folder: frame().write_parquet(folder / "f.parquet") or folder / "f.parquet",
    ],
    ids=["csv", "crlf", "bom", "gz", "zst", "tsv", "jsonl", "parquet"],
)
def test_every_kind_of_table_gives_the_same_facts(tmp_path, make):
    dataset = kw.load(make(tmp_path), fractions=(0, 0))
    assert rows_of(dataset) == sorted(FACTS, key=str)
    assert dataset.timeline.granularity == "year"  # most dates are years; 1974-05-27 is read as one


def test_typed_columns_of_parquet_are_dates(tmp_path):
    table = pl.DataFrame({"s": ["a"], "p": ["b"], "o": ["c"], "date": ["2014-03-01"]}).with_columns(
        pl.col("date").str.to_date()
    )
    table.write_parquet(tmp_path / "f.parquet")
    assert rows_of(kw.load(tmp_path / "f.parquet")) == [("a", "b", "c", "2014-03-01", "2014-03-01")]
    table.with_columns(date=pl.Series([2014.0])).write_parquet(tmp_path / "g.parquet")
    assert rows_of(kw.load(tmp_path / "g.parquet")) == [("a", "b", "c", "2014", "2014")]


@pytest.mark.parametrize(
    "header", ["subject,predicate,object,time", "Head,Relation,Tail,Date", "s,p,o,t", "source,rel,target,year"]
)
def test_usual_headers_are_recognised(tmp_path, header):
    dataset = kw.load(write(tmp_path / "f.csv", f"{header}\na,b,c,1999\n"))
    assert rows_of(dataset) == [("a", "b", "c", "1999", "1999")]


def test_the_axis_of_a_table_has_the_years_at_which_a_fact_holds(tmp_path):
    path = write(tmp_path / "f.csv", "s,p,o,begin,end\na,b,c,2001,2004\na,b,d,2006,2006\na,b,d,2009,2010\n")
    data = kw.load(path, fractions=(0, 0))
    assert data.timeline.labels() == ["2001", "2002", "2003", "2004", "2006", "2009", "2010"]
    data.save(tmp_path / "saved")
    assert kw.load(tmp_path / "saved").hash == data.hash
    assert 'axis = "filled"' in (tmp_path / "saved" / "dataset.toml").read_text()


def test_columns_are_mapped_by_name_or_by_number(tmp_path):
    named = write(tmp_path / "f.csv", "who,does,what,on\na,b,c,1999\n")
    wanted = {"subject": "who", "predicate": "does", "object": "what", "time": "on"}
    assert rows_of(kw.load(named, columns=wanted)) == [("a", "b", "c", "1999", "1999")]
    bare = write(tmp_path / "g.tsv", "1999\tc\tb\ta\n2000\tc\tb\ta\n")
    numbers = {"subject": "4", "predicate": "3", "object": "2", "time": "1"}
    assert rows_of(kw.load(bare, columns=numbers)) == [("a", "b", "c", "1999", "1999"), ("a", "b", "c", "2000", "2000")]


@pytest.mark.parametrize(
    ("columns", "error", "message"),
    [
        (
            None,
            BadInput,
            "cannot find the columns for subject and object in .*, which has who, predicate, what; name the columns",
        ),
        ({"subject": "whom"}, BadRequest, r"no column 'whom' in .*; it has who, predicate, what; did you mean 'who'\?"),
        ({"subjct": "who"}, BadRequest, r"no column 'subjct'; ours are subject.*did you mean 'subject'\?"),
    ],
)
def test_columns_that_cannot_be_told(tmp_path, columns, error, message):
    with pytest.raises(error, match=message):
        kw.load(write(tmp_path / "f.csv", "who,predicate,what\na,b,c\n"), columns=columns)


BAD_ROWS = [
    ("a,b,c,1999,extra", r"f\.csv:3: 5 columns in 'a,b,c,1999,extra'; expected 4 \(s, p, o, time\)"),
    ("a,b", r"f\.csv:3: 2 columns in 'a,b'; expected 4"),
    (",b,c,1999", r"f\.csv:3: s: empty; expected a name"),
    ("a, ,c,1999", r"f\.csv:3: p: empty; expected a name"),
    ("a,b,\u3000\xa0,1999", r"f\.csv:3: o: empty; expected a name"),
    ("a,b,c,someday", r"f\.csv:3: time: 'someday' is not a date; expected YYYY"),
    ("a,b,c,2014-02-30", r"f\.csv:3: time: '2014-02-30' is not a date; expected a day from 1 to 28"),
    (b"a,b,\xff\xfe,1999", r"f\.csv:3: 'a,b,.*' is not UTF-8 text; expected UTF-8"),
]


@pytest.mark.parametrize(("row", "message"), BAD_ROWS, ids=[str(row) for row, _ in BAD_ROWS])
def test_a_bad_row_is_named_with_its_place_and_skipped_on_demand(tmp_path, row, message):
    row = row if isinstance(row, bytes) else row.encode()
    path = write(tmp_path / "f.csv", b"s,p,o,time\na,b,c,1998\n" + row + b"\nd,b,c,2000\n")
    with pytest.raises(BadFacts, match=message):
        kw.load(path)
    dataset = kw.load(path, skip_bad=True, rejects=tmp_path / "rejects.tsv")
    assert rows_of(dataset) == [("a", "b", "c", "1998", "1998"), ("d", "b", "c", "2000", "2000")]
    assert dataset.counts["bad_rows_skipped"] == 1
    header, rejected = (tmp_path / "rejects.tsv").read_text().splitlines()
    assert header == "file\tline\tcolumn\tfound\texpected\trow"
    assert rejected.startswith(f"{path}\t3\t")


def test_names_may_begin_with_any_letter_and_lose_blanks_around_them(tmp_path):
    path = write(tmp_path / "f.csv", "s,p,o,time\nÉ,\u3000b, c,1999\n日本,~,!,1999\nÉ\xa0,b,c ,2000\n")
    data = kw.load(path, fractions=(0, 0))
    named = [("É", "b", "c", "1999", "1999"), ("É", "b", "c", "2000", "2000"), ("日本", "~", "!", "1999", "1999")]
    assert rows_of(data) == named
    assert data.notes == [f"{path}: removed spaces around names in 4 cells"]


def test_a_null_is_no_name(tmp_path):
    pl.DataFrame({"s": ["a", "a"], "p": ["b", None], "o": ["c", "c"]}).write_parquet(tmp_path / "f.parquet")
    with pytest.raises(BadFacts, match=r"f\.parquet:2: p: empty; expected a name"):
        kw.load(tmp_path / "f.parquet")


def test_an_end_before_the_begin_is_bad(tmp_path):
    path = write(tmp_path / "f.csv", "s,p,o,begin,end\na,b,c,2001,1999\n")
    with pytest.raises(BadFacts, match=r"f\.csv:2: end: '2001' to '1999' ends before it begins; expected the begin"):
        kw.load(path)


def test_lines_are_counted_through_quotes_and_blanks(tmp_path):
    path = write(tmp_path / "f.csv", 's,p,o,time\n"a\nb",p,o,1999\n\na,p,o,never\n')
    with pytest.raises(BadFacts, match=r"f\.csv:5: time: 'never' is not a date"):
        kw.load(path)


def test_reading_stops_at_twenty_problems(tmp_path):
    path = write(tmp_path / "f.csv", "s,p,o,time\n" + "a,b,c,never\n" * 30)
    with pytest.raises(BadFacts, match="stopped after 20 bad rows") as caught:
        kw.load(path)
    assert len(caught.value.problems) == 20
    with pytest.raises(BadInput, match="no facts are left"):
        kw.load(path, skip_bad=True, rejects=tmp_path / "rejects.tsv")
    assert len((tmp_path / "rejects.tsv").read_text().splitlines()) == 31


def test_json_lines_that_are_not_objects_are_named(tmp_path):
    path = write(tmp_path / "f.jsonl", '{"s":"a","p":"b","o":"c","time":1999}\n[1]\n{"s":"a"\n')
    with pytest.raises(BadFacts, match=r"(?s)l:2: '\[1\]' is not a JSON object; expected one object.*l:3: "):
        kw.load(path)
    dataset = kw.load(path, skip_bad=True, rejects=tmp_path / "r.tsv")
    assert rows_of(dataset) == [("a", "b", "c", "1999", "1999")]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("f.csv", b"", r"f\.csv is empty"),
        ("f.csv.gz", b"not gzip", r"cannot read .*f\.csv\.gz"),
        ("f.csv.zst", b"not zstd", r"cannot read .*f\.csv\.zst"),
        ("f.parquet", b"not parquet", r"cannot read .*f\.parquet as Parquet"),
        (
            "f.doc",
            b"facts",
            r"the format of .*f\.doc; expected a file ending in \.csv.* or --format folder",
        ),
        (
            "f.csv",
            b"\xc3\x28\na",
            r"f\.csv:1: the header is not UTF-8 text; .*such as --encoding",
        ),
    ],
)
def test_files_that_hold_no_table(tmp_path, name, content, message):
    with pytest.raises(BadInput, match=message):
        kw.load(write(tmp_path / name, content))


def test_a_folder_of_splits_keeps_them_and_needs_train(tmp_path):
    for i, split in enumerate(("train", "valid", "test")):
        write(tmp_path / f"{split}.csv", f"s,p,o,time\nentity {i},b,c,1999\n")
    dataset = kw.load(tmp_path)
    assert [rows[0][0] for rows in map(rows_of_split, [dataset] * 3, ("train", "valid", "test"))] == [
        "entity 0",
        "entity 1",
        "entity 2",
    ]
    (tmp_path / "train.csv").unlink()
    with pytest.raises(BadInput, match=r"no train file in .*; found test\.csv, valid\.csv"):
        kw.load(tmp_path)


def rows_of_split(dataset, split):
    return dataset.named(dataset.facts(split)).rows()


NAMES = st.text(st.characters(codec="utf-8", exclude_characters="\r\n\t"), min_size=1)


def test_short_rows_are_seen_behind_quotes_too(tmp_path):
    path = write(tmp_path / "f.csv", 's,p,o,begin,end\n"a, b",p,o,1999,\n"a, b",p,o,1999\n')
    with pytest.raises(BadFacts, match=r"f\.csv:3: 4 columns in"):
        kw.load(path)


@given(st.lists(st.tuples(NAMES, NAMES, NAMES), min_size=1))
def test_the_fast_and_the_slow_reader_agree(rows):
    data = "".join("\t".join(row) + "\n" for row in rows).encode()
    columns = ["subject", "predicate", "object"]
    fast = _read_regular(data, columns, "\t", None, {3}, 1)
    slow = _read_irregular(data, columns, "\t", None, {3}, 1, "f", Problems())
    assert slow.rows() == [(*row, i) for i, row in enumerate(rows, start=1)]
    assert fast is None or fast.rows() == slow.rows()
