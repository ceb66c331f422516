"""`knowwhen ask` and `knowwhen export`, run as a user runs them."""

import gzip
import json

import numpy as np
import polars as pl
import pytest

import knowwhen as kw

QUESTIONS = """subject,predicate,object,time
United States,has president,?,2012
Untied States,has president,?,2012
France,has president,François Mitterrand,?
France,?,Paris,
France,has president,?,1800
?,has president,Barack Obama,2009..2012
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "run"
    kw.train("leaders", run=folder, overrides={"model.rank": 8, "training.epochs": 4, "training.batch_size": 200})
    return folder


@pytest.fixture(scope="module")
def with_evidence(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "run"
    settings = {"model.rank": 8, "training.epochs": 4, "training.batch_size": 200, "model.evidence": ["pair_history"]}
    kw.train("leaders", run=folder, overrides=settings)
    return folder


def test_people_see_a_table_and_programs_the_same_answers(knowwhen, run):
    question = (run, "United States", "has president", "?", "2012", "--top", "3")
    done = knowwhen("ask", *question)
    lines = done.stdout.splitlines()
    assert lines[0] == "(United States, has president, ?, 2012)"
    assert lines[-1] == "probabilities are calibrated on validation facts"
    assert len(lines) == 6
    assert done.stderr == ""
    values = json.loads(knowwhen("ask", *question, "--json").stdout)
    assert [row["name"] in line for row, line in zip(values["answers"], lines[2:], strict=False)] == [True] * 3
    assert values["answers"] == json.loads(
        json.dumps(kw.open(run).ask("United States", "has president", "?", "2012", top=3).to_dicts())
    )


def test_a_time_question_draws_its_curve(knowwhen, run):
    done = knowwhen("ask", run, "France", "has president", "François Mitterrand", "_")
    lines = done.stdout.splitlines()
    assert len(lines[1]) == 60 and "█" in lines[1]
    assert lines[2].split() == ["1945", "2025"]
    assert "known: 1981 to 1995" in done.stdout
    values = json.loads(knowwhen("ask", run, "France", "has president", "François Mitterrand", "?", "--json").stdout)
    assert len(values["times"]) == len(values["probabilities"]) == 81
    assert values["spans"]


def test_options_reach_the_question(knowwhen, run, tmp_path):
    question = ("ask", run, "France", "has president", "_", "2014", "--json")
    novel = json.loads(knowwhen(*question, "--novel", "--top", "2000").stdout)["answers"]
    assert all(not row["known"] for row in novel)
    assert "François Hollande" not in [row["name"] for row in novel]
    seen = json.loads(knowwhen(*question, "--candidates", "seen", "--top", "2000").stdout)["answers"]
    assert len(seen) < len(novel)
    (tmp_path / "names.txt").write_text("Paris\nFrançois Hollande\n", encoding="utf-8")
    few = json.loads(knowwhen(*question, "--candidates", tmp_path / "names.txt").stdout)["answers"]
    assert sum(row["probability"] for row in few) == pytest.approx(1)
    assert {row["name"] for row in few} == {"Paris", "François Hollande"}
    some = json.loads(knowwhen(*question, "--min-probability", "0.5", "--candidates", tmp_path / "names.txt").stdout)
    assert len(some["answers"]) == 1


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_a_file_of_questions_is_answered_but_for_its_bad_rows(knowwhen, run, tmp_path, ending):
    (tmp_path / "q.csv").write_text(QUESTIONS, encoding="utf-8")
    table, first = pl.read_csv(tmp_path / "q.csv", infer_schema=False), 2
    if ending != "csv":
        first = 1
        getattr(table, {"jsonl": "write_ndjson", "parquet": "write_parquet"}[ending])(tmp_path / f"q.{ending}")
    questions, out = tmp_path / f"q.{ending}", tmp_path / f"a.{ending}"
    done = knowwhen("ask", run, "--batch", questions, "--out", out, "--top", "3", "--json")
    assert json.loads(done.stdout) == {"questions": 6, "answered": 4, "bad": 2, "out": str(out)}
    told = done.stderr.splitlines()
    assert told[0].startswith(f"{questions}:{first + 1}: no entity 'Untied States'; did you mean 'United States'")
    assert told[1] == f"{questions}:{first + 4}: '1800' is before the first date in the data (1945 to 2025 by year)"
    read = {"csv": pl.read_csv, "jsonl": pl.read_ndjson, "parquet": pl.read_parquet}[ending]
    answers = read(out)
    assert answers["row"].to_list() == sorted(answers["row"].to_list())
    assert answers["row"].unique().to_list() == list(range(first, first + 6))
    assert answers.filter(pl.col("error").is_not_null())["row"].to_list() == [first + 1, first + 4]
    alone = kw.open(run).ask("United States", "has president", "?", "2012", top=3)
    batch = answers.filter(pl.col("row") == first)
    assert batch["answer"].to_list() == [row.name for row in alone]
    assert batch["probability"].to_list() == pytest.approx([row.probability for row in alone], rel=1e-4)


def test_questions_are_read_as_facts_are(forks, knowwhen, run, tmp_path):
    """Semicolons, Windows' encoding of text, a packed file and standard input; a line that is no row is a bad row."""
    lines = QUESTIONS.splitlines()
    text = "\n".join([*lines[:3], "France;no more columns", *lines[3:]]).replace(",", ";")
    (tmp_path / "q.csv.gz").write_bytes(gzip.compress(text.encode("utf-16")))
    (tmp_path / "q.csv").write_text(text, encoding="utf-8")
    done = knowwhen("ask", run, "--batch", tmp_path / "q.csv.gz", "--out", tmp_path / "a.csv", "--json")
    assert json.loads(done.stdout) == {"questions": 7, "answered": 4, "bad": 3, "out": str(tmp_path / "a.csv")}
    assert f"{tmp_path / 'q.csv.gz'}:4: 2 columns in 'France;no more columns'; expected 4" in done.stderr
    piped = forks.run("ask", run, "--batch", "-", "--out", tmp_path / "b.csv", stdin=str(tmp_path / "q.csv"))
    assert piped.code == 0 and "standard input:4: 2 columns" in piped.err
    answers = [pl.read_csv(tmp_path / name) for name in ("a.csv", "b.csv")]
    assert answers[0].equals(answers[1]) and answers[0]["row"].unique().sort().to_list() == [*range(2, 9)]


