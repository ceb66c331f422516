"""Runs of version 0.1 are refused in one line that says so, before anything is misread or changed."""

import json
import shutil
import tomllib
from dataclasses import replace

import pytest
from typer.testing import CliRunner

import knowwhen as kw
from knowwhen.cli.main import app
from knowwhen.errors import RunError
from knowwhen.training.notes import FORMAT

SMALL = {"model.rank": 2, "training.epochs": 1, "training.batch_size": 4000, "validation.every": 0}
OLD = r"^[^\n]*was written by knowwhen 0\.1, which this version cannot open; train again$"


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    run = tmp_path_factory.mktemp("runs") / "run"
    kw.train("leaders", run=run, overrides=SMALL)
    return run


def as_written_by_0_1(run):
    """Without the numbers of the format, and with a section that is no more."""
    config = run / "config.toml"
    text = config.read_text()
    assert f"format = {FORMAT}\n" in text
    config.write_text(text.replace(f"format = {FORMAT}\n", "").replace("[correction]", "[weighing]"))
    about = run / "model" / "model.json"
    if about.exists():
        about.write_text(json.dumps({"name": "tntcomplex", "rank": 2, "sizes": {"entities": 1}}))
    return run


@pytest.fixture(params=["finished", "not finished"])
def old(request, finished, tmp_path):
    run = tmp_path / "old"
    shutil.copytree(finished, run)
    if request.param == "not finished":
        for name in ("model.json", "SHA256SUMS"):
            (run / "model" / name).unlink()
    return as_written_by_0_1(run)


def contents(run):
    return {path: path.read_bytes() for path in sorted(run.rglob("*")) if path.is_file()}


def test_an_old_run_is_not_opened(old):
    before = contents(old)
    with pytest.raises(RunError, match=OLD):
        kw.open(old)
    assert contents(old) == before


def test_an_old_run_is_not_resumed(old):
    before = {path: data for path, data in contents(old).items() if path.name != ".lock"}
    for data in (None, "leaders"):
        with pytest.raises(RunError, match=OLD):
            kw.train(data, run=old, resume=True, epochs=2)
    assert {path: data for path, data in contents(old).items() if path.name != ".lock"} == before


@pytest.mark.parametrize("command", [["info"], ["evaluate"], ["evaluate", "--json"]])
def test_commands_say_so_in_one_line(old, command):
    done = CliRunner().invoke(app, [command[0], str(old), *command[1:]])
    assert isinstance(done.exception, RunError) and done.stdout == ""
    with pytest.raises(RunError, match=OLD):
        raise done.exception


def test_an_old_saved_model_is_not_opened(finished, tmp_path):
    folder = tmp_path / "model"
    kw.open(finished).save(folder)
    about = json.loads((folder / "model.json").read_text())
    assert about.pop("format") == FORMAT
    (folder / "model.json").write_text(json.dumps(about))
    with pytest.raises(RunError, match=OLD):
        kw.open(folder)


def test_a_run_of_a_later_version_is_not_said_to_be_old(finished, tmp_path):
    later = tmp_path / "later"
    shutil.copytree(finished, later)
    about = later / "model" / "model.json"
    about.write_text(json.dumps({**json.loads(about.read_text()), "format": FORMAT + 1}))
    with pytest.raises(RunError, match=r"^[^\n]*was written by a newer version of knowwhen; upgrade to open it$"):
        kw.open(later)
    for path in (about, later / "model" / "SHA256SUMS"):
        path.unlink()
    config = later / "config.toml"
    config.write_text(config.read_text().replace(f"format = {FORMAT}\n", f"format = {FORMAT + 1}\n"))
    for use in (lambda: kw.open(later), lambda: kw.train(None, run=later, resume=True)):
        with pytest.raises(RunError, match="was written by a newer version of knowwhen"):
            use()


def test_a_new_run_opens(finished):
    assert kw.open(finished).info()["epochs"] == 1


def test_every_run_and_model_notes_the_version_that_made_it(finished, tmp_path, monkeypatch):
    """Also a model that a later version saves again."""
    assert tomllib.loads((finished / "config.toml").read_text())["versions"]["knowwhen"] == kw.__version__
    opened = kw.open(finished)
    assert opened.info()["knowwhen"] == opened.version == kw.__version__
    assert f"- knowwhen: {kw.__version__}\n" in (finished / "model" / "README.md").read_text()
    replace(opened, version="0.1.9").save(tmp_path / "model")
    assert kw.open(tmp_path / "model").info()["knowwhen"] == "0.1.9"
