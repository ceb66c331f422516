"""The recipes inside the package; without torch, so that a shell can complete their names."""

from __future__ import annotations

from importlib import resources
from pathlib import Path


def recipes() -> dict[str, Path]:
    """The recipes inside the package, by name."""
    folder = Path(str(resources.files("knowwhen"))) / "recipes"
    return {path.stem: path for path in sorted(folder.glob("*.toml"))}
