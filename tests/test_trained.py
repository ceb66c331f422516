"""Training from end to end on real facts: runs that resume, survive, and say what is wrong."""

import os
import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from torch.testing import assert_close

import knowwhen as kw
import knowwhen.training.stages
from knowwhen.errors import BadRequest, DamagedFile, DiskError, Diverged, Interrupted, RunError
from knowwhen.training.config import read_config
from knowwhen.training.run import RunFolder
from knowwhen.training.session import Silent, threads_for, using_threads
from knowwhen.training.tensors import read_tensors, tensor_bytes
from tests.waiting import PATIENCE, until

SMALL = {"model.rank": 4, "training.epochs": 3, "training.batch_size": 500, "validation.every": 2}


def train(run=None, **changes):
    changes = {key.replace("__", "."): value for key, value in changes.items() if "__" in key}
    return kw.train("leaders", run=run, overrides={**SMALL, **changes})


def files(run: Path) -> dict[str, bytes]:
    """What must be the same for the same seed, however often a run was stopped."""
    names = [
        "metrics.jsonl",
        "model/weights.safetensors",
        "checkpoints/last.safetensors",
        "checkpoints/best.safetensors",
    ]
    return {name: (run / name).read_bytes() for name in names}


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    run = tmp_path_factory.mktemp("runs") / "finished"
    train(run)
    return run


def test_the_same_seed_gives_the_same_files_and_another_does_not(finished, tmp_path):
    train(tmp_path / "again")
    assert files(tmp_path / "again") == files(finished)
    train(tmp_path / "other", training__seed=1)
    assert files(tmp_path / "other") != files(finished)


def test_training_learns_facts_and_generalises():
    model = kw.train("leaders", "leaders", epochs=8, rank=32, overrides={"dating.passes": 0})
    losses = [record["objects"] for record in model.records]
    assert losses[-1] < losses[0] / 3
    assert model.evaluate("train", sample=300).mrr > 0.6
    assert model.evaluate("test").mrr > 0.4  # chance is below 0.01


def test_a_run_opens_with_its_names_and_scores(finished, tmp_path):
    opened = kw.open(finished)
    assert opened.dataset.hash == kw.load("leaders").hash
    assert opened.info()["epochs"] == 3
    assert opened.model.parameter_count() == opened.info()["parameters"] == 2 * 4 * (1487 + 2 * 2 * 17 + 81)
    opened.save(tmp_path / "copy")
    copy = kw.open(tmp_path / "copy")
    assert_close(copy.model.decomposition.u.weight, opened.model.decomposition.u.weight, rtol=0, atol=0)
    assert copy.evaluate("valid").mrr == opened.evaluate("valid").mrr == opened.info()["best_valid_mrr"]
    with pytest.raises(RunError, match="already holds a model"):
        opened.save(tmp_path / "copy")


def test_the_best_epoch_on_valid_is_kept_and_patience_ends_a_run(tmp_path):
    changes = {
        "training__epochs": 60,
        "validation__every": 1,
        "validation__patience": 2,
        "training__learning_rate": 1.0,
    }
    model = train(tmp_path / "run", **changes)
    looks = [record["valid"]["mrr"] for record in model.records]
    assert len(looks) < 60
    assert looks.index(max(looks)) == len(looks) - 3
    assert model.evaluate("valid").mrr == max(looks)
    assert train(tmp_path / "run2", **changes).records == model.records


def test_resuming_a_finished_run_changes_nothing_and_more_epochs_go_on(finished, tmp_path):
    run = tmp_path / "run"
    train(run)
    kw.train(None, run=run, resume=True)
    assert files(run) == files(finished)
    longer = kw.train(None, run=run, resume=True, epochs=5)
    assert [record["epoch"] for record in longer.records] == [1, 2, 3, 4, 5]
    assert kw.open(run).config.training.epochs == 5
    straight = train(tmp_path / "straight", training__epochs=5)
    # The look after the last epoch of the shorter run is one more than the longer run takes.
    assert [r["loss"] for r in longer.records] == [r["loss"] for r in straight.records]


def test_ctrl_c_saves_within_a_moment_and_resume_ends_the_same(finished, tmp_path):
    command = [sys.executable, "-c", "from knowwhen.cli.main import main; main()", "train", "leaders", "--run", "run"]
    command += [f"--set={key}={value}" for key, value in {**SMALL, "training.epochs": 400}.items()]
    process = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True)
    run = tmp_path / "run"
    until((run / "metrics.jsonl").exists, process)
    before = len(RunFolder(run).records())
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    assert "state saved; continue with: knowwhen train --run run --resume" in said.splitlines()[-1]
    done = len(RunFolder(run).records())
    assert done < before + 100  # none more on a quiet machine
    resumed = kw.train(None, run=run, resume=True, epochs=done + 2)
    straight = train(tmp_path / "straight", training__epochs=done + 2)
    assert resumed.records == straight.records


