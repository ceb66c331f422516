"""A trained model with its names, its times and its data: what `train` and `open` return."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, overload

import numpy as np
import polars as pl
import torch

from knowwhen import checksums
from knowwhen.dating import TimeHead, believed, measure_holding
from knowwhen.distributed.processes import first_then_all
from knowwhen.distributed.shard import current, is_first
from knowwhen.errors import BadRequest, KnowwhenError, RunError
from knowwhen.evaluation import (
    Calibration,
    CalibrationReport,
    Metrics,
    Protocol,
    TimeMetrics,
    calibration_report,
    evaluate,
    evaluate_times,
)
from knowwhen.evaluation.evaluate import seen_entities
from knowwhen.evaluation.ranking import Progress
from knowwhen.facts.additions import extended
from knowwhen.facts.catalog import load
from knowwhen.facts.dataset import Dataset, row_keys
from knowwhen.facts.table import Facts
from knowwhen.files import UNCHANGED, locked, whole_folder, write_whole, writing
from knowwhen.models import Background, Sizes, TemporalModel, model_named
from knowwhen.models.budget import paper_parameter_count
from knowwhen.models.growing import grown, place_unseen
from knowwhen.plotting import plot  # registers the figures of answers, so that they have `.plot()`
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
from knowwhen.training.beginning import begin
from knowwhen.training.config import Config, full_name, read_config
from knowwhen.training.loop import Record, best_valid_mrr
from knowwhen.training.notes import check_format, config_text
from knowwhen.training.run import RunFolder
from knowwhen.training.saved import check_whole, load_data, load_model, read_about, save_model
from knowwhen.training.session import Silent, TrainingProgress, say_threads, threads_for, using_threads
from knowwhen.training.stages import check_device, new_model, train_stages

__all__ = ["Additions", "TrainedModel", "open", "plot", "train"]


@dataclass(frozen=True)
class Additions:
    """Facts that came after training, and the model as it was trained: what is measured."""

    sources: tuple[Dataset, ...]
    before: TrainedModel


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

    def info(self) -> dict[str, Any]:
        """What it is and how large, stored parameters beside those of the paper's formula."""
        sizes, name, options = self.model.sizes, self.model.name, self.config.model.options
        seen = int(seen_entities(self.dataset).sum())
        counted = None
        if name in ("complex", "tcomplex", "tntcomplex"):
            # The paper counts the entities of train, and reciprocal predicates before its formula doubles them again.
            counted = paper_parameter_count(name, options["rank"], seen, 2 * sizes.predicates, sizes.timestamps)
        return {
            "model": name,
            "formula": self.model.decomposition.formula,
            "evidence": list(self.model.evidence),
            "correction": self.model.correction is not None,
            "time_head": self.times is not None,
            **options,
            "parameters": self.model.parameter_count(),
            "parameters_in_the_papers_count": counted,
            "data": self.dataset.name,
            "data_hash": self.trained.dataset.hash,
            "added_facts": len(self.dataset.added),
            "epochs": self.records[-1]["epoch"] if self.records else 0,
            "best_valid_mrr": best_valid_mrr(self.records),
        }

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
        found = self._with(source)
        if len(found.dataset.added) == len(self.dataset.added):
            return self
        if self.path is not None:
            _keep_addition(_model_folder(self.path) / "added", source)
        return found

    def read_facts(self, source: Any, **options: Any) -> Dataset:
        """The facts of a source on the time axis of this model, none of them held out: what `add` takes."""
        granularity = str(self.dataset.timeline.granularity)
        return load(source, **{"granularity": granularity, "fractions": (0.0, 0.0), **options})

    def _with(self, new: Dataset) -> TrainedModel:
        dataset, earlier = extended(self.dataset, new)
        model = grown(self.model, Sizes.of(dataset, self.model.sizes.undated_row), earlier)
        model.recall(Background.of(dataset))
        place_unseen(model, Facts.concatenate(dataset.train, dataset.added), seen_entities(dataset))
        sources = self.additions.sources if self.additions else ()
        times = self.times and self.times.recall(dataset)
        additions = Additions((*sources, new), self.trained)
        return replace(self, model=model, dataset=dataset, additions=additions, times=times)

    def known_by(self, date: str) -> TrainedModel:
        """The model with what was known at a date: facts recorded later are neither known nor evidence.

        Needs data that says when its facts were recorded. What training learned from later facts stays in the weights.
        """
        dataset = self.dataset.known_by(str(date))
        model = grown(self.model, self.model.sizes, np.arange(self.model.sizes.timestamps))
        model.recall(Background.of(dataset))
        return replace(self, model=model, dataset=dataset, times=self.times and self.times.recall(dataset))

    def evaluate(
        self,
        split: str = "test",
        *,
        protocol: Protocol | None = None,
        sample: int | None = None,
        progress: Progress | None = None,
        with_added: bool = False,
    ) -> Metrics:
        """The ranking metrics of a split, or of `sample` facts of it, under a protocol.

        What was added after training is left out, or with `with_added` used as evidence, if it holds none of the split.
        """
        measured = self.trained
        if with_added:
            measured = self
            inside = int(np.isin(row_keys(self.dataset.facts(split)), row_keys(self.dataset.added)).sum())
            if inside:
                raise BadRequest(
                    f"{inside} facts of {split} were added to the model, which would be tested on facts it knows"
                )
        return evaluate(measured.model, measured.dataset, split, protocol, sample=sample, progress=progress)

    def evaluate_times(
        self, split: str = "test", *, sample: int | None = None, seed: int = 0, greedy: bool = False
    ) -> TimeMetrics:
        """How well time questions (s, p, o, ?) about a split are answered, beside two trivial baselines.

        With `greedy`, spans are grown from the decomposition's curve as in published tables, without the time head.
        """
        measured = self.trained
        model, dataset, head = measured.model, measured.dataset, None if greedy else measured.times
        answers = None if head is None else believed(head, model)
        found = evaluate_times(model, dataset, split, sample=sample, seed=seed, head=answers)
        if head is None:
            return found
        return replace(found, holds=measure_holding(head, model, dataset, split, facts=sample, seed=seed))

    def evaluate_calibration(
        self, split: str = "test", *, sample: int | None = None, seed: int = 0
    ) -> CalibrationReport:
        """How far probabilities can be believed: calibration error and reliability by kind of question."""
        measured = self.trained
        return calibration_report(measured.model, measured.dataset, split, self.calibration, sample=sample, seed=seed)

    @overload
    def ask(
        self, subject: str, predicate: str, object: str, time: object = None, **options: Any
    ) -> Answers | TimeAnswers: ...

    @overload
    def ask(
        self, subject: Any, *, errors: Literal["raise", "return"] = "raise", **options: Any
    ) -> list[Answers | TimeAnswers | KnowwhenError]: ...

    def ask(
        self, subject: Any, predicate: Any = None, object: Any = None, time: Any = None, **options: Any
    ) -> Answers | TimeAnswers | list[Answers | TimeAnswers | KnowwhenError]:
        """The answers to a question with "?" in one place, or to each of a frame or list of questions, in order.

        Options are those of `knowwhen.query.ask`: top, novel, candidates, min_probability, explain. Frames are those of
        polars, pandas or pyarrow; with `errors="return"` a question that cannot be answered has its error in its place.
        """
        options = {"calibration": self.calibration, "times": self.times, **options}
        if isinstance(subject, str):
            return ask(self.model, self.dataset, subject, predicate, object, time, **options)
        return ask_batch(self.model, self.dataset, subject, **options)

    @overload
    def when(self, subject: str, predicate: str, object: str, *, infer_known: bool = False) -> When: ...

    @overload
    def when(
        self, subject: Sequence[Sequence[str] | Mapping[str, str]], *, infer_known: bool = False
    ) -> list[When]: ...

    def when(
        self, subject: Any, predicate: Any = None, object: Any = None, *, infer_known: bool = False
    ) -> When | list[When]:
        """Begin and end of a fact, or of each of a list: as known, or inferred, with ranges and reasons."""
        here = (self.model, self.times, self.dataset)
        if isinstance(subject, str):
            return when(*here, subject, predicate, object, infer_known=infer_known)
        return when_batch(*here, subject, infer_known=infer_known)

    @overload
    def holds(self, subject: str, predicate: str, object: str, time: object) -> Holds: ...

    @overload
    def holds(self, subject: Sequence[Sequence[Any] | Mapping[str, Any]]) -> list[Holds]: ...

    def holds(self, subject: Any, predicate: Any = None, object: Any = None, time: Any = None) -> Holds | list[Holds]:
        """The probability that a fact holds at a time, or each of a list: also beyond the last time of the data."""
        here = (self.model, self.times, self.dataset)
        if isinstance(subject, str):
            return holds(*here, subject, predicate, object, time)
        return holds_batch(*here, subject)

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
        folder, trained = Path(folder), self.trained
        if (folder / "model.json").exists():
            raise RunError(f"{folder} already holds a model; choose another folder")
        with writing(folder, UNCHANGED), whole_folder(folder) as aside:
            trained.dataset.save(aside / "data")
            if self.calibration:
                self.calibration.save(aside)
            if self.times:
                self.times.save(aside)
            threads = torch.get_num_threads()
            write_whole(aside / "config.toml", config_text(self.config, trained.dataset, {}, threads).encode())
            save_model(aside, trained.model, trained.card())
            checksums.seal(aside)
            for i, new in enumerate(self.additions.sources if self.additions else (), 1):
                new.save(aside / "added" / f"{i:04}")

    def card(self) -> str:
        """A page for people who find the folder: what the model is, what it was trained on, how it did."""
        info = self.info()
        lines = [f"# {info['model']} on {info['data']}", "", "A model made with knowwhen.", ""]
        lines += [f"- {key.replace('_', ' ')}: {value}" for key, value in info.items() if value is not None]
        lines += ["", "```python", "import knowwhen as kw", "", 'model = kw.open("this folder")', "```", ""]
        lines += ["## Settings", "", "```toml", self.config.to_toml().rstrip(), "```", ""]
        return "\n".join(lines)


