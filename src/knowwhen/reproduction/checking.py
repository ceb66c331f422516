"""Whether a stored result is what would be measured today: its numbers, and its settings beside the recipe's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from knowwhen.errors import BadRequest, NotFound
from knowwhen.reproduction.experiments import Experiment, Setting
from knowwhen.reproduction.numbers import NUMBERS, older
from knowwhen.reproduction.results import Result
from knowwhen.training.config import NOT_OF_THE_RESULT, read_config
from knowwhen.tuning.space import Point, point_of


def asked_settings(experiment: Experiment) -> Point:
    """All settings that an experiment is measured with; of counting, its point."""
    return point_of(read_config(experiment.recipe, experiment.overrides)) if experiment.recipe else experiment.point


def flaw_of(result: Result, experiment: Experiment | None = None) -> str:
    """Why a result is not what would be measured today, by its own recipe or as an experiment; '' where it is.

    That its validation is older is no flaw: see `Result.is_provisional`.
    """
    aged = [f"{area} {n}, now {NUMBERS[area]}" for area, n in older(result.numbers).items() if area != "validation"]
    if aged:
        return f"the computation has changed since ({'; '.join(aged)})"
    try:
        ours = asked_settings(experiment) if experiment else _own_settings(result)
        changed = changed_settings(result, ours)
    except (BadRequest, NotFound) as error:
        return f"its recipe no longer exists ({error})"
    if experiment and _directions(result, experiment) != experiment.directions:
        changed.append("directions")
    return f"other settings ({', '.join(changed)})" if changed else ""


def changed_settings(result: Result, ours: Point) -> list[str]:
    """The settings that are not those of a result, without those that it does not depend on."""
    theirs = {**_defaults(ours), **result.settings} if result.settings.get("recipe") else result.point
    return [name for name in differing(theirs, ours) if matters(name, ours, result.numbers)]


def differing(theirs: Mapping[str, Any], ours: Mapping[str, Any]) -> list[str]:
    """The settings of ours that have another value among theirs."""
    return sorted(n for n in ours if n not in NOT_OF_THE_RESULT and (n not in theirs or theirs[n] != ours[n]))


def matters(name: str, settings: Point, numbers: Mapping[str, int]) -> bool:
    """Whether a setting has a part in a result with such numbers: not that of a term or head that it does not have."""
    section, _, rest = name.partition(".")
    term, is_of_term, _ = rest.partition(".")
    if section == "evidence":
        return "evidence" in numbers and (not is_of_term or term in settings[Setting.EVIDENCE])
    return section != "dating" or "dating" in numbers


def _own_settings(result: Result) -> Point:
    recipe = result.settings.get("recipe")
    return point_of(read_config(recipe, {**result.point, Setting.SEED: result.seed})) if recipe else result.point


def _defaults(settings: Point) -> Point:
    """What settings are that did not exist when a result was measured: new ones do nothing by default."""
    return point_of(read_config(None, {Setting.MODEL: settings[Setting.MODEL]}))


def _directions(result: Result, experiment: Experiment) -> str:
    protocol: Mapping[str, Any] = result.test.get("protocol") or {}
    return str(protocol.get("directions", experiment.directions))