def test_why_lists_what_a_score_is_made_of(knowwhen, with_evidence):
    question = ("ask", with_evidence, "United States", "has president", "?", "2012", "--top", "2", "--why")
    lines = knowwhen(*question).stdout.splitlines()
    assert lines[-1] == "the parts under an answer add up to its score"
    assert [line.split()[0] for line in lines if line.startswith("     d")] == ["decomposition"] * 2
    assert any("citizen of, United States (without a date) " in line for line in lines)
    for answer in json.loads(knowwhen(*question, "--json").stdout)["answers"]:
        why = answer["reasons"]
        total = why["decomposition"] + sum(fact["value"] for fact in why["facts"])
        assert total == pytest.approx(answer["score"], abs=1e-4)
    when = ("ask", with_evidence, "France", "has president", "François Mitterrand", "?", "--why")
    best = json.loads(knowwhen(*when, "--json").stdout)["reasons"]["time"]
    assert f"why {best}, with a score of " in knowwhen(*when).stdout


def test_why_in_a_file_of_questions(knowwhen, with_evidence, tmp_path):
    (tmp_path / "q.csv").write_text(QUESTIONS, encoding="utf-8")
    out = tmp_path / "a.jsonl"
    done = knowwhen("ask", with_evidence, "--batch", tmp_path / "q.csv", "--out", out, "--top", "3", "--why", "--json")
    assert json.loads(done.stdout)["answered"] == 4
    rows = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
    for row in rows:
        if row["error"] or (row["row"] == 4 and row["rank"] > 1):
            assert row["reasons"] is None
            continue
        why = row["reasons"]
        if row["row"] == 4:  # of the most probable timestamp in the best span
            assert row["begin"] <= why["time"] <= row["end"]
        else:
            total = why["decomposition"] + sum(fact["value"] for fact in why["facts"]) + why["others"]
            assert total == pytest.approx(row["score"], abs=1e-4)
    first = rows[0]["reasons"]["facts"][0]
    assert first["keys"][1:] == ["citizen of", "United States"]
    knowwhen("ask", with_evidence, "--batch", tmp_path / "q.csv", "--out", out, "--top", "3")
    assert all("reasons" not in json.loads(line) for line in out.read_text(encoding="utf-8").splitlines())


def test_why_without_evidence_is_a_note(knowwhen, run):
    done = knowwhen("ask", run, "France", "has president", "?", "2012", "--why")
    assert done.returncode == 0
    assert done.stdout.splitlines()[-1].startswith("this model has no evidence terms, so no facts explain its scores")


def test_export_writes_embeddings_and_answers(knowwhen, run, tmp_path):
    done = knowwhen(
        "export", run, "--what", "embeddings", "--of", "entities", "--out", tmp_path / "e.parquet", "--json"
    )
    assert json.loads(done.stdout)["dimension"] == 16
    assert pl.read_parquet(tmp_path / "e.parquet")["key"].to_list() == kw.load("leaders").entities.keys.to_list()
    knowwhen("export", run, "--of", "timestamps", "--out", tmp_path / "t.npz")
    assert np.load(tmp_path / "t.npz")["embedding"].shape == (81, 16)
    done = knowwhen(
        "export", run, "--what", "answers", "--split", "valid", "--top", "2", "--out", tmp_path / "a.parquet"
    )
    assert done.returncode == 0, done.stderr
    answers = pl.read_parquet(tmp_path / "a.parquet")
    valid = kw.load("leaders").named(kw.load("leaders").valid)
    assert answers.filter(pl.col("rank") == 1)["subject"].to_list() == valid["subject"].to_list()


