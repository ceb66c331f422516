"""A file of questions in, a file of answers out: bad rows are told, the others answered, the order kept."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from knowwhen.chunks import slices
from knowwhen.cli.kept import GOES_ON, Kept, key_of
from knowwhen.cli.output import complain, show
from knowwhen.console import count_bars
from knowwhen.errors import BadRequest, KnowwhenError
from knowwhen.facts.frames import WRITERS, check_regular, table_bytes, without_formulas
from knowwhen.files import check_target, write_whole, writing

if TYPE_CHECKING:
    from knowwhen.query import Answers, TimeAnswers
    from knowwhen.query.rows import Row
    from knowwhen.trained import TrainedModel

AT_ONCE = 1000  # questions
NONE_LEFT = "no answers are left"
TOLD = 20  # bad rows, one a line; the file has all
SCHEMA = {
    "row": pl.Int64,
    "subject": pl.String,
    "predicate": pl.String,
    "object": pl.String,
    "time": pl.String,
    "rank": pl.Int64,
    "answer": pl.String,
    "key": pl.String,
    "score": pl.Float64,
    "probability": pl.Float64,
    "known": pl.Boolean,
    "begin": pl.String,
    "end": pl.String,
    "as_of": pl.String,
    "error": pl.String,
}
FACT = dict.fromkeys(("subject", "predicate", "object", "begin", "end", "lag"), pl.String)
REASONS = pl.Struct(
    {
        "decomposition": pl.Float64,
        "facts": pl.List(pl.Struct({**FACT, "keys": pl.List(pl.String), "value": pl.Float64})),
        "others": pl.Float64,
        "correction": pl.Float64,
        "time": pl.String,
        "note": pl.String,
    }
)


class Target:
    """Where a table goes: its kind is that of its ending, or as given; the place is checked before the work."""

    def __init__(self, path: Path, for_spreadsheets: bool = False, kind: str = "") -> None:
        self.path, self.for_spreadsheets, self.kind = path, for_spreadsheets, kind or path.suffix.removeprefix(".")
        check_target(path)

    def check_kind(self) -> None:
        if f".{self.kind}" not in WRITERS:
            raise BadRequest(f"cannot write {self.path.name!r}; expected a name that ends in {', '.join(WRITERS)}")

    def write(self, table: pl.DataFrame) -> None:
        if self.for_spreadsheets and self.kind == "csv":
            table = without_formulas(table)
        with writing(self.path, GOES_ON):
            write_whole(self.path, table_bytes(table, f".{self.kind}"))


def answer_file(
    trained: TrainedModel,
    questions: str,
    target: Target,
    candidates: Sequence[str] | None,
    options: dict[str, Any],
    as_json: bool,
) -> None:
    """Writes the answers to a file of questions, or to those on standard input (-)."""
    from knowwhen.query.rows import name_text, rows_of, time_text

    def as_text(row: Row) -> Row:
        names, time = row.parts[:3], row.parts[3] if len(row.parts) > 3 else None
        return replace(row, parts=(*map(name_text, names), time_text(time) or None))

    rows = [as_text(row) if row.error is None else row for row in rows_of(questions)]
    source = "standard input:" if questions == "-" else f"{questions}:"
    answer_questions(trained, rows, target, options, as_json, candidates, source)


def check_files(questions: str, out: Path) -> None:
    """An error before the work, where there are no questions, or their answers would take their place."""
    if questions == "-":
        return
    check_regular(Path(questions))
    if out.exists() and out.samefile(questions):
        raise BadRequest(f"--out is {out}, the file of questions itself; name another")


def split_questions(trained: TrainedModel, split: str) -> list[Row]:
    """The questions (s, p, ?, t) of a split's facts, at the time they begin; at their end where that is unknown."""
    from knowwhen.query.rows import Row

    facts = trained.dataset.named(trained.dataset.facts(split))
    times = facts["begin"].fill_null(facts["end"])
    named = zip(facts["subject"], facts["predicate"], times, strict=True)
    return [Row(number, (s, p, "?", t)) for number, (s, p, t) in enumerate(named, 1)]


