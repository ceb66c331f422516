"""What is fuzzed: each target damages an input and uses it; anything but an error of ours is a failure.

A target that answers questions also compares: a damaged run is refused, or answers as before.
"""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import mmap
import os
import random
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import zstandard

import knowwhen as kw
from knowwhen.cli.ask import read_candidates
from knowwhen.facts.dates import parse_period
from knowwhen.facts.diagnosis import Diagnosis
from knowwhen.facts.exporting import export_bytes
from knowwhen.reproduction import results
from knowwhen.training.beginning import check_fits
from knowwhen.training.config import parse_override, read_config
from knowwhen.training.notes import read_lines
from knowwhen.wikidata.classes import read_classes
from knowwhen.wikidata.lines import Parser
from knowwhen.wikidata.parts import Manifest, Part, check_complete
from knowwhen.wikidata.workers import extract_lines
from tests.facts.formats.test_untidy_tables import workbook
from tests.faults.scenarios import SET, make_world
from tests.fuzz.mutations import damaged, flipped

Case = Callable[[Path, Path, random.Random], None]  # seeds, an empty folder, chance
DATES = """s,p,o,begin,end
a,b,c,13.05.2001,31.12.9999
a,b,d,8 May 2003,2004-2006
a,b,e,2001-02-03T04:05:06+01:00,since 2009
a,b,f,1394582400,1394582400000
"""
XML = """<?xml version="1.0"?><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://e/">
<rdf:Statement><rdf:subject rdf:resource="http://e/a"/><rdf:predicate rdf:resource="http://e/p"/>
<rdf:object rdf:resource="http://e/b"/><begin>2001</begin><end>2006</end></rdf:Statement></rdf:RDF>"""
QUESTIONS = (("e1", "p1", "?", "1999"), ("e2", "?", "e3", "1998"), ("e1", "p1", "e7", "?"))


class Changed(Exception):
    """A damaged run answers, and not as before."""


def make_seeds(folder: Path) -> None:
    """The inputs that are damaged."""
    make_world(folder / "world")
    tables = folder / "tables"
    tables.mkdir()
    frame = pl.read_csv(folder / "world" / "facts.csv", infer_schema=False).head(40)
    text = frame.write_csv().encode()
    (tables / "facts.csv").write_bytes(text)
    (tables / "facts.tsv").write_bytes(text.replace(b",", b"\t"))
    (tables / "facts.csv.gz").write_bytes(gzip.compress(text, mtime=0))
    (tables / "facts.csv.zst").write_bytes(zstandard.compress(text))
    frame.write_ndjson(tables / "facts.jsonl")
    frame.write_parquet(tables / "facts.parquet")
    (tables / "semicolons.csv").write_bytes(b"sep=;\n" + text.replace(b",", b";"))
    (tables / "dates.csv").write_text(DATES)
    (tables / "utf16.csv").write_bytes(text.decode().encode("utf-16"))
    (tables / "facts.csv.bz2").write_bytes(bz2.compress(text))
    (tables / "facts.csv.xz").write_bytes(lzma.compress(text))
    with zipfile.ZipFile(tables / "facts.zip", "w") as packed:
        packed.writestr("facts.csv", text)
    (tables / "facts.xlsx").write_bytes(workbook())
    (tables / "facts.json").write_text(json.dumps(frame.to_dicts()))
    (tables / "nested.jsonl").write_text('{"subject": {"id": "a"}, "p": "b", "o": "c", "time": [1999]}\n' * 5)
    named = kw.load(tables / "facts.csv")
    for format, name in (("ttl", "facts.ttl"), ("kgtk", "kgtk.tsv")):
        (tables / name).write_bytes(export_bytes(named.named(named.train), named, format))
    (tables / "facts.nq").write_text(
        '<http://e/a> <http://e/p> <http://e/b> <http://e/g> .\n<http://e/g> <http://e/begin> "1999" .\n'
    )
    (tables / "facts.rdf").write_text(XML)
    (tables / "facts.jsonld").write_text('[{"@id": "http://e/a", "http://e/p": {"@id": "http://e/b"}}]')
    layouts = {
        "icews": "a\tp\tb\t2014-01-02\nc\tp\td\t2014-02-03\n",
        "yago": "a\tp\tb\nc\tp\td\t<occursSince>\t1990\n",
        "wikidata12k": "a\tp\tb\t1990-##-##\t19##-##-##\nc\tp\td\t####-##-##\t1990-01-01\n",
    }
    for name, rows in layouts.items():
        (folder / "layouts" / name).mkdir(parents=True)
        for split in ("train", "valid", "test"):
            (folder / "layouts" / name / f"{split}.txt").write_text(rows * 5)
    overrides = dict(parse_override(text.removeprefix("--set=")) for text in SET)
    data = kw.load(folder / "world" / "facts.csv")
    data.save(folder / "data")
    kw.train(data, run=folder / "run", overrides=overrides)
    kw.open(folder / "run").add(folder / "world" / "news.csv")
    shutil.copytree(folder / "run", folder / "begun")
    for name in ("model.json", "SHA256SUMS", "calibration.json"):
        (folder / "begun" / "model" / name).unlink(missing_ok=True)
    (folder / "recipe.toml").write_text((folder / "run" / "config.toml").read_text())
    for name in ("run", "begun"):
        (folder / f"{name}.answers").write_text(json.dumps(_answers(folder / name)))


