"""A fit without data, calibration or time head; and a model made of it later."""

import dataclasses
import json
import os
import signal

import numpy as np
import pytest

import knowwhen as kw
from knowwhen.errors import BadRequest, RunError
from knowwhen.training import bare
from knowwhen.training.bare import fit_bare
from knowwhen.training.config import read_config
from knowwhen.training.loop import best_valid_mrr
from knowwhen.training.run import RunFolder
from knowwhen.training.session import Silent, stop_requested
from knowwhen.training.stages import learn_stages

SMALL = {"model.rank": 4, "training.epochs": 2, "training.batch_size": 500, "validation.every": 1}


@pytest.fixture(scope="module")
def leaders():
    return kw.load("leaders")


def fit(path, dataset, **changes):
    folder = RunFolder(path)
    with folder.locked():
        return fit_bare(folder, dataset, read_config("leaders", SMALL | changes), Silent())


def test_a_bare_fit_keeps_neither_data_nor_a_model_and_has_the_numbers_of_training(leaders, tmp_path):
    records = fit(tmp_path / "bare", leaders)  # the recipe has a time head, which is not learned
    kept = {str(path.relative_to(tmp_path / "bare")) for path in (tmp_path / "bare").rglob("*") if path.is_file()}
    names = ("best", "last", "previous")
    assert kept == {".lock", "config.toml", "metrics.jsonl", "timing.jsonl"} | {
        f"checkpoints/{name}.safetensors" for name in names
    }
    whole = kw.train(leaders, "leaders", overrides={**SMALL, "dating.passes": 0}, run=tmp_path / "whole")
    assert records == whole.records
    assert best_valid_mrr(records) == whole.info()["best_valid_mrr"] > 0


def test_a_bare_fit_is_corrected_where_the_settings_say_so(leaders, tmp_path):
    records = fit(tmp_path, leaders, **{"model.evidence": ["pair_history"], "correction.held_out": 0.2})
    assert best_valid_mrr(records) == records[-1]["corrected"]["mrr"] > records[-1]["valid"]["mrr"]


def test_a_bare_fit_never_sees_test(leaders, tmp_path, monkeypatch):
    """Other facts of test, of the same names: not a bit changes. Nor are they there to be seen."""
    seen = []
    monkeypatch.setattr(bare, "learn_stages", lambda *given: seen.append(given[1]) or learn_stages(*given))
    order = np.random.default_rng(0).permutation(len(leaders.test))
    other = dataclasses.replace(leaders.test, object=leaders.test.object[order])
    assert fit(tmp_path / "a", leaders) == fit(tmp_path / "b", dataclasses.replace(leaders, test=other))
    assert [len(dataset.test) for dataset in seen] == [0, 0] and seen[0].valid is leaders.valid


def test_training_makes_a_model_of_a_bare_fit_without_fitting_again(leaders, tmp_path):
    quick = {"dating.passes": 0}
    records = fit(tmp_path, leaders, **quick)
    with pytest.raises(RunError, match="is a trial of a study, without a copy of its data; turn it into a model"):
        kw.open(tmp_path)
    with pytest.raises(BadRequest, match="keeps no copy of its data; name the data to train on"):
        kw.train(None, run=tmp_path, resume=True)
    with pytest.raises(RunError, match="the data differs from that of"):
        kw.train(leaders.without_test, run=tmp_path, resume=True)
    model = kw.train(leaders, run=tmp_path, resume=True)
    assert model.records == records and model.calibration is not None
    timing = [json.loads(line) for line in (tmp_path / "timing.jsonl").read_text().splitlines()]
    assert [line["epoch"] for line in timing] == [1, 2]  # each trained once
    assert all(line["seconds"] > 0 and line["processor_seconds"] > 0 for line in timing)
    assert kw.open(tmp_path).evaluate("valid").mrr == pytest.approx(best_valid_mrr(records))


def test_a_folder_with_other_settings_is_refused(leaders, tmp_path):
    fit(tmp_path, leaders)
    with pytest.raises(RunError, match="was started with other settings or data; move it away to start again"):
        fit(tmp_path, leaders, **{"model.rank": 5})
    assert json.loads((tmp_path / "metrics.jsonl").read_text().splitlines()[0])["epoch"] == 1


def test_a_request_to_stop_inside_reaches_the_outside():
    with stop_requested() as outer:
        with stop_requested() as inner:
            os.kill(os.getpid(), signal.SIGINT)
        assert inner is outer and outer.is_set()
        with pytest.raises(KeyboardInterrupt):  # asked twice
            os.kill(os.getpid(), signal.SIGINT)
    with stop_requested() as later:
        assert not later.is_set()
