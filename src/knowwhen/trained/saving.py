"""From a trained model to a folder that `open` reads back."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import torch

from knowwhen import checksums
from knowwhen.errors import RunError
from knowwhen.files import UNCHANGED, whole_folder, write_whole, writing
from knowwhen.training.notes import config_text
from knowwhen.training.saved import save_model

if TYPE_CHECKING:
    from knowwhen.trained.model import TrainedModel


def save(model: TrainedModel, folder: Path) -> None:
    """Writes weights, names, data and a model card; what was added since training goes into folders of its own."""
    trained = model.trained
    if (folder / "model.json").exists():
        raise RunError(f"{folder} already holds a model; choose another folder")
    with writing(folder, UNCHANGED), whole_folder(folder) as aside:
        trained.dataset.save(aside / "data")
        if model.calibration:
            model.calibration.save(aside)
        if model.times:
            model.times.save(aside)
        settings = config_text(model.config, trained.dataset, {}, torch.get_num_threads(), model.version)
        write_whole(aside / "config.toml", settings.encode())
        save_model(aside, trained.model, trained.card())
        checksums.seal(aside)
        for i, new in enumerate(model.additions.sources if model.additions else (), 1):
            new.save(aside / "added" / f"{i:04}")