def _answers(run: Path, **options: Any) -> Any:
    model = kw.open(run, **options)
    return json.loads(json.dumps([model.ask(*question).to_dict() for question in QUESTIONS]))


def _load(path: Path, rng: random.Random) -> None:
    options: dict[str, Any] = {"skip_bad": rng.random() < 0.5, "rejects": path.parent / "rejects.tsv"}
    if rng.random() < 0.2:
        options["granularity"] = rng.choice(("minute", "hour", "day", "month", "year"))
    if rng.random() < 0.2:
        options["format"] = rng.choice(("icews", "yago15k", "wikidata12k", "folder", "table", "kgtk", "rdf"))
    if rng.random() < 0.1:
        options["columns"] = rng.choice(({"subject": "1", "predicate": "2", "object": "3"}, {"time": "begin"}))
    if rng.random() < 0.2:
        options["date_format"] = rng.choice(("iso", "dmy", "mdy", "excel", "unix", "unix-ms", "%d.%m.%Y"))
    if rng.random() < 0.1:
        options["encoding"] = rng.choice(("latin-1", "utf-16", "cp1252", "utf-7", "idna"))
    if rng.random() < 0.1:
        options["separator"] = rng.choice((",", ";", "tab", "|"))
    is_open = path.is_file() and rng.random() < 0.1
    found = kw.load(io.BytesIO(path.read_bytes()) if is_open else path, **options)
    found.info(), found.check(), str(Diagnosis(found.report, found))
    if rng.random() < 0.1:
        found.save(path.parent / "saved")


def table(seeds: Path, here: Path, rng: random.Random) -> None:
    source = rng.choice(sorted((seeds / "tables").iterdir()))
    data = source.read_bytes()
    if source.suffix in (".gz", ".zst") and rng.random() < 0.5:  # damage inside
        pack = gzip.compress if source.suffix == ".gz" else zstandard.compress
        data = pack(damaged((seeds / "tables" / "facts.csv").read_bytes(), rng))
    else:
        data = damaged(data, rng)
    (here / source.name).write_bytes(data)
    _load(here / source.name, rng)


