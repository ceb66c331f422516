"""A Ray cluster of two nodes on this machine: the same bytes and numbers as without, also when a process is killed.

It takes a minute to start and stop, so it runs where KNOWWHEN_RAY is set: `make cluster`.
"""

import os
import signal
import sys
import threading
import time
from pathlib import Path

import pytest

import knowwhen as kw
from benchmarks.dumps import write_dump
from knowwhen.cli.on_ray import train_for_ray, train_on_ray
from knowwhen.cli.workers import parse_engine
from knowwhen.cluster import connected
from knowwhen.errors import BadRequest, MissingExtra
from knowwhen.wikidata.making import make
from knowwhen.wikidata.on_ray import extract_on_ray
from knowwhen.wikidata.settings import ExtractionSettings, SelectionSettings

needs_ray = pytest.mark.skipif(not os.environ.get("KNOWWHEN_RAY"), reason="takes a minute; KNOWWHEN_RAY=1 runs it")
SMALL = ExtractionSettings(window_megabytes=1)
SETTINGS = {"model.rank": 4, "training.epochs": 6, "training.batch_size": 500, "validation.every": 0}


class Silent:
    def bytes(self, done, total):
        pass

    def say(self, text):
        print(text)


@pytest.fixture(scope="module")
def cluster():
    from ray.cluster_utils import Cluster

    started = Cluster(initialize_head=True, head_node_args={"num_cpus": 2, "include_dashboard": False})
    started.add_node(num_cpus=1)
    yield started.address
    started.shutdown()


def content(folder):
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


@needs_ray
@pytest.mark.filterwarnings("ignore")
def test_an_extraction_on_ray_gives_the_same_bytes(cluster, tmp_path, capsys):
    dump = tmp_path / "dump.json"
    write_dump(dump, 4)
    selection = SelectionSettings(min_degree=0, min_predicate=0)
    for place, options in (("here", {}), ("ray", {"engine": "ray", "address": cluster})):
        (tmp_path / place).mkdir()
        make(dump, tmp_path / place / "data", SMALL, selection, Silent(), **options)
    assert content(tmp_path / "ray" / "data") == content(tmp_path / "here" / "data")
    assert "parts on a Ray cluster of 2 nodes" in capsys.readouterr().out
    assert not (tmp_path / "ray" / "data.parts").exists()


def train_and_note(pids: Path, **options):
    (pids / f"{os.environ['RANK']}-{time.time_ns()}").write_text(str(os.getpid()))
    return train_for_ray(**options)


@needs_ray
@pytest.mark.filterwarnings("ignore")
def test_a_run_on_ray_survives_the_loss_of_a_process(cluster, tmp_path):
    from knowwhen.distributed.on_ray import run_on_ray

    pids, run = tmp_path / "pids", tmp_path / "run"
    pids.mkdir()

    def kill():
        while not (run / "metrics.jsonl").exists():
            time.sleep(0.05)
        (second,) = pids.glob("1-*")
        os.kill(int(second.read_text()), signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    options = {"data": "leaders", "run": run, "overrides": SETTINGS}
    about = run_on_ray(train_and_note, 2, 2, cluster, pids=pids, **options)
    killer.join()
    assert len(list(pids.glob("1-*"))) == 2  # it was started again
    alone = kw.train("leaders", run=tmp_path / "alone", overrides=SETTINGS)
    found = kw.open(run)
    assert about["epochs"] == 6
    assert [one["loss"] for one in found.records] == pytest.approx([one["loss"] for one in alone.records], rel=1e-4)
    assert found.evaluate().mrr == pytest.approx(alone.evaluate().mrr, abs=5e-4)


@needs_ray
@pytest.mark.filterwarnings("ignore")
def test_an_error_of_the_user_is_no_loss(cluster, tmp_path):
    from knowwhen.distributed.on_ray import run_on_ray

    options = {"data": "leaders", "run": tmp_path / "run", "overrides": {"model.name": "desimple"}}
    with pytest.raises(BadRequest, match="process 0: desimple cannot be split over processes"):
        run_on_ray(train_for_ray, 2, 2, cluster, **options)
    with pytest.raises(BadRequest, match="--workers is 9, and the Ray cluster has 3 CPUs"):
        run_on_ray(train_for_ray, 9, 2, cluster, **options)


def test_standard_input_is_not_for_a_cluster(tmp_path):
    with pytest.raises(BadRequest, match="name a file that all machines can read"):
        train_on_ray(tmp_path / "run", False, 2, None, {"data": "-", "recipe": None})  # noqa: FBT003
    with pytest.raises(BadRequest, match="name a file that all machines can read"):
        extract_on_ray("-", tmp_path, SMALL, None, print)


def test_without_ray_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingExtra, match=r"pip install 'knowwhen\[ray\]'"), connected(None):
        pass


def test_an_engine_is_one_of_two():
    assert parse_engine("ray", "host:6379") == "ray"
    with pytest.raises(BadRequest, match="--engine is 'spark'; expected processes or ray"):
        parse_engine("spark", None)
    with pytest.raises(BadRequest, match="--address needs --engine ray"):
        parse_engine("processes", "host:6379")
