"""A dump to facts: `python -m benchmarks.wikidata [--sample FILE] [--megabytes 1000]`, or `--planted 1000`.

Repeats lines of a real dump and prints, for plain, gz, bz2 and zst, MB/s of decompressed JSON through the extraction
and the ratio to merely decompressing and counting lines in the same run (interleaved medians, by wall clock and by CPU
time); MB/s of parsing alone and its ratio to `json.loads` of the same lines; and the peak memory of all processes.
`--planted` makes a dump of that many megabytes with a known answer, runs all of it and checks every count.
"""

from __future__ import annotations

import argparse
import bz2
import gzip
import json
import os
import resource
import shutil
import statistics
import tempfile
import threading
import time
import tomllib
from collections.abc import Callable
from pathlib import Path

import zstandard

from benchmarks.dumps import write_dump
from knowwhen.wikidata.datasheet import LEFT_OUT, NOT_FACTS
from knowwhen.wikidata.extraction import cores, extract
from knowwhen.wikidata.lines import Parser
from knowwhen.wikidata.making import make
from knowwhen.wikidata.settings import ExtractionSettings, SelectionSettings
from knowwhen.wikidata.statements import Extract
from knowwhen.wikidata.stream import Dump

COMPRESS: dict[str, Callable[[bytes], bytes]] = {
    "plain": lambda content: content,
    "gz": lambda content: gzip.compress(content, 5),
    "bz2": bz2.compress,
    "zst": zstandard.ZstdCompressor(write_checksum=True).compress,
}


class Silent:
    def bytes(self, done: int, total: int | None) -> None:
        pass

    def say(self, text: str) -> None:
        pass


class PeakMemory:
    """The largest sum of the memory of this process and those it started; shared pages count in parts (PSS)."""

    def __enter__(self) -> PeakMemory:
        self.bytes, self._running = 0, True
        self._thread = threading.Thread(target=self._watch)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._running = False
        self._thread.join()

    def _watch(self) -> None:
        while self._running:
            self.bytes = max(self.bytes, sum(_memory(pid) for pid in [os.getpid(), *_children(os.getpid())]))
            time.sleep(0.2)


def _children(pid: int) -> list[int]:
    tasks = Path(f"/proc/{pid}/task").glob("*/children")
    return [int(child) for task in tasks for child in task.read_text().split()]


def _memory(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:  # it has ended meanwhile
        return 0
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:")), 0)


def seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def cpu_seconds() -> float:
    """Of this process and of those it started that have ended."""
    usages = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def wall_and_cpu(work: Callable[[], object]) -> tuple[float, float]:
    cpu = cpu_seconds()
    return seconds(work), cpu_seconds() - cpu


def count_lines(path: Path) -> int:
    """Decompresses and counts lines: what the extraction is measured against."""
    dump, block, lines = Dump(path, cores()), bytearray(1 << 20), 0
    while count := dump.readinto(memoryview(block)):
        lines += block.count(b"\n", 0, count)
    dump.close()
    return lines


def measure_formats(lines: list[bytes], megabytes: int, repetitions: int) -> dict[str, object]:
    once = b",\n".join(lines) + b",\n"
    times = max(1, round(megabytes * 1e6 / len(once)))
    size = len(once) * times / 1e6
    report: dict[str, object] = {"megabytes": round(size), "cores": cores()}
    with tempfile.TemporaryDirectory() as folder, PeakMemory() as memory:
        for name, compress in COMPRESS.items():
            path, out = Path(folder) / f"dump.{name}", Path(folder) / "out"
            with path.open("wb") as file:
                packed = compress(once)
                for _ in range(times):  # members that follow each other are one file
                    file.write(packed)

            def run(path: Path = path, out: Path = out) -> None:
                extract(path, out, ExtractionSettings(window_megabytes=64), lambda done, total: None)
                shutil.rmtree(out)

            taken = [
                (*wall_and_cpu(lambda: count_lines(path)), *wall_and_cpu(run))  # noqa: B023
                for _ in range(repetitions)
            ]
            counting, counting_cpu, wall, cpu = (statistics.median(column) for column in zip(*taken, strict=True))
            report[f"{name}_megabytes_per_second"] = round(size / wall)
            report[f"{name}_ratio_to_counting_lines"] = round(counting / wall, 2)
            # What the ratio would be if nobody else used the cores: counting has one of them, the extraction all.
            report[f"{name}_ratio_by_cpu_time"] = round(counting_cpu / (cpu / cores()), 2)
            path.unlink()
        report["peak_megabytes_of_all_processes"] = round(memory.bytes / 1e6)
    return report


def measure_parsing(lines: list[bytes], repetitions: int) -> dict[str, object]:
    """One core: typed structs and facts against json.loads, interleaved."""
    parser, size = Parser(("en", "mul")), sum(map(len, lines)) / 1e6

    def to_facts() -> None:
        extracted = Extract()
        for line in lines:
            extracted.add(parser.parse(line))

    ways: dict[str, Callable[[], object]] = {
        "json": lambda: [json.loads(line) for line in lines],
        "parse": lambda: [parser.parse(line) for line in lines],
        "parse_to_facts": to_facts,
    }
    times = [{name: seconds(work) for name, work in ways.items()} for _ in range(repetitions * 3)]
    median = {name: statistics.median(one[name] for one in times) for name in ways}
    speeds = {f"{name}_megabytes_per_second_of_one_core": round(size / median[name]) for name in ways}
    ratios = {f"{name}_ratio_to_json": round(median["json"] / median[name], 1) for name in ways if name != "json"}
    return {**speeds, **ratios}


def check_planted(megabytes: int) -> dict[str, object]:
    """The whole way on a dump with a known answer: every count must be right."""
    with tempfile.TemporaryDirectory() as folder, PeakMemory() as memory:
        dump = Path(folder) / "dump.json.gz"
        expected = write_dump(dump, megabytes)
        took = seconds(lambda: make(dump, Path(folder) / "out", ExtractionSettings(), SelectionSettings(), Silent()))
        sheet = tomllib.loads((Path(folder) / "out" / "dataset.toml").read_text(encoding="utf-8"))
    facts = sheet["train"] + sheet["valid"] + sheet["test"]
    rules = ("statements", "items", "properties", *NOT_FACTS, *LEFT_OUT)
    wrong = {name: (sheet[name], expected[name]) for name in rules if sheet[name] != expected[name]}
    if facts != expected["facts"]:
        wrong["facts"] = (facts, expected["facts"])
    return {
        "planted_megabytes": megabytes,
        "statements": sheet["statements"],
        "facts": facts,
        "wrong_counts": wrong,
        "seconds": round(took, 1),
        "peak_megabytes_of_all_processes": round(memory.bytes / 1e6),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    sample = Path("../shared/data/wikidata-dump-sample/first-50-lines.json")
    parser.add_argument("--sample", type=Path, default=sample, help="lines of a real dump")
    parser.add_argument("--megabytes", type=int, default=1000)
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument(
        "--planted", type=int, help="check the counts of a generated dump of that many megabytes instead"
    )
    options = parser.parse_args()
    if options.planted:
        print(json.dumps(check_planted(options.planted)))
        return
    found = (line.strip(b" ,\r\n") for line in options.sample.read_bytes().splitlines())
    lines = [line for line in found if line not in (b"", b"[", b"]")]
    formats = measure_formats(lines, options.megabytes, options.repetitions)
    print(json.dumps({**formats, **measure_parsing(lines, options.repetitions)}))


if __name__ == "__main__":
    main()
