"""Decompositions: a new one is a TemporalModel in a file of its own, put into MODELS; one contract tests them all."""

from __future__ import annotations

from knowwhen.errors import BadRequest, did_you_mean
from knowwhen.models.base import Factor, TemporalModel
from knowwhen.models.complex import ComplEx
from knowwhen.models.cp import CP, DistMult
from knowwhen.models.evidence import EVIDENCE, EvidenceSettings
from knowwhen.models.sizes import Sizes
from knowwhen.models.tcomplex import TComplEx
from knowwhen.models.tntcomplex import TNTComplEx
from knowwhen.models.unioncomplex import TimePlEx, UnionComplEx

__all__ = [
    "CP",
    "ComplEx",
    "DistMult",
    "EVIDENCE",
    "EvidenceSettings",
    "Factor",
    "MODELS",
    "Sizes",
    "TComplEx",
    "TNTComplEx",
    "TemporalModel",
    "TimePlEx",
    "UnionComplEx",
    "model_named",
]

MODELS: dict[str, type[TemporalModel]] = {
    m.name: m for m in (ComplEx, TComplEx, TNTComplEx, UnionComplEx, TimePlEx, CP, DistMult)
}


def model_named(name: str) -> type[TemporalModel]:
    if name not in MODELS:
        raise BadRequest(f"no model {name!r}; there are {', '.join(MODELS)}{did_you_mean(name, MODELS)}")
    return MODELS[name]
