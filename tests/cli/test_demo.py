"""`knowwhen demo`, run as a user runs it: its answers are right, and its figure is there."""

import json
import re
import shlex
import shutil
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from tests.waiting import PATIENCE


@pytest.fixture(scope="module")
def done(demo, forks, once):
    """The demo for programs, and again for people in the same folder, where the run is resumed and not trained anew."""
    made, found = demo

    def make(folder):
        shutil.copytree(made, folder)  # others read the first
        shown = forks.run("demo", "--run", "runs/demo", cwd=folder)
        assert shown.code == 0, shown.err
        (folder / "shown.txt").write_text(shown.out, encoding="utf-8")

    folder = once("demo-again", make)
    return folder, found, (folder / "shown.txt").read_text(encoding="utf-8")


@pytest.mark.slow
def test_the_facts_that_are_shown_are_ranked_first(done):
    _, found, _ = done
    objects, subjects, predicates, times = found["answers"]
    assert [one["asks"] for one in found["answers"]] == ["object", "subject", "predicate", "time"]
    assert objects["question"] == "United States, has president, ?, 2012"
    best = [(one["answers"][0]["name"], one["answers"][0]["known"]) for one in (objects, subjects, predicates)]
    assert best == [("Barack Obama", True), ("Germany", True), ("has prime minister", True)]
    assert times["question"] == "France, has president, François Mitterrand, ?"
    span = times["spans"][0]
    assert span["begin"] <= "1995" and span["end"] >= "1981"
    assert "1981" <= times["best"] <= "1995"
    assert found["test"]["mrr"] > 0.5
    when, holds = found["when"], found["holds"]
    assert when["begin"] <= "1988" <= when["end"] and when["inferred"] == ["begin", "end"] and when["reasons"]
    assert holds["beyond"] and holds["basis"] == "open" and 0.05 < holds["probability"] < 0.95


@pytest.mark.slow
def test_people_see_the_protocol_the_figure_and_what_to_type_next(done):
    folder, found, shown = done
    assert "filtered at the query's time, ties half, both directions" in shown
    assert "1  Barack Obama" in shown
    assert found["out"] == "runs/demo/french-presidents.svg" in shown
    assert (folder / found["out"]).read_text(encoding="utf-8").startswith("<?xml")
    assert "All facts asked about are in train on purpose" in shown


@pytest.mark.slow
def test_what_is_typed_next_works(done, knowwhen):
    folder, _, shown = done
    typed = [shlex.split(line) for line in shown.splitlines() if line.startswith(("$ knowwhen", "  knowwhen"))]
    commands = [words[words.index("knowwhen") + 1 :] for words in typed]
    assert len(commands) == 15 and commands[-1] == ["serve", "runs/demo"]
    for words in commands:
        if words[0] in ("ask", "plot", "when", "holds"):
            assert knowwhen(*words, cwd=folder).returncode == 0, words


def steps(text):
    """What follows each `$ knowwhen` line, by that line."""
    parts = re.split(r"^(\$ knowwhen .*)$", text, flags=re.M)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def words(text):
    """The words of each line without numbers and curves, whose last digits depend on the machine."""
    return [re.sub(r"[\d.]+|[▁-█]+| {2,}", " ", line).split() for line in text.splitlines() if line]


@pytest.mark.slow
@pytest.mark.parametrize(("page", "count"), [("README.md", 1), ("docs/tour.md", 13)])
def test_a_page_shows_what_the_demo_and_its_model_print(done, knowwhen, page, count):
    """Abridged, but each question, table head and best answer as printed, up to the last digits of numbers."""
    text = (Path(__file__).parents[2] / page).read_text(encoding="utf-8")
    shown = steps("".join(re.findall(r"^```\n(\$ knowwhen .*?)^```$", text, re.S | re.M)))
    assert len(shown) == count
    printed = steps(done[2])
    for command, lines in shown.items():
        if command not in printed and words(lines):
            found = knowwhen(*shlex.split(command)[2:], cwd=done[0])
            printed[command] = found.stdout + found.stderr
        assert [line for line in words(lines) if line not in words(printed.get(command, ""))] == [], command


@pytest.mark.slow
def test_it_can_be_opened_in_a_browser(done):
    folder, _, _ = done
    words = [sys.executable, "-m", "knowwhen", "demo", "--serve", "--port", "0", "--json"]
    began = subprocess.Popen(words, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        assert json.loads(began.stdout.readline())["run"] == "runs/demo"
        url = json.loads(began.stdout.readline())["url"]
        with urllib.request.urlopen(url, timeout=PATIENCE) as page:
            assert b"<title>knowwhen</title>" in page.read()
        began.send_signal(signal.SIGINT)
        assert began.wait(PATIENCE) == 0
    finally:
        began.kill()
        began.communicate()


def test_a_folder_with_other_things_in_it_is_left_alone(knowwhen, tmp_path):
    (tmp_path / "notes.txt").touch()
    done = knowwhen("demo", "--run", tmp_path)
    assert done.returncode == 1
    assert f"knowwhen: {tmp_path} exists and is not an empty folder; choose another --run\n" == done.stderr
