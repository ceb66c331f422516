"""A small trained model behind a real server on loopback, and a client that speaks plain HTTP to it."""

from __future__ import annotations

import http.client
import json
import threading
import time
from contextlib import contextmanager
from urllib.parse import quote, urlencode

import numpy as np
import polars as pl
import pytest

import knowwhen as kw
from knowwhen.serve.app import create_app
from knowwhen.serve.server import Server, bind, configured
from knowwhen.serve.service import Service
from knowwhen.serve.settings import ServeSettings

NASTY = ["<script>alert(1)</script>", "\u202egnp.exe", "a/b?c#d%2e", "tab\there", "Ævar's “café”"]


def planted_facts() -> pl.DataFrame:
    """Terms of four years in twelve offices, one after the other; some without an end; offices in towns, for ever."""
    rng, rows = np.random.default_rng(0), []
    for office in range(12):
        first = 1990 + int(rng.integers(0, 6))
        for k in range(5):
            end = None if (office, k) == (3, 2) else str(first + 4 * k + 4)
            rows.append((f"office {office}", "held by", f"person {office} {k}", str(first + 4 * k), end))
        rows.append((f"office {office}", "in", "Old Town", None, None))
    rows += [("office 0", "in", name, None, None) for name in NASTY]
    rows.append(("office 0", "held by", "person 9 9", None, None))
    return pl.DataFrame(rows, schema=["subject", "predicate", "object", "begin", "end"], orient="row")


@pytest.fixture(scope="session")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("serve")
    planted_facts().write_ndjson(folder / "facts.jsonl")
    data = kw.load(folder / "facts.jsonl", fractions=(0.1, 0.1))
    evidence = {"model.evidence": ["pair_history"]}
    kw.train(
        data, run=folder / "offices", overrides={"dating.passes": 4, "training.epochs": 30, "model.rank": 8, **evidence}
    )
    return folder / "offices"


@pytest.fixture(scope="session")
def model(run):
    return kw.open(run)


class Client:
    """Plain HTTP, one connection a request."""

    def __init__(self, host: str, port: int) -> None:
        self.host, self.port = host, port

    def send(self, method, path, body=None, headers=None):
        connection = http.client.HTTPConnection(self.host, self.port, timeout=120)
        try:
            connection.request(method, path, body, headers or {})
            response = connection.getresponse()
            return response.status, response.headers, response.read()
        finally:
            connection.close()

    def get(self, path, headers=None, **parameters):
        """Status and JSON; lists are given several times."""
        query = urlencode(parameters, doseq=True)
        status, _, body = self.send("GET", quote(path) + (f"?{query}" if query else ""), headers=headers)
        return status, json.loads(body)

    def post(self, path, values, headers=None):
        body = json.dumps(values).encode()
        status, _, found = self.send("POST", path, body, {"Content-Type": "application/json", **(headers or {})})
        return status, json.loads(found)


@contextmanager
def running(service, **options):
    """A server in a thread of this process, and a client for it."""
    listening = bind("127.0.0.1", 0)
    server = Server(configured(create_app(service, **options), service.settings))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    while not server.started:
        assert thread.is_alive()
        time.sleep(0.01)
    try:
        yield Client(*listening.getsockname())
    finally:
        server.should_exit = True
        thread.join(120)
        assert not thread.is_alive()


@pytest.fixture(scope="session")
def serving():
    return running


@pytest.fixture(scope="module")
def service(model):
    return Service({"offices": model}, ServeSettings(max_top=50, max_batch=20, max_span=30))


@pytest.fixture(scope="module")
def client(service):
    with running(service) as client:
        yield client


@pytest.fixture(scope="session")
def nasty():
    return NASTY
