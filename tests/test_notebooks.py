"""The notebooks run from top to bottom, and show what they have stored."""

import importlib.util
import json
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[1] / "docs"
SPEC = importlib.util.spec_from_file_location("notebooks", DOCS / "notebooks.py")
notebooks = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(notebooks)
NAMES = sorted(path.name for path in DOCS.glob("*.ipynb"))


def read(name):
    return json.loads((DOCS / name).read_text(encoding="utf-8"))


@pytest.mark.slow
def test_the_tour_runs_and_has_outputs_of_the_same_kinds(tmp_path, monkeypatch, quick_time_head):
    monkeypatch.chdir(tmp_path)
    names = {}
    for cell, outputs in notebooks.run(read("tour.ipynb"), names):
        assert [sorted(one.get("data", one)) for one in outputs] == [
            sorted(one.get("data", one)) for one in cell["outputs"]
        ]
    assert names["answers"][0].name == "Barack Obama"
    assert "1981" <= names["when"].best <= "1995"
    assert (tmp_path / "french-presidents.svg").exists()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["own-table.ipynb", "research.ipynb"])
def test_a_tutorial_shows_what_it_has_stored(name, tmp_path, monkeypatch):
    """But for numbers, whose last digits depend on the machine."""
    monkeypatch.chdir(tmp_path)
    for cell, outputs in notebooks.run(read(name)):
        assert notebooks.words(outputs) == notebooks.words(cell["outputs"]), f"run docs/notebooks.py: {cell['id']}"


def test_every_notebook_has_outputs_and_unique_cells():
    assert NAMES == ["own-table.ipynb", "research.ipynb", "tour.ipynb"]
    for cells in (read(name)["cells"] for name in NAMES):
        assert any(one.get("data", {}).get("image/png") for cell in cells for one in cell.get("outputs", []))
        assert len({cell["id"] for cell in cells}) == len(cells)


def test_printed_text_values_and_figures_are_outputs():
    class Drawn:
        def savefig(self, file, **options):
            file.write(b"png")

    sources = ["print('a')\nx = 2\nx + 1", "x", "drawn", "y = 1", ""]
    cells = [{"cell_type": "code", "id": str(i), "source": [source]} for i, source in enumerate(sources)]
    found = [outputs for _, outputs in notebooks.run({"cells": cells}, {"drawn": Drawn()})]
    assert found[0][0]["text"] == ["a\n"] and found[0][1]["data"]["text/plain"] == ["3"]
    assert found[1][0]["data"]["text/plain"] == ["2"] and found[2][0]["data"]["image/png"] == "cG5n"
    assert found[3:] == [[], []]
    page = notebooks.markdown({"cells": [{**cells[0], "outputs": found[0]}, {**cells[2], "outputs": found[2]}]})
    assert "```python\nprint('a')" in page and "```text\na\n```" in page and "data:image/png;base64,cG5n" in page


def test_words_do_not_depend_on_numbers():
    outputs = [{"output_type": "stream", "text": ["MRR 0.483 at 1e-3\n", "▁▂█ Ada"]}]
    assert notebooks.words(outputs) == ["MRR # at # # Ada"]
