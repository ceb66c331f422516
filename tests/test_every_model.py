"""Every model from end to end on real facts: trained, stopped, asked, explained, saved and added to."""

import copy
import json
import os
import signal
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch.testing import assert_close

import knowwhen as kw
from knowwhen.errors import BadRequest, Interrupted
from knowwhen.models import MODELS
from knowwhen.models.tables import Axis, tables_of
from knowwhen.training.session import Silent

SMALL = {"model.rank": 4, "training.epochs": 2, "training.batch_size": 1500, "validation.every": 1}
NAMED = {
    **{name: {"model.name": name} for name in MODELS},
    "transe": {"model.name": "transe", "model.norm": 1},
    "transe, L2": {"model.name": "transe", "model.norm": 2},
    "tucker": {"model.name": "tucker", "model.predicate_rank": 3},
    "tuckertnt": {"model.name": "tuckertnt", "model.predicate_rank": 3, "model.time_rank": 3},
    "rotate": {"model.name": "rotate", "model.norm": 2},
    "latent": {"model.name": "latent", "model.radius": 0.3, "model.knots": 3},
}
# One of each kind of scores and of state: for what does not depend on the formula.
KINDS = ("tntcomplex", "cp", "transe", "tucker", "rgcn", "latent")
SLOW = ("boxte", "latent", "hyte", "dedistmult", "desimple", "detranse", "stranse", "tero", "transd", "transh")
SAMPLED = {"objective.sampling": "uniform", "objective.negatives": 50, "training.batch_size": 300}
SAMPLED |= {"validation.sample": 30}
EVIDENCE = {"model.evidence": ["pair_history", "context"], "training.epochs": 1, "evidence.context.window": 0}
NEWS = """subject,predicate,object,begin,end
France,has president,Ada New,2026,
Bo New,citizen of,France,1990,1990
"""


def settings(name, **more):
    return {**SMALL, **NAMED[name], **(SAMPLED if name in SLOW else {}), **more}


def files(run):
    names = (
        "metrics.jsonl",
        "model/weights.safetensors",
        "checkpoints/last.safetensors",
        "checkpoints/best.safetensors",
    )
    return {name: (run / name).read_bytes() for name in names}


@pytest.fixture(scope="module", params=sorted(NAMED))
def name(request):
    return request.param


@pytest.fixture(scope="module")
def trained(name, tmp_path_factory):
    return kw.train("leaders", run=tmp_path_factory.mktemp("runs") / "run", overrides=settings(name))


@pytest.fixture(scope="module")
def added(trained, tmp_path_factory):
    path = tmp_path_factory.mktemp("news") / "news.csv"
    path.write_text(NEWS)
    return replace(trained, path=None).add(path)


def test_it_learns_and_is_measured(trained):
    losses = [record["objects"] for record in trained.records]
    assert losses[1] < losses[0]
    metrics = trained.evaluate("test", sample=40)
    assert metrics.count == 80 and 0 < metrics.mrr < 1
    assert trained.info()["epochs"] == 2 and trained.info()["rank"] == 4
    assert trained.info()["parameters"] == trained.model.parameter_count()


class Impatient(Silent):
    def step(self, state, examples_per_second):
        if (state.epoch, state.step) == (1, 2):
            os.kill(os.getpid(), signal.SIGINT)


def test_stopped_and_resumed_is_straight_through(name, trained, tmp_path):
    if name not in KINDS:
        pytest.skip("as others that are tried")
    with pytest.raises(Interrupted, match=r"stopped in epoch 2, step 2 of [0-9]+, state saved"):
        kw.train("leaders", run=tmp_path / "run", overrides=settings(name), progress=Impatient())
    assert len(json.loads((tmp_path / "run" / "metrics.jsonl").read_text())) > 0, "one epoch is noted"
    kw.train(None, run=tmp_path / "run", resume=True)
    assert files(tmp_path / "run") == files(trained.path)


def test_names_are_asked_for(trained):
    found = trained.ask("France", "has president", "?", "2012", top=5)
    assert len(found) == 5 and [row.score for row in found] == sorted((row.score for row in found), reverse=True)
    assert 0 < sum(row.probability for row in found) <= 1
    assert len(trained.ask("?", "has president", "Barack Obama", "2012", top=5)) == 5
    predicates = trained.ask("France", "?", "Germany", "2012", top=100)
    assert len(predicates) == len(trained.dataset.predicates)
    assert sum(row.probability for row in predicates) == pytest.approx(1, abs=1e-4)
    assert len(trained.ask("France", "has president", "?")) == 10, "whenever"


def test_times_are_asked_for_where_scores_depend_on_them(trained):
    question = ("France", "has president", "François Hollande", "?")
    if trained.model.temporal:
        found = trained.ask(*question)
        assert found.probabilities.sum() == pytest.approx(1) and len(found.times) == 81
        assert np.ptp(found.scores) > 0
    else:
        with pytest.raises(
            BadRequest,
            match=rf"^{trained.model.name} does not depend on time, so it cannot answer questions for a time.*$",
        ):
            trained.ask(*question)


