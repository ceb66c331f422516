"""Tables as people have them: nothing is lost or falsified in silence."""

import bz2
import io
import lzma
import zipfile

import polars as pl
import pytest

import knowwhen as kw
from knowwhen.errors import BadFacts, BadInput, BadRequest

ROW = ("Ada", "works at", "Café", "2001", "2006")


def write(path, content, encoding="utf-8"):
    path.write_bytes(content if isinstance(content, bytes) else content.encode(encoding))
    return path


def rows_of(dataset):
    return sorted(dataset.named(dataset.all_facts).rows(), key=str)


def load(path, **options):
    return kw.load(path, fractions=(0, 0), **options)


@pytest.mark.parametrize(
    ("header", "begin", "end"),
    [
        ("subject,predicate,object,From,To", "2001", "2006"),
        ("subject,predicate,object,year,end", "2001", "2006"),
        ("subject,predicate,object,Start Year,end-year", "2001", "2006"),
        ("From,rel,To,Begin,Finish", "2001", "2006"),
        ("subject,predicate,object,valid_at,invalid_at", "2001", "2006"),
        (":START_ID(Person),:TYPE,:END_ID,since:int,until:int", "2001", "2006"),
        ("source_node_uuid,name,target_node_uuid,valid_at,invalid_at", "2001", "2006"),
    ],
)
def test_times_are_found_under_the_headers_people_use(tmp_path, header, begin, end):
    data = load(write(tmp_path / "f.csv", f"{header}\nAda,works at,Café,2001,2006\n"))
    assert rows_of(data) == [("Ada", "works at", "Café", begin, end)]
    assert data.notes == []


def test_from_and_to_are_ends_of_an_edge_where_they_hold_no_dates(tmp_path):
    data = load(write(tmp_path / "f.csv", "from,relation,to,date\nAda,likes,Ben,1999\n"))
    assert rows_of(data) == [("Ada", "likes", "Ben", "1999", "1999")]


def test_columns_that_are_not_used_are_named_and_so_is_a_table_without_times(tmp_path):
    path = write(tmp_path / "f.csv", "s,p,o,Time,begin,why\na,b,c,1998,1999,x\n")
    assert load(path).notes == [f"{path}: 2 unused columns: Time, why"]
    assert rows_of(load(path)) == [("a", "b", "c", "1999", None)]
    path = write(tmp_path / "g.csv", "s,p,o,on\na,b,c,1999\n")
    assert load(path).notes == [
        f"{path}: 1 unused column: on",
        "no fact has a time; if a column holds it, name it: --columns time=A, or begin=A,end=B",
    ]


def test_blanks_around_names_make_no_other_entities(tmp_path):
    data = load(write(tmp_path / "f.csv", 's,p,o,time\n" Chloë",likes,Ben,1999\nChloë,likes\xa0,"Ben ",2000\n'))
    assert data.entities.keys.to_list() == ["Ben", "Chloë"] and data.predicates.keys.to_list() == ["likes"]
    assert data.report.files[0].trimmed == 3


@pytest.mark.parametrize("name", ["dev", "val", "Validation"])
def test_valid_has_other_names_and_files_that_are_not_read_are_named(tmp_path, name):
    for split in ("train", name, "notes"):
        write(tmp_path / f"{split}.csv", f"s,p,o,time\n{split},b,c,1999\n")
    data = kw.load(tmp_path)
    assert (len(data.train), len(data.valid)) == (1, 1)
    assert data.notes == ["ignored files that are not train, valid (or dev) or test: notes.csv"]


def test_objects_inside_json_are_columns_with_dots_and_never_names(tmp_path):
    lines = '{"subject": {"id": 0, "name": "e0"}, "p": "likes", "o": "b", "time": 1999}\n'
    path = write(tmp_path / "f.jsonl", lines)
    with pytest.raises(BadInput, match=r"for subject in .*f\.jsonl, which has subject\.id, subject\.name, p, o, time"):
        load(path)
    assert rows_of(load(path, columns={"subject": "subject.name"})) == [("e0", "likes", "b", "1999", "1999")]
    path = write(tmp_path / "g.jsonl", lines + '{"subject": "e1", "p": "likes", "o": ["b"], "time": 1999}\n')
    with pytest.raises(BadFacts, match=r"g\.jsonl:1: subject: empty(?s:.*)g\.jsonl:2: o: empty"):
        load(path)


