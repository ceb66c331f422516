"""`knowwhen mcp`: a trained model as tools for agents."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from knowwhen.cli.opening import AllowCode, Device, NoVerify
from knowwhen.cli.serve import Changes, KeyFile, find_runs, open_runs, read_key
from knowwhen.console import say
from knowwhen.errors import MissingExtra


def mcp(
    runs: Annotated[list[Path], typer.Argument(help="Run or model folders, or a folder of them.", metavar="RUN...")],
    transport: Annotated[
        Literal["stdio", "http"], typer.Option("--transport", help="stdio (the agent starts this program) or http.")
    ] = "stdio",
    host: Annotated[
        str, typer.Option("--host", help="For http: the address to listen on; any but loopback needs a key.")
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option("--port", min=0, max=65535, help="For http: the port; 0 picks a free one.")
    ] = 8021,
    writable: Annotated[bool, typer.Option("--writable", help="Let agents add facts.")] = False,
    key_file: KeyFile = None,
    changes: Changes = None,
    device: Device = None,
    allow_code: AllowCode = False,
    no_verify: NoVerify = False,
) -> None:
    """Serve a trained model to agents over the Model Context Protocol. Answers are marked known or inferred.

    Example: knowwhen mcp runs/leaders
    """
    try:
        from knowwhen.serve.agents import create_door, door_app
    except ModuleNotFoundError as error:
        raise MissingExtra("`knowwhen mcp`", "mcp") from error
    from knowwhen.serve.service import Service
    from knowwhen.serve.settings import read_settings

    settings = read_settings(changes or ())
    if transport == "stdio":
        models = open_runs(find_runs(runs), device, allow_code, no_verify)
        create_door(Service(models, settings, writable=writable)).run("stdio")
        return
    from knowwhen.serve.server import address, bind, make_rules, serve_on

    rules = make_rules(host, read_key(key_file), (), (), settings)
    listening = bind(host, port)
    models = open_runs(find_runs(runs), device, allow_code, no_verify)
    door = create_door(Service(models, settings, writable=writable))
    print(f"{', '.join(models)} at {address(listening)}mcp", flush=True)
    say("press Ctrl-C to stop")
    serve_on(door_app(door, rules), listening, settings)
