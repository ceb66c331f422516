"""`knowwhen wikidata`, run as a user runs it: killed, interrupted, out of disk, and as it should be."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from benchmarks.dumps import write_dump
from knowwhen.cli.wikidata import DumpProgress, describe
from knowwhen.wikidata.lines import Parser
from knowwhen.wikidata.statements import Extract
from tests.waiting import until

COMMAND = [sys.executable, "-c", "from knowwhen.cli.main import main; main()", "wikidata"]
SMALL = ("--window", "1", "--min-degree", "3", "--min-predicate", "10")


def start(*arguments, **options):
    return subprocess.Popen(
        [*COMMAND, *map(str, arguments)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=False,
        preexec_fn=listen_to_ctrl_c,
        **options,
    )


def listen_to_ctrl_c():
    """Tests that were started in the background of a shell ignore Ctrl-C, and so would their children."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def content(folder):
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


@pytest.fixture
def dump(tmp_path):
    write_dump(tmp_path / "dump.json", 5)
    return tmp_path / "dump.json"


def windows_in(folder):
    """The finished windows of a folder and when each was finished."""
    return {path.name: path.stat().st_mtime_ns for path in folder.glob("0*.json")}


def workers_of(pid):
    """The processes that a process has started."""
    found = subprocess.run(
        ["ps", "-ww", "-o", "pid=,args=", "--ppid", str(pid)], capture_output=True, text=True, check=False
    )
    lines = [line.split(None, 1) for line in found.stdout.splitlines()]
    return [int(pid) for pid, args in lines if "spawn_main" in args]


def is_alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_a_dump_becomes_a_folder_that_data_info_reads(knowwhen, dump, tmp_path):
    done = knowwhen("wikidata", dump, "--out", tmp_path / "out", *SMALL, "--json")
    sheet = json.loads(done.stdout)
    assert (done.returncode, sheet["name"], sheet["folder"]) == (0, "out", str(tmp_path / "out"))
    assert "facts extracted" in done.stderr and "round 1: " in done.stderr
    info = json.loads(knowwhen("data", "info", tmp_path / "out", "--json").stdout)
    assert all(sheet[name] == info[name] for name in ("train", "entities", "timestamps", "half_open", "first"))


def test_the_dataset_trains_and_is_asked_by_label(knowwhen, real_data, tmp_path):
    dump = real_data("wikidata-dump-sample") / "first-50-lines.json"
    made = knowwhen("wikidata", dump, "--out", tmp_path / "data", "--min-degree", 2, "--min-predicate", 3)
    assert made.returncode == 0
    small = [f"--set={text}" for text in ("model.rank=4", "training.epochs=2", "training.batch_size=100")]
    trained = knowwhen("train", tmp_path / "data", *small, "--run", tmp_path / "run", "--json")
    assert trained.returncode == 0 and json.loads(trained.stdout)["epochs"] == 2
    asked = knowwhen("ask", tmp_path / "run", "Berlin", "P17", "?", "2000", "--json")
    names = {answer["key"]: answer["name"] for answer in json.loads(asked.stdout)["answers"]}
    items = Extract()
    for line in dump.read_bytes().splitlines()[1:]:
        items.add(Parser(("en",)).parse(line.rstrip(b",")))
    labels = {f"Q{number}": label for _, number, label in items.labels}
    assert names and all(name == labels.get(key, key) for key, name in names.items())
    assert any(name != key for key, name in names.items())


def test_people_get_a_line_a_number_and_what_not_to_overlook(knowwhen, dump, tmp_path):
    dump.write_bytes(dump.read_bytes()[:-2])
    done = knowwhen("wikidata", dump, "--out", tmp_path / "out", *SMALL)
    assert "percent with time" in done.stdout
    assert "note: the dump does not end with ']': it may be cut off" in done.stderr


