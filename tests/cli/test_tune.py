"""`knowwhen tune`, run as a user runs it: several processes on one study, kills, Ctrl-C, figures and mistakes."""

import json
import signal
import subprocess
import sys

import pytest

from knowwhen.tuning.tune import read_study
from tests.waiting import PATIENCE, until

SPACE = """
regularizer.embedding_weight = [0.001, 0.1]
training.learning_rate = [0.01, 0.1]
"""
SET = ("model.rank=4", "training.epochs=2", "training.batch_size=200", "validation.every=1", "dating.passes=0")
COMMAND = ["tune", "leaders", "--recipe", "leaders", "--space", "space.toml", "--sampler", "grid", "--pruner", "none"]
COMMAND += ["--run", "study", "--json", *(f"--set={text}" for text in SET)]
START = [sys.executable, "-c", "from knowwhen.cli.main import main; main()"]


@pytest.fixture
def here(tmp_path):
    (tmp_path / "space.toml").write_text(SPACE)
    return tmp_path


def outcome(text):
    """What does not depend on the time it took, nor on where it was."""
    found = json.loads(text)
    return [[trial[key] for key in ("number", "state", "point", "valid_mrr", "curve")] for trial in found["trials"]]


@pytest.fixture(scope="module")
def straight(forks, once):
    """What the command prints where nothing disturbs it."""

    def make(folder):
        folder.mkdir()
        (folder / "space.toml").write_text(SPACE)
        done = forks.run(*COMMAND, cwd=folder)
        assert done.code == 0, done.err
        (folder / "printed.json").write_text(done.out)
        (folder / "said.txt").write_text(done.err)

    return once("tuned", make)


def test_json_on_stdout_a_line_per_trial_with_time_left_on_stderr(straight):
    found = json.loads((straight / "printed.json").read_text())
    assert len(found["trials"]) == 4 and found["best"] == found["trials"][0]
    assert found["recipe"] == "study/best.toml" and found["run"] == "study"
    lines = (straight / "said.txt").read_text().splitlines()
    assert len(lines) == 4
    assert lines[0].startswith("trial 0  MRR 0.") and lines[0].endswith(" left") and "1 of 4 done" in lines[0]
    best = found["best"]
    assert f"best {best['valid_mrr']:.4f} (trial {best['number']})  4 of 4 done" in lines[-1]


def test_people_get_a_table_and_what_to_do_next(knowwhen, straight, tmp_path):
    done = knowwhen("tune", "--only-report", "--run", "study", "--figure", tmp_path / "f.png", cwd=straight)
    assert done.returncode == 0
    best = json.loads((straight / "printed.json").read_text())["best"]
    table = done.stdout.splitlines()
    assert table[0].split()[-2:] == ["embedding_weight", "learning_rate"] and len(table) == 7
    assert table[-1] == f"best: trial {best['number']}, MRR {best['valid_mrr']:.4f} on valid; recipe: study/best.toml"
    assert done.stderr.splitlines() == [
        "train it: knowwhen train DATA --recipe study/best.toml --run RUN",
        f"or finish the trial: knowwhen train DATA --run study/trials/{best['number']:04} --resume",
    ]
    assert (tmp_path / "f.png").read_bytes().startswith(b"\x89PNG")


def test_train_takes_the_best_recipe(knowwhen, straight, tmp_path):
    best = json.loads((straight / "printed.json").read_text())["best"]
    done = knowwhen("train", "leaders", "--recipe", straight / "study" / "best.toml", "--run", tmp_path / "r", "--json")
    assert json.loads(done.stdout)["best_valid_mrr"] == best["valid_mrr"]


def test_plot_draws_a_study(knowwhen, straight, tmp_path):
    done = knowwhen("plot", straight / "study", "tuning", "--out", tmp_path / "f.svg", "--json")
    assert (done.returncode, json.loads(done.stdout)) == (0, {"out": str(tmp_path / "f.svg")})
    assert "embedding_weight" in (tmp_path / "f.svg").read_text()


# `knowwhen` that sends itself a signal once it has saved in a trial, and once trial 1 has begun, whoever runs it.
SIGNALLED = """
import os, pathlib, signal, time
from knowwhen.cli import main
from knowwhen.training.run import RunFolder

save = RunFolder.save_checkpoint

def save_and_signal(self, *arguments):
    save(self, *arguments)
    if self.path.name == "{trial}":
        while not pathlib.Path("study/trials/0001/config.toml").exists():
            time.sleep(0.01)
        os.kill(os.getpid(), signal.{signal})

RunFolder.save_checkpoint = save_and_signal
main.main()
"""


