"""The HTTP API and the files of the page, as an application that any ASGI server can run."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any, TypeVar

from fastapi import FastAPI, Request, Response
from fastapi import Path as PathParameter
from fastapi.responses import FileResponse
from fastapi.staticfiles import StaticFiles
from pydantic_core import to_json
from starlette.middleware.cors import CORSMiddleware

from knowwhen.serve import requests as ask_for
from knowwhen.serve import responses as given
from knowwhen.serve.gathering import Gatherer
from knowwhen.serve.guard import CHARGE, Guard, Rules
from knowwhen.serve.metrics import Metrics
from knowwhen.serve.openapi import describe, takes
from knowwhen.serve.problems import problem, report_errors
from knowwhen.serve.queries import read
from knowwhen.serve.service import Service

STATIC = Path(__file__).parent / "static"
VIEWS = ("/", "/ask", "/when", "/entity", "/compare", "/model")  # of the page: one file, which reads its own address
THREADS = 2  # for all but the questions that are gathered, which have one of their own

Key = Annotated[str, PathParameter(description="A key, or a name.", examples=["France"])]
T = TypeVar("T")


class Doors:
    """The threads behind an application: the loop never waits for a model."""

    def __init__(self, service: Service, metrics: Metrics) -> None:
        self.service, self.metrics = service, metrics
        self.others = ThreadPoolExecutor(THREADS, "knowwhen-answer")
        self.gathered = ThreadPoolExecutor(1, "knowwhen-gather")
        settings = service.settings
        self.gatherer: Gatherer[ask_for.Ask, bytes] = Gatherer(
            self._together, self.gathered, window=settings.gather_ms / 1000, most=settings.max_batch
        )
        self.warmed: asyncio.Future[None] | None = None

    async def open(self) -> None:
        self.warmed = asyncio.get_running_loop().run_in_executor(self.others, self.service.warm)

    def close(self) -> None:
        for pool in (self.others, self.gathered):
            pool.shutdown(wait=False, cancel_futures=True)

    @property
    def is_ready(self) -> bool:
        return self.warmed is not None and self.warmed.done() and not self.warmed.exception()

    async def run(self, function: Callable[..., T], *arguments: Any) -> T:
        return await asyncio.get_running_loop().run_in_executor(self.others, partial(function, *arguments))

    async def one(self, function: Callable[..., Any], *arguments: Any) -> Response:
        return respond(await self.run(lambda: value_json(function(*arguments))))

    async def many(self, function: Callable[..., Sequence[Any]], asked: Any) -> Response:
        return respond(await self.run(lambda: as_json({"results": [one.to_dict() for one in function(asked)]})))

    async def ask(self, asked: ask_for.Ask) -> Response:
        """Questions about one date share a pass; what takes longer would keep others waiting, and gains nothing."""
        if asked.explain or not asked.time or ".." in asked.time or asked.time in ("?", "_"):
            return await self.one(self.service.ask, asked)
        return respond(await self.gatherer.ask(asked))

    def _together(self, asked: Sequence[ask_for.Ask]) -> list[bytes | Exception]:
        self.metrics.batch(len(asked))
        found = self.service.ask_together(asked)
        return [one if isinstance(one, Exception) else value_json(one) for one in found]


def create_app(service: Service, rules: Rules | None = None) -> Guard:
    """The application over a service, behind its guard."""
    rules, metrics = rules or Rules(settings=service.settings), Metrics()
    doors = Doors(service, metrics)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        await doors.open()
        yield
        doors.close()

    app = FastAPI(
        title="knowwhen",
        version=version("knowwhen"),
        summary="Questions about facts and their times, answered by a trained model.",
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        generate_unique_id_function=lambda route: route.name,
    )
    app.openapi = lambda: describe(app)  # type: ignore[method-assign]
    report_errors(app)
    add_questions(app, doors)
    add_facts(app, doors)
    add_names(app, doors)
    add_state(app, doors, metrics)
    add_page(app)
    if rules.origins:
        methods, headers = ("GET", "POST"), ("Authorization", "Content-Type")
        app.add_middleware(CORSMiddleware, allow_origins=rules.origins, allow_methods=methods, allow_headers=headers)
    return Guard(app, rules, metrics)


def add_questions(app: FastAPI, doors: Doors) -> None:
    service = doors.service

    @app.get(
        "/api/ask",
        tags=["questions"],
        responses=ok(given.Answers | given.TimeAnswers),
        openapi_extra=takes(ask_for.Ask),
    )
    async def ask(request: Request) -> Response:
        """Answer a question with ? in one place, best answers first."""
        return await doors.ask(read(ask_for.Ask, request))

    @app.post("/api/ask", tags=["questions"], responses=ok(given.ManyAnswers))
    async def ask_many(asked: ask_for.AskMany, request: Request) -> Response:
        """Answer many questions, in their order."""
        request.scope[CHARGE](len(asked.questions) - 1)
        return await doors.many(service.ask_many, asked)

    @app.get("/api/when", tags=["questions"], responses=ok(given.When), openapi_extra=takes(ask_for.When))
    async def when(request: Request) -> Response:
        """When a fact begins and ends: known dates, or inferred ones with a probability, 80 % ranges and reasons."""
        return await doors.one(service.when, read(ask_for.When, request))

    @app.post("/api/when", tags=["questions"], responses=ok(given.ManyWhen))
    async def when_many(asked: ask_for.WhenMany, request: Request) -> Response:
        """The same for many facts, in their order."""
        request.scope[CHARGE](len(asked.facts) - 1)
        return await doors.many(service.when_many, asked)

    @app.get("/api/holds", tags=["questions"], responses=ok(given.Holds), openapi_extra=takes(ask_for.Holds))
    async def holds(request: Request) -> Response:
        """The probability that a fact holds at a time, also after the data ends."""
        return await doors.one(service.holds, read(ask_for.Holds, request))

    @app.post("/api/holds", tags=["questions"], responses=ok(given.ManyHolds))
    async def holds_many(asked: ask_for.HoldsMany, request: Request) -> Response:
        """The same for many facts and times, in their order."""
        request.scope[CHARGE](len(asked.facts) - 1)
        return await doors.many(service.holds_many, asked)

    @app.get("/api/as_of", tags=["questions"], responses=ok(given.AsOf), openapi_extra=takes(ask_for.AsOf))
    async def as_of(request: Request) -> Response:
        """Answer a question with ? in one place, ranked by the probability that each answer holds at a date."""
        return await doors.one(service.as_of, read(ask_for.AsOf, request))

    @app.get("/api/timeline", tags=["questions"], responses=ok(given.Timeline), openapi_extra=takes(ask_for.Timeline))
    async def timeline(request: Request) -> Response:
        """The scores and probabilities of several objects along time."""
        return await doors.one(service.timeline, read(ask_for.Timeline, request))


def add_facts(app: FastAPI, doors: Doors) -> None:
    service = doors.service

    @app.post("/api/facts", tags=["facts"], responses=ok(given.Added))
    async def add(asked: ask_for.AddFacts) -> Response:
        """Add facts without training; needs `--writable`. The next question knows them."""
        return await doors.one(service.add, asked)

    @app.get("/api/edges", tags=["facts"], responses=ok(given.Edges), openapi_extra=takes(ask_for.Edges))
    async def edges(request: Request) -> Response:
        """The facts of an entity as edges with `valid_at` and `invalid_at`; missing dates are inferred separately."""
        return await doors.one(service.edges, read(ask_for.Edges, request))

    @app.post("/api/edges", tags=["facts"], responses=ok(given.Added))
    async def add_edges(asked: ask_for.AddEdges) -> Response:
        """Add edges; needs `--writable`."""
        return await doors.one(service.add_edges, asked)


def add_names(app: FastAPI, doors: Doors) -> None:
    service = doors.service

    @app.get("/api/names", tags=["names"], responses=ok(given.Names), openapi_extra=takes(ask_for.Names))
    async def names(request: Request) -> Response:
        """Complete or search names, those with most facts first."""
        return await doors.one(service.find_names, read(ask_for.Names, request))

    @app.get("/api/entity/{key:path}", tags=["names"], responses=ok(given.Entity), openapi_extra=takes(ask_for.Entity))
    async def entity(key: Key, request: Request) -> Response:
        """All known facts of an entity, with their spans."""
        return await doors.one(service.entity, key, read(ask_for.Entity, request))

    @app.get("/api/similar", tags=["names"], responses=ok(given.Neighbours), openapi_extra=takes(ask_for.Similar))
    async def similar(request: Request) -> Response:
        """The nearest entities in the embedding."""
        return await doors.one(service.similar, read(ask_for.Similar, request))


def add_state(app: FastAPI, doors: Doors, metrics: Metrics) -> None:
    service = doors.service

    @app.get("/api/info", tags=["model"], responses=ok(given.Info), openapi_extra=takes(ask_for.Chosen))
    async def info(request: Request) -> Response:
        """The model, its data, and the limits of this server."""
        return await doors.one(service.info, read(ask_for.Chosen, request))

    @app.get("/api/evaluation", tags=["model"], responses=ok(given.Evaluation), openapi_extra=takes(ask_for.Chosen))
    async def evaluation(request: Request) -> Response:
        """Ranking metrics with their protocol, calibration and time metrics on a sample of test; computed once."""
        return await doors.one(service.evaluation, read(ask_for.Chosen, request))

    @app.get("/healthz", tags=["server"], responses=ok(given.Status))
    async def healthz() -> Response:
        """Whether the server answers."""
        return respond(as_json({"status": "ok"}))

    @app.get("/readyz", tags=["server"], responses=ok(given.Status) | {503: {"description": "Not yet."}})
    async def readyz() -> Response:
        """Whether all indexes are built."""
        if doors.is_ready:
            return respond(as_json({"status": "ready"}))
        return problem(503, "Busy", "still building indexes", headers={"Retry-After": "1"})

    @app.get("/metrics", tags=["server"], responses={200: {"content": {"text/plain": {}}}})
    async def prometheus() -> Response:
        """Request counts and times and batch sizes, for Prometheus."""
        return Response(metrics.text({"ready": doors.is_ready}), media_type="text/plain; version=0.0.4; charset=utf-8")


def add_page(app: FastAPI) -> None:
    def page() -> FileResponse:
        return FileResponse(STATIC / "index.html", headers={"Cache-Control": "no-cache"})

    def documentation() -> FileResponse:
        return FileResponse(STATIC / "docs" / "index.html", headers={"Cache-Control": "no-cache"})

    for view in VIEWS:
        app.add_api_route(view, page, include_in_schema=False)
    app.add_api_route("/docs", documentation, include_in_schema=False)
    app.mount("/static", Files(directory=STATIC), "static")


class Files(StaticFiles):
    """Files that a browser asks for again whether they are new, so that an update is seen at once."""

    def file_response(self, *arguments: Any, **options: Any) -> Response:
        response = super().file_response(*arguments, **options)
        response.headers["Cache-Control"] = "no-cache"
        return response


def ok(model: Any) -> dict[int | str, dict[str, Any]]:
    return {200: {"model": model, "description": "Found."}}


def value_json(found: Any) -> bytes:
    return as_json(found if isinstance(found, dict) else found.to_dict())


def as_json(values: Any) -> bytes:
    return to_json(values, inf_nan_mode="null")  # a quarter of the time of json.dumps


def respond(body: bytes) -> Response:
    return Response(body, media_type="application/json", headers={"Cache-Control": "no-store"})