def test_kill_9_and_the_same_command_goes_on(knowwhen, dump, tmp_path):
    """The dump comes through a pipe, so that the kill falls between two windows for certain."""
    text, out = dump.read_bytes(), tmp_path / "out"
    parts = tmp_path / "out.parts"
    assert knowwhen("wikidata", dump, "--out", tmp_path / "whole" / "out", *SMALL).returncode == 0
    process = start("-", "--out", out, *SMALL, stdin=subprocess.PIPE)
    process.stdin.write(text[:3_200_000])
    process.stdin.flush()
    until(lambda: len(windows_in(parts)) >= 2)
    workers = workers_of(process.pid)
    assert workers
    process.kill()
    process.communicate()
    until(lambda: not any(is_alive(worker) for worker in workers))  # nobody is left behind
    before = windows_in(parts)
    assert not out.exists()
    (parts / "00000009.facts.parquet.tmp").write_bytes(b"half a table")
    with start("-", "--out", out, *SMALL, stdin=subprocess.PIPE) as again:
        again.stdin.write(text[:4_400_000])
        again.stdin.flush()
        until(lambda: len(windows_in(parts)) > len(before))
        after = windows_in(parts)
        again.communicate(text[4_400_000:])
    assert again.returncode == 0
    assert before.items() <= after.items()  # finished windows were not done again
    tables = [name for name in content(out) if name.endswith(".parquet")]
    assert all(content(out)[name] == content(tmp_path / "whole" / "out")[name] for name in tables)
    assert len(tables) == 5 and not parts.exists()


def test_kill_9_at_any_moment_of_a_file(knowwhen, dump, tmp_path):
    assert knowwhen("wikidata", dump, "--out", tmp_path / "whole" / "out", *SMALL).returncode == 0
    out = tmp_path / "out"
    for seconds in (0.5, 1.5, 2.0, 2.5):
        process = start(dump, "--out", out, *SMALL)
        time.sleep(seconds)
        process.kill()
        process.communicate()
        if out.exists():
            break
    if not out.exists():
        assert knowwhen("wikidata", dump, "--out", out, *SMALL).returncode == 0
    assert content(out) == content(tmp_path / "whole" / "out")


def test_ctrl_c_ends_quietly_and_leaves_what_is_finished(dump, tmp_path):
    process = start("-", "--out", tmp_path / "out", *SMALL, stdin=subprocess.PIPE, start_new_session=True)
    process.stdin.write(dump.read_bytes()[:3_200_000])
    process.stdin.flush()
    until(lambda: len(windows_in(tmp_path / "out.parts")) >= 2)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to the workers too
    _, errors = process.communicate()
    assert process.returncode == 130
    assert b"Traceback" not in errors
    assert len(windows_in(tmp_path / "out.parts")) >= 2


def test_a_worker_that_dies_is_one_line(dump, tmp_path):
    process = start("-", "--out", tmp_path / "out", *SMALL, stdin=subprocess.PIPE)
    process.stdin.write(dump.read_bytes()[:2_000_000])
    process.stdin.flush()
    until(lambda: windows_in(tmp_path / "out.parts"))
    for worker in workers_of(process.pid):
        os.kill(worker, signal.SIGKILL)
    _, errors = process.communicate(dump.read_bytes()[2_000_000:])
    expected = b"knowwhen: a worker process died, perhaps for lack of memory; run the same command to continue"
    assert (process.returncode, errors.splitlines()) == (1, [expected])


@pytest.mark.parametrize(("size", "seen"), [("16k", False), ("200k", True)])
def test_a_full_disk_is_one_line(dump, tmp_path, size, seen):
    """On a disk that has room for no window at all, and on one that has for the windows but not for choosing."""
    (tmp_path / "disk").mkdir()
    mounted = f'mount -t tmpfs -o size={size} none "$0" && exec "$@"'
    inside = ["unshare", "--map-root-user", "--mount", "sh", "-c", mounted, str(tmp_path / "disk")]
    if subprocess.run([*inside, "true"], capture_output=True, check=False).returncode:
        pytest.skip("no small disk can be mounted here")
    command = [*inside, *COMMAND, str(dump), "--out", str(tmp_path / "disk" / "out"), *SMALL]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert ("facts extracted" in done.stderr) is seen
    assert "Traceback" not in done.stderr
    last = done.stderr.splitlines()[-1]
    assert last.startswith(f"knowwhen: cannot write to {tmp_path / 'disk'}") and last.endswith(
        "run the same command to continue"
    )


