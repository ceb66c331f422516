"""What a run holds, as files for other programs."""

import json
import re
from pathlib import Path

import polars as pl
import pytest

import knowwhen as kw

READERS = {
    "csv": pl.read_csv,
    "parquet": pl.read_parquet,
    "jsonl": lambda path: pl.read_ndjson(path, infer_schema_length=None),
}


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("export") / "run"
    kw.train("leaders", run=folder, rank=4, epochs=2, overrides={"dating.passes": 0})
    return folder


@pytest.mark.parametrize(
    ("format", "name"), [("csv", "ranks.csv"), ("parquet", "ranks.data"), ("jsonl", "ranks.jsonl")]
)
def test_metrics_can_be_computed_from_a_file_of_ranks(knowwhen, run, tmp_path, format, name):
    options = ["--split", "valid", "--filter", "static", "--times", "2", "--seed", "3"]
    out = tmp_path / name
    done = knowwhen("export", run, "--what", "ranks", *options, "--format", format, "--out", out, "--json")
    assert (done.returncode, done.stderr) == (0, "")
    metrics = json.loads(knowwhen("evaluate", run, *options, "--json").stdout)
    told, ranks = json.loads(done.stdout), READERS[format](out)
    assert told["ranks"] == len(ranks) == 2 * 2 * 468
    assert (told["split"], told["protocol"] in metrics["protocol"]["text"]) == ("valid", True)
    rank, weight = 1 + ranks["better"] + ranks["equal"] / 2, ranks["weight"]
    assert (rank == ranks["rank"]).all() and round(weight.sum()) == metrics["count"]
    assert (weight / rank).sum() / weight.sum() == pytest.approx(metrics["mrr"])
    for k in (1, 3, 10):
        assert (weight * (rank <= k)).sum() / weight.sum() == pytest.approx(metrics[f"hits@{k}"])
    for name, group in metrics["groups"]["support"].items():
        part = ranks.filter(pl.col("support") == name)
        assert (part["weight"] / part["rank"]).sum() / part["weight"].sum() == pytest.approx(group["mrr"])


def test_a_sample_in_one_direction(knowwhen, run, tmp_path):
    options = ["--sample", "10", "--directions", "objects", "--out", tmp_path / "r.csv"]
    assert knowwhen("export", run, "--what", "ranks", *options).returncode == 0
    ranks = pl.read_csv(tmp_path / "r.csv")
    assert ranks["fact"].to_list() == [*range(1, 11)] and set(ranks["asked"]) == {"object"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["--what", "ranks", "--out", "r.txt"],
            "cannot tell the format of ranks from 'r.txt'; name one with --format: csv",
        ),
        (
            ["--what", "ranks", "--out", "r.csv", "--format", "ttl"],
            "--format is 'ttl'; expected csv, jsonl, parquet for",
        ),
        (["--what", "ranks"], "name a file to write: --out ranks.parquet"),
        (["--what", "ranks", "--out", "r.csv", "--split", "dev"], "unknown split 'dev'; expected train, valid, test"),
        (["--what", "ranks", "--out", "r.csv", "--filter", "no"], "filter is 'no'; expected time, static, raw"),
        (
            ["--what", "ranks", "--out", "r.csv", "--of", "entities"],
            "--of needs --what embeddings; leave it out for ra",
        ),
        (["--out", "e.parquet", "--split", "test"], "--split needs --what answers or ranks; leave it out for embed"),
        (
            ["--what", "answers", "--out", "a.csv", "--seed", "1"],
            "--seed needs --what ranks; leave it out for answers",
        ),
        (["--what", "facts", "--out", "f.csv", "--top", "3"], "--top needs --what answers; leave it out for facts"),
    ],
)
def test_mistakes_are_one_line(knowwhen, run, tmp_path, arguments, message):
    done = knowwhen("export", run, *arguments, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(f"knowwhen: {message}")
    assert done.stderr.count("\n") == 1 and not [*tmp_path.iterdir()]


@pytest.mark.parametrize("what", ["ranks", "answers", "facts", "inferred", "embeddings"])
def test_every_column_is_documented(knowwhen, demo, tmp_path, what):
    page = (Path(__file__).parents[2] / "docs" / "exporting.md").read_text(encoding="utf-8")
    (section,) = (part for part in page.split("\n## ") if part.startswith(what.capitalize()))
    written = re.findall(r"^\| `(\w+)` \| (\w+) \|", section, re.M)
    sample = {"ranks": ["--sample", "5"], "answers": ["--split", "valid", "--top", "1"]}.get(what, [])
    done = knowwhen("export", "runs/demo", "--what", what, *sample, "--out", tmp_path / "x.parquet", cwd=demo[0])
    assert done.returncode == 0, done.stderr
    schema = pl.read_parquet_schema(tmp_path / "x.parquet")
    assert written == [(name, str(kind).partition("(")[0]) for name, kind in schema.items()]
