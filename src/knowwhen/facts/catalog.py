"""Datasets by name: those inside the package, those on disk, and those that can be downloaded."""

from __future__ import annotations

import os
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from http.client import HTTPException
from pathlib import Path
from typing import Any, Literal

from knowwhen.checksums import file_sum
from knowwhen.errors import BadRequest, DownloadFailed, UnknownDataset, closest, did_you_mean
from knowwhen.facts.dataset import Dataset, NoFacts
from knowwhen.facts.dates import Granularity
from knowwhen.facts.formats import read_anything
from knowwhen.facts.formats.named import ReadOptions
from knowwhen.facts.formats.problems import Problems
from knowwhen.files import UNCHANGED, part_of, put_in_place, writing

BUNDLED = Path(__file__).parent / "bundled"

Progress = Callable[[str, int, int | None], None]  # file, bytes so far, bytes in all when the server says


@dataclass(frozen=True)
class Remote:
    """A public dataset: where each file lies and what it must hash to."""

    about: str
    files: dict[str, tuple[str, str]]  # our file name -> (address, SHA-256)


_MMKB = "https://raw.githubusercontent.com/mniepert/mmkb/master/TemporalKGs"

REMOTE = {
    "icews14": Remote(
        "political events of 2014 by day (García-Durán et al. 2018)",
        {
            "train.txt": (
                f"{_MMKB}/icews14/icews_2014_train.txt",
                "a6c7922dcbe406b3e292a313b4eab191e2399c3bc4810f662bb4363043a93df6",
            ),
            "valid.txt": (
                f"{_MMKB}/icews14/icews_2014_valid.txt",
                "23dfa5cd6f3bb5421efcc30fc03bed0e8de4c2cf251d1765ff722d6f8b15dbe3",
            ),
            "test.txt": (
                f"{_MMKB}/icews14/icews_2014_test.txt",
                "50d53602409a3dbaca2f13d9c7e30bf7311d8c1868fac890dc0c2836118b4cb4",
            ),
        },
    ),
    "icews05-15": Remote(
        "political events of 2005 to 2015 by day (García-Durán et al. 2018)",
        {
            "train.txt": (
                f"{_MMKB}/icews05-15/icews_2005-2015_train.txt",
                "b736c7827497da10e0c51befdb0b5797f957d3bc264fa125543f729b22cd321d",
            ),
            "valid.txt": (
                f"{_MMKB}/icews05-15/icews_2005-2015_valid.txt",
                "404516f2da966c563ab6d81f1355ec5c67a9aa77c111bf712429e65136162b23",
            ),
            "test.txt": (
                f"{_MMKB}/icews05-15/icews_2005-2015_test.txt",
                "d034cd94ace08279639526cbe2ce34829562941ddd1301e6afa9e0ffa7a5b160",
            ),
        },
    ),
}


def load(
    source: Any,
    *,
    format: str | None = None,
    columns: dict[str, str] | None = None,
    predicate: str | None = None,
    granularity: str | None = None,
    fractions: tuple[float, float] = (0.1, 0.1),
    seed: int = 0,
    date_format: str | None = None,
    separator: str | None = None,
    encoding: str | None = None,
    skip_bad: bool = False,
    rejects: str | Path | Literal[False] | None = None,
    verify: bool = True,
) -> Dataset:
    """Load a dataset.

    `source` is the name of a dataset, a folder, a file, `"-"` (standard input), a file object, a polars, pandas or
    pyarrow table, or a list of tuples or dictionaries.

    - `format`: table, folder, rdf, kgtk, icews, yago15k or wikidata12k; detected by default.
    - `columns`: your column names for subject, predicate, object, and time or begin and end, such as
      `{"subject": "Name"}`. Common headers are recognised.
    - `predicate`: the predicate of every fact, for a table without such a column.
    - `granularity`: the unit of the time axis: minute, hour, day, month or year.
    - `fractions`, `seed`: a single table is split at random into train, valid and test; these are the fractions for
      valid and test, and the seed.
    - `date_format` (iso, dmy, mdy, ymd, excel, unix, unix-ms, or a pattern such as `"%d.%m.%Y"`), `separator`,
      `encoding`: detected by default.
    - `skip_bad`: skip bad rows instead of raising `BadFacts`, and write them to the file `rejects` (False: do not).
    - `verify`: compare the files of a dataset folder with their SHA-256.
    """
    if isinstance(source, Dataset):
        return source
    if granularity is not None and granularity not in list(Granularity):
        raise BadRequest(f"unknown granularity {granularity!r}; expected {', '.join(Granularity)}")
    if not isinstance(columns or {}, Mapping):
        raise BadRequest(f'columns is {columns!r}; expected a dictionary such as {{"subject": "Name"}}')
    if not isinstance(fractions, Sequence) or len(fractions) != 2:
        raise BadRequest(f"fractions is {fractions!r}; expected two, for valid and test, such as (0.1, 0.1)")
    options = ReadOptions(
        dict(columns or {}),
        Granularity(granularity) if granularity else None,
        fractions,
        seed,
        verify,
        predicate,
        date_format,
        separator,
        encoding,
    )
    problems = Problems(skip=skip_bad)
    found = find(source) if isinstance(source, (str, Path)) and str(source) != "-" else source
    named = read_anything(found, format, options, problems)
    problems.finish()
    report = problems.report
    if problems.found:
        target = None
        if rejects is not False:
            target = Path(rejects or f"{found.resolve().name if isinstance(found, Path) else 'facts'}.rejects.tsv")
            problems.write(target)
        report.skipped(problems.found, target)
        named = replace(named, counts={**named.counts, "bad_rows_skipped": len(problems.found)})
    try:
        return replace(Dataset.of(named, options), report=report)
    except NoFacts as error:
        error.report = report
        raise


