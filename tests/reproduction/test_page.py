"""docs/results.md and the stored results behind it."""

from pathlib import Path

import pytest

from knowwhen.reproduction.report import write_page
from knowwhen.reproduction.results import path_of, read_all, read_result

DOCS = Path(__file__).parents[2] / "docs"
STORE = DOCS / "results"


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    folder = tmp_path_factory.mktemp("page")
    write_page(read_all(STORE), folder / "results.md")
    return folder


def test_the_page_is_what_the_stored_results_give(written):
    page, now = ((folder / "results.md").read_text(encoding="utf-8") for folder in (DOCS, written))
    assert page == now, "run `knowwhen reproduce --out docs/results.md`"


def test_the_figures_of_the_page_are_there(written):
    drawn = {path.name for path in written.glob("*.svg")}
    assert drawn == {path.name for path in DOCS.glob("results-*.svg")}
    assert all(f"({name})" in (DOCS / "results.md").read_text(encoding="utf-8") for name in drawn)


def test_every_stored_result_has_the_name_of_its_experiment():
    paths = sorted(STORE.rglob("*.json"))
    assert len(paths) > 90 and all(path_of(read_result(path), STORE) == path for path in paths)
