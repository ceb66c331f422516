"""Evidence from end to end: learned, saved, resumed, and honest about what it has seen."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
import torch
from safetensors.torch import load_file, save_file
from torch.testing import assert_close

import knowwhen as kw
from knowwhen.errors import BadRequest, DamagedFile
from knowwhen.evaluation import Protocol, evaluate
from knowwhen.facts.dataset import Dataset
from knowwhen.facts.dates import Granularity
from knowwhen.facts.table import Facts
from knowwhen.facts.timeline import Timeline
from knowwhen.facts.vocabulary import Vocabulary
from knowwhen.models.scores import Matrix
from knowwhen.training import stages
from knowwhen.training.correction import held_out
from knowwhen.training.tensors import read_tensors, tensor_bytes

SMALL = {
    "model.name": "unioncomplex",
    "model.rank": 4,
    "model.evidence": ["pair_history", "predicate_history", "context"],
    "evidence.pair_history.width": 4,
    "evidence.dropout": 0.1,
    "training.epochs": 2,
    "training.batch_size": 500,
    "validation.every": 1,
}


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    return kw.train("leaders", run=tmp_path_factory.mktemp("runs") / "run", overrides=SMALL)


def test_a_run_with_evidence_opens_with_the_same_scores(trained, tmp_path):
    again = kw.open(trained.path)
    trained.save(tmp_path / "copy")
    copy = kw.open(tmp_path / "copy")
    mrr = trained.evaluate("valid").mrr
    assert again.evaluate("valid").mrr == copy.evaluate("valid").mrr == mrr == trained.info()["best_valid_mrr"]
    for name, table in copy.model.named_parameters():
        assert_close(table, dict(trained.model.named_parameters())[name], rtol=0, atol=0)
    assert trained.info()["evidence"] == ["pair_history", "predicate_history", "context"]


def test_evidence_is_learned(trained):
    term = trained.model.evidence["pair_history"]
    assert (term.strength != 1).any() and (term.scale != 0).any()
    assert trained.info()["parameters"] > sum(table.numel() for table in trained.model.decomposition.parameters())


def test_a_run_with_evidence_resumes_as_if_never_stopped(trained, tmp_path):
    kw.train("leaders", run=tmp_path / "run", overrides={**SMALL, "training.epochs": 1})
    resumed = kw.train(None, run=tmp_path / "run", resume=True, overrides={"training.epochs": 2})
    for name, table in resumed.model.named_parameters():
        assert_close(table, dict(trained.model.named_parameters())[name], rtol=0, atol=0)


def test_no_fact_of_valid_or_test_is_in_the_history(trained):
    history, data = trained.model.evidence["pair_history"].history, trained.dataset
    assert len(history) == 2 * len(data.train)
    positions = data.timeline.positions
    held = set(zip(history.subject, history.predicate, history.object, history.begin, history.end, strict=True))
    for split in ("valid", "test"):
        facts = data.facts(split)
        closed = facts[(facts.begin >= 0) & (facts.end >= 0)]
        rows = zip(
            closed.subject, closed.predicate, closed.object, positions[closed.begin], positions[closed.end], strict=True
        )
        known = {tuple(row) for row in data.train.rows().tolist()}
        fresh = [row for row, fact in zip(rows, closed.rows().tolist(), strict=True) if tuple(fact) not in known]
        assert fresh and not held & set(fresh)


def test_ranking_adds_the_same_evidence_as_scoring(trained):
    """A rank from tiles with cells is the rank by the whole matrix."""
    metrics = trained.evaluate("test", sample=50)

    class Whole:
        name, sizes = trained.model.name, trained.model.sizes

        def objects(self, s, p, t):
            return Matrix(trained.model.objects(s, p, t).whole())

    assert evaluate(Whole(), trained.dataset, "test", sample=50).mrr == pytest.approx(metrics.mrr, abs=1e-9)


def planted(objects):
    """Days on which s does 0 and 1 to the same object: the one tells the other."""
    days = np.arange(400)
    subject = days % 5
    halves = [Facts(subject, np.full(400, p), 5 + o, days, days) for p, o in enumerate(objects)]
    held = np.random.default_rng(0).permutation(400)[:80]
    rest = np.setdiff1d(days, held)
    return Dataset(
        "planted",
        Vocabulary("entity", pl.Series([f"e{i:02}" for i in range(45)])),
        Vocabulary("predicate", pl.Series(["first", "second"])),
        Timeline(Granularity("day"), days),
        Facts.concatenate(halves[0], halves[1][rest]),
        halves[1][held[:40]],
        halves[1][held[40:]],
    )


def object_mrr(model):
    return model.evaluate("test", protocol=Protocol(directions="objects")).mrr


PLANTED = {**SMALL, "model.rank": 2, "training.epochs": 4, "training.batch_size": 100}


def test_what_the_same_day_tells_is_found():
    o = np.random.default_rng(1).integers(0, 40, 400)
    data = planted([o, o])
    assert object_mrr(kw.train(data, overrides=PLANTED)) > 0.9
    assert object_mrr(kw.train(data, overrides={**PLANTED, "model.evidence": []})) < 0.4


def test_what_others_do_that_day_is_found():
    """On each day two subjects do the same to one object; of some only one is known."""
    days, o = np.repeat(np.arange(200), 2), np.repeat(np.random.default_rng(1).integers(0, 40, 200), 2)
    all_facts = Facts(np.tile([0, 1], 200), np.zeros(400, np.int64), 5 + o, days, days)
    held = 2 * np.random.default_rng(0).permutation(200)[:40]
    rest = np.setdiff1d(np.arange(400), held)
    valid, test = all_facts[held[:20]], all_facts[held[20:]]
    data = replace(planted([o, o]), train=all_facts[rest], valid=valid, test=test)
    longer = {**PLANTED, "training.epochs": 12, "model.name": "complex"}  # which cannot learn it by itself
    assert object_mrr(kw.train(data, overrides=longer)) > 0.9
    assert object_mrr(kw.train(data, overrides={**longer, "model.evidence": ["pair_history"]})) < 0.4


@pytest.fixture
def uncalibrated(monkeypatch):
    """Training ends without calibration, which changes no rank and takes longer than such a small fit."""
    monkeypatch.setattr(stages, "ENOUGH_TO_CALIBRATE", float("inf"))


@pytest.mark.usefixtures("uncalibrated")
def test_with_shuffled_targets_nothing_leaks():
    """The second object has nothing to do with the first: training must not seem better than chance allows."""
    draw = np.random.default_rng(1)
    model = kw.train(planted([draw.integers(0, 40, 400), draw.integers(0, 40, 400)]), overrides=PLANTED)
    chance = np.mean(1 / np.arange(1, 41))
    assert object_mrr(model) < 1.7 * chance
    # Left out of its own history, a training fact has no more support than one that was made up.
    facts = model.dataset.train
    s, p, o, t = (torch.tensor(column) for column in (facts.subject, facts.predicate, facts.object, facts.begin))
    made_up = torch.tensor(5 + draw.integers(0, 40, len(facts)))
    rows = model.model.decomposition.entity_rows()
    for term in model.model.terms:
        real, invented = (term.score(s, p, x, t, rows).mean().item() for x in (o, made_up))
        assert real == pytest.approx(invented, abs=0.1), term.name


APART = {
    **PLANTED,
    "model.evidence": ["pair_history", "repeat_history", "path_history", "object_profile"],
    "evidence.training": "apart",
    "evidence.leave_out": "itself",
    "evidence.learning_rate": 0.3,
    "evidence.dropout": 0.0,
}


def grouped(group_of, seed=0):
    """120 people, each of a club, and of a place that the club decides; `group_of` gives the place of a club.

    The places of some are to be told from those of others of their club: no pair of them was ever seen.
    """
    draw = np.random.default_rng(seed)
    people, years = np.arange(120), draw.integers(0, 50, 120)
    club = people % 12
    joined = Facts(people, np.zeros(120, np.int64), 120 + club, years, years)
    lives = Facts(people, np.ones(120, np.int64), 132 + group_of(club, draw), years, years)
    held = draw.permutation(120)[:40]
    return Dataset(
        "clubs",
        Vocabulary("entity", pl.Series([f"e{i:03}" for i in range(144)])),
        Vocabulary("predicate", pl.Series(["joined", "lives in"])),
        Timeline(Granularity("year"), 1950 + np.arange(50)),
        Facts.concatenate(joined, lives[np.setdiff1d(people, held)]),
        lives[held[:20]],
        lives[held[20:]],
    )


def test_what_entities_alike_do_is_found_and_what_has_nothing_to_do_with_it_is_not():
    """Someone's place follows from those of others of the club; where places are drawn, nothing does."""
    told = kw.train(grouped(lambda club, _: club), overrides={**APART, "training.epochs": 12})
    assert object_mrr(told) > 0.9
    reason = told.ask("e000", "lives in", "?", "1970", explain=True)[0].reasons.facts[0]
    assert [fact.keys[1:] for fact in reason.path] == [("joined", "e120"), ("joined", "e120")]
    assert reason.keys[1] == "lives in" and reason.path[1].keys[0] == reason.keys[0] != "e000"
    assert reason.path[0].keys[0] == "e000"
    drawn = kw.train(grouped(lambda club, draw: draw.integers(0, 12, 120)), overrides={**APART, "training.epochs": 12})
    chance = np.mean(1 / np.arange(1, 13))
    assert object_mrr(drawn) < 1.7 * chance


