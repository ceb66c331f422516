"""Facts that are added while a server answers."""

import shutil
import threading

import pytest

import knowwhen as kw
from knowwhen.serve.service import Service
from knowwhen.serve.settings import ServeSettings

NEW = {"subject": "office 1", "predicate": "held by", "object": "a newcomer", "begin": "2012", "end": "2013"}
QUESTION = {"subject": "office 1", "predicate": "held by", "object": "?", "time": "2012"}


@pytest.fixture
def folder(run, tmp_path):
    return shutil.copytree(run, tmp_path / "offices")


@pytest.fixture
def writable(folder, serving):
    with serving(Service({"offices": kw.open(folder)}, ServeSettings(max_facts=5), writable=True)) as client:
        yield client


def test_a_fact_is_known_at_once_and_kept(writable, folder):
    status, found = writable.post("/api/facts", {"facts": [NEW]})
    assert status == 200
    assert found == {"run": "offices", "added": 1, "added_in_all": 1, "new_entities": 1, "new_timestamps": 0}
    _, answers = writable.get("/api/ask", **QUESTION, candidates=["a newcomer"])
    assert answers["answers"][0]["spans"] == [["2012", "2013"]]
    assert writable.get("/api/names", q="newc")[1]["names"][0]["facts"] == 1
    assert writable.get("/api/entity/a newcomer")[1]["total"] == 1
    assert len(kw.open(folder).dataset.added) == 1


@pytest.mark.parametrize(
    ("facts", "status", "text"),
    [
        ([{**NEW, "end": "2001"}], 422, "ends before it begins"),
        ([NEW, {**NEW, "begin": "whenever"}], 422, "nothing was added: 1 of 2 facts is bad"),
        ([{**NEW, "predicate": "is fond of"}], 400, "train again to use a new predicate"),
        ([NEW] * 6, 400, "facts: 6 given, but the limit is 5"),
        ([{**NEW, "ende": "2013"}], 422, "extra inputs are not permitted"),
        ([], 422, "at least 1 item"),
        ([{**NEW, "subject": " "}], 422, "empty; expected a name"),
    ],
)
def test_a_bad_fact_adds_nothing(writable, folder, facts, status, text):
    found = writable.post("/api/facts", {"facts": facts})
    assert found[0] == status and text in found[1]["detail"]
    assert len(kw.open(folder).dataset.added) == 0


def test_a_server_takes_no_facts_unless_told(client):
    status, found = client.post("/api/facts", {"facts": [NEW]})
    assert (status, found["error"]) == (403, "NotWritable")


def test_labels_stand_for_their_keys(world):
    vocabulary = world.dataset().entities
    assert [vocabulary.key_of(name) for name in ("Ada Lovelace", "Ada", "Zed")] == ["Ada", "Ada", "Zed"]


def test_questions_are_answered_while_facts_are_added(writable):
    stop, statuses = threading.Event(), []

    def ask():
        while not stop.is_set():
            statuses.append(writable.get("/api/ask", **QUESTION)[0])

    askers = [threading.Thread(target=ask) for _ in range(3)]
    for asker in askers:
        asker.start()
    for i in range(4):
        fact = {**NEW, "object": f"newcomer {i}", "begin": str(2020 + i), "end": None}
        assert writable.post("/api/facts", {"facts": [fact]})[0] == 200
    stop.set()
    for asker in askers:
        asker.join()
    assert set(statuses) == {200} and len(statuses) > 4
    assert writable.get("/api/info")[1]["model"]["added_facts"] == 4
