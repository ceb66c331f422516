"""`knowwhen`: the commands, and what happens to errors."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from knowwhen.cli import add, ask, baseline, data, demo, evaluate, export, fill, plot, reproduce, train, when, wikidata
from knowwhen.errors import Interrupted, KnowwhenError

app = typer.Typer(
    help="Completes temporal knowledge bases: facts with times in, answers to questions about them out.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command()(demo.demo)
app.add_typer(data.app, name="data")
app.add_typer(wikidata.app, name="wikidata")
app.command()(train.train)
app.command()(train.info)
app.command()(evaluate.evaluate)
app.command()(baseline.baseline)
app.command()(ask.ask)
app.command()(when.when)
app.command()(fill.fill)
app.command()(add.add)
app.command()(plot.plot)
app.command()(export.export)
app.command()(reproduce.reproduce)


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        print(f"knowwhen {version('knowwhen')}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass


def main() -> None:
    """Exit codes: 0 done, 1 an error of ours in one line, 2 usage, 130 interrupted."""
    try:
        app()
    except KnowwhenError as error:
        print(f"knowwhen: {error}", file=sys.stderr)
        sys.exit(130 if isinstance(error, Interrupted) else 1)
    except KeyboardInterrupt:
        sys.exit(130)
    except BrokenPipeError:  # the reader of our output has gone
        sys.stderr.close()
        sys.exit(1)