def test_a_list_of_objects_is_read_too(tmp_path):
    path = write(
        tmp_path / "f.json", '[{"s": "a", "p": "b", "o": "c", "time": 1999},\n {"s": "d", "p": "b", "o": "c"}]'
    )
    assert rows_of(load(path)) == [("a", "b", "c", "1999", "1999"), ("d", "b", "c", None, None)]


CELLS = "subject,predicate,object,begin,end\nAda,works at,Café,2001,2006\n"


def zipped(name, text):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as file:
        file.writestr(name, text)
        file.writestr(f"__MACOSX/{name}", "x")
    return packed.getvalue()


@pytest.mark.parametrize(
    ("name", "content", "options"),
    [
        ("f.csv", CELLS.replace(",", ";"), {}),
        ("f.csv", "sep=;\n" + CELLS.replace(",", ";"), {}),
        ("f.csv", CELLS.replace(",", "\t"), {}),
        ("f.txt", CELLS.replace(",", "|"), {}),
        ("f.tsv", CELLS, {}),
        ("f.csv", CELLS.replace(",", "#"), {"separator": "#"}),
        ("f.csv", CELLS.replace("\n", "\r"), {}),
        ("f.csv", CELLS.encode("utf-16"), {}),
        ("f.csv", CELLS.encode("utf-16-le"), {}),
        ("f.csv", b"\xff\xfe\0\0" + CELLS.encode("utf-32-le"), {}),
        ("f.csv", CELLS.encode("latin-1"), {"encoding": "latin-1"}),
        ("f.csv", CELLS.replace("end\n", "end,,\n"), {}),
        ("f.csv", CELLS.replace("\n", ",,\n"), {}),
        ("f.csv", CELLS + ",,,,\n", {}),
        ("f.csv", CELLS.partition("\n")[2] + "Ada,works at,Café,2001,2006\n", {}),
        ("f.csv.bz2", bz2.compress(CELLS.encode()), {}),
        ("f.csv.xz", lzma.compress(CELLS.encode()), {}),
        ("f.zip", zipped("facts.csv", CELLS), {}),
        ("f.csv.zip", zipped("data.txt", CELLS), {}),
    ],
    ids=lambda value: repr(value)[:20],
)
def test_every_way_to_write_a_table_gives_the_same_fact(tmp_path, name, content, options):
    assert rows_of(load(write(tmp_path / name, content), **options)) == [ROW]


def test_workbooks_are_read_with_their_dates(tmp_path):
    data = load(write(tmp_path / "f.xlsx", workbook()))
    assert rows_of(data) == [("Ada", "works at", "Café", "2001-02-03", None)]


def workbook():
    """A small .xlsx by hand: a header and a row whose fourth cell is a date."""
    cells = [["subject", "predicate", "object", "begin", "end"], ["Ada", "works at", "Café", 36925, None]]
    rows = ""
    for r, row in enumerate(cells, 1):
        found = ""
        for c, value in zip("ABCDE", row, strict=True):
            if isinstance(value, str):
                found += f'<c r="{c}{r}" t="inlineStr"><is><t>{value}</t></is></c>'
            elif value is not None:
                found += f'<c r="{c}{r}" s="1"><v>{value}</v></c>'
        rows += f'<row r="{r}">{found}</row>'
    main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    package = "http://schemas.openxmlformats.org/package/2006"
    kind = "application/vnd.openxmlformats"

    def links(**targets):
        found = (f'<Relationship Id="{i}" Type="{office}/{i}" Target="{target}"/>' for i, target in targets.items())
        return f'<Relationships xmlns="{package}/relationships">{"".join(found)}</Relationships>'

    parts = {
        "[Content_Types].xml": f'<Types xmlns="{package}/content-types">'
        f'<Default Extension="rels" ContentType="{kind}-package.relationships+xml"/>'
        '<Default Extension="xml" ContentType="application/xml"/><Override PartName="/xl/workbook.xml" '
        f'ContentType="{kind}-officedocument.spreadsheetml.sheet.main+xml"/></Types>',
        "_rels/.rels": links(officeDocument="xl/workbook.xml"),
        "xl/workbook.xml": f'<workbook xmlns="{main}" xmlns:r="{office}">'
        '<sheets><sheet name="a" sheetId="1" r:id="worksheet"/></sheets></workbook>',
        "xl/_rels/workbook.xml.rels": links(worksheet="worksheets/sheet1.xml", styles="styles.xml"),
        "xl/styles.xml": f'<styleSheet xmlns="{main}">'
        '<cellXfs count="2"><xf numFmtId="0"/><xf numFmtId="14"/></cellXfs></styleSheet>',
        "xl/worksheets/sheet1.xml": f'<worksheet xmlns="{main}"><sheetData>{rows}</sheetData></worksheet>',
    }
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as file:
        for name, text in parts.items():
            file.writestr(name, f'<?xml version="1.0" encoding="UTF-8"?>{text}')
    return packed.getvalue()


