"""Questions that arrive together are answered together, each with its own answer or its own error."""

import asyncio
import json
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from knowwhen.serve.gathering import Gatherer


def gather(asked, *, window=0.05, most=100, batches=None, hold=None):
    """The answers to what is asked at once; `batches` gets what was answered together."""

    def answer(some):
        if hold is not None:
            hold.wait(60)
        if batches is not None:
            batches.append(list(some))
        return [ValueError(one) if one < 0 else 10 * one for one in some]

    async def ask_all():
        with ThreadPoolExecutor(1) as pool:
            gatherer = Gatherer(answer, pool, window=window, most=most)
            first = asyncio.create_task(gatherer.ask(asked[0]))
            await asyncio.sleep(0)
            rest = [asyncio.create_task(gatherer.ask(one)) for one in asked[1:]]
            await asyncio.sleep(0.02)
            if hold is not None:
                hold.set()
            return await asyncio.gather(first, *rest, return_exceptions=True)

    return asyncio.run(ask_all())


def test_what_comes_while_a_batch_is_answered_is_the_next_batch():
    batches = []
    assert gather([1, 2, 3, 4], batches=batches, hold=threading.Event()) == [10, 20, 30, 40]
    assert batches == [[1], [2, 3, 4]]


def test_a_batch_has_a_limit():
    batches = []
    assert gather(list(range(8)), most=3, batches=batches, hold=threading.Event()) == [10 * i for i in range(8)]
    assert max(map(len, batches)) == 3


def test_an_error_is_that_of_one_question():
    found = gather([1, -2, 3])
    assert [found[0], found[2]] == [10, 30]
    assert isinstance(found[1], ValueError)


def test_an_error_of_the_whole_batch_reaches_everyone():
    def fail(some):
        raise RuntimeError("no model")

    async def ask():
        with ThreadPoolExecutor(1) as pool:
            gatherer = Gatherer(fail, pool, window=0.0, most=10)
            return await asyncio.gather(gatherer.ask(1), gatherer.ask(2), return_exceptions=True)

    assert [str(error) for error in asyncio.run(ask())] == ["no model", "no model"]


def test_who_goes_away_is_not_answered_and_keeps_nobody_waiting():
    batches, hold = [], threading.Event()

    def answer(some):
        hold.wait(60)
        batches.append(list(some))
        return list(some)

    async def ask():
        with ThreadPoolExecutor(1) as pool:
            gatherer = Gatherer(answer, pool, window=0.01, most=10)
            tasks = [asyncio.create_task(gatherer.ask(i)) for i in range(3)]
            await asyncio.sleep(0.03)
            tasks[1].cancel()
            later = asyncio.create_task(gatherer.ask(7))
            gone = asyncio.create_task(gatherer.ask(8))
            await asyncio.sleep(0.03)
            gone.cancel()
            await asyncio.sleep(0)
            hold.set()
            return await asyncio.gather(*tasks, later, return_exceptions=True)

    found = asyncio.run(ask())
    assert [found[0], found[2], found[3]] == [0, 2, 7]
    assert 8 not in [one for batch in batches for one in batch]


def test_answers_under_load_are_those_of_one_by_one(client):
    years = [str(year) for year in range(1991, 2012)]
    questions = [
        {"subject": f"office {i % 12}", "predicate": "held by", "object": "?", "time": years[i % len(years)]}
        for i in range(60)
    ]
    questions[7]["subject"] = "nobody"
    alone = [client.get("/api/ask", **question) for question in questions]
    with ThreadPoolExecutor(16) as pool:
        together = list(pool.map(lambda question: client.get("/api/ask", **question), questions))
    for (status, one), (other_status, other) in zip(alone, together, strict=True):
        assert status == other_status
        if status != 200:
            assert one == other
            continue
        assert [row["key"] for row in one["answers"]] == [row["key"] for row in other["answers"]]
        for a, b in zip(one["answers"], other["answers"], strict=True):
            assert a["probability"] == pytest.approx(b["probability"], rel=1e-5)
            assert a["spans"] == b["spans"]
    assert together[7][0] == 404
    _, _, text = client.send("GET", "/metrics")
    lines = dict(line.rsplit(" ", 1) for line in text.decode().splitlines() if not line.startswith("#"))
    assert float(lines["knowwhen_batch_questions_sum"]) > float(lines["knowwhen_batch_questions_count"])
    assert json.loads(lines['knowwhen_requests_total{route="/api/ask",method="GET",status="404"}']) >= 2
