"""What nobody should send: the server says so, or hangs up, and goes on serving."""

import random
import socket
import struct
from concurrent.futures import ThreadPoolExecutor

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis import checks

CHECKS = [
    checks.not_a_server_error,
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_schema_conformance,
]
QUESTION = b"GET /api/ask?subject=office+0&predicate=held+by&time=2000 HTTP/1.1\r\nHost: localhost\r\n\r\n"
BODY = b'{"questions": [{"subject": "office 0", "predicate": "held by", "time": "2000"}], "top": 3}'
POST = (
    b"POST /api/ask HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s"
    % (
        len(BODY),
        BODY,
    )
)
MALFORMED = 2000


def test_generated_requests_get_what_is_described_and_no_5xx(client):
    """Every operation of the OpenAPI document, with requests that schemathesis makes of it."""
    document = schemathesis.openapi.from_url(f"http://{client.host}:{client.port}/openapi.json")
    few = settings(max_examples=10, phases=[Phase.generate], suppress_health_check=list(HealthCheck), database=None)
    tried = []
    for result in document.get_all_operations():
        operation = result.ok()

        @few
        @given(case=operation.as_strategy())
        def check(case):
            case.call_and_validate(checks=CHECKS)

        check()
        tried.append(operation.path)
    assert {"/api/ask", "/api/entity/{key}", "/api/facts", "/metrics"} <= set(tried)


def mutated(rng: random.Random, request: bytes) -> bytes:
    """A request with bytes changed, cut, doubled or put in."""
    changed = bytearray(request)
    for _ in range(rng.randint(1, 6)):
        at = rng.randrange(len(changed) + 1)
        kind = rng.randrange(5)
        if kind == 0 and at < len(changed):
            changed[at] = rng.randrange(256)
        elif kind == 1:
            del changed[at : at + rng.randint(1, 20)]
        elif kind == 2:
            changed[at:at] = bytes(rng.randrange(256) for _ in range(rng.randint(1, 8)))
        elif kind == 3:
            changed[at:at] = changed[at : at + 30] * rng.randint(1, 3)
        else:
            changed[at:at] = rng.choice([b"\r\n", b"\0", b"%", b"%ff", b"{" * 50, b"[" * 3000, b"1e999", b"\\ud800"])
    return bytes(changed)


def send_malformed(host: str, port: int, count: int, seed: int = 0) -> set[int]:
    """Sends requests that are none, some in pieces, some cut off; gives the statuses that came back."""
    rng, statuses = random.Random(seed), set()
    for _ in range(count):
        request = mutated(rng, rng.choice([QUESTION, POST]))
        with socket.create_connection((host, port), timeout=10) as connection:
            if rng.random() < 0.2:  # closed with a reset, in the middle or with the answer under way
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                connection.sendall(request[: rng.randrange(len(request) + 1)])
                continue
            try:
                connection.sendall(request)
                connection.shutdown(socket.SHUT_WR)
                answer = connection.recv(1 << 16)
            except (ConnectionError, OSError):
                continue
            if answer.startswith(b"HTTP/1.1 "):
                statuses.add(int(answer[9:12]))
    return statuses


@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_malformed_requests_leave_it_serving(client):
    statuses = send_malformed(client.host, client.port, MALFORMED)
    assert {200, 400, 404, 422} <= statuses and max(statuses) < 500
    assert client.get("/healthz")[0] == 200


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"null",
        b"[]",
        b"[" * 100_000,
        b'{"questions": [{"subject": "\\ud800", "predicate": "held by"}]}',
        b'{"questions": [{"subject": "\\u0000", "predicate": "held by"}]}',
        b'{"questions": [{"subject": "a", "predicate": "held by"}], "top": 1e999}',
        b'{"questions": [{"subject": "a", "predicate": "held by"}], "min_probability": NaN}',
        b'{"questions": [{"subject": {"a": 1}, "predicate": "held by"}]}',
        b'{"questions": "\xff\xfe"}',
        b'{"questions": [{"subject": "office 0", "predicate": "held by", "time": "' + b"9" * 90 + b'"}]}',
    ],
    ids=lambda body: repr(body[:60]),
)
def test_bodies_that_are_none_are_errors_of_the_client(client, body):
    status, headers, _ = client.send("POST", "/api/ask", body, {"Content-Type": "application/json"})
    assert 400 <= status < 500 and headers["Content-Type"] == "application/problem+json"


@pytest.mark.parametrize(
    "query",
    [
        "subject=%ff&predicate=held%20by",
        "subject=%00&predicate=held%20by",
        "subject=office+0&predicate=held+by&time=-99999999999999999999",
        "subject=office+0&predicate=held+by&time=2000..1990",
        "subject=office+0&predicate=held+by&time=" + "1" * 99,
        "subject=office+0&predicate=held+by&top=99999999999999999999",
        "subject=office+0&predicate=held+by&min_probability=nan",
        "subject=office+0&predicate=held+by&candidates=",
        "subject=" + "x" * 3000,
    ],
)
def test_values_that_are_none_are_errors_of_the_client(client, query):
    status, _, _ = client.send("GET", f"/api/ask?{query}")
    assert 400 <= status < 500


def test_markup_and_marks_in_errors_are_shown_as_text(client, nasty):
    _, found = client.get("/api/entity/\u202egnp.exe\x07 <b>")
    assert "\u202e" not in found["detail"] and "\x07" not in found["detail"]
    status, headers, _ = client.send("GET", "/api/entity/%3Cscript%3Ealert(1)%3C/script%3E")
    assert status == 200 and headers["Content-Type"] == "application/json"


def test_clients_that_vanish_leave_others_their_answers(client):
    def vanish(i):
        with socket.create_connection((client.host, client.port), timeout=10) as connection:
            connection.sendall(QUESTION * (1 + i % 3))

    with ThreadPoolExecutor(8) as pool:
        gone = pool.map(vanish, range(40))
        found = list(pool.map(lambda _: client.get("/api/names", q="office")[0], range(20)))
        list(gone)
    assert set(found) == {200}
    assert client.get("/api/ask", subject="office 0", predicate="held by", time="2000")[0] == 200
