"""Every model that is no product from the command line: trained, measured and asked."""

import json

import pytest
from typer.testing import CliRunner

from knowwhen.cli.main import app
from knowwhen.errors import BadRequest

SMALL = ("model.rank=4", "training.epochs=2", "training.batch_size=2000")


def run(*arguments):
    done = CliRunner().invoke(app, [str(argument) for argument in arguments])
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    assert done.exit_code == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module", params=["transe", "desimple", "tucker", "rgcn"])
def trained(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "run"
    changes = [f"--set={text}" for text in (f"model.name={request.param}", *SMALL)]
    return request.param, folder, run("train", "leaders", *changes, "--run", folder, "--json")


def test_it_is_trained_measured_and_asked(trained):
    name, folder, result = trained
    assert (result["model"], result["epochs"], result["rank"]) == (name, 2, 4)
    assert result == {**result, **run("info", folder, "--json")}
    metrics = run("evaluate", folder, "--sample", 30, "--json")
    assert 0 < metrics["mrr"] < 1 and metrics["count"] == 60
    answers = run("ask", folder, "France", "has president", "?", "2012", "--json", "--top", 3, "--why")["answers"]
    assert len(answers) == 3
    for answer in answers:
        assert answer["reasons"]["decomposition"] == pytest.approx(answer["score"], abs=1e-4)
    question = ("ask", folder, "France", "has president", "François Hollande", "?", "--json")
    if name == "desimple":
        assert run(*question)["spans"]
    else:
        with pytest.raises(BadRequest, match=f"^{name} does not depend on time"):
            run(*question)


@pytest.mark.parametrize(
    ("name", "setting", "message"),
    [
        ("transe", "model.norm=3", r"^model.norm is 3: input should be 1 or 2$"),
        ("transe", "model.bases=3", r"^no setting 'model.bases' of transe"),
        ("tucker", "model.core_dropout=1", r"^model.core_dropout is 1: input should be less than 1$"),
        ("desimple", "model.static_shar=0.5", r"of desimple; did you mean 'model.static_share'\?$"),
        ("rgcn", "model.layers=0", r"^model.layers is 0: input should be greater than or equal to 1$"),
    ],
)
def test_options_are_those_of_the_model(name, setting, message, tmp_path):
    changes = [f"--set={text}" for text in (f"model.name={name}", *SMALL, setting)]
    with pytest.raises(BadRequest, match=message):
        run("train", "leaders", *changes, "--run", tmp_path / "run", "--json")
    assert not (tmp_path / "run" / "config.toml").exists()
