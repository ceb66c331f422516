"""What all commands that open a run share: where it is put, and whether its own code may be run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from knowwhen.trained import TrainedModel

Run = Annotated[Path, typer.Argument(help="A run's folder, or a saved model's.")]
Device = Annotated[
    str | None, typer.Option("--device", help="cpu, cuda or mps; by default where it was trained, if that is there.")
]
AllowCode = Annotated[
    bool, typer.Option("--allow-code", help="Import the class of a model that is not of this package; trust it first.")
]
NoVerify = Annotated[
    bool, typer.Option("--no-verify", help="Do not compare files with their SHA-256: quicker for very large tables.")
]

KnownBy = Annotated[
    str | None,
    typer.Option("--known-by", help="Use what was recorded by that date only, where the data says when facts were."),
]


def open_run(
    run: Path, device: str | None, allow_code: bool, no_verify: bool = False, known_by: str | None = None
) -> TrainedModel:
    from knowwhen.trained import open as open_trained

    trained = open_trained(run, device=device, allow_code=allow_code, verify=not no_verify)
    return trained if known_by is None else trained.known_by(known_by)
