"""What nobody should send: the server says so, or hangs up, and goes on serving."""

import socket
from concurrent.futures import ThreadPoolExecutor

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis import checks

from tests.serve.malformed import QUESTION, send_malformed

CHECKS = [
    checks.not_a_server_error,
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_schema_conformance,
]
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


@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_malformed_requests_leave_it_serving(client):
    statuses = send_malformed(client.host, client.port, MALFORMED)
    assert {400, 404, 422} <= statuses and max(statuses) < 500
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
        with socket.create_connection((client.host, client.port), timeout=60) as connection:
            connection.sendall(QUESTION * (1 + i % 3))

    with ThreadPoolExecutor(8) as pool:
        gone = pool.map(vanish, range(40))
        found = list(pool.map(lambda _: client.get("/api/names", q="office")[0], range(20)))
        list(gone)
    assert set(found) == {200}
    assert client.get("/api/ask", subject="office 0", predicate="held by", time="2000")[0] == 200
