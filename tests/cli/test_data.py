"""`knowwhen data`, run as a user runs it."""

import json
import shlex

import pytest


@pytest.fixture
def facts(tmp_path):
    path = tmp_path / "facts.csv"
    path.write_text("who,rel,what,when\n" + "".join(f"a{i},p,b{i % 3},{1990 + i}\n" for i in range(20)))
    return path


COLUMNS = "subject=who,object=what"


def test_info_prints_one_json_object(knowwhen, facts):
    done = knowwhen("data", "info", facts, "--columns", COLUMNS, "--json")
    info = json.loads(done.stdout)
    assert (info["train"], info["valid"], info["test"]) == (16, 2, 2)
    assert (info["first"], info["last"], info["events"]) == ("1990", "2009", 20)
    assert (info["name"], info["granularity"], len(info["hash"])) == ("facts", "year", 64)
    assert (done.stderr, done.returncode) == ("", 0)


def test_info_for_people_has_a_line_a_number(knowwhen):
    done = knowwhen("data", "info", "leaders")
    assert "granularity  year" in done.stdout
    assert done.returncode == 0


def test_import_writes_a_folder_that_everything_reads(knowwhen, facts, tmp_path):
    out = tmp_path / "new" / "mine"
    done = knowwhen(
        "data", "import", facts, "--columns", COLUMNS, "--split", "0.2,0.1", "--seed", 3, "--out", out, "--json"
    )
    written = json.loads(done.stdout)
    assert written["valid"] == 4
    read = json.loads(knowwhen("data", "info", out, "--json").stdout)
    assert read["hash"] == written["hash"]
    again = knowwhen("data", "import", facts, "--columns", COLUMNS, "--out", out)
    assert (again.returncode, again.stderr) == (
        1,
        f"knowwhen: {out} exists and is not an empty folder; choose another name\n",
    )


def test_check_counts_in_json(knowwhen, facts):
    report = json.loads(knowwhen("data", "check", facts, "--columns", COLUMNS, "--json").stdout)
    assert report["duplicates_in_train"] == 0
    assert report["test_facts_with_unseen_entities"] == 2
    assert report["entities_seen_once"] == 20
    assert report["files"][0]["columns"] == {"subject": "who", "object": "what", "predicate": "rel", "time": "when"}
    assert report["next"] == f"knowwhen train {facts} --columns {COLUMNS} --split 0,0 --run runs/facts"


UNTIDY = """Name;relation;Employer;From;To;note
Ada;works at; Bakery;01.02.2001;31.12.2006;x
ada;works at;Library;13.02.2006;31.12.9999;y
ada;works at;Library;13.02.2006;31.12.9999;y
Ben;works at;;13.02.2006;;y
Ben;works at;Library;never;;y
Cleo;works at;Library;soon;;y
"""


def test_check_is_a_diagnosis_that_ends_with_the_next_command(knowwhen, tmp_path):
    (tmp_path / "jobs.csv").write_text(UNTIDY)
    columns = "subject=Name,object=Employer"
    done = knowwhen("data", "check", "jobs.csv", "--columns", columns, cwd=tmp_path)
    assert done.returncode == 1 and done.stderr == ""
    lines = done.stdout.splitlines()
    for line in (
        "jobs.csv: text with semicolons, UTF-8, 6 rows",
        "dates: dd.mm.yyyy (4 distinct)",
        "bad: 1 row (line 5): Employer: empty; expected a name",
        "facts: 2 (2 train): 1 interval, 1 half-open",
        "duplicates left out: 1",
        "nearly the same: 'Ada', 'ada'",
        "note: jobs.csv: 1 unused column: note",
        "note: jobs.csv: removed spaces around names in 1 cell",
        "note: jobs.csv: read dates such as 9999-12-31 as open",
    ):
        assert line in lines, done.stdout
    assert any(line.startswith("bad: 2 rows (lines 6, 7): From: 'never' is not a date; ") for line in lines)
    assert not (tmp_path / "jobs.csv.rejects.tsv").exists()
    # More rows are bad than good: mend the table before anything else.
    assert "advice: correct the bad rows, or the options, and check again" in lines
    assert lines[-1] == f"next: knowwhen data check jobs.csv --columns {columns}"
    done = knowwhen("data", "check", "jobs.csv", "--columns", columns, "--skip-bad", cwd=tmp_path)
    last = done.stdout.splitlines()[-1]
    assert last == f"next: knowwhen train jobs.csv --columns {columns} --skip-bad --run runs/jobs"
    assert "note: most rows are bad" not in done.stdout
    assert (done.returncode, (tmp_path / "jobs.csv.rejects.tsv").exists()) == (0, True)


