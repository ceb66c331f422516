"""What is computed has not changed since NUMBERS were raised last: a few tiny runs, to four digits."""

from dataclasses import replace

import pytest
import torch

from knowwhen.evaluation import PairCounts, evaluate
from knowwhen.facts.catalog import load
from knowwhen.reproduction.numbers import NUMBERS
from knowwhen.trained import train

SMALL = {"model.rank": 8, "training.batch_size": 500, "training.epochs": 2, "dating.passes": 0}
SAMPLED = {"objective.sampling": "uniform", "objective.negatives": 64}
EVIDENCE = ["pair_history", "predicate_history", "context", "path_history", "object_profile", "repeat_history"]
TOLERANCE = 1e-4
# What each area computed when its number was raised last; a change of these raises the number too.
COMPUTED = {
    "training": (1, {"loss": 7.586169, "sampled": 7.849987, "score": 0.55238}),
    "evidence": (1, {"loss": 7.222371, "score": 2.548864}),
    "dating": (1, {"aeIOU@1": 0.102963, "TAC@1": 0.103386, "holds": 0.017401}),
    "validation": (1, {"mrr": 0.40589}),
    "evaluation": (1, {"mrr": 0.376816}),
}


@pytest.fixture(scope="module")
def leaders():
    """A part of it, for speed."""
    whole = load("leaders")
    return replace(whole, train=whole.train[:1000], valid=whole.valid[:200], test=whole.test[:200])


def scored(trained):
    """The mean score of the test facts."""
    facts = trained.dataset.test
    ids = (torch.tensor(column) for column in (facts.subject, facts.predicate, facts.object, facts.begin.clip(0)))
    with torch.no_grad():
        return float(trained.model.score(*ids).double().mean())


def training(leaders, folder):
    full = train(leaders, "leaders", run=folder / "full", overrides=SMALL)
    sampled = train(leaders, "leaders", run=folder / "sampled", overrides={**SMALL, **SAMPLED})
    return {"loss": full.records[-1]["loss"], "sampled": sampled.records[-1]["loss"], "score": scored(full)}


def evidence(leaders, folder):
    own = {"model.name": "unioncomplex", "model.evidence": EVIDENCE, "correction.held_out": 0.1, "training.epochs": 1}
    made = train(leaders, "leaders", run=folder / "evidence", overrides={**SMALL, **own})
    return {"loss": made.records[-1]["loss"], "score": scored(made)}


def dating(leaders, folder):
    made = train(leaders, "leaders", run=folder / "dating", overrides={**SMALL, "dating.passes": 1})
    found = made.evaluate_times("test", sample=100).to_dict()
    return {name: found["model"]["intervals"][name] for name in ("aeIOU@1", "TAC@1")} | {"holds": found["holds"]["ece"]}


def counted(split):
    whole = load("leaders")
    return {"mrr": evaluate(PairCounts.count(whole), whole, split).mrr}


MEASURES = {
    "training": training,
    "evidence": evidence,
    "dating": dating,
    "validation": lambda *_: counted("valid"),
    "evaluation": lambda *_: counted("test"),
}


@pytest.mark.parametrize("area", NUMBERS)
def test_what_is_computed_changes_only_with_its_number(area, leaders, tmp_path, quick_time_head):
    number, computed = COMPUTED[area]
    assert number == NUMBERS[area], f"put what NUMBERS[{area!r}] = {NUMBERS[area]} computes into COMPUTED"
    found = MEASURES[area](leaders, tmp_path)
    changed = {name: (value, found[name]) for name, value in computed.items() if abs(found[name] - value) > TOLERANCE}
    assert not changed, f"the computation has changed: raise NUMBERS[{area!r}] and put the new values here: {found}"
    assert set(found) == set(computed)


def test_a_change_beyond_rounding_is_seen(leaders, tmp_path):
    """A learning rate that is one part in a hundred higher."""
    changed = {**SMALL, "training.learning_rate": 0.101}
    loss = train(leaders, "leaders", run=tmp_path / "run", overrides=changed).records[-1]["loss"]
    assert abs(loss - COMPUTED["training"][1]["loss"]) > TOLERANCE
