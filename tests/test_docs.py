"""Docs that are kept true: generated pages are current, and what they show runs."""

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

import knowwhen
from knowwhen.models import MODELS
from knowwhen.training.config import settings

ROOT = Path(__file__).parents[1]


def script(name):
    spec = importlib.util.spec_from_file_location(name, ROOT / "docs" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def generator():
    return script("generate")


@pytest.mark.parametrize("page", ["commands.md", "settings.md"])
def test_generated_pages_are_current(page):
    written = (ROOT / "docs" / page).read_text(encoding="utf-8")
    assert written == generator().PAGES[page](), "run `make docs`"


def test_every_command_has_a_sentence_an_example_and_meanings():
    module = generator()
    for path, command in module.commands(module.typer.main.get_command(module.app), "knowwhen"):
        assert re.search(r"Example: knowwhen \w+", command.help), path
        unexplained = [p.name for p in command.params if not getattr(p, "help", None)]
        assert unexplained == [], path


def test_links_between_pages_lead_somewhere():
    for page in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")]:
        for target in re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text(encoding="utf-8")):
            if not target.startswith("http"):
                assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_every_page_is_linked_from_the_index():
    index = (ROOT / "docs" / "README.md").read_text(encoding="utf-8")
    missing = [
        page.name for page in (ROOT / "docs").glob("*.md") if page.name != "README.md" and page.name not in index
    ]
    assert missing == []


def test_models_page_has_a_row_for_every_model_with_its_formula_and_options():
    page = (ROOT / "docs" / "models.md").read_text(encoding="utf-8").split("\n## ")[0]
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in page.splitlines() if line.startswith("| `")]
    written = {name.strip("`"): (formula, re.findall(r"`(\w+)`", own)) for name, formula, _, own in rows}
    own = {name: model for name, model in MODELS.items() if model.__module__.startswith("knowwhen.")}
    assert written == {
        name: (model.formula, [field for field in model.Options.model_fields if field != "rank"])
        for name, model in own.items()
    }


def test_settings_page_says_which_models_have_an_option():
    page = generator().settings_page()
    assert "| `model.rank` | `cont` | `16` |" in page
    assert "| `model.static_share` | `dedistmult`, `detranse` | `0.36` |" in page
    for name in (name for name in settings() if name.count(".") > 1 or not name.startswith("model.")):
        assert page.count(f"| `{name}` |") == 1


def test_no_page_uses_an_old_name():
    old = r"weighing|evidence\.held_out|evidence\.(window|width|lags|cap|context_\w+|predicate_window)\b|history-icews"
    for page in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")]:
        assert re.findall(old, page.read_text(encoding="utf-8")) == [], page.name


@pytest.mark.slow
def test_the_site_builds_without_warnings_and_fetches_nothing(tmp_path):
    """Strict: a link or an anchor that leads nowhere is an error. Every public name is in the Python reference."""
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert (done.returncode, done.stdout + done.stderr) == (0, "")
    pages = {page.name: page.read_text(encoding="utf-8") for page in tmp_path.glob("*.html")}
    for name, text in pages.items():
        assert re.findall(r"<(?:script|link|img)[^>]*(?:src|href)=.(?:https?:)?//", text) == [], name
    missing = [name for name in knowwhen.__all__ if f'id="knowwhen.{name}"' not in pages["api.html"]]
    errors = [name for name in missing if name in vars(knowwhen.errors)]
    assert [name for name in missing if name not in errors] == ["OPEN", "__version__"]
    assert [name for name in errors if f'id="knowwhen.errors.{name}"' not in pages["api.html"]] == []


def test_the_menu_of_the_site_is_the_index():
    menus = script("navigation").menus((ROOT / "docs" / "README.md").read_text(encoding="utf-8"))
    entries = [page for menu in menus for pages in menu.values() for page in pages]
    pages = [page.name for page in (ROOT / "docs").glob("*.md") if page.name != "README.md"]
    assert sorted(entries) == sorted([*pages, *(f"{page.name}.md" for page in (ROOT / "docs").glob("*.ipynb"))])


def test_links_on_the_site_show_titles():
    text = "See [data.md](data.md), [data.md](data.md#dates), [dates](data.md#dates) and [data.md](when.md)."
    expected = "See [Data](data.md), [Data](data.md#dates), [dates](data.md#dates) and [data.md](when.md)."
    assert script("navigation").with_titles(text, ROOT / "docs") == expected


def test_the_citation_is_of_this_version():
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\nversion: {knowwhen.__version__}\n" in citation
