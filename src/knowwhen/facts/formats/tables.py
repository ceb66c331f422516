"""Anyone's table of facts: CSV, TSV, JSON lines, Parquet; plain, .gz or .zst; one file or a folder of splits."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl

from knowwhen.errors import BadInput, BadRequest, did_you_mean
from knowwhen.facts.formats.delimited import COMPRESSED, count, read_bytes, read_delimited
from knowwhen.facts.formats.named import (
    NAMES,
    SPLITS,
    TIMES,
    NamedDataset,
    NamedFacts,
    ReadOptions,
    check_names_and_times,
)
from knowwhen.facts.formats.problems import Problem, Problems
from knowwhen.facts.frames import FOREIGN, read_parquet, reading
from knowwhen.facts.vocabulary import is_text

ENDINGS = (".csv", ".tsv", ".txt", ".jsonl", ".ndjson", ".parquet")

# Header names that are recognised, in lower case with _ for blanks and hyphens.
HEADERS = {
    "subject": ("subject", "s", "subj", "head", "h", "source", "subject_id", "entity1"),
    "predicate": ("predicate", "p", "pred", "relation", "rel", "r", "property", "predicate_id"),
    "object": ("object", "o", "obj", "tail", "target", "object_id", "entity2"),
    "time": ("time", "t", "date", "timestamp", "datetime", "when", "year", "day", "point_in_time"),
    "begin": ("begin", "start", "since", "valid_from", "begin_date", "start_date", "begin_time", "start_time"),
    "end": ("end", "until", "till", "stop", "valid_to", "valid_until", "end_date", "end_time"),
}
NO_TIME = ("", "null", "none", "nan", "nat", "na", "n/a")  # texts that tables use for an empty cell


class Tables:
    name = "table"
    about = "CSV, TSV, JSON lines or Parquet with a header, one file or train/valid/test in a folder"
    is_folder = False

    def matches(self, path: Path) -> bool:
        return ending(path) in ENDINGS or (path.is_dir() and bool(tables_in(path)))

    def read(self, path: Path, options: ReadOptions, problems: Problems) -> NamedDataset:
        if not path.is_dir():
            return NamedDataset({"": read_table(path, options, problems)}, name=stem(path), is_filled=True)
        files = tables_in(path)
        if len(files) == 1 and not set(files) & set(SPLITS):
            (file,) = files.values()
            return NamedDataset({"": read_table(file, options, problems)}, name=path.resolve().name, is_filled=True)
        return NamedDataset(read_splits(path, options, problems), name=path.resolve().name, is_filled=True)


def read_splits(folder: Path, options: ReadOptions, problems: Problems) -> dict[str, NamedFacts]:
    """The facts of train, valid and test tables in a folder; valid and test may be missing."""
    files = tables_in(folder)
    if "train" not in files:
        raise BadInput(f"no train file in {folder} (train.csv, train.tsv, train.parquet …); found {_listing(folder)}")
    return {split: read_table(files[split], options, problems) for split in SPLITS if split in files}


def tables_in(folder: Path) -> dict[str, Path]:
    """Files that may hold facts, by name without endings; a dataset's own label tables are not among them."""
    found: dict[str, Path] = {}
    for file in table_files(folder):
        if stem(file) in found:
            raise BadInput(f"{found[stem(file)]} and {file.name} are both tables of {stem(file)}; remove one of them")
        found[stem(file)] = file
    return {name: file for name, file in found.items() if name not in ("entities", "predicates")}


def table_files(folder: Path) -> list[Path]:
    """The files in a folder that are tables by their names."""
    return sorted(f for f in folder.iterdir() if f.is_file() and ending(f) in ENDINGS and not f.name.startswith("."))


def read_table(path: Path, options: ReadOptions, problems: Problems) -> NamedFacts:
    """The facts of one table."""
    positional = bool(options.columns) and all(value.isdigit() for value in options.columns.values())
    kind = ending(path)
    if kind == ".parquet":
        rows = _read_parquet(path)
    elif kind in (".jsonl", ".ndjson"):
        rows = _read_json_lines(path, problems)
    else:
        separator = "," if kind == ".csv" or (kind == ".txt" and b"\t" not in read_bytes(path)[:10_000]) else "\t"
        names = None
        if positional:  # no header: as many columns as the first line has
            first = read_bytes(path).partition(b"\n")[0].decode(errors="replace")
            names = [str(i + 1) for i in range(first.count(separator) + 1)]
        quote = '"' if separator == "," else None
        rows = read_delimited(path, names, problems, separator=separator, quote=quote)
    columns = choose_columns([c for c in rows.columns if c != "line"], options.columns, path)
    with reading(path, "facts"):
        chosen = rows.select(
            *(_text(rows[columns[name]]).alias(name) for name in NAMES),
            *(_time(rows, columns.get(name) or columns.get("time")).alias(name) for name in TIMES),
            "line",
        )
    return check_names_and_times(chosen, path, problems)


