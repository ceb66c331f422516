"""A file of questions in, a file of answers out: bad rows are told, the others answered, the order kept."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from knowwhen.cli.output import errors, show
from knowwhen.cli.progress import count_progress
from knowwhen.errors import BadInput, BadRequest, KnowwhenError

if TYPE_CHECKING:
    from knowwhen.query import Answers, Question, TimeAnswers
    from knowwhen.trained import TrainedModel

AT_ONCE = 1000  # questions
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


def answer_file(
    trained: TrainedModel,
    questions: Path,
    out: Path,
    candidates: list[str] | str | None,
    options: dict[str, Any],
    as_json: bool,
) -> None:
    """Writes the answers to a file of questions."""
    from knowwhen.query.ask import question_rows

    rows = [tuple(None if part is None else str(part) for part in row) for row in question_rows(read_table(questions))]
    first_line = 2 if questions.suffix == ".csv" else 1
    answer_questions(trained, rows, out, options, as_json, candidates, f"{questions}:", first_line)


def split_questions(trained: TrainedModel, split: str) -> list[tuple[str | None, ...]]:
    """The questions (s, p, ?, t) of a split's facts, at the time they begin; at their end where that is unknown."""
    facts = trained.dataset.named(trained.dataset.facts(split))
    times = facts["begin"].fill_null(facts["end"])
    return [(s, p, "?", t) for s, p, t in zip(facts["subject"], facts["predicate"], times, strict=True)]


def answer_questions(
    trained: TrainedModel,
    rows: list[tuple[str | None, ...]],
    out: Path,
    options: dict[str, Any],
    as_json: bool,
    candidates: list[str] | str | None = None,
    source: str = "row ",
    first_line: int = 1,
) -> None:
    """Writes the answers to questions, one answer a row, and tells of those that have none."""
    write = writer_of(out)  # a bad name is told before the work
    found: list[dict[str, Any]] = []
    bad = 0
    with count_progress() as bars:
        task = bars.add_task("questions", total=len(rows))
        for start in range(0, len(rows), AT_ONCE):
            some = rows[start : start + AT_ONCE]
            for line, (row, answers) in enumerate(
                zip(some, _answer(trained, some, candidates, options), strict=True), start + first_line
            ):
                found += _rows(line, row, answers)
                bad += isinstance(answers, KnowwhenError)
                if isinstance(answers, KnowwhenError) and bad <= TOLD:
                    errors.print(f"{source}{line}: {answers}", soft_wrap=True, markup=False)
            bars.update(task, completed=start + len(some))
    if bad > TOLD:
        errors.print(f"and {bad - TOLD} more, named in the column error of {out}", soft_wrap=True, markup=False)
    write(pl.DataFrame(found, schema={**SCHEMA, "reasons": REASONS} if options.get("explain") else SCHEMA))
    show({"questions": len(rows), "answered": len(rows) - bad, "bad": bad, "out": str(out)}, as_json)


def _answer(
    trained: TrainedModel, rows: list[tuple[Any, ...]], candidates: list[str] | str | None, options: dict[str, Any]
) -> Iterator[Answers | TimeAnswers | KnowwhenError]:
    """The answers to each row, or what is wrong with it."""
    from knowwhen.query import answer, read_question
    from knowwhen.query.ask import check_answerable

    read: list[Question | KnowwhenError] = []
    for row in rows:
        try:
            question = read_question(trained.dataset, *row, candidates=candidates)
            check_answerable(trained.model, trained.dataset, question, novel=options.get("novel", False))
            read.append(question)
        except KnowwhenError as error:
            read.append(error)
    good = [one for one in read if not isinstance(one, KnowwhenError)]
    found = iter(answer(trained.model, trained.dataset, good, calibration=trained.calibration, **options))
    for one in read:
        yield one if isinstance(one, KnowwhenError) else next(found)


def _rows(line: int, question: tuple[Any, ...], found: Answers | TimeAnswers | KnowwhenError) -> list[dict[str, Any]]:
    """The rows of the output for one question; one without answer where there is none."""
    from knowwhen.query import TimeAnswers

    asked = dict(zip(("row", "subject", "predicate", "object", "time"), (line, *question, None), strict=False))
    if isinstance(found, KnowwhenError):
        return [{**asked, "error": str(found)}]
    if isinstance(found, TimeAnswers):
        rows = [{"answer": f"{span['begin']}..{span['end']}", **span} for span in found.to_dicts()]
        reasons = [found.reasons]  # of the best span alone
    else:
        rows = [{**row, "answer": row["name"]} for row in found.to_polars().to_dicts()]
        reasons = [row.reasons for row in found]
    rows = [{k: v for k, v in {**asked, **row, "rank": i}.items() if k in SCHEMA} for i, row in enumerate(rows, 1)]
    rows = [{**row, "reasons": why.to_dict()} if why else row for row, why in zip_longest(rows, reasons) if row]
    return rows or [{**asked, "error": "no answers are left"}]


def read_table(path: Path) -> pl.DataFrame:
    """A table by the ending of its name; all of a .csv is text."""
    readers: dict[str, Any] = {
        ".csv": lambda path: pl.read_csv(path, infer_schema=False),
        ".jsonl": pl.read_ndjson,
        ".parquet": pl.read_parquet,
    }
    if path.suffix not in readers:
        raise BadRequest(f"cannot read {path.name!r}; expected a name that ends in {', '.join(readers)}")
    try:
        table: pl.DataFrame = readers[path.suffix](path)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise BadInput(f"cannot read {path}: {str(error).splitlines()[0]}") from error
    return table


def writer_of(path: Path) -> Any:
    """What writes a table, by the ending of its name."""
    writers: dict[str, Any] = {
        ".csv": lambda table: table.write_csv(path),
        ".jsonl": lambda table: table.write_ndjson(path),
        ".parquet": lambda table: table.write_parquet(path),
    }
    if path.suffix not in writers:
        raise BadRequest(f"cannot write {path.name!r}; expected a name that ends in {', '.join(writers)}")
    return writers[path.suffix]