def answer_questions(
    trained: TrainedModel,
    rows: list[Row],
    target: Target,
    options: dict[str, Any],
    as_json: bool,
    candidates: Sequence[str] | None = None,
    source: str = "row ",
) -> None:
    """Writes the answers to questions, one answer a row, and tells of those that have none."""
    target.check_kind()
    asked = [(row.number, *row.parts) for row in rows]
    key = key_of(trained, asked, options, candidates) if len(rows) > AT_ONCE else ""
    schema: dict[str, Any] = {**SCHEMA, "reasons": REASONS} if options.get("explain") else {**SCHEMA}
    found: list[pl.DataFrame] = []
    with count_bars() as bars, Kept.beside(target.path, key) if key else nullcontext() as kept:
        task = bars.add_task("questions", total=len(rows))
        for number, part in enumerate(slices(len(rows), AT_ONCE)):
            answers = kept.get(number) if kept else None
            if answers is None:
                each = zip(rows[part], _answer(trained, rows[part], candidates, options), strict=True)
                lines = [line for row, one in each for line in _lines(row, one)]
                answers = pl.DataFrame(lines, schema=schema)
                if kept:
                    kept.put(number, answers)
            found.append(answers)
            bars.update(task, completed=part.stop)
        table = pl.concat(found) if found else pl.DataFrame(schema=schema)
        target.write(table)
    bad = _tell_bad(table, source, target.path)
    show({"questions": len(rows), "answered": len(rows) - bad, "bad": bad, "out": str(target.path)}, as_json)
    if rows and bad == len(rows):
        raise BadRequest(f"none of the {len(rows)} questions could be answered; {target.path} says why")


def _tell_bad(table: pl.DataFrame, source: str, out: Path) -> int:
    """Says which questions have no answer and why; their number."""
    bad = table.filter(pl.col("error").is_not_null() & (pl.col("error") != NONE_LEFT))
    for line, error in bad.select("row", "error").head(TOLD).iter_rows():
        complain(f"{source}{line}: {error}")
    if len(bad) > TOLD:
        complain(f"and {len(bad) - TOLD} more; the column error of {out} names them")
    return len(bad)


def _answer(
    trained: TrainedModel, rows: Sequence[Row], candidates: Sequence[str] | None, options: dict[str, Any]
) -> list[Answers | TimeAnswers | KnowwhenError]:
    """The answers to each row, or what is wrong with it."""
    readable = [row.parts for row in rows if row.error is None]
    answers = iter(trained.ask(readable, candidates=candidates, errors="return", **options))
    return [next(answers) if row.error is None else row.error for row in rows]


def _lines(row: Row, found: Answers | TimeAnswers | KnowwhenError) -> list[dict[str, Any]]:
    """The rows of the output for one question; one without answer where there is none."""
    from knowwhen.query import TimeAnswers

    asked = dict(zip(("row", "subject", "predicate", "object", "time"), (row.number, *row.parts), strict=False))
    if isinstance(found, KnowwhenError):
        return [{**asked, "error": str(found)}]
    if isinstance(found, TimeAnswers):
        lines = [{"answer": f"{span['begin']}..{span['end']}", **span} for span in found.to_dicts()]
        reasons = [found.reasons]  # of the best span alone
    else:
        lines = [{**line, "answer": line["name"], "as_of": found.as_of} for line in found.to_polars().to_dicts()]
        reasons = [one.reasons for one in found]
    lines = [{k: v for k, v in {**asked, **line, "rank": i}.items() if k in SCHEMA} for i, line in enumerate(lines, 1)]
    lines = [{**line, "reasons": why.to_dict()} if why else line for line, why in zip_longest(lines, reasons) if line]
    return lines or [{**asked, "error": NONE_LEFT}]
