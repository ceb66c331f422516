"""--quiet: no progress and no notes, but every error."""

import sys

import pytest

ROWS = "subject,predicate,object,begin,note\n Ada,works at,Bakery,2001,x\nBob,works at,Library,2002,x\n"
QUESTIONS = "subject,predicate,object,time\nAda,works at,?,2001\nEve,works at,?,2001\n"
TINY = ("--set=model.rank=2", "--set=training.epochs=1", "--set=dating.passes=0")


@pytest.fixture(scope="module")
def here(forks, once):
    """A folder with a table, and a run on it to which was added."""

    def make(folder):
        folder.mkdir()
        (folder / "facts.csv").write_text(ROWS)
        (folder / "more.csv").write_text(ROWS.replace("2001", "2002"))
        (folder / "questions.csv").write_text(QUESTIONS)
        assert forks.run("train", "facts.csv", "--split", "0,0", "--run", "run", *TINY, cwd=folder).code == 0
        assert forks.run("add", "run", "more.csv", cwd=folder).code == 0

    return once("quiet", make)


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (["train", "facts.csv", "--split=0,0", *TINY, "--run"], ["note: facts.csv: 1 unused column", "epoch 1/1"]),
        (["add", "run", "facts.csv"], ["note: facts.csv", "this model has no evidence terms"]),
        (["data", "info", "facts.csv"], ["note: facts.csv: 1 unused column"]),
        (["data", "import", "facts.csv", "--out"], ["note: facts.csv: 1 unused column"]),
        (["evaluate", "run", "--split", "train"], ["1 fact was added after training"]),
    ],
)
def test_notes_and_progress_are_left_out(knowwhen, here, tmp_path, command, said):
    def run(*more):
        target = [tmp_path / f"out{len(more)}"] if command[-1] in ("--run", "--out") else []
        return knowwhen(*command, *target, *more, cwd=here)

    loud, quiet = run(), run("--quiet")
    assert loud.returncode == quiet.returncode == 0
    assert all(text in loud.stderr for text in said)
    assert quiet.stderr == ""
    assert quiet.stdout and quiet.stdout.replace("out1", "out0") == loud.stdout


def test_errors_are_still_said(knowwhen, here, tmp_path):
    done = knowwhen("ask", "run", "--batch", "questions.csv", "--out", tmp_path / "answers.csv", "-q", cwd=here)
    assert (done.returncode, done.stderr) == (0, "questions.csv:3: no entity 'Eve'\n")
    done = knowwhen("evaluate", "nowhere", "-q", cwd=here)
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert done.stderr.startswith("knowwhen: nowhere holds no run and no model")


def test_a_bar_is_drawn_on_a_terminal_unless_quiet(on_terminal, here):
    command = [sys.executable, "-c", "from knowwhen.cli.main import main; main()", "evaluate", "run", "--split=train"]
    (code, loud), (quiet_code, quiet) = on_terminal(command, cwd=here), on_terminal([*command, "-q"], cwd=here)
    assert code == quiet_code == 0
    assert b"queries \x1b" in loud and b"queries \x1b" not in quiet and b"was added" not in quiet