def test_without_evidence_a_score_is_all_decomposition(trained):
    for answer in trained.ask("France", "has president", "?", "2012", top=3, explain=True):
        assert answer.reasons.score == pytest.approx(answer.score, abs=1e-4)
        assert answer.reasons.facts == () and "no evidence terms" in answer.reasons.note


def test_saved_and_opened_it_says_the_same(trained, tmp_path):
    trained.save(tmp_path / "model")
    s, p, o, t = (torch.arange(8) * n % size for n, size in ((7, 1487), (3, 34), (11, 1487), (5, 81)))
    with torch.no_grad():
        wanted = trained.model.objects(s, p, t).whole()
        for opened in (kw.open(tmp_path / "model"), kw.open(trained.path)):
            assert torch.equal(opened.model.objects(s, p, t).whole(), wanted)
            assert torch.equal(opened.model.score(s, p, o, t), trained.model.score(s, p, o, t))
            assert opened.model.decomposition.options == trained.model.decomposition.options


def test_neighbours_and_embeddings_have_names(trained):
    near = trained.similar("France", top=3)
    assert len(near) == 3 and all(-1.001 <= row.similarity <= 1.001 for row in near)
    assert "France" not in [row.name for row in near]
    entities = trained.embeddings("entities")
    assert len(entities) == 1487 and len(trained.embeddings("predicates")) == 17
    rows = trained.model.decomposition.entity_rows().detach()
    assert_close(torch.tensor(entities["embedding"].to_numpy()), rows)
    if trained.model.decomposition.time_axes():
        assert len(trained.embeddings("timestamps")) == 81
    else:
        with pytest.raises(BadRequest, match="has no timestamps in its embedding"):
            trained.embeddings("timestamps")


def answer_named(answers, name):
    return next(answer for answer in answers if answer.name == name)


def test_a_new_entity_is_answered_from_both_sides(added):
    """Once, CP left the row of a new subject zero: as a subject it got the same score for every object."""
    every = len(added.dataset.entities)
    questions = {
        "Ada New": ("France", "has president", "?", "2026"),
        "Bo New": ("?", "citizen of", "France", "1990"),
        "France": ("Bo New", "citizen of", "?", "1990"),
    }
    for name, question in questions.items():
        answers = added.ask(*question, top=every)
        assert len(answers) == every and answer_named(answers, name).known
        assert np.ptp([answer.score for answer in answers]) > 0
    for name in ("Ada New", "Bo New"):
        for question in ((name, "has president", "?", "2020"), ("?", "citizen of", name, "2020")):
            assert np.ptp([answer.score for answer in added.ask(*question, top=every)]) > 0, "it tells others apart"


def test_what_was_said_of_a_new_entity_is_likelier_than_without_a_row(added):
    """The row of each comes from one fact, from the side where they are the object; CP has rows for both sides."""
    data, P = added.dataset, added.model.sizes.predicates
    ada, bo, france = (data.entities.id(name) for name in ("Ada New", "Bo New", "France"))
    president, citizen = (data.predicates.id(name) for name in ("has president", "citizen of"))
    t = [data.timeline.ids(year)[0] for year in ("2026", "1990")]
    facts = [(france, president, ada, t[0]), (france, citizen + P, bo, t[1])]
    if added.model.name == "cp":
        facts += [(ada, president + P, france, t[0]), (bo, citizen, france, t[1])]
    columns = [torch.tensor(column) for column in zip(*facts, strict=True)]
    tables = [table for table in tables_of(added.model.decomposition).values() if table.axis is Axis.ENTITY]
    without = copy.deepcopy(added.model)
    with torch.no_grad():
        for table in tables_of(without.decomposition).values():
            if table.axis is Axis.ENTITY:
                table.weight[[ada, bo]] = 0
        gained = added.model.score(*columns) - without.score(*columns)
    if any(table.placed for table in tables):
        assert (gained > 0).all()
    else:
        assert (gained == 0).all(), "the graph places them"


def test_old_facts_have_their_old_scores(trained, added):
    """But in a graph, where new facts are new neighbours."""
    facts = trained.dataset.train[:200]
    columns = [torch.tensor(x) for x in (facts.subject, facts.predicate, facts.object, facts.begin.clip(0))]
    with torch.no_grad():
        before, after = (model.model.score(*columns) for model in (trained, added))
    if trained.model.name in ("rgcn", "latent"):  # which counts the facts of an entity
        assert before.shape == after.shape and not torch.equal(before, after)
    else:
        assert_close(after, before)
    assert added.evaluate("test", sample=20).mrr == trained.evaluate("test", sample=20).mrr


def test_a_new_time_is_like_the_one_before(trained, added):
    if not trained.model.decomposition.time_axes():
        return  # static, or by the calendar
    s, p, o = (torch.tensor([i]) for i in (3, 2, 5))
    with torch.no_grad():
        scores = added.model.times(s, p, o).whole()[0]
    assert len(scores) == 82
    torch.testing.assert_close(scores[81], scores[80])  # the same row, in another place of a product


