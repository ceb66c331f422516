"""`knowwhen`: the commands, and what happens to errors."""

from __future__ import annotations

import io
import json
import os
import sys
import traceback
from collections.abc import Mapping
from typing import Annotated

import typer

from knowwhen.cli import (
    add,
    ask,
    baseline,
    compare,
    data,
    demo,
    evaluate,
    export,
    fill,
    holds,
    mcp,
    names,
    plot,
    reproduce,
    serve,
    train,
    tune,
    when,
    wikidata,
)
from knowwhen.distributed.started import named, world_size
from knowwhen.errors import BadRequest, Interrupted, KnowwhenError
from knowwhen.text import visible, visible_lines

app = typer.Typer(
    help="Complete temporal knowledge bases: facts with times go in, answers with probabilities come out.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command()(demo.demo)
app.add_typer(data.app, name="data")
app.add_typer(wikidata.app, name="wikidata")
app.command()(train.train)
app.command()(train.info)
app.command()(tune.tune)
app.command()(evaluate.evaluate)
app.command()(compare.compare)
app.command()(baseline.baseline)
app.command()(ask.ask)
app.command()(when.when)
app.command()(holds.holds)
app.command()(fill.fill)
app.command()(names.names)
app.command()(add.add)
app.command()(plot.plot)
app.command()(export.export)
app.command()(reproduce.reproduce)
app.command()(serve.serve)
app.command()(mcp.mcp)

TOGETHER = ("train", "evaluate", "ask")  # what several processes can do


def _version(wanted: bool) -> None:
    if wanted:
        from knowwhen import __version__

        print(f"knowwhen {__version__}")
        raise typer.Exit


@app.callback()
def root(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Print the Python traceback of an error.")] = False,
) -> None:
    if world_size() > 1 and context.invoked_subcommand not in TOGETHER:
        raise BadRequest(f"{context.invoked_subcommand} runs in one process, but torchrun started {world_size()}")


def main() -> None:
    """Exit codes: 0 done, 1 an error in one line, 2 usage, 130 interrupted."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a terminal without our letters shows their codes
    code = run(sys.argv[1:])
    try:
        sys.stdout.flush()
    except OSError as error:
        code = _without_output(error)
    if code and world_size() > 1 and isinstance(code, int):
        from knowwhen.distributed.processes import leave

        leave(code)
    sys.exit(code)


def run(arguments: list[str]) -> int | str | None:
    """The exit code of a command; every error is said in one line."""
    try:
        _check_text(arguments)
        app(prog_name="knowwhen")
    except SystemExit as end:
        return end.code
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError as error:
        return _without_output(error)
    except KnowwhenError as error:
        who = "" if isinstance(error, Interrupted) else named()
        return _say(who + str(error), 130 if isinstance(error, Interrupted) else 1, error.to_dict())
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        return _say(f"{named()}cannot read or write {where}{error.strerror or error}", 1, {"error": "OSError"})
    except MemoryError:
        return _say(f"{named()}not enough memory", 1, {"error": "MemoryError"})
    except BaseException as error:  # polars' panics are no Exceptions
        return _say(named() + _our_fault(arguments, error), 1)
    return 0


def _check_text(arguments: list[str]) -> None:
    for argument in arguments:
        try:
            argument.encode()
        except UnicodeEncodeError:
            raise BadRequest(
                f"the argument {visible(argument)!r} is not UTF-8 text; check the terminal's encoding"
            ) from None


def _our_fault(arguments: list[str], error: BaseException) -> str:
    command = next((argument for argument in arguments if not argument.startswith("-")), "")
    reason = (str(error).splitlines() or [""])[0]
    return (
        f"`{command}` failed unexpectedly ({type(error).__name__}: {reason}); "
        f"this is a bug in knowwhen. `knowwhen --debug {command} …` shows the details; please report them"
    )


def _say(text: str, code: int, details: Mapping[str, object] | None = None) -> int:
    """An error on stderr; for programs, which asked for --json, as one JSON object in one line."""
    if "--debug" in sys.argv[1:]:
        traceback.print_exc()
    if "--json" in sys.argv[1:]:
        print(json.dumps({"error": "Unforeseen", "message": text, **(details or {})}), file=sys.stderr)
    else:
        print(f"knowwhen: {visible_lines(text)}", file=sys.stderr)
    return code


def _without_output(error: OSError) -> int:
    """The reader of our output has gone, or the disk it goes to is full: nothing more is written there."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    if not isinstance(error, BrokenPipeError):
        _say(f"cannot write to standard output: {error.strerror or error}", 1)
    return 1
