"""Which facts are held out: a random choice that leaves every entity, predicate and timestamp in train."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

import duckdb

Fact = tuple[int, int, int, int | None, int | None]  # subject, predicate, object, begin, end by number and position
Element = tuple[str, int]  # an entity, a predicate or a time
BATCH = 200_000


@dataclass
class HeldOut:
    """Facts of valid and test, and how many others were drawn but had to stay in train."""

    valid: list[Fact] = field(default_factory=list)
    test: list[Fact] = field(default_factory=list)
    moved: int = 0


def hold_out(sql: duckdb.DuckDBPyConnection, valid: int, test: int, seed: int) -> HeldOut:
    """Draws facts of the table `facts` one by one, and holds out each whose elements train has without it too.

    The order is that of a hash of seed and fact: the same for the same facts on any machine, in any order of theirs.
    """
    held, gone, batch = HeldOut(), Counter[Element](), 0
    while facts := _draw(sql, seed, batch):
        total = _occurrences(sql)
        for fact in facts:
            drawn = len(held.valid) + len(held.test)
            if drawn == valid + test:
                return held
            own = elements(fact)
            if any(total[element] - gone[element] < 2 for element in own):
                held.moved += 1
                continue
            gone.update(own)
            # In turns, so that both get their share also where there are too few for all.
            is_valid = (drawn + 1) * valid // (valid + test) > drawn * valid // (valid + test)
            (held.valid if is_valid else held.test).append(fact)
        batch += 1
    return held


def elements(fact: Fact) -> set[Element]:
    """What training must have seen of a fact: its entities, its predicate and its ends in time."""
    s, p, o, b, e = fact
    return {("entity", s), ("predicate", p), ("entity", o)} | {("time", t) for t in (b, e) if t is not None}


def _draw(sql: duckdb.DuckDBPyConnection, seed: int, batch: int) -> list[Fact]:
    """The facts of the table `drawn`, which is made here: the next ones in the drawn order."""
    ends = ", ".join(f"coalesce({end}::VARCHAR, '?')" for end in ("b", "e"))
    order = f"md5_number_lower(concat_ws(',', {seed}, s, p, o, {ends})), s, p, o, b, e"
    limit = f"LIMIT {BATCH} OFFSET {batch * BATCH}"
    sql.execute(f"CREATE OR REPLACE TEMP TABLE drawn AS SELECT s, p, o, b, e FROM facts ORDER BY {order} {limit}")
    return sql.execute(f"SELECT * FROM drawn ORDER BY {order}").fetchall()


def _occurrences(sql: duckdb.DuckDBPyConnection) -> dict[Element, int]:
    """In how many facts each element of the drawn ones is."""
    columns = {
        "predicate": "SELECT p AS id FROM facts",
        "entity": "SELECT s AS id FROM facts UNION ALL SELECT o FROM facts WHERE o <> s",
        "time": "SELECT b AS id FROM facts UNION ALL SELECT e FROM facts WHERE e IS DISTINCT FROM b",
    }
    wanted = {"predicate": "[p]", "entity": "[s, o]", "time": "[b, e]"}
    total: dict[Element, int] = {}
    for kind, ids in columns.items():
        query = f"""
            SELECT id, count(*) FROM ({ids})
            SEMI JOIN (SELECT DISTINCT unnest({wanted[kind]}) AS id FROM drawn) USING (id) GROUP BY id
        """
        total |= {(kind, id): count for id, count in sql.execute(query).fetchall()}
    return total
