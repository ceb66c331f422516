from collections import Counter

from benchmarks.dumps import entity, item, moment, snak, statement
from knowwhen.facts.dates import day_number
from knowwhen.wikidata.lines import Parser
from knowwhen.wikidata.statements import Extract

PARSER = Parser(("en",))


def year(number, predicate=580):
    return [snak(predicate, moment(f"+{number}-00-00T00:00:00Z"), kind="time")]


def extract(*statements, number=1, kind="item"):
    found = Extract()
    found.add(PARSER.parse(entity(number, list(statements), kind)))
    return found


def test_an_item_gives_its_label_and_a_fact_for_each_span():
    found = extract(
        (6, statement(snak(6, item(2)), P580=year(1990), P582=year(1995))), (36, statement(snak(36, item(3)))), number=7
    )
    assert found.labels == [("Q", 7, 'Q7 in "en"')]
    assert found.facts == [
        (7, 6, 2, day_number(1990, 1, 1), day_number(1995, 12, 31)),
        (7, 36, 3, None, None),
    ]
    assert found.counts == {"items": 1, "statements": 2}
    assert found.facts_frame().rows() == found.facts
    assert found.labels_frame().rows() == found.labels


def test_every_statement_that_is_no_fact_is_counted_under_one_rule():
    found = extract(
        (1, statement(snak(1, "text"))),
        (1, statement(snak(1, {"amount": "+1", "unit": "1"}, kind="quantity"))),
        (1, statement(snak(1, item(2)), rank="deprecated")),
        (1, statement(snak(1, "text"), rank="deprecated")),
        (1, statement(snak(1, snaktype="somevalue"))),
        (1, statement(snak(1, snaktype="novalue"))),
        (1, statement(snak(1, snaktype="riddle"))),
        (1, statement({"snaktype": "value", "property": "P1"})),
        (1, statement(snak(1, item(2)), P580=year(1990), P582=year(1980))),
        (1, statement(snak(1, item(2)), rank="preferred")),
    )
    rules = {name: count for name, count in found.counts.items() if name.startswith("removed")}
    assert rules == {
        "removed_value_not_an_item": 2,
        "removed_deprecated": 2,
        "removed_value_unknown_or_none": 2,
        "removed_unknown_snak_type": 2,
        "removed_begin_after_end": 1,
    }
    assert len(found.facts) == found.counts["statements"] - sum(rules.values()) == 1


def test_several_spans_of_a_statement_are_several_facts():
    times = {"P580": year(1990) + year(2000), "P582": year(1995) + year(2005)}
    found = extract((6, statement(snak(6, item(2)), **times)))
    assert (len(found.facts), found.counts["added_by_several_times"]) == (2, 1)


def test_a_property_gives_its_label_alone_and_other_kinds_nothing():
    found = extract((31, statement(snak(31, item(5)))), number=6, kind="property")
    assert found.labels == [("P", 6, 'P6 in "en"')]
    assert (found.facts, found.counts) == ([], Counter(properties=1))
    other = Extract()
    other.add(PARSER.parse(b'{"type":"lexeme","id":"L5","claims":{}}'))
    assert (other.labels, other.counts) == ([], Counter(entities_of_other_kinds=1))


def test_an_empty_list_of_qualifiers_and_a_strange_predicate_do_no_harm():
    strange = b'"X":[{"mainsnak":{"snaktype":"novalue"}}]'
    plain = b'"P1":[{"mainsnak":{"snaktype":"value","datavalue":{"value":{"id":"Q2"}}},"qualifiers":[]}]'
    found = Extract()
    found.add(PARSER.parse(b'{"type":"item","id":"Q1","claims":{' + strange + b"," + plain + b"}}"))
    assert found.facts == [(1, 1, 2, None, None)]
    assert found.counts["removed_unknown_predicate"] == 1
