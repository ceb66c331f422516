"""Which extracted facts make the dataset: out of core in duckdb, and counted rule by rule.

The rules in their order: dropped classes, what `keep` does not cover, repetitions, then rare entities and predicates
until none is left. That leaves the largest set in which all are frequent enough, whatever the order of the rounds.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import duckdb
import polars as pl

from knowwhen.errors import BadInput
from knowwhen.facts.dates import Granularity
from knowwhen.facts.frames import write_parquet
from knowwhen.wikidata.parts import Part

INSTANCE_OF, SUBCLASS_OF = 31, 279
Say = Callable[[str], None]


class Selection:
    """Tables of a database file: `facts` (s, p, o, b, e by number and position) and `times` (position, date)."""

    def __init__(self, folder: Path, memory: str, threads: int) -> None:
        """A new database in a folder that holds all that does not fit into the memory."""
        config: dict[str, str | bool | int | float | list[str]] = {
            "memory_limit": memory,
            "threads": threads,
            "temp_directory": str(folder / "spill"),
        }
        self.folder = folder
        self.sql = duckdb.connect(str(folder / "selection.duckdb"), config=config)
        self.sql.execute("SET preserve_insertion_order = false")  # costs memory; what is written is sorted anyway
        self.counts: dict[str, int] = {}
        self.rounds = 0

    def close(self) -> None:
        self.sql.close()

    def count(self, query: str) -> int:
        row = self.sql.execute(query).fetchone()
        assert row is not None
        return int(row[0])

    def read(self, parts: Sequence[Part]) -> None:
        """`extracted_facts` and `extracted_labels`, views of the files."""
        for name in ("facts", "labels"):
            paths = ", ".join(f"'{literal(path)}'" for part in parts for path in part.files(name))
            if not paths:
                raise BadInput("the dump has no lines; expected one JSON object per line, as in Wikidata dumps")
            self.sql.execute(f"CREATE VIEW extracted_{name} AS SELECT * FROM read_parquet([{paths}])")
        self.counts["extracted_facts"] = self.count("SELECT count(*) FROM extracted_facts")

    def place_on(self, granularity: Granularity) -> None:
        """`times`: where each day that begins or ends a fact lies on the axis, and the date written for it."""
        query = 'SELECT DISTINCT unnest(["begin", "end"]) FROM extracted_facts'
        days = sorted(day for (day,) in self.sql.execute(query).fetchall() if day is not None)
        positions = [granularity.position(day) for day in days]
        dates = [str(granularity.period(position)) for position in positions]
        table = self.folder / "times.parquet"
        schema = {"day": pl.Int64, "position": pl.Int64, "date": pl.String}
        write_parquet(pl.DataFrame({"day": days, "position": positions, "date": dates}, schema=schema), table)
        self.sql.execute(f"CREATE TABLE times AS SELECT * FROM read_parquet('{literal(table)}')")

    def drop_classes(self, drop: Iterable[int], keep: Iterable[int]) -> None:
        """`facts`: those without instances of dropped classes; with one of a kept class, if there are such classes."""
        keep = sorted(keep)
        subclasses = f"SELECT DISTINCT subject, object FROM extracted_facts WHERE predicate = {SUBCLASS_OF}"
        self.sql.execute(f"CREATE TABLE subclasses AS {subclasses}")
        self._instances("kept", keep)
        self._instances("dropped", sorted(drop))
        self.sql.execute("DELETE FROM dropped WHERE id IN (SELECT id FROM kept)")
        self.counts["entities_of_dropped_classes"] = self.count("SELECT count(*) FROM dropped")
        self.sql.execute("""
            CREATE TABLE undropped AS
            SELECT subject AS s, predicate AS p, object AS o, b.position AS b, e.position AS e FROM extracted_facts
            LEFT JOIN times AS b ON b.day = "begin" LEFT JOIN times AS e ON e.day = "end"
            ANTI JOIN dropped AS ds ON ds.id = subject ANTI JOIN dropped AS do_ ON do_.id = object
        """)
        within = "s IN (SELECT id FROM kept) OR o IN (SELECT id FROM kept)" if keep else "true"
        undropped = self.count("SELECT count(*) FROM undropped")
        self.counts["removed_dropped_classes"] = self.counts["extracted_facts"] - undropped
        within_count = self.count(f"SELECT count(*) FROM undropped WHERE {within}")
        self.counts["removed_outside_kept_classes"] = undropped - within_count
        self.sql.execute(f"CREATE TABLE facts AS SELECT DISTINCT * FROM undropped WHERE {within}")
        self.sql.execute("DROP TABLE undropped")
        self.counts["removed_repetitions"] = within_count - self.count("SELECT count(*) FROM facts")

    def _instances(self, table: str, classes: list[int]) -> None:
        """The entities that are instances of the classes or of their subclasses, at any depth."""
        roots = ", ".join(f"({number})" for number in classes) or "(NULL)"
        self.sql.execute(f"""
            CREATE TABLE {table} AS
            WITH RECURSIVE classes(id) AS (
                VALUES {roots} UNION SELECT subject FROM subclasses JOIN classes ON object = id
            )
            SELECT DISTINCT subject AS id FROM extracted_facts SEMI JOIN classes ON object = id
            WHERE predicate = {INSTANCE_OF}
        """)

    def prune(self, min_degree: int, min_predicate: int, say: Say) -> None:
        """Leaves in `facts` only entities in `min_degree` facts and predicates of `min_predicate`, or more."""
        self.counts |= {"removed_rare_predicates": 0, "removed_rare_entities": 0}
        while True:
            self.sql.execute(f"""
                CREATE OR REPLACE TABLE rare_predicates AS
                SELECT p FROM facts GROUP BY p HAVING count(*) < {min_predicate}
            """)
            self.sql.execute(f"""
                CREATE OR REPLACE TABLE rare_entities AS
                SELECT id FROM (SELECT s AS id FROM facts UNION ALL SELECT o FROM facts)
                GROUP BY id HAVING count(*) < {min_degree}
            """)
            if not self.count("SELECT (SELECT count(*) FROM rare_predicates) + (SELECT count(*) FROM rare_entities)"):
                return
            self.rounds += 1
            by_predicate, by_entity = self._remove_rare()
            self.counts["removed_rare_predicates"] += by_predicate
            self.counts["removed_rare_entities"] += by_entity
            say(f"round {self.rounds}: {by_predicate + by_entity:,} facts of rare entities and predicates removed")

    def _remove_rare(self) -> tuple[int, int]:
        """How many facts go for their predicate, and how many others for an entity."""
        before = self.count("SELECT count(*) FROM facts")
        by_predicate = self.count("SELECT count(*) FROM facts SEMI JOIN rare_predicates USING (p)")
        self.sql.execute("""
            CREATE TABLE fewer AS SELECT * FROM facts ANTI JOIN rare_predicates USING (p)
            ANTI JOIN rare_entities AS rs ON rs.id = s ANTI JOIN rare_entities AS ro ON ro.id = o
        """)
        self.sql.execute("DROP TABLE facts")
        self.sql.execute("ALTER TABLE fewer RENAME TO facts")
        return by_predicate, before - by_predicate - self.count("SELECT count(*) FROM facts")


def literal(path: Path) -> str:
    """A path to read, in which nothing is a pattern."""
    return re.sub(r"([*?\[])", r"[\1]", quoted(path))


def quoted(path: Path) -> str:
    return str(path).replace("'", "''")
