import gzip
import json

import msgspec
import pytest

from benchmarks.dumps import entity, item, snak, statement
from knowwhen.wikidata.lines import Parser

PARSER = Parser(("en", "mul"))


def lines_of(path):
    text = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    return [line.strip(b" ,") for line in text.split(b"\n") if line.strip(b" ,[]")]


@pytest.mark.parametrize("file", ["first-50-lines.json", "wdtk_sample-dump-20150815.json.gz"])
def test_real_lines_say_the_same_cut_and_whole(real_data, file):
    for line in lines_of(real_data("wikidata-dump-sample") / file):
        cut = PARSER.parse(line)
        assert cut == PARSER.parse_whole(line)
        naive = json.loads(line)
        assert (cut.type, cut.id) == (naive["type"], naive["id"])
        assert cut.label == (naive["labels"]["en"]["value"] if naive.get("labels") else None)
        assert {p: len(found) for p, found in cut.claims.items()} == {p: len(s) for p, s in naive["claims"].items()}


def test_keys_in_another_order_are_read_whole():
    line = json.loads(entity(42, [(31, statement(snak(31, item(5))))]))
    turned = json.dumps(dict(reversed(line.items()))).encode()
    found = PARSER.parse(turned)
    assert found == PARSER.parse(json.dumps(line).encode())
    assert (found.id, found.claims["P31"][0].mainsnak.value.item) == ("Q42", 5)


def test_a_text_that_looks_like_a_key_is_a_text():
    tricky = ',"claims":{"P1":[]},"sitelinks":'
    line = json.loads(entity(42, [(31, statement(snak(31, item(5)))), (18, statement(snak(18, tricky)))]))
    line["labels"]["en"]["value"] = line["descriptions"]["en"]["value"] = tricky
    text = json.dumps(line, separators=(",", ":")).encode()
    assert PARSER.parse(text) == PARSER.parse_whole(text)
    assert PARSER.parse(text).label == tricky
    assert list(PARSER.parse(text).claims) == ["P31", "P18"]


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        ({"en": "Ann", "mul": "A.", "fr": "Anne"}, "Ann"),
        ({"mul": "A.", "fr": "Anne"}, "A."),
        ({"fr": "Anne"}, None),
        ([], None),
    ],
)
def test_the_label_is_in_the_first_language_that_has_one(labels, expected):
    if isinstance(labels, dict):
        labels = {lang: {"language": lang, "value": text} for lang, text in labels.items()}
    line = json.dumps({"type": "item", "id": "Q1", "labels": labels, "claims": []}).encode()
    assert PARSER.parse(line).label == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (item(5), 5),
        ({"entity-type": "item", "numeric-id": 5}, 5),
        ({"entity-type": "item", "id": "Q5"}, 5),
        ({"entity-type": "item", "id": "Qx"}, None),
        ({"entity-type": "item", "id": ""}, None),
        ({"entity-type": "property", "numeric-id": 5}, None),
        ({"entity-type": "property", "numeric-id": 5, "id": "P5"}, None),
        ({"entity-type": "lexeme", "id": "L5"}, None),
        ({"entity-type": "form", "id": "L5-F1"}, None),
        ({"latitude": 1, "longitude": 2, "precision": 0.01}, None),
        ({"latitude": 1, "longitude": 2, "precision": None}, None),
    ],
)
def test_only_items_have_an_item_number(value, expected):
    (found,) = PARSER.parse(entity(1, [(7, statement(snak(7, value, kind="any")))])).claims["P7"]
    assert found.mainsnak.value.item == expected


@pytest.mark.parametrize("value", ["text", 7, 7.5, True, None, [1, {"a": 2}]])
def test_values_of_kinds_unheard_of_do_not_spoil_the_entity(value):
    line = entity(1, [(7, statement(snak(7, value, kind="new"))), (31, statement(snak(31, item(5))))])
    assert PARSER.parse(line).claims["P31"][0].mainsnak.value.item == 5
    assert PARSER.parse(line).claims["P7"][0].mainsnak.value is None


@pytest.mark.parametrize(
    "line", [b"", b"{", b"nonsense", b"[]", b'{"type":"item"}', b'{"type":"item","id":7}', b"\xff"]
)
def test_lines_that_are_no_entity_are_an_error(line):
    with pytest.raises(msgspec.DecodeError):
        PARSER.parse(line)


def test_a_line_that_breaks_off_where_nothing_is_read_is_an_error_too():
    line = entity(1, [(31, statement(snak(31, item(5))))])
    with pytest.raises(msgspec.DecodeError):
        PARSER.parse(line[:-20])
