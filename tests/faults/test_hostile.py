"""Inputs, names, streams and limits that someone wicked, or a bad day, would choose: one line of ours, and no harm."""

import gzip
import json
import os
import shutil
import signal
import subprocess
import sys
from contextlib import contextmanager

import polars as pl
import pytest
import zstandard

from tests.faults.scenarios import SCENARIOS, SET, make_world

HEADER = "subject,predicate,object,time\n"
GOOD = "a,p,b,1999\nc,p,d,2000\n"
TEXT = (HEADER + "".join(f"a{i * i},p,b{i * 7919},1999\n" for i in range(300))).encode()
GIGABYTE = 1 << 30


@pytest.fixture(scope="session")
def world(forks, tmp_path_factory):
    """Tiny data, and a model of it."""
    folder = tmp_path_factory.mktemp("hostile") / "world"
    make_world(folder)
    done = forks.run("train", "facts.csv", "--run", "run", *SET, "--set=training.epochs=1", cwd=folder)
    assert done.code == 0, done.err
    return folder


def refused(done, *parts):
    """One line of ours on stderr that names all of some parts."""
    assert not done.is_foreign, (done.code, done.err)
    last = done.err.splitlines()[-1] if done.err else ""
    assert done.code == 1 and "knowwhen: " in done.err, done.err
    assert all(part in done.err for part in parts), last


TABLES = {
    "a long field": ("t.csv", HEADER + GOOD + "\n" + "x" * 140_000 + ",p,b,1999\n", "cannot read further"),
    "damaged gzip": ("t.csv.gz", gzip.compress(TEXT)[:400] + b"\xff" * 60, "cannot read"),
    "damaged parquet": ("t.parquet", b"PAR1" + b"\xff" * 60 + b"\x10\0\0\0PAR1", "cannot read"),
    "a year of 25 digits": ("t.csv", HEADER + f"a,p,b,+{'9' * 25}\n", "a year of at most 12 digits"),
    "a year of 5,000 digits": ("t.csv", HEADER + f"a,p,b,+{'9' * 5000}\n", "expected"),
    "deep JSON": ("t.jsonl", '{"subject": ' * 20_000 + "\n", "is not a JSON object"),
    "a lone surrogate": ("t.jsonl", '{"subject": "\\ud800", "predicate": "p", "object": "b"}\nno\n', "expected"),
    "deep TOML": ("data/dataset.toml", "a = " + "[" * 20_000, "cannot read"),
}


@pytest.mark.parametrize("case", TABLES)
def test_a_table_that_cannot_be_read_is_said_in_one_line(forks, tmp_path, case):
    name, content, message = TABLES[case]
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    refused(forks.run("data", "info", path.parent if "data" in name else path), message)


@pytest.mark.parametrize(
    "column", [pl.Series([[1], [2]]), pl.Series([b"\xff", b"a"]), pl.Series([{"a": 1}, {"a": 2}])], ids=str
)
def test_columns_that_are_no_names_are_said(forks, tmp_path, column):
    pl.DataFrame({"subject": column, "predicate": ["p", "p"], "object": ["b", "c"]}).write_parquet(
        tmp_path / "t.parquet"
    )
    refused(forks.run("data", "info", "t.parquet", cwd=tmp_path))


def test_label_keys_that_are_numbers_are_said(forks, world, tmp_path):
    assert forks.run("data", "import", world / "facts.csv", "--out", "data", cwd=tmp_path).code == 0
    pl.DataFrame({"key": [1], "label": ["x"]}).write_parquet(tmp_path / "data" / "entities.parquet")
    (tmp_path / "data" / "SHA256SUMS").unlink(missing_ok=True)
    refused(forks.run("data", "info", "data", cwd=tmp_path), "expected the text columns key and label")


def test_lines_that_end_as_they_did_long_ago_are_read(forks, tmp_path):
    (tmp_path / "t.csv").write_text((HEADER + GOOD).replace("\n", "\r"), newline="")
    done = forks.run("data", "info", "t.csv", "--json", "--split", "0,0", cwd=tmp_path)
    assert json.loads(done.out)["train"] == 2


