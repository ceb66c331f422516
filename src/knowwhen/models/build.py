"""One specification, which JSON can hold, and one way to make a model of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import torch

from knowwhen.distributed.shard import current, splitting
from knowwhen.errors import BadRequest, did_you_mean
from knowwhen.models.composition import TemporalModel
from knowwhen.models.evidence.base import LeaveOut
from knowwhen.models.registry import EVIDENCE, code_of, is_known, model_named
from knowwhen.models.sizes import Sizes
from knowwhen.models.splitting import is_split
from knowwhen.models.tables import Axis, tables_of


@dataclass(frozen=True)
class Specification:
    """All that fixes the shape of a model; its parameters fill it."""

    model: str  # the name of a decomposition
    sizes: Sizes
    options: Mapping[str, Any] = field(default_factory=dict)
    evidence: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # options by term
    corrected: bool = False
    apart: bool = False  # decomposition and evidence are learned apart
    leave_out: LeaveOut = "holding"
    code: str = ""  # 'module:Class' of a model that is not of the package

    @classmethod
    def of(cls, model: TemporalModel) -> Specification:
        return cls(
            model.name,
            model.sizes,
            model.decomposition.options.model_dump(mode="json"),
            {term.name: term.options.model_dump(mode="json") for term in model.terms},
            model.correction is not None,
            model.apart,
            model.leave_out,
            code_of(type(model.decomposition)),
        )

    def to_dict(self) -> dict[str, Any]:
        """Everything as JSON types."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Specification:
        return cls(**{**values, "sizes": Sizes(**values["sizes"])})

    def resized(self, sizes: Sizes) -> Specification:
        return replace(self, sizes=sizes)


def build(spec: Specification, *, allow_import: bool = False) -> TemporalModel:
    """A model without values: to be initialised, or filled from a file.

    Code of others is run only where the caller allows it: `allow_import`, or the class is registered already, or an
    installed package offers it.
    """
    by_name = not spec.code or is_known(spec.model)
    model = model_named(spec.model if by_name else spec.code, allow_import=allow_import)
    options = model.Options(**spec.options)
    if current() is not None:
        check_splits(model, spec.sizes, options)
    decomposition = model(spec.sizes, options)
    evidence = {}
    for name, options in spec.evidence.items():
        term = term_named(name)
        rows = decomposition.entity_rows()
        evidence[name] = term(spec.sizes, rows.shape[1], decomposition.has_complex_rows, term.Options(**options))
    return TemporalModel(decomposition, evidence, spec.corrected, apart=spec.apart, leave_out=spec.leave_out)


def check_splits(model: type[Any], sizes: Sizes, options: Any) -> None:
    """An error where several processes cannot share the scores of a decomposition."""
    with splitting(None):
        small = model(replace(sizes, entities=2), options).eval()
    tables = [table.weight for table in tables_of(small).values() if table.axis is Axis.ENTITY]
    one = torch.zeros(1, dtype=torch.int64, device=tables[0].device if tables else None)
    try:
        splits = is_split(small.objects(one, one, one), tables)
    except (RuntimeError, IndexError):  # a model that needs facts
        splits = False
    if not splits:
        raise BadRequest(
            f"{model.name} cannot be split over processes: its scores are not a product or distance with a table of "
            "entities; use one process, or choose another model"
        )


def term_named(name: str) -> type[Any]:
    if name not in EVIDENCE:
        raise BadRequest(f"no evidence term {name!r}; expected {', '.join(EVIDENCE)}{did_you_mean(name, EVIDENCE)}")
    return EVIDENCE[name]