def test_parts_are_extracted_and_merged(knowwhen, dump, tmp_path):
    parts = [tmp_path / f"part-{i}" for i in (1, 2)]
    for i, part in enumerate(parts, 1):
        done = knowwhen("wikidata", dump, "--part", f"{i}/2", "--window", 1, "--out", part, "--json")
        assert json.loads(done.stdout)["folder"] == str(part)
    missing = knowwhen("wikidata", "merge", parts[0], "--out", tmp_path / "out")
    assert (missing.returncode, missing.stderr) == (1, "knowwhen: parts 2 are missing of 2; give each part once\n")
    merged = knowwhen("wikidata", "merge", *parts, "--out", tmp_path / "out", *SMALL[2:], "--json")
    alone = knowwhen("wikidata", "make", dump, "--out", tmp_path / "alone" / "out", *SMALL, "--json")
    assert {**json.loads(merged.stdout), "folder": ""} == {**json.loads(alone.stdout), "folder": ""}
    assert content(tmp_path / "out") == content(tmp_path / "alone" / "out")
    assert all(part.exists() for part in parts)  # another merge may follow


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere", "--out", "o"], "no dump 'nowhere'; expected a file such as latest-all.json.gz, or - for standard"),
        (["dump.json", "--out", "."], ". exists and is not an empty folder; choose another"),
        (["dump.json", "--out", "o", "--part", "3/2"], "--part is '3/2'; expected i/n with i from 1 to n"),
        (["dump.json", "--out", "o", "--part", "x"], "--part is 'x'; expected i/n"),
        (["dump.json", "--out", "o", "--part", "1/2", "--seed", "3"], "--part only extracts; give --keep, --drop"),
        (["dump.json", "--out", "o", "--min-degree", "-1"], "--min-degree -1: input should be greater than or equal"),
        (["dump.json", "--out", "o", "--window", "0"], "--window 0: input should be greater than or equal to 1"),
        (
            ["dump.json", "--out", "o", "--granularity", "week"],
            "--granularity 'week': input should be 'minute', 'hour', 'day'",
        ),
        (["dump.json", "--out", "o", "--split", "some"], "--split is 'some'; expected two fractions"),
        (["dump.json", "--out", "o", "--drop", "cheese"], "--drop is 'cheese'; expected a Q number such as"),
        (["merge", "nowhere", "--out", "o"], "cannot read manifest.json in nowhere; expected a folder that --part"),
    ],
)
def test_errors_are_one_line_and_exit_1(knowwhen, tmp_path, arguments, message):
    (tmp_path / "dump.json").write_text("[\n]\n")
    done = knowwhen("wikidata", *arguments, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(f"knowwhen: {message}")
    assert done.stderr.count("\n") == 1


def test_without_the_extra_help_works_and_the_rest_says_how_to_get_it(tmp_path):
    block = "import sys; sys.modules.update(dict.fromkeys(('duckdb', 'isal', 'msgspec', 'rapidgzip')));"
    command = [sys.executable, "-c", f"{block} from knowwhen.cli.main import main; main()", "wikidata"]
    helped = subprocess.run([*command, "--help"], capture_output=True, text=True, check=True)
    assert "knowwhen wikidata DUMP --out DIR" in helped.stdout
    done = subprocess.run([*command, "d", "--out", "o"], capture_output=True, text=True, check=False)
    expected = "knowwhen: knowwhen wikidata needs packages that are not installed: pip install 'knowwhen[wikidata]'\n"
    assert (done.returncode, done.stderr) == (1, expected)


def test_usage_errors_exit_2(knowwhen):
    assert knowwhen("wikidata", "dump.json").returncode == 2
    assert knowwhen("wikidata", "merge", "--out", "o").returncode == 2


def test_progress_is_in_bytes_with_time_left():
    assert describe(1_000_000_000, 10_000_000_000, 60) == "1.0 of 10.0 GB, 9 minutes left"
    assert describe(1_500_000_000, None, 60) == "1.5 GB read"
    assert describe(0, 10, 60) == "0.0 GB read"


def test_without_a_terminal_progress_is_a_line_now_and_then(monkeypatch, capsys):
    monkeypatch.setattr("knowwhen.cli.wikidata.PLAIN_SECONDS", -1)
    with DumpProgress("dump.gz") as shown:
        shown.bytes(1_000_000_000, 10_000_000_000)
        monkeypatch.setattr("knowwhen.cli.wikidata.PLAIN_SECONDS", 60)
        shown.bytes(2_000_000_000, 10_000_000_000)
    assert capsys.readouterr().err == "dump.gz: 1.0 of 10.0 GB, 0 minutes left\n"


def test_on_a_terminal_progress_is_a_bar_of_bytes(on_terminal, dump, tmp_path):
    command = [*COMMAND, str(dump), "--out", str(tmp_path / "out"), *SMALL]
    code, text = on_terminal(command, stdout=subprocess.DEVNULL)
    assert code == 0
    assert b"5.0/5.0 MB" in text and b"0:00:00" in text and b"facts left" in text
