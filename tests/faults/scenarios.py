"""Commands that write, on tiny data: what they are given, how one goes on after a fault, and what they must leave."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.dumps import entity, item, moment, snak, statement
from tests.processes import Done, Forks

SETTINGS = {
    "model.rank": 2,
    "training.epochs": 2,
    "training.batch_size": 100,
    "validation.every": 1,
    "model.evidence": '["pair_history"]',
    "correction.held_out": 0.2,
}
SET = [f"--set={name}={value}" for name, value in SETTINGS.items()]
INLINE = "import tests.faults.inline; from knowwhen.cli.main import main; main()"  # workers are where the faults are


def make_world(folder: Path) -> None:
    """The files that the scenarios read."""
    folder.mkdir(parents=True, exist_ok=True)
    facts = [f"e{i % 9},p{i % 3},e{i * 7 % 11},{1990 + i % 12},{1995 + i % 12}" for i in range(300)]
    (folder / "facts.csv").write_text("subject,predicate,object,begin,end\n" + "\n".join(dict.fromkeys(facts)) + "\n")
    (folder / "news.csv").write_text("subject,predicate,object,time\ne1,p1,new,2001\ne2,p2,e3,2030\n")
    (folder / "questions.csv").write_text("subject,predicate,object,time\n" + "e1,p1,?,1999\ne2,?,e3,1998\n" * 3)
    (folder / "space.toml").write_text(SPACE)
    (folder / "answers.csv").write_text("what was there before\n")
    days = [f"e{i % 9}\tp{i % 3}\te{i * 7 % 11}\t2014-01-{i % 28 + 1:02}" for i in range(120)]
    (folder / "benchmarks" / "icews14").mkdir(parents=True)
    for name, part in (("train", days[:100]), ("valid", days[100:110]), ("test", days[110:])):
        (folder / "benchmarks" / "icews14" / f"{name}.txt").write_text("\n".join(part) + "\n")
    lines = [entity(i, [(p, _held_since(p, i % 5 + 1, 1990 + i)) for p in (10, 11)]) for i in range(1, 9)]
    (folder / "dump.json").write_bytes(b"[\n" + b",\n".join(lines) + b"\n]\n")


def _held_since(predicate: int, object: int, year: int) -> dict[str, object]:
    begin = snak(580, moment(f"+{year}-00-00T00:00:00Z"), kind="time")
    return statement(snak(predicate, item(object)), P580=[begin])


@dataclass(frozen=True)
class Scenario:
    name: str
    command: list[str]
    before: list[list[str]] = field(default_factory=list)  # commands that make what it works on
    again: list[str] | None = None  # how one goes on; by default the same command
    left: tuple[str, ...] = ()  # globs of what it writes
    environment: dict[str, str] = field(default_factory=dict)
    is_done: Callable[[Path], bool] = lambda world: False  # then it is not run again
    may_be: str = ""  # an error of the second time that says that the first had come to its end
    code: str = ""

    def prepare(self, forks: Forks, world: Path) -> None:
        make_world(world)
        for command in self.before:
            done = self.run(forks, world, command)
            assert done.code == 0, done.err

    def run(self, forks: Forks, world: Path, command: list[str] | None = None, **options: object) -> Done:
        code = {"code": self.code} if self.code else {}
        return forks.run(*(command or self.command), cwd=world, environment=self.environment, **code, **options)

    def result(self, world: Path) -> dict[str, bytes]:
        """What it wrote, without what differs from one time to the next."""
        found = (path for pattern in self.left for path in world.glob(pattern) if path.is_file())
        files = {path for path in found if not path.name.startswith(".")}  # locks and parts are litter
        return {str(path.relative_to(world)): _timeless(path) for path in sorted(files)}

    def litter(self, world: Path) -> list[str]:
        """What nobody asked for."""
        found = (path for path in world.rglob("*") if path.name.endswith(".part") or path.name.startswith("."))
        return sorted(
            str(path.relative_to(world)) for path in found if path.name != ".lock" or path.parent.name != "run"
        )


def _timeless(path: Path) -> bytes:
    if path.parts[-3] == "results":
        values = json.loads(path.read_text())
        return json.dumps({k: v for k, v in values.items() if k not in ("minutes", "memory_gb")}).encode()
    if path.name == "page.md":
        return b"".join(line for line in path.read_bytes().splitlines() if b"| pair-counts |" not in line)
    return path.read_bytes()


RUN = ("run/config.toml", "run/metrics.jsonl", "run/model/**/*", "run/checkpoints/last.*", "run/checkpoints/best.*")
TRAIN = ["train", "facts.csv", "--run", "run", *SET]
ONE = ["train", "facts.csv", "--run", "run", *SET, "--set=training.epochs=1"]
DATED = [*ONE, "--set=dating.passes=1"]
MORE = ["train", "--run", "run", "--resume", "--set=training.epochs=2"]
BENCHMARKS = {"KNOWWHEN_DATA": "benchmarks"}
REPRODUCE = [
    "reproduce",
    "table2",
    "--dataset",
    "icews14",
    "--model",
    "pair-counts",
    "--runs",
    "runs",
    "--out",
    "page.md",
]
SPACE = "[regularizer]\nembedding_weight = [0.1, 0.01]\n"
TUNE = [
    "tune",
    "facts.csv",
    "--run",
    "run",
    "--space",
    "space.toml",
    "--sampler",
    "grid",
    *SET,
    "--set=training.epochs=1",
]
STUDY = ("run/best.toml", "run/trials/*/metrics.jsonl", "run/trials/*/config.toml")
WIKIDATA = ["wikidata", "dump.json", "--out", "wd", "--min-degree", "0", "--min-predicate", "0", "--split", "1,1"]

SCENARIOS = {
    scenario.name: scenario
    for scenario in (
        Scenario("train", TRAIN, again=[*TRAIN, "--resume"], left=RUN),
        Scenario("resume", MORE, before=[ONE], left=RUN),
        Scenario("tune", TUNE, left=STUDY),
        Scenario(
            "import",
            ["data", "import", "facts.csv", "--out", "data"],
            left=("data/*",),
            may_be="exists and is not an empty folder",
        ),
        Scenario(
            "add",
            ["add", "run", "news.csv"],
            before=[ONE],
            left=("run/model/added/**/*",),
            is_done=lambda world: (world / "run" / "model" / "added" / "0001").exists(),
        ),
        Scenario("export", ["export", "run", "--out", "e.parquet"], before=[ONE], left=("e.parquet",)),
        Scenario(
            "batch",
            ["ask", "run", "--batch", "questions.csv", "--out", "answers.csv"],
            before=[ONE],
            left=("answers.csv",),
            code="import knowwhen.cli.batch as b; b.AT_ONCE = 2; from knowwhen.cli.main import main; main()",
        ),
        Scenario("fill", ["fill", "run", "--out", "filled.csv"], before=[DATED], left=("filled.csv",)),
        Scenario("plot", ["plot", "run", "training", "--out", "f.svg"], before=[ONE], left=("f.svg",)),
        Scenario("reproduce", REPRODUCE, left=("runs/results/*/*.json", "page.md"), environment=BENCHMARKS),
        Scenario("wikidata", WIKIDATA, left=("wd/*",), may_be="exists and is not an empty folder", code=INLINE),
    )
}
