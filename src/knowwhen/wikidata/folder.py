"""The tables of a dataset folder, written from a selection: facts by split, and labels."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from knowwhen.facts.formats.named import SPLITS
from knowwhen.facts.frames import write_parquet
from knowwhen.wikidata.selection import Selection, literal, quoted
from knowwhen.wikidata.splitting import Fact, HeldOut

_FACTS = {"s": pl.Int64, "p": pl.Int64, "o": pl.Int64, "b": pl.Int64, "e": pl.Int64}
_TRAIN = """
    CREATE VIEW train AS SELECT facts.* FROM facts ANTI JOIN (FROM valid UNION ALL FROM test) AS h
    ON facts.s = h.s AND facts.p = h.p AND facts.o = h.o
    AND facts.b IS NOT DISTINCT FROM h.b AND facts.e IS NOT DISTINCT FROM h.e
"""
_NAMED = """
    SELECT 'Q' || s AS subject, 'P' || p AS predicate, 'Q' || o AS object, bd.date AS "begin", ed.date AS "end"
    FROM {split} LEFT JOIN dates AS bd ON bd.position = b LEFT JOIN dates AS ed ON ed.position = e
    ORDER BY s, p, o, b NULLS FIRST, e NULLS FIRST
"""
_LABELLED = """
    SELECT '{kind}' || number AS key, min(label) AS label FROM ({numbers})
    LEFT JOIN (SELECT number, label FROM extracted_labels WHERE kind = '{kind}') USING (number)
    GROUP BY number ORDER BY key
"""
_ENTITIES = "SELECT s AS number FROM facts UNION SELECT o FROM facts"
_PREDICATES = "SELECT DISTINCT p AS number FROM facts"
_TIMES = "SELECT DISTINCT unnest([b, e]) AS position FROM facts"
_KINDS = """
    SELECT CASE WHEN b IS NULL AND e IS NULL THEN 'static' WHEN b IS NULL OR e IS NULL THEN 'half_open'
                WHEN b = e THEN 'events' ELSE 'intervals' END AS kind, count(*) FROM facts GROUP BY kind
"""


def write_tables(selection: Selection, held: HeldOut, folder: Path) -> None:
    """Writes train, valid, test, entities and predicates as Parquet; the same rows give the same bytes."""
    sql = selection.sql
    sql.execute("SET preserve_insertion_order = true")
    for split, facts in (("valid", held.valid), ("test", held.test)):
        _make_table(selection, split, facts)
    sql.execute(_TRAIN)
    sql.execute("CREATE TABLE dates AS SELECT DISTINCT position, date FROM times")
    for split in SPLITS:
        if split == "train" or selection.count(f"SELECT count(*) FROM {split}"):
            _copy(selection, _NAMED.format(split=split), folder / f"{split}.parquet")
    for name, kind, numbers in (("entities", "Q", _ENTITIES), ("predicates", "P", _PREDICATES)):
        _copy(selection, _LABELLED.format(kind=kind, numbers=numbers), folder / f"{name}.parquet")


def sizes(selection: Selection, held: HeldOut) -> dict[str, str | int]:
    """What `knowwhen data info` says of the dataset, counted without loading it."""
    facts = selection.count("SELECT count(*) FROM facts")
    span = selection.sql.execute(
        f"SELECT count(*), min_by(date, position), max_by(date, position) FROM ({_TIMES}) JOIN dates USING (position)"
    ).fetchone()
    assert span is not None
    kinds = dict(selection.sql.execute(_KINDS).fetchall())
    return {
        "train": facts - len(held.valid) - len(held.test),
        "valid": len(held.valid),
        "test": len(held.test),
        "entities": selection.count(f"SELECT count(*) FROM ({_ENTITIES})"),
        "predicates": selection.count(f"SELECT count(*) FROM ({_PREDICATES})"),
        "timestamps": span[0],
        "first": span[1] or "",
        "last": span[2] or "",
        **{kind: kinds.get(kind, 0) for kind in ("events", "intervals", "half_open", "static")},
    }


def _make_table(selection: Selection, name: str, facts: list[Fact]) -> None:
    table = selection.folder / f"{name}.parquet"
    write_parquet(pl.DataFrame(facts, schema=_FACTS, orient="row"), table)
    selection.sql.execute(f"CREATE TABLE {name} AS SELECT * FROM read_parquet('{literal(table)}')")


def _copy(selection: Selection, query: str, path: Path) -> None:
    selection.sql.execute(f"COPY ({query}) TO '{quoted(path)}' (FORMAT parquet, COMPRESSION zstd)")
