"""The correction from end to end: learned on what was held out, kept if valid agrees, saved and explained."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch.testing import assert_close

import knowwhen as kw
from knowwhen.errors import BadRequest, Interrupted
from knowwhen.facts.index.counts import COUNTED
from knowwhen.facts.index.known import KnownFacts
from knowwhen.facts.table import Facts
from knowwhen.models import Background, TemporalModel
from knowwhen.models.timestamps import sample_timestamps
from knowwhen.training import correction, stages
from knowwhen.training.correction import HeldOut, held_out, learn_correction, learn_weights
from knowwhen.training.session import Silent

SMALL = {
    "model.name": "unioncomplex",
    "model.rank": 8,
    "model.evidence": ["pair_history", "context"],
    "correction.held_out": 0.1,
    "training.epochs": 3,
    "training.batch_size": 500,
    "validation.every": 1,
}


class Told(Silent):
    def __init__(self):
        self.lines = []

    def notice(self, text):
        self.lines.append(text)


@pytest.fixture(scope="module")
def told():
    return Told()


@pytest.fixture(scope="module")
def trained(tmp_path_factory, told):
    return kw.train("leaders", run=tmp_path_factory.mktemp("runs") / "run", overrides=SMALL, progress=told)


def test_some_facts_are_held_out_the_same_each_time():
    held = held_out(1000, 0.05, seed=3)
    assert held.sum() == 50
    assert (held == held_out(1000, 0.05, seed=3)).all() and (held != held_out(1000, 0.05, seed=4)).any()
    assert not held_out(1000, 0.0, seed=3).any()


def test_what_is_held_out_is_not_learned_from_but_remembered(monkeypatch, tmp_path):
    seen = []

    class Spy(stages.TrainingFacts):
        def __init__(self, facts, *rest):
            seen.append(facts)
            super().__init__(facts, *rest)

    monkeypatch.setattr(stages, "TrainingFacts", Spy)
    model = kw.train("leaders", overrides={**SMALL, "training.epochs": 1})
    train, held = model.dataset.train, held_out(len(model.dataset.train), 0.1, 0)
    assert (seen[0].rows() == train[~held].rows()).all()
    assert len(model.model.evidence["pair_history"].history) == 2 * len(train)


def test_valid_agrees_and_is_told(trained, told):
    corrected = trained.records[-1]["corrected"]["mrr"]
    assert trained.info()["correction"] and trained.info()["best_valid_mrr"] == corrected
    before = max(record["valid"]["mrr"] for record in trained.records)
    assert corrected > before
    assert told.lines == [
        f"correction: training on {round(0.1 * len(trained.dataset.train)):,} held-out training facts",
        f"valid MRR {corrected:.4f} with the correction, {before:.4f} without",
    ]
    assert trained.evaluate("valid").mrr == pytest.approx(corrected)


def test_a_corrected_model_opens_with_the_same_scores(trained, tmp_path):
    trained.save(tmp_path / "copy")
    for model in (kw.open(trained.path), kw.open(tmp_path / "copy")):
        assert model.evaluate("test", sample=50).mrr == trained.evaluate("test", sample=50).mrr
        assert model.info()["correction"]


def test_only_facts_of_train_are_counted(trained):
    """As many as there are, and none where only valid or test has a pair."""
    data, P = trained.dataset, trained.model.sizes.predicates
    both = Facts.concatenate(data.train, data.train.reciprocal(P))
    pairs = set(zip(both.subject.tolist(), both.object.tolist(), strict=True))
    for model in (trained, kw.open(trained.path)):
        for split in ("valid", "test"):
            facts = data.facts(split)
            met = [pair in pairs for pair in zip(facts.subject.tolist(), facts.object.tolist(), strict=True)]
            t = np.zeros(len(facts), np.int64)
            counts = model.model.correction.counts.of(facts.subject, facts.predicate, facts.object, t)
            ever = counts[:, COUNTED.index("s o ever")] + counts[:, COUNTED.index("s p o within 0")]
            assert not all(met) and not ever[~np.array(met)].any() and ever[met].any()


def test_a_corrected_run_resumes_as_if_never_stopped(trained, tmp_path):
    kw.train("leaders", run=tmp_path / "run", overrides={**SMALL, "training.epochs": 2})
    resumed = kw.train(None, run=tmp_path / "run", resume=True, overrides={"training.epochs": 3})
    for name, table in resumed.model.named_parameters():
        assert_close(table, dict(trained.model.named_parameters())[name], rtol=0, atol=0)


def test_it_is_left_out_where_valid_is_better_without(monkeypatch, tmp_path):
    def misled(model, *rest):
        corrected = learn_correction(model, *rest)
        with torch.no_grad():
            corrected.correction.out.weight.fill_(-100)  # against all that evidence speaks for
        return corrected

    monkeypatch.setattr(stages, "learn_correction", misled)
    told = Told()
    model = kw.train("leaders", run=tmp_path / "run", overrides={**SMALL, "training.epochs": 1}, progress=told)
    assert told.lines[-1] == "validation MRR is better without the correction, so it is not used"
    assert not model.info()["correction"] and not kw.open(model.path).info()["correction"]
    assert model.info()["best_valid_mrr"] == model.evaluate("valid").mrr


def test_ctrl_c_after_the_last_epoch_loses_nothing(monkeypatch, tmp_path, trained):
    def interrupted(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(stages, "learn_correction", interrupted)
        with pytest.raises(Interrupted, match="stopped after the last epoch, which is saved; continue with"):
            kw.train("leaders", run=tmp_path / "run", overrides=SMALL)
    resumed = kw.train(None, run=tmp_path / "run", resume=True)
    for name, table in resumed.model.named_parameters():
        assert_close(table, dict(trained.model.named_parameters())[name], rtol=0, atol=0)


def test_without_a_valid_split_it_is_kept():
    data = kw.load("leaders")
    data = replace(data, train=Facts.concatenate(data.train, data.valid), valid=Facts.empty())
    assert kw.train(data, overrides={**SMALL, "training.epochs": 1}).info()["correction"]


def test_one_fact_that_nothing_is_known_of_teaches_nothing():
    """The only fact is left out of its own history."""
    data = kw.load("leaders")
    model = kw.train(replace(data, train=data.train[:1]), overrides={**SMALL, "correction.held_out": 0.0})
    corrected = learn_correction(model.model, Background.of(model.dataset), np.array([True]), seed=0)
    assert not corrected.correction.out.weight.any() and corrected.correction.mean.isfinite().all()
    assert model.model.correction is None  # the model given stays as it is


def without(model):
    return TemporalModel(model.decomposition, dict(model.evidence.items()))


def losses(model, facts, times, known):
    """The cross-entropy of each answer among all that are not known to be right as well, one by one."""
    found = []
    for s, p, o, t in zip(facts.subject, facts.predicate, facts.object, times, strict=True):
        scores = model.objects(*(torch.tensor([i]) for i in (s, p, t))).whole()[0]
        _, others = known.objects(*(np.array([i]) for i in (s, p, t)))
        rivals = np.setdiff1d(np.arange(len(scores)), np.setdiff1d(others, [o]))
        found.append((scores[rivals].logsumexp(0) - scores[o]).item())
    return np.array(found)


def test_the_loss_is_that_of_all_answers(trained):
    """What is made once and learned from again and again gives the loss by its definition."""
    model, data = trained.model, trained.dataset
    some, known = data.train[:40], KnownFacts(data.train, model.sizes.predicates)
    with torch.no_grad(), pytest.MonkeyPatch.context() as patch:
        patch.setattr(correction, "RIVALS", model.sizes.entities)
        held = np.arange(len(data.train)) < 40
        asked = HeldOut.of(model, Background.of(data), held, torch.Generator().manual_seed(0))
        asked = correction._ask(without(model), model.correction, asked)
        found = correction._loss(model.correction, asked).item()
        facts = Facts.concatenate(some, some.reciprocal(model.sizes.predicates))
        times = sample_timestamps(facts, model.sizes, torch.Generator().manual_seed(0))
        assert found == pytest.approx(losses(model, facts, times.numpy(), known).mean(), rel=1e-5)


def test_learning_lowers_the_loss_of_what_was_held_out(trained):
    model, data = trained.model, trained.dataset
    held = data.train[held_out(len(data.train), 0.1, 0)][:60]
    known = KnownFacts(data.train, model.sizes.predicates)
    times = np.where(held.begin >= 0, held.begin, 0)
    with torch.no_grad():
        after = losses(model, held, times, known).mean()
        before = losses(without(model), held, times, known).mean()
    assert after < before


def test_added_facts_are_counted(trained, tmp_path):
    (tmp_path / "news.csv").write_text(
        "subject,predicate,object,begin,end\n"
        "France,has prime minister,Ada New,2026,\n"
        "Newland,has president,Ada New,2026,\n"
    )
    copy = tmp_path / "copy"
    trained.save(copy)
    more = kw.open(copy).add(tmp_path / "news.csv")
    assert more.info()["correction"]
    explained = more.ask("France", "has president", "?", "2026", explain=True, candidates=["Ada New"])
    assert explained[0].reasons.correction != 0
    assert explained[0].reasons.score == pytest.approx(explained[0].score, rel=1e-4)


@pytest.mark.parametrize("evidence", [[], ["context"]])
def test_there_must_be_something_to_correct(evidence, tmp_path):
    with pytest.raises(BadRequest, match="held_out needs pair_history or path_history or predicate_history"):
        kw.train("leaders", run=tmp_path / "run", overrides={**SMALL, "model.evidence": evidence})
    assert not (tmp_path / "run").exists() or not any((tmp_path / "run").glob("*.toml"))


@pytest.fixture(scope="module")
def learned_apart(tmp_path_factory):
    """Decomposition and evidence apart, a training fact leaving itself out alone."""
    settings = {
        **SMALL,
        "model.evidence": ["pair_history", "repeat_history", "path_history", "object_profile"],
        "evidence.training": "apart",
        "evidence.leave_out": "itself",
        "evidence.learning_rate": 0.3,
    }
    told = Told()
    model = kw.train("leaders", run=tmp_path_factory.mktemp("runs") / "run", overrides=settings, progress=told)
    return model, told.lines


def test_weights_of_the_decomposition_are_those_under_which_held_out_facts_are_most_probable(learned_apart):
    model, data = learned_apart[0].model, learned_apart[0].dataset
    held, background = held_out(len(data.train), 0.1, 0), Background.of(data)
    learned = learn_weights(model, background, held, seed=0)
    assert set(learned.weights.tolist()) <= set(torch.tensor(correction.WEIGHTS).tolist())
    asked = HeldOut.of(model, background, held, torch.Generator().manual_seed(0))
    s, p, o, t, rows = asked.columns(torch.device("cpu"))

    def loss(weights):
        with torch.no_grad():
            scores = model.weighted(weights).objects(s, p, t, asked=rows).whole()
            own = scores[torch.arange(len(s)), o]
            scores[asked.others(torch.device("cpu"))] = -torch.inf
            return (scores.logsumexp(-1) - own).mean().item()

    everywhere = [loss(torch.full_like(learned.weights, weight)) for weight in correction.WEIGHTS]
    assert loss(learned.weights) <= min(everywhere) + 1e-4


def test_what_was_learned_on_held_out_facts_is_told_and_better_on_valid(learned_apart):
    model, lines = learned_apart
    assert lines[1].startswith("decomposition: weights ") and "valid MRR" in lines[1]
    assert model.info()["best_valid_mrr"] >= max(record["valid"]["mrr"] for record in model.records)
    assert model.evaluate("valid").mrr == pytest.approx(model.info()["best_valid_mrr"])
