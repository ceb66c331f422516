"""The description of the API: every request and answer with its shape and an example, every error as it comes."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic import BaseModel

from knowwhen.serve.problems import CONTENT_TYPE, Problem

ERRORS = {
    400: "A request that contradicts itself or the data, or asks for more than a limit allows.",
    401: "A key is needed, or this one is not right.",
    403: "A server that takes no facts, or a page of another site.",
    404: "A name, time or run that is not there.",
    409: "The run cannot be written now.",
    413: "A body that is too large.",
    421: "A name under which this server is not to be asked.",
    422: "A value of the wrong kind, a date that is none, facts that are none.",
    429: "Too many requests of one client; Retry-After says when to come back.",
    503: "Too many requests at once, or one that takes too long.",
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