def test_repeated_and_empty_headers_get_names_of_their_own(tmp_path):
    data = load(write(tmp_path / "f.csv", "s,p,o,time,note,note,\na,b,c,1999,1,2,3\n"))
    assert data.report.files[0].unused == ["note", "note (2)", "column 7"]


def test_a_table_without_a_header_says_how_it_was_read(tmp_path):
    path = write(tmp_path / "f.csv", "Ada,likes,Ben,1999\nBen,likes,Ada,2000\n")
    data = load(path)
    assert rows_of(data) == [("Ada", "likes", "Ben", "1999", "1999"), ("Ben", "likes", "Ada", "2000", "2000")]
    assert "has no header" in data.notes[0]
    path = write(tmp_path / "g.csv", "Ada,likes,Ben\nBen,likes,Ada\n")
    assert len(load(path).train) == 2


def test_a_table_of_pairs_takes_one_predicate(tmp_path):
    path = write(tmp_path / "f.csv", "person,company,from\nAda,Bakery,2001\n")
    columns = {"subject": "person", "object": "company"}
    with pytest.raises(
        BadInput, match=r'for predicate in .* which has person, company, from; .*--predicate "works at"'
    ):
        load(path, columns=columns)
    assert rows_of(load(path, columns=columns, predicate="works at")) == [("Ada", "works at", "Bakery", "2001", None)]


@pytest.mark.parametrize(
    ("content", "options", "error", "message"),
    [
        ("s,p,o\na,b,c\n", {"separator": "ab"}, BadRequest, "--separator is 'ab'; expected one character"),
        ("s,p,o\na,b,c\n", {"encoding": "utf-99"}, BadRequest, "unknown encoding 'utf-99'"),
        (b"s,p,o\na,b,\xff\n", {"encoding": "ascii"}, BadInput, "is not ASCII text: .*name its encoding"),
        (b"s,p,o\na,b,\xff\n", {}, BadFacts, "is not UTF-8 text; expected UTF-8, or .* --encoding cp1252"),
    ],
)
def test_what_cannot_be_read_says_what_to_type(tmp_path, content, options, error, message):
    with pytest.raises(error, match=message):
        load(write(tmp_path / "f.csv", content), **options)


def test_a_zip_file_of_two_tables_is_named_with_both(tmp_path):
    with zipfile.ZipFile(tmp_path / "f.zip", "w") as file:
        file.writestr("a.csv", CELLS)
        file.writestr("b.csv", CELLS)
    with pytest.raises(BadInput, match=r"contains 2 files \(a\.csv, b\.csv\); expected one"):
        load(tmp_path / "f.zip")


def test_hours_are_kept_on_demand_and_their_loss_is_said(tmp_path):
    rows = "".join(f"a,b,c,2014-03-05T{hour:02}:15:00\n" for hour in range(5))
    path = write(tmp_path / "f.csv", f"s,p,o,time\n{rows}")
    data = load(path)
    assert data.timeline.labels() == ["2014-03-05"] and data.counts == {"duplicates_left_out": 4}
    assert data.notes == [f"{path}: dropped the time of day of 5 dates; --granularity hour keeps it"]
    hours = load(path, granularity="hour")
    assert hours.timeline.labels() == [f"2014-03-05T{hour:02}" for hour in range(5)]
    assert len(hours.train) == 5 and hours.notes == []
    assert hours.timeline.ids("2014-03-05T01..2014-03-05T02") == range(1, 3)
    assert load(path, granularity="minute").timeline.labels()[0] == "2014-03-05T00:15"
    hours.save(tmp_path / "saved")
    assert kw.load(tmp_path / "saved").hash == hours.hash


def test_frames_with_dates_and_times_are_read_as_they_are(tmp_path):
    frame = pl.DataFrame({"s": ["a"], "p": ["b"], "o": ["c"], "time": ["2014-03-05 10:11:00"]})
    frame = frame.with_columns(pl.col("time").str.to_datetime())
    assert rows_of(load(frame, granularity="minute")) == [("a", "b", "c", "2014-03-05T10:11", "2014-03-05T10:11")]


