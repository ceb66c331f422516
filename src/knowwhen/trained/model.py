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
    """A trained model with its data: `knowwhen.train` and `knowwhen.open` return it."""

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
        """The model, data and training as a dictionary, with the stored parameters and those of the paper's formula."""
        return describing.info(self)

    def card(self) -> str:
        """A model card in Markdown: the model, its training data and its metrics."""
        return describing.card(self)

    @property
    def trained(self) -> TrainedModel:
        """The model without added facts, as evaluation uses it."""
        return self.additions.before if self.additions else self

    def add(self, source: Any, **options: Any) -> TrainedModel:
        """A model with more facts, without training: they are known, and evidence if the model has evidence terms.

        `source` and `options` are those of `knowwhen.load`. A new entity gets an embedding from its facts, a new time
        that of the last time before it. If the model has a folder, the facts are saved there. Facts that are in train
        or were added before are left out, so adding a file twice changes nothing.
        """
        if not isinstance(source, Dataset):
            source = self.read_facts(source, **options)
        return adding.add(self, source)

    def read_facts(self, source: Any, **options: Any) -> Dataset:
        """The facts of a source on the time axis of this model, as `add` reads them: none are held out."""
        granularity = str(self.dataset.timeline.granularity)
        return load(source, **{"granularity": granularity, "fractions": (0.0, 0.0), **options})

    def known_by(self, date: str) -> TrainedModel:
        """The model with the facts known at a date: facts recorded later are neither known nor evidence.

        The data must say when its facts were recorded. Training has seen later facts, and that stays in the weights.
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
        """The ranking metrics of a split, or of `sample` of its facts, under a protocol.

        Facts added after training are ignored. `with_added` uses them as evidence; none of them may be in the split.
        `progress=True` shows a bar on stderr; a function is called with the number of queries done and the total.
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
        """The rank of each fact of a split in each direction, one row each; `evaluate` averages them."""
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
        """The metrics of time questions (s, p, o, ?) about a split, next to two simple baselines.

        With `greedy`, spans are grown from the decomposition's curve as in published tables, without the time head.
        """
        return measuring.measure_times(self.trained, split, sample, seed, progress, greedy)

    def evaluate_calibration(
        self, split: str = "test", *, sample: int | None = None, seed: int = 0
    ) -> CalibrationReport:
        """The calibration of probabilities: calibration error and reliability by kind of question."""
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
        pyarrow), a list of tuples or dictionaries, a path, "-" or an open file. With `errors="return"`, the result has
        the error of each question that cannot be answered. `progress=True` shows a bar.
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
        """Begin and end of a fact, or of each of many: known, or inferred with ranges and reasons.

        Many facts are given as in `ask`.
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
        """The probability that a fact holds at a time, or of each of many; the time may be after the data ends.

        Many facts are given as in `ask`.
        """
        here = (self.model, self.times, self.dataset)
        if is_one(subject, predicate, object, options):
            return holds(*here, subject, predicate, object, time, **options)
        return holds_batch(*here, subject, **options)

    def as_of(self, subject: str, predicate: str, object: str, date: object, top: int = 10) -> AsOf:
        """The answers to a question with "?" in one place, ranked by the probability that each holds at a date.

        The date may be after the data ends.
        """
        return as_of(self.model, self.times, self.dataset, (subject, predicate, object), date, top=top)

    def fill(self, *, min_probability: float = 0.0) -> pl.DataFrame:
        """All facts of the dataset, with missing begins and ends inferred in separate columns."""
        return fill(self.model, self.times, self.dataset, min_probability=min_probability)

    def timeline(
        self, subject: str, predicate: str, objects: Sequence[str] | None = None, span: str | None = None
    ) -> TimelineScores:
        """The scores of objects along time, or along a span; by default of the objects known in it."""
        return timeline(self.model, self.dataset, subject, predicate, objects, span, calibration=self.calibration)

    def similar(self, entity: str, top: int = 10) -> Neighbours:
        """The nearest entities in the embedding."""
        return similar(self.model, self.dataset, entity, top)

    def nearest_times(self, time: object, top: int = 10) -> Neighbours:
        """The nearest timestamps in the embedding."""
        return nearest_times(self.model, self.dataset, time, top)

    def embeddings(self, kind: str = "entities") -> pl.DataFrame:
        """Key, label and embedding of all "entities", "predicates" or "timestamps"."""
        return embeddings(self.model, self.dataset, kind)

    def save(self, folder: str | Path) -> None:
        """Write a folder that `knowwhen.open` reads back: weights, names, data and a model card."""
        saving.save(self, Path(folder))
