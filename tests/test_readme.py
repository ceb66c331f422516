"""What the README tells people to type is run as written."""

import re
import shlex
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(text: str, kind: str) -> list[str]:
    """The fenced blocks of a kind, '' for those without one."""
    return [body for found, body in re.findall(r"^```(\w*)\n(.*?)^```$", text, re.S | re.M) if found == kind]


def section(title: str) -> str:
    return next(part for part in README.split("\n## ") if part.startswith(title))


def answer_names(text: str) -> list[str]:
    """The names after the ranks in printed answers, and the spans: what last digits of scores do not change."""
    return re.findall(r"^ *\d+  (\S+(?: \S+)*)  ", text, re.M) + re.findall(r"^\d{4} to \d{4}", text, re.M)


@pytest.mark.slow
def test_your_own_csv_to_answers_in_five_commands(tmp_path, forks):
    text = section("Your own facts, in five commands")
    (facts,), (commands,), (printed,) = (blocks(text, kind) for kind in ("csv", "sh", ""))
    lines = commands.splitlines()
    assert len(lines) == 5
    (tmp_path / "facts.csv").write_text(facts, encoding="utf-8")
    shown = []
    for line in lines:
        program, *words = shlex.split(line, comments=True)
        done = forks.run(*words, cwd=tmp_path, environment={"XDG_CACHE_HOME": str(tmp_path)})
        assert (program, done.code) == ("knowwhen", 0), done.err
        shown.append(done.out)
    assert answer_names("".join(shown[3:])) == answer_names(printed) != []
    assert answer_names(printed)[0] == "Library"


@pytest.mark.slow
def test_the_python_of_the_readme_runs(tmp_path, monkeypatch, quick_time_head):
    monkeypatch.chdir(tmp_path)
    (code,) = blocks(section("Ten lines of Python"), "python")
    assert len(code.splitlines()) <= 10
    names = {}
    exec(compile(code.replace('recipe="leaders"', 'recipe="leaders", epochs=2'), "README.md", "exec"), names)
    assert len(names["answers"]) == 10
    assert (tmp_path / "presidents.svg").exists()


def test_the_results_of_the_readme_are_those_that_reproduce_wrote():
    """Each of our figures in the table is a mean of docs/results.md, rounded."""
    results = (ROOT / "docs" / "results.md").read_text(encoding="utf-8")
    rows = [row.split("|")[2:4] for row in section("Results").splitlines() if re.match(r"\| .*(ours|counting)", row)]
    assert len(rows) == 4
    for dataset, column in (("icews14", 0), ("icews05-15", 1)):
        written = re.findall(rf"^\| {dataset} \|.*?\| (0\.\d{{4}})(?: ± (0\.\d{{4}}))? \|", results, re.M)
        for row in rows:
            mean, _, spread = row[column].replace("**", "").strip().partition(" ± ")
            is_written = any(f"{float(m):.3f}" == mean and (not spread or s == spread) for m, s in written)
            assert is_written or mean == "–", row[column]
