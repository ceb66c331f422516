"""The query of a request as a value: what FastAPI would do with `Annotated[Model, Query()]`, in a tenth of its time."""

from __future__ import annotations

from functools import cache
from typing import Any, TypeVar, get_args, get_origin
from urllib.parse import parse_qsl

from fastapi import Request
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ValidationError

Model = TypeVar("Model", bound=BaseModel)


def read(model: type[Model], request: Request) -> Model:
    """The parameters of a request as a value of a model; one that takes a list may be given several times."""
    values: dict[str, Any] = {}
    many = lists_of(model)
    for name, value in parse_qsl(request.scope["query_string"].decode("latin-1"), keep_blank_values=True):
        if name in many:
            values.setdefault(name, []).append(value)
        else:
            values[name] = value
    try:
        return model.model_validate(values)
    except ValidationError as error:
        raise RequestValidationError(error.errors()) from None


@cache
def lists_of(model: type[BaseModel]) -> frozenset[str]:
    """The names of the fields that hold lists."""
    kinds = {name: (field.annotation, *get_args(field.annotation)) for name, field in model.model_fields.items()}
    return frozenset(name for name, found in kinds.items() if any(get_origin(kind) is list for kind in found))
