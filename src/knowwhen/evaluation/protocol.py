"""How an evaluation is done: no number is printed without it."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import Literal, get_args, get_type_hints

from knowwhen.errors import BadRequest

Filter = Literal["time", "static", "raw"]
Ties = Literal["half", "pessimistic", "optimistic"]
Directions = Literal["both", "objects"]
Times = Literal["sample", "all"] | int

FILTERS: dict[Filter, str] = {
    "time": "filtered at the query's time",
    "static": "filtered at any time",
    "raw": "not filtered",
}


@dataclass(frozen=True)
class Protocol:
    """The choices behind ranks and metrics: filter, ties, directions, and the times at which facts are asked."""

    filter: Filter = "time"  # which other true objects are no rivals: those true at the query's time, ever, none
    ties: Ties = "half"  # how many of the rivals with the target's own score stand before it: half, all, none
    directions: Directions = "both"  # (s, p, ?) and (?, p, o), or (s, p, ?) alone
    times: Times = "sample"  # where inside its span a fact is asked: one drawn timestamp, all of them, the mean of N
    seed: int = 0  # of the drawn timestamps and of a sample of facts

    def __post_init__(self) -> None:
        hints = get_type_hints(type(self))
        for field in fields(self):
            value, allowed = getattr(self, field.name), get_args(hints[field.name])
            if field.name in ("filter", "ties", "directions") and value not in allowed:
                raise BadRequest(f"{field.name} is {value!r}; expected {', '.join(allowed)}")
        if self.times not in ("sample", "all") and not (isinstance(self.times, int) and self.times >= 1):
            raise BadRequest(f"times is {self.times!r}; expected sample, all or a positive number")

    def describe(self, queries: int | None = None) -> str:
        """The protocol in one line, printed with the metrics."""
        parts = [FILTERS[self.filter], f"ties {self.ties}", self._directions(), self._times()]
        return ", ".join(parts if queries is None else [*parts, f"{queries:,} queries"])

    def to_dict(self) -> dict[str, str | int]:
        return asdict(self)

    def _directions(self) -> str:
        return "both directions" if self.directions == "both" else "objects only"

    def _times(self) -> str:
        if self.times == "all":
            return "mean over all times of each span"
        if self.times == "sample":
            return f"times sampled with seed {self.seed}"
        return f"mean over {self.times} sampled times with seed {self.seed}"
