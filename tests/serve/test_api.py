"""The API over real HTTP: the library's own values, and its errors as problem details."""

import json
import re
from pathlib import Path

import pytest

from knowwhen.serve import responses as given
from knowwhen.serve.problems import Problem
from knowwhen.serve.settings import ServeSettings

QUESTION = {"subject": "office 0", "predicate": "held by", "object": "?", "time": "2000"}
FACT = {"subject": "office 0", "predicate": "held by", "object": "person 0 2"}


def as_json(value):
    return json.loads(json.dumps(value.to_dict()))


def test_answers_are_those_of_the_library(client, model):
    status, found = client.get("/api/ask", **QUESTION, top=5)
    assert (status, found) == (200, as_json(model.ask(*QUESTION.values(), top=5)))
    assert len(found["answers"]) == 5 and any(answer["known"] for answer in found["answers"])


def test_a_place_that_is_left_out_is_what_is_asked(client):
    asked = {name: value for name, value in QUESTION.items() if value != "?"}
    assert client.get("/api/ask", **asked) == client.get("/api/ask", **QUESTION)
    assert client.get("/api/ask", **{**QUESTION, "object": "_"}) == client.get("/api/ask", **QUESTION)


@pytest.mark.parametrize(
    "options",
    [
        {"novel": True},
        {"min_probability": 0.05},
        {"explain": True},
        {"candidates": ["person 0 1", "person 0 2"]},
        {"time": "1995..2003"},
        {"time": ""},
        {"object": "person 0 2", "time": "?"},
        {"object": "person 0 2", "time": "?", "explain": True},
        {"subject": "?", "object": "person 0 2"},
    ],
    ids=str,
)
def test_every_option_of_the_library_has_its_parameter(client, model, options):
    asked = {**QUESTION, **options}
    status, found = client.get("/api/ask", **asked)
    question = [asked.pop(name) for name in QUESTION]
    expected = model.ask(*question, **asked)
    assert (status, found) == (200, as_json(expected))


def test_candidates_that_training_saw(client, model):
    _, found = client.get("/api/ask", **QUESTION, candidates="seen", top=50)
    assert found == as_json(model.ask(*QUESTION.values(), candidates="seen", top=50))


def test_many_questions_are_answered_in_their_order(client):
    questions = [{**QUESTION, "time": str(year)} for year in range(1995, 2005)] + [{**FACT, "time": "?"}]
    status, found = client.post("/api/ask", {"questions": questions, "top": 2})
    assert status == 200
    alone = [client.get("/api/ask", **question, top=2)[1] for question in questions]
    for one, other in zip(found["results"], alone, strict=True):
        assert one["question"] == other["question"]
        assert [a["key"] for a in one.get("answers", ())] == [a["key"] for a in other.get("answers", ())]
        for a, b in zip(one.get("answers", ()), other.get("answers", ()), strict=True):
            assert a["probability"] == pytest.approx(b["probability"], rel=1e-4)


def test_when_is_that_of_the_library(client, model):
    expected = as_json(model.when(*FACT.values(), infer_known=True))
    assert client.get("/api/when", **FACT, infer=True) == (200, expected)
    assert client.post("/api/when", {"facts": [FACT], "infer": True}) == (200, {"results": [expected]})
    assert all(len(reason["keys"]) == 3 for reason in expected["reasons"])


def test_whether_a_fact_holds_is_that_of_the_library(client, model):
    asked = {**FACT, "time": "2030"}
    expected = as_json(model.holds(*asked.values()))
    assert client.get("/api/holds", **asked) == (200, expected) and expected["beyond"]
    known = {**FACT, "time": "2000"}
    _, found = client.post("/api/holds", {"facts": [asked, known]})
    assert [one["known"] for one in found["results"]] == [False, as_json(model.holds(*known.values()))["known"]]
    assert found["results"][0]["probability"] == pytest.approx(expected["probability"])


def test_what_holds_as_of_a_date_is_that_of_the_library(client, model):
    status, found = client.get("/api/as_of", subject="office 3", predicate="held by", time="2030", top=3)
    assert (status, found) == (200, as_json(model.as_of("office 3", "held by", "?", "2030", top=3)))
    assert found["beyond"] and found["answers"]


