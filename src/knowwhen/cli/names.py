"""`knowwhen names`: what entities and predicates a run knows, and under which names."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Annotated

import typer

from knowwhen.cli.opening import NoVerify, Run, open_run
from knowwhen.cli.output import Json
from knowwhen.errors import BadRequest
from knowwhen.text import table

KINDS = ("entity", "predicate")


def names(
    run: Run,
    query: Annotated[
        str,
        typer.Argument(
            metavar="[QUERY]",
            help="A name, or its beginning, typos allowed; by default list the names with most facts.",
        ),
    ] = "",
    kind: Annotated[str, typer.Option("--kind", help="entity or predicate; both by default.")] = "",
    top: Annotated[int, typer.Option("--top", help="How many names of each kind.")] = 20,
    no_verify: NoVerify = False,
    as_json: Json = False,
) -> None:
    """List or search the names of entities and predicates, those with most facts first.

    Example: knowwhen names runs/leaders mitterand
    """
    if kind not in ("", *KINDS):
        raise BadRequest(f"--kind is {kind!r}; expected entity or predicate")
    dataset = open_run(run, "cpu", allow_code=False, no_verify=no_verify).dataset
    from knowwhen.query.entities import FoundName, fact_counts, find_names

    found = []
    for one in KINDS if not kind else (kind,):
        counts = fact_counts(dataset, one)  # type: ignore[arg-type]
        if query:
            listed = find_names(dataset, query, one, top, counts)  # type: ignore[arg-type]
        else:
            words = dataset.predicates if one == "predicate" else dataset.entities
            best = (-counts).argsort(kind="stable")[:top].tolist()
            listed = [FoundName(words.key(i), words.label(i), words.label(i), int(counts[i])) for i in best]
        found += [(one, name) for name in listed]
    if as_json:
        print(json.dumps([{"kind": one, **asdict(name)} for one, name in found], ensure_ascii=False))
        return
    if not found:
        raise BadRequest(f"no name is like {query!r}; `knowwhen names {run}` lists names")
    labelled = any(name.key != name.name for _, name in found)
    rows = [("name", *(("key",) if labelled else ()), "kind", "facts")]
    rows += [(name.name, *((name.key,) if labelled else ()), one, f"{name.facts:,}") for one, name in found]
    print("\n".join(table(rows)))
