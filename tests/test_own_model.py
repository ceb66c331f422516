"""docs/own-model.md as written: its files, its Python and its commands, each in a process of its own."""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from textwrap import indent

import pytest

import knowwhen as kw
from knowwhen.errors import UnknownModel
from knowwhen.models import registry

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "own-model.md").read_text(encoding="utf-8")
pytestmark = pytest.mark.slow


def blocks(kind: str) -> list[str]:
    """The fenced blocks of a kind, '' for those without one."""
    return [body for found, body in re.findall(r"^```(\w*)\n(.*?)^```$", PAGE, re.S | re.M) if found == kind]


CLASS, FASTER, SCRIPT, TEST = blocks("python")
(COMMANDS,), (ENTRY_POINT,) = blocks("sh"), blocks("toml")
PRINTED, REFUSED = blocks("")


def run(folder: Path, *command: str, path: str = "") -> subprocess.CompletedProcess[str]:
    paths = [str(ROOT / "src"), *filter(None, [path, os.environ.get("PYTHONPATH")])]
    binaries = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    env = {**os.environ, "PATH": binaries, "PYTHONPATH": os.pathsep.join(paths)}
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True)


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A folder with the page's files, after the page's Python was run, and what that printed."""
    folder = tmp_path_factory.mktemp("own")
    (folder / "my_module.py").write_text(CLASS + "\n" + indent(FASTER, " " * 4), encoding="utf-8")
    (folder / "test_my_module.py").write_text(TEST, encoding="utf-8")
    done = run(folder, sys.executable, "-c", SCRIPT)
    assert done.returncode == 0, done.stderr
    return folder, done.stdout


@pytest.fixture
def unregistered(monkeypatch):
    """Models that a test registers are forgotten after it."""
    before = dict(registry._models)
    yield
    registry._models.clear()
    registry._models.update(before)
    sys.modules.pop("my_module", None)


def test_the_page_has_fewer_than_sixty_lines_of_code():
    code = [CLASS, FASTER, SCRIPT, TEST, COMMANDS, ENTRY_POINT]
    assert len([line for block in code for line in block.splitlines() if line.strip()]) < 60


def test_it_trains_and_answers_as_shown(trained):
    _, printed = trained
    mrr, shown = (float(text.splitlines()[0]) for text in (printed, PRINTED))
    assert mrr == pytest.approx(shown, abs=0.02)
    first = re.search(r"^1  (\S+(?: \S+)*)  ", printed, re.M)
    assert first.group(1) == re.search(r"^1  (\S+(?: \S+)*)  ", PRINTED, re.M).group(1) == "Barack Obama"


def test_it_trains_without_the_faster_method_too(tmp_path):
    (tmp_path / "my_module.py").write_text(CLASS, encoding="utf-8")
    done = run(tmp_path, sys.executable, "-c", SCRIPT.replace("epochs=25", "epochs=1").replace("rank=100", "rank=4"))
    assert done.returncode == 0, done.stderr


def test_its_test_passes(trained):
    folder, _ = trained
    done = run(folder, sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "test_my_module.py")
    assert done.returncode == 0, done.stdout
    (folder / "test_my_module.py").write_text(TEST.replace("+ 2.0 *", "+ 3.0 *"), encoding="utf-8")
    done = run(folder, sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "test_my_module.py")
    assert done.returncode == 1, "the test must see a wrong formula"


def test_its_commands_run(trained):
    folder, _ = trained
    for line in COMMANDS.splitlines():
        done = run(folder, "bash", "-c", line)
        assert done.returncode == 0, done.stderr


def test_a_fresh_process_refuses_its_code_in_one_line_until_it_is_allowed(trained):
    folder, _ = trained
    command, line = REFUSED.removeprefix("$ ").splitlines()
    done = run(folder, "bash", "-c", command)
    assert (done.returncode, done.stderr) == (1, line + "\n")
    done = run(folder, "bash", "-c", f"{command} --allow-code")
    assert done.returncode == 0, done.stderr
    assert "eramult" in done.stdout


def test_the_library_refuses_it_until_it_is_registered_or_allowed(trained, monkeypatch, unregistered):
    folder, _ = trained
    with pytest.raises(UnknownModel, match="EraMult of the module 'my_module', whose code knowwhen does not run"):
        kw.open(folder / "runs" / "era")
    monkeypatch.syspath_prepend(folder)
    import my_module

    kw.register(my_module.EraMult)
    registered = kw.open(folder / "runs" / "era").evaluate("test")
    registry._models.pop("eramult")
    assert kw.open(folder / "runs" / "era", allow_code=True).evaluate("test") == registered


def test_a_run_goes_on_where_the_class_is_named_again_or_allowed(trained, tmp_path, monkeypatch, unregistered):
    folder, _ = trained
    monkeypatch.syspath_prepend(folder)
    begun = {"model.name": "my_module:EraMult", "model.rank": 2, "training.epochs": 1}
    kw.train("leaders", run=tmp_path / "run", overrides=begun)
    for epochs, more in ((2, {"overrides": {"model.name": "my_module:EraMult"}}), (3, {"allow_code": True})):
        registry._models.pop("eramult")
        with pytest.raises(UnknownModel, match="EraMult of the module 'my_module', whose code knowwhen does not run"):
            kw.train(None, run=tmp_path / "run", resume=True, epochs=epochs)
        assert kw.train(None, run=tmp_path / "run", resume=True, epochs=epochs, **more).info()["epochs"] == epochs
    for name in ("model.json", "SHA256SUMS"):
        (tmp_path / "run" / "model" / name).unlink()  # as before the run was finished
    registry._models.pop("eramult")
    with pytest.raises(UnknownModel, match="whose code knowwhen does not run by itself"):
        kw.open(tmp_path / "run")
    assert kw.open(tmp_path / "run", allow_code=True).info()["model"] == "eramult"


def test_a_device_that_is_none_is_refused_in_one_line(trained):
    folder, _ = trained
    done = run(folder, "bash", "-c", "knowwhen info runs/era --allow-code --device gpu")
    assert (done.returncode, done.stderr) == (1, "knowwhen: no device 'gpu'; expected cpu, cuda, mps\n")


def test_an_installed_package_offers_it_by_name(trained):
    folder, _ = trained
    ((group, points),) = tomllib.loads(ENTRY_POINT)["project"]["entry-points"].items()
    about = folder / "installed" / "era-1.0.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: era\nVersion: 1.0\n", encoding="utf-8")
    lines = [f"[{group}]", *(f"{name} = {value}" for name, value in points.items())]
    (about / "entry_points.txt").write_text("\n".join(lines), encoding="utf-8")
    path = os.pathsep.join([str(folder), str(about.parent)])
    done = run(folder, "bash", "-c", REFUSED.removeprefix("$ ").splitlines()[0], path=path)
    assert done.returncode == 0, done.stderr
    code = "import knowwhen as kw; kw.train('leaders', model='eramult', pull=3.0, rank=2, epochs=1)"
    done = run(folder, sys.executable, "-c", code, path=path)
    assert done.returncode == 0, done.stderr


def test_a_class_that_is_registered_again_brings_its_new_options(unregistered):
    """As in a notebook, whose cells are run again."""
    from pydantic import Field

    from knowwhen.models import MODELS, RankOptions
    from knowwhen.training.config import read_config

    for option in ("first", "second"):
        fields = {"__annotations__": {option: int}, option: Field(1), "__module__": __name__}
        own = type("Options", (RankOptions,), fields)
        kw.register(type("Again", (MODELS["distmult"],), {"name": "again", "Options": own}))
        config = read_config(None, {"model.name": "again", f"model.{option}": 2})
        assert config.model.options[option] == 2
