"""`knowwhen wikidata`: a Wikidata dump becomes a dataset folder, on one machine or on many."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.progress import Progress, TaskID
from typer.core import TyperGroup

from knowwhen.cli.output import Json, Quiet, download_progress, show
from knowwhen.cli.reading import parse_fractions
from knowwhen.cli.workers import Address, EngineOption, parse_engine
from knowwhen.console import say, shows_bars
from knowwhen.errors import BadRequest
from knowwhen.text import visible

if TYPE_CHECKING:
    from knowwhen.wikidata.settings import SelectionSettings

PLAIN_SECONDS = 10  # between lines of progress where there is no terminal


class DumpOrCommand(TyperGroup):
    """`knowwhen wikidata DUMP` means `knowwhen wikidata make DUMP`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if args and args[0] not in (*self.commands, "--help", "-h"):
            args = ["make", *args]
        return super().parse_args(ctx, args)


app = typer.Typer(
    help="Make a dataset from a Wikidata dump: `knowwhen wikidata DUMP --out DIR`.",
    cls=DumpOrCommand,
    no_args_is_help=True,
)

Out = Annotated[Path, typer.Option("--out", help="The folder to write; must be new or empty.")]
Keep = Annotated[
    list[str] | None,
    typer.Option("--keep", help="Keep only facts with an instance of this class: a Q number or a file of them."),
]
Drop = Annotated[
    list[str] | None, typer.Option("--drop", help="Also drop instances of this class: a Q number or a file of them.")
]
MinDegree = Annotated[int, typer.Option("--min-degree", help="Drop entities with fewer facts.")]
MinPredicate = Annotated[int, typer.Option("--min-predicate", help="Drop predicates with fewer facts.")]
GranularityOption = Annotated[str, typer.Option("--granularity", help="day, month or year.")]
Split = Annotated[
    str | None,
    typer.Option(
        "--split",
        help="Facts for validation and test, or fractions: 5000,5000 or 0.1,0.1.",
        show_default="50000,50000; at most a tenth each",
    ),
]
Seed = Annotated[int, typer.Option("--seed", help="Seed of the random split.")]


