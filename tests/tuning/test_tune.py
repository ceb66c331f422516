"""The search for settings, with real training: small, on leaders."""

import json
import os
import shutil
import signal
import sys

import polars as pl
import pytest

import knowwhen as kw
from knowwhen.errors import BadRequest, Interrupted, MissingExtra, RunError
from knowwhen.tuning import tune as tuning
from knowwhen.tuning.tune import read_study, tune

WEIGHT, RATE = "regularizer.embedding_weight", "training.learning_rate"
SMALL = {
    "model.rank": 4,
    "training.epochs": 2,
    "training.batch_size": 500,
    "validation.every": 1,
    "validation.sample": 100,
    "dating.passes": 0,
}
SPACE = {WEIGHT: [0.001, 0.1], RATE: [0.01, 0.1]}


@pytest.fixture(scope="module")
def leaders():
    return kw.load("leaders")


def search(data, run=None, space=SPACE, **options):
    options = {"sampler": "grid", "overrides": SMALL, **options}
    return tune(data, "leaders", space, run=run, **options)


@pytest.fixture(scope="module")
def study(leaders, tmp_path_factory):
    folder = tmp_path_factory.mktemp("studies") / "grid"
    return search(leaders, folder)


def test_a_grid_is_searched_and_the_best_recipe_trains_to_the_same_mrr(leaders, study, tmp_path):
    assert len(study.trials) == 4 and {trial.state for trial in study.trials} == {"complete"}
    mrrs = [trial.valid_mrr for trial in study.trials]
    assert mrrs == sorted(mrrs, reverse=True) and mrrs[0] > mrrs[-1] > 0
    assert {tuple(trial.point.values()) for trial in study.trials} == {
        (w, r) for w in (0.001, 0.1) for r in (0.01, 0.1)
    }
    model = kw.train(leaders, study.path / "best.toml")
    assert model.info()["best_valid_mrr"] == study.best.valid_mrr
    assert {name: model.config.flat()[name] for name in study.best.point} == study.best.point


def test_trials_keep_neither_data_nor_models_and_one_keeps_weights(study):
    names = {path.name for path in (study.path / "trials").rglob("*") if path.is_file()}
    assert names == {
        "config.toml",
        "metrics.jsonl",
        "timing.jsonl",
        *(f"{n}.safetensors" for n in ("best", "last", "previous")),
    }
    assert [path.parent.name for path in study.path.glob("trials/*/checkpoints")] == [f"{study.best.number:04}"]
    assert sorted(path.name for path in study.path.iterdir()) == ["best.toml", "study.db", "trials"]


def test_the_best_trial_is_finished_without_fitting_again(leaders, study, tmp_path):
    folder = shutil.copytree(study.path / "trials" / f"{study.best.number:04}", tmp_path / "best")
    before = (folder / "timing.jsonl").read_text()
    model = kw.train(leaders, run=folder, resume=True)
    assert (folder / "timing.jsonl").read_text() == before
    assert model.info()["best_valid_mrr"] == study.best.valid_mrr and model.calibration is not None


def test_a_study_as_a_table_and_as_json(study):
    frame = study.to_polars()
    assert frame.columns == ["number", "state", "valid_mrr", "epochs", "minutes", "error", "same_as", WEIGHT, RATE]
    assert frame["valid_mrr"].to_list() == [trial.valid_mrr for trial in study.trials]
    assert frame.schema[WEIGHT] == pl.Float64
    values = json.loads(json.dumps(study.to_dict()))
    assert values["best"] == json.loads(json.dumps(study.best.to_dict())) and len(values["trials"]) == 4
    assert values["trials"][0]["curve"][-1][1] <= values["best"]["valid_mrr"]
    assert values["data"]["name"] == "leaders" and values["space"] == SPACE and values["sampler"] == "grid"
    lines = str(study).splitlines()
    assert lines[0].split() == [
        "trial",
        "state",
        "valid",
        "MRR",
        "epochs",
        "minutes",
        "embedding_weight",
        "learning_rate",
    ]
    assert lines[1].split()[:3] == [str(study.best.number), "complete", f"{study.best.valid_mrr:.4f}"]