# Reads a line with seconds and a run's folder, trains there in a copy of itself that is killed after so many seconds of
# CPU time, and says how it ended. A process of its own, because polars' threads do not survive a fork: here nothing has
# used them yet.
TRAINER = f"""
import os, signal, sys
import knowwhen.trained
import torch._dynamo  # the first optimizer imports it, for longer than a run takes

knowwhen.training.session.CHECKPOINT_SECONDS = 0.02  # also in the middle of epochs
os.fsync = lambda handle: None  # which is for a power cut, and takes most of the time
for line in sys.stdin:
    seconds, run = line.split(maxsplit=1)
    child = os.fork()
    if child == 0:
        signal.setitimer(signal.ITIMER_PROF, float(seconds))  # nobody handles its signal, so it kills
        knowwhen.trained.train("leaders", run=run.strip(), resume=True, overrides={ {**SMALL, "training.epochs": 6} })
        os._exit(0)
    print(os.waitpid(child, 0)[1], flush=True)
"""


@pytest.mark.slow
def test_killed_at_any_moment_a_run_resumes_to_the_same_bits(tmp_path):
    straight = tmp_path / "straight"
    train(straight, training__epochs=6)
    moments = random.Random(0)
    kills, number, longest = 0, 0, 0.4
    with subprocess.Popen(
        [sys.executable, "-c", TRAINER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
    ) as trainer:
        while kills < 16:
            run = tmp_path / f"run{number}"
            while not (run / "model" / "model.json").exists():
                trainer.stdin.write(f"{moments.uniform(0.001, longest)} {run}\n")
                was_killed = os.WIFSIGNALED(int(trainer.stdout.readline()))
                is_begun = (run / "checkpoints" / "last.safetensors").exists()
                kills += was_killed and is_begun
                if not was_killed or not is_begun:  # how long a run takes depends on the machine
                    longest *= 1.2 if was_killed else 0.9
            assert files(run) == files(straight)
            number += 1
        trainer.stdin.close()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda run: train(run), "already contains a run; continue it with --resume"),
        (lambda run: kw.train("leaders", run=run, resume=True, rank=5), "was started with model.rank = 4, not 5"),
        (lambda run: kw.train(other_data(run), run=run, resume=True), "the data differs from that of"),
    ],
)
def test_a_run_is_not_mixed_with_another(finished, make, message):
    before = files(finished)
    with pytest.raises(RunError, match=message):
        make(finished)
    assert files(finished) == before


def other_data(run: Path) -> kw.Dataset:
    return kw.load("leaders", granularity="day")


