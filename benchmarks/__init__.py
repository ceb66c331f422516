"""Measured comparisons, not tests: each module prints one JSON object; `make bench` runs them all."""
