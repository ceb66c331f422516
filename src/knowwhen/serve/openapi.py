"""The description of the API: every request and answer with its shape and an example, every error as it comes."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic import BaseModel

from knowwhen.serve.problems import CONTENT_TYPE, Problem

ERRORS = {
    400: "The request contradicts itself or the data, or exceeds a limit.",
    401: "The key is missing or wrong.",
    403: "The server is read-only, or the page belongs to another site.",
    404: "Unknown name, time or run.",
    409: "The run cannot be written to now.",
    413: "The body is too large.",
    421: "The server does not accept requests for this host name.",
    422: "A value of the wrong type, or bad dates or facts.",
    429: "Too many requests from this client; see Retry-After.",
    503: "Too many requests, or one that takes too long.",
}
WRITING = (403, 409, 413)


def takes(model: type[BaseModel]) -> dict[str, Any]:
    """The parameters of a route that reads its query by itself, as `serve/queries.py` does."""
    schema = model.model_json_schema()
    required = schema.get("required", ())
    return {
        "parameters": [
            {
                "name": name,
                "in": "query",
                "required": name in required,
                "description": field.get("description", ""),
                "schema": field,
            }
            for name, field in schema["properties"].items()
        ]
    }


def describe(app: FastAPI) -> dict[str, Any]:
    """The OpenAPI document of an app, made once."""
    if app.openapi_schema is None:
        document = get_openapi(title=app.title, version=app.version, summary=app.summary, routes=app.routes)
        schemas = document.setdefault("components", {}).setdefault("schemas", {})
        schemas["Problem"] = Problem.model_json_schema()
        for name in ("HTTPValidationError", "ValidationError"):  # FastAPI's own, which we do not send
            schemas.pop(name, None)
        document["components"]["securitySchemes"] = {"key": {"type": "http", "scheme": "bearer"}}
        for path, operations in document["paths"].items():
            for method, operation in operations.items():
                _add_errors(path, method, operation)
        app.openapi_schema = document
    return app.openapi_schema


def _add_errors(path: str, method: str, operation: dict[str, Any]) -> None:
    operation["responses"].pop("422", None)
    if not path.startswith("/api/"):
        return
    operation["security"] = [{}, {"key": []}]  # a server on loopback needs no key
    for status, meaning in ERRORS.items():
        if method == "get" and status in WRITING:
            continue
        operation["responses"][str(status)] = {
            "description": meaning,
            "content": {CONTENT_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
        }
