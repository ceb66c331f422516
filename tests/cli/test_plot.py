"""`knowwhen plot` and `knowwhen ask --plot`, run as a user runs them."""

import json

import pytest

import knowwhen as kw


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "run"
    kw.train("leaders", run=folder, overrides={"model.rank": 4, "training.epochs": 3, "training.batch_size": 500})
    return folder


@pytest.mark.parametrize(
    "arguments",
    [
        ["timeline", "France", "has president", "--span", "1980..2020"],
        ["timeline", "France", "has president", "Jacques Chirac", "François Hollande", "--values", "probability"],
        ["training"],
        ["reliability", "--split", "test"],
        ["timestamps"],
    ],
)
def test_each_kind_of_figure_is_written(knowwhen, run, tmp_path, arguments):
    done = knowwhen("plot", run, *arguments, "--out", tmp_path / "f.svg", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout) == {"out": str(tmp_path / "f.svg")}
    assert (tmp_path / "f.svg").read_text(encoding="utf-8").startswith("<?xml")


@pytest.mark.parametrize("question", [("United States", "has president", "?", "2012"), ("France", "won", "NATO", "?")])
def test_ask_draws_its_answers(knowwhen, run, tmp_path, question):
    done = knowwhen("ask", run, *question, "--plot", tmp_path / "f.png")
    assert done.returncode == 0
    assert (tmp_path / "f.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["training"], "knowwhen: name a file for the figure: --out figure.svg"),
        (["training", "--out", "f.gif"], "knowwhen: cannot write a figure to 'f.gif'; expected a name that ends in"),
        (["training", "France", "--out", "f.svg"], "knowwhen: a training figure does not take names"),
        (["reliability", "--span", "1980", "--out", "f.svg"], "knowwhen: a reliability figure does not take --span"),
        (["timeline", "France", "--out", "f.svg"], "knowwhen: a timeline needs SUBJECT and PREDICATE, such as"),
        (["timeline", "Frnce", "has president", "--out", "f.svg"], "knowwhen: no entity 'Frnce'"),
        (
            ["timeline", "France", "has president", "--span", "1800", "--out", "f.svg"],
            "knowwhen: '1800' is before",
        ),
    ],
)
def test_mistakes_are_one_line(knowwhen, run, tmp_path, arguments, message):
    done = knowwhen("plot", run, *arguments, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(message)
    assert done.stderr.count("\n") == 1
    assert list(tmp_path.glob("f.*")) == []


def test_a_file_of_questions_has_no_figure(knowwhen, run, tmp_path):
    done = knowwhen("ask", run, "--batch", "q.csv", "--out", "a.csv", "--plot", "f.svg", cwd=tmp_path)
    assert done.stderr == "knowwhen: --plot draws the answers to one question, not to --batch\n"
