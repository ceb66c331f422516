"""When facts were recorded: against a dictionary, and across a longer time axis."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

import knowwhen as kw
from knowwhen.cli.main import app
from knowwhen.errors import BadFacts, BadRequest
from knowwhen.facts.dates import Granularity
from knowwhen.facts.recorded import LONG_AGO, Recorded
from knowwhen.facts.table import OPEN, Facts
from knowwhen.facts.timeline import Timeline

YEARS = Timeline(Granularity.YEAR, np.array([1990, 1995, 2001]))
rows = st.lists(
    st.tuples(*[st.integers(0, 2)] * 3, st.integers(OPEN, 2), st.integers(OPEN, 2), st.none() | st.integers(0, 9)),
    min_size=1,
    max_size=12,
)


def facts_of(some) -> Facts:
    return Facts(*(np.array(column, np.int64) for column in zip(*(row[:5] for row in some), strict=True)))


def days_of(some) -> np.ndarray:
    return np.array([LONG_AGO if row[5] is None else row[5] for row in some], np.int64)


@given(rows, rows)
def test_the_first_day_of_each_fact(some, asked):
    first: dict[tuple, int] = {}
    for row in some:
        if row[5] is not None:
            first[row[:5]] = min(row[5], first.get(row[:5], row[5]))
    recorded = Recorded.of(facts_of(some), YEARS, days_of(some))
    found = recorded.days_of(facts_of(asked), YEARS)
    assert found.tolist() == [first.get(row[:5], LONG_AGO) for row in asked]
    assert recorded.by(facts_of(asked), YEARS, 4).tolist() == [first.get(row[:5], 0) <= 4 for row in asked]
    assert len(recorded) == len(first)


@given(rows, rows)
def test_both_together_are_one(some, more):
    parts = [Recorded.of(facts_of(part), YEARS, days_of(part)) for part in (some, more)]
    one = Recorded.of(facts_of(some + more), YEARS, days_of(some + more))
    asked = facts_of(some + more)
    assert (parts[0].joined(parts[1]).days_of(asked, YEARS) == one.days_of(asked, YEARS)).all()


@given(rows)
def test_a_longer_axis_changes_nothing(some):
    longer = Timeline(Granularity.YEAR, np.array([1980, 1990, 1992, 1995, 2001, 2007]))
    places = np.array([1, 3, 4, OPEN])
    facts = facts_of(some)
    moved = Facts(facts.subject, facts.predicate, facts.object, places[facts.begin], places[facts.end])
    recorded = Recorded.of(facts, YEARS, days_of(some))
    assert (recorded.days_of(moved, longer) == recorded.days_of(facts, YEARS)).all()


ROWS = """subject,predicate,object,begin,end,created_at
Ada,works at,Bakery,2001,2006,2002-01-15
Ada,works at,Library,2006,,2008
Ben,works at,Bakery,2003,2010,
Ben,works at,Library,2010,,2011-05
"""


def test_a_table_says_when_its_facts_were_recorded(tmp_path):
    (tmp_path / "facts.csv").write_text(ROWS)
    data = kw.load(tmp_path / "facts.csv", fractions=(0.0, 0.0))
    assert len(data.known_by("2002-01-14").train) == 1  # of one nobody says when: it is always known
    assert len(data.known_by("2002").train) == 2
    assert len(data.known_by("2008-12-30").train) == 2  # a year is over on its last day
    assert len(data.known_by("2011-05-31").train) == 4
    data.save(tmp_path / "mine")
    again = kw.load(tmp_path / "mine")
    assert again.hash == data.hash
    assert len(again.known_by("2002").train) == 2


def test_a_bad_date_of_recording_names_the_column(tmp_path):
    (tmp_path / "facts.csv").write_text(ROWS.replace("2011-05", "soon"))
    with pytest.raises(BadFacts, match=r"created_at: 'soon' is not a date; expected the day it was recorded"):
        kw.load(tmp_path / "facts.csv")


def test_without_such_a_column_it_says_how_to_name_one():
    with pytest.raises(BadRequest, match=r"leaders does not say when its facts were recorded; .* recorded=COLUMN"):
        kw.load("leaders").known_by("2000")


def test_a_model_answers_by_what_was_known_then(tmp_path):
    rows = [f"p{i},works at,firm {i % 5},{1990 + i},{1993 + i},{1991 + i}" for i in range(20)]
    (tmp_path / "facts.csv").write_text("\n".join([ROWS.splitlines()[0], *rows, "p3,works at,firm 9,2005,,2007-02-01"]))
    evidence = {"model.evidence": ["pair_history"], "model.rank": 4, "training.epochs": 2}
    model = kw.train(kw.load(tmp_path / "facts.csv", fractions=(0.0, 0.0)), overrides=evidence, run=tmp_path / "run")
    question = ("p3", "works at", "firm 9", "?")
    assert model.ask(*question).known and not model.known_by("2006").ask(*question).known
    assert model.ask(*question).known  # the model itself is as it was
    later, earlier = (one.ask("p3", "works at", "?", 2000, top=30) for one in (model, model.known_by("2006")))
    assert {row.name: row.score for row in later} != {row.name: row.score for row in earlier}
    new = model.add([("p4", "works at", "firm 9", "2006", "2008")], columns={})
    assert len(new.known_by("2006").dataset.added) == 1  # nobody says when it was recorded
    done = CliRunner().invoke(app, ["ask", str(tmp_path / "run"), *question, "--known-by", "2006", "--json"])
    assert done.exit_code == 0 and json.loads(done.stdout)["known"] == []
