"""The shape of the project: layers, public names, what an import may cost."""

import ast
import json
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import knowwhen

SOURCE = Path(knowwhen.__file__).parent
# Imports point down: each layer sees itself and those before it. `wikidata` sees facts and what is below.
LAYERS = [
    "errors",
    "files",
    "folders",
    "checksums",
    "limits",
    "chunks",
    "text",
    "console",
    "drawable",
    "tabular",
    "cluster",
    "facts",
    "distributed",
    "models",
    "evaluation",
    "dating",
    "training",
    "query",
    "plotting",
    "trained",
    "comparing",
    "tuning",
    "reproduction",
    "serve",
    "cli",
]


def imports(path: Path) -> set[str]:
    """The layers of knowwhen that a module imports, also inside functions."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports are absolute"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        found |= {name.split(".")[1] for name in names if name.startswith("knowwhen.")}
    return found


@pytest.mark.parametrize("path", sorted(SOURCE.rglob("*.py")), ids=lambda path: str(path.relative_to(SOURCE)))
def test_no_layer_imports_upward(path):
    parts = path.relative_to(SOURCE).parts
    layer = parts[0].removesuffix(".py")
    if layer in ("__init__", "__main__"):
        return
    below = LAYERS.index("facts" if layer == "wikidata" else layer) + 1
    allowed = {*LAYERS[:below], layer, "__version__"}
    if layer == "cli":
        allowed |= {"wikidata"}
    assert imports(path) <= allowed


def test_all_is_the_public_surface_in_order():
    loaded = {n for n, value in vars(knowwhen).items() if not n.startswith("_") and not isinstance(value, ModuleType)}
    public = (loaded - {"TYPE_CHECKING", "Any"}) | {"__version__", *knowwhen._NEED_TORCH}
    assert knowwhen.__all__ == sorted(public)
    assert all(getattr(knowwhen, name) is not None for name in knowwhen.__all__)


QUICK = [["--help"], ["data", "--help"], ["plot", "--help"], ["tune", "--help"], ["data", "info", "leaders"]]
MISSING = [
    ["ask", "gone", "a", "b", "?"],
    ["ask", "gone", "--batch", __file__, "--out", "answers.csv"],
    ["evaluate", "gone"],
    ["names", "gone"],
    ["serve", "gone"],
]


@pytest.mark.parametrize("arguments", QUICK + MISSING)
def test_help_data_and_missing_runs_do_not_import_torch(arguments):
    code = (
        "import sys, json\n"
        f"sys.argv = ['knowwhen', *{arguments!r}]\n"
        "from knowwhen.cli.main import main\n"
        "try:\n    main()\nexcept SystemExit: pass\n"
        "print(json.dumps(any(name in sys.modules for name in ('torch', 'matplotlib', 'optuna'))))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout.splitlines()[-1]) is False
    if arguments in MISSING:
        assert done.stderr == "knowwhen: gone holds no run and no model: there is no such folder\n"
