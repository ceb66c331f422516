"""Anyone's table of facts: a file of any usual kind, a folder of splits, or a frame in memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import polars as pl

from knowwhen.errors import BadDate, BadInput
from knowwhen.facts.dates import parse_period
from knowwhen.facts.formats.calendars import NAMED, Calendar
from knowwhen.facts.formats.content import Content, ending, stem
from knowwhen.facts.formats.headers import NAMES, choose_columns
from knowwhen.facts.formats.named import (
    RECORDED,
    SPLITS,
    TIMES,
    NamedDataset,
    NamedFacts,
    ReadOptions,
    Written,
    check_names_and_times,
)
from knowwhen.facts.formats.problems import Problems
from knowwhen.facts.formats.report import FileReport
from knowwhen.facts.formats.rows import ENDINGS, read_rows
from knowwhen.facts.frames import reading

NO_TIME = ("", "null", "none", "nan", "nat", "na", "n/a", "<na>", "\\n")  # texts that tables use for an empty cell
SPLIT_NAMES = {"dev": "valid", "val": "valid", "validation": "valid", "training": "train", "testing": "test"}
LABELS = ("entities", "predicates")  # a dataset's own tables of labels
NODE_NAMES, NODE_OWN = ("name", "title", "label"), ("_id", "_labels")  # of nodes in tables of Neo4j
SEEN = 200  # values of a column that are looked at to tell what it holds


class Tables:
    name = "table"
    about = "CSV, TSV, JSON (lines), Parquet or Excel, one file or train/valid/test in a folder"
    is_folder = False

    def matches(self, path: Path) -> bool:
        return ending(path) in ENDINGS or (path.is_dir() and bool(tables_in(path)))

    def read(self, path: Path, options: ReadOptions, problems: Problems) -> NamedDataset:
        if not path.is_dir():
            facts = read_table(path, options, problems)
            return NamedDataset({"": facts}, name=stem(path), is_filled=True, entity_labels=facts.labels)
        files, name = tables_in(path), path.resolve().name
        if len(files) == 1 and not set(files) & set(SPLITS):
            (file,) = files.values()
            return NamedDataset({"": read_table(file, options, problems)}, name=name, is_filled=True)
        problems.report.ignored += [file.name for split, file in files.items() if split not in SPLITS]
        return NamedDataset(read_splits(path, options, problems), name=name, is_filled=True)


def read_splits(folder: Path, options: ReadOptions, problems: Problems, *, own: bool = False) -> dict[str, NamedFacts]:
    """The facts of train, valid and test tables in a folder; valid and test may be missing."""
    files = tables_in(folder)
    if "train" not in files:
        raise BadInput(f"no train file in {folder} (train.csv, train.tsv, train.parquet …); found {_listing(folder)}")
    return {split: read_table(files[split], options, problems, own=own) for split in SPLITS if split in files}


def tables_in(folder: Path) -> dict[str, Path]:
    """Files that may hold facts, by split or by name without endings; a dataset's own tables of labels are left out."""
    found: dict[str, Path] = {}
    for file in table_files(folder):
        name = SPLIT_NAMES.get(stem(file).lower(), stem(file))
        if name in found:
            raise BadInput(f"{found[name]} and {file.name} are both {name} tables; remove one of them")
        found[name] = file
    return {name: file for name, file in found.items() if name not in LABELS}


def table_files(folder: Path) -> list[Path]:
    """The files in a folder that are tables by their names."""
    return sorted(
        f
        for f in folder.iterdir()
        if f.is_file() and not f.name.startswith(".") and not f.name.endswith(".rejects.tsv") and ending(f) in ENDINGS
    )


def read_table(path: Path, options: ReadOptions, problems: Problems, *, own: bool = False) -> NamedFacts:
    """The facts of one table; `own` ones, which we wrote, are taken as they are."""
    return facts_of(*read_rows(path, options, problems), options, problems, own=own)


def read_content_table(content: Content, options: ReadOptions, problems: Problems) -> NamedFacts:
    """The same of bytes that are already here."""
    return facts_of(*read_rows(content, options, problems), options, problems)


