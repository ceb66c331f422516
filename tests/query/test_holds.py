"""Whether facts hold at a time: known, open, undated, inferred and beyond the data, through a trained model."""

import json

import numpy as np
import polars as pl
import pytest
import torch
from typer.testing import CliRunner

import knowwhen as kw
from knowwhen.cli.main import app
from knowwhen.dating import learn_times
from knowwhen.errors import BadRequest, TimeOutside, UnknownName
from knowwhen.evaluation.report import time_report
from knowwhen.facts.table import Facts
from knowwhen.models import Sizes, Specification, build
from knowwhen.query import holds_batch
from tests.dating.conftest import dataset_of, random_facts

OFFICES, LAST = 16, 2015


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Terms of four years, one after the other; the last of each office has no end; towns have no dates."""
    folder = tmp_path_factory.mktemp("holds")
    rng, rows = np.random.default_rng(0), []
    for office in range(OFFICES):
        first = 1990 + int(rng.integers(0, 4))
        for k in range(6):
            begin, end = first + 4 * k, "" if k == 5 else str(first + 4 * k + 4)
            rows.append((f"office {office}", "held by", f"person {office} {k}", str(begin), end))
        rows.append((f"office {office}", "in", "town", "", ""))
    rows.append(("office 0", "held by", "somebody", "", ""))
    rows.append(("office 1", "held by", "predecessor", "", "1994"))
    rows.append(("office 2", "held by", "person 2 5", str(LAST), str(LAST)))
    frame = pl.DataFrame(rows, schema=["subject", "predicate", "object", "begin", "end"], orient="row")
    held = frame.filter(pl.col("object").str.contains("person [0-9]+ [34]") & (pl.col("end") != ""))
    for split, part in (("valid", held), ("test", held[:2]), ("train", frame.join(held, on="object", how="anti"))):
        part.write_csv(folder / f"{split}.csv")
    kw.train(folder, run=folder / "run", overrides={"dating.passes": 4, "training.epochs": 2, "model.rank": 4})
    return folder / "run"


@pytest.fixture(scope="module")
def model(run):
    return kw.open(run)


def term(model, office: int, k: int) -> tuple[int, int | None]:
    spans = model.holds(f"office {office}", "held by", f"person {office} {k}", LAST).spans
    begin, end = spans[0]
    return int(begin), None if end is None else int(end)


def test_inside_a_known_span_it_is_certain(model):
    begin, end = term(model, 4, 1)
    for year in (begin, begin + 2, end):
        found = model.holds("office 4", "held by", "person 4 1", year)
        assert (found.probability, found.basis, found.known, found.beyond) == (1, "known", True, False)


def test_outside_its_span_it_is_judged(model):
    begin, end = term(model, 4, 1)
    for year in (begin - 1, end + 1):
        found = model.holds("office 4", "held by", "person 4 1", year)
        assert found.basis == "inferred" and not found.known and found.probability < 0.5


def test_an_open_end_is_a_survival_curve(model):
    begin, end = term(model, 5, 5)
    assert end is None
    years = [begin, begin + 1, LAST + 1, LAST + 5, LAST + 40]
    chances = [model.holds("office 5", "held by", "person 5 5", year) for year in years]
    assert chances[0].known and [one.basis for one in chances[1:]] == ["open"] * 4
    assert [one.beyond for one in chances] == [year > LAST for year in years]
    values = [one.probability for one in chances]
    assert values == sorted(values, reverse=True) and 0 < values[-1] < 0.5 * values[2]


def test_an_open_begin_is_asked_backwards(model):
    assert model.holds("office 1", "held by", "predecessor", 1994).known
    before = model.holds("office 1", "held by", "predecessor", 1993)
    assert before.basis == "open" and 0 < before.probability < 1
    assert model.holds("office 1", "held by", "predecessor", 1996).basis == "inferred"


def test_facts_without_a_time(model):
    """A predicate that never has times is always true; one fact that lacks its time is placed."""
    assert model.holds("office 3", "in", "town", 2001).known
    assert model.holds("office 3", "in", "town", 2100).known
    found = model.holds("office 0", "held by", "somebody", 2001)
    assert found.basis == "undated" and 0 < found.probability < 1


def test_true_held_out_terms_are_called_more_probable_than_wrong_ones(model):
    """Held-out facts are known to the model's dataset, so they are asked of a judge alone."""
    measured = model.evaluate_times("valid").holds
    assert measured.auc > 0.6 and measured.means["true"] > measured.means["object"]


def test_a_range_is_the_mean_of_its_years(model):
    _begin, end = term(model, 6, 2)
    years = range(end - 1, end + 3)
    alone = [model.holds("office 6", "held by", "person 6 2", year).probability for year in years]
    together = model.holds("office 6", "held by", "person 6 2", f"{years[0]}..{years[-1]}")
    assert together.probability == pytest.approx(np.mean(alone), rel=1e-4)


def test_many_at_once_are_the_same_as_one_by_one(model):
    rows = [(f"office {i}", "held by", f"person {j} 1", 1990 + 3 * i) for i in range(1, 5) for j in (1, i)]
    rows += [("office 3", "in", "town", 2001), ("office 5", "held by", "person 5 5", 2100)]
    together = model.holds(rows)
    alone = [model.holds(*row) for row in rows]
    assert [one.basis for one in together] == [one.basis for one in alone]
    np.testing.assert_allclose([o.probability for o in together], [o.probability for o in alone], rtol=1e-4)
    named = model.holds([dict(zip(("subject", "predicate", "object", "time"), row, strict=True)) for row in rows])
    assert [one.to_dict() for one in named] == [one.to_dict() for one in together]


