"""The page docs/results.md, which is made of stored results and never edited."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from knowwhen.files import UNCHANGED, write_whole, writing
from knowwhen.reproduction.planning import current
from knowwhen.reproduction.results import Result
from knowwhen.reproduction.table import FOOTNOTE, Row, marked, number
from knowwhen.reproduction.tables import TABLES
from knowwhen.text import plural


def write_page(stored: Sequence[Result], path: Path, epochs: int | None = None) -> None:
    """Writes the page of the stored results, with figures beside it."""
    results = current(stored, epochs)
    figures = {name: f"results-{name}.svg" for name, table in TABLES.items() if table.figure}
    drawn = {n: f for n, f in figures.items() if TABLES[n].draw(results, TABLES[n].datasets, path.parent / f)}
    with writing(path, UNCHANGED):
        write_whole(path, results_page(results, drawn, len(stored) - len(results)).encode())


def results_page(results: Sequence[Result], figures: Mapping[str, str] | None = None, outdated: int = 0) -> str:
    """Every table that has results, figures by table beside them, and how each result was made."""
    parts = ["# Results\n\n<!-- made by `knowwhen reproduce --out docs/results.md`; do not edit by hand -->\n"]
    parts += ["\nBy default, filtered at the query's time, ties half, both directions. Weights are chosen on valid.\n"]
    parts += [f"\n{FOOTNOTE}\n"] if any(r.is_provisional for r in results) else []
    if outdated:
        parts += [f"\n{plural(outdated, 'stored result')} from outdated code or settings are not shown.\n"]
    for name, table in TABLES.items():
        here = table.of(results)
        rows = table.rows(here)
        if len(rows) > 1:
            parts += [f"\n## {table.title}\n\n{markdown(rows)}"]
            parts += [f"\n![{table.title}]({figures[name]})\n"] if figures and name in figures else []
            parts += [f"\n{note}\n"] if table.note and (note := table.note(here)) else []
    parts += [f"\n## How each was made\n\n{markdown(runs_rows(results))}"] if results else []
    return "".join(parts)


def runs_rows(results: Sequence[Result]) -> list[Row]:
    """Each result with the command that makes it."""
    made = ("epochs", "minutes", "GB", "machine", "commit", "command")
    rows: list[Row] = [("table", "data", "row", "seed", "valid MRR", "test MRR", *made)]
    for r in results:
        what = (r.table, r.data, marked(f"{r.row} {r.choice}".strip(), [r]), str(r.seed))
        scores = (number(r.valid_mrr), number(r.test["mrr"]))
        machine = f"{r.machine}, {plural(r.threads, 'thread')}" if r.threads else r.machine
        spent = (str(r.epochs), f"{r.minutes:g}", "" if r.memory_gb is None else f"{r.memory_gb:g}")
        rows.append((*what, *scores, *spent, machine, r.commit, f"`{r.command}`"))
    return rows


def markdown(rows: Sequence[Row]) -> str:
    assert all(len(row) == len(rows[0]) for row in rows)
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join([lines[0], "|" + "---|" * len(rows[0]), *lines[1:]]) + "\n"
