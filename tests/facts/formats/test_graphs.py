"""RDF in every syntax and KGTK: times on statements, on graphs and in qualifiers reach the facts."""

import bz2
import io

import pytest

import knowwhen as kw
from knowwhen.errors import BadInput, BadRequest

E = "http://example.org/"
FOUND = [
    (f"{E}Ada", f"{E}lives_in", f"{E}Town", None, None),
    (f"{E}Ada", f"{E}works_at", f"{E}Bakery", "2001", "2006"),
    (f"{E}Ada", f"{E}works_at", f"{E}City_Hall", "2014", None),
]
TURTLE = """
@prefix : <http://example.org/> . @prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
:Ada rdfs:label "Ada, die Bäckerin"@de, "Ada Lovelace"@en ; :age 36 ; :lives_in :Town .
"""
ANNOTATED = TURTLE + ":Ada :works_at :Bakery {| :startDate '2001'^^xsd:gYear ; :endDate '2006'^^xsd:gYear |} ."
ANNOTATED += "<< :Ada :works_at :City_Hall >> :valid_from '2014'^^xsd:gYear ."
RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
REIFIED = f"""{TURTLE} @prefix rdf: <{RDF}> .
[] a rdf:Statement ; rdf:subject :Ada ; rdf:predicate :works_at ; rdf:object :Bakery ; :begin '2001' ; :end '2006' .
[] rdf:subject :Ada ; rdf:predicate :works_at ; rdf:object :City_Hall ; :since '2014' .
[] rdf:subject :Ada ; rdf:predicate :works_at .
"""
GRAPHS = TURTLE + ":g1 :begin '2001' ; :end '2006' . :g2 :since '2014' . "
GRAPHS += ":g1 { :Ada :works_at :Bakery . } :g2 { :Ada :works_at :City_Hall . }"
XML = f"""<?xml version="1.0"?><rdf:RDF xmlns:rdf="{RDF}" xmlns="{E}">
<rdf:Description rdf:about="{E}Ada"><lives_in rdf:resource="{E}Town"/></rdf:Description>
<rdf:Statement><rdf:subject rdf:resource="{E}Ada"/><rdf:predicate rdf:resource="{E}works_at"/>
<rdf:object rdf:resource="{E}Bakery"/><begin>2001</begin><end>2006</end></rdf:Statement>
<rdf:Statement><rdf:subject rdf:resource="{E}Ada"/><rdf:predicate rdf:resource="{E}works_at"/>
<rdf:object rdf:resource="{E}City_Hall"/><begin>2014</begin></rdf:Statement></rdf:RDF>"""
JSON_LD = f"""[{{"@id": "{E}Ada", "{E}lives_in": {{"@id": "{E}Town"}}}},
{{"@id": "_:1", "{RDF}subject": {{"@id": "{E}Ada"}}, "{RDF}predicate": {{"@id": "{E}works_at"}},
"{RDF}object": {{"@id": "{E}Bakery"}}, "{E}begin": "2001", "{E}end": "2006"}},
{{"@id": "_:2", "{RDF}subject": {{"@id": "{E}Ada"}}, "{RDF}predicate": {{"@id": "{E}works_at"}},
"{RDF}object": {{"@id": "{E}City_Hall"}}, "{E}begin": "2014"}}]"""


def rows_of(data):
    return sorted(data.named(data.all_facts).rows(), key=str)


def write(path, content):
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def as_n_triples(text):
    import pyoxigraph as ox

    return ox.serialize(ox.parse(text, format=ox.RdfFormat.TURTLE), format=ox.RdfFormat.N_QUADS)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("f.ttl", ANNOTATED),
        ("f.ttl", REIFIED),
        ("f.trig", GRAPHS),
        ("f.nq", as_n_triples(ANNOTATED)),
        ("f.nt", as_n_triples(REIFIED)),
        ("f.rdf", XML),
        ("f.jsonld", JSON_LD),
        ("f.ttl.bz2", bz2.compress(ANNOTATED.encode())),
    ],
    ids=["annotations", "statements", "graphs", "n-quads", "n-triples", "xml", "json-ld", "bz2"],
)
def test_every_syntax_gives_the_same_facts(tmp_path, name, content):
    data = kw.load(write(tmp_path / name, content), fractions=(0, 0))
    assert rows_of(data) == FOUND
    assert data.predicates.id("works at") == data.predicates.id(f"{E}works_at")  # by its label
    assert len(data.entities) == 4
    stream = kw.load(io.BytesIO((tmp_path / name).read_bytes()), fractions=(0, 0))  # told by its first bytes
    assert (rows_of(stream), stream.name) == (FOUND, "facts")


def test_labels_literals_and_incomplete_statements_of_rdf(tmp_path):
    data = kw.load(write(tmp_path / "f.ttl", REIFIED), fractions=(0, 0))
    assert data.entities.label(data.entities.id(f"{E}Ada")) == "Ada Lovelace"  # English before others
    assert data.entities.label(data.entities.id(f"{E}City_Hall")) == "City Hall"
    assert data.counts == {"literal_values_left_out": 1, "incomplete_statements_left_out": 1}


