"""docs/own-model.md as written: its files, its Python and its commands, each in a process of its own."""

import os
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path
from textwrap import indent

import pytest

import knowwhen as kw
from knowwhen.errors import UnknownModel
from knowwhen.models import registry
from tests.processes import Done

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "own-model.md").read_text(encoding="utf-8")
pytestmark = pytest.mark.slow


def blocks(kind: str) -> list[str]:
    """The fenced blocks of a kind, '' for those without one."""
    return [body for found, body in re.findall(r"^```(\w*)\n(.*?)^```$", PAGE, re.S | re.M) if found == kind]


CLASS, FASTER, SCRIPT, TEST = blocks("python")
(COMMANDS,), (ENTRY_POINT,) = blocks("sh"), blocks("toml")
PRINTED, REFUSED = blocks("")


@pytest.fixture(scope="module")
def python(forks):
    """Runs code in a folder, as `python -c` does; `path` is what PYTHONPATH would add."""

    def run(folder: Path, code: str, *arguments: str, path: tuple[Path, ...] = ()) -> Done:
        paths = ["", *map(str, path)]
        return forks.run(*arguments, cwd=folder, code=f"import sys\nsys.path[:0] = {paths}\n{code}")

    return run


@pytest.fixture(scope="module")
def trained(tmp_path_factory, python):
    """A folder with the page's files, after the page's Python was run, and what that printed."""
    folder = tmp_path_factory.mktemp("own")
    (folder / "my_module.py").write_text(CLASS + "\n" + indent(FASTER, " " * 4), encoding="utf-8")
    (folder / "test_my_module.py").write_text(TEST, encoding="utf-8")
    done = python(folder, SCRIPT)
    assert done.code == 0, done.err
    return folder, done.out


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


def test_it_trains_without_the_faster_method_too(tmp_path, python):
    (tmp_path / "my_module.py").write_text(CLASS, encoding="utf-8")
    done = python(tmp_path, SCRIPT.replace("epochs=25", "epochs=1").replace("rank=100", "rank=4"))
    assert done.code == 0, done.err


def test_its_test_passes(trained, python):
    folder, _ = trained
    without_plugins = "import os\nos.environ['PYTEST_DISABLE_PLUGIN_AUTOLOAD'] = '1'\nimport pytest\n"
    tested = without_plugins + "sys.exit(pytest.main(['-p', 'no:cacheprovider', 'test_my_module.py']))"
    done = python(folder, tested)
    assert done.code == 0, done.out
    (folder / "test_my_module.py").write_text(TEST.replace("+ 2.0 *", "+ 3.0 *"), encoding="utf-8")
    done = python(folder, tested)
    assert done.code == 1, "the test must see a wrong formula"


def test_its_commands_run(trained, forks):
    folder, _ = trained
    for line in COMMANDS.splitlines():
        done = forks.run(*shlex.split(line)[1:], cwd=folder)
        assert done.code == 0, done.err


def test_a_fresh_process_refuses_its_code_in_one_line_until_it_is_allowed(trained, forks):
    """The first as it is typed, with the program that was installed."""
    folder, _ = trained
    command, line = REFUSED.removeprefix("$ ").splitlines()
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-c", command], cwd=folder, env={**os.environ, "PATH": path}, capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (1, line + "\n")
    done = forks.run(*shlex.split(command)[1:], "--allow-code", cwd=folder)
    assert done.code == 0, done.err
    assert "eramult" in done.out


def test_the_library_refuses_it_until_it_is_registered_or_allowed(trained, monkeypatch, unregistered):
    folder, _ = trained
    with pytest.raises(UnknownModel, match="EraMult comes from the module 'my_module', which knowwhen does not import"):
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
        with pytest.raises(
            UnknownModel, match="EraMult comes from the module 'my_module', which knowwhen does not import"
        ):
            kw.train(None, run=tmp_path / "run", resume=True, epochs=epochs)
        assert kw.train(None, run=tmp_path / "run", resume=True, epochs=epochs, **more).info()["epochs"] == epochs
    for name in ("model.json", "SHA256SUMS"):
        (tmp_path / "run" / "model" / name).unlink()  # as before the run was finished
    registry._models.pop("eramult")
    with pytest.raises(UnknownModel, match="which knowwhen does not import on its own"):
        kw.open(tmp_path / "run")
    assert kw.open(tmp_path / "run", allow_code=True).info()["model"] == "eramult"


def test_a_device_that_is_none_is_refused_in_one_line(trained, forks):
    folder, _ = trained
    done = forks.run("info", "runs/era", "--allow-code", "--device", "gpu", cwd=folder)
    assert (done.code, done.err) == (1, "knowwhen: unknown device 'gpu'; expected cpu, cuda, mps\n")


def test_an_installed_package_offers_it_by_name(trained, python):
    folder, _ = trained
    ((group, points),) = tomllib.loads(ENTRY_POINT)["project"]["entry-points"].items()
    about = folder / "installed" / "era-1.0.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: era\nVersion: 1.0\n", encoding="utf-8")
    lines = [f"[{group}]", *(f"{name} = {value}" for name, value in points.items())]
    (about / "entry_points.txt").write_text("\n".join(lines), encoding="utf-8")
    path = (folder, about.parent)
    typed = shlex.split(REFUSED.removeprefix("$ ").splitlines()[0])[1:]
    done = python(folder, "from knowwhen.cli.main import main; main()", *typed, path=path)
    assert done.code == 0, done.err
    code = "import knowwhen as kw; kw.train('leaders', model='eramult', pull=3.0, rank=2, epochs=1)"
    done = python(folder, code, path=path)
    assert done.code == 0, done.err


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