@pytest.mark.parametrize("format", ["folder", "icews", "yago15k", "wikidata12k"])
def test_a_file_is_no_folder(forks, world, format):
    refused(forks.run("data", "info", world / "facts.csv", "--format", format), f"the format {format} needs a folder")


def test_arguments_and_candidates_that_are_not_utf8_are_said(forks, world, tmp_path):
    refused(forks.run("ask", "run", "caf\udce9", "p1", "_", "1999", cwd=world), "is not UTF-8 text")
    (tmp_path / "names").write_bytes(b"caf\xe9\n")
    asked = ("ask", "run", "e1", "p1", "_", "1999", "--candidates", tmp_path / "names")
    refused(forks.run(*asked, cwd=world), "cannot read the candidates")


def test_a_terminal_without_our_letters_shows_their_codes(forks, world):
    done = forks.run("ask", "run", "e1", "p1", "e2", "_", cwd=world, environment={"PYTHONIOENCODING": "ascii"})
    assert done.code == 0 and "\\u25" in done.out and not done.is_foreign, done.err


def test_standard_output_that_is_full_or_gone_is_said_or_left(forks, world):
    refused(
        forks.run("ask", "run", "e1", "p1", "_", "1999", cwd=world, out="/dev/full"), "cannot write to standard output"
    )
    command = (
        f"{sys.executable} -c 'from knowwhen.cli.main import main; main()' data list | true; exit ${{PIPESTATUS[0]}}"
    )
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert done.stderr == ""


def test_settings_beyond_the_machine_are_refused_before_a_run_is_begun(forks, world, tmp_path):
    train = ("train", world / "facts.csv", "--run", tmp_path / "run")
    refused(
        forks.run(*train, "--set=training.device=cuda", cwd=tmp_path), "torch finds no 'cuda' device on this machine"
    )
    refused(forks.run(*train, "--set=model.rank=10000000000", cwd=tmp_path), "GB", "choose a smaller model.rank")
    refused(forks.run(*train, f"--set=model.rank=1{'0' * 25}", cwd=tmp_path), "choose a smaller model.rank")
    assert forks.run(*train, *SET, "--set=training.epochs=1", cwd=tmp_path).code == 0


def test_brackets_in_names_are_no_markup(forks, tmp_path):
    refused(forks.run("wikidata", "x[/b].json", "--out", "wd", cwd=tmp_path), "no dump 'x[/b].json'")
    (tmp_path / "x[").mkdir()
    (tmp_path / "x[" / "b].json").write_text('[\n{"type":"item","id":"Q1"}\n]\n')
    refused(forks.run("wikidata", "x[/b].json", "--out", "wd[8]", cwd=tmp_path), "none of 0 facts is left")


def test_a_bad_line_of_a_dump_does_not_end_the_others(forks, world, tmp_path):
    lines = (world / "dump.json").read_bytes().splitlines()
    huge = lines[1].replace(b'"numeric-id":2', b'"numeric-id":-1' + b"0" * 30).replace(b'"id":"Q2"', b'"id":"Q2"')
    far = lines[2].replace(b"+1992-", b"+" + b"9" * 5000 + b"-")
    deep = b'{"type":"item","id":"Q77","claims":' + b"[" * 200_000 + b","
    (tmp_path / "dump.json").write_bytes(b"\n".join([*lines[:-1], huge, deep, far, lines[-1]]))
    done = SCENARIOS["wikidata"].run(forks, tmp_path)
    assert done.code == 0, done.err
    assert len(pl.read_parquet(tmp_path / "wd" / "train.parquet")) > 8


def test_damaged_files_of_results_are_said(forks, world, tmp_path):
    scenario = SCENARIOS["reproduce"]
    make_world(tmp_path / "w")
    assert scenario.run(forks, tmp_path / "w").code == 0
    (result,) = (tmp_path / "w" / "runs" / "results").glob("*/*.json")
    for text in ("{", "[]", "[" * 100_000):
        result.write_text(text)
        refused(scenario.run(forks, tmp_path / "w"), "pair-counts-seed0.json", "delete it")


