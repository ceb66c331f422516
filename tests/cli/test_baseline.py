"""`knowwhen baseline`, run as a user runs it."""

import json

import pytest


def test_json_has_the_numbers_the_protocol_and_the_weights(knowwhen):
    done = knowwhen("baseline", "leaders", "--split", "valid", "--window", "20", "--sample", "50", "--json")
    values = json.loads(done.stdout)
    assert values["count"] == 100
    assert 0 < values["hits@1"] < values["mrr"] < values["hits@10"] <= 1
    assert values["protocol"]["filter"] == "time"
    assert (values["baseline"], values["split"], values["window"]) == ("pair-counts", "valid", 20)
    assert sum(values["weights"].values()) == pytest.approx(1)
    assert set(values["groups"]["support"]) <= {"same_time", "other_time", "none"}
    assert done.stderr == ""


def test_people_see_the_report_and_the_weights(knowwhen):
    done = knowwhen("baseline", "leaders", "--directions", "objects")
    assert done.returncode == 0
    assert "objects only" in done.stdout
    assert "pair not in train" in done.stdout
    assert done.stdout.splitlines()[-1].startswith("weights by distance in time (object: ")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere"], "knowwhen: no dataset, folder or file 'nowhere'"),
        (["leaders", "--split", "dev"], "knowwhen: unknown split 'dev'; expected train, valid, test"),
        (["leaders", "--ties", "lucky"], "knowwhen: ties is 'lucky'; expected half, pessimistic, optimistic"),
    ],
)
def test_mistakes_are_one_line(knowwhen, arguments, message):
    done = knowwhen("baseline", *arguments)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(message)
    assert done.stderr.count("\n") == 1
