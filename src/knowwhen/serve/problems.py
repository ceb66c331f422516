"""Errors as problem details (RFC 9457): text and suggestions of the command line, each class with its status."""

from __future__ import annotations

import json
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException
from starlette.routing import Match, Route

from knowwhen.errors import KnowwhenError
from knowwhen.text import visible, visible_lines

CONTENT_TYPE = "application/problem+json"
SHOWN = 100  # characters of a value that was given


class Problem(BaseModel):
    """What went wrong, in one line for people, with what programs need beside it."""

    type: str = Field(examples=["about:blank"])
    title: str = Field(description="The status in words.", examples=["Not Found"])
    status: int = Field(examples=[404])
    detail: str = Field(
        description="What was given, what was expected, and what to do.",
        examples=["no entity 'Obana'; did you mean 'Barack Obama'?"],
    )
    error: str = Field(description="The class of the error in knowwhen.errors.", examples=["UnknownName"])
    suggestions: list[str] = Field([], description="Similar names.", examples=[["Barack Obama"]])


def problem(
    status: int, error: str, detail: str, suggestions: tuple[str, ...] = (), headers: Mapping[str, str] | None = None
) -> Response:
    """A response that says what is wrong."""
    body = {
        "type": "about:blank",
        "title": HTTPStatus(status).phrase,
        "status": status,
        "detail": visible_lines(detail),
        "error": error,
        "suggestions": [visible(name) for name in suggestions],
    }
    text = json.dumps(body, ensure_ascii=False).encode()
    return Response(text, status, headers, CONTENT_TYPE)


def problem_of(error: KnowwhenError) -> Response:
    suggestions: tuple[str, ...] = getattr(error, "suggestions", ())
    return problem(error.status, type(error).__name__, str(error), suggestions, getattr(error, "headers", None))


def report_errors(app: FastAPI) -> None:
    """Every error of an app becomes problem details."""

    @app.exception_handler(KnowwhenError)
    async def ours(request: Request, error: KnowwhenError) -> Response:
        return problem_of(error)

    @app.exception_handler(RequestValidationError)
    async def invalid(request: Request, error: RequestValidationError) -> Response:
        return problem(422, "BadRequest", "; ".join(_in_words(one) for one in error.errors()[:5]))

    @app.exception_handler(HTTPException)
    async def other(request: Request, error: HTTPException) -> Response:
        what = {
            404: f"no page or API at {request.url.path}",
            405: f"{request.url.path} does not support {request.method}",
        }
        detail = what.get(error.status_code, str(error.detail))
        headers = allowed_methods(request) if error.status_code == 405 else error.headers
        return problem(error.status_code, "HTTPError", detail, headers=headers)

    @app.exception_handler(Exception)
    async def unforeseen(request: Request, error: Exception) -> Response:  # the server logs its trace
        return problem(500, "Unforeseen", "unexpected error; this is a bug in knowwhen")


def allowed_methods(request: Request) -> dict[str, str]:
    """What can be done at an address, of all routes there are for it; each by itself knows only its own."""
    routes = (route for route in request.app.routes if isinstance(route, Route))
    there = (route.methods or () for route in routes if route.matches(request.scope)[0] is not Match.NONE)
    return {"Allow": ", ".join(sorted({method for methods in there for method in methods}))}


def _in_words(error: Mapping[str, Any]) -> str:
    """'top: input should be a valid integer, given 'x''."""
    place = [str(part) for part in error["loc"] if part not in ("query", "body", "path")]
    given = repr(error.get("input"))
    given = given if len(given) <= SHOWN else given[:SHOWN] + "…"
    message = str(error["msg"])
    return f"{'.'.join(place) or 'the body'}: {message[:1].lower()}{message[1:]}, given {given}"