def test_timelines_and_neighbours(client, model):
    asked = {"subject": "office 0", "predicate": "held by", "span": "1995..2005"}
    assert client.get("/api/timeline", **asked) == (200, as_json(model.timeline(**asked)))
    named = {**asked, "objects": ["person 0 1", "person 0 2"]}
    assert client.get("/api/timeline", **named) == (200, as_json(model.timeline(**named)))
    assert client.get("/api/similar", entity="office 1", top=3) == (200, as_json(model.similar("office 1", 3)))


def test_names_are_completed_with_those_of_most_facts_first(client):
    status, found = client.get("/api/names", q="offi", limit=3)
    assert status == 200 and found["names"][0]["name"] == "office 0"
    assert [one["facts"] for one in found["names"]] == sorted((one["facts"] for one in found["names"]), reverse=True)
    assert [one["key"] for one in client.get("/api/names", q="town")[1]["names"]] == ["Old Town"]
    assert [one["key"] for one in client.get("/api/names", q="OLD TWON")[1]["names"]] == ["Old Town"]
    assert [one["key"] for one in client.get("/api/names", q="hel", kind="predicate")[1]["names"]] == ["held by"]
    assert len(client.get("/api/names", limit=4)[1]["names"]) == 4


def test_an_entity_has_its_facts_from_both_sides(client):
    status, found = client.get("/api/entity/office 0")
    assert status == 200 and found["total"] == len(found["facts"]) == 12
    assert {fact["side"] for fact in found["facts"]} == {"subject"}
    _, town = client.get("/api/entity/Old Town")
    assert town["total"] == 12 and {fact["side"] for fact in town["facts"]} == {"object"}
    _, then = client.get("/api/entity/office 1", time="2000")
    held = [fact for fact in then["facts"] if fact["predicate"] == "held by"]
    assert held and all(fact["begin"] <= "2000" <= fact["end"] for fact in held)
    _, some = client.get("/api/entity/Old Town", first=10, limit=5)
    assert some["facts"] == town["facts"][10:]


def test_strange_names_are_found_and_come_back_as_they_are(client, nasty):
    for name in nasty:
        status, found = client.get(f"/api/entity/{name}")
        assert (status, found["name"]) == (200, name)
        status, found = client.get("/api/ask", subject="?", predicate="in", object=name)
        assert status == 200


@pytest.mark.parametrize(
    ("shape", "path", "parameters"),
    [
        (given.Answers, "/api/ask", {**QUESTION, "explain": True}),
        (given.TimeAnswers, "/api/ask", {**FACT, "time": "?", "explain": True}),
        (given.When, "/api/when", {**FACT, "infer": True}),
        (given.Holds, "/api/holds", {**FACT, "time": "2030"}),
        (given.AsOf, "/api/as_of", {**QUESTION}),
        (given.Timeline, "/api/timeline", {"subject": "office 3", "predicate": "held by"}),
        (given.Neighbours, "/api/similar", {"entity": "office 3"}),
        (given.Names, "/api/names", {"q": "offi"}),
        (given.Entity, "/api/entity/office 3", {}),
        (given.Info, "/api/info", {}),
        (given.Evaluation, "/api/evaluation", {}),
        (Problem, "/api/entity/nobody", {}),
    ],
)
def test_answers_have_the_shape_that_is_described(client, shape, path, parameters):
    _, found = client.get(path, **parameters)
    shape.model_validate(found)


def test_info_says_what_is_served(client, model):
    status, found = client.get("/api/info")
    assert status == 200 and found["run"] == "offices"
    assert found["model"]["data_hash"] == model.dataset.hash
    assert found["times"] == model.dataset.timeline.labels()
    assert [one["key"] for one in found["predicates"]] == ["held by", "in"]
    assert found["limits"]["max_top"] == 50


def test_metrics_come_with_their_protocol(client, model):
    status, found = client.get("/api/evaluation")
    assert status == 200 and found["ranking"]["mrr"] == pytest.approx(model.evaluate("test").mrr)
    assert "filtered at the query's time" in found["ranking"]["protocol"]["text"]
    assert found["measured"] == found["facts"] == len(model.dataset.test)