def choose_columns(found: list[str], wanted: dict[str, str], path: Path) -> dict[str, str]:
    """Our column names to the file's: those asked for, else those whose header is recognised."""
    for ours, theirs in wanted.items():
        if ours not in HEADERS:
            raise BadRequest(f"no column {ours!r}; ours are {', '.join(HEADERS)}{did_you_mean(ours, HEADERS)}")
        if theirs not in found:
            raise BadRequest(f"no column {theirs!r} in {path}; it has {', '.join(found)}{did_you_mean(theirs, found)}")
    plain = {name.strip().lower().replace(" ", "_").replace("-", "_"): name for name in reversed(found)}
    chosen = dict(wanted)
    for ours, names in HEADERS.items():
        match = next((plain[n] for n in names if n in plain and plain[n] not in chosen.values()), None)
        if match is not None and ours not in chosen:
            chosen[ours] = match
    if "time" in chosen and ("begin" in chosen or "end" in chosen):
        if "time" in wanted:
            chosen.pop("begin", None), chosen.pop("end", None)
        else:
            del chosen["time"]
    missing = [name for name in NAMES if name not in chosen]
    if missing:
        raise BadInput(
            f"{path}: cannot tell which column is the {' and the '.join(missing)} among {', '.join(found)}; "
            "name them with --columns subject=A,predicate=B,object=C,time=D (numbers when there is no header)"
        )
    return chosen


def ending(path: Path) -> str:
    """The ending that says what is inside: .csv for facts.csv.gz."""
    return (path.with_suffix("") if path.suffix in COMPRESSED else path).suffix.lower()


def stem(path: Path) -> str:
    return path.name.removesuffix(path.suffix if path.suffix in COMPRESSED else "").removesuffix(ending(path))


def _read_parquet(path: Path) -> pl.DataFrame:
    rows = read_parquet(path, data=read_bytes(path) if path.suffix in COMPRESSED else None)
    return rows.drop("line", strict=False).with_columns(line=pl.int_range(1, len(rows) + 1, dtype=pl.Int64))


def _read_json_lines(path: Path, problems: Problems) -> pl.DataFrame:
    """One object a line; polars where all lines are objects, else line by line to name those that are not."""
    data = read_bytes(path)
    try:
        rows = pl.read_ndjson(data, infer_schema_length=None)
        if len(rows) == count(data, "\n") + (not data.endswith(b"\n")):
            return rows.with_columns(line=pl.int_range(1, len(rows) + 1, dtype=pl.Int64))
    except FOREIGN:
        pass
    records = []
    for line, text in enumerate(data.split(b"\n"), start=1):
        if not text.strip():
            continue
        try:
            record = json.loads(text)
        except (ValueError, RecursionError):
            record = None
        if isinstance(record, dict) and is_text(text.decode(errors="ignore") + json.dumps(record, ensure_ascii=False)):
            records.append({**{key: _json_text(value) for key, value in record.items()}, "line": line})
        else:
            shown = text.decode(errors="backslashreplace")
            problems.add(Problem(str(path), line, "line", repr(shown[:80]), "one JSON object", (shown,)))
    if not records:
        problems.finish()
        raise BadInput(f"{path} has no JSON object in any line")
    with reading(path, "JSON lines"):
        return pl.DataFrame(records, infer_schema_length=None)


def _json_text(value: object) -> str | None:
    return value if value is None or isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _text(column: pl.Series) -> pl.Series:
    """A column as text: years stored as numbers lose their .0, dates become ISO."""
    if column.dtype.is_float() and (column.drop_nulls().drop_nans() % 1 == 0).all():
        column = column.fill_nan(None).cast(pl.Int64)
    if column.dtype.is_nested() or column.dtype == pl.Object:
        raise BadInput(f"the column {column.name!r} is of type {column.dtype}; expected text, numbers or dates")
    return column.cast(pl.String)


def _time(rows: pl.DataFrame, name: str | None) -> pl.Series:
    if name is None:
        return pl.Series([None] * len(rows), dtype=pl.String)
    text = _text(rows[name])
    # text.set(text.str.strip_chars().str.to_lowercase().is_in(NO_TIME), None), with each different text read once
    different = text.unique()
    none = different.filter(different.str.strip_chars().str.to_lowercase().is_in(NO_TIME))
    return text.set(text.is_in(none.implode()), None) if len(none) else text


def _listing(folder: Path) -> str:
    names = sorted(p.name for p in folder.iterdir())
    return ", ".join(names[:8]) + (" …" if len(names) > 8 else "") if names else "nothing"
