"""`knowwhen data`: look at datasets, get them, check them, import them."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.progress import TaskID

from knowwhen.cli.completion import dataset_names, public_names
from knowwhen.cli.output import Json, Quiet, download_progress, say_notes, show
from knowwhen.cli.reading import reading as with_reading
from knowwhen.facts.catalog import REMOTE, available, check_public, download, load
from knowwhen.facts.dataset import Dataset, NoFacts

app = typer.Typer(help="List, download, inspect, check and import datasets.", no_args_is_help=True)

Source = Annotated[
    str,
    typer.Argument(metavar="DATA", help="A dataset name, a folder, a file or - (stdin).", autocompletion=dataset_names),
]


def on_dataset(command: Callable[..., None]) -> Callable[..., None]:
    """A command with a source and the options of reading in place of its first parameter, the dataset they lead to."""
    _, *own = inspect.signature(command, eval_str=True).parameters.values()

    def run(source: str, reading: dict[str, Any], **values: object) -> None:
        reading.pop("given")
        dataset = load(source, **reading)
        say_notes(dataset)
        command(dataset, **values)

    first, shared, *_ = inspect.signature(run, eval_str=True).parameters.values()
    source = first.replace(annotation=Source)
    run.__signature__ = inspect.Signature([p.replace(kind=p.KEYWORD_ONLY) for p in (source, shared, *own)])  # type: ignore[attr-defined]
    run.__name__, run.__doc__ = command.__name__, command.__doc__
    return with_reading(run)


@app.command("list")
def list_datasets(as_json: Json = False) -> None:
    """List the datasets that can be loaded by name or downloaded.

    Example: knowwhen data list
    """
    here = available()
    rows = {name: {"where": str(path), "here": True} for name, path in here.items()}
    rows |= {
        name: {"where": f"knowwhen data get {name}  ({remote.about})", "here": False}
        for name, remote in REMOTE.items()
        if name not in here
    }
    show(rows if as_json else {name: row["where"] for name, row in rows.items()}, as_json)


@app.command()
def get(
    name: Annotated[
        str,
        typer.Argument(help="The name of a public dataset; `data list` shows them.", autocompletion=public_names),
    ],
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Download a public dataset into the cache, or resume a download that broke off.

    Example: knowwhen data get icews14
    """
    check_public(name)
    with download_progress() as bars:
        tasks: dict[str, TaskID] = {}

        def advance(file: str, done: int, total: int | None) -> None:
            if file not in tasks:
                tasks[file] = bars.add_task(f"{name}/{file}")
            bars.update(tasks[file], completed=done, total=total)

        folder = download(name, advance)
    show({"name": name, "folder": str(folder)}, as_json)


@app.command()
@on_dataset
def info(dataset: Dataset, quiet: Quiet = False, as_json: Json = False) -> None:
    """Show the size, kinds of facts and time span of a dataset.

    Example: knowwhen data info leaders
    """
    show(dataset.info() if as_json else {**dataset.info(), **dataset.about}, as_json)


@app.command()
@with_reading
def check(source: Source, reading: dict[str, Any], as_json: Json = False) -> None:
    """Diagnose a source: its format, bad rows, oddities and the next command to type. Exits with 1 if rows are bad.

    Example: knowwhen data check facts.csv
    """
    from knowwhen.facts.diagnosis import Diagnosis

    given, skips = reading.pop("given"), reading["skip_bad"]
    try:
        dataset = load(source, **{**reading, "skip_bad": True, "rejects": reading["rejects"] if skips else False})
        found = Diagnosis(dataset.report, dataset, [source, *given])
    except NoFacts as error:
        found = Diagnosis(error.report, None, [source, *given])
    print(json.dumps(found.to_dict(), ensure_ascii=False) if as_json else found)
    if found.dataset is None or (found.report.bad_rows and not skips):
        raise typer.Exit(1)


@app.command("import")
@on_dataset
def import_(
    dataset: Dataset,
    out: Annotated[Path, typer.Option("--out", help="The folder to write; must be new or empty.")],
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Convert a source to a dataset folder: check the facts, split them, and save them as Parquet.

    Example: knowwhen data import facts.csv --out mydata
    """
    dataset.save(out)
    show({**dataset.info(), "folder": str(out)}, as_json)
