"""`knowwhen serve` as a process: it says where it is, stops when told, and says why it cannot start."""

import json
import os
import signal
import socket
import subprocess
import sys
import urllib.request
from contextlib import contextmanager

import pytest

import knowwhen as kw
from knowwhen.cli.serve import find_runs
from knowwhen.errors import BadRequest, RunError
from knowwhen.serve.server import bind
from knowwhen.serve.service import Service, UnknownRun
from tests.waiting import PATIENCE

COMMAND = [sys.executable, "-m", "knowwhen", "serve"]


@contextmanager
def process(*arguments):
    """A server of its own, and what it printed when it began."""
    served = subprocess.Popen(
        [*COMMAND, *map(str, arguments), "--port", "0", "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "KNOWWHEN_KEY": ""},
    )
    try:
        yield served, json.loads(served.stdout.readline())
    finally:
        served.kill()
        served.communicate()


def get(url, **options):
    with urllib.request.urlopen(url, timeout=PATIENCE) as answer:
        return json.load(answer)


def test_it_serves_two_runs_answers_what_is_under_way_and_stops(run, model, tmp_path):
    model.save(tmp_path / "saved")
    with process(run, tmp_path / "saved") as (served, began):
        assert began["runs"] == ["offices", "saved"]
        url = began["url"]
        found = [get(f"{url}api/ask?subject=office+0&predicate=held+by&time=2000&run={name}") for name in began["runs"]]
        assert found[0] == found[1]
        port = url.rstrip("/").rpartition(":")[2]
        with pytest.raises(RunError, match=f"port {port} of 127.0.0.1 is in use; choose"):
            bind("127.0.0.1", int(port))
        asked = json.dumps({"questions": [{"subject": "office 0", "predicate": "held by", "object": "?"}]}).encode()
        with socket.create_connection(("127.0.0.1", int(port)), timeout=PATIENCE) as asking:
            asking.sendall(
                b"POST /api/ask HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nConnection: close\r\n"
                b"Expect: 100-continue\r\nContent-Length: %d\r\n\r\n" % len(asked)
            )
            assert b" 100 " in asking.recv(1000)  # it waits for the question: this request is under way
            served.send_signal(signal.SIGTERM)
            asking.sendall(asked)
            with asking.makefile("rb") as answer:
                assert b" 200 " in answer.readline() and b"person 0 " in answer.read()
        assert served.wait(PATIENCE) == 0
        assert served.stderr.read() == ""


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["--host", "0.0.0.0"], "other machines can reach 0.0.0.0; set a key with --key-file FILE or $KNOWWHEN_KEY"),
        (["--set", "max_tpo=3"], "did you mean 'max_top'?"),
        (["--host", "no.such.host.invalid"], "other machines can reach"),
    ],
)
def test_why_it_cannot_start_is_one_line(knowwhen_in_process, run, arguments, text):
    code, error = knowwhen_in_process("serve", run, *arguments)
    assert code == 1 and text in error and error.count("\n") == 1


@pytest.fixture
def knowwhen_in_process(monkeypatch, capsys):
    from knowwhen.cli.main import run as run_command

    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["knowwhen", *map(str, arguments)])
        monkeypatch.delenv("KNOWWHEN_KEY", raising=False)
        code = run_command(sys.argv[1:])
        return code, capsys.readouterr().err

    return call


def test_a_folder_of_runs_stands_for_all_of_them(run, tmp_path):
    assert find_runs([run.parent]) == {"offices": run}
    assert find_runs([run]) == {"offices": run}
    (tmp_path / "offices").mkdir()
    with pytest.raises(BadRequest, match="have the same name 'offices'"):
        find_runs([run, tmp_path / "offices"])


def test_runs_are_told_apart_by_name(model, world):
    service = Service({"first": model, "second": model})
    assert service.run().name == "first" and service.run("second").name == "second"
    with pytest.raises(UnknownRun, match=r"no run 'secnd'; expected .*; did you mean 'second'"):
        service.run("secnd")
    with pytest.raises(BadRequest, match="no run to serve"):
        Service({})


def test_a_model_without_a_time_head_says_so(run, serving):
    plain = kw.open(run)
    object.__setattr__(plain, "times", None)
    with serving(Service({"offices": plain})) as client:
        status, found = client.get("/api/when", subject="office 0", predicate="held by", object="person 0 1")
        assert status == 400 and "no time head" in found["detail"]