def test_nodes_beside_relationships_of_neo4j_are_labels(tmp_path):
    table = '"_id","_labels","name","_start","_end","_type","since"\n0,":Person","Ada",,,,\n1,":Firm","Bakery",,,,\n'
    data = load(write(tmp_path / "f.csv", table + ',,,0,1,"WORKS_AT",2001\n'))
    assert rows_of(data) == [("0", "WORKS_AT", "1", "2001", None)]
    assert [data.entities.label(i) for i in range(2)] == ["Ada", "Bakery"] and data.notes == []


def test_rows_may_end_in_separators_that_the_header_leaves_out(tmp_path):
    path = write(tmp_path / "f.csv", "s,p,o,year\na,b,c,1999,\na,b,d,2000,,\na,b,e,2001\na,b,f,2002,x\n")
    data = load(path, skip_bad=True, rejects=False)
    assert [row[2] for row in rows_of(data)] == ["c", "d", "e"]
    assert [problem.line for rows in data.report.causes.values() for problem in rows] == [5]


@pytest.mark.parametrize("recorded", ["1394582400000", "12.03.2014", "2014-03-12T10:00:00+00:00", "March 12, 2014"])
def test_the_day_of_recording_may_be_written_in_any_way(tmp_path, recorded):
    data = load(write(tmp_path / "f.csv", f's,p,o,year,created_at\na,b,c,1999,"{recorded}"\n'))
    assert len(data.known_by("2014-03-11").train) == 0
    assert len(data.known_by("2014-03-12").train) == 1


def test_accents_make_no_other_entities(tmp_path):
    path = write(tmp_path / "f.csv", "s,p,o,year\nChlo\u00eb,b,c,1999\nChloe\u0308,b,d,2000\n")
    data = load(path)
    assert [row[0] for row in rows_of(data)] == ["Chlo\u00eb"] * 2
    assert data.notes == [f"{path}: wrote accents in one way (Unicode NFC) in 1 cell"]


@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        ("person,firm\na,b\n", {}, r'name it: --columns subject=person,object=firm --predicate "works at"$'),
        ("person,firm,year\na,b,1999\n", {}, "--columns subject=person,object=firm,time=year --predicate"),
        ("person,firm\na,b\n", {"predicate": "works"}, r"name the columns: --columns subject=person,object=firm \("),
        ("subject,object\na,b\n", {}, 'the same predicate, name it: --predicate "works at"'),
        ("a b,c d,e f\nx,y,z\n", {}, "--columns 'subject=a b,predicate=c d,object=e f' "),
        ("Country,Office,Holder,Source\na,b,c,d\n", {}, "--columns subject=Country,predicate=Office,object=Holder "),
        ("subject\na\n", {}, "expected at least a subject and an object"),
    ],
)
def test_columns_that_are_not_found_are_guessed_from_those_that_are_left(tmp_path, content, options, message):
    with pytest.raises(BadInput, match=message):
        load(write(tmp_path / "f.csv", content), **options)


def test_columns_of_nested_objects_are_guessed_by_name(tmp_path):
    text = '{"subject": {"id": 0, "name": "e"}, "predicate": "p", "object": {"id": 1, "name": "f"}, "time": "2001"}'
    guess = "--columns subject=subject.name,predicate=predicate,object=object.name,time=time "
    with pytest.raises(BadInput, match=guess):
        load(write(tmp_path / "f.jsonl", text))


def test_bad_rows_show_what_the_file_has(tmp_path):
    path = write(tmp_path / "f.csv", "s,p,o,From,To\na,b,c,31.12.2006,01.02.2001\na,b,d,30.02.2006,\n")
    rejects = tmp_path / "rejects.tsv"
    with pytest.raises(
        BadFacts, match=r"(?s)From: '30.02.2006' is not a date.*To: '31.12.2006' to '01.02.2001' ends bef"
    ):
        load(path)
    with pytest.raises(kw.BadInput):
        load(path, skip_bad=True, rejects=rejects)
    assert "a\tb\tc\t31.12.2006\t01.02.2001" in rejects.read_text()
    path = write(tmp_path / "g.csv", "s,p,o,years\na,b,c,2006-2001\n")
    with pytest.raises(BadFacts, match="years: '2006-2001' ends before it begins"):
        load(path)
