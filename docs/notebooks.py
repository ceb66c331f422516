"""Runs the notebooks in this folder: `python docs/notebooks.py` stores their outputs, and the site shows them as pages.

It does not need Jupyter. The output of a cell is the text it prints and the value of its last line: as text, as HTML
if the value has a `_repr_html_`, and as a PNG if it is a figure.
"""

from __future__ import annotations

import ast
import base64
import contextlib
import io
import json
import os
import re
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
DPI = 72


def run(notebook: dict[str, Any], names: dict[str, Any] | None = None) -> Iterator[tuple[dict[str, Any], list[Any]]]:
    """Each code cell and its outputs, in the format of notebooks; `names` are the variables of the cells."""
    names = {} if names is None else names
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            yield cell, _outputs("".join(cell["source"]), cell["id"], names)


def _outputs(source: str, name: str, names: dict[str, Any]) -> list[Any]:
    tree = ast.parse(source)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    printed = io.StringIO()
    value = None
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, name, "exec"), names)
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), name, "eval"), names)
    outputs: list[Any] = []
    if printed.getvalue():
        outputs.append({"output_type": "stream", "name": "stdout", "text": _lines(printed.getvalue())})
    if value is not None:
        data = _bundle(value)
        outputs.append({"output_type": "execute_result", "execution_count": None, "metadata": {}, "data": data})
    return outputs


def _bundle(value: Any) -> dict[str, Any]:
    if hasattr(value, "savefig"):
        file = io.BytesIO()
        value.savefig(file, format="png", dpi=DPI, metadata={"Software": None})
        return {"image/png": base64.b64encode(file.getvalue()).decode(), "text/plain": ["a figure"]}
    found = {"text/plain": _lines(repr(value))}
    if hasattr(value, "_repr_html_"):
        found["text/html"] = _lines(value._repr_html_())
    return found


def _lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


def words(outputs: list[Any]) -> list[str]:
    """The outputs as text without numbers, which may differ in their last digits from machine to machine."""
    texts = ["".join(one.get("text") or one["data"]["text/plain"]) for one in outputs]
    return [" ".join(re.sub(r"[-+]?\d[\d.,e+-]*|[▁▂▃▄▅▆▇█]+", "#", text).split()) for text in texts]


def store(path: Path) -> None:
    """Runs a notebook in an empty folder and writes its outputs into it."""
    notebook = json.loads(path.read_text(encoding="utf-8"))
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            for count, (cell, outputs) in enumerate(run(notebook), 1):
                cell["outputs"], cell["execution_count"] = outputs, count
                for one in outputs:
                    if one["output_type"] == "execute_result":
                        one["execution_count"] = count
        finally:
            os.chdir(before)
    path.write_text(json.dumps(notebook, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


def markdown(notebook: dict[str, Any]) -> str:
    """A notebook as a page of the site."""
    parts = []
    for cell in notebook["cells"]:
        source = "".join(cell["source"])
        parts.append(source if cell["cell_type"] == "markdown" else f"```python\n{source}\n```")
        for one in cell.get("outputs", []):
            data = one.get("data", {})
            if "image/png" in data:
                parts.append(f"![Output of the cell above](data:image/png;base64,{data['image/png']})")
            else:
                parts.append("```text\n" + "".join(one.get("text") or data["text/plain"]).rstrip("\n") + "\n```")
    return "\n\n".join(parts) + "\n"


def on_files(files: Any, config: Any) -> Any:
    """Called by MkDocs: every notebook becomes a page."""
    from mkdocs.structure.files import File

    for path in sorted(Path(config["docs_dir"]).glob("*.ipynb")):
        content = markdown(json.loads(path.read_text(encoding="utf-8")))
        files.append(File.generated(config, f"{path.name}.md", content=content))
    return files


def on_page_markdown(text: str, **_: Any) -> str:
    """Called by MkDocs: links to a notebook lead to its page."""
    return re.sub(r"\]\(([\w-]+\.ipynb)\)", r"](\1.md)", text)


if __name__ == "__main__":
    for path in [Path(name) for name in sys.argv[1:]] or sorted(HERE.glob("*.ipynb")):
        store(path.resolve())
