"""Decompositions, one a file: importing this package registers them."""

from knowwhen.models.decompositions import (
    complex,
    cp,
    desimple,
    tcomplex,
    tntcomplex,
    transe,
    tucker,
    unioncomplex,
)

__all__ = ["complex", "cp", "desimple", "tcomplex", "tntcomplex", "transe", "tucker", "unioncomplex"]
