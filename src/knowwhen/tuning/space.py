"""What a study tries: points, grids of them, and spaces they are drawn from."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, product
from pathlib import Path
from typing import Any

from knowwhen.errors import BadRequest, NotFound, did_you_mean
from knowwhen.training.config import Config, read_toml, settings
from knowwhen.training.recipes import bundled

Point = Mapping[str, Any]
"""Settings by their full names, `section.key`."""

NOT_SEARCHED = {
    "validation.": "trials would be measured differently",
    "dating.": "trials learn no time head",
    "training.threads": "it does not change the result",
    "training.device": "it does not change the result",
}
CHECKED = 2_000  # combinations in which a value may turn out to be valid
LARGEST_GRID = 100_000


def grid(axes: Mapping[str, Sequence[object]]) -> list[Point]:
    """Every combination of the values of some settings; the last setting changes first."""
    return [dict(zip(axes, values, strict=True)) for values in product(*axes.values())]


def point_of(config: Config) -> Point:
    """All settings of a run, as JSON types."""
    return config.flat()


@dataclass(frozen=True)
class Choices:
    """A list of values."""

    values: tuple[Any, ...]

    @property
    def ends(self) -> tuple[Any, ...]:
        """The values to check: where they are valid, all are."""
        return self.values

    def grid(self) -> tuple[Any, ...]:
        return self.values

    def to_json(self) -> object:
        return list(self.values)


@dataclass(frozen=True)
class Range:
    """All numbers from low to high, or those `step` apart; with `log`, each order of magnitude is as likely."""

    low: float
    high: float
    log: bool = False
    step: float | None = None
    whole: bool = False  # integers alone

    @property
    def ends(self) -> tuple[float, float]:
        return self.low, self.high

    def grid(self) -> tuple[float, ...] | None:
        """The values of a range with steps; None where there is no end of them."""
        step = self.step or (1 if self.whole and not self.log else None)
        if step is None:
            return None
        count = math.floor((self.high - self.low) / step + 1e-9) + 1
        return tuple(round(self.low + i * step, 12) for i in range(count))

    def to_json(self) -> object:
        found = {"low": self.low, "high": self.high, "log": self.log, "step": self.step}
        return {key: value for key, value in found.items() if value}


Axis = Choices | Range


@dataclass(frozen=True)
class Space:
    """The settings that are searched, each with its values, and where they are written."""

    name: str
    axes: Mapping[str, Axis]

    def points(self, is_valid: Callable[[Point], bool]) -> list[Point]:
        """The grid, without combinations of values that do not go together."""
        values: dict[str, Sequence[object]] = {}
        for name, axis in self.axes.items():
            found = axis.grid()
            if found is None:
                raise BadRequest(f"{self.name}: a grid needs a list of values for {name}, or a range with a step")
            values[name] = found
        size = math.prod(map(len, values.values()))
        if size > LARGEST_GRID:
            raise BadRequest(f"{self.name}: the grid has {size:,} points; search it with --sampler random or tpe")
        return [point for point in grid(values) if is_valid(point)]

    def to_json(self) -> dict[str, object]:
        return {name: axis.to_json() for name, axis in self.axes.items()}


def spaces() -> dict[str, Path]:
    """The spaces inside the package, by name."""
    return bundled("spaces")


def read_space(source: str | Path | Mapping[str, Any], config_of: Callable[[Point], Config]) -> Space:
    """The space of a name, a TOML file or a mapping, whose values all fit the recipe, which `config_of` changes."""
    is_file = isinstance(source, (str, Path))
    name = str(source) if is_file else "space"
    values = read_toml(source, spaces(), "space") if isinstance(source, (str, Path)) else dict(source)
    values.pop("about", None)
    try:
        known = _known_settings(values, config_of({}).model.name)
        axes = {key: _axis(key, value, known) for key, value in _flat(values, known)}
        if not axes:
            raise BadRequest("it names no settings to search")
        space = Space(name, axes)
        _check_values(space, config_of)
    except (BadRequest, NotFound) as error:
        raise BadRequest(f"{name}: {error}") from None
    return space


def _known_settings(values: Mapping[str, Any], model: str) -> dict[str, dict[str, Any]]:
    """The settings of the model, or of all models that are tried."""
    section = values.get("model")
    tried = section.get("name") if isinstance(section, Mapping) else values.get("model.name")
    names = [str(name) for name in tried] if isinstance(tried, list | tuple) else [model]
    return {key: about for name in names for key, about in settings(name).items()}


def _flat(values: Mapping[str, Any], known: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Settings by full name; `a.b = …`, `[a]` with `b = …` and `"a.b" = …` are the same."""
    for key, value in values.items():
        name = prefix + str(key)
        if isinstance(value, Mapping) and name not in known and not {"low", "high"} & set(value):
            yield from _flat(value, known, f"{name}.")
        else:
            yield name, value


