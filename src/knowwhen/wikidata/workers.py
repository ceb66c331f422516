"""Processes that turn windows of lines into facts, fed through shared buffers."""

from __future__ import annotations

import mmap
import os
import signal
import sys
import tempfile
from contextlib import suppress
from multiprocessing import connection, get_context
from multiprocessing.connection import Connection
from pathlib import Path
from types import TracebackType

import msgspec

from knowwhen.errors import WorkerDied
from knowwhen.files import writing
from knowwhen.wikidata.lines import Parser
from knowwhen.wikidata.parts import AGAIN, Part
from knowwhen.wikidata.statements import Extract
from knowwhen.wikidata.windows import Window


class SharedBuffer:
    """Bytes that this process fills and another reads, without a copy between them."""

    def __init__(self, size: int) -> None:
        if sys.platform == "linux":  # not /dev/shm, which containers keep small
            self._file = os.memfd_create("knowwhen")
            self.path = f"/proc/{os.getpid()}/fd/{self._file}"
        else:
            self._file, self.path = tempfile.mkstemp(prefix="knowwhen-")
        os.ftruncate(self._file, size)
        self.map = mmap.mmap(self._file, size)

    def close(self) -> None:
        # The map goes with its last reader: after an error, the frames of the traceback still look into it.
        os.close(self._file)
        if sys.platform != "linux":
            Path(self.path).unlink()


class Workers:
    """Some processes, each with one window at a time, and one buffer more than processes, to fill meanwhile."""

    def __init__(self, count: int, buffer_bytes: int, folder: Path, languages: tuple[str, ...]) -> None:
        spawn = get_context("spawn")  # a fork would copy locks that other threads hold
        self._free = [SharedBuffer(buffer_bytes) for _ in range(count + 1)]
        self._busy: dict[Connection, SharedBuffer] = {}
        self._idle: list[Connection] = []
        self._processes = []
        for _ in range(count):
            ours, theirs = spawn.Pipe()
            process = spawn.Process(target=_work, args=(theirs, folder, languages), daemon=True)
            process.start()
            theirs.close()  # theirs alone now: when either side dies the other sees the end of the pipe
            self._processes.append(process)
            self._idle.append(ours)

    def __enter__(self) -> Workers:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for process in self._processes:
            process.kill()  # whatever it was writing has not got its name yet
            process.join()
        for buffer in [*self._free, *self._busy.values()]:
            buffer.close()

    def buffer(self) -> mmap.mmap:
        """The buffer to fill for the next window."""
        return self._free[-1].map

    def give(self, window: Window) -> None:
        """Has a worker extract the window that is in the buffer, once one is idle."""
        filled = self._free.pop()
        if not self._idle:
            self._wait()
        worker = self._idle.pop()
        self._busy[worker] = filled
        with suppress(ConnectionError):  # a worker that has died is seen when its answer is awaited
            worker.send((filled.path, window))

    def finish(self) -> None:
        """Waits for all windows that were given."""
        while self._busy:
            self._wait()

    def _wait(self) -> None:
        for ready in connection.wait(list(self._busy)):
            assert isinstance(ready, Connection)
            try:
                problem = ready.recv()
            except (EOFError, ConnectionError):
                raise WorkerDied(
                    "a worker process died, perhaps for lack of memory; run the same command to continue"
                ) from None
            if problem is not None:
                raise problem
            self._free.append(self._busy.pop(ready))
            self._idle.append(ready)


def _work(tasks: Connection, folder: Path, languages: tuple[str, ...]) -> None:
    """A worker's life: a window in, its files out, until the pipe ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the one who started us
    parser, part = Parser(languages), Part(folder)
    maps: dict[str, mmap.mmap] = {}
    with suppress(EOFError, ConnectionError):
        while True:
            path, window = tasks.recv()
            if path not in maps:
                with open(path, "r+b") as file:  # noqa: PTH123 - no folder lists it
                    maps[path] = mmap.mmap(file.fileno(), 0)
            try:
                extract = extract_lines(maps[path], window.start, window.stop, parser)
                with writing(folder, AGAIN):
                    part.add(window.number, extract.facts_frame(), extract.labels_frame(), extract.counts)
                tasks.send(None)
            except Exception as error:  # whatever it is, the one who waits must know
                tasks.send(error)


def extract_lines(buffer: mmap.mmap, start: int, stop: int, parser: Parser) -> Extract:
    """What the lines in [start, stop) of a buffer say; lines that are no entities are counted."""
    extract = Extract()
    while start < stop:
        end = buffer.find(b"\n", start, stop)
        end = stop if end < 0 else end
        last = end
        while last > start and buffer[last - 1] in b" \t\r,":  # `strip` would copy the line once more
            last -= 1
        line = buffer[start:last]
        start = end + 1
        if line in (b"", b"["):
            continue
        if line == b"]":
            extract.counts["closing_brackets"] += 1
            continue
        extract.counts["lines"] += 1
        try:
            extract.add(parser.parse(line))
        except (msgspec.DecodeError, ValueError, RecursionError):
            extract.counts["bad_lines"] += 1
    return extract