def test_the_next_command_of_check_runs(knowwhen, tmp_path):
    rows = "".join(f"a{i % 5},works at,b{i % 3},{1990 + i}\n" for i in range(20))
    (tmp_path / "jobs.csv").write_text("person,does,firm,year\n" + rows)
    failed = knowwhen("data", "check", "jobs.csv", cwd=tmp_path)
    assert "--columns subject=person,predicate=does,object=firm,time=year" in failed.stderr
    columns = "subject=person,predicate=does,object=firm"
    done = knowwhen("data", "check", "jobs.csv", "--columns", columns, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    command = shlex.split(done.stdout.splitlines()[-1].removeprefix("next: knowwhen "))
    assert command[-4:] == ["--split", "0,0", "--run", "runs/jobs"]
    ran = knowwhen(*command, "--set", "model.rank=2", "--set", "training.epochs=1", cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr


def test_check_asks_for_an_encoding_before_it_skips_rows(knowwhen, tmp_path):
    rows = "".join(f"Chlo\xeb{i % 3},works at,b{i},{1990 + i}\nAda,works at,b{i},{1990 + i}\n" for i in range(5))
    (tmp_path / "f.csv").write_bytes(f"subject,predicate,object,year\n{rows}".encode("cp1252"))
    failed = knowwhen("data", "check", "f.csv", cwd=tmp_path)
    last = failed.stdout.splitlines()[-1]
    assert (failed.returncode, last) == (1, "next: knowwhen data check f.csv --encoding cp1252")
    done = knowwhen(*shlex.split(last.removeprefix("next: knowwhen ")), cwd=tmp_path)
    assert (done.returncode, "facts: 10 " in done.stdout) == (0, True), done.stdout


def test_check_of_a_header_alone_proposes_nothing_that_would_fail(knowwhen, tmp_path):
    (tmp_path / "f.csv").write_text("subject,predicate,object,year\n")
    done = knowwhen("data", "check", "f.csv", cwd=tmp_path)
    assert done.returncode == 1
    assert done.stdout.splitlines()[-1] == "advice: there are no rows; expected one fact in each"


def test_check_asks_about_entities_that_may_be_empty_cells(knowwhen, tmp_path):
    (tmp_path / "f.csv").write_text("s,p,o,year\nAda,works at,NULL,1999\nAda,works at,Null Island,1999\n")
    done = knowwhen("data", "check", "f.csv", cwd=tmp_path)
    assert "advice: if 'NULL' stands for an empty cell, leave it empty: now it is an entity" in done.stdout.splitlines()


def test_an_empty_name_is_not_the_current_folder(knowwhen, tmp_path):
    (tmp_path / "train.csv").write_text("s,p,o,year\na,b,c,1999\n")
    assert knowwhen("data", "check", ".", cwd=tmp_path).returncode == 0
    assert "the name of the dataset is empty" in knowwhen("data", "check", "", cwd=tmp_path).stderr


def test_when_most_rows_are_bad_it_says_so_and_where_they_are(knowwhen, tmp_path):
    (tmp_path / "facts.csv").write_text("s,p,o,time\na,b,c,1999\n" + "a,b,c,never\n" * 3)
    done = knowwhen("data", "info", "facts.csv", "--skip-bad", cwd=tmp_path)
    assert "note: most rows are bad: skipped 3 of 4 rows (75%); they are in facts.csv.rejects.tsv" in done.stderr
    nothing = knowwhen("data", "check", "facts.csv", "--date-format", "%d.%m.%Y", cwd=tmp_path)
    assert (nothing.returncode, "bad: 4 rows" in nothing.stdout) == (1, True), nothing.stdout


def test_standard_input_is_a_source(forks, facts):
    done = forks.run("data", "info", "-", "--columns", COLUMNS, "--json", stdin=str(facts))
    assert json.loads(done.out)["train"] == 16


def test_what_is_overlooked_is_said_by_info_import_and_train(knowwhen, tmp_path):
    (tmp_path / "facts.csv").write_text("s,p,o,on\n" + "".join(f"a{i},b,c{i % 4},1999\n" for i in range(12)))
    for command in (["data", "info"], ["data", "import", "--out", "mine"], ["train", "--run", "r", *QUICK]):
        done = knowwhen(*command, "facts.csv", cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        assert "note: facts.csv: 1 unused column: on\nnote: no fact has a time" in done.stderr


QUICK = ["--set", "model.rank=2", "--set", "training.epochs=1"]


def test_bad_rows_are_skipped_on_demand_and_written_down(knowwhen, tmp_path):
    (tmp_path / "facts.csv").write_text("s,p,o,time\na,b,c,1999\na,b,c,never\n")
    failed = knowwhen("data", "info", "facts.csv", cwd=tmp_path)
    assert failed.returncode == 1
    assert failed.stdout == ""
    assert failed.stderr.startswith(
        "knowwhen: 1 bad row; read the others with --skip-bad\n  facts.csv:3: time: 'never' is not"
    )
    skipped = knowwhen("data", "info", "facts.csv", "--skip-bad", "--json", cwd=tmp_path)
    assert json.loads(skipped.stdout)["bad_rows_skipped"] == 1
    assert "never" in (tmp_path / "facts.csv.rejects.tsv").read_text()


def test_list_names_what_is_here_and_what_can_be_had(knowwhen):
    listed = json.loads(knowwhen("data", "list", "--json").stdout)
    assert listed["leaders"]["here"] is True
    assert listed["icews14"]["here"] is False
    assert "knowwhen data get icews14" in knowwhen("data", "list").stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["info", "nowhere"], "knowwhen: no dataset, folder or file 'nowhere'"),
        (["get", "nowhere"], "knowwhen: 'nowhere' cannot be downloaded; expected icews14"),
        (["info", "leaders", "--columns", "subject"], "knowwhen: --columns is 'subject'; expected subject=A"),
        (["info", "leaders", "--split", "some"], "knowwhen: --split is 'some'; expected two fractions"),
        (["info", "leaders", "--granularity", "week"], "knowwhen: unknown granularity 'week'"),
    ],
)
def test_errors_are_one_line_and_exit_1(knowwhen, arguments, message):
    done = knowwhen("data", *arguments)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(message)
    assert done.stderr.count("\n") == 1


def test_usage_errors_exit_2(knowwhen):
    assert knowwhen("data", "info").returncode == 2
    assert knowwhen("data", "infos").returncode == 2
