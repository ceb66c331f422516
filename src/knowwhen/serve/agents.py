"""The door for agents: the service as tools of the Model Context Protocol, over stdio or HTTP."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from importlib.metadata import version
from typing import Annotated, Any, Literal, TypeVar

from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.transport_security import TransportSecuritySettings
from mcp.types import ToolAnnotations
from pydantic import Field, ValidationError

from knowwhen.errors import KnowwhenError
from knowwhen.serve import requests as ask_for
from knowwhen.serve.guard import Guard, Rules
from knowwhen.serve.metrics import Metrics
from knowwhen.serve.service import Service
from knowwhen.text import visible_lines

INSTRUCTIONS = (
    "Facts with times, (subject, predicate, object, begin to end), and a model that completes them. Call `about` "
    "first: it lists the predicates and the time axis. Find names with `search_names`; every tool takes names or keys. "
    "What is marked known is stated by a fact; what is marked inferred is the model's judgement, with its "
    "probability: never report it as a fact."
)
READS = ToolAnnotations(read_only_hint=True, idempotent_hint=True, open_world_hint=False)
WRITES = ToolAnnotations(read_only_hint=False, destructive_hint=False, open_world_hint=False)
PREDICATES_SHOWN = 300
CURVES = ("times", "scores", "probabilities", "holds")  # left out: agents read numbers one by one

Name = Annotated[str, Field(description="A name or key.")]
Asked = Annotated[str, Field(description="A name or key, or ? to ask for it.")]
Run = Annotated[str | None, Field(description="Which model; by default the first. `about` lists them.")]
T = TypeVar("T")


def create_door(service: Service) -> MCPServer:
    """A server of tools over a service."""
    door = MCPServer("knowwhen", instructions=INSTRUCTIONS, version=version("knowwhen"), log_level="ERROR")
    add_reading(door, service)
    add_questions(door, service)
    if service.writable:
        add_writing(door, service)
    return door


def door_app(door: MCPServer, rules: Rules) -> Guard:
    """The door over HTTP, at /mcp, behind the guard of the API, which checks hosts and origins in place of the SDK."""
    open_to_all = TransportSecuritySettings(enable_dns_rebinding_protection=False)
    app = door.streamable_http_app(stateless_http=True, json_response=True, transport_security=open_to_all)
    return Guard(app, rules, Metrics())


async def answered(make: Callable[[], T]) -> T:
    """What a tool gives, worked out in a thread; errors are texts that the agent can act on."""
    try:
        return await asyncio.to_thread(make)
    except KnowwhenError as error:
        raise ToolError(visible_lines(str(error))) from None
    except ValidationError as error:
        first = error.errors()[0]
        raise ToolError(f"{'.'.join(map(str, first['loc']))}: {first['msg'].lower()}") from None


def marked(answer: dict[str, Any]) -> dict[str, Any]:
    """An answer that says in a word whether a fact states it."""
    status = "known" if answer["known"] else "inferred"
    return {"name": answer["name"], "key": answer["key"], "status": status, **answer}


def add_questions(door: MCPServer, service: Service) -> None:
    @door.tool(annotations=READS)
    async def ask(
        subject: Asked,
        predicate: Asked,
        object: Asked,
        time: Annotated[
            str | None, Field(description="A date, a range such as 2009..2012, or ? to ask when; by default any time.")
        ] = None,
        top: Annotated[int, Field(ge=1, le=100, description="Number of answers.")] = 5,
        novel: Annotated[bool, Field(description="Leave out known answers.")] = False,
        run: Run = None,
    ) -> dict[str, Any]:
        """Answer a question with ? in exactly one place: who, what, which relation, or when.

        Each answer has a probability and a status: known (a fact states it, with its spans) or inferred.
        """

        def make() -> dict[str, Any]:
            asked = ask_for.Ask(
                subject=subject, predicate=predicate, object=object, time=time, top=top, novel=novel, run=run
            )
            found = service.ask(asked).to_dict()
            kept = {name: value for name, value in found.items() if name not in CURVES}
            if "answers" in kept:
                return {**kept, "answers": [marked(answer) for answer in kept["answers"]]}
            return {**kept, "status": "known" if kept["known"] else "inferred"}

        return await answered(make)

    @door.tool(annotations=READS)
    async def when(
        subject: Name,
        predicate: Name,
        object: Name,
        infer: Annotated[bool, Field(description="Infer both dates from other facts, even if they are known.")] = False,
        run: Run = None,
    ) -> dict[str, Any]:
        """Find out when a fact begins and ends.

        `inferred` lists the dates that no fact states; they come with a probability, 80 % ranges and reasons.
        """

        def make() -> dict[str, Any]:
            asked = ask_for.When(subject=subject, predicate=predicate, object=object, infer=infer, run=run)
            found = service.when(asked).to_dict()
            dates = {
                f"{name}_status": "inferred" if name in found["inferred"] else "known" for name in ("begin", "end")
            }
            return {**{name: value for name, value in found.items() if name not in CURVES}, **dates}

        return await answered(make)

    @door.tool(annotations=READS)
    async def holds(
        subject: Name,
        predicate: Name,
        object: Name,
        time: Annotated[str, Field(description="A date or range; it may be after the data ends.")],
        run: Run = None,
    ) -> dict[str, Any]:
        """Get the probability that a fact holds at a time: is it still true?

        `status` is known if a fact states it, else inferred; `basis` says where the probability comes from.
        """

        def make() -> dict[str, Any]:
            asked = ask_for.Holds(subject=subject, predicate=predicate, object=object, time=time, run=run)
            found = service.holds(asked).to_dict()
            return {**found, "status": "known" if found["known"] else "inferred"}

        return await answered(make)


def add_reading(door: MCPServer, service: Service) -> None:
    @door.tool(annotations=READS)
    async def about(run: Run = None) -> dict[str, Any]:
        """Describe the data: its predicates with their number of facts, the time axis, the model, and other runs."""

        def make() -> dict[str, Any]:
            found = service.info(ask_for.Chosen(run=run))
            data, predicates = found["data"], sorted(found["predicates"], key=lambda one: -one["facts"])
            return {
                "run": found["run"],
                "runs": found["runs"],
                "data": {name: data[name] for name in ("name", "entities", "granularity", "first", "last")},
                "about": found["about"],
                "predicates": predicates[:PREDICATES_SHOWN],
                "more_predicates": max(0, len(predicates) - PREDICATES_SHOWN),
                "calibrated": found["calibrated"],
                "can_date_facts": found["model"]["time_head"],
            }

        return await answered(make)

    @door.tool(annotations=READS)
    async def search_names(
        query: Annotated[
            str, Field(max_length=2000, description="A name or its beginning; accents are ignored, typos allowed.")
        ],
        kind: Literal["entity", "predicate"] = "entity",
        limit: Annotated[int, Field(ge=1, le=100)] = 10,
        run: Run = None,
    ) -> dict[str, Any]:
        """Find the names and keys of entities or predicates, those with most facts first."""
        return await answered(lambda: service.find_names(ask_for.Names(q=query, kind=kind, limit=limit, run=run)))

    @door.tool(annotations=READS)
    async def entity(
        name: Name,
        time: Annotated[str | None, Field(description="Only facts that hold at this time.")] = None,
        limit: Annotated[int, Field(ge=1, le=1000, description="Number of facts.")] = 50,
        first: Annotated[int, Field(ge=0, description="Number of facts to skip.")] = 0,
        run: Run = None,
    ) -> dict[str, Any]:
        """List the known facts of an entity, with their spans."""
        asked = partial(ask_for.Entity, time=time, limit=limit, first=first, run=run)
        return await answered(lambda: {**service.entity(name, asked()).to_dict(), "status": "known"})

    @door.tool(annotations=READS)
    async def read_edges(
        entity: Name,
        time: Annotated[str | None, Field(description="Only edges that may hold at this time.")] = None,
        limit: Annotated[int, Field(ge=1, le=1000)] = 50,
        run: Run = None,
    ) -> dict[str, Any]:
        """The facts of an entity as edges with `valid_at` and `invalid_at`.

        Missing dates are in the field `inferred`, with a probability. With a time, `holds` is the probability that an
        edge holds then.
        """
        asked = partial(ask_for.Edges, entity=entity, time=time, limit=limit, run=run)
        return await answered(lambda: service.edges(asked()))


def add_writing(door: MCPServer, service: Service) -> None:
    @door.tool(annotations=WRITES)
    async def write_edges(edges: list[ask_for.NewEdge], run: Run = None) -> dict[str, Any]:
        """Add edges, all or none. The next question knows them. Entities may be new, predicates may not."""
        return await answered(lambda: service.add_edges(ask_for.AddEdges(edges=edges, run=run)))