@pytest.fixture(scope="module")
def informed(name):
    if name not in KINDS:
        pytest.skip("as others that are tried")
    return kw.train("leaders", overrides=settings(name, **EVIDENCE))


def test_shares_of_facts_and_decomposition_add_up(informed):
    told = 0
    for question in (
        ("France", "has president", "?", "2012"),
        ("?", "has president", "Barack Obama", "2012"),
        ("France", "?", "Germany", "2012"),
        ("France", "has president", "?", "2010..2013"),
    ):
        for answer in informed.ask(*question, top=4, explain=True):
            assert answer.reasons.score == pytest.approx(answer.score, abs=1e-3)
            told += len(answer.reasons.facts)
    assert told > 0, "no fact was evidence"
    times = informed.ask("France", "has president", "François Hollande", "?", explain=True)
    assert times.reasons.score == pytest.approx(times.scores[times.times.index(times.reasons.time)], abs=1e-3)


def test_evidence_is_read_the_same_by_every_scorer(informed):
    """Single scores, those of all objects, of all predicates and of all times."""
    model, g = informed.model, torch.Generator().manual_seed(0)
    s, p, o, t = (torch.randint(n, (12,), generator=g) for n in (1487, 34, 1487, 81))
    rows = torch.arange(12)
    with torch.no_grad():
        wanted = model.score(s, p, o, t)
        for scores, column in (
            (model.objects(s, p, t), o),
            (model.predicates(s, o, t), p),
            (model.times(s, p, o), t),
        ):
            assert_close(scores.whole()[rows, column], wanted, rtol=1e-4, atol=1e-4)
            assert_close(scores.cells(rows, column), wanted, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", ["tntcomplex", "hyte", "tatranse", "tucker", "rgcn"])
def test_facts_without_time_may_own_one(name):
    """A row more in every table of timestamps, and none on the time axis; all else here samples."""
    model = kw.train("leaders", overrides=settings(name, **{"model.undated": "own", "training.epochs": 1}))
    assert model.model.sizes.undated_row
    timed = [table for table in tables_of(model.model.decomposition).values() if table.axis is Axis.TIME]
    assert all(len(table.weight) == 82 for table in timed)
    assert all(len(axis) == 81 for axis in model.model.decomposition.time_axes())
    assert 0 < model.evaluate("test", sample=20).mrr < 1
    assert len(model.ask("France", "has president", "?")) == 10


@pytest.mark.parametrize("name", ["tntcomplex", "ttranse"])
def test_the_loss_along_time_is_learned(name):
    model = kw.train(
        "leaders", overrides=settings(name, **{"objective.time_weight": 1.0, "regularizer.time_weight": 0})
    )
    first, last = (record["times"] for record in model.records)
    assert last < first


def test_tucker_takes_a_last_batch_of_one_fact():
    data = kw.load("leaders")
    size = 2 * len(data.train) - 1
    changes = {**settings("tucker"), "training.epochs": 1, "training.batch_size": size}
    model = kw.train(data, overrides=changes)
    assert np.isfinite(model.records[0]["loss"])
    assert model.model.decomposition.norm0.num_batches_tracked == 1, "one fact has no variance to learn from"


@pytest.fixture(scope="module")
def daily(tmp_path_factory):
    path = tmp_path_factory.mktemp("days") / "facts.csv"
    rng = np.random.default_rng(0)
    rows = [
        f"a{rng.integers(9)},p{rng.integers(2)},b{rng.integers(9)},2014-0{1 + i % 3}-{1 + i % 28:02}"
        for i in range(300)
    ]
    path.write_text("subject,predicate,object,time\n" + "\n".join(rows) + "\n")
    data = kw.load(path, granularity="day", fractions=(0.1, 0.1))
    return kw.train(data, overrides={"model.name": "desimple", "model.rank": 6, "training.epochs": 3})


def test_desimple_tells_days_apart_and_asks_alike_from_either_side(daily):
    model, T = daily.model, len(daily.dataset.timeline)
    assert T > 28 and model.decomposition.calendar[:T].tolist() == daily.dataset.timeline.calendar.tolist()
    s, p, o = (torch.tensor([daily.dataset.entities.id(x)]) for x in ("a1", "a1", "b2"))
    p = torch.tensor([daily.dataset.predicates.id("p1")])
    with torch.no_grad():
        scores = model.times(s, p, o).whole()[0]
        assert len(scores.unique()) > T / 2, "days differ"
        every = torch.arange(T)
        P = model.sizes.predicates
        forward = model.score(s.expand(T), p.expand(T), o.expand(T), every)
        backward = model.score(o.expand(T), p.expand(T) + P, s.expand(T), every)
        assert_close(forward, scores)
        assert_close(backward, forward)
        assert_close(model.objects(o, p + P, every[5:6]).whole()[0, s[0]], forward[5])
    asked = [
        daily.ask(*question, top=30) for question in (("a1", "p1", "?", "2014-01-05"), ("?", "p1", "b2", "2014-01-05"))
    ]
    assert answer_named(asked[0], "b2").score == pytest.approx(answer_named(asked[1], "a1").score, abs=1e-5)