def test_errors_name_what_is_wrong(model):
    with pytest.raises(UnknownName, match="no entity 'offices 4'"):
        model.holds("offices 4", "held by", "person 4 1", 2000)
    with pytest.raises(TimeOutside, match="'1700' is before the first date in the data \\(1990"):
        model.holds("office 4", "held by", "person 4 1", 1700)
    with pytest.raises(BadRequest, match="the time is missing; expected a date such as 2015"):
        model.holds("office 4", "held by", "person 4 1", "")
    with pytest.raises(BadRequest, match="3 values"):
        model.holds([("office 4", "held by", "person 4 1")])


def test_without_a_judge_probabilities_are_marked(model):
    from dataclasses import replace

    bare = replace(model, times=replace(model.times, judge=None))
    _begin, end = term(model, 4, 1)
    found = bare.holds("office 4", "held by", "person 4 1", end + 2)
    assert not found.calibrated and 0 <= found.probability <= 1
    assert "not calibrated" in str(found)


def test_without_a_time_head_it_says_how_to_get_one(model):
    from dataclasses import replace

    with pytest.raises(BadRequest, match=r"no time head; train with --set dating\.passes=4"):
        replace(model, times=None).holds("office 4", "held by", "person 4 1", 2000)


def test_as_of_lists_what_is_known_first(model):
    begin, _end = term(model, 4, 1)
    found = model.as_of("office 4", "held by", "?", begin + 1, top=3)
    assert found[0].name == "person 4 1" and found[0].known and found[0].probability == 1
    assert len(found) == 3 and [row.probability for row in found] == sorted(
        (r.probability for r in found), reverse=True
    )
    assert found.to_polars()["basis"][0] == "known" and "person 4 1" in str(found)


def test_as_of_a_date_beyond_the_data(model):
    found = model.as_of("office 5", "held by", "?", LAST + 2, top=30)
    assert found.beyond and "after the last date in the data" in str(found)
    row = next(row for row in found if row.name == "person 5 5")
    assert row.basis == "open" and row.probability == pytest.approx(
        model.holds("office 5", "held by", "person 5 5", LAST + 2).probability
    )


def test_as_of_asks_for_names_only(model):
    with pytest.raises(BadRequest, match=r"needs \? in place of"):
        model.as_of("office 5", "held by", "person 5 5", "?")


@pytest.mark.parametrize("as_json", [True, False])
def test_the_command(run, model, as_json):
    question = ["office 5", "held by", "person 5 5", str(LAST + 1)]
    done = CliRunner().invoke(app, ["holds", str(run), *question, *(["--json"] if as_json else [])])
    assert done.exit_code == 0, done.output
    expected = model.holds(*question)
    assert json.loads(done.stdout) == expected.to_dict() if as_json else done.stdout.strip() == str(expected)
    assert not as_json or {"probability", "known", "basis", "beyond"} <= set(json.loads(done.stdout))


def test_the_command_as_of(run):
    done = CliRunner().invoke(app, ["ask", str(run), "office 5", "held by", "_", "--as-of", "2030", "--json"])
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert found["beyond"] and found["asks"] == "object" and found["answers"]
    done = CliRunner().invoke(app, ["ask", str(run), "office 5", "held by", "_", "2001", "--as-of", "2030"])
    assert isinstance(done.exception, BadRequest) and "--as-of cannot be combined with TIME" in str(done.exception)


def test_calibration_of_dates_is_reported_and_drawn(run, model, tmp_path):
    measured = model.evaluate_times("valid")
    assert set(measured.model.reliability) == {"begin", "end", "span"}
    assert "expected calibration error: begin 0." in time_report(measured) and ", holds 0." in time_report(measured)
    panels = kw.plot(measured, tmp_path / "dates.svg").axes
    assert [axes.get_title(loc="left") for axes in panels] == ["begins", "ends", "whole spans", "facts at a time"]
    bins = measured.holds.reliability.bins
    points = next(line for line in panels[3].lines if not line.get_label().startswith("_"))
    np.testing.assert_allclose(points.get_xydata(), [(bin.confidence, bin.accuracy) for bin in bins])
    done = CliRunner().invoke(app, ["plot", str(run), "dates", "--split", "valid", "--out", str(tmp_path / "d.png")])
    assert done.exit_code == 0 and (tmp_path / "d.png").stat().st_size > 1000
    with pytest.raises(BadRequest, match="no dates to plot: this model has no time head"):
        kw.plot(model.evaluate_times("valid", greedy=True))


def test_known_is_judged_at_the_time_that_is_asked_for_not_at_the_one_that_stands_for_it():
    """An axis of every other year: 1995 is answered as of 1994, on which the fact still held."""
    one = (np.array([x], np.int64) for x in (0, 0, 1, 0, 2))  # 1990 to 1994
    data = dataset_of(Facts.concatenate(Facts(*one), random_facts(0)))
    model = build(Specification("tntcomplex", Sizes.of(data), {"rank": 2})).initialise(torch.Generator()).eval()
    rows = [("e0", "p0", "e1", year) for year in (1993, 1994, 1995)]
    inside, last, after = holds_batch(model, learn_times(data, model), data, rows)
    assert inside.known and last.known and not after.known and after.basis != "known" and not after.beyond
