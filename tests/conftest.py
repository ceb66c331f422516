"""What all tests share: the same random numbers each time, and the real datasets where they are at hand."""

from __future__ import annotations

import fcntl
import json
import os

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before torch: the tests run side by side, one core each

from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import torch
from hypothesis import HealthCheck, settings

from knowwhen import dating
from knowwhen.facts.dataset import Dataset
from knowwhen.facts.dates import Granularity
from knowwhen.facts.table import OPEN, Facts
from knowwhen.facts.timeline import Timeline
from knowwhen.facts.vocabulary import Vocabulary
from knowwhen.models import Background, Sizes, Specification, build
from tests.processes import Forks

# The same examples each time: a release must not fail by chance. `pytest --hypothesis-profile search` looks for others.
ALWAYS = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("search", ALWAYS)
settings.register_profile("knowwhen", ALWAYS, derandomize=True)
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


@pytest.fixture(autouse=True)
def own_seed():
    """A test draws the same numbers whichever tests came before it."""
    torch.manual_seed(0)


@pytest.fixture(scope="session")
def forks():
    """One process that is forked for all tests of a worker: see tests/processes.py."""
    with Forks() as found:
        yield found


@pytest.fixture(scope="session")
def once(tmp_path_factory, worker_id):
    """A function to a folder that the first worker to need it makes for all of them."""
    base = tmp_path_factory.getbasetemp()
    shared = base if worker_id == "master" else base.parent

    def folder(name: str, make: Callable[[Path], None]) -> Path:
        with (shared / f"{name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not (shared / f"{name}.made").exists():
                make(shared / name)
                (shared / f"{name}.made").touch()
        return shared / name

    return folder


@pytest.fixture(scope="session")
def demo(forks, once):
    """A folder in which `knowwhen demo --json` was run, in runs/demo, and what that printed."""

    def make(folder):
        folder.mkdir()
        done = forks.run("demo", "--json", cwd=folder)
        assert done.code == 0, done.err
        (folder / "printed.json").write_text(done.out, encoding="utf-8")

    folder = once("demo", make)
    return folder, json.loads((folder / "printed.json").read_text(encoding="utf-8"))


@pytest.fixture
def quick_time_head(monkeypatch):
    """Training learns a time head in a few steps, for tests that are not about how good it is."""
    monkeypatch.setattr(dating.learning, "LEAST_STEPS", 1)
    return {"dating.passes": 1}


# A small world with facts of all kinds, and models of it with random scores.
ENTITIES = ["Ada", "Bob", "Cy", "Dora", "Eve", "Finn", "Gus"]
PREDICATES = ["knows", "leads", "likes"]
YEARS = [2000, 2001, 2002, 2003, 2004, 2006]
TRAIN = [
    (0, 1, 1, 0, 2),
    (0, 1, 2, 3, OPEN),
    (0, 1, 1, 5, 5),
    (0, 0, 3, OPEN, OPEN),
    (4, 1, 1, 1, 1),
    (5, 2, 6, OPEN, 3),
]
VALID = [(0, 2, 1, 2, 3), (6, 1, 2, 4, 4), (0, 0, 5, OPEN, OPEN)]
TEST = [(3, 2, 0, 0, 5)]


class World:
    @staticmethod
    def dataset(train=TRAIN, valid=VALID, years=YEARS) -> Dataset:
        labels = pl.DataFrame({"key": ["Ada", "Gus"], "label": ["Ada Lovelace", "Gus"]})
        facts = [Facts(*np.array(rows, np.int64).reshape(-1, 5).T.copy()) for rows in (train, valid, TEST)]
        return Dataset(
            "small",
            Vocabulary.of("entity", pl.Series(ENTITIES), labels=labels),
            Vocabulary.of("predicate", pl.Series(PREDICATES)),
            Timeline(Granularity.YEAR, np.array(years, np.int64)),
            *facts,
        )

    @staticmethod
    def model(name="tntcomplex", undated_row=False, seed=0, rank=3, evidence=(), corrected=False):
        sizes = Sizes(len(ENTITIES), len(PREDICATES), len(YEARS), undated_row)
        spec = Specification(name, sizes, {"rank": rank}, dict(evidence), corrected)
        model = build(spec).initialise(torch.Generator().manual_seed(seed)).recall(Background.of(World.dataset()))
        with torch.no_grad():
            for table in model.parameters():
                table.mul_(100)  # scores far enough apart that probabilities differ
        return model.double().eval()

    @staticmethod
    def naive(model, s, p, o, t) -> np.ndarray:
        """X at all combinations of the given ids; None means all of that mode, without inverse predicates."""
        sizes = model.sizes
        ranges = zip((s, p, o, t), (sizes.entities, sizes.predicates, sizes.entities, sizes.timestamps), strict=True)
        grids = torch.meshgrid(*(torch.arange(n) if i is None else torch.tensor([i]) for i, n in ranges), indexing="ij")
        with torch.no_grad():
            scores = model.score(*(grid.flatten() for grid in grids))
        return scores.reshape(grids[0].shape).squeeze().numpy()


@pytest.fixture(scope="session")
def world():
    return World
