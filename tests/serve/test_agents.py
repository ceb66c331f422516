"""The door for agents, asked by the SDK's own client: in this process, over stdio and over HTTP."""

import asyncio
import os
import shutil
import sys
import threading
import time
import urllib.error
import urllib.request
from contextlib import contextmanager

import httpx2
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

import knowwhen as kw
from knowwhen.serve.agents import create_door, door_app
from knowwhen.serve.guard import Rules
from knowwhen.serve.server import Server, address, bind, configured
from knowwhen.serve.service import Service
from tests.waiting import PATIENCE

FACT = {"subject": "office 0", "predicate": "held by", "object": "person 0 2"}


def call(server, *calls):
    """The results of some calls of one client: structured content, or the text of an error."""

    async def run():
        async with Client(server) as client:
            found = [await client.call_tool(name, arguments) for name, arguments in calls]
            return [one.content[0].text if one.is_error else one.structured_content for one in found]

    return asyncio.run(run())


@pytest.fixture(scope="module")
def door(model):
    return create_door(Service({"offices": model}))


def test_answers_have_a_probability_and_are_known_or_inferred(door, model):
    question = {"subject": "office 0", "predicate": "held by", "object": "?", "time": "2000"}
    (found,) = call(door, ("ask", {**question, "top": 3}))
    expected = model.ask(*question.values(), top=3)
    assert [answer["key"] for answer in found["answers"]] == [answer.key for answer in expected]
    for answer, one in zip(found["answers"], expected, strict=True):
        assert answer["status"] == ("known" if one.known else "inferred")
        assert answer["probability"] == pytest.approx(one.probability)


def test_dates_say_which_of_them_are_inferred(door):
    known, inferred, times = call(
        door, ("when", FACT), ("when", {**FACT, "infer": True}), ("ask", {**FACT, "time": "?"})
    )
    assert (known["begin_status"], known["end_status"], known["probability"]) == ("known", "known", 1.0)
    assert (inferred["begin_status"], inferred["end_status"]) == ("inferred", "inferred")
    assert inferred["probability"] < 1 and "times" not in inferred and "holds" not in inferred
    assert times["status"] == "known" and "probabilities" not in times


def test_whether_it_holds_names_and_entities(door, model):
    holds, names, entity, about = call(
        door,
        ("holds", {**FACT, "time": "2030"}),
        ("search_names", {"query": "offce 3"}),
        ("entity", {"name": "office 1", "time": "2000"}),
        ("about", {}),
    )
    assert holds["status"] == "inferred" and holds["beyond"]
    assert holds["probability"] == pytest.approx(model.holds(*FACT.values(), "2030").probability)
    assert names["names"][0]["key"].startswith("office")
    assert entity["status"] == "known" and {fact["predicate"] for fact in entity["facts"]} == {"held by", "in"}
    assert [one["key"] for one in about["predicates"]] == ["held by", "in"] and about["can_date_facts"]


def test_errors_are_texts_an_agent_can_act_on(door):
    unknown, both, limit = call(
        door,
        ("when", {**FACT, "subject": "Old Twon"}),
        ("ask", {**FACT, "time": "2000"}),
        ("ask", {**FACT, "time": "?", "top": 0}),
    )
    assert unknown.endswith("no entity 'Old Twon'; did you mean 'Old Town'?")
    assert "a question needs exactly one '?'" in both
    assert "top" in limit


def test_every_tool_says_what_it_does_and_whether_it_writes(model):
    async def tools(writable):
        async with Client(create_door(Service({"offices": model}, writable=writable))) as client:
            return {tool.name: tool for tool in (await client.list_tools()).tools}

    found = asyncio.run(tools(writable=True))
    assert set(found) == {
        "about", "ask", "entity", "holds", "read_edges", "search_names", "when", "write_edges",
    }  # fmt: skip
    assert all(tool.description for tool in found.values())
    assert [name for name, tool in found.items() if not tool.annotations.read_only_hint] == ["write_edges"]
    assert "write_edges" not in asyncio.run(tools(writable=False))


def test_edges_that_are_written_are_read_with_missing_ends_inferred(run, tmp_path):
    trained = kw.open(shutil.copytree(run, tmp_path / "offices"))
    edge = {"source": "office 1", "name": "held by", "target": "a newcomer", "valid_at": "2012-03-01T10:00:00Z"}
    added, read = call(
        create_door(Service({"offices": trained}, writable=True)),
        ("write_edges", {"edges": [{**edge, "uuid": "7", "fact": "Somebody new."}]}),
        ("read_edges", {"entity": "a newcomer", "time": "2014"}),
    )
    assert added["added"] == 1
    (found,) = read["edges"]
    assert (found["valid_at"], found["invalid_at"]) == ("2012", None)
    assert 0 <= found["holds"] <= 1 and 0 <= found["inferred"]["no_end"] <= 1
    assert found["inferred"]["valid_at"] is None


def test_over_stdio_as_an_agent_starts_it(run):
    command = StdioServerParameters(
        command=sys.executable, args=["-m", "knowwhen", "mcp", str(run)], env=dict(os.environ)
    )
    (found,) = call(command, ("search_names", {"query": "Old Town"}))
    assert found["names"][0]["key"] == "Old Town"


@contextmanager
def over_http(service, rules):
    listening = bind("127.0.0.1", 0)
    server = Server(configured(door_app(create_door(service), rules), service.settings))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    while not server.started:
        time.sleep(0.01)
    try:
        yield address(listening) + "mcp"
    finally:
        server.should_exit = True
        thread.join(PATIENCE)


def test_over_http_with_a_key(model):
    key = "a key of some length"

    async def about(url, headers):
        async with (
            httpx2.AsyncClient(headers=headers) as plain,
            Client(streamable_http_client(url, http_client=plain)) as client,
        ):
            return (await client.call_tool("about", {})).structured_content

    with over_http(Service({"offices": model}), Rules(key=key)) as url:
        assert asyncio.run(about(url, {"Authorization": f"Bearer {key}"}))["run"] == "offices"
        for headers, status in (({}, 401), ({"Authorization": f"Bearer {key}", "Host": "rebound.example"}, 421)):
            with pytest.raises(urllib.error.HTTPError, match=str(status)):
                urllib.request.urlopen(urllib.request.Request(url, b"{}", headers), timeout=PATIENCE)


def test_over_http_without_a_key(model):
    with over_http(Service({"offices": model}), Rules()) as url:
        (found,) = call(url, ("holds", {**FACT, "time": "2000"}))
        assert found["known"] == model.holds(*FACT.values(), "2000").known
