"""Runs on several processes: what is written, read back by other numbers of them, and how errors end them all."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch

import knowwhen as kw
from knowwhen.cli import main
from knowwhen.cli.workers import together
from knowwhen.distributed.collectives import wait_for_all
from knowwhen.distributed.processes import first_then_all, of_first
from knowwhen.distributed.shard import Shard, current, splitting
from knowwhen.distributed.started import LOST, goes_on
from knowwhen.errors import BadRequest, DamagedFile
from knowwhen.training import shards
from tests.distributed.working import Ended, in_processes
from tests.waiting import PATIENCE, until

SETTINGS = {
    "model.name": "unioncomplex",
    "model.rank": 4,
    "model.evidence": ("pair_history", "context"),
    "training.batch_size": 500,
    "training.averaging": 10,
    "validation.every": 1,
    "validation.sample": 50,
}
QUESTIONS = [("United States", "has president", "?", "2012"), ("?", "has chancellor", "Angela Merkel", "2008..2010")]


def train(run: Path, epochs: int, data: str | None):
    changes = {**SETTINGS, "training.epochs": epochs}
    return use(kw.train(data, run=run, resume=data is None, overrides=changes))


def opened(run: Path):
    return use(kw.open(run))


def use(model):
    """Its records, a measurement and its answers."""
    answers = [[(one.key, one.score, one.probability) for one in model.ask(*q, top=4, novel=True)] for q in QUESTIONS]
    few = [one.key for one in model.ask(*QUESTIONS[0], top=4, candidates=["Barack Obama", "Bill Clinton"])]
    return model.records, model.evaluate("test", sample=60).mrr, answers, few


def alike(found, expected):
    """Whether two uses are the same to rounding."""
    for one, other in zip(found[0], expected[0], strict=True):
        assert one["loss"] == pytest.approx(other["loss"], rel=1e-4)
        assert one["valid"]["mrr"] == pytest.approx(other["valid"]["mrr"], abs=5e-4)
    assert found[1] == pytest.approx(expected[1], abs=5e-4)
    for one, other in zip(found[2], expected[2], strict=True):
        assert [key for key, *_ in one] == [key for key, *_ in other]
        assert [x for _, *values in one for x in values] == pytest.approx([x for _, *v in other for x in v], rel=1e-2)
    assert found[3] == expected[3]
    return True


def test_a_run_goes_from_two_processes_to_three_to_one(tmp_path):
    """Each number of processes goes on with what the one before has saved, and opens what it has finished."""
    expected = train(tmp_path / "alone", 3, "leaders")
    run = tmp_path / "run"
    two = in_processes(2, train, run, 1, "leaders")
    assert {path.name for path in (run / "model").glob("weights*")} == {
        "weights-00001-of-00002.safetensors",
        "weights-00002-of-00002.safetensors",
        "weights.json",
    }
    assert alike(opened(run), two[0]) and alike(two[1], two[0])
    three = in_processes(3, train, run, 2, None)
    assert len(three[0][0]) == 2
    assert alike(train(run, 3, None), expected)
    left = {path.name for path in (run / "checkpoints").iterdir()}
    of_two = {f"last-00001-0000000-0000{i}-of-00002.safetensors" for i in (1, 2)}
    assert left == {"best.safetensors", "last.safetensors", "previous.json", *of_two}
    assert [path.name for path in (run / "model").glob("weights*")] == ["weights.safetensors"]


def fail_in_the_second():
    if current().rank == 1:
        raise BadRequest("a bad request")
    wait_for_all()


def test_an_error_in_one_process_ends_all_and_only_it_speaks():
    # They would wait for each other for ten minutes; `in_processes` itself gives up after four.
    first, second, third = in_processes(3, fail_in_the_second, fails=True, seconds=600)
    assert str(second) == "a bad request"
    assert first == third == Ended(LOST)


def fail_in_the_first():
    def fail():
        raise BadRequest("a bad request")

    first_then_all(fail, fail)


def test_those_who_wait_for_the_first_end_with_it():
    first, second = in_processes(2, fail_in_the_first, fails=True, seconds=600)
    assert str(first) == "a bad request"
    assert second == Ended(LOST)


def take_turns(folder: Path):
    seen = first_then_all(lambda: (folder / "made").write_text("x"), lambda: (folder / "made").read_text())
    return seen, of_first(current().rank + 5)


def test_the_first_process_acts_and_decides_for_all(tmp_path):
    assert in_processes(2, take_turns, tmp_path) == [(1, 5), ("x", 5)]


@pytest.mark.parametrize(("n", "m"), [(1, 3), (2, 4), (3, 2), (4, 4), (5, 1)])
def test_files_of_n_processes_are_read_by_m(tmp_path, monkeypatch, n, m):
    monkeypatch.setattr(shards, "wait_for_all", lambda: None)
    table, other = torch.randn(11, 2), torch.randn(3)
    for rank in reversed(range(n)):  # the first writes the index, last
        own = {"table": table[rank::n].clone(), "other": other}
        with splitting(Shard(rank, n)):
            shards.save(tmp_path / "last.json", "7-", own, {"table": 11}, {"epoch": 7}, Shard(rank, n))
    for rank in range(m):
        found, state = shards.read(tmp_path / "last.json", Shard(rank, m), "")
        assert torch.equal(found["table"], table[rank::m]) and torch.equal(found["other"], other)
        assert state == {"epoch": 7}
    whole, _ = shards.read(tmp_path / "last.json", None, "")
    assert torch.equal(whole["table"], table)


def save_slowly_and_read(folder: Path):
    shard, write = current(), shards.write_whole

    def write_slowly(path, data, keep=None):
        time.sleep(0.3 * (path.suffix == ".json"))
        write(path, data, keep)

    shards.write_whole = write_slowly
    found = []
    for epoch in (1, 2):
        tensors = {"t": torch.full((2, 1), float(epoch))}
        shards.save(folder / "last.json", f"{epoch}-", tensors, {"t": 4}, {"epoch": epoch}, shard)
        found.append(shards.read(folder / "last.json", shard, "")[1]["epoch"])
    return found


def test_no_process_reads_the_index_before_the_last(tmp_path):
    assert in_processes(2, save_slowly_and_read, tmp_path) == [[1, 2]] * 2


def test_damaged_files_of_processes_are_found(tmp_path, monkeypatch):
    monkeypatch.setattr(shards, "wait_for_all", lambda: None)
    with splitting(Shard(0, 1)):
        shards.save(tmp_path / "last.json", "", {"t": torch.ones(4, 2)}, {"t": 4}, {}, Shard(0, 1))
    (file,) = tmp_path.glob("*.safetensors")
    kept, index = file.read_bytes(), (tmp_path / "last.json").read_text()
    file.write_bytes(kept[:-1] + b"\0")
    with pytest.raises(DamagedFile, match="SHA-256"):
        shards.read(tmp_path / "last.json", None, "restore it")
    file.unlink()
    with pytest.raises(DamagedFile, match="is missing; restore it"):
        shards.read(tmp_path / "last.json", None, "restore it")
    file.write_bytes(kept)
    (tmp_path / "last.json").write_text(index.replace("4", "5", 1))
    with pytest.raises(DamagedFile, match="SHA-256"):
        shards.read(tmp_path / "last.json", None, "")


def children(process) -> list[int]:
    return [int(pid) for pid in Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()]


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="finds processes in /proc")
def test_workers_survive_a_kill_and_stop_when_asked(tmp_path):
    """A process killed with -9 is replaced, Ctrl-C saves, and one process ends the run as if nothing had happened."""
    settings = ["model.rank=4", "training.epochs=400", "training.batch_size=500", "validation.every=0"]
    options = [word for one in settings for word in ("--set", one)]
    command = [sys.executable, "-m", "knowwhen", "train", "leaders", *options, "--run", "run", "--workers", "2"]
    process = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    metrics = tmp_path / "run" / "metrics.jsonl"

    def epochs() -> int:
        return len(metrics.read_text().splitlines()) if metrics.exists() else 0

    until(epochs, process)
    os.kill(children(process)[1], signal.SIGKILL)
    before = epochs()
    until(lambda: epochs() > before + 1, process)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130, said
    assert said.count("process 1 of 2 was killed (SIGKILL); restarting all processes from the last checkpoint") == 1
    assert said.splitlines()[-1].startswith("knowwhen: stopped in epoch"), said
    assert "Traceback" not in said and "W11" not in said
    overrides = {"model.rank": 4, "training.epochs": epochs() + 2, "training.batch_size": 500, "validation.every": 0}
    resumed = kw.train(None, run=tmp_path / "run", resume=True, epochs=epochs() + 2)
    alone = kw.train("leaders", run=tmp_path / "alone", overrides=overrides)
    pairs = zip(resumed.records, alone.records, strict=True)
    assert all(one["loss"] == pytest.approx(other["loss"], rel=1e-4) for one, other in pairs)
    assert resumed.evaluate().mrr == pytest.approx(alone.evaluate().mrr, abs=5e-4)


def test_other_commands_do_not_run_many_times_over(monkeypatch, capsys):
    monkeypatch.setenv("WORLD_SIZE", "4")
    monkeypatch.setenv("RANK", "2")
    monkeypatch.setattr(sys, "argv", ["knowwhen", "data", "list"])
    assert main.run(sys.argv[1:]) == 1
    expected = "knowwhen: process 2 of 4: data runs in one process, but torchrun started 4\n"
    assert capsys.readouterr().err == expected


def test_workers_that_contradict_torchrun_are_an_error(monkeypatch):
    monkeypatch.setenv("WORLD_SIZE", "4")
    monkeypatch.setenv("RANK", "0")
    with pytest.raises(BadRequest, match="--workers is 2, but torchrun started 4 processes"), together(2):
        pass


def test_a_launcher_that_restarts_has_runs_go_on(monkeypatch):
    assert not goes_on()
    monkeypatch.setenv("TORCHELASTIC_RESTART_COUNT", "1")
    assert goes_on()
