"""What is let through: keys, hosts, origins, sizes, rates and times, over real HTTP."""

import socket
import threading
from contextlib import contextmanager

import pytest

from knowwhen.cli.serve import read_key
from knowwhen.errors import BadRequest
from knowwhen.serve.guard import CLIENTS, Buckets, Rules
from knowwhen.serve.server import make_rules
from knowwhen.serve.service import Service
from knowwhen.serve.settings import ServeSettings, read_settings
from tests.waiting import PATIENCE, until

KEY = "a key of some length"
QUESTION = {"subject": "office 0", "predicate": "held by", "time": "2000"}


def bearer(key):
    return {"Authorization": f"Bearer {key}"}


def test_with_a_key_the_api_needs_it_and_the_page_does_not(service, serving):
    with serving(service, rules=Rules(key=KEY)) as client:
        for headers in (None, bearer("a guess of some len."), bearer(KEY + "x"), bearer(""), {"Authorization": KEY}):
            status, found = client.get("/api/ask", headers, **QUESTION)
            assert (status, found["error"]) == (401, "NoKey")
            assert client.send("GET", "/metrics", headers=headers)[0] == 401
        assert client.get("/api/ask", bearer(KEY), **QUESTION)[0] == 200
        assert client.send("GET", "/metrics", headers=bearer(KEY))[0] == 200
        assert client.send("GET", "/")[0] == client.send("GET", "/healthz")[0] == 200
        assert client.send("GET", "/api/info")[1]["WWW-Authenticate"] == "Bearer"


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("localhost:1", 200),
        ("127.0.0.1", 200),
        ("[::1]:80", 200),
        ("Known.Example:80", 200),
        ("rebound.example", 421),
        ("127.0.0.1.evil.example", 421),
        ("", 421),
    ],
)
def test_only_names_it_was_given_reach_it(service, serving, host, status):
    with serving(service, rules=Rules(hosts=("known.example",))) as client:
        assert client.send("GET", "/api/names", headers={"Host": host})[0] == status


def test_pages_of_other_sites_may_ask_only_where_named(service, serving, client):
    foreign, own = {"Origin": "https://elsewhere.example"}, {"Origin": f"http://{client.host}:{client.port}"}
    status, found = client.post("/api/ask", {"questions": [QUESTION]}, foreign)
    assert (status, found["error"]) == (403, "ForeignOrigin")
    assert client.post("/api/ask", {"questions": [QUESTION]}, own)[0] == 200
    assert "Access-Control-Allow-Origin" not in client.send("GET", "/api/info", headers=foreign)[1]
    with serving(service, rules=Rules(key=KEY, origins=("https://elsewhere.example",))) as named:
        headers = named.send("GET", "/api/names", headers={**foreign, **bearer(KEY)})[1]
        assert headers["Access-Control-Allow-Origin"] == "https://elsewhere.example"
        asked = {**foreign, "Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization"}
        assert named.send("OPTIONS", "/api/ask", headers=asked)[0] == 200
        assert named.post("/api/ask", {"questions": [QUESTION]}, {**foreign, **bearer(KEY)})[0] == 200


def test_what_is_no_json_is_not_read(client):
    for kind in ("text/plain", "application/x-www-form-urlencoded", ""):
        body = b'{"questions": [{"subject": "office 0", "predicate": "held by"}]}'
        assert client.send("POST", "/api/ask", body, {"Content-Type": kind})[0] == 422


def test_bodies_have_a_limit_also_where_they_do_not_say_how_long_they_are(model, serving):
    with serving(Service({"offices": model}, ServeSettings(max_body=1000))) as client:
        status, found = client.post("/api/ask", {"questions": [QUESTION] * 50})
        assert (status, found["error"]) == (413, "TooLarge")
        chunks = (b" " * 200 for _ in range(20))
        assert client.send("POST", "/api/ask", chunks, {"Content-Type": "application/json"})[0] == 413
        assert client.post("/api/ask", {"questions": [QUESTION]})[0] == 200


def test_a_bucket_has_a_burst_and_fills_with_time():
    now = [0.0]
    buckets = Buckets(rate=2.0, burst=3, now=lambda: now[0])
    assert [buckets.take("a") for _ in range(4)] == [0, 0, 0, 0.5]
    assert buckets.take("b") == 0
    now[0] = 0.5
    assert [buckets.take("a") for _ in range(2)] == [0, 0.5]
    now[0] = 100.0
    assert [buckets.take("a", 10), buckets.take("a")] == [0, 4.0]  # more than it holds: in debt for 7 tokens, 8 to one
    for i in range(CLIENTS + 5):
        buckets.take(str(i))
    assert len(buckets._left) == CLIENTS