def facts_of(
    rows: pl.DataFrame, report: FileReport, options: ReadOptions, problems: Problems, *, own: bool = False
) -> NamedFacts:
    """The facts of rows with a column `line`, and what was found on the way in the report."""
    rows, labels = _without_nodes(rows)
    headers = [column for column in rows.columns if column != "line"]
    chosen = choose_columns(
        headers, options.columns, report.name, predicate=options.predicate, is_time=_tells_time(rows)
    )
    problems.report.files.append(report)
    report.rows, report.columns = len(rows), chosen
    report.unused = [header for header in headers if header not in chosen.values()]
    with reading(Path(report.name), "facts"):
        names = {name: _text(rows[chosen[name]]) for name in NAMES if name in chosen}
        times = {name: _time(rows, chosen.get(name) or chosen.get("time")) for name in TIMES}
    if "predicate" not in names:
        names["predicate"] = pl.Series([options.predicate], dtype=pl.String).new_from_index(0, len(rows))
    written: Written = {}
    if not own:
        names = _trimmed(names, report)
        times, written = _as_iso(times, chosen, options, report)
    recorded = _recorded(rows, chosen, options, report.name)
    table = pl.DataFrame({**{name: names[name] for name in NAMES}, **times, **recorded, "line": rows["line"]})
    table = _without_blank_rows(table)
    theirs = {"begin": chosen.get("time", "begin"), "end": chosen.get("time", "end"), **chosen}
    facts = check_names_and_times(table, report.name, problems, theirs=theirs, written=written, clock=options.has_clock)
    facts = replace(facts, labels=labels)
    report.clocks = facts.clocks // (2 if "time" in chosen else 1)  # one column stands for both ends
    return facts


def _without_nodes(rows: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame | None]:
    """The relationships of a table in which Neo4j also has its nodes, and the names of these."""
    if not {"_id", "_start", "_end"} <= set(rows.columns):
        return rows, None
    is_node = rows["_start"].is_null() | (rows["_start"].cast(pl.String) == "")
    name = next((one for one in NODE_NAMES if one in rows.columns), None)
    nodes, edges = rows.filter(is_node), rows.filter(~is_node)
    used = [column for column in edges.columns if column in NODE_OWN or edges[column].null_count() < len(edges)]
    edges = edges.select(column for column in used if column not in NODE_OWN and column != name)
    if name is None:
        return edges, None
    return edges, nodes.select(key=pl.col("_id").cast(pl.String), label=pl.col(name).cast(pl.String))


def table_of(content: Content, options: ReadOptions, problems: Problems) -> NamedDataset:
    """The dataset of a table that is no file."""
    return NamedDataset({"": read_content_table(content, options, problems)}, name=content.stem, is_filled=True)


def frame_of(rows: pl.DataFrame, name: str, options: ReadOptions, problems: Problems) -> NamedDataset:
    """The dataset of a frame in memory."""
    rows = rows.drop("line", strict=False).with_columns(line=pl.int_range(1, len(rows) + 1, dtype=pl.Int64))
    facts = facts_of(rows, FileReport(name, "a table in memory"), options, problems)
    return NamedDataset({"": facts}, name="facts", is_filled=True)


def _tells_time(rows: pl.DataFrame) -> Callable[[str], bool]:
    def is_time(column: str) -> bool:
        """Whether most values of a column are dates."""
        if rows[column].dtype.is_temporal():
            return True
        try:
            values = _text(rows[column].drop_nulls().head(SEEN)).unique().to_list()
        except (BadInput, pl.exceptions.PolarsError):
            return False
        values = [value for value in values if value.strip()]
        return bool(values) and sum(map(looks_like_date, values)) > len(values) / 2

    return is_time


def looks_like_date(text: str) -> bool:
    """Whether a text can be read as a date, in one way or another."""
    if not any(character.isdigit() for character in text):
        return False
    try:
        begin, end = Calendar(day_first=True).read(text)
        return all(part is None or parse_period(part) is not None for part in (begin, end))
    except BadDate:
        return False