def test_what_we_did_not_foresee_is_said_to_be_our_fault(forks, world):
    code = (
        "import knowwhen.trained as t; from knowwhen.cli.main import main\n"
        "def fail(*_, **__): raise IndexError('list \\x1b[2J index')\n"
        "t.open = fail; main()"
    )
    done = forks.run("info", "run", cwd=world, code=code)
    assert done.code == 1 and len(done.err.splitlines()) == 1
    assert "`info` failed unexpectedly (IndexError: list \\x1b[2J index); this is a bug in knowwhen" in done.err
    assert "`knowwhen --debug info …` shows the details" in done.err
    traced = forks.run("--debug", "info", "run", cwd=world, code=code)
    assert "Traceback" in traced.err and "in fail" in traced.err


NASTY = "e\x1b[2J\x1b]0;title\x07\n1  Fake  0.9999\u202e"


def test_names_print_without_their_effects(forks, tmp_path):
    rows = [(NASTY if i % 2 else f"e{i % 7}", "p\x1b[31m", f"e{i % 5}", str(1990 + i % 9)) for i in range(60)]
    pl.DataFrame(rows, schema=["subject", "predicate", "object", "time"], orient="row").write_parquet(
        tmp_path / "t.parquet"
    )
    train = ("train", "t.parquet", "--run", "run", "--set=model.rank=2", "--set=training.epochs=1")
    assert forks.run(*train, cwd=tmp_path).code == 0
    asked = ("ask", "run", "_", "p\x1b[31m", "e1", "1995")
    for arguments in (
        asked,
        ("evaluate", "run"),
        ("data", "check", "t.parquet"),
        ("ask", "run", "nob\x1b[2J", "p", "_"),
    ):
        done = forks.run(*arguments, cwd=tmp_path)
        assert not set(done.out + done.err) & set("\x1b\x07\u202e"), done.out + done.err
        assert "\n1  Fake" not in done.out
    assert "e\\x1b[2J\\x1b]0;title\\x07\\n1  Fake" in forks.run(*asked, cwd=tmp_path).out
    answers = json.loads(forks.run(*asked, "--json", cwd=tmp_path).out)["answers"]
    assert NASTY in [answer["name"] for answer in answers]


@pytest.mark.parametrize("kind", ["csv.zst", "csv.gz", "parquet"])
def test_bombs_are_refused_in_one_line(forks, tmp_path, kind):
    path = tmp_path / f"bomb.{kind}"
    if kind == "parquet":
        names = pl.DataFrame({"subject": ["a"], "predicate": ["p"], "object": ["b"]})
        names.select(pl.all().repeat_by(30_000_000).explode()).write_parquet(path)
    else:
        block = (HEADER + "a,p,b,1999\n" * 1000).encode() + b"\n" * (64 << 20)
        pack = (
            zstandard.ZstdCompressor().compressobj() if kind == "csv.zst" else __import__("zlib").compressobj(9, 8, 31)
        )
        path.write_bytes(b"".join([*(pack.compress(block) for _ in range(10)), pack.flush()]))
    assert path.stat().st_size < 3_000_000
    limit = {"KNOWWHEN_MAX_GB": "0.5"}
    done = forks.run("data", "info", path, environment=limit, memory=6 * GIGABYTE, seconds=60)
    refused(done, "takes more than 0.5 GB when unpacked", "set KNOWWHEN_MAX_GB higher")
    refused(forks.run("data", "info", path, environment={"KNOWWHEN_MAX_GB": "x"}), "expected gigabytes")


def test_spreadsheets_run_no_cell_where_that_is_asked(forks, tmp_path):
    rows = [("=1+1" if i % 2 else f"e{i % 7}", "p", f"@e{i % 5}", str(1990 + i % 9)) for i in range(60)]
    pl.DataFrame(rows, schema=["subject", "predicate", "object", "time"], orient="row").write_csv(tmp_path / "t.csv")
    train = ("train", "t.csv", "--run", "run", "--set=model.rank=2", "--set=training.epochs=1")
    assert forks.run(*train, cwd=tmp_path).code == 0
    (tmp_path / "q.csv").write_text("subject,predicate,object,time\n=1+1,p,?,1995\n")
    for option, beginnings in (((), {"=", "@"}), (("--for-spreadsheets",), {"'"})):
        done = forks.run("ask", "run", "--batch", "q.csv", "--out", "a.csv", *option, cwd=tmp_path)
        assert done.code == 0, done.err
        table = pl.read_csv(tmp_path / "a.csv", infer_schema=False)
        assert {name[0] for name in (*table["subject"], *table["answer"])} & {"=", "@", "'"} == beginnings