def typed_table(seeds: Path, here: Path, rng: random.Random) -> None:
    """A sound Parquet file with columns of any type."""
    values: list[pl.Series] = [
        pl.Series([1, 2, None]),
        pl.Series([1.5, float("nan"), float("inf")]),
        pl.Series([[1], [2, 3], []]),
        pl.Series([b"\xff", b"a", None]),
        pl.Series([{"a": 1}, {"a": 2}, None]),
        pl.Series(["a", "\ud7ff", "1999"]),
        pl.Series(["a", "b", "b"], dtype=pl.Categorical),
        pl.Series([True, False, None]),
        pl.Series(["1999", "2000-13", "+" + "9" * rng.choice((3, 12, 13, 30))]),
        pl.Series([None, None, None]),
        pl.Series([1e300, 2**70, 3.0]),
        pl.Series(["1999-01-01", None, "2000-01-01"]).str.to_date(),
        pl.Series([10, 20, 30]).cast(pl.Duration),
        pl.Series(["1.50", "2.00", "3"]).cast(pl.Decimal(10, 2)),
    ]
    names = ("subject", "predicate", "object", *rng.choice((("time",), ("begin", "end"), ())))
    pl.DataFrame({name: rng.choice(values) for name in names}).write_parquet(here / "t.parquet")
    _load(here / "t.parquet", rng)


def layout(seeds: Path, here: Path, rng: random.Random) -> None:
    folder = Path(shutil.copytree(rng.choice(sorted((seeds / "layouts").iterdir())), here / "data"))
    _damage_one(folder, rng)
    _load(folder, rng)


def dataset(seeds: Path, here: Path, rng: random.Random) -> None:
    folder = Path(shutil.copytree(seeds / "data", here / "data"))
    if rng.random() < 0.7:
        (folder / "SHA256SUMS").unlink()
    _damage_one(folder, rng)
    _load(folder, rng)


def _damage_one(folder: Path, rng: random.Random, how: Callable[[bytes, random.Random], bytes] = damaged) -> Path:
    path = rng.choice(sorted(path for path in folder.rglob("*") if path.is_file()))
    content = path.read_bytes()
    path.unlink()  # it may be a link to the seed
    path.write_bytes(how(content, rng))
    return path


def run(seeds: Path, here: Path, rng: random.Random, how: Callable[..., bytes] = damaged) -> None:
    name = rng.choice(("run", "begun"))
    folder = Path(shutil.copytree(seeds / name, here / "run", copy_function=os.link))
    path = _damage_one(folder, rng, how)
    found = _answers(folder)
    if found != json.loads((seeds / f"{name}.answers").read_text()):
        raise Changed(f"{path.relative_to(here)}")


def flipped_run(seeds: Path, here: Path, rng: random.Random) -> None:
    """One bit of a run: it is refused, or answers as before."""
    run(seeds, here, rng, flipped)


def unverified_run(seeds: Path, here: Path, rng: random.Random) -> None:
    folder = Path(shutil.copytree(seeds / rng.choice(("run", "begun")), here / "run", copy_function=os.link))
    _damage_one(folder, rng)
    _answers(folder, verify=False)


def resumed_run(seeds: Path, here: Path, rng: random.Random) -> None:
    folder = Path(shutil.copytree(seeds / "begun", here / "run", copy_function=os.link))
    _damage_one(folder, rng)
    kw.train(None, run=folder, resume=True)


_opened: dict[Path, Any] = {}


def _model(seeds: Path) -> Any:
    if seeds not in _opened:
        _opened[seeds] = kw.open(seeds / "run")
    return _opened[seeds]


def _text(rng: random.Random, *seeds: str) -> str:
    return damaged(rng.choice(seeds).encode(), rng).decode(errors=rng.choice(("surrogateescape", "replace")))


def question(seeds: Path, here: Path, rng: random.Random) -> None:
    model = _model(seeds)
    parts = [rng.choice(("e1", "?", "p1", "1999", _text(rng, "e1", "p1", "?", "1999..2001"))) for _ in range(4)]
    parts[rng.randrange(4)] = "?"
    options: dict[str, Any] = {"top": rng.choice((1, 3, 1000, 0, -1)), "novel": rng.random() < 0.2}
    if rng.random() < 0.2:
        options["candidates"] = rng.choice(("seen", [], ["e1", _text(rng, "e2")], "what"))
    str(model.ask(*parts, **options))
    if rng.random() < 0.2:
        str(model.timeline(parts[0], "p1", span=parts[3]))


