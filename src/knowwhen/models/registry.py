"""Models and evidence terms by name: those of the package, and anyone's own."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Mapping
from importlib.metadata import entry_points
from types import MappingProxyType
from typing import Any, TypeVar

from knowwhen.errors import BadRequest, UnknownModel, closest, did_you_mean

ENTRY_POINTS = "knowwhen.models"
Registered = TypeVar("Registered", bound=type[Any])

_models: dict[str, type[Any]] = {}
_terms: dict[str, type[Any]] = {}

MODELS: Mapping[str, type[Any]] = MappingProxyType(_models)
"""Decompositions by name."""
EVIDENCE: Mapping[str, type[Any]] = MappingProxyType(_terms)
"""Evidence terms by name."""


def register(model: Registered) -> Registered:
    """Register a `Decomposition` under its `name`. Use it as a decorator, or call it with the class."""
    return _register(_models, model, "score")


def register_evidence(term: Registered) -> Registered:
    """The same for an `EvidenceTerm`."""
    return _register(_terms, term, "objects")


def _register(known: dict[str, type[Any]], one: Registered, method: str) -> Registered:
    name = getattr(one, "name", None)
    if not isinstance(name, str) or not callable(getattr(one, method, None)):
        raise BadRequest(f"{one.__name__} cannot be registered: it needs a name and a method {method!r}")
    if name in known and origin(known[name]) != origin(one):
        raise BadRequest(f"the name {name!r} is already used by {origin(known[name])}; rename {origin(one)}")
    known[name] = one
    return one


def origin(one: type[Any]) -> str:
    """Where a class comes from, as `--set model.name=` takes it: 'my_module:MyModel'."""
    return f"{one.__module__}:{one.__qualname__}"


def code_of(model: type[Any]) -> str:
    """Where to find a class that is not of this package again, else nothing."""
    return "" if model.__module__.startswith("knowwhen.") else origin(model)


def is_known(name: str) -> bool:
    """Whether a model of that name is registered, or offered by an installed package."""
    return name in _models or _entry_point(name) is not None


def model_named(name: str, *, allow_import: bool = False) -> type[Any]:
    """The model of a name, or of 'my_module:MyModel', which is imported only where the caller allows it.

    Naming a class on the command line or in `train` allows it; a stranger's folder never does.
    """
    if name in _models:
        return _models[name]
    found = _entry_point(name)
    if found is not None:
        return found
    if ":" not in name:
        message = f"no model {name!r}; expected {', '.join(_models)}{did_you_mean(name, _models)}"
        raise UnknownModel(message, closest(name, _models), name=name)
    for model in _models.values():
        if origin(model) == name:
            return model
    if not allow_import:
        module, _, cls = name.partition(":")
        raise UnknownModel(
            f"the model {cls} comes from the module {module!r}, which knowwhen does not import on its own. If you "
            f"trust it, use --allow-code, knowwhen.open(…, allow_code=True) or knowwhen.register({cls})"
        )
    return register(_imported(name))


def _entry_point(name: str) -> type[Any] | None:
    """A model that an installed package offers; what the user installed, the user trusts."""
    for point in entry_points(group=ENTRY_POINTS):
        if name in (point.name, point.value):
            found: type[Any] = point.load()
            return register(found)
    return None


def _imported(name: str) -> type[Any]:
    module, _, cls = name.partition(":")
    if "" not in sys.path:
        sys.path.insert(0, "")  # the user's own folder, as `python` has it and a console script does not
    try:
        found = getattr(importlib.import_module(module), cls)
    except ImportError as error:
        raise UnknownModel(f"cannot import {module!r} for the model {name!r}: {error}") from error
    except AttributeError:
        raise UnknownModel(f"the module {module!r} has no class {cls!r}") from None
    if not isinstance(found, type):
        raise UnknownModel(f"{name!r} is not a class")
    return found
