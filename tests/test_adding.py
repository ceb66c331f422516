"""Facts added after training: known, evidence for others, and never counted as training."""

import json
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.testing import assert_close
from typer.testing import CliRunner

import knowwhen as kw
from knowwhen.cli.main import app
from knowwhen.errors import BadInput, BadRequest, RunError, UnknownName
from knowwhen.facts.additions import extended
from knowwhen.facts.table import Facts
from knowwhen.files import locked
from knowwhen.models import MODELS, Background, Sizes, Specification, build
from knowwhen.models.growing import grown, place_unseen

CSV = """subject,predicate,object,begin,end
Newland,has president,Ada New,2026,
Newland,has prime minister,Ada New,2026,
France,has prime minister,Ada New,2027,2028
"""
SETTINGS = {
    "model.name": "unioncomplex",
    "model.rank": 8,
    "model.evidence": ["pair_history"],
    "training.epochs": 4,
    "training.batch_size": 500,
    "validation.every": 2,
}


@pytest.fixture
def news(tmp_path):
    path = tmp_path / "news.csv"
    path.write_text(CSV)
    return path


@pytest.fixture(scope="module")
def trained():
    return kw.train("leaders", overrides=SETTINGS)


def test_names_and_times_are_extended_and_old_numbers_stay(news):
    data = kw.load("leaders")
    new = kw.load(news, granularity="year", fractions=(0, 0))
    grown_data, earlier = extended(data, new)
    assert grown_data.entities.keys.to_list()[: len(data.entities)] == data.entities.keys.to_list()
    assert grown_data.entities.keys.to_list()[len(data.entities) :] == ["Ada New", "Newland"]
    assert len(grown_data.added) == 3 and len(grown_data.train) == len(data.train)
    labels = grown_data.timeline.labels()
    assert labels[-3:] == ["2026", "2027", "2028"]
    assert earlier.tolist() == [*range(len(data.timeline)), *[len(data.timeline) - 1] * 3]
    assert grown_data.named(grown_data.added)["object"].to_list() == ["Ada New"] * 3


def test_times_before_and_between_move_the_old_ones(tmp_path):
    path = tmp_path / "old.csv"
    path.write_text("subject,predicate,object,time\na,likes,b,1950\na,likes,b,1960\na,likes,c,1990\n")
    data = kw.load(path, granularity="year", fractions=(0, 0))
    path.write_text("subject,predicate,object,time\na,likes,b,1940\na,likes,d,1955\n")
    found, earlier = extended(data, kw.load(path, granularity="year", fractions=(0, 0)))
    assert found.timeline.labels() == ["1940", "1950", "1955", "1960", "1990"]
    assert earlier.tolist() == [0, 0, 0, 1, 2]
    frame = found.named(found.train)
    assert frame["begin"].to_list() == ["1950", "1960", "1990"]
    assert found.named(found.added)["begin"].to_list() == ["1940", "1955"]
    again, _ = extended(found, kw.load(path, granularity="year", fractions=(0, 0)))
    assert again.named(again.added).rows() == found.named(found.added).rows()


def test_a_new_predicate_needs_training(tmp_path):
    path = tmp_path / "new.csv"
    path.write_text("subject,predicate,object,time\nFrance,has presidnt,x,2020\n")
    new = kw.load(path, granularity="year", fractions=(0, 0))
    with pytest.raises(
        BadRequest,
        match=r"no predicate 'has presidnt'.* did you mean 'has president'.* train again to use a new predicate",
    ):
        extended(kw.load("leaders"), new)


def background(sizes, days=None):
    """One fact, so that there is a graph; and a calendar in which a new day is like the one before."""
    days = np.arange(sizes.timestamps) if days is None else days
    facts = Facts(*(np.array([i]) for i in (0, 0, 1, 0, 0)))
    return Background(facts, np.arange(sizes.timestamps), np.stack([days, days, days], axis=1))


@given(st.sampled_from(sorted(set(MODELS) - {"latent"})), st.booleans())  # which counts facts and entities
def test_a_grown_model_scores_what_it_knew_the_same(name, undated):
    sizes = Sizes(4, 2, 3, undated)
    model = build(Specification(name, sizes, {"rank": 3}, {"context": {"lags": (1,)}})).eval()
    model.initialise(torch.Generator().manual_seed(0)).recall(background(sizes))
    larger = grown(model, replace(sizes, entities=6, timestamps=5), np.array([0, 1, 1, 2, 2]))
    larger.recall(background(larger.sizes, np.array([0, 1, 1, 2, 2])))
    s, p, o, t = (torch.randint(n, (20,)) for n in (4, 4, 4, 3))
    assert_close(larger.decomposition.score(s, p, o, torch.tensor([0, 1, 3])[t]), model.decomposition.score(s, p, o, t))
    assert_close(larger.decomposition.score(s, p, o, torch.tensor([0, 2, 4])[t]), model.decomposition.score(s, p, o, t))
    if undated:
        last = torch.full_like(t, 3)
        assert_close(larger.decomposition.score(s, p, o, last + 2), model.decomposition.score(s, p, o, last))
    if name != "tucker" and not MODELS[name].formula.startswith("−"):  # a shift, and a distance to nothing, are not 0
        assert (larger.decomposition.score(s, p, o * 0 + 5, t) == 0).all()
    for mine, theirs in zip(larger.evidence.parameters(), model.evidence.parameters(), strict=True):
        assert_close(mine, theirs)


