"""Models: decompositions, encoders, evidence and corrections, and how they are joined to one."""

from knowwhen.models import decompositions, encoders, evidence
from knowwhen.models.base import Decomposition, Factor, Options, RankOptions
from knowwhen.models.build import Specification, build
from knowwhen.models.composition import TemporalModel
from knowwhen.models.registry import EVIDENCE, MODELS, model_named, register, register_evidence
from knowwhen.models.scores import Distance, KeyedDistance, Product, Scores, TimedProduct
from knowwhen.models.sizes import Background, Sizes
from knowwhen.models.tables import Axis, Table, complex_rows, real_rows

__all__ = [
    "Axis",
    "Background",
    "Decomposition",
    "Distance",
    "EVIDENCE",
    "Factor",
    "KeyedDistance",
    "MODELS",
    "Options",
    "Product",
    "RankOptions",
    "Scores",
    "Sizes",
    "Specification",
    "Table",
    "TemporalModel",
    "TimedProduct",
    "build",
    "complex_rows",
    "decompositions",
    "encoders",
    "evidence",
    "model_named",
    "real_rows",
    "register",
    "register_evidence",
]
