"""A run that is not as it was written is said to be so, and never answers otherwise in silence."""

import json
import os
import shutil

import polars as pl
import pytest
import torch
from safetensors.torch import load_file, save_file

import knowwhen as kw
from knowwhen.checksums import FILE, seal, verify
from knowwhen.errors import DamagedFile, RunError
from knowwhen.training.run import RunFolder
from knowwhen.training.session import Silent

MORE = {"training.epochs": 4}
SMALL = {"model.rank": 2, "training.epochs": 2, "training.batch_size": 4000, "validation.every": 1}


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    run = tmp_path_factory.mktemp("runs") / "run"
    kw.train("leaders", run=run, overrides=SMALL)
    return run


@pytest.fixture
def run(finished, tmp_path):
    return shutil.copytree(finished, tmp_path / "run")


def answers(run, **options):
    return kw.open(run, **options).ask("France", "has president", "?", "2000").to_dict()


def without(data, name, frame="train"):
    """One entity's facts deleted from a table of the data."""
    path = data / f"{frame}.parquet"
    table = pl.read_parquet(path)
    table.filter((pl.col("subject") != name) & (pl.col("object") != name)).write_parquet(path)


def test_facts_that_were_deleted_are_missed(run):
    without(run / "model" / "data", "Charles de Gaulle")
    with pytest.raises(DamagedFile, match=r"train.parquet is damaged: its SHA-256 does not match SHA256SUMS"):
        kw.open(run)


def test_other_data_than_that_of_training_is_refused_even_where_its_sums_are_right(run):
    data = run / "model" / "data"
    without(data, "Charles de Gaulle")
    seal(data)
    with pytest.raises(DamagedFile, match=r"data/SHA256SUMS is damaged"):
        kw.open(run)
    seal(run / "model", but=("added",))
    with pytest.raises(
        DamagedFile, match=r"is not the data that the model was trained on: its hash is \w{12}, not \w{12}"
    ):
        kw.open(run)
    with pytest.raises(DamagedFile, match=r"is not the data that the model was trained on"):
        kw.train(None, run=run, resume=True, overrides={"training.epochs": 3})


def test_a_smaller_dataset_is_refused_before_anything_is_allocated_also_unverified(run):
    without(run / "model" / "data", "France")
    with pytest.raises(DamagedFile, match=r"model.json does not match .*data: Sizes\(entities=1487, .*entities=\d+"):
        kw.open(run, verify=False)
    about = json.loads((run / "model" / "model.json").read_text())
    about["sizes"]["entities"] = 100_000_000_000
    (run / "model" / "model.json").write_text(json.dumps(about))
    with pytest.raises(DamagedFile, match="does not match"):
        kw.open(run, verify=False)


@pytest.mark.parametrize(
    "name",
    ["model.json", "weights.safetensors", "calibration.json", FILE, f"data/{FILE}", "data/entities.parquet"],
)
def test_no_file_of_a_model_is_missing_in_silence(run, name):
    (run / "model" / name).unlink()
    with pytest.raises(DamagedFile, match=f"{name} is missing"):
        kw.open(run)


def test_a_dataset_folder_without_its_sheet_is_no_table(run):
    (run / "model" / "data" / "dataset.toml").unlink()
    for use in (kw.open, lambda run: kw.load(run / "model" / "data")):
        with pytest.raises(kw.KnowwhenError, match=r"dataset.toml: it does not exist"):
            use(run)


def test_a_model_that_was_not_finished_when_it_was_written_again_is_finished_by_resuming(run):
    before = answers(run)
    (run / "model" / FILE).unlink()
    kw.train(None, run=run, resume=True)
    assert answers(run) == before


def test_weights_of_another_type_are_refused(run):
    path = run / "model" / "weights.safetensors"
    save_file({name: tensor.to(torch.int32) for name, tensor in load_file(path).items()}, path)
    with pytest.raises(DamagedFile, match=r"weights.safetensors is damaged"):
        kw.open(run)
    with pytest.raises(DamagedFile, match=r"the weights do not match this version of tntcomplex"):
        kw.open(run, verify=False)


@pytest.mark.timeout(120)
def test_a_pipe_in_place_of_a_file_is_no_file(run):
    for name in ("weights.safetensors", "model.json", "data/train.parquet", "data/dataset.toml"):
        path = run / "model" / name
        content = path.read_bytes()
        path.unlink()
        os.mkfifo(path)
        for verify_it in (True, False):
            with pytest.raises(kw.KnowwhenError, match=r"not a regular file|no train file"):
                kw.open(run, verify=verify_it)
        path.unlink()
        path.write_bytes(content)
    assert answers(run)


def test_the_best_checkpoint_is_not_replaced_by_the_last_in_silence(run):
    for name in ("model/model.json", f"model/{FILE}"):
        (run / name).unlink()
    assert kw.open(run)
    (run / "checkpoints" / "best.safetensors").unlink()
    with pytest.raises(DamagedFile, match=r"best.safetensors is missing, and the last checkpoint is not the best"):
        kw.open(run)


