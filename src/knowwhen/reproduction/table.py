"""What a table is: a plan of experiments, and rows, a figure and a note made of their results."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from knowwhen.errors import BadRequest
from knowwhen.plotting.figures import save
from knowwhen.reproduction.experiments import Experiment, Setting
from knowwhen.reproduction.results import Result, those
from knowwhen.tuning.space import Point

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Row = Sequence[str]
MARK = "†"
FOOTNOTE = (
    f"{MARK} Provisional, to be measured again: copied from an earlier page, or validated with a filter that also used "
    "test facts. Test metrics are computed as today, but epochs and settings were chosen on that validation."
)


@dataclass(frozen=True)
class Request:
    """Which part of a table, and how long its runs are."""

    datasets: Sequence[str] = ()
    models: Sequence[str] = ()
    seeds: int = 1  # 0: as many as complete the table
    large: bool = False
    sampled: bool = False  # with a sampled softmax, where the table has both
    epochs: int | None = None
    trials: int | None = None  # of tables that choose settings on valid; None: all
    found: Sequence[Result] = ()  # what is measured already: some plans go on from it

    def length(self, default: int | None = None) -> Point:
        """The epochs that were asked for, or the table's, or nothing where the recipe says it."""
        epochs = self.epochs or default
        return {} if epochs is None else {Setting.EPOCHS: epochs}

    def command(
        self, table: str, data: str = "", model: str = "", seed: int = 0, *, large: bool = False, sampled: bool = False
    ) -> str:
        """The line that makes one experiment of a table, with no more others than the seeds before it."""
        options = {"--dataset": data, "--model": model, "--seeds": seed and seed + 1, "--epochs": self.epochs}
        options |= {"--trials": self.trials}
        given = [f" {name} {value}" for name, value in options.items() if value]
        return f"knowwhen reproduce {table}{''.join(given)}{' --large' * large}{' --sampled' * sampled}"


@dataclass(frozen=True)
class Table:
    """A table or figure of `knowwhen reproduce` and of the page of results."""

    name: str
    title: str
    plan: Callable[[Request], Sequence[Experiment]]
    rows: Callable[[Sequence[Result]], list[Row]]  # the first is the header
    datasets: Sequence[str] = ()
    models: Sequence[str] = ()
    if_asked: Sequence[str] = ()  # those of them that are left out unless they are asked for
    shows: Sequence[str] = ()  # the tables whose results it shows, where these are not its own
    whole: Sequence[Request] = (Request(),)  # what completes it
    figure: Callable[[Sequence[Result]], Figure | None] | None = None  # of one dataset; None: nothing to draw
    note: Callable[[Sequence[Result]], str] | None = None

    def complete(self, request: Request) -> Request:
        """The request with this table's names where it has none; refuses others."""
        datasets = self._names("dataset", request.datasets, self.datasets)
        return replace(request, datasets=datasets, models=self._names("model", request.models, self.models))

    def whole_requests(self, asked: Request) -> Iterator[Request]:
        """What completes the table, narrowed to the datasets and models that are asked for."""
        for part in map(self.complete, self.whole):
            datasets = [name for name in part.datasets if name in (asked.datasets or part.datasets)]
            models = [name for name in part.models if name in (asked.models or part.models)]
            if (datasets or not asked.datasets) and (models or not asked.models):
                given = {name: getattr(asked, name) or getattr(part, name) for name in ("seeds", "epochs", "trials")}
                yield replace(part, datasets=datasets, models=models, found=asked.found, **given)

    def _names(self, kind: str, wanted: Sequence[str], known: Sequence[str]) -> Sequence[str]:
        for name in wanted:
            if name not in known:
                raise BadRequest(f"{self.name} has no {kind} {name!r}; it has {', '.join(known) or 'none to choose'}")
        return wanted or [name for name in known if name not in self.if_asked]

    def of(self, results: Sequence[Result]) -> list[Result]:
        """The results that it shows."""
        return [r for r in results if r.table in (self.shows or (self.name,))]

    def draw(self, results: Sequence[Result], datasets: Sequence[str], path: Path) -> bool:
        """Draws the figure of the first of some datasets that has one into a file; False where none has."""
        here = self.of(results)
        drawn = (self.figure(those(here, data=data)) for data in datasets) if self.figure else ()
        figure = next((found for found in drawn if found is not None), None)
        if figure is not None:
            save(figure, path)
        return figure is not None


def spread(values: Iterable[float | None]) -> str:
    """The mean, and the standard deviation where there are several; nothing where none is known."""
    found = known(values)
    if not found:
        return ""
    return f"{statistics.mean(found):.4f}" + (f" ± {statistics.stdev(found):.4f}" if len(found) > 1 else "")


def mean(values: Iterable[float | None], places: int = 3) -> str:
    """The mean of those that are known."""
    found = known(values)
    return f"{statistics.mean(found):.{places}f}" if found else ""


def known(values: Iterable[float | None]) -> list[float]:
    return [value for value in values if value is not None]


def number(value: float | None) -> str:
    return "" if value is None else f"{value:.4f}"


def marked(name: str, results: Sequence[Result]) -> str:
    """The name of a row, with a mark where some of its results are provisional."""
    return f"{name} {MARK}" if any(r.is_provisional for r in results) else name
