"""Table 4 on Wikidata, rehearsed: a dump with Wikidata's shape becomes a dataset, three models and a table."""

import json

from benchmarks.dumps import write_dump


def test_a_dump_becomes_the_rows_of_table_4(forks, tmp_path):
    """The commands of docs/reproducing.md, at one epoch."""
    write_dump(tmp_path / "dump.json.gz", megabytes=0.3)
    made = forks.run("wikidata", "dump.json.gz", "--out", "data/wikidata", cwd=tmp_path)
    assert made.code == 0, made.err
    asked = ["reproduce", "table4", "--dataset", "wikidata", "--epochs", "1", "--json"]
    done = forks.run(*asked, cwd=tmp_path, environment={"KNOWWHEN_DATA": "data"})
    assert done.code == 0, done.err
    printed = json.loads(done.out)
    rows = {row["model"]: row for row in printed["rows"]}
    assert list(rows) == ["complex", "tcomplex", "tntcomplex"]
    assert {(row["dataset"], row["rank"], row["epochs"]) for row in rows.values()} == {("wikidata", "100", "1")}
    assert all(float(row["NT-MRR"]) > 0 for row in rows.values()), "each dated fact has a year of its own: all in train"
    assert rows["tntcomplex"]["triples/s"] and rows["tntcomplex"]["paper's"] == "5,600"
    assert all(r["test"]["protocol"]["directions"] == "objects" for r in printed["results"])
