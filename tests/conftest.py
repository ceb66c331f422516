"""What all tests share: hypothesis without deadlines, and the real datasets where they are at hand."""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before torch: the tests run side by side, one core each

from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile("knowwhen", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("knowwhen")

REAL_DATA = Path(os.environ.get("KNOWWHEN_DATA") or Path(__file__).parents[2] / "shared" / "data")


@pytest.fixture
def real_data():
    """A function from a benchmark's name to its folder; the test is skipped where the data is absent."""

    def folder(name: str) -> Path:
        if not (REAL_DATA / name).is_dir():
            pytest.skip(f"no {name} in {REAL_DATA}; set KNOWWHEN_DATA")
        return REAL_DATA / name

    return folder


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    """Downloads and look-ups by name never touch the user's cache."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("KNOWWHEN_DATA", raising=False)
