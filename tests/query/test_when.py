"""When facts hold: known, half-known and inferred, on a planted world through a trained model."""

import json

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import knowwhen as kw
from knowwhen.cli.main import app
from knowwhen.errors import BadRequest


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Terms of four years, one after the other, in twelve offices; some without an end, one predicate without dates."""
    folder = tmp_path_factory.mktemp("when")
    rng, rows = np.random.default_rng(0), []
    for office in range(12):
        first = 1990 + int(rng.integers(0, 6))
        for k in range(5):
            begin, end = str(first + 4 * k), str(first + 4 * k + 4)
            end = "" if (office, k) == (3, 2) else end
            rows.append((f"office {office}", "held by", f"person {office} {k}", begin, end))
        rows.append((f"office {office}", "in", "town", "", ""))
    rows.append(("office 0", "held by", "person 9 9", "", ""))
    rows += [("office 5", "held by", "person 5 0", str(2020 + i), str(2022) if not i else "") for i in (0, 4)]
    frame = pl.DataFrame(rows, schema=["subject", "predicate", "object", "begin", "end"], orient="row")
    frame.write_csv(folder / "facts.csv")
    data = kw.load(folder / "facts.csv", fractions=(0.1, 0.1))
    kw.train(data, run=folder / "run", overrides={"dating.passes": 4, "training.epochs": 1, "model.rank": 4})
    return folder / "run"


@pytest.fixture(scope="module")
def model(run):
    return kw.open(run)


def a_fact(model, split="train"):
    facts = model.dataset.named(model.dataset.facts(split))
    return facts.filter((pl.col("begin") != "") & pl.col("end").is_not_null()).row(0, named=True)


def test_what_is_known_is_the_answer(model):
    fact = a_fact(model)
    found = model.when(fact["subject"], fact["predicate"], fact["object"])
    assert (found.begin, found.end, found.inferred) == (fact["begin"], fact["end"], ())
    assert found.probability == 1 and found.known == ((fact["begin"], fact["end"]),)


def test_a_missing_end_is_inferred_given_the_begin(model):
    found = model.when("office 3", "held by", "person 3 2")
    assert found.inferred == ("end",) and found.begin == found.begin_range[0] == found.begin_range[1]
    assert int(found.end) - int(found.begin) == 4
    assert 0 < found.probability < 1 and found.known[0][1] is None


def test_a_known_fact_is_inferred_from_others_where_asked(model):
    fact = a_fact(model)
    found = model.when(fact["subject"], fact["predicate"], fact["object"], infer_known=True)
    assert found.inferred == ("begin", "end") and found.reasons
    assert all(reason.value > 0 for reason in found.reasons)
    assert fact["object"] not in {reason.object for reason in found.reasons if reason.predicate == fact["predicate"]}
    assert int(found.begin_range[0]) <= int(found.begin) or int(found.begin) <= int(found.begin_range[1])


def test_many_at_once_are_as_one_by_one(model):
    rows = [("office 3", "held by", "person 3 2"), ("office 0", "held by", "person 1 1")]
    for one, row in zip(model.when(rows), rows, strict=True):
        alone = model.when(*row)
        assert one.to_dict() == alone.to_dict()
    named = model.when([dict(zip(("subject", "predicate", "object"), rows[0], strict=True))])
    assert named[0].to_dict() == model.when(*rows[0]).to_dict()


def test_ask_gives_the_same_span(model):
    told = model.when("office 0", "held by", "person 1 1")
    answers = model.ask("office 0", "held by", "person 1 1", "?")
    assert (answers[0].begin, answers[0].end) == (told.begin, told.end)
    assert answers.probabilities.sum() == pytest.approx(1)


def test_without_a_time_head(model):
    bare = kw.train(model.dataset, overrides={"training.epochs": 1, "model.rank": 2})
    with pytest.raises(BadRequest, match=r"no time head; train with --set dating.passes=4"):
        bare.when("office 0", "held by", "person 0 0")
    assert bare.ask("office 0", "held by", "person 0 0", "?").spans  # read off the decomposition's curve


def test_filling_keeps_what_is_known_and_marks_what_is_not(model):
    filled = model.fill()
    known = filled.filter(pl.col("begin").is_not_null() & pl.col("end").is_not_null())
    assert known["inferred_begin"].null_count() == known["inferred_end"].null_count() == len(known)
    half = filled.filter(pl.col("object") == "person 3 2").row(0, named=True)
    assert half["begin"] and half["end"] is None and half["inferred_begin"] is None
    assert int(half["inferred_end"]) == int(half["begin"]) + 4 and 0 < half["inferred_probability"] <= 1
    undated = filled.filter(pl.col("object") == "person 9 9").row(0, named=True)
    assert undated["inferred_begin"] and undated["inferred_end"]
    towns = filled.filter(pl.col("predicate") == "in")
    assert len(towns) == towns["inferred_begin"].null_count() == 12  # facts of that predicate have no times
    assert model.fill(min_probability=1.0)["inferred_end"].null_count() == len(filled)


def test_the_commands(run, tmp_path):
    invoke = CliRunner().invoke
    question = ["when", str(run), "office 3", "held by", "person 3 2"]
    found = json.loads(invoke(app, [*question, "--json"]).stdout)
    assert {"begin", "end", "probability", "begin_range", "end_range", "known", "reasons"} <= found.keys()
    text = invoke(app, [*question, "--plot", str(tmp_path / "when.svg")]).stdout
    assert "(known)" in text and "probability that the end is right" in text
    assert (tmp_path / "when.svg").read_text().startswith("<?xml")
    for name in ("facts.parquet", "facts.csv", "facts.jsonl"):
        done = json.loads(invoke(app, ["fill", str(run), "--out", str(tmp_path / name), "--json"]).stdout)
        assert done["facts"] == 75 and done["inferred_ends"] >= 2 and (tmp_path / name).is_file()


@pytest.mark.parametrize(
    ("out", "message"),
    [("facts.xlsx", "expected a name that ends in .csv"), ("no/folder/f.csv", "does not exist")],
)
def test_where_facts_cannot_be_written(run, tmp_path, out, message):
    with pytest.raises(BadRequest, match=message):
        CliRunner().invoke(app, ["fill", str(run), "--out", str(tmp_path / out)], catch_exceptions=False)


def test_a_fact_that_holds_several_times_has_all_its_spans(model):
    """The last of them lacks its end, which alone is inferred."""
    found = model.when("office 5", "held by", "person 5 0")
    known = [tuple(span) for span in found.known]
    assert len(found.spans) == len(known) == 3
    assert [(s.begin, None if "end" in s.inferred else s.end) for s in found.spans] == known
    assert [s.inferred for s in found.spans] == [(), (), ("end",)] and found.spans[-1].end == found.end
    assert found.spans[0].probability == 1 > found.probability
    assert "holds 3 times: " in str(found) and f"2024 to {found.end} (inferred)" in str(found)
    assert found.to_dict()["spans"][2]["inferred"] == ("end",)
    assert found.holds[found.times.index("2020")] == pytest.approx(1)


def test_many_at_once_are_the_same_as_one_by_one(model):
    rows = [("office 5", "held by", "person 5 0"), ("office 3", "held by", "person 3 2"), ("office 0", "in", "town")]
    rows.append(("office 7", "held by", "person 1 1"))
    for options in ({}, {"infer_known": True}):
        together, alone = model.when(rows, **options), [model.when(*row, **options) for row in rows]
        for one, other in zip(together, alone, strict=True):
            same = ("begin", "end", "inferred", "begin_range", "end_range", "known")
            assert [getattr(one, name) for name in same] == [getattr(other, name) for name in same]
            assert one.probability == pytest.approx(other.probability, rel=1e-4)
