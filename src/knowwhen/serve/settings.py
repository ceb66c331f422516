"""What a server allows: limits with their meaning, changed by `--set name=value`."""

from __future__ import annotations

from collections.abc import Iterable

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from knowwhen.errors import BadRequest, did_you_mean


class ServeSettings(BaseModel):
    """Limits of one server."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    max_body: int = Field(default=1_000_000, ge=100, description="Bytes in the body of a request.")
    max_batch: int = Field(default=1000, ge=1, description="Questions in one request.")
    max_top: int = Field(
        default=1000, ge=1, description="Answers to one question, and names or neighbours in one list."
    )
    max_span: int = Field(default=10_000, ge=1, description="Timestamps covered by one question or timeline.")
    max_objects: int = Field(default=100, ge=1, description="Objects on one timeline.")
    max_candidates: int = Field(default=10_000, ge=1, description="Candidates named in one request.")
    max_facts: int = Field(
        default=10_000, ge=1, description="Facts of an entity in one response, and facts added in one request."
    )
    seconds: float = Field(default=30.0, gt=0, description="Seconds per request, including the body.")
    max_waiting: int = Field(default=1000, ge=1, description="Requests in progress; further ones get status 503.")
    gather_ms: float = Field(
        default=2.0, ge=0, le=100, description="Milliseconds to wait for other questions to answer in the same pass."
    )
    rate: float | None = Field(
        default=None,
        gt=0,
        description="Average requests per second and client; by default 50, and no limit on loopback.",
    )
    burst: int = Field(default=200, ge=1, description="Requests of a client before `rate` applies.")
    evaluated: int = Field(default=500, ge=1, description="Test facts that /api/evaluation uses.")


def read_settings(changes: Iterable[str]) -> ServeSettings:
    """Settings from texts such as 'max_top=100'."""
    values: dict[str, str] = {}
    for change in changes:
        name, is_set, value = change.partition("=")
        if not is_set:
            raise BadRequest(f"--set is {change!r}; expected name=value, such as max_top=100")
        if name not in ServeSettings.model_fields:
            hint = did_you_mean(name, ServeSettings.model_fields)
            raise BadRequest(f"no setting {name!r}; expected {', '.join(ServeSettings.model_fields)}{hint}")
        values[name] = value
    try:
        return ServeSettings.model_validate(values)
    except ValidationError as error:
        first = error.errors()[0]
        raise BadRequest(f"{first['loc'][0]} is {first['input']!r}: {first['msg'].lower()}") from None
