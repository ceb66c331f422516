"""The HTTP API and the files of the page, as an application that any ASGI server can run."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any, TypeVar

from fastapi import FastAPI, Query, Response
from fastapi.responses import FileResponse
from fastapi.staticfiles import StaticFiles

from knowwhen.serve import requests as ask_for
from knowwhen.serve.guard import Guard, Rules
from knowwhen.serve.problems import CONTENT_TYPE, Problem, report_errors
from knowwhen.serve.service import Service

STATIC = Path(__file__).parent / "static"
VIEWS = ("/", "/ask", "/when", "/entity", "/compare", "/model")  # of the page: one file, which reads its own address
THREADS = 2

T = TypeVar("T")


def create_app(service: Service, rules: Rules | None = None) -> FastAPI:
    """The application over a service."""
    pool = ThreadPoolExecutor(THREADS, "knowwhen-answer")

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        app.state.warm = asyncio.get_running_loop().run_in_executor(pool, service.warm)
        yield
        pool.shutdown(wait=False, cancel_futures=True)

    app = FastAPI(
        title="knowwhen",
        version=version("knowwhen"),
        summary="Questions about facts and their times, answered by a trained model.",
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        openapi_url="/openapi.json",
        responses={
            status: {"model": Problem, "content": {CONTENT_TYPE: {}}, "description": meaning}
            for status, meaning in {
                400: "A request that contradicts itself or the data.",
                404: "A name, time or run that is not there.",
                422: "A value of the wrong kind.",
            }.items()
        },
    )
    report_errors(app)

    async def offload(function: Callable[..., T], *arguments: Any) -> T:
        return await asyncio.get_running_loop().run_in_executor(pool, function, *arguments)

    def one(function: Callable[..., Any], *arguments: Any) -> bytes:
        found = function(*arguments)
        return as_json(found if isinstance(found, dict) else found.to_dict())

    def many(function: Callable[..., Sequence[Any]], name: str, *arguments: Any) -> bytes:
        return as_json({name: [found.to_dict() for found in function(*arguments)]})

    @app.get("/api/ask", tags=["questions"])
    async def ask(asked: Annotated[ask_for.Ask, Query()]) -> Response:
        """The answers to a question with ? in one place, best first."""
        return respond(await offload(one, service.ask, asked))

    @app.post("/api/ask", tags=["questions"])
    async def ask_many(asked: ask_for.AskMany) -> Response:
        """The answers to many questions, in their order."""
        return respond(await offload(many, service.ask_many, "results", asked))

    @app.get("/api/when", tags=["questions"])
    async def when(asked: Annotated[ask_for.When, Query()]) -> Response:
        """When a fact begins and ends: as known, or inferred with a probability, 80 % ranges and reasons."""
        return respond(await offload(one, service.when, asked))

    @app.post("/api/when", tags=["questions"])
    async def when_many(asked: ask_for.WhenMany) -> Response:
        """The same for many facts, in their order."""
        return respond(await offload(many, service.when_many, "results", asked))

    @app.get("/api/timeline", tags=["questions"])
    async def timeline(asked: Annotated[ask_for.Timeline, Query()]) -> Response:
        """The scores and probabilities of several objects along time."""
        return respond(await offload(one, service.timeline, asked))

    @app.get("/api/similar", tags=["names"])
    async def similar(asked: Annotated[ask_for.Similar, Query()]) -> Response:
        """The entities that are nearest in the embedding."""
        return respond(await offload(one, service.similar, asked))

    @app.get("/api/names", tags=["names"])
    async def names(asked: Annotated[ask_for.Names, Query()]) -> Response:
        """Names that may be meant by what was typed, those with most facts first."""
        return respond(await offload(one, service.find_names, asked))

    @app.get("/api/entity/{key:path}", tags=["names"])
    async def entity(key: str, asked: Annotated[ask_for.Entity, Query()]) -> Response:
        """All that is known of an entity: its facts with their spans."""
        return respond(await offload(one, service.entity, key, asked))

    @app.get("/api/info", tags=["model"])
    async def info(asked: Annotated[ask_for.Chosen, Query()]) -> Response:
        """What the model is, what it was trained on, and what this server allows."""
        return respond(await offload(one, service.info, asked))

    @app.get("/api/evaluation", tags=["model"])
    async def evaluation(asked: Annotated[ask_for.Chosen, Query()]) -> Response:
        """Metrics with their protocol, calibration and time questions on a sample of the test split; measured once."""
        return respond(await offload(one, service.evaluation, asked))

    @app.get("/healthz", tags=["server"])
    async def healthz() -> Response:
        """Whether the server answers."""
        return respond(as_json({"status": "ok"}))

    def page() -> FileResponse:
        return FileResponse(STATIC / "index.html", headers={"Cache-Control": "no-cache"})

    for view in VIEWS:
        app.add_api_route(view, page, include_in_schema=False)
    app.mount("/static", StaticFiles(directory=STATIC), "static")
    app.add_middleware(Guard, rules=rules or Rules())
    return app


def as_json(values: Any) -> bytes:
    return json.dumps(values, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()


def respond(body: bytes) -> Response:
    return Response(body, media_type="application/json", headers={"Cache-Control": "no-store"})