def train(
    data: Any,
    recipe: str | Path | None = None,
    *,
    run: str | Path | None = None,
    resume: bool = False,
    progress: TrainingProgress | None = None,
    overrides: Mapping[str, object] | None = None,
    allow_code: bool = False,
    reading: Mapping[str, Any] | None = None,
    **options: object,
) -> TrainedModel:
    """Trains a model and returns it, the best on valid where there is a valid split.

    `data` is whatever `knowwhen.load` takes, read with the options in `reading`, or what it returned; None to resume.
    Settings come from a `recipe` (a name or a TOML file), then from `options` by short name (`model="tntcomplex"`,
    `rank=64`, `epochs=20`) or `overrides` by full name (`{"regularizer.time_weight": 0.1}`). With `run`, all is kept in
    that folder and `resume=True` goes on where it stopped; without, it is kept in memory. Ctrl-C saves, then stops.
    A model of your own is named by its class, "my_module:MyModel"; `allow_code` also imports the one that a recipe or
    the folder to resume names.
    """
    named = options.get("model") or (overrides or {}).get("model.name")
    if named is not None:
        model_named(str(named), allow_import=True)  # so that its own options have names
    changes = {**{full_name(name): value for name, value in options.items()}, **(overrides or {})}
    if run is None:
        with tempfile.TemporaryDirectory(prefix="knowwhen-") as aside:
            where = Path(aside) / "run"
            data = load(data, **(reading or {}))
            kept = train(data, recipe, run=where, progress=progress, overrides=changes, allow_code=allow_code)
            return replace(kept, path=None)
    folder = RunFolder(Path(run))
    with folder.locked():
        dataset, config = first_then_all(
            lambda: begin(folder, data, recipe, changes, resume, allow_code, reading),
            lambda: (folder.load_data(), folder.read_config(allow_import="model.name" in changes or allow_code)),
        )
        threads, telling = threads_for(config, len(dataset.entities)), (is_first() and progress) or Silent()
        for note in dataset.notes:
            telling.notice(f"note: {note}")
        say_threads(folder, threads, telling)
        with using_threads(threads):
            found = train_stages(folder, dataset, config, telling)
        calibration, times = found.calibration, found.times
        trained = TrainedModel(found.model, dataset, config, found.records, folder.path, calibration, times=times)
        with folder.finishing(dataset) as home:
            for part in (calibration, times):
                if part is not None and is_first():
                    part.save(home)
            save_model(home, found.model, trained.card())
        return trained