def find(source: str | Path) -> Path:
    """The folder or file of a source: a path, a bundled name, or a name under $KNOWWHEN_DATA or in the cache."""
    name = str(source)
    if not name.strip():
        raise UnknownDataset("the name of the dataset is empty; expected a name, a folder or a file", name=name)
    for path in (Path(source).expanduser(), *(place / name for place in places())):
        if path.exists():
            return path
    if name in REMOTE:
        message = f"dataset {name!r} is not on this machine; download it with `knowwhen data get {name}`"
        raise UnknownDataset(message, name=name)
    known = sorted({*available(), *REMOTE})
    raise UnknownDataset(
        f"no dataset, folder or file {name!r}{did_you_mean(name, known)} (datasets: {', '.join(known)})",
        closest(name, known),
        name=name,
    )


def places() -> list[Path]:
    """Folders in which datasets are looked up by name, first come first."""
    own = os.environ.get("KNOWWHEN_DATA")
    return [BUNDLED, *([Path(own)] if own else []), cache()]


def cache() -> Path:
    """Where downloads go: $XDG_CACHE_HOME/knowwhen, ~/.cache/knowwhen by default."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "knowwhen"


def check_public(name: str, remotes: dict[str, Remote] = REMOTE) -> None:
    """An error unless the dataset has a public address."""
    if name not in remotes:
        raise UnknownDataset(
            f"{name!r} cannot be downloaded; expected {', '.join(remotes)}{did_you_mean(name, remotes)}",
            closest(name, remotes),
            name=name,
        )


def _silent(file: str, done: int, total: int | None) -> None:
    pass


def available() -> dict[str, Path]:
    """Datasets on this machine that can be loaded by name."""
    found: dict[str, Path] = {}
    for place in places():
        for path in sorted(place.iterdir()) if place.is_dir() else ():
            if path.is_dir() and any((path / name).is_file() for name in ("dataset.toml", "train.txt")):
                found.setdefault(path.name, path)
    return found


def download(name: str, progress: Progress = _silent, remotes: dict[str, Remote] = REMOTE) -> Path:
    """Download a public dataset into the cache and return its folder; complete files are not fetched again.

    Each file is written aside as `.part`, which a later call resumes, and takes its name once its SHA-256 is right.
    """
    check_public(name, remotes)
    folder = cache() / name
    with writing(folder, UNCHANGED):
        folder.mkdir(parents=True, exist_ok=True)
    try:
        for file, (address, sha256) in remotes[name].files.items():
            target = folder / file
            if not (target.is_file() and file_sum(target) == sha256):
                _fetch(address, target, sha256, progress)
    finally:
        with suppress(OSError):
            folder.rmdir()  # where nothing came
    return folder


def _fetch(address: str, target: Path, sha256: str, progress: Progress) -> None:
    part = part_of(target)
    done = part.stat().st_size if part.exists() else 0
    request = urllib.request.Request(address, headers={"Range": f"bytes={done}-"} if done else {})
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            if done and answer.status != 206:  # the server sends the whole again
                done = 0
            length = answer.headers.get("Content-Length", "")
            total = done + int(length) if length.isdecimal() and len(length) < 20 else None  # else it does not say
            with part.open("ab" if done else "wb") as out:
                while block := answer.read(1 << 16):
                    done += out.write(block)
                    progress(target.name, done, total)
    except urllib.error.HTTPError as error:
        if error.code != 416:  # 416: the part is already as long as the file
            raise DownloadFailed(f"{address} answered {error.code} {error.reason}") from error
    except (OSError, HTTPException) as error:
        reason = getattr(error, "reason", error)
        raise DownloadFailed(f"cannot download {address} ({reason}); run the same command to resume") from error
    else:
        if total is not None and done < total:
            raise DownloadFailed(
                f"the download of {address} stopped at {done} of {total} bytes; run the same command to resume"
            )
    found = file_sum(part)
    if found != sha256:
        part.unlink()
        raise DownloadFailed(f"{address} is not the expected file: its SHA-256 is {found[:12]}…, not {sha256[:12]}…")
    with writing(target, "run the same command to resume"):
        put_in_place(part, target)
