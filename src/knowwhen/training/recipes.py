"""The recipes and other settings inside the package; without torch, so that a shell can complete their names."""

from __future__ import annotations

from importlib import resources
from pathlib import Path


def recipes() -> dict[str, Path]:
    """The recipes inside the package, by name."""
    return bundled("recipes")


def bundled(folder: str) -> dict[str, Path]:
    """The TOML files of a folder of the package, by name."""
    found = Path(str(resources.files("knowwhen"))) / folder
    return {path.stem: path for path in sorted(found.glob("*.toml"))}
