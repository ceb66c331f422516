"""The benchmark layouts: train.txt, valid.txt, test.txt without headers, tab-separated, one layout a family."""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path

import polars as pl

from knowwhen.errors import BadDate, BadInput
from knowwhen.facts.dates import Granularity, parse_period
from knowwhen.facts.formats.content import read_content
from knowwhen.facts.formats.delimited import read_delimited, with_newlines
from knowwhen.facts.formats.named import SPLITS, NamedDataset, NamedFacts, ReadOptions, check_names_and_times
from knowwhen.facts.formats.problems import Problems


class Benchmark(ABC):
    """A layout of three files; a subclass says how a first line looks and how a row becomes a fact."""

    name: str
    about: str
    is_folder = True
    granularity: Granularity
    columns: list[str]
    widths: tuple[int, ...] = ()

    @abstractmethod
    def is_row(self, fields: list[str]) -> bool:
        """Whether a line looks like this layout."""

    @abstractmethod
    def facts(self, rows: pl.DataFrame, counts: dict[str, int]) -> pl.DataFrame:
        """Columns subject, predicate, object, begin, end (none: events), line; counts what was left out or mended."""

    def matches(self, path: Path) -> bool:
        train = path / "train.txt"
        if not train.is_file():
            return False
        with train.open("rb") as file:
            lines = [file.readline().decode(errors="replace").rstrip("\r\n") for _ in range(100)]
        rows = [line.split("\t") for line in lines if line]
        return bool(rows) and sum(self.is_row(row) for row in rows) > len(rows) / 2

    def read(self, path: Path, options: ReadOptions, problems: Problems) -> NamedDataset:
        files = {split: path / f"{split}.txt" for split in SPLITS}
        if not files["train"].is_file():
            raise BadInput(f"no train.txt in {path}; expected train.txt, valid.txt and test.txt")
        counts: dict[str, int] = {}
        splits: dict[str, NamedFacts] = {}
        for split, file in files.items():
            if file.is_file():
                data = read_content(file).data.removeprefix(b"\xef\xbb\xbf")
                rows = read_delimited(with_newlines(data), str(file), self.columns, problems, widths=self.widths)
                splits[split] = check_names_and_times(self.facts(rows, counts), str(file), problems)
        return NamedDataset(splits, name=path.resolve().name, granularity=self.granularity, counts=counts)


class Quadruples(Benchmark):
    name = "icews"
    about = "ICEWS quadruples: subject, predicate, object, YYYY-MM-DD in train.txt, valid.txt, test.txt"
    granularity = Granularity.DAY
    columns = ["subject", "predicate", "object", "begin"]

    def is_row(self, fields: list[str]) -> bool:
        return len(fields) == 4 and _is_date(fields[3])

    def facts(self, rows: pl.DataFrame, counts: dict[str, int]) -> pl.DataFrame:
        return rows


class Yago15k(Benchmark):
    name = "yago15k"
    about = "YAGO15k: triples, some with <occursSince> or <occursUntil> and a date, in train.txt, valid.txt, test.txt"
    granularity = Granularity.YEAR
    columns = ["subject", "predicate", "object", "modifier", "begin"]
    widths = (3, 4, 5)

    def is_row(self, fields: list[str]) -> bool:
        return len(fields) == 3 or (len(fields) == 5 and fields[3] in ("<occursSince>", "<occursUntil>"))

    def facts(self, rows: pl.DataFrame, counts: dict[str, int]) -> pl.DataFrame:
        """The modifier joins the predicate, as in the paper: the date is an event of `predicate<occursSince>`."""
        undated = rows["modifier"].is_not_null() & rows["begin"].is_null()
        if undated.any():
            counts["modifier_without_date"] = counts.get("modifier_without_date", 0) + int(undated.sum())
        return rows.filter(~undated).with_columns(
            predicate=pl.concat_str("predicate", pl.col("modifier").fill_null(""))
        )


class Wikidata12k(Benchmark):
    name = "wikidata12k"
    about = "Wikidata12k and YAGO11k: subject, predicate, object, begin, end with ## for unknown parts, in train.txt …"
    granularity = Granularity.YEAR
    columns = ["subject", "predicate", "object", "begin", "end"]

    def is_row(self, fields: list[str]) -> bool:
        return len(fields) == 5 and all(_is_date(field) for field in fields[3:])

    def facts(self, rows: pl.DataFrame, counts: dict[str, int]) -> pl.DataFrame:
        """Ten published facts end before they begin; they are read with their ends in order, and counted."""
        spans = rows.select("begin", "end").unique()
        backwards = [span for span in spans.iter_rows() if _is_backwards(*span)]
        if not backwards:
            return rows
        marked = pl.DataFrame(backwards, schema=["begin", "end"], orient="row").with_columns(swap=pl.lit(value=True))
        rows = rows.join(marked, on=["begin", "end"], how="left", maintain_order="left")
        swap = pl.col("swap").fill_null(value=False)
        counts["ends_before_begin"] = counts.get("ends_before_begin", 0) + rows.filter(swap).height
        begin, end = pl.col("begin"), pl.col("end")
        return rows.with_columns(
            begin=pl.when(swap).then(end).otherwise(begin), end=pl.when(swap).then(begin).otherwise(end)
        ).drop("swap")


def _is_date(text: str) -> bool:
    try:
        parse_period(text)
    except BadDate:
        return False
    return True


def _is_backwards(begin: str, end: str) -> bool:
    if not (_is_date(begin) and _is_date(end)):
        return False  # reported as unreadable later
    first, last = parse_period(begin), parse_period(end)
    return first is not None and last is not None and first.first > last.last