@pytest.mark.parametrize("place", ["config.toml", "checkpoints/last.safetensors", "checkpoints/best.safetensors"])
def test_a_changed_byte_is_found_where_there_is_no_list_of_sums(run, place):
    for name in ("model/model.json", f"model/{FILE}"):
        (run / name).unlink()
    path = run / place
    data = bytearray(path.read_bytes())
    at = data.index(b"rank = 2") + 7 if place == "config.toml" else len(data) - 3
    data[at] ^= 1
    path.write_bytes(data)
    with pytest.raises(DamagedFile, match="SHA-256"):
        kw.open(run) if "best" in place else kw.train(None, run=run, resume=True, overrides=MORE)


def test_runs_without_sums_still_open(run):
    before = answers(run)
    for path in [*run.rglob(FILE)]:
        path.unlink()
    config = run / "config.toml"
    config.write_text("".join(config.read_text().splitlines(keepends=True)[:-1]))
    assert answers(run) == before


def test_paths_are_never_patterns(finished, tmp_path):
    for name in ("r[8]", "r8", "r*"):
        shutil.copytree(finished, tmp_path / name)
    assert answers(tmp_path / "r[8]") == answers(tmp_path / "r8")
    assert len(kw.load(tmp_path / "r*" / "model" / "data").train) == len(kw.load("leaders").train)


def test_other_data_in_the_folder_of_a_killed_beginning(tmp_path):
    run = RunFolder(tmp_path / "run")
    run.model.mkdir(parents=True)
    kw.load("leaders", granularity="day").save(run.model / "data")
    (run.path / "config.toml.part").write_text("[mod")
    trained = kw.train("leaders", run=run.path, overrides=SMALL)
    assert kw.open(run.path).dataset.hash == trained.dataset.hash == kw.load("leaders").hash


def test_a_folder_that_is_not_ours_is_not_cleared(tmp_path):
    precious = tmp_path / "run" / "model" / "precious.txt"
    precious.parent.mkdir(parents=True)
    precious.write_text("x")
    with pytest.raises(RunError, match="exists and is not an empty folder"):
        kw.train("leaders", run=tmp_path / "run", overrides=SMALL)
    assert precious.read_text() == "x"


def test_what_was_deleted_while_training_is_made_again(tmp_path):
    class Vandal(Silent):
        def start(self, state, config, steps):
            shutil.rmtree(tmp_path / "run" / "checkpoints")
            shutil.rmtree(tmp_path / "run" / "model")

    kw.train("leaders", run=tmp_path / "run", overrides=SMALL, progress=Vandal())
    assert answers(tmp_path / "run")


def test_metrics_that_a_kill_left_behind_are_caught_up_with(run):
    whole = (run / "metrics.jsonl").read_bytes()
    (run / "metrics.jsonl").write_bytes(whole.splitlines(keepends=True)[0])
    kw.train(None, run=run, resume=True)
    assert (run / "metrics.jsonl").read_bytes() == whole


@pytest.mark.parametrize("text", ["{", "[" * 100_000, "1\n", "\udcff"])
def test_damaged_metrics_are_said(run, text):
    (run / "metrics.jsonl").write_text(text, errors="surrogateescape")
    with pytest.raises(DamagedFile, match=r"cannot read .*metrics.jsonl"):
        kw.open(run)


def test_sums_are_those_of_sha256sum_and_hold_nothing_outside(tmp_path):
    (tmp_path / "folder" / "inner").mkdir(parents=True)
    (tmp_path / "folder" / "inner" / "a").write_text("x")
    (tmp_path / "folder" / "b").write_text("y")
    seal(tmp_path / "folder")
    assert verify(tmp_path / "folder", "") == {"inner/a", "b"}
    text = (tmp_path / "folder" / FILE).read_text()
    if shutil.which("sha256sum"):
        assert os.system(f"cd {tmp_path}/folder && sha256sum -c --quiet {FILE}") == 0
    for bad in (text.replace("inner/a", "../../a"), text.replace("b\n", "/etc/passwd\n"), text + text, "x\n", ""):
        (tmp_path / "folder" / FILE).write_text(bad)
        with pytest.raises(DamagedFile, match=r"SHA256SUMS is damaged.*restore"):
            verify(tmp_path / "folder", "restore it")


def test_a_table_that_came_later_is_not_read(tmp_path):
    kw.load("leaders").save(tmp_path / "data")
    (tmp_path / "data" / "valid.csv").write_text("subject,predicate,object,time\nFrance,has president,Nobody,2000\n")
    with pytest.raises(kw.KnowwhenError, match=r"valid.csv is not listed in SHA256SUMS"):
        kw.load(tmp_path / "data")
    (tmp_path / "data" / FILE).unlink()
    with pytest.raises(kw.KnowwhenError, match=r"valid.csv and valid.parquet are both valid tables; remove one"):
        kw.load(tmp_path / "data")


def test_another_number_of_cores_is_said_on_resume(run):
    said = []

    class Listening(Silent):
        def notice(self, text):
            said.append(text)

    config = run / "config.toml"
    assert "threads = 1\n" in config.read_text()
    kw.train(None, run=run, resume=True, progress=Listening())
    assert said == []
    text = "".join(config.read_text().splitlines(keepends=True)[:-1]).replace("threads = 1\n", "threads = 2\n")
    config.write_text(text)
    kw.train(None, run=run, resume=True, progress=Listening())
    assert "started on 2 cores and continues on 1: the last bits of its numbers may differ" in said[0]
