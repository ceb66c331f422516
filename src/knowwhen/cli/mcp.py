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
        Literal["stdio", "http"], typer.Option("--transport", help="stdio, as a program that an agent starts; or http.")
    ] = "stdio",
    host: Annotated[
        str, typer.Option("--host", help="For http: the address to listen at; all but loopback need a key.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="For http: 0 takes any that is free.")] = 8021,
    writable: Annotated[bool, typer.Option("--writable", help="Add a tool that takes facts.")] = False,
    key_file: KeyFile = None,
    changes: Changes = None,
    device: Device = None,
    allow_code: AllowCode = False,
    no_verify: NoVerify = False,
) -> None:
    """Let agents ask a trained model through the Model Context Protocol. What they get is marked known or inferred.

    Example: knowwhen mcp runs/leaders
    """
    try:
        from knowwhen.serve.agents import create_door, door_app
    except ModuleNotFoundError as error:
        raise MissingExtra("the door for agents", "mcp") from error
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
    say("Ctrl-C stops it")
    serve_on(door_app(door, rules), listening, settings)
