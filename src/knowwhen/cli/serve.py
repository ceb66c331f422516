"""`knowwhen serve`: a trained model opened to a browser and to programs."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from knowwhen.cli.opening import AllowCode, Device, NoVerify, open_run
from knowwhen.cli.output import Json
from knowwhen.console import say
from knowwhen.errors import BadInput, BadRequest, MissingExtra
from knowwhen.folders import check_run, is_run

if TYPE_CHECKING:
    from knowwhen.trained import TrainedModel

KEY_VARIABLE = "KNOWWHEN_KEY"
SHORTEST_KEY = 16
DEFAULT_PORT = 8020
KeyFile = Annotated[
    Path | None,
    typer.Option("--key-file", help=f"A file with the key that clients must send; else ${KEY_VARIABLE}, if set."),
]
Changes = Annotated[
    list[str] | None, typer.Option("--set", help="Change a limit, such as max_top=100; docs/serving.md has all.")
]


def serve(
    runs: Annotated[list[Path], typer.Argument(help="Run or model folders, or a folder of them.", metavar="RUN...")],
    host: Annotated[
        str, typer.Option("--host", help="The address to listen on; any but loopback needs a key.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="The port; 0 picks a free one.")] = DEFAULT_PORT,
    writable: Annotated[
        bool, typer.Option("--writable", help="Let clients add facts, as `knowwhen add` does.")
    ] = False,
    key_file: KeyFile = None,
    allow_host: Annotated[
        list[str] | None, typer.Option("--allow-host", help="Accept requests for this host name; repeatable.")
    ] = None,
    allow_origin: Annotated[
        list[str] | None,
        typer.Option(
            "--allow-origin", help="Let pages of this site send requests, such as https://example.org; repeatable."
        ),
    ] = None,
    changes: Changes = None,
    device: Device = None,
    allow_code: AllowCode = False,
    no_verify: NoVerify = False,
    as_json: Json = False,
) -> None:
    """Serve a web page and an API for one or more trained models, until Ctrl-C.

    Example: knowwhen serve runs/leaders
    """
    paths = find_runs(runs)
    for path in paths.values():
        check_run(path)
    need_extra()
    from knowwhen.serve.app import create_app
    from knowwhen.serve.server import address, bind, make_rules, serve_on
    from knowwhen.serve.service import Service
    from knowwhen.serve.settings import read_settings

    settings = read_settings(changes or ())
    rules = make_rules(host, read_key(key_file), allow_host or (), allow_origin or (), settings)
    listening = bind(host, port)  # before models are opened: a taken port is said at once
    models = open_runs(paths, device, allow_code, no_verify)
    app = create_app(Service(models, settings, writable=writable), rules)
    if as_json:
        print(json.dumps({"url": address(listening), "runs": list(models)}), flush=True)
    else:
        print(f"{', '.join(models)} at {address(listening)}", flush=True)
        say("press Ctrl-C to stop")
    serve_on(app, listening, settings)


def need_extra() -> None:
    """Says what to install where the packages that serve are missing."""
    try:
        import knowwhen.serve.app
        import knowwhen.serve.server  # noqa: F401
    except ModuleNotFoundError as error:
        raise MissingExtra("serving", "serve") from error


def read_key(path: Path | None) -> str | None:
    """The key of a file, or of $KNOWWHEN_KEY; None where there is neither."""
    try:
        key = os.environ.get(KEY_VARIABLE, "") if path is None else path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise BadInput(f"the key in {path} is not UTF-8 text") from error
    if (path is not None or key) and len(key.strip()) < SHORTEST_KEY:
        where = KEY_VARIABLE if path is None else path
        raise BadRequest(f"the key in {where} has {len(key.strip())} characters; expected at least {SHORTEST_KEY}")
    return key.strip() or None


def find_runs(given: list[Path]) -> dict[str, Path]:
    """Folders by the name they are served under: those given, or the runs inside one."""
    found: list[Path] = []
    for path in given:
        inside = sorted(one for one in path.glob("*") if is_run(one)) if path.is_dir() and not is_run(path) else []
        found += inside or [path]
    named: dict[str, Path] = {}
    for path in found:
        name = path.resolve().name
        if name in named and named[name].resolve() != path.resolve():
            raise BadRequest(f"{named[name]} and {path} have the same name {name!r}; rename one of the folders")
        named[name] = path
    return named


def open_runs(paths: dict[str, Path], device: str | None, allow_code: bool, no_verify: bool) -> dict[str, TrainedModel]:
    return {name: open_run(path, device, allow_code, no_verify) for name, path in paths.items()}
