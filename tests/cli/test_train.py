"""`knowwhen train` and `knowwhen info`, run as a user runs them."""

import json
import sys

import pytest

SMALL = [f"--set={text}" for text in ("model.rank=4", "training.epochs=2", "training.batch_size=500")]


def test_train_prints_json_on_stdout_and_progress_on_stderr(knowwhen, tmp_path):
    done = knowwhen("train", "leaders", *SMALL, "--run", tmp_path / "run", "--json")
    assert done.returncode == 0
    result = json.loads(done.stdout)
    assert (result["epochs"], result["rank"], result["parameters"]) == (2, 4, 13088)
    lines = done.stderr.splitlines()
    assert len(lines) == 2
    assert lines[0].startswith("epoch 1/2  loss ")
    assert lines[0].endswith(" left")
    assert "valid MRR" in lines[1]
    info = json.loads(knowwhen("info", tmp_path / "run", "--json").stdout)
    assert info["best_valid_mrr"] == result["best_valid_mrr"] > 0
    assert info["parameters_in_the_papers_count"] > info["parameters"]


def test_the_bar_is_gone_when_a_run_stops_early(on_terminal, tmp_path):
    """Without patience left after the second look, long before the last epoch."""
    early = ("model.rank=4", "training.epochs=60", "training.batch_size=500", "training.learning_rate=1e-9")
    early = [f"--set={text}" for text in (*early, "validation.every=1", "validation.patience=1")]
    command = [sys.executable, "-c", "from knowwhen.cli.main import main; main()", "train", "leaders", *early]
    code, text = on_terminal([*command, "--run", tmp_path / "run"])
    assert code == 0
    before, _, result = text.partition(b"data hash")
    assert b"facts/s" in before and result and b"facts/s" not in result


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["leaders"], "knowwhen: name a folder for the run: --run runs/first"),
        (
            ["leaders", "--run", "r", "--recipe", "leader"],
            "knowwhen: no recipe or file 'leader'; did you mean",
        ),
        (
            ["leaders", "--run", "r", "--set", "model.rnk=4"],
            "knowwhen: no setting 'model.rnk' of tntcomplex; did you mean",
        ),
        (["--run", "r", "--resume"], "knowwhen: no run to resume in r; name the data to start one"),
        (["nowhere", "--run", "r"], "knowwhen: no dataset, folder or file 'nowhere'"),
        (["leaders", "--run", "/proc/nowhere"], "knowwhen: cannot write to /proc/nowhere: No such file or directory"),
    ],
)
def test_mistakes_are_one_line(knowwhen, tmp_path, arguments, message):
    done = knowwhen("train", *arguments, cwd=tmp_path)
    assert done.returncode == 1
    assert done.stderr.startswith(message)
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "r" / "config.toml").exists()
