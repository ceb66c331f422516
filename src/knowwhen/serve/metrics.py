"""What a server counts of itself, as text that Prometheus reads."""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

EDGES = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)  # seconds


class Histogram:
    """How many values were at most each edge, and their sum."""

    def __init__(self, edges: tuple[float, ...]) -> None:
        self.edges, self.counts, self.sum = edges, [0] * (len(edges) + 1), 0.0

    def add(self, value: float) -> None:
        self.counts[bisect_left(self.edges, value)] += 1
        self.sum += value

    def lines(self, name: str, labels: str = "") -> Iterator[str]:
        total = 0
        for edge, count in zip((*self.edges, "+Inf"), self.counts, strict=True):
            total += count
            yield f'{name}_bucket{{{labels}{"," if labels else ""}le="{edge}"}} {total}'
        shown = f"{{{labels}}}" if labels else ""
        yield f"{name}_sum{shown} {self.sum:.6f}"
        yield f"{name}_count{shown} {total}"


class Metrics:
    """Counters of requests, times and batches; requests are counted on the loop, batches by the threads that answer."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.requests: Counter[tuple[str, str, int]] = Counter()
        self.seconds: dict[str, Histogram] = {}
        self.batches = Histogram((1, 2, 4, 8, 16, 32, 64, 128, 256))

    def request(self, scope: Mapping[str, Any], status: int, seconds: float) -> None:
        """Counts a request by its route, so that names people ask for are not kept; 0 is a client that went away."""
        route = getattr(scope.get("route"), "path", None) or ("/static" if scope["path"].startswith("/static") else "")
        with self._lock:
            self.requests[route, scope["method"] if route else "", status] += 1
            if route not in self.seconds:
                self.seconds[route] = Histogram(EDGES)
            self.seconds[route].add(seconds)

    def batch(self, questions: int) -> None:
        with self._lock:
            self.batches.add(questions)

    def text(self, gauges: Mapping[str, float]) -> str:
        """All of it in the text format, version 0.0.4."""
        with self._lock:
            lines = ["# TYPE knowwhen_requests_total counter"]
            for (route, method, status), count in sorted(self.requests.items()):
                labels = f'route="{route}",method="{method}",status="{status}"'
                lines.append(f"knowwhen_requests_total{{{labels}}} {count}")
            lines.append("# TYPE knowwhen_request_seconds histogram")
            for route, histogram in sorted(self.seconds.items()):
                lines += histogram.lines("knowwhen_request_seconds", f'route="{route}"')
            lines.append("# TYPE knowwhen_batch_questions histogram")
            lines += self.batches.lines("knowwhen_batch_questions")
        for name, value in {**gauges, "resident_bytes": resident_bytes()}.items():
            lines += [f"# TYPE knowwhen_{name} gauge", f"knowwhen_{name} {value:g}"]
        return "\n".join(lines) + "\n"


def resident_bytes() -> float:
    """The memory this process holds; 0 where the system does not say."""
    try:
        line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmRSS"))
        return float(line.split()[1]) * 1024
    except (OSError, StopIteration):
        return 0.0
