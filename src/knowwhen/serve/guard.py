"""What stands before the application: which requests are let through, and the headers every response carries."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import ipaddress
import math
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from knowwhen.errors import KnowwhenError
from knowwhen.serve.metrics import Metrics
from knowwhen.serve.problems import problem_of
from knowwhen.serve.settings import ServeSettings

# Scripts and styles are files of ours; pictures may also be made on the page, which is how figures are saved.
CONTENT_SECURITY_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; font-src 'self'; connect-src 'self'; "
    "img-src 'self' data: blob:; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": CONTENT_SECURITY_POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
}
GUARDED = ("/api/", "/mcp", "/metrics", "/openapi.json")  # what needs the key; the page itself holds no data
CLIENTS = 10_000  # whose buckets are kept
SAFE_METHODS = ("GET", "HEAD", "OPTIONS")
CHARGE = "knowwhen.charge"  # in the scope: takes more tokens from the client's bucket


class Refused(KnowwhenError):
    """A request that is not let through."""

    def __init__(self, message: str, headers: dict[str, str] | None = None) -> None:
        super().__init__(message)
        self.headers = headers or {}


class WrongHost(Refused):
    status = 421


class NoKey(Refused):
    status = 401


class ForeignOrigin(Refused):
    status = 403


class TooLarge(Refused):
    status = 413


class TooMany(Refused):
    status = 429


class Busy(Refused):
    status = 503


@dataclass(frozen=True)
class Rules:
    """Who may ask, and how much."""

    key: str | None = None  # None: everyone who reaches the socket
    hosts: tuple[str, ...] = ()  # names under which it may be asked, beside addresses and localhost
    origins: tuple[str, ...] = ()  # other sites whose pages may ask
    rate: float | None = None  # requests a second; None: any
    settings: ServeSettings = field(default_factory=ServeSettings)


class Buckets:
    """A token bucket for each client: `burst` tokens at first, `rate` a second from then on."""

    def __init__(self, rate: float, burst: int, now: Callable[[], float] = time.monotonic) -> None:
        self.rate, self.burst, self.now = rate, float(burst), now
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()  # client -> tokens, when

    def take(self, client: str, tokens: float = 1.0) -> float:
        """0 where there are tokens, which are then gone; else the seconds until there are.

        More tokens than a bucket ever holds are there as soon as it is full, and leave it in debt.
        """
        now = self.now()
        left, at = self._left.pop(client, (self.burst, now))
        left = min(self.burst, left + (now - at) * self.rate)
        needed = min(tokens, self.burst)
        granted = left >= needed
        self._left[client] = (left - tokens if granted else left, now)
        if len(self._left) > CLIENTS:
            self._left.popitem(last=False)
        return 0.0 if granted else (needed - left) / self.rate


class Guard:
    """Lets requests through that keep the rules, within a time limit, and adds headers to every response."""

    def __init__(self, app: ASGIApp, rules: Rules, metrics: Metrics) -> None:
        self.app, self.rules, self.metrics, self.settings = app, rules, metrics, rules.settings
        self.buckets = None if rules.rate is None else Buckets(rules.rate, rules.settings.burst)
        self._digest = None if rules.key is None else _digest(rules.key)
        self._waiting = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        started, status = time.perf_counter(), 0

        async def guarded(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers[name] = value
            await send(message)

        self._waiting += 1
        try:
            async with asyncio.timeout(self.settings.seconds):
                await self.app(scope, await self._let_through(scope, receive), guarded)
        except Refused as refused:
            if not status:
                await problem_of(refused)(scope, receive, guarded)
        except TimeoutError:
            if not status:
                late = (
                    f"the request took longer than {self.settings.seconds:g} seconds; ask for less, or try again later"
                )
                await problem_of(Busy(late, {"Retry-After": "1"}))(scope, receive, guarded)
        finally:
            self._waiting -= 1
            self.metrics.request(scope, status, time.perf_counter() - started)

    async def _let_through(self, scope: Scope, receive: Receive) -> Receive:
        """What the application reads its body from; an error where a rule is broken."""
        headers = Headers(scope=scope)
        if self._waiting > self.settings.max_waiting:
            raise Busy("too many requests in progress; try again in a second", {"Retry-After": "1"})
        self._check_host(headers.get("host", ""))
        self._check_origin(scope, headers)
        if scope["method"] != "OPTIONS":  # a browser's question whether another site may ask has no key
            self._check_key(scope["path"], headers)
        client = scope["client"][0] if scope.get("client") else ""
        self._charge(client, 1)
        scope[CHARGE] = lambda tokens: self._charge(client, tokens)
        if scope["method"] in SAFE_METHODS:
            return receive
        return await self._whole_body(headers, receive)

    def _check_host(self, host: str) -> None:
        """A name that points here without our knowledge is how a web page would reach a server on loopback."""
        name = (host[: host.find("]") + 1] if host.startswith("[") else host.partition(":")[0]).lower()
        if name != "localhost" and name not in self.rules.hosts and not _is_address(name.strip("[]")):
            raise WrongHost(
                f"this server does not accept requests for the host {host[:100]!r}; start it with --allow-host to do so"
            )

    def _check_origin(self, scope: Scope, headers: Headers) -> None:
        origin = headers.get("origin")
        if origin is None or scope["method"] in SAFE_METHODS or origin in self.rules.origins:
            return
        if origin.partition("://")[2] != headers.get("host"):
            raise ForeignOrigin(
                f"pages of {origin[:100]!r} may not send this request; start the server with --allow-origin to allow it"
            )

    def _check_key(self, path: str, headers: Headers) -> None:
        if self._digest is None or not path.startswith(GUARDED):
            return
        scheme, _, given = headers.get("authorization", "").partition(" ")
        # Of digests, so that neither how far a guess is right nor how long the key is can be timed.
        if scheme.lower() != "bearer" or not hmac.compare_digest(_digest(given.strip()), self._digest):
            raise NoKey(
                "this server needs a key; send the header Authorization: Bearer KEY", {"WWW-Authenticate": "Bearer"}
            )

    def _charge(self, client: str, tokens: float) -> None:
        wait = self.buckets.take(client, tokens) if self.buckets else 0.0
        if wait:
            raise TooMany(
                f"more than {self.rules.rate:g} requests per second; wait {wait:.1f} seconds",
                {"Retry-After": str(math.ceil(wait))},
            )

    async def _whole_body(self, headers: Headers, receive: Receive) -> Receive:
        """Reads a body, which has a limit, and gives it to the application as one message."""
        most = self.settings.max_body
        too_large = TooLarge(f"the body is larger than {most:,} bytes; send it in several requests")
        length = headers.get("content-length", "0")
        if length.isdecimal() and int(length) > most:
            raise too_large
        body, more = b"", True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                break
            body, more = body + message.get("body", b""), message.get("more_body", False)
            if len(body) > most:
                raise too_large
        messages: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

        async def replay() -> Message:
            return messages.pop() if messages else await receive()

        return replay


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode(errors="surrogatepass")).digest()


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