@pytest.mark.usefixtures("uncalibrated")
@pytest.mark.parametrize("training", ["joint", "apart"])
def test_with_shuffled_targets_nothing_leaks_where_a_fact_leaves_itself_out(training):
    """Training must not find a trace of the asked fact: else it would learn more than chance from what is drawn."""
    draw = np.random.default_rng(1)
    data = planted([draw.integers(0, 40, 400), draw.integers(0, 40, 400)])
    model = kw.train(data, overrides={**APART, "evidence.training": training, "model.rank": 1})
    chance = np.mean(1 / np.arange(1, 41))
    assert object_mrr(model) < 1.7 * chance
    facts = model.dataset.train
    s, p, o, t = (torch.tensor(column) for column in (facts.subject, facts.predicate, facts.object, facts.begin))
    with torch.no_grad():
        _, evidence = model.model.objects_apart(s, p, t, torch.arange(len(facts)))
        loss = torch.nn.functional.cross_entropy(evidence.whole(), o)
    assert loss > 0.95 * np.log(40)


def test_a_training_fact_is_asked_for_by_its_row(monkeypatch):
    """Also where some are held out; and other answers that are true at that time are no rivals."""
    data, seen = planted([np.arange(400) % 40] * 2), []
    twice = Facts(*(np.append(column, column[:1]) for _, column in data.train.columns()))
    twice = Facts(twice.subject, twice.predicate, np.append(data.train.object, 44), twice.begin, twice.end)

    class Spy(stages.Objective):
        def terms(self, model, batch):
            seen.append(batch)
            return super().terms(model, batch)

    monkeypatch.setattr(stages, "Objective", Spy)
    settings = {**APART, "correction.held_out": 0.1, "training.epochs": 1}
    kw.train(replace(data, train=twice), overrides=settings)
    held = held_out(len(twice), 0.1, 0)
    assert sorted(torch.cat([batch.asked for batch in seen]).tolist()) == sorted(2 * np.flatnonzero(~held).tolist())
    others = []
    for batch in seen:
        p, P = batch.p, len(data.predicates)
        asked = twice[batch.asked.numpy()]
        assert (batch.s.numpy() == np.where(p >= P, asked.object, asked.subject)).all()
        row, object = (ids.tolist() for ids in batch.others)
        others += [(batch.s[i].item(), p[i].item(), batch.o[i].item(), x) for i, x in zip(row, object, strict=True)]
    first = int(data.train.object[0])
    assert {(0, 0, first, 44), (0, 0, 44, first)} & set(others)
    assert all(o != x for _, _, o, x in others)


