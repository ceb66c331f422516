"""How facts are read: the options that all commands share which take any source of facts."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from knowwhen.errors import BadRequest

Format = Annotated[
    str | None,
    typer.Option("--format", help="icews, yago15k, wikidata12k, folder, kgtk, rdf or table; detected by default."),
]
Columns = Annotated[
    str | None,
    typer.Option("--columns", help="Columns of a table: subject=A,predicate=B,object=C,time=D (or begin=D,end=E)."),
]
Predicate = Annotated[
    str | None, typer.Option("--predicate", help="The predicate of every fact, for a table without a column for it.")
]
GranularityOption = Annotated[
    str | None, typer.Option("--granularity", help="Unit of the time axis: minute, hour, day, month or year.")
]
Seed = Annotated[int, typer.Option("--seed", help="Seed of the random split, for a single file.")]
Fractions = Annotated[str, typer.Option("--split", help="Fractions for validation and test, for a single file.")]
DateFormat = Annotated[
    str | None,
    typer.Option("--date-format", help="iso, dmy, mdy, ymd, excel, unix, unix-ms, or a pattern such as %d.%m.%Y."),
]
Separator = Annotated[
    str | None, typer.Option("--separator", help="The character between columns; detected by default.")
]
Encoding = Annotated[
    str | None, typer.Option("--encoding", help="The encoding of text that is not UTF-8, such as cp1252.")
]
SkipBad = Annotated[bool, typer.Option("--skip-bad", help="Skip bad rows and write them to a file.")]
ARGUMENTS = {"split": "fractions"}  # of `load`, where they have another name than the option
Rejects = Annotated[
    Path | None, typer.Option("--rejects", help="The file for skipped rows; DATA.rejects.tsv by default.")
]


def options(
    format: Format = None,
    columns: Columns = None,
    predicate: Predicate = None,
    granularity: GranularityOption = None,
    date_format: DateFormat = None,
    separator: Separator = None,
    encoding: Encoding = None,
    seed: Seed = 0,
    split: Fractions = "0.1,0.1",
    skip_bad: SkipBad = False,
    rejects: Rejects = None,
) -> dict[str, Any]:
    """The keyword arguments of `load`, from the options of the command line."""
    return {
        "format": format,
        "columns": parse_columns(columns),
        "predicate": predicate,
        "granularity": granularity,
        "date_format": date_format,
        "separator": separator,
        "encoding": encoding,
        "fractions": parse_fractions(split),
        "seed": seed,
        "skip_bad": skip_bad,
        "rejects": rejects,
    }


def reading(command: Callable[..., None], leave_out: tuple[str, ...] = ()) -> Callable[..., None]:
    """A command with the options of reading in place of its parameter `reading`, but for some.

    `reading` is a dictionary with the arguments of `load`, and under "given" the options as they were typed.
    """
    shared = [p for p in inspect.signature(options, eval_str=True).parameters.values() if p.name not in leave_out]
    own = [p for p in inspect.signature(command, eval_str=True).parameters.values() if p.name != "reading"]

    def run(**values: Any) -> None:
        given = {p.name: values.pop(p.name) for p in shared}
        dropped = {ARGUMENTS.get(name, name) for name in leave_out}
        found = {name: value for name, value in options(**given).items() if name not in dropped}
        command(reading={**found, "given": _typed(given)}, **values)

    # typer makes the command line from the signature: required ones first, --json and the like last.
    first = [p for p in own if "Argument" in type(p.annotation.__metadata__[0]).__name__]
    last = [p for p in own if p not in first]
    parameters = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in (*first, *shared, *last)]
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {p.name: p.annotation for p in parameters}
    run.__name__, run.__doc__ = command.__name__, command.__doc__
    return run


def _typed(given: dict[str, Any]) -> list[str]:
    """The options that differ from their defaults, as one types them."""
    defaults = {p.name: p.default for p in inspect.signature(options).parameters.values()}
    found: list[str] = []
    for name, value in given.items():
        if value != defaults[name]:
            option = f"--{name.replace('_', '-')}"
            found += [option] if value is True else [option, str(value)]
    return found


def parse_columns(text: str | None) -> dict[str, str]:
    """{'subject': 'A', …} of 'subject=A,…'."""
    pairs = [pair.partition("=") for pair in text.split(",")] if text else []
    if not all(ours and theirs for ours, _, theirs in pairs):
        raise BadRequest(f"--columns is {text!r}; expected subject=A,predicate=B,object=C,time=D")
    return {ours.strip(): theirs.strip() for ours, _, theirs in pairs}


def parse_fractions(text: str) -> tuple[float, float]:
    try:
        valid, test = (float(part) for part in text.split(","))
    except ValueError:
        raise BadRequest(f"--split is {text!r}; expected two fractions, such as 0.1,0.1") from None
    return valid, test