def open(path: str | Path, *, device: str | None = None, allow_code: bool = False, verify: bool = True) -> TrainedModel:
    """The trained model of a run folder (the best so far, if the run is not finished) or of a saved model's folder.

    It is put on `device`, by default the one it was trained on where that is there, else the CPU. A model whose class
    is not of this package must be registered, or `allow_code` imports it by the name the folder gives. All files are
    compared with their SHA-256, and the data with that of training; `verify=False` leaves that out.
    """
    path = Path(path)
    trained = _open(path, device, allow_code, verify)
    for folder in _addition_folders(_model_folder(path) / "added"):
        if current() is not None:
            raise BadRequest(f"facts were added to {path} after training, which several processes cannot open; use one")
        granularity = str(trained.dataset.timeline.granularity)
        trained = trained._with(load(folder, granularity=granularity, verify=verify))
    return trained


def _keep_addition(folder: Path, source: Dataset) -> None:
    """Writes what was added under the next number."""
    busy = RunError(f"another process is adding facts to {folder.parent}; wait for it, then try again")
    with writing(folder, UNCHANGED):
        folder.mkdir(parents=True, exist_ok=True)
        with locked(folder / ".lock", busy, passing=True):
            last = max((int(earlier.name) for earlier in _addition_folders(folder)), default=0)  # some may be deleted
            source.save(folder / f"{last + 1:04}")