@pytest.mark.parametrize(
    ("path", "parameters", "status", "error", "text"),
    [
        ("/api/ask", {**QUESTION, "subject": "offce 3"}, 404, "UnknownName", "no entity 'offce 3'; did you mean"),
        ("/api/ask", {**QUESTION, "object": "office 1"}, 400, "BadRequest", "a question needs exactly one '?'"),
        ("/api/ask", {**QUESTION, "time": "1800"}, 404, "TimeOutside", "before the first date"),
        ("/api/ask", {**QUESTION, "time": "soon"}, 422, "BadDate", "soon"),
        ("/api/ask", {**QUESTION, "top": 51}, 400, "BadRequest", "top: 51 given, but the limit is 50"),
        ("/api/ask", {**QUESTION, "top": 0}, 422, "BadRequest", "top: input should be greater than or equal to 1"),
        ("/api/ask", {**QUESTION, "tpo": 3}, 422, "BadRequest", "tpo: extra inputs are not permitted"),
        ("/api/ask", {**QUESTION, "run": "ofices"}, 404, "UnknownRun", "did you mean 'offices'?"),
        (
            "/api/timeline",
            {"subject": "office 0", "predicate": "in", "objects": ["Old Town"] * 101},
            400,
            "BadRequest",
            "objects: 101 given",
        ),
        ("/api/entity/nobody at all", {}, 404, "UnknownName", "no entity 'nobody at all'"),
        ("/api/nothing", {}, 404, "HTTPError", "no page or API at /api/nothing"),
    ],
)
def test_errors_are_problem_details(client, path, parameters, status, error, text):
    found = client.get(path, **parameters)
    assert found[0] == status == found[1]["status"]
    assert found[1]["error"] == error
    assert text in found[1]["detail"]


def test_suggestions_are_a_list_of_names(client):
    _, found = client.get("/api/ask", **{**QUESTION, "subject": "Old Twon"})
    assert found["suggestions"] == ["Old Town"]


def test_batches_have_a_limit(client):
    status, found = client.post("/api/ask", {"questions": [QUESTION] * 21})
    assert (status, found["detail"]) == (
        400,
        "questions: 21 given, but the limit is 20; send them in several requests",
    )


def test_the_page_and_its_headers(client):
    for path in ("/", "/ask?subject=x", "/entity", "/static/index.html"):
        status, headers, body = client.send("GET", path)
        assert status == 200 and b"<title>knowwhen" in body
        assert "script-src 'self'" in headers["Content-Security-Policy"]
        assert headers["X-Content-Type-Options"] == "nosniff" and headers["Referrer-Policy"] == "no-referrer"
    for path in ("/static/../app.py", "/static/%2e%2e/app.py", "/static/..%2fapp.py"):
        assert client.send("GET", path)[0] == 404
    assert "script-src" in client.send("GET", "/api/nothing")[1]["Content-Security-Policy"]


def test_the_documentation_of_the_api_is_ours_and_complete(client):
    _, _, page = client.send("GET", "/docs")
    assert not re.findall(rb"(?:src|href)=\"(?:https?:)?//", page)  # nothing from elsewhere
    for asset in re.findall(rb"(?:src|href)=\"(/static/[^\"]+)", page):
        assert client.send("GET", asset.decode())[0] == 200
    _, document = client.get("/openapi.json")
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            assert operation["description"], path
            assert all(parameter.get("description") for parameter in operation.get("parameters", ())), path
            body = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {})
            if body:
                assert document["components"]["schemas"][body["$ref"].rpartition("/")[2]]["examples"], path
            assert "200" in operation["responses"], (path, method)


def test_the_page_about_serving_has_a_row_for_every_limit():
    page = (Path(__file__).parents[2] / "docs" / "serving.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+)` \| (\S+) \| (.+) \|$", page.split("## Limits")[1], re.M)
    expected = [
        (name, "none" if field.default is None else str(field.default), field.description)
        for name, field in ServeSettings.model_fields.items()
    ]
    assert rows == expected
