"""Errors as programs see them: exported, with attributes, as values of JSON, and documented."""

import inspect
import json
import pickle
import re
from pathlib import Path

import pytest

import knowwhen as kw
from knowwhen import errors
from knowwhen.errors import KnowwhenError

CLASSES = {name: one for name, one in vars(errors).items() if inspect.isclass(one) and issubclass(one, KnowwhenError)}
PAGE = (Path(__file__).parents[1] / "docs" / "embedding.md").read_text(encoding="utf-8")


def test_every_class_is_exported_and_in_the_tree_of_the_module():
    assert set(CLASSES) <= set(kw.__all__)
    for name, one in CLASSES.items():
        assert getattr(kw, name) is one
        assert re.search(rf"\b{name}\b", errors.__doc__), name


@pytest.mark.parametrize("name", [name for name in CLASSES if name != "LostOthers"])
def test_every_class_is_documented(name):
    assert f"`{name}`" in PAGE


def caught(make):
    with pytest.raises(KnowwhenError) as found:
        make()
    return found.value


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (
            lambda: kw.load("leader"),
            {"error": "UnknownDataset", "name": "leader", "suggestions": ["leaders"]},
        ),
        (
            lambda: kw.load("leaders").entities.id("Frnce"),
            {"error": "UnknownName", "kind": "entity", "name": "Frnce", "suggestions": ["France", "franc"]},
        ),
        (
            lambda: kw.train("leaders", model="tntcomplx"),
            {"error": "UnknownModel", "name": "tntcomplx", "suggestions": ["tntcomplex"]},
        ),
        (
            lambda: kw.load([("Ada", "knows", None, 2001), ("Ada", "knows", "Bob", "soon")]),
            {
                "error": "BadFacts",
                "problems": [
                    {"file": "the table in memory", "line": 1, "column": "object", "found": "", "expected": "a name"},
                    {"file": "the table in memory", "line": 2, "column": "time", "found": "'soon'"},
                ],
            },
        ),
    ],
)
def test_errors_are_values_of_json(make, expected):
    error = caught(make)
    found = json.loads(json.dumps(error.to_dict()))
    assert found["message"] == str(error)
    problems = expected.pop("problems", [])
    assert {**found, **expected} == found
    for one, other in zip(found.get("problems", []), problems, strict=True):
        assert {**one, **other} == one
    for name in ("name", "suggestions", "kind"):
        if name in expected:
            value = getattr(error, name)
            assert (list(value) if isinstance(value, tuple) else value) == expected[name]


def test_a_place_is_there_where_one_is_known():
    error = errors.BadRequest("no")
    assert (error.row, error.column, error.to_dict()) == (None, None, {"error": "BadRequest", "message": "no"})
    error.row, error.column = 3, "time"
    assert error.to_dict() == {"error": "BadRequest", "message": "no", "row": 3, "column": "time"}


def test_errors_cross_processes():
    """A pool of processes pickles what is raised inside it."""
    for error in (
        errors.UnknownName("no x", ["y"], kind="entity", name="x"),
        errors.NotFound("no x", ["y"], name="x"),
        errors.MissingExtra("plotting", "plot"),
        errors.BadFacts("bad", []),
    ):
        error.row = 2
        again = pickle.loads(pickle.dumps(error))
        assert (type(again), str(again), again.to_dict()) == (type(error), str(error), error.to_dict())
