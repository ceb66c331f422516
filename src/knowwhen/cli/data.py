"""`knowwhen data`: look at datasets, get them, check them, import them."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import TaskID

from knowwhen.cli.output import Json, download_progress, show
from knowwhen.errors import BadRequest
from knowwhen.facts.catalog import REMOTE, available, check_public, download, load
from knowwhen.facts.dataset import Dataset

app = typer.Typer(help="Look at datasets, get them, check them, import them.", no_args_is_help=True)

Source = Annotated[str, typer.Argument(metavar="DATA", help="A dataset's name, a folder or a file.")]
Format = Annotated[str | None, typer.Option("--format", help="icews, yago15k, wikidata12k, folder or table.")]
Columns = Annotated[
    str | None, typer.Option("--columns", help="subject=A,predicate=B,object=C,time=D (or begin=D,end=E) of a table.")
]
GranularityOption = Annotated[str | None, typer.Option("--granularity", help="day, month or year.")]
Seed = Annotated[int, typer.Option("--seed", help="Of the split, when one file holds all facts.")]
Fractions = Annotated[str, typer.Option("--split", help="Shares for valid and test, when one file holds all facts.")]
SkipBad = Annotated[bool, typer.Option("--skip-bad", help="Leave out bad rows, count them, write them to a file.")]
Rejects = Annotated[Path | None, typer.Option("--rejects", help="That file; by default DATA.rejects.tsv.")]


def read(
    source: Source,
    format: Format = None,
    columns: Columns = None,
    granularity: GranularityOption = None,
    seed: Seed = 0,
    split: Fractions = "0.1,0.1",
    skip_bad: SkipBad = False,
    rejects: Rejects = None,
) -> Dataset:
    """`load` with the options of the command line."""
    return load(
        source,
        format=format,
        columns=parse_columns(columns),
        granularity=granularity,
        fractions=parse_fractions(split),
        seed=seed,
        skip_bad=skip_bad,
        rejects=rejects,
    )


def on_dataset(command: Callable[..., None]) -> Callable[..., None]:
    """A command with the options of `read` in place of its first parameter, the dataset they lead to."""
    reading = list(inspect.signature(read, eval_str=True).parameters.values())
    _, *own = inspect.signature(command, eval_str=True).parameters.values()

    def run(**values: object) -> None:
        command(read(**{p.name: values.pop(p.name) for p in reading}), **values)  # type: ignore[arg-type]

    # typer makes the command line from the signature.
    parameters = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in (*reading, *own)]
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {p.name: p.annotation for p in parameters}
    run.__name__, run.__doc__ = command.__name__, command.__doc__
    return run


@app.command("list")
def list_datasets(as_json: Json = False) -> None:
    """Datasets that can be loaded by name, and those that can be downloaded.

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
    name: Annotated[str, typer.Argument(help="A public dataset's name, as `data list` shows them.")],
    as_json: Json = False,
) -> None:
    """Download a public dataset into the cache; a broken download resumes.

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
def info(dataset: Dataset, as_json: Json = False) -> None:
    """Sizes, kinds of facts and the time span of a dataset.

    Example: knowwhen data info leaders
    """
    show(dataset.info() if as_json else {**dataset.info(), **dataset.about}, as_json)


@app.command()
@on_dataset
def check(dataset: Dataset, as_json: Json = False) -> None:
    """Read a dataset to the end and count duplicates, overlaps of splits and what training never sees.

    Example: knowwhen data check icews14
    """
    show(dataset.check(), as_json)


@app.command("import")
@on_dataset
def import_(
    dataset: Dataset,
    out: Annotated[Path, typer.Option("--out", help="The folder to write; must be new or empty.")],
    as_json: Json = False,
) -> None:
    """Write a dataset folder from any source, split and checked once and for all.

    Example: knowwhen data import facts.csv --out mydata
    """
    dataset.save(out)
    show({**dataset.info(), "folder": str(out)}, as_json)


def parse_columns(text: str | None) -> dict[str, str]:
    """{'subject': 'A', …} of 'subject=A,…'."""
    pairs = [pair.partition("=") for pair in text.split(",")] if text else []
    if not all(ours and theirs for ours, _, theirs in pairs):
        raise BadRequest(f"--columns {text!r} is not of the form subject=A,predicate=B,object=C,time=D")
    return {ours.strip(): theirs.strip() for ours, _, theirs in pairs}


def parse_fractions(text: str) -> tuple[float, float]:
    try:
        valid, test = (float(part) for part in text.split(","))
    except ValueError:
        raise BadRequest(f"--split {text!r} is not two shares such as 0.1,0.1") from None
    return valid, test
