"""Where a run or a saved model lies, told by the names of its files: without reading them, and without torch."""

from __future__ import annotations

from pathlib import Path

from knowwhen.errors import BadRequest, RunError

CONFIG, MODEL = "config.toml", "model.json"


def is_run(path: Path) -> bool:
    return (path / CONFIG).is_file()


def is_model(path: Path) -> bool:
    return (path / MODEL).is_file()


def model_folder(path: Path) -> Path:
    """Where the model of a run or of a saved model lies."""
    return path if is_model(path) else path / "model"


def check_run(path: Path) -> None:
    """An error unless a folder holds a run or a model."""
    if not isinstance(path, Path):
        raise BadRequest(f"cannot open {path!r}; expected the folder of a run or of a saved model")
    if not is_run(path) and not is_model(path):
        why = "there is no such folder" if not path.exists() else "" if path.is_dir() else "it is a file"
        raise RunError(f"{path} holds no run and no model" + (f": {why}" if why else ""))
