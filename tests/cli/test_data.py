"""`knowwhen data`, run as a user runs it."""

import json

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
    assert (info["first"], info["last"], info["points"]) == ("1990", "2009", 20)
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
        f"knowwhen: {out} exists and is not an empty folder; choose another\n",
    )


def test_check_counts_in_json(knowwhen, facts):
    report = json.loads(knowwhen("data", "check", facts, "--columns", COLUMNS, "--json").stdout)
    assert report["duplicates_in_train"] == 0
    assert report["test_facts_with_unseen_entities"] == 2


def test_bad_rows_are_skipped_on_demand_and_written_down(knowwhen, tmp_path):
    (tmp_path / "facts.csv").write_text("s,p,o,time\na,b,c,1999\na,b,c,never\n")
    failed = knowwhen("data", "info", "facts.csv", cwd=tmp_path)
    assert failed.returncode == 1
    assert failed.stdout == ""
    assert failed.stderr.startswith(
        "knowwhen: 1 bad row (--skip-bad reads on without them)\n  facts.csv:3: begin: found"
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
        (["get", "nowhere"], "knowwhen: no public address is known for 'nowhere'"),
        (["info", "leaders", "--columns", "subject"], "knowwhen: --columns 'subject' is not of the form"),
        (["info", "leaders", "--split", "some"], "knowwhen: --split 'some' is not two shares"),
        (["info", "leaders", "--granularity", "week"], "knowwhen: no granularity 'week'"),
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
