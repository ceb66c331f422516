"""Edges of an agent's memory: written as facts, read with what is inferred of their dates apart."""

import dataclasses
import datetime

import pytest

from knowwhen.errors import BadInput, UnknownName
from knowwhen.serve.edges import EdgeMemory, read_edge


@pytest.fixture
def memory(model):
    """Of a model without a folder, so that nothing is written."""
    return EdgeMemory(dataclasses.replace(model, path=None))


def test_known_dates_stay_and_missing_ones_are_inferred_apart(memory, model):
    edges = memory.read("office 3")
    by_dates = {(edge.target, edge.valid_at, edge.invalid_at): edge for edge in edges}
    (half,) = (edge for edge in edges if edge.valid_at and not edge.invalid_at)
    found = model.when("office 3", "held by", half.target)
    assert half.inferred.valid_at is None and half.inferred.valid_range is None
    assert half.inferred.no_end == pytest.approx(found.no_end)
    if found.no_end <= 0.5:
        assert (half.inferred.invalid_at, half.inferred.probability) == (found.end, pytest.approx(found.probability))
        assert half.inferred.invalid_range == found.end_range
    else:
        assert (half.inferred.invalid_at, half.inferred.probability) == (None, None)
    whole = [edge for edge in edges if edge.valid_at and edge.invalid_at]
    assert len(whole) == 4 and all(edge.inferred is None for edge in whole)
    assert by_dates["Old Town", None, None].inferred is None  # facts of this name have no time


def test_an_edge_without_dates_gets_both(memory, model):
    (edge,) = (edge for edge in memory.read("office 0") if edge.target == "person 9 9")
    found = model.when("office 0", "held by", "person 9 9")
    assert edge.inferred.valid_at == found.begin and edge.inferred.valid_range == found.begin_range


def test_with_a_time_edges_say_how_probably_they_hold(memory, model):
    for edge in memory.read("office 1", "2000"):
        assert edge.holds == pytest.approx(model.holds(edge.source, edge.name, edge.target, "2000").probability)
        assert edge.valid_at is None or edge.valid_at <= "2000"
    beyond = memory.read("office 3", "2040")
    assert beyond and all(0 <= edge.holds <= 1 for edge in beyond)


def test_written_edges_are_read_back(memory):
    edges = [
        {"source_node_uuid": "office 1", "name": "held by", "target_node_uuid": "Zoe", "valid_at": "2013-05-01T00:00Z"},
        {"source": "office 2", "name": "held by", "target": "Zoe", "valid_at": datetime.date(2015, 1, 1), "uuid": 3},
        {"source": "office 4", "name": "held by", "target": "Zoe", "invalid_at": datetime.datetime(2016, 2, 3, 4, 5)},
    ]
    found = memory.write(edges).read("Zoe")
    assert {(edge.source, edge.valid_at, edge.invalid_at) for edge in found} == {
        ("office 1", "2013", None),
        ("office 2", "2015", None),
        ("office 4", None, "2016"),
    }
    assert all(edge.inferred is not None for edge in found)
    assert next(edge for edge in found if edge.source == "office 4").inferred.valid_at is not None
    with pytest.raises(UnknownName, match="no entity 'Zoe'"):
        memory.read("Zoe")


def test_what_is_no_edge_is_said():
    with pytest.raises(BadInput, match="target of an edge: field required; expected source, name, target and dates"):
        read_edge({"source": "a", "name": "b"})