def test_statements_of_wikidata(tmp_path):
    text = """@prefix wd: <http://www.wikidata.org/entity/> . @prefix p: <http://www.wikidata.org/prop/> .
    @prefix ps: <http://www.wikidata.org/prop/statement/> . @prefix pq: <http://www.wikidata.org/prop/qualifier/> .
    @prefix wdt: <http://www.wikidata.org/prop/direct/> . @prefix s: <http://www.wikidata.org/entity/statement/> .
    wd:Q76 p:P39 s:a ; wdt:P39 wd:Q11696 ; wdt:P19 wd:Q18094 .
    s:a ps:P39 wd:Q11696 ; pq:P580 "2009-01-20T00:00:00Z" ; pq:P582 "2017-01-20T00:00:00Z" ; pq:P1365 wd:Q207 ."""
    wd = "http://www.wikidata.org/entity/"
    data = kw.load(io.BytesIO(text.encode()), fractions=(0, 0))
    assert rows_of(data) == [
        (f"{wd}Q76", f"{wd}P19", f"{wd}Q18094", None, None),
        (f"{wd}Q76", f"{wd}P39", f"{wd}Q11696", "2009-01-20", "2017-01-20"),
    ]


def test_wikidata_says_how_exact_dates_are_and_its_other_nodes_are_no_facts():
    text = """@prefix wd: <http://www.wikidata.org/entity/> . @prefix p: <http://www.wikidata.org/prop/> .
    @prefix ps: <http://www.wikidata.org/prop/statement/> . @prefix pq: <http://www.wikidata.org/prop/qualifier/> .
    @prefix v: <http://www.wikidata.org/value/> . @prefix pqv: <http://www.wikidata.org/prop/qualifier/value/> .
    @prefix wikibase: <http://wikiba.se/ontology#> . @prefix s: <http://www.wikidata.org/entity/statement/> .
    wd:Q76 p:P39 s:a . <http://www.wikidata.org/reference/r> <http://www.wikidata.org/prop/reference/P248> wd:Q5 .
    s:a ps:P39 wd:Q11696 ; pqv:P580 v:b ; pq:P580 "2009-01-01T00:00:00Z" ; pq:P582 "2017-01-20T00:00:00Z" ;
      a wikibase:Statement ; wikibase:rank wikibase:NormalRank .
    v:b a wikibase:TimeValue ; wikibase:timeValue "2009-01-01T00:00:00Z" ; wikibase:timePrecision 9 ;
      wikibase:timeCalendarModel wd:Q1985727 ."""
    data = kw.load(io.BytesIO(text.encode()), fractions=(0, 0), granularity="year")
    assert data.named(data.all_facts)["subject"].to_list() == ["http://www.wikidata.org/entity/Q76"]
    by_day = kw.load(io.BytesIO(text.encode()), fractions=(0, 0), granularity="day")
    assert rows_of(by_day)[0][3:] == ("2009-01-01", "2017-01-20")
    assert data.counts == {"literal_values_left_out": 1}
    only = text.replace('; pq:P582 "2017-01-20T00:00:00Z"', "")
    assert kw.load(io.BytesIO(only.encode()), fractions=(0, 0)).timeline.granularity == "year"


@pytest.mark.parametrize("name", ["f.ttl", "f.rdf", "f.jsonld", "f.nt", "f.ttl.gz"])
def test_damaged_rdf_is_one_line(tmp_path, name):
    with pytest.raises(BadInput, match=r"cannot read .*f\.\S+ as RDF: |f\.ttl\.gz"):
        kw.load(write(tmp_path / name, "{ <a"))


KGTK = """id\tnode1\tlabel\tnode2
e1\tQ76\tP39\tQ11696
e2\tQ76\tP19\tQ18094
e3\tQ76\tP569\t^1961-08-04T00:00:00Z/11
e4\tQ76\tlabel\t'Barack Obama'@en
q1\te1\tP580\t^2009-01-20T00:00:00Z/9
q2\te1\tP582\t^2017-00-00T00:00:00Z/9
"""


def test_edges_and_qualifiers_of_kgtk(tmp_path):
    data = kw.load(write(tmp_path / "f.tsv", KGTK), fractions=(0, 0))
    found = [("Q76", "P19", "Q18094", None, None), ("Q76", "P39", "Q11696", "2009", "2017")]
    assert rows_of(data) == found
    assert data.entities.id("Barack Obama") == data.entities.id("Q76")
    assert data.counts == {"literal_values_left_out": 1}
    assert rows_of(kw.load(io.StringIO(KGTK), fractions=(0, 0))) == found
    lines = KGTK.splitlines(keepends=True)
    (tmp_path / "split").mkdir()
    write(tmp_path / "split" / "edges.tsv", "".join(lines[:5]))
    write(tmp_path / "split" / "qualifiers.tsv", lines[0] + "".join(lines[5:]))
    assert rows_of(kw.load(tmp_path / "split", fractions=(0, 0))) == found


def test_labels_that_kgtk_lifted_stand_beside_their_columns(tmp_path):
    text = "node1\tlabel\tnode2\tid\tnode1;label\tlabel;label\tnode2;label\n"
    text += (
        "Q76\tP39\tQ11696\te1\t'Barack Obama'@en\t'holds office'@en\t\ne1\tP580\t^2009-01-20T00:00:00Z/9\tq1\t\t\t\n"
    )
    data = kw.load(write(tmp_path / "f.tsv", text), fractions=(0, 0))
    assert rows_of(data) == [("Q76", "P39", "Q11696", "2009", None)]
    assert (data.entities.id("Barack Obama"), data.predicates.label(0)) == (data.entities.id("Q76"), "holds office")


@pytest.mark.parametrize(
    ("source", "format", "message"),
    [
        (
            io.StringIO("s,p,o\na,b,c\n"),
            "icews",
            "the format icews cannot be read from the file object; expected kgtk, rdf",
        ),
        ([("a", "b", "c")], "rdf", "a table in memory has no format 'rdf'"),
        ([("a", "b", "c")], "tabel", "unknown format 'tabel'.*did you mean 'table'"),
    ],
)
def test_a_format_that_does_not_fit_is_refused(source, format, message):
    with pytest.raises(BadRequest, match=message):
        kw.load(source, format=format)