@app.command()
def make(
    dump: Annotated[str, typer.Argument(help="latest-all.json, plain or .gz, .bz2, .zst; - for standard input.")],
    out: Out,
    lang: Annotated[str, typer.Option("--lang", help="Language of the labels.")] = "en",
    keep: Keep = None,
    drop: Drop = None,
    min_degree: MinDegree = 5,
    min_predicate: MinPredicate = 50,
    granularity: GranularityOption = "year",
    split: Split = None,
    seed: Seed = 0,
    part: Annotated[
        str | None, typer.Option("--part", help="Extract only part i of n, such as 3/16; `merge` joins the parts.")
    ] = None,
    window: Annotated[
        int, typer.Option("--window", help="Megabytes of the dump per work unit; a kill loses one unit per core.")
    ] = 64,
    engine: EngineOption = "processes",
    address: Address = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Make a dataset folder from a dump. After Ctrl-C or a kill, run the same command to continue.

    Example: knowwhen wikidata latest-all.json.gz --out wikidata
    """
    from knowwhen.wikidata import check_installed

    check_installed()
    from knowwhen.wikidata.extraction import extract
    from knowwhen.wikidata.making import make as make_dataset
    from knowwhen.wikidata.settings import ExtractionSettings, SelectionSettings

    chosen = parse_engine(engine, address)
    if chosen == "ray" and part is not None:
        raise BadRequest("--engine ray splits the dump itself; leave --part out")
    selection = _selection(keep, drop, min_degree, min_predicate, granularity, split, seed)
    share, shares = _parse_part(part)
    extraction = _checked(ExtractionSettings, lang=lang, part=share, parts=shares, window_megabytes=window)
    with DumpProgress("standard input" if dump == "-" else dump) as shown:
        if part is None:
            sheet = make_dataset(dump, out, extraction, selection, shown, engine=chosen, address=address)
        elif selection != SelectionSettings():
            raise BadRequest(
                "--part only extracts; give --keep, --drop, --min-degree and the like to `knowwhen wikidata merge`"
            )
        else:
            done = extract(dump, out, extraction, shown.bytes)
    if part is None:
        _show(sheet.values(), out, as_json)
    else:
        show({"part": part, **done.counts(), "damage": done.damage, "folder": str(out)}, as_json)


@app.command()
def merge(
    parts: Annotated[list[Path], typer.Argument(help="The folders that --part wrote, all of them.")],
    out: Out,
    keep: Keep = None,
    drop: Drop = None,
    min_degree: MinDegree = 5,
    min_predicate: MinPredicate = 50,
    granularity: GranularityOption = "year",
    split: Split = None,
    seed: Seed = 0,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Merge the parts of a dump into a dataset folder, identical to that of a single machine.

    Example: knowwhen wikidata merge part-* --out wikidata
    """
    from knowwhen.wikidata import check_installed

    check_installed()
    from knowwhen.wikidata.making import merge as merge_parts
    from knowwhen.wikidata.parts import Part

    selection = _selection(keep, drop, min_degree, min_predicate, granularity, split, seed)
    with DumpProgress(str(out)) as shown:
        sheet = merge_parts([Part(part) for part in parts], out, selection, shown)
    _show(sheet.values(), out, as_json)


def _show(values: dict[str, str | int | float], out: Path, as_json: bool) -> None:
    """The datasheet's values; what should not be overlooked goes to stderr too."""
    if values["warnings"]:
        say(f"note: {values['warnings']}")
    show({**values, "folder": str(out)}, as_json)


def _selection(
    keep: list[str] | None,
    drop: list[str] | None,
    min_degree: int,
    min_predicate: int,
    granularity: str,
    split: str | None,
    seed: int,
) -> SelectionSettings:
    from knowwhen.wikidata.classes import read_classes
    from knowwhen.wikidata.settings import SelectionSettings

    settings: SelectionSettings = _checked(
        SelectionSettings,
        keep=read_classes(keep or (), "--keep"),
        drop=read_classes(drop or (), "--drop"),
        min_degree=min_degree,
        min_predicate=min_predicate,
        granularity=granularity,
        split=parse_fractions(split) if split else None,
        seed=seed,
    )
    return settings


def _checked(settings: type[Any], **values: Any) -> Any:
    """Settings of the values, or an error that names the option."""
    from pydantic import ValidationError

    try:
        return settings(**values)
    except ValidationError as error:
        first = error.errors()[0]
        option = str(first["loc"][0]).replace("_megabytes", "").replace("_", "-")
        raise BadRequest(f"--{option} {values[str(first['loc'][0])]!r}: {first['msg'].lower()}") from None


def _parse_part(text: str | None) -> tuple[int, int]:
    """(3, 16) of '3/16', (1, 1) of nothing."""
    share, _, shares = (text or "1/1").partition("/")
    if not (share.isdecimal() and shares.isdecimal() and 1 <= int(share) <= int(shares)):
        raise BadRequest(f"--part is {text!r}; expected i/n with i from 1 to n, such as 3/16")
    return int(share), int(shares)


class DumpProgress:
    """Progress on stderr: a bar of bytes with time left on a terminal, a line now and then elsewhere."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._bar: Progress | None = None
        self._task: TaskID | None = None
        self._began = self._last = time.monotonic()

    def __enter__(self) -> DumpProgress:
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def bytes(self, done: int, total: int | None) -> None:
        if shows_bars():
            if self._bar is None:
                self._bar = download_progress()
                self._task = self._bar.add_task(visible(self._name), total=total)
                self._bar.start()
            assert self._task is not None
            self._bar.update(self._task, completed=done)
        elif time.monotonic() - self._last > PLAIN_SECONDS:
            self._last = time.monotonic()
            self.say(describe(done, total, self._last - self._began))

    def say(self, text: str) -> None:
        if self._bar is not None:
            self._bar.stop()
        say(f"{self._name}: {text}")


def describe(done: int, total: int | None, seconds: float) -> str:
    """'1.2 of 95.0 GB, 26 minutes left' after some seconds of work."""
    if total is None or not done:
        return f"{done / 1e9:.1f} GB read"
    left = seconds * (total - done) / done
    return f"{done / 1e9:.1f} of {total / 1e9:.1f} GB, {left / 60:.0f} minutes left"