def test_the_same_call_trains_nothing_again_and_more_trials_go_on(leaders, study, tmp_path):
    stamps = {path: path.stat().st_mtime_ns for path in study.path.rglob("*.jsonl")}
    again = search(leaders, study.path)
    assert again.trials == study.trials
    assert {path: path.stat().st_mtime_ns for path in study.path.rglob("*.jsonl")} == stamps
    part = search(leaders, tmp_path / "part", trials=1)
    more = search(leaders, tmp_path / "part", trials=3)
    assert (len(part.trials), len(more.trials)) == (1, 3)
    by_number = {trial.number: trial for trial in study.trials}
    assert {t.number: (t.point, t.valid_mrr) for t in more.trials} == {
        n: (by_number[n].point, by_number[n].valid_mrr) for n in range(3)
    }
    assert read_study(tmp_path / "part").trials == more.trials


def test_a_study_without_a_folder_leaves_none(leaders, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    found = search(leaders, space={WEIGHT: [0.01]})
    assert found.path is None and found.best.valid_mrr > 0
    assert "embedding_weight = 0.01\n" in found.recipe
    left = [path.name for path in tmp_path.iterdir() if not path.name.startswith("torchinductor")]  # torch's own cache
    assert left == []


def test_a_diverged_trial_is_recorded_and_not_fatal(leaders, tmp_path):
    found = search(leaders, tmp_path, {RATE: [1e30, 0.1]}, overrides={**SMALL, "regularizer.embedding": "delta4"})
    assert [trial.state for trial in found.trials] == ["complete", "failed"]
    assert found.best.point == {RATE: 0.1}
    assert found.trials[1].error.startswith("the loss is nan in epoch 1; lower training.learning_rate (now 1e+30)")
    assert f"trial {found.trials[1].number} failed: {found.trials[1].error}" in str(found)
    assert not (tmp_path / "trials" / f"{found.trials[1].number:04}" / "checkpoints").exists()


def test_where_every_trial_fails_the_reason_is_said(leaders, tmp_path):
    found = search(leaders, tmp_path, {RATE: [1e30]}, overrides={**SMALL, "regularizer.embedding": "delta4"})
    with pytest.raises(RunError, match="no trial is complete yet; trial 0 failed: the loss is nan in epoch 1"):
        _ = found.best
    assert found.to_dict()["best"] is None and not (tmp_path / "best.toml").exists()


def test_a_value_that_goes_with_no_other_fails_its_trial_alone(leaders, tmp_path):
    space = {
        "objective.loss": ["softmax", "margin"],
        "objective.sampling": ["none", "each"],
        "objective.negatives": [4],
    }
    found = search(leaders, tmp_path, space, sampler="random", trials=12)
    failed = {tuple(t.point.values())[:2]: t.error for t in found.trials if t.state == "failed"}
    assert failed == {("margin", "none"): "objective.loss = margin needs objective.sampling = each, not none"}
    assert {tuple(t.point.values())[:2] for t in found.trials if t.state == "complete"} == {
        ("softmax", "none"),
        ("softmax", "each"),
        ("margin", "each"),
    }


def test_hopeless_trials_end_early(leaders, tmp_path):
    rates = {RATE: [0.1, 0.11, 0.12, 0.13, 0.14, 1e-6, 1e-7]}
    found = search(leaders, tmp_path, rates, overrides={**SMALL, "training.epochs": 3})
    late = [trial for trial in found.trials if trial.point[RATE] < 1e-5 and trial.number >= 5]
    assert all(trial.state == "pruned" and trial.epochs == 1 and len(trial.curve) == 1 for trial in late)
    whole = search(leaders, tmp_path / "whole", {RATE: [1e-6]}, pruner="none")
    assert whole.best.epochs == 2


def test_it_is_said_where_no_trial_can_be_pruned(leaders, tmp_path):
    class Noting(tuning.Unwatched):
        notices = []

        def notice(self, text):
            self.notices.append(text)

    rarely = {**SMALL, "validation.every": 2}
    for pruner in ("median", "none"):
        search(leaders, tmp_path / pruner, {RATE: [0.1]}, overrides=rarely, pruner=pruner, progress=Noting())
    assert Noting.notices == [
        "trials are validated only after their last epoch, so none is pruned; lower validation.every"
    ]


class Stopping(tuning.Unwatched):
    """Asks to stop as Ctrl-C does, after some epochs."""

    def __init__(self, epochs):
        self.left, self.seen = epochs, []

    def epoch(self, number, record, epochs):
        self.seen.append((number, record["epoch"]))
        self.left -= 1
        if not self.left:
            os.kill(os.getpid(), signal.SIGINT)


@pytest.mark.parametrize(
    ("epochs", "where"),
    [(1, "in trial 0, which is saved; 0"), (2, "between trials; 1"), (3, "in trial 1, which is saved; 1")],
)
def test_ctrl_c_leaves_a_study_that_goes_on_to_the_same(leaders, study, tmp_path, epochs, where):
    stopping = Stopping(epochs)
    with pytest.raises(Interrupted, match=f"stopped {where} of 4 trials are done: the same command continues"):
        search(leaders, tmp_path, progress=stopping)
    assert len(stopping.seen) == epochs
    going = Stopping(0)
    found = search(leaders, tmp_path, progress=going)
    assert [(t.number, t.valid_mrr, t.curve) for t in found.trials] == [
        (t.number, t.valid_mrr, t.curve) for t in study.trials
    ]
    assert stopping.seen + going.seen == [(number, epoch) for number in range(4) for epoch in (1, 2)]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"sampler": "best"}, "sampler is 'best'; expected grid, random, tpe"),
        ({"pruner": "all"}, "pruner is 'all'; expected median, halving, none"),
        ({"trials": 0}, "trials is 0; expected at least 1"),
        ({"overrides": {"validation.every": 0}}, "validation.every is 0; trials are judged by validation;"),
        ({"overrides": {"model.rnk": 4}}, "no setting 'model.rnk' of tntcomplex"),
        ({"space": {WEIGHT: [-1.0]}}, f"space: {WEIGHT} is -1.0: input should be greater than or equal to 0"),
        ({"space": {WEIGHT: {"low": 0.1, "high": 1}}}, "a grid needs a list of values"),
    ],
)
def test_mistakes_are_said_before_anything_is_written(leaders, tmp_path, options, message):
    with pytest.raises(BadRequest, match=message):
        search(leaders, tmp_path / "s", **options)
    assert not (tmp_path / "s").exists()