def question_file(seeds: Path, here: Path, rng: random.Random) -> None:
    ending = rng.choice((".csv", ".jsonl", ".parquet"))
    frame = pl.read_csv(seeds / "world" / "questions.csv", infer_schema=False)
    path = here / f"q{ending}"
    {".csv": frame.write_csv, ".jsonl": frame.write_ndjson, ".parquet": frame.write_parquet}[ending](path)
    path.write_bytes(damaged(path.read_bytes(), rng))
    _model(seeds).ask(path, errors="return", top=2)


def recipe(seeds: Path, here: Path, rng: random.Random) -> None:
    path = here / "recipe.toml"
    path.write_bytes(damaged((seeds / "recipe.toml").read_bytes(), rng))
    check_fits(read_config(path), _model(seeds).dataset)


def setting(seeds: Path, here: Path, rng: random.Random) -> None:
    texts = [
        _text(rng, "model.rank=4", "training.epochs=2", "training.device=cpu", "model.evidence=[]") for _ in range(2)
    ]
    check_fits(read_config(None, texts), _model(seeds).dataset)


def date(seeds: Path, here: Path, rng: random.Random) -> None:
    period = parse_period(_text(rng, "1999", "-0044-03-15", "+2014-00-00T00:00:00Z", "19##", "1990..2000-05"))
    if period is not None:
        str(period), period.granularity


def dump_line(seeds: Path, here: Path, rng: random.Random) -> None:
    lines = (seeds / "world" / "dump.json").read_bytes()
    data = b"\n".join(damaged(line, rng) for line in rng.sample(lines.splitlines(), 3)) + b"\n"
    with mmap.mmap(-1, len(data)) as buffer:
        buffer[:] = data
        extract = extract_lines(buffer, 0, len(data), Parser(("en",)))
    extract.facts_frame(), extract.labels_frame()


def notes(seeds: Path, here: Path, rng: random.Random) -> None:
    """Files of JSON beside runs, and lists of names."""
    text = damaged(b'{"damage": "", "seconds": 1, "epoch": 2}\n{"seconds": 2}\n', rng)
    part = here / "part"
    part.mkdir()
    for name in ("timing.jsonl", "result.json", "part/finished.json", "part/00000001.json", "names.txt"):
        (here / name).write_bytes(text)
    manifest = Manifest(dump="x", dump_name="x", window_bytes=1, lang="en").model_dump_json().encode()
    (part / "manifest.json").write_bytes(damaged(manifest, rng) if rng.random() < 0.5 else manifest)
    uses: list[Callable[[], object]] = [
        lambda: read_lines(here / "timing.jsonl"),
        lambda: results.read_result(here / "result.json"),
        lambda: read_candidates(str(here / "names.txt")),
        lambda: read_classes([str(here / "names.txt")], "--keep"),
        lambda: (check_complete([Part(part)]), Part(part).counts(), Part(part).damage),
    ]
    rng.choice(uses)()


TARGETS: dict[str, tuple[Case, int]] = {  # and how often of a hundred
    "table": (table, 22),
    "typed_table": (typed_table, 6),
    "layout": (layout, 8),
    "dataset": (dataset, 8),
    "run": (run, 8),
    "flipped_run": (flipped_run, 4),
    "unverified_run": (unverified_run, 5),
    "resumed_run": (resumed_run, 1),
    "question": (question, 12),
    "question_file": (question_file, 6),
    "recipe": (recipe, 4),
    "setting": (setting, 3),
    "date": (date, 4),
    "dump_line": (dump_line, 6),
    "notes": (notes, 3),
}
