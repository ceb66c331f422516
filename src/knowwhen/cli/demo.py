"""`knowwhen demo`: from bundled facts to answers and a figure, each step with the command that does it."""

from __future__ import annotations

import json
import shlex
import shutil
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from knowwhen.cli.output import Json, Quiet
from knowwhen.cli.serve import DEFAULT_PORT, need_extra, serve
from knowwhen.training.bar import TrainingBar

if TYPE_CHECKING:
    from knowwhen.facts.dataset import Dataset
    from knowwhen.trained import TrainedModel

# One of each kind: the object, the subject, the predicate and the time are asked for.
QUESTIONS = (
    ("United States", "has president", "?", "2012"),
    ("?", "has chancellor", "Angela Merkel", "2010"),
    ("France", "?", "Jacques Chirac", "1987"),
    ("France", "has president", "François Mitterrand", "?"),
)
DATED = ("France", "has president", "François Mitterrand")  # as if no fact told when
STILL = ("France", "has president", "Emmanuel Macron", "2030")  # beyond the data
FIGURE = ("France", "has president", "1980..2020", "french-presidents.svg")


def demo(
    run: Annotated[Path, typer.Option("--run", help="The folder for the run and the figure.")] = Path("runs/demo"),
    then_serve: Annotated[bool, typer.Option("--serve", help="Then serve it to a browser, until Ctrl-C.")] = False,
    port: Annotated[
        int, typer.Option("--port", min=0, max=65535, help="The port for --serve; 0 picks a free one.")
    ] = DEFAULT_PORT,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Train on bundled facts about heads of state, evaluate, answer six questions and draw a figure, in a minute.

    Example: knowwhen demo --run runs/demo
    """
    from knowwhen.evaluation.report import rank_report
    from knowwhen.facts.catalog import load
    from knowwhen.plotting import plot
    from knowwhen.plotting.figures import new_figure
    from knowwhen.trained import train

    say = keep_quiet if as_json else print_step
    new_figure()  # complains of a missing extra before the work, not after it
    if then_serve:
        need_extra()
    data = load("leaders")
    say(describe(data))
    say(command("train", "leaders", "--recipe", "leaders", "--run", run))
    began = time.monotonic()
    trained = train(data, "leaders", run=run, resume=True, progress=TrainingBar())
    seconds = time.monotonic() - began
    say(learned(trained, seconds))
    metrics = trained.evaluate("test")
    say(command("evaluate", run), rank_report(metrics))
    answers = []
    for question in QUESTIONS:
        answers.append(trained.ask(*question, top=3))
        say(command("ask", run, *question, "--top", "3"), str(answers[-1]))
    dated, still = trained.when(*DATED, infer_known=True), trained.holds(*STILL)
    say(command("when", run, *DATED, "--infer"), str(dated))
    say(command("holds", run, *STILL), str(still))
    subject, predicate, span, name = FIGURE
    plot(trained.timeline(subject, predicate, span=span), run / name)
    say(command("plot", run, "timeline", subject, predicate, "--span", span, "--out", run / name), f"out  {run / name}")
    say(next_steps(run))
    if as_json:
        values = {"run": str(run), "seconds": seconds, "test": metrics.to_dict(), "out": str(run / name)}
        values |= {"answers": [one.to_dict() for one in answers]}
        values |= {"when": dated.to_dict(), "holds": still.to_dict()}
        print(json.dumps(values, ensure_ascii=False), flush=True)
    if then_serve:
        serve([run], port=port, as_json=as_json)


def keep_quiet(*lines: str) -> None:
    pass


def print_step(*lines: str) -> None:
    print("\n".join(lines), end="\n\n", flush=True)


def command(*arguments: object) -> str:
    """What to type for a step; the path of the program where it is not on PATH, as after `make demo`."""
    program = sys.argv[0] if sys.argv[0].endswith("knowwhen") and not shutil.which("knowwhen") else "knowwhen"
    return f"$ {program} " + shlex.join("_" if argument == "?" else str(argument) for argument in arguments)


def describe(data: Dataset) -> str:
    facts = len(data.train) + len(data.valid) + len(data.test)
    return (
        f"{data.name}, bundled: {facts:,} facts about {len(data.entities):,} entities, {data.timeline.span()}; "
        f"{len(data.train):,} for training, the rest for validation and test"
    )


def learned(trained: TrainedModel, seconds: float) -> str:
    info = trained.info()
    return (
        f"{info['model']} of rank {info['rank']}: {info['formula']}\n"
        f"{info['epochs']} epochs in {seconds:.0f} s, object and time loss; MRR on valid {info['best_valid_mrr']:.4f}"
    )


def next_steps(run: Path) -> str:
    return "\n".join(
        [
            "All facts asked about are in train on purpose: answers and curves show what was learned. The table above",
            "shows how well that carries over to facts the model never saw. Try next:",
            "",
            "  " + command("ask", run, "Germany", "has chancellor", "?", "1990..2010")[2:],
            "  " + command("ask", run, "Japan", "member of", "?", "--novel")[2:],
            "  " + command("evaluate", run, "--time-questions")[2:],
            "  " + command("plot", run, "timestamps", "--out", "timestamps.png")[2:],
            "  " + command("data", "info", "your.csv")[2:] + "    (your own facts: see README.md)",
            "",
            f"Or open it in a browser, at http://127.0.0.1:{DEFAULT_PORT}/:",
            "",
            "  " + command("serve", run)[2:],
        ]
    )