def test_an_unseen_entity_points_where_its_facts_ask_for_it():
    model = build(Specification("tntcomplex", Sizes(4, 1, 2), {"rank": 8})).initialise(torch.Generator().manual_seed(0))
    rows = model.decomposition.u.weight
    facts = Facts(*(np.array([i]) for i in (0, 0, 3, 1, 1)))
    seen = np.array([True, True, True, False])
    length = torch.linalg.vector_norm(rows[:3], dim=-1).mean().item()
    place_unseen(model, facts, seen)
    query = model.objects(*(torch.tensor([i]) for i in (0, 0, 1))).query[0]
    assert_close(rows[3], query / query.norm() * length / 3)  # one fact against a doubt of two
    place_unseen(model, facts[:0], seen)
    assert (rows[3] == 0).all()


def answer_named(answers, name):
    return next(answer for answer in answers if answer.name == name)


def test_what_is_added_is_known_and_speaks_for_others(trained, news):
    after = trained.add(news)
    found = answer_named(after.ask("Newland", "has president", "?", "2026", top=2000), "Ada New")
    assert found.known and found.spans == (("2026", None),)
    with pytest.raises(UnknownName, match="Newland"):
        trained.ask("Newland", "has president", "?", "2020")
    # One office of these two speaks for another that was not added: of all, only Ada New has a history with Newland.
    s, p, o = (
        after.dataset.entities.id("Newland"),
        after.dataset.predicates.id("has chancellor"),
        after.dataset.entities.id("Ada New"),
    )
    asked = (torch.tensor([i]) for i in (s, p, len(after.dataset.timeline) - 1))
    _, cells = after.model.objects(*asked).split()
    assert cells.columns.tolist() == [o] and cells.values[0] > 0


def test_evaluation_does_not_count_what_was_added(trained, news):
    after = trained.add(news)
    assert after.evaluate("test").mrr == trained.evaluate("test").mrr
    assert after.evaluate("valid", with_added=True).count == trained.evaluate("valid").count
    tests = trained.dataset.named(trained.dataset.test)[:20]
    path = news.with_name("leak.csv")
    tests.write_csv(path)
    with pytest.raises(BadRequest, match="facts of test were added to the model"):
        trained.add(path).evaluate("test", with_added=True)


def test_added_facts_stay_with_the_run(trained, news, tmp_path):
    trained.save(tmp_path / "model")
    runner = CliRunner()
    done = runner.invoke(app, ["add", str(tmp_path / "model"), str(news), "--json"])
    report = json.loads(done.stdout)
    assert (
        done.exit_code == 0 and report["added"] == 3 and report["new_entities"] == 2 and report["new_timestamps"] == 3
    )
    opened = kw.open(tmp_path / "model")
    assert opened.info()["added_facts"] == 3 and opened.info()["data_hash"] == trained.dataset.hash
    assert answer_named(opened.ask("Newland", "has president", "?", "2026", top=2000), "Ada New").known
    opened.save(tmp_path / "copy")
    assert kw.open(tmp_path / "copy").info()["added_facts"] == 3
    done = runner.invoke(
        app, ["ask", str(tmp_path / "copy"), "Newland", "has prime minister", "Ada New", "?", "--json"]
    )
    assert json.loads(done.stdout)["known"] == [["2026", None]]


def test_a_bad_file_adds_nothing(trained, tmp_path):
    trained.save(tmp_path / "model")
    path = tmp_path / "bad.csv"
    path.write_text("subject,predicate,object,time\nFrance,has president,x,20x0\n")
    with pytest.raises(BadInput, match="20x0"):
        kw.open(tmp_path / "model").add(path)
    assert kw.open(tmp_path / "model").info()["added_facts"] == 0


def test_facts_are_taken_back_by_deleting_their_folder(trained, news, tmp_path):
    trained.save(tmp_path / "model")
    kw.open(tmp_path / "model").add(news)
    more = news.with_name("more.csv")
    more.write_text("subject,predicate,object,begin,end\nNewland,has chancellor,Ada New,2026,\n")
    kw.open(tmp_path / "model").add(more)
    (tmp_path / "model" / "added" / "0001").rename(tmp_path / "model" / "added" / "0001.old")  # or deleting it
    assert kw.open(tmp_path / "model").info()["added_facts"] == 1
    kw.open(tmp_path / "model").add(news)
    assert sorted(folder.name for folder in (tmp_path / "model" / "added").iterdir()) == ["0001.old", "0002", "0003"]
    assert kw.open(tmp_path / "model").info()["added_facts"] == 4


def test_adding_a_file_twice_is_adding_it_once(trained, news, tmp_path):
    trained.save(tmp_path / "model")
    question = ("Newland", "has chancellor", "?", "2026")
    once = kw.open(tmp_path / "model").add(news).ask(*question)
    report = json.loads(CliRunner().invoke(app, ["add", str(tmp_path / "model"), str(news), "--json"]).stdout)
    assert (report["added"], report["already_there"], report["added_in_all"]) == (0, 3, 3)
    assert [folder.name for folder in (tmp_path / "model" / "added").iterdir()] == ["0001"]
    twice = kw.open(tmp_path / "model").ask(*question)
    assert [a.probability for a in twice] == [a.probability for a in once]


def test_a_fact_of_train_is_not_added_and_one_of_test_is(trained, tmp_path):
    data, path = trained.dataset, tmp_path / "known.csv"
    data.named(kw.Facts.concatenate(data.train[:5], data.test[:5], data.test[:5])).write_csv(path)
    added = trained.add(path).dataset.added
    assert len(added) == 5


def test_two_do_not_add_at_once(trained, news, tmp_path):
    trained.save(tmp_path / "model")
    model = kw.open(tmp_path / "model")
    added = tmp_path / "model" / "added"
    added.mkdir()
    busy = pytest.raises(RunError, match=r"another process is adding facts to .*wait for it")
    with locked(added / ".lock", RunError("busy"), passing=True), busy:
        model.add(news)
    model.add(news)
    assert [folder.name for folder in added.iterdir()] == ["0001"]