def test_data_without_valid_cannot_be_tuned_on(leaders, world, tmp_path):
    with pytest.raises(BadRequest, match="small has no validation facts, which tuning needs"):
        search(world.dataset(valid=[]), tmp_path / "s")
    assert not (tmp_path / "s").exists()


def test_other_data_is_another_study(leaders, study):
    with pytest.raises(RunError, match=r"contains a study with data.hash = "):
        search(leaders.without_test, study.path)


def test_a_missing_extra_says_what_to_install(leaders, tmp_path, monkeypatch):
    monkeypatch.delitem(sys.modules, "knowwhen.tuning.shared", raising=False)
    monkeypatch.delattr(sys.modules["knowwhen.tuning"], "shared", raising=False)
    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(MissingExtra, match=r"the search for settings needs .*: pip install 'knowwhen\[tune\]'"):
        search(leaders, tmp_path / "s")
    assert not (tmp_path / "s").exists()


def test_a_model_of_ones_own_is_tuned_and_named_in_the_recipe(leaders, tmp_path, monkeypatch):
    (tmp_path / "my_tuned.py").write_text(OWN)
    monkeypatch.syspath_prepend(tmp_path)
    own = {**SMALL, "training.epochs": 1, "model.name": "my_tuned:Shifted"}
    found = search(leaders, tmp_path / "s", {"model.pull": [0.5]}, overrides=own)
    assert found.best.point == {"model.pull": 0.5}
    assert 'name = "my_tuned:Shifted"' in found.recipe
    assert kw.train(leaders, tmp_path / "s" / "best.toml", allow_code=True).info()["model"] == "shifted_for_tuning"


OWN = """
from pydantic import Field
from knowwhen.models import Axis, Decomposition, RankOptions, real_rows

class ShiftedOptions(RankOptions):
    pull: float = Field(1.0, gt=0, description="How strongly time pulls.")

class Shifted(Decomposition):
    name = "shifted_for_tuning"
    formula = "<u_s v_p + a w_t, u_o>"
    Options = ShiftedOptions

    @classmethod
    def tables(cls, o):
        axes = {"u": Axis.ENTITY, "v": Axis.PREDICATE, "w": Axis.TIME}
        return {name: real_rows(axis, o.rank) for name, axis in axes.items()}

    def score(self, s, p, o, t):
        return ((self.u(s) * self.v(p) + self.options.pull * self.w(t)) * self.u(o)).sum(-1)
"""