def test_calibration_is_part_of_an_evaluation(knowwhen, run):
    done = knowwhen("evaluate", run, "--calibration")
    assert "temperatures fitted on validation; ECE in 15 bins on test" in done.stdout
    values = json.loads(knowwhen("evaluate", run, "--calibration", "--json").stdout)["calibration"]
    assert set(values["slots"]) == {"object", "subject", "predicate", "time"}
    bins = values["slots"]["object"]["after"]["bins"]
    assert sum(one["count"] for one in bins) == values["slots"]["object"]["questions"] == 435


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["France"], "knowwhen: a question needs SUBJECT, PREDICATE and OBJECT, with ? for one of them or for TIME"),
        (["France", "has president", "_", "_"], "knowwhen: a question needs exactly one '?'"),
        (["France", "has presidant", "_"], "knowwhen: no predicate 'has presidant'; did you mean 'has president'?"),
        (["France", "has president", "_", "--out", "x.csv"], "knowwhen: --out needs --batch"),
        (["France", "has president", "_", "--candidates", "nofile"], "knowwhen: --candidates is 'nofile', which is no"),
        (["--batch", "q.csv"], "knowwhen: --batch reads questions from a file and needs --out FILE"),
        (
            ["--batch", "q.csv", "--out", "a.csv", "--why"],
            "knowwhen: --why writes lists of facts, which need --out with .jsonl, not 'a.csv'",
        ),
        (["--batch", ".", "--out", "a.csv"], "knowwhen: cannot read .: it is a folder; expected a file"),
        (["--batch", "q.csv", "--out", "a.csv"], "knowwhen: cannot read q.csv: it does not exist; expected a file"),
    ],
)
def test_mistakes_are_one_line(knowwhen, run, tmp_path, arguments, message):
    done = knowwhen("ask", run, *arguments, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(message)
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "knowwhen: name a file to write: --out embeddings.parquet"),
        (["--what", "weights", "--out", "x.npz"], "knowwhen: --what is 'weights'; expected embeddings, answers"),
        (["--of", "days", "--out", "x.npz"], "knowwhen: no embeddings of 'days'; expected entities, predicates"),
        (
            ["--what", "answers", "--split", "dev", "--out", "x.csv"],
            "knowwhen: unknown split 'dev'; expected train, valid",
        ),
        (["--what", "answers", "--out", "x.npz"], "knowwhen: cannot tell the format of answers from 'x.npz'"),
    ],
)
def test_mistakes_in_an_export_are_one_line(knowwhen, run, tmp_path, arguments, message):
    done = knowwhen("export", run, *arguments, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(message)
    assert done.stderr.count("\n") == 1


def test_errors_are_json_for_programs(knowwhen, run):
    done = knowwhen("ask", run, "Frnce", "has president", "_", "2012", "--json")
    error = json.loads(done.stderr)
    assert (done.returncode, done.stdout) == (1, "")
    assert (error["error"], error["name"], error["suggestions"][0]) == ("UnknownName", "Frnce", "France")


def test_a_batch_of_bad_rows_alone_exits_1_and_never_overwrites_its_input(knowwhen, run, tmp_path):
    questions = tmp_path / "q.csv"
    questions.write_text("subject,predicate,object,time\nNowhere at all,has president,?,2012\n")
    done = knowwhen("ask", run, "--batch", questions, "--out", tmp_path / "a.csv")
    assert done.returncode == 1 and "none of the 1 questions could be answered" in done.stderr
    done = knowwhen("ask", run, "--batch", questions, "--out", questions)
    assert done.returncode == 1 and "the file of questions itself; name another" in done.stderr
    assert questions.read_text().startswith("subject,")


def test_names_lists_and_searches(knowwhen, run):
    listed = json.loads(knowwhen("names", run, "--top", 3, "--json").stdout)
    assert [row["kind"] for row in listed] == ["entity"] * 3 + ["predicate"] * 3
    assert listed[0]["facts"] >= listed[1]["facts"] >= listed[2]["facts"] > 0
    found = knowwhen("names", run, "mitterand", "--kind", "entity").stdout
    assert found.splitlines()[0].split() == ["name", "kind", "facts"] and "François Mitterrand" in found
    nothing = knowwhen("names", run, "xyzzyxyzzy")
    assert nothing.returncode == 1 and "no name is like 'xyzzyxyzzy'" in nothing.stderr
    assert "expected entity or predicate" in knowwhen("names", run, "--kind", "thing").stderr


@pytest.mark.parametrize("name", ["facts.ttl", "facts.tsv", "facts.parquet"])
def test_facts_are_exported_and_read_back(knowwhen, run, tmp_path, name):
    done = knowwhen("export", run, "--what", "facts", "--out", tmp_path / name, "--json")
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    info = json.loads(knowwhen("data", "info", tmp_path / name, "--json").stdout)
    assert report["facts"] == info["train"] + info["valid"] + info["test"] == 4511
    assert (info["entities"], info["half_open"], info["static"]) == (1487, 664, 2451)
    failed = knowwhen("export", run, "--what", "facts", "--out", tmp_path / "facts.doc")
    assert failed.returncode == 1 and "name one with --format: csv, jsonl, parquet, ttl, kgtk" in failed.stderr