def _addition_folders(folder: Path) -> list[Path]:
    """What was added, in order; a folder with another name than a number is none of it."""
    return sorted(one for one in folder.glob("*") if one.name.isdigit())


def _model_folder(path: Path) -> Path:
    """Where the model lies: the folder itself, or that of a run."""
    return path if (path / "model.json").is_file() else RunFolder(path).model


def _open(path: Path, device: str | None, allow_code: bool, verify: bool) -> TrainedModel:
    """What was trained, without what was added later."""
    folder, is_saved = RunFolder(path), (path / "model.json").is_file()
    if not is_saved and not folder.exists:
        raise RunError(f"{path} holds no run and no model" + ("" if path.exists() else ": there is no such folder"))
    home, calibration = _model_folder(path), None
    notes = check_format(path / "config.toml")
    if is_saved or folder.is_finished:
        if (home / "model.json").exists():
            read_about(home)  # of another version: said before its files are compared
        if verify:
            check_whole(home, notes)
        dataset = load_data(home, notes, verify=verify)
        model, calibration = load_model(home, dataset, allow_import=allow_code), Calibration.load(home)
        config = read_config(path / "config.toml") if is_saved else folder.read_config()
        times = TimeHead.load(home)
    else:  # not finished, so not calibrated
        if not folder.has_data:
            raise RunError(
                f"{path} keeps no copy of its data, as a trial of a study; "
                f"make a model of it with: knowwhen train DATA --run {path} --resume"
            )
        config, dataset = folder.read_config(allow_import=allow_code), load_data(home, notes, verify=verify)
        model, times = folder.load_weights(new_model(config, dataset)), None
    model.to(_device(device, config.training.device)).recall(Background.of(dataset)).eval()
    records, times = [] if is_saved else folder.records(), times and times.recall(dataset)
    return TrainedModel(model, dataset, config, records, path, calibration, times=times)


def _device(wanted: str | None, trained_on: str) -> str:
    if wanted is not None:
        check_device(wanted)
        return wanted
    return trained_on if trained_on.startswith("cuda") and torch.cuda.is_available() else "cpu"