@pytest.mark.parametrize("out", ["nowhere/a.csv", "run", "a.csv"])
def test_a_target_is_looked_at_before_the_work(forks, world, out):
    """With a model that cannot be opened: the target is told first."""
    arguments = {
        "nowhere/a.csv": (
            "the folder nowhere does not exist",
            ("ask", "gone", "--batch", "questions.csv", "--out", out),
        ),
        "run": (
            "is a folder; expected a file to write",
            ("export", "gone", "--format", "parquet", "--out", out),
        ),
        "a.csv": ("cannot write to a.csv: Read-only", ("export", "gone", "--what", "answers", "--out", out)),
    }
    message, command = arguments[out]
    refused(forks.run(*command, cwd=world, fault={"at": 1, "mode": "frozen"}), message)


def test_many_questions_go_on_where_they_were_stopped(forks, world, tmp_path):
    folder = shutil.copytree(world, tmp_path / "world")
    scenario = SCENARIOS["batch"]
    whole = shutil.copytree(folder, tmp_path / "whole")
    assert scenario.run(forks, whole).code == 0
    counting = scenario.code.replace(
        "b.AT_ONCE = 2;",
        "b.AT_ONCE = 2; a = b._answer; b._answer = lambda *x: (__import__('os').write(2, b'asked '), a(*x))[1];",
    )
    killed = forks.run(*scenario.command, cwd=folder, code=counting, fault={"at": 22, "mode": "kill"})
    assert killed.code == -signal.SIGKILL
    again = forks.run(*scenario.command, cwd=folder, code=counting)
    assert 0 < again.err.count("asked") < 3  # of three parts
    assert (folder / "answers.csv").read_bytes() == (whole / "answers.csv").read_bytes()
    assert not scenario.litter(folder)


@contextmanager
def mounted(folder, options):
    folder.mkdir()
    if os.geteuid() or subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", folder], check=False).returncode:
        pytest.skip("mounting a file system needs rights that are not there")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", folder], check=True)


def test_a_disk_that_is_really_full_and_one_that_is_really_read_only(forks, world, tmp_path):
    with mounted(tmp_path / "small", "size=300k") as disk:
        shutil.copytree(world / "run", disk / "run")
        (disk / "filler").write_bytes(b"x" * (shutil.disk_usage(disk).free))
        commands = writing_commands(world, disk)
        for command in commands:
            refused(forks.run(*command, cwd=world), "cannot write", "No space left on device")
        subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
        for command in commands:
            refused(forks.run(*command, cwd=world), "cannot write", "Read-only file system")


def writing_commands(world, disk):
    return [
        ("train", world / "facts.csv", "--run", disk / "new", *SET, "--set=model.rank=50"),
        ("train", "--run", disk / "run", "--resume", "--set=training.epochs=2"),
        ("data", "import", world / "facts.csv", "--out", disk / "data"),
        ("add", disk / "run", world / "news.csv"),
        ("export", "run", "--out", disk / "e.parquet"),
        ("plot", "run", "training", "--out", disk / "f.svg"),
        ("wikidata", world / "dump.json", "--out", disk / "wd"),
    ]


def test_a_limit_of_memory_is_one_line(forks, world):
    done = forks.run(
        "info", "run", cwd=world, code="raise SystemExit(__import__('knowwhen.cli.main').cli.main.run(['x']))"
    )
    assert not done.is_foreign
    code = (
        "import knowwhen.trained as t; from knowwhen.cli.main import main\n"
        "def fail(*_, **__): return bytearray(1 << 40)\n"
        "t.open = fail; main()"
    )
    refused(forks.run("info", "run", cwd=world, code=code, memory=8 * GIGABYTE), "memory")