def _axis(name: str, value: Any, known: Mapping[str, Mapping[str, Any]]) -> Axis:
    if name not in known:
        raise BadRequest(f"no setting {name!r} to search{did_you_mean(name, known)}")
    for start, reason in NOT_SEARCHED.items():
        if name.startswith(start):
            raise BadRequest(f"{name} cannot be searched: {reason}")
    if isinstance(value, list | tuple):
        return _choices(name, value)
    if isinstance(value, Mapping):
        return _range(name, value, known[name].get("type"))
    raise BadRequest(f"{name} is {value!r}; expected a list of values or a range {{ low = …, high = … }}")


def _choices(name: str, values: Sequence[Any]) -> Choices:
    if not values:
        raise BadRequest(f"{name} is an empty list; expected the values to try")
    for i, value in enumerate(values):
        if value in values[:i]:
            raise BadRequest(f"{name} has {value!r} twice")
    return Choices(tuple(values))


def _range(name: str, value: Mapping[str, Any], type: object) -> Range:
    """A range of integers for a setting of that type, else of numbers."""
    whole = type == "integer"
    if type not in ("integer", "number"):
        raise BadRequest(f"{name} is not a number; expected a list of values")
    extra = set(value) - {"low", "high", "log", "step"}
    if extra or not {"low", "high"} <= set(value):
        raise BadRequest(f"{name} is {dict(value)!r}; expected {{ low = …, high = … }}, and log = true or step = …")
    log, numbers = value.get("log", False), {key: value[key] for key in ("low", "high", "step") if key in value}
    for key, number in numbers.items():
        if isinstance(number, bool) or not isinstance(number, int if whole else int | float):
            raise BadRequest(f"{name} has {key} = {number!r}; expected {'a whole number' if whole else 'a number'}")
    if not isinstance(log, bool):
        raise BadRequest(f"{name} has log = {log!r}; expected true or false")
    if not (math.isfinite(value["low"]) and math.isfinite(value["high"]) and value["low"] < value["high"]):
        raise BadRequest(f"{name} goes from {value['low']} to {value['high']}; expected low below high")
    if log and value["low"] <= 0:
        raise BadRequest(f"{name} has low = {value['low']} and log = true; expected low above 0")
    if "step" in value and (log or not 0 < value["step"] <= value["high"] - value["low"]):
        raise BadRequest(f"{name} has step = {value['step']}; expected one above 0 that fits, without log = true")
    return Range(**{key: number if whole else float(number) for key, number in numbers.items()}, log=log, whole=whole)


def _check_values(space: Space, config_of: Callable[[Point], Config]) -> None:
    """Refuses a value that is not valid, neither in the recipe as it is nor beside values of other settings."""
    for name, axis in space.axes.items():
        others = {other: found.ends for other, found in space.axes.items() if other != name}
        for value in axis.ends:
            error = problem(config_of, {name: value})
            combinations = ({name: value, **point} for point in map(dict, _product(others)))
            if error and all(problem(config_of, point) for point in islice(combinations, CHECKED)):
                raise BadRequest(error)


def _product(axes: Mapping[str, Sequence[object]]) -> Iterator[list[tuple[str, object]]]:
    for values in product(*axes.values()):
        yield list(zip(axes, values, strict=True))


def problem(config_of: Callable[[Point], Config], point: Point) -> str:
    """What is wrong with a point; nothing where its values go together."""
    try:
        config_of(point)
    except (BadRequest, NotFound) as error:
        return str(error)
    return ""