def test_a_client_that_asks_too_much_is_told_when_to_come_back(model, serving):
    settings = ServeSettings(burst=5)
    with serving(Service({"offices": model}, settings), rules=Rules(rate=0.01, settings=settings)) as client:
        assert [client.get("/healthz")[0] for _ in range(2)] == [200, 200]
        # Three tokens are left; a batch takes one for each question.
        status, headers, _ = client.send("POST", "/api/ask", b"{}", {"Content-Type": "application/json"})
        assert status == 422
        status, found = client.post("/api/ask", {"questions": [QUESTION] * 4})
        assert (status, found["error"]) == (429, "TooMany")
        client.get("/healthz")
        status, headers, _ = client.send("GET", "/healthz")
        assert status == 429 and int(headers["Retry-After"]) >= 1


class Slow(Service):
    """A service whose names are not found before it is released."""

    @contextmanager
    def held(self):
        self.released = threading.Event()
        try:
            yield
        finally:
            self.released.set()

    def find_names(self, asked):
        self.released.wait()
        return super().find_names(asked)


def test_a_request_has_a_time_limit_and_others_go_on(model, serving):
    service = Slow({"offices": model}, ServeSettings(seconds=0.3))
    with serving(service) as client, service.held():
        status, found = client.get("/api/names")
        assert (status, found["detail"]) == (
            503,
            "the request took longer than 0.3 seconds; ask for less, or try again later",
        )
        until(lambda: client.get("/api/ask", **QUESTION)[0] == 200)  # on a busy machine it may take too long itself


def test_a_body_that_never_comes_is_not_waited_for(model, serving):
    service = Service({"offices": model}, ServeSettings(seconds=0.3))
    with serving(service) as client, socket.create_connection((client.host, client.port)) as slow:
        slow.sendall(b"POST /api/ask HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{")
        slow.settimeout(PATIENCE)
        assert b" 503 " in slow.recv(1000)


def test_only_so_many_requests_wait(model, serving):
    service, statuses = Slow({"offices": model}, ServeSettings(max_waiting=1)), []
    threads = [threading.Thread(target=lambda: statuses.append(client.get("/api/names")[0])) for _ in range(4)]
    with serving(service) as client:
        with service.held():
            for thread in threads:
                thread.start()
            until(lambda: len(statuses) == 3)
        for thread in threads:
            thread.join()
    assert sorted(statuses) == [200, 503, 503, 503]


def test_a_server_that_others_reach_needs_a_key():
    with pytest.raises(BadRequest, match=r"other machines can reach 0.0.0.0; set a key"):
        make_rules("0.0.0.0", None, (), (), ServeSettings())
    assert make_rules("0.0.0.0", KEY, ("Name.example",), (), ServeSettings()).rate == 50
    assert make_rules("0.0.0.0", KEY, ("Name.example",), (), ServeSettings()).hosts == ("0.0.0.0", "name.example")
    assert make_rules("::1", None, (), (), ServeSettings()).rate is None
    assert make_rules("localhost", None, (), (), ServeSettings(rate=3)).rate == 3


def test_keys_come_from_a_file_or_the_environment(tmp_path, monkeypatch):
    monkeypatch.delenv("KNOWWHEN_KEY", raising=False)
    assert read_key(None) is None
    monkeypatch.setenv("KNOWWHEN_KEY", KEY)
    assert read_key(None) == KEY
    (tmp_path / "key").write_text(KEY + " of a file\n")
    assert read_key(tmp_path / "key") == KEY + " of a file"
    (tmp_path / "key").write_text("\n")
    with pytest.raises(BadRequest, match="has 0 characters; expected at least 16"):
        read_key(tmp_path / "key")


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ("max_top", "expected name=value"),
        ("max_tpo=3", "no setting 'max_tpo'; expected .*; did you mean 'max_top'"),
        ("max_top=0", "max_top is '0': input should be greater than or equal to 1"),
    ],
)
def test_settings_that_are_none_are_said(change, text):
    with pytest.raises(BadRequest, match=text):
        read_settings([change])
    assert read_settings(["max_top=7", "seconds=0.5"]) == ServeSettings(max_top=7, seconds=0.5)