def test_a_folder_with_other_things_is_left_alone(tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(RunError, match="exists and is not an empty folder"):
        train(tmp_path)
    with pytest.raises(BadRequest, match=r"no run to resume in"):
        kw.train(None, run=tmp_path / "nothing", resume=True)
    with pytest.raises(RunError, match="holds no run and no model: there is no such folder"):
        kw.open(tmp_path / "nowhere")


def test_a_checkpoint_cut_in_half_is_said_and_the_previous_one_goes_on(finished, tmp_path):
    run = tmp_path / "run"
    train(run, training__epochs=2)
    last = run / "checkpoints" / "last.safetensors"
    last.write_bytes(last.read_bytes()[:1000])
    with pytest.raises(
        DamagedFile, match=r"last.safetensors is damaged .*; delete it to continue from the previous one"
    ):
        kw.train(None, run=run, resume=True, epochs=3)
    last.unlink()
    kw.train(None, run=run, resume=True, epochs=3)
    assert (
        load_file(run / "model" / "weights.safetensors").keys()
        == load_file(finished / "model" / "weights.safetensors").keys()
    )
    assert_close(load_file(last), load_file(finished / "checkpoints" / "last.safetensors"), rtol=0, atol=0)


def test_a_damaged_model_is_said(finished, tmp_path):
    kw.open(finished).save(tmp_path / "model")
    (tmp_path / "model" / "weights.safetensors").write_bytes(b"x" * 100)
    with pytest.raises(DamagedFile, match=r"weights.safetensors is damaged"):
        kw.open(tmp_path / "model")
    (tmp_path / "model" / "model.json").write_text("{")
    with pytest.raises(DamagedFile, match=r"cannot read .*model.json"):
        kw.open(tmp_path / "model")


def test_a_loss_that_is_no_number_stops_with_the_last_checkpoint_intact(tmp_path):
    run = tmp_path / "run"
    train(run, training__epochs=2)
    state = (run / "checkpoints" / "last.safetensors").read_bytes()
    tensors = load_file(run / "checkpoints" / "last.safetensors")
    tensors["model.decomposition.u.weight"][0] = torch.nan
    _, values = read_tensors(run / "checkpoints" / "last.safetensors", "")
    (run / "checkpoints" / "last.safetensors").write_bytes(tensor_bytes(tensors, values))
    poisoned = (run / "checkpoints" / "last.safetensors").read_bytes()
    assert poisoned != state
    with pytest.raises(Diverged, match=r"the loss is nan in epoch 3; lower training.learning_rate \(now 0.1\)"):
        kw.train(None, run=run, resume=True, epochs=4)
    assert (run / "checkpoints" / "last.safetensors").read_bytes() == poisoned


def test_a_full_disk_is_one_line_and_the_last_checkpoint_stays(tmp_path, monkeypatch):
    run = tmp_path / "run"
    train(run, training__epochs=1)
    before = files(run)

    def full(*args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(
        DiskError, match=r"cannot write to .*run: No space left on device; earlier checkpoints are intact"
    ):
        kw.train(None, run=run, resume=True, epochs=2)
    monkeypatch.undo()
    assert files(run) == before
    kw.train(None, run=run, resume=True, epochs=2)


def test_two_processes_do_not_train_in_one_folder(tmp_path):
    with RunFolder(tmp_path / "run").locked(), pytest.raises(RunError, match="another process is training in"):
        train(tmp_path / "run")


def test_an_interrupt_in_the_library_saves_too(tmp_path, monkeypatch):
    class Impatient(Silent):
        def step(self, state, examples_per_second):
            if state.epoch == 1:
                os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(Interrupted, match="stopped in epoch 2, step 1 of 15, state saved"):
        kw.train("leaders", run=tmp_path / "run", overrides=SMALL, progress=Impatient())
    resumed = kw.train(None, run=tmp_path / "run", resume=True)
    assert resumed.records == train(tmp_path / "straight").records


def test_undated_facts_may_own_a_timestamp(tmp_path):
    model = train(model__undated="own", training__epochs=1)
    assert len(model.model.decomposition.w.weight) == 82
    assert 0 < model.evaluate("test").mrr < 1


def test_slow_bf16_is_said_in_advance(monkeypatch):
    class Heard(Silent):
        texts = []

        def notice(self, text):
            self.texts.append(text)

    for fast in (True, False):
        monkeypatch.setattr(knowwhen.training.stages, "fast_bf16", lambda device, fast=fast: fast)
        changes = {**SMALL, "training.precision": "bf16", "training.epochs": 1}
        kw.train("leaders", overrides=changes, progress=Heard())
    assert Heard.texts == ["this CPU has no bf16 instructions; training.precision=fp32 is many times faster"]


@pytest.mark.parametrize("name", ["complex", "tcomplex", "distmult"])
def test_every_model_trains(name):
    records = train(model__name=name, training__epochs=3).records
    assert records[-1]["objects"] < records[0]["objects"]


def test_bf16_products_end_near_fp32():
    exact, coarse = (train(training__precision=precision).records[-1] for precision in ("fp32", "bf16"))
    assert coarse["objects"] == pytest.approx(exact["objects"], rel=0.02)
    assert coarse["objects"] != exact["objects"]


def test_small_steps_take_one_core_and_leave_the_others_as_they_were(monkeypatch):
    used = []

    class Counting(Silent):
        def step(self, state, examples_per_second):
            used.append(torch.get_num_threads())

    before = torch.get_num_threads()
    kw.train("leaders", overrides={**SMALL, "training.epochs": 1}, progress=Counting())
    kw.train("leaders", overrides={**SMALL, "training.epochs": 1, "training.threads": 2}, progress=Counting())
    assert used == [1] * 15 + [2] * 15
    assert torch.get_num_threads() == before


def test_a_handful_of_valid_facts_does_not_calibrate(tmp_path):
    rows = "".join(f"a{i},p,b{i % 7},{1990 + i % 9}\n" for i in range(400))
    (tmp_path / "facts.csv").write_text("s,p,o,time\n" + rows)
    for share, calibrated in ((0.05, False), (0.1, True)):
        data = kw.load(tmp_path / "facts.csv", fractions=(share, 0.1))
        assert (kw.train(data, overrides=SMALL).calibration is not None) is calibrated


def test_large_steps_take_as_many_cores_as_torch_may_use():
    config = read_config(None, {"model.rank": 200})
    with using_threads(1):  # as OMP_NUM_THREADS=1 does
        assert threads_for(config, entities=100_000) == 1
    with using_threads(2):
        assert threads_for(config, entities=100_000) == 2
        assert threads_for(config, entities=10) == 1


def test_validation_on_a_sample_says_how_many(tmp_path):
    model = train(tmp_path / "run", validation__sample=50, validation__every=1)
    assert [record["valid"]["count"] for record in model.records] == [100, 100, 100]
    again = train(tmp_path / "again", validation__sample=50, validation__every=1)
    assert again.records == model.records