def test_apart_is_saved_opened_and_resumed(tmp_path):
    settings = {**APART, "training.epochs": 2, "training.batch_size": 1000, "validation.sample": 20}
    whole = kw.train("leaders", run=tmp_path / "whole", overrides=settings)
    assert whole.model.apart and whole.model.leave_out == "itself"
    again = kw.open(tmp_path / "whole")
    assert again.model.apart and [term.leave_out for term in again.model.terms] == ["itself"] * 4
    assert again.evaluate("valid", sample=20).mrr == whole.evaluate("valid", sample=20).mrr
    kw.train("leaders", run=tmp_path / "run", overrides={**settings, "training.epochs": 1})
    resumed = kw.train(None, run=tmp_path / "run", resume=True, overrides={"training.epochs": 2})
    for name, table in resumed.model.named_parameters():
        assert_close(table, dict(whole.model.named_parameters())[name], rtol=0, atol=0)


def test_bad_settings_begin_no_run(tmp_path):
    with pytest.raises(BadRequest, match="increasing numbers from 1"):
        kw.train("leaders", run=tmp_path / "run", overrides={**SMALL, "evidence.pair_history.lags": [7, 3]})
    with pytest.raises(BadRequest, match=r"evidence\.dropout"):
        kw.train("leaders", run=tmp_path / "run", overrides={**SMALL, "evidence.dropout": 1.0})
    assert not (tmp_path / "run" / "config.toml").exists()


def test_a_checkpoint_of_another_version_is_said_in_one_line(tmp_path):
    kw.train("leaders", run=tmp_path / "run", overrides={**SMALL, "training.epochs": 1})
    path = tmp_path / "run" / "checkpoints" / "last.safetensors"
    kept, state = read_tensors(path, "")
    del kept["model.evidence.pair_history.share"]
    path.write_bytes(tensor_bytes(kept, state))
    with pytest.raises(DamagedFile, match="do not match this version of unioncomplex; train again"):
        kw.train(None, run=tmp_path / "run", resume=True, overrides={"training.epochs": 2})


def test_weights_of_another_version_are_said_in_one_line(trained, tmp_path):
    trained.save(tmp_path / "model")
    weights = load_file(tmp_path / "model" / "weights.safetensors")
    del weights["evidence.pair_history.share"]
    save_file(weights, tmp_path / "model" / "weights.safetensors")
    with pytest.raises(DamagedFile, match="do not match this version of unioncomplex; train again"):
        kw.open(tmp_path / "model", verify=False)


def test_evidence_settings_are_checked():
    with pytest.raises(BadRequest, match="evidence"):
        kw.train("leaders", overrides={**SMALL, "model.evidence": ["pair_histroy"]})
    with pytest.raises(BadRequest, match="increasing numbers from 1"):
        kw.train("leaders", overrides={**SMALL, "evidence.pair_history.lags": [7, 3]})


def test_scores_with_evidence_do_not_depend_on_the_batch(trained):
    s, p, t = (torch.arange(20) * k % n for k, n in ((7, 1400), (1, 34), (3, 80)))
    whole = trained.model.objects(s, p, t).whole().detach()
    single = torch.cat([trained.model.objects(*(x[i : i + 1] for x in (s, p, t))).whole() for i in range(20)])
    assert_close(whole, single.detach())
