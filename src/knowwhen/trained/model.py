"""A trained model with its names, its times and its data: what `train` and `open` return."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Unpack, overload

import polars as pl

from knowwhen import __version__
from knowwhen.console import Progress
from knowwhen.dating import TimeHead
from knowwhen.errors import KnowwhenError
from knowwhen.evaluation import Calibration, CalibrationReport, Metrics, Protocol, TimeMetrics
from knowwhen.facts.catalog import load
from knowwhen.facts.dataset import Dataset
from knowwhen.models import TemporalModel
from knowwhen.query import (
    Answers,
    AsOf,
    Holds,
    Neighbours,
    TimeAnswers,
    TimelineScores,
    When,
    as_of,
    ask,
    ask_batch,
    embeddings,
    fill,
    holds,
    holds_batch,
    nearest_times,
    similar,
    timeline,
    when,
    when_batch,
)
from knowwhen.query.asking import AskOptions, Name, Unknown, Year, is_one
from knowwhen.query.rows import Rows
from knowwhen.text import brief
from knowwhen.trained import adding, describing, measuring, saving
from knowwhen.trained.adding import Additions
from knowwhen.training.config import Config
from knowwhen.training.loop import Record


@dataclass(frozen=True)
class TrainedModel:
    """A model that knows names: what `knowwhen.train` and `knowwhen.open` return."""

    model: TemporalModel
    dataset: Dataset
    config: Config
    records: list[Record] = field(default_factory=list)  # of epochs
    path: Path | None = None  # of its run or model folder
    calibration: Calibration | None = None  # None: probabilities are softmax scores as they are
    additions: Additions | None = None
    times: TimeHead | None = None  # None: spans are read off the decomposition's curve
    version: str = __version__  # of knowwhen, which trained it

    def __repr__(self) -> str:
        parts = [self.model.name, *self.model.evidence, *(["correction"] if self.model.correction else [])]
        where = f" in {self.path}" if self.path else ""
        return brief(self, f"{' + '.join(parts)} on {self.dataset.name!r}{where}")

    def info(self) -> dict[str, Any]:
        """What it is and how large, stored parameters beside those of the paper's formula."""
        return describing.info(self)

    def card(self) -> str:
        """A page for people who find the folder: what the model is, what it was trained on, how it did."""
        return describing.card(self)

    @property
    def trained(self) -> TrainedModel:
        """Without what was added: what is measured."""
        return self.additions.before if self.additions else self

    def add(self, source: Any, **options: Any) -> TrainedModel:
        """The model with more facts to draw on, without training: known to `ask`, and evidence where there is any.

        `source` and `options` are those of `knowwhen.load`. New entities get a row from the facts that hold them, new
        times that of the last time before. A model with a folder keeps them there, so that `open` has them too. Facts
        that it was trained on or that were added before are left out: adding a file twice changes nothing.
        """
        if not isinstance(source, Dataset):
            source = self.read_facts(source, **options)
        return adding.add(self, source)

    def read_facts(self, source: Any, **options: Any) -> Dataset:
        """The facts of a source on the time axis of this model, none of them held out: what `add` takes."""
        granularity = str(self.dataset.timeline.granularity)
        return load(source, **{"granularity": granularity, "fractions": (0.0, 0.0), **options})

    def known_by(self, date: str) -> TrainedModel:
        """The model with what was known at a date: facts recorded later are neither known nor evidence.

        Needs data that says when its facts were recorded. What training learned from later facts stays in the weights.
        """
        return adding.known_by(self, str(date))

    def evaluate(
        self,
        split: str = "test",
        *,
        protocol: Protocol | None = None,
        sample: int | None = None,
        progress: bool | Progress | None = None,
        with_added: bool = False,
    ) -> Metrics:
        """The ranking metrics of a split, or of `sample` facts of it, under a protocol.

        What was added after training is left out, or with `with_added` used as evidence, if it holds none of the split.
        `progress=True` shows a bar on stderr; a function is called with what is done and what there is.
        """
        return measuring.measure(self, split, protocol, sample, progress, with_added)

    def ranks(
        self,
        split: str = "test",
        *,
        protocol: Protocol | None = None,
        sample: int | None = None,
        progress: bool | Progress | None = None,
        with_added: bool = False,
    ) -> pl.DataFrame:
        """The rank of each fact of a split in each direction, a row each: what `evaluate` takes its means of."""
        return measuring.rank(self, split, protocol, sample, progress, with_added)

    def evaluate_times(
        self,
        split: str = "test",
        *,
        sample: int | None = None,
        seed: int = 0,
        progress: bool | Progress | None = None,
        greedy: bool = False,
    ) -> TimeMetrics:
        """How well time questions (s, p, o, ?) about a split are answered, beside two trivial baselines.

        With `greedy`, spans are grown from the decomposition's curve as in published tables, without the time head.
        """
        return measuring.measure_times(self.trained, split, sample, seed, progress, greedy)

    def evaluate_calibration(
        self, split: str = "test", *, sample: int | None = None, seed: int = 0
    ) -> CalibrationReport:
        """How far probabilities can be believed: calibration error and reliability by kind of question."""
        return measuring.measure_calibration(self.trained, split, sample, seed)

    # The place of "?" decides what comes back, and a type checker knows it where it is written in the call. Calls with
    # two of them, for which the first overlaps with others, are an error.
    @overload
    def ask(  # type: ignore[overload-overlap]
        self, subject: Name, predicate: Name, object: Name, time: Unknown, **options: Unpack[AskOptions]
    ) -> TimeAnswers: ...

    @overload
    def ask(
        self, subject: Name, predicate: Name, object: Name, time: Year | None = None, **options: Unpack[AskOptions]
    ) -> Answers: ...

    @overload
    def ask(
        self, subject: Unknown, predicate: Name, object: Name, time: str, **options: Unpack[AskOptions]
    ) -> Answers: ...

    @overload
    def ask(
        self, subject: Name, predicate: Unknown, object: Name, time: str, **options: Unpack[AskOptions]
    ) -> Answers: ...

    @overload
    def ask(
        self, subject: Name, predicate: Name, object: Unknown, time: str, **options: Unpack[AskOptions]
    ) -> Answers: ...

    @overload
    def ask(
        self, subject: Name, predicate: Name, object: Name, time: str, **options: Unpack[AskOptions]
    ) -> Answers | TimeAnswers: ...

    @overload
    def ask(
        self,
        subject: Rows,
        *,
        errors: Literal["raise"] = "raise",
        progress: bool | Progress | None = None,
        **options: Unpack[AskOptions],
    ) -> list[Answers | TimeAnswers]: ...

    @overload
    def ask(
        self,
        subject: Rows,
        *,
        errors: Literal["return"],
        progress: bool | Progress | None = None,
        **options: Unpack[AskOptions],
    ) -> list[Answers | TimeAnswers | KnowwhenError]: ...

    def ask(self, subject: Any, predicate: Any = None, object: Any = None, time: Any = None, **options: Any) -> Any:
        """The answers to a question with "?" in one place, or to each of many, in order.

        Options are top, novel, candidates, min_probability and explain. Many questions are a frame (polars, pandas,
        pyarrow), a list of tuples or dictionaries, a path, "-" or an open file; with `errors="return"` a question that
        cannot be answered has its error in its place, and `progress=True` shows a bar.
        """
        asks_one = is_one(subject, predicate, object, options)
        options = {"calibration": self.calibration, "times": self.times, **options}
        if asks_one:
            return ask(self.model, self.dataset, subject, predicate, object, time, **options)
        return ask_batch(self.model, self.dataset, subject, **options)

    @overload
    def when(self, subject: Name, predicate: Name, object: Name, *, infer_known: bool = False) -> When: ...

    @overload
    def when(self, subject: Rows, *, infer_known: bool = False, errors: Literal["raise"] = "raise") -> list[When]: ...

    @overload
    def when(
        self, subject: Rows, *, infer_known: bool = False, errors: Literal["return"]
    ) -> list[When | KnowwhenError]: ...

    def when(self, subject: Any, predicate: Any = None, object: Any = None, **options: Any) -> Any:
        """Begin and end of a fact, or of each of many: as known, or inferred, with ranges and reasons.

        Many facts come as in `ask`.
        """
        here = (self.model, self.times, self.dataset)
        if is_one(subject, predicate, object, options):
            return when(*here, subject, predicate, object, **options)
        return when_batch(*here, subject, **options)

    @overload
    def holds(self, subject: Name, predicate: Name, object: Name, time: Year | str) -> Holds: ...

    @overload
    def holds(self, subject: Rows, *, errors: Literal["raise"] = "raise") -> list[Holds]: ...

    @overload
    def holds(self, subject: Rows, *, errors: Literal["return"]) -> list[Holds | KnowwhenError]: ...

    def holds(self, subject: Any, predicate: Any = None, object: Any = None, time: Any = None, **options: Any) -> Any:
        """The probability that a fact holds at a time, or each of many: also beyond the last time of the data.

        Many facts come as in `ask`.
        """
        here = (self.model, self.times, self.dataset)
        if is_one(subject, predicate, object, options):
            return holds(*here, subject, predicate, object, time, **options)
        return holds_batch(*here, subject, **options)

    def as_of(self, subject: str, predicate: str, object: str, date: object, top: int = 10) -> AsOf:
        """The answers to a question with "?" in one place, by the probability that each holds at a date.

        The date may lie beyond the data.
        """
        return as_of(self.model, self.times, self.dataset, (subject, predicate, object), date, top=top)

    def fill(self, *, min_probability: float = 0.0) -> pl.DataFrame:
        """Every fact of the dataset, missing begins and ends inferred in columns of their own."""
        return fill(self.model, self.times, self.dataset, min_probability=min_probability)

    def timeline(
        self, subject: str, predicate: str, objects: Sequence[str] | None = None, span: str | None = None
    ) -> TimelineScores:
        """The scores of objects along time, or along a span of it; without objects, of those that are known in it."""
        return timeline(self.model, self.dataset, subject, predicate, objects, span, calibration=self.calibration)

    def similar(self, entity: str, top: int = 10) -> Neighbours:
        """The entities that are nearest in the embedding."""
        return similar(self.model, self.dataset, entity, top)

    def nearest_times(self, time: object, top: int = 10) -> Neighbours:
        """The timestamps that are nearest in the embedding."""
        return nearest_times(self.model, self.dataset, time, top)

    def embeddings(self, kind: str = "entities") -> pl.DataFrame:
        """Key, label and row of all "entities", "predicates" or "timestamps"."""
        return embeddings(self.model, self.dataset, kind)

    def save(self, folder: str | Path) -> None:
        """Writes a folder that `knowwhen.open` reads back: weights, names, data and a model card."""
        saving.save(self, Path(folder))
