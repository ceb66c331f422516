"""What all commands that open a run share: where it is put, and whether its own code may be run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from knowwhen.folders import check_run

if TYPE_CHECKING:
    from knowwhen.trained import TrainedModel

Run = Annotated[Path, typer.Argument(help="The folder of a run or of a saved model.")]
Device = Annotated[
    str | None,
    typer.Option("--device", help="cpu, cuda or mps; by default the device it was trained on, if available."),
]
AllowCode = Annotated[
    bool,
    typer.Option("--allow-code", help="Import the class of a model that is not part of knowwhen; this runs its code."),
]
NoVerify = Annotated[
    bool, typer.Option("--no-verify", help="Skip the SHA-256 check of files; faster for very large models.")
]

KnownBy = Annotated[
    str | None,
    typer.Option("--known-by", help="Use only facts recorded by this date; the data must say when each was recorded."),
]


def open_run(
    run: Path, device: str | None, allow_code: bool, no_verify: bool = False, known_by: str | None = None
) -> TrainedModel:
    check_run(run)  # before torch is imported, which takes a second or two
    from knowwhen.trained import open as open_trained

    trained = open_trained(run, device=device, allow_code=allow_code, verify=not no_verify)
    return trained if known_by is None else trained.known_by(known_by)