def test_killed_it_goes_on_with_the_same_command_to_the_same(forks, knowwhen, here, straight):
    killed = forks.run(*COMMAND, cwd=here, code=SIGNALLED.format(trial="0001", signal="SIGKILL"))
    assert killed.code == -signal.SIGKILL
    before = read_study(here / "study").trials
    assert [trial.state for trial in before] == ["complete", "running"]
    done = knowwhen(*COMMAND, cwd=here)
    assert done.returncode == 0, done.stderr
    assert outcome(done.stdout) == outcome((straight / "printed.json").read_text())
    assert (here / "study" / "best.toml").read_bytes() == (straight / "study" / "best.toml").read_bytes()
    assert not done.stderr.startswith("trial 0")  # which was complete


def test_workers_and_the_same_command_beside_them_share_the_trials(knowwhen, here, straight):
    workers = subprocess.Popen(
        [*START, *COMMAND, "--workers", "2"], cwd=here, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    until((here / "study" / "study.db").exists, workers)
    beside = knowwhen(*COMMAND, cwd=here)
    out, err = workers.communicate(timeout=PATIENCE)
    assert (workers.returncode, beside.returncode) == (0, 0), (err, beside.stderr)
    assert outcome(out) == outcome(beside.stdout) == outcome((straight / "printed.json").read_text())
    lines = [line for line in (err + beside.stderr).splitlines() if line.startswith("trial ")]
    assert len({line.split()[1] for line in lines}) == len(lines) <= 4  # each is told of by one, or by a silent worker
    records = [path.read_text().count("\n") for path in sorted((here / "study" / "trials").glob("*/timing.jsonl"))]
    assert records == [2] * 4  # epochs: none was trained twice


def test_ctrl_c_saves_and_stops_all_workers_and_the_command_goes_on(forks, knowwhen, here, straight):
    code = SIGNALLED.format(trial="0000", signal="SIGINT")  # this one alone, as `kill` does
    done = forks.run(*COMMAND, "--workers", "2", cwd=here, code=code)
    assert (done.code, done.out) == (130, "")
    said = [line for line in done.err.splitlines() if "the same command continues" in line]
    assert said and all('"error": "Interrupted"' in line for line in said)
    done = knowwhen(*COMMAND, cwd=here)
    assert outcome(done.stdout) == outcome((straight / "printed.json").read_text())


def test_a_bar_with_time_left_on_a_terminal(on_terminal, here):
    command = [*START, *COMMAND, "--trials", "2", "--set=training.epochs=1"]
    code, text = on_terminal(command, cwd=here, stdout=subprocess.DEVNULL)
    assert code == 0
    assert b"trials" in text and b"epoch 1/1, MRR 0." in text and b"1 of 2 done, 0:0" in text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["leaders"], "knowwhen: name a folder for the study: --run runs/tuned"),
        (["--run", "s"], "knowwhen: name the data to tune on, such as leaders; --only-report needs none"),
        (["leaders", "--run", "s", "--space", "basc"], "knowwhen: no space or file 'basc'; did you mean 'basic'?"),
        (["leaders", "--run", "s", "--space", "bad.toml"], "knowwhen: bad.toml: no setting 'model.rnk' to search; did"),
        (["leaders", "--run", "s", "--sampler", "cma"], "knowwhen: sampler is 'cma'; expected grid, random, tpe"),
        (["leaders", "--run", "s", "--set", "model.rank=0"], "knowwhen: model.rank is 0: input should be greater"),
        (["leaders", "--run", "s", "--figure", "f.gif"], "knowwhen: cannot write a figure to 'f.gif'"),
        (["nowhere", "--run", "s"], "knowwhen: no dataset, folder or file 'nowhere'"),
        (["--run", "s", "--only-report"], "knowwhen: s contains no study; `knowwhen tune DATA --run s` starts one"),
        (["-", "--run", "s", "--workers", "2"], "knowwhen: --workers needs data that each process can read"),
        (["leaders", "--run", "/proc/nowhere"], "knowwhen: cannot write to /proc/nowhere: No such file or directory"),
    ],
)
def test_mistakes_are_one_line(knowwhen, tmp_path, arguments, message):
    (tmp_path / "bad.toml").write_text("model.rnk = [1, 2]\n")
    done = knowwhen("tune", *arguments, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(message)
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "s").exists()


def test_another_command_does_not_continue_a_study(knowwhen, straight):
    done = knowwhen(*COMMAND[: -len(SET)], "--set=model.rank=5", cwd=straight)
    assert done.returncode == 1
    message = json.loads(done.stderr)["message"]
    assert message.startswith("study contains a study with settings.") and message.endswith("or choose another --run")
