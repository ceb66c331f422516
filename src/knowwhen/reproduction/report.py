"""All tables, and the page docs/results.md that is made of them and never edited."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from knowwhen.errors import BadRequest, did_you_mean
from knowwhen.files import UNCHANGED, write_whole, writing
from knowwhen.reproduction.dates import TIMES
from knowwhen.reproduction.field import FIELD
from knowwhen.reproduction.link_prediction import EVIDENCE, PARAMS, STDDEV, TABLE2
from knowwhen.reproduction.penalties import FIGURE1, TABLE3
from knowwhen.reproduction.published import PUBLISHED
from knowwhen.reproduction.results import Result
from knowwhen.reproduction.sampling import SAMPLING
from knowwhen.reproduction.table import Row, Table, number
from knowwhen.reproduction.table4 import TABLE4
from knowwhen.reproduction.times import FIGURE2, WIKIDATA

# In the order of the page. A new table is one entry here.
TABLES = {
    t.name: t
    for t in (
        *(PARAMS, TABLE2, EVIDENCE, STDDEV, TABLE3, FIGURE1, FIGURE2, WIKIDATA, TIMES, TABLE4, SAMPLING),
        *(PUBLISHED, FIELD),
    )
}


def table_named(name: str) -> Table:
    if name not in TABLES:
        raise BadRequest(f"no table {name!r}; there are {', '.join(TABLES)}{did_you_mean(name, TABLES)}")
    return TABLES[name]


def write_page(results: Sequence[Result], path: Path) -> None:
    """Writes the page of results, with figures beside it."""
    figures = {name: f"results-{name}.svg" for name, table in TABLES.items() if table.figure}
    drawn = {n: f for n, f in figures.items() if TABLES[n].draw(results, TABLES[n].datasets[0], path.parent / f)}
    with writing(path, UNCHANGED):
        write_whole(path, results_page(results, drawn).encode())


def results_page(results: Sequence[Result], figures: Mapping[str, str] | None = None) -> str:
    """Every table that has results, figures by table beside them, and how each result was made."""
    parts = ["# Results\n\n<!-- made by `knowwhen reproduce`; never edited by hand -->\n"]
    parts += ["\nFiltered at the query's time, ties half, both directions unless said; weights are chosen on valid.\n"]
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
    made = ("epochs", "minutes", "machine", "commit", "command")
    rows: list[Row] = [("table", "data", "row", "seed", "valid MRR", "test MRR", *made)]
    for r in results:
        what = (r.table, r.data, f"{r.row} {r.choice}".strip(), str(r.seed))
        scores = (number(r.valid_mrr), number(r.test["mrr"]))
        rows.append((*what, *scores, str(r.epochs), f"{r.minutes:g}", r.machine, r.commit, f"`{r.command}`"))
    return rows


def markdown(rows: Sequence[Row]) -> str:
    assert all(len(row) == len(rows[0]) for row in rows)
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join([lines[0], "|" + "---|" * len(rows[0]), *lines[1:]]) + "\n"
