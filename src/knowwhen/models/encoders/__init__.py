"""Encoders: models whose entity rows are computed from the training graph. Importing this package registers them."""

from knowwhen.models.encoders import rgcn

__all__ = ["rgcn"]