def _text(column: pl.Series) -> pl.Series:
    """A column as text: years stored as numbers lose their .0, dates become ISO."""
    if column.dtype.is_float():
        return _numbers(column)
    if column.dtype.is_nested() or column.dtype == pl.Object:
        raise BadInput(f"column {column.name!r} has type {column.dtype}; expected text, numbers or dates")
    return column.cast(pl.String)


def _numbers(column: pl.Series) -> pl.Series:
    """Floats as text, whole ones without the .0."""
    column = column.fill_nan(None)
    if (column.drop_nulls() % 1 == 0).all():
        return column.cast(pl.Int64).cast(pl.String)
    return column.cast(pl.String).str.replace(r"\.0$", "")


def _time(rows: pl.DataFrame, name: str | None) -> pl.Series:
    if name is None:
        return pl.Series([None] * len(rows), dtype=pl.String)
    text = _text(rows[name])
    # text.set(text.str.strip_chars().str.to_lowercase().is_in(NO_TIME), None), with each different text read once
    different = text.unique()
    none = different.filter(different.str.strip_chars().str.to_lowercase().is_in(NO_TIME))
    return text.set(text.is_in(none.implode()), None) if len(none) else text


def _trimmed(names: dict[str, pl.Series], report: FileReport) -> dict[str, pl.Series]:
    """The names without blanks around them and with accents written in one way; the report counts those that differ."""
    found = {}
    for name, column in names.items():
        stripped = column.str.strip_chars()
        report.trimmed += int((stripped != column).sum())
        found[name] = stripped
        if (stripped.str.len_bytes() != stripped.str.len_chars()).any():  # ASCII has nothing to compose
            found[name] = stripped.str.normalize("NFC")
            report.composed += int((found[name] != stripped).sum())
    return found


def _recorded(rows: pl.DataFrame, chosen: dict[str, str], options: ReadOptions, name: str) -> dict[str, pl.Series]:
    """When facts were written down, as ISO texts; a pattern of dates is that of the other columns."""
    if RECORDED not in chosen:
        return {}
    given = options.date_format if options.date_format in NAMED else None
    column = _time(rows, chosen[RECORDED])
    written = column.unique().drop_nulls().sort()
    calendar = Calendar.of(written, given, chosen[RECORDED], name)
    iso = pl.Series([calendar.read(text)[0] for text in written], dtype=pl.String)
    return {RECORDED: column.replace_strict(written, iso, default=None)}


def _as_iso(
    times: dict[str, pl.Series], chosen: dict[str, str], options: ReadOptions, report: FileReport
) -> tuple[dict[str, pl.Series], Written]:
    """The times as ISO texts, and what the table has for each where it differs; each different text is read once."""
    texts = {end: column.unique().drop_nulls().sort().to_list() for end, column in times.items()}
    theirs = [chosen[column] for column in ("time", *TIMES) if column in chosen]
    calendar = Calendar.of([*texts["begin"], *texts["end"]], options.date_format, " and ".join(theirs), report.name)
    found, written = {}, {}
    for side, end in enumerate(TIMES):
        here = replace(calendar, found=calendar.found if side == 0 or "time" not in chosen else type(calendar.found)())
        iso = [here.read(text)[side] for text in texts[end]]
        column = times[end]
        found[end] = column
        if texts[end] != iso:
            changed = pl.Series(texts[end], dtype=pl.String), pl.Series(iso, dtype=pl.String)
            found[end] = column.replace_strict(*changed, default=None)
            once = Counter(iso)  # of two texts with one date, nobody could tell which one stood there
            written[end] = {date: text for date, text in zip(iso, texts[end], strict=True) if date and once[date] == 1}
    report.date_formats = dict(calendar.found)
    return found, written


def _without_blank_rows(table: pl.DataFrame) -> pl.DataFrame:
    """Spreadsheets write lines of separators alone for rows that were used once."""
    blank = pl.all_horizontal(pl.col(*NAMES, *TIMES).is_null() | (pl.col(*NAMES, *TIMES) == ""))
    return table.filter(~blank) if table.select(blank.any()).item() else table


def _listing(folder: Path) -> str:
    names = sorted(p.name for p in folder.iterdir())
    return ", ".join(names[:8]) + (" …" if len(names) > 8 else "") if names else "nothing"
