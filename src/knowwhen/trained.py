"""A trained model with its names, its times and its data: what `train` and `open` return."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, overload

import numpy as np
import polars as pl
import torch

from knowwhen.errors import BadRequest, Interrupted, RunError, did_you_mean
from knowwhen.evaluation import Metrics, Protocol, TimeMetrics, evaluate, evaluate_times
from knowwhen.evaluation.evaluate import seen_entities
from knowwhen.evaluation.ranking import Progress
from knowwhen.facts.additions import extended
from knowwhen.facts.catalog import load
from knowwhen.facts.dataset import Dataset, row_keys
from knowwhen.facts.table import Bools, Facts
from knowwhen.files import writing
from knowwhen.models import Sizes, TemporalModel, model_named
from knowwhen.models.budget import paper_parameter_count
from knowwhen.models.growing import grown, place_unseen
from knowwhen.plotting import plot
from knowwhen.query import (
    Answers,
    Calibration,
    CalibrationReport,
    Neighbours,
    TimeAnswers,
    TimelineScores,
    ask,
    ask_batch,
    calibrate,
    calibration_report,
    embeddings,
    nearest_times,
    similar,
    timeline,
)
from knowwhen.query.drawable import Drawable
from knowwhen.training.config import Config, read_config, settings
from knowwhen.training.loop import Record, State, TrainingFacts, fit, optimizer_for
from knowwhen.training.objective import Objective
from knowwhen.training.run import RunFolder, load_model, save_model
from knowwhen.training.session import (
    RunWatcher,
    Silent,
    TrainingProgress,
    stop_requested,
    threads_for,
    using_threads,
)
from knowwhen.training.softmax import fast_bf16
from knowwhen.training.weighing import held_out, learn_weighing

Drawable.plotter = staticmethod(plot)

ENOUGH_TO_CALIBRATE = 30  # facts in valid: fewer would set a temperature by chance
MAY_CHANGE_ON_RESUME = ("training.epochs", "validation.every", "validation.patience")


@dataclass(frozen=True)
class TrainedModel:
    """A model that knows names: what `knowwhen.train` and `knowwhen.open` return."""

    model: TemporalModel
    dataset: Dataset
    config: Config
    history: list[Record] = field(default_factory=list)
    path: Path | None = None  # of its run or model folder
    calibration: Calibration | None = None  # None: probabilities are softmax scores as they are
    additions: tuple[Dataset, ...] = ()  # facts that came after training
    before: TrainedModel | None = None  # as it was trained, before anything was added

    def info(self) -> dict[str, Any]:
        """What it is and how large, stored parameters beside those of the paper's formula."""
        sizes, name = self.model.sizes, self.model.name
        seen = len({*self.dataset.train.subject.tolist(), *self.dataset.train.object.tolist()})
        counted = None
        if name in ("complex", "tcomplex", "tntcomplex"):
            # The paper counts the entities of train, and reciprocal predicates before its formula doubles them again.
            counted = paper_parameter_count(name, self.model.rank, seen, 2 * sizes.predicates, sizes.timestamps)
        looks = [record[look]["mrr"] for record in self.history for look in ("valid", "weighed") if look in record]
        return {
            "model": name,
            "formula": self.model.formula,
            "evidence": [term.name for term in self.model.evidence_terms()],
            "weighing": self.model.weighing is not None,
            "rank": self.model.rank,
            "parameters": self.model.parameter_count(),
            "parameters_in_the_papers_count": counted,
            "data": self.dataset.name,
            "data_hash": self._trained.dataset.hash,
            "added_facts": len(self.dataset.added),
            "epochs": self.history[-1]["epoch"] if self.history else 0,
            "best_valid_mrr": max(looks) if looks else None,
        }

    @property
    def _trained(self) -> TrainedModel:
        """Without what was added: what is measured."""
        return self.before or self

    def add(self, source: Dataset | str | Path, **options: Any) -> TrainedModel:
        """The model with more facts to draw on, without training: known to `ask`, and evidence where there is any.

        `source` and `options` are those of `knowwhen.load`. New entities get a row from the facts that hold them, new
        times that of the last time before. A model with a folder keeps them there, so that `open` has them too.
        """
        if not isinstance(source, Dataset):
            granularity = str(self.dataset.timeline.granularity)
            source = load(source, **{"granularity": granularity, "fractions": (0.0, 0.0), **options})
        found = self._adding(source)
        if self.path is not None:
            folder = _model_folder(self.path) / "added"
            last = max((int(earlier.name) for earlier in _additions(folder)), default=0)  # some may be deleted
            with writing(folder):
                source.save(folder / f"{last + 1:04}")
        return found

    def _adding(self, new: Dataset) -> TrainedModel:
        dataset, earlier = extended(self.dataset, new)
        sizes = replace(self.model.sizes, entities=len(dataset.entities), timestamps=max(1, len(dataset.timeline)))
        model = grown(self.model, sizes, earlier)
        place_unseen(model, Facts.concatenate(dataset.train, dataset.added), seen_entities(dataset))
        _recalling(model, dataset)
        return replace(self, model=model, dataset=dataset, additions=(*self.additions, new), before=self._trained)

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
        measured = self._trained
        if with_added:
            measured = self
            inside = int(np.isin(row_keys(self.dataset.facts(split)), row_keys(self.dataset.added)).sum())
            if inside:
                raise BadRequest(
                    f"{inside} facts of {split} are among those added; it would be measured on what it knows"
                )
        return evaluate(measured.model, measured.dataset, split, protocol, sample=sample, progress=progress)

    def evaluate_times(self, split: str = "test", *, sample: int | None = None, seed: int = 0) -> TimeMetrics:
        """How well time questions (s, p, o, ?) about a split are answered, beside two trivial baselines."""
        measured = self._trained
        return evaluate_times(measured.model, measured.dataset, split, sample=sample, seed=seed)

    def evaluate_calibration(
        self, split: str = "test", *, sample: int | None = None, seed: int = 0
    ) -> CalibrationReport:
        """How far probabilities can be believed: calibration error and reliability by kind of question."""
        measured = self._trained
        return calibration_report(measured.model, measured.dataset, split, self.calibration, sample=sample, seed=seed)

    @overload
    def ask(
        self, subject: str, predicate: str, object: str, time: object = None, **options: Any
    ) -> Answers | TimeAnswers: ...

    @overload
    def ask(
        self, subject: pl.DataFrame | Iterable[Mapping[str, Any] | Sequence[Any]], **options: Any
    ) -> list[Answers | TimeAnswers]: ...

    def ask(
        self, subject: Any, predicate: Any = None, object: Any = None, time: Any = None, **options: Any
    ) -> Answers | TimeAnswers | list[Answers | TimeAnswers]:
        """The answers to a question with "?" in one place, or to each of a frame or list of questions, in order.

        Options are those of `knowwhen.query.ask`: top, novel, candidates, min_probability, explain.
        """
        options = {"calibration": self.calibration, **options}
        if isinstance(subject, str):
            return ask(self.model, self.dataset, subject, predicate, object, time, **options)
        return ask_batch(self.model, self.dataset, subject, **options)

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
        folder = Path(folder)
        if (folder / "model.json").exists():
            raise RunError(f"{folder} already holds a model; choose another folder")
        self._trained.dataset.save(folder / "data")
        for i, new in enumerate(self.additions, 1):
            new.save(folder / "added" / f"{i:04}")
        if self.calibration:
            self.calibration.save(folder)
        save_model(folder, self._trained.model, model_card(self._trained))
        (folder / "config.toml").write_text(self.config.to_toml(), encoding="utf-8")


def train(
    data: Dataset | str | Path | None,
    recipe: str | Path | None = None,
    *,
    run: str | Path | None = None,
    resume: bool = False,
    progress: TrainingProgress | None = None,
    overrides: Mapping[str, object] | None = None,
    **options: object,
) -> TrainedModel:
    """Trains a model and returns it, the best on valid where that is looked at.

    Settings come from a `recipe` (a name or a TOML file), then from `options` by short name (`model="tntcomplex"`,
    `rank=64`, `epochs=20`) or `overrides` by full name (`{"regularizer.time_weight": 0.1}`). With `run`, all is kept in
    that folder and `resume=True` goes on where it stopped; without, it is kept in memory. Ctrl-C saves, then stops.
    """
    changes = {**{full_name(name): value for name, value in options.items()}, **(overrides or {})}
    if run is None:
        with tempfile.TemporaryDirectory(prefix="knowwhen-") as aside:
            trained = train(data, recipe, run=Path(aside) / "run", progress=progress, overrides=changes)
            return TrainedModel(
                trained.model, trained.dataset, trained.config, trained.history, calibration=trained.calibration
            )
    folder = RunFolder(Path(run))
    with folder.locked():
        dataset, config = _begin(folder, data, recipe, changes, resume)
        with using_threads(threads_for(config, len(dataset.entities))):
            return _train(folder, dataset, config, progress or Silent())


def open(path: str | Path) -> TrainedModel:
    """The trained model of a run folder (the best so far, if the run is not finished) or of a saved model's folder."""
    path = Path(path)
    trained = _open(path)
    for folder in _additions(_model_folder(path) / "added"):
        trained = trained._adding(load(folder, granularity=str(trained.dataset.timeline.granularity)))
    return trained


def _additions(folder: Path) -> list[Path]:
    """What was added, in order; a folder with another name than a number is none of it."""
    return sorted(one for one in folder.glob("*") if one.name.isdigit())


def _model_folder(path: Path) -> Path:
    """Where the model lies: the folder itself, or that of a run."""
    return path if (path / "model.json").is_file() else RunFolder(path).model


def _open(path: Path) -> TrainedModel:
    """What was trained, without what was added later."""
    if (path / "model.json").is_file():
        config = read_config(path / "config.toml") if (path / "config.toml").is_file() else Config()
        dataset = load(path / "data")
        model = _recalling(load_model(path), dataset)
        return TrainedModel(model, dataset, config, path=path, calibration=Calibration.load(path))
    folder = RunFolder(path)
    if not folder.exists:
        raise RunError(f"{path} holds no run and no model" + ("" if path.exists() else ": there is no such folder"))
    config, dataset = folder.read_config(), load(folder.model / "data")
    if (folder.model / "model.json").is_file():
        model, calibration = load_model(folder.model), Calibration.load(folder.model)
    else:  # not finished, so not calibrated
        model, calibration = folder.load_model(_new_model(config, dataset)), None
    return TrainedModel(_recalling(model, dataset), dataset, config, folder.history(), path, calibration)


def full_name(name: str) -> str:
    """'model.rank' of 'rank'; `model` alone means its name, and names that two sections have must be given in full."""
    if "." in name:
        return name
    if name == "model":
        return "model.name"
    matches = [full for full in settings() if full.partition(".")[2] == name]
    if not matches:
        raise BadRequest(f"no setting {name!r}{did_you_mean(name, [full.partition('.')[2] for full in settings()])}")
    if len(matches) > 1:
        raise BadRequest(f"{name!r} may be {' or '.join(matches)}; give the full name in overrides={{…}}")
    return matches[0]


def _begin(
    folder: RunFolder,
    data: Dataset | str | Path | None,
    recipe: str | Path | None,
    changes: Mapping[str, object],
    resume: bool,
) -> tuple[Dataset, Config]:
    """The data and settings of a new run, or of the one that is to go on."""
    given = data if isinstance(data, Dataset) or data is None else load(data)
    if not (resume and folder.exists):
        if given is None:
            raise BadRequest(f"there is no run in {folder.path} to resume; name the data to train on")
        config = read_config(recipe, changes)
        folder.create(config, given, {"recipe": str(recipe)} if recipe else {})
        return given, config
    dataset, config = load(folder.model / "data"), folder.read_config()
    if given is not None and given.hash != dataset.hash:
        raise RunError(
            f"the data has changed since {folder.path} began: hash {given.hash[:12]}, then {dataset.hash[:12]}; "
            "start a new run, or resume without naming data to use what the run began with"
        )
    wanted = read_config(folder.config, changes)
    if recipe is not None:
        wanted = read_config(recipe, changes)
    for name in settings():
        section, _, key = name.partition(".")
        then, now = (getattr(getattr(c, section), key) for c in (config, wanted))
        if then != now and name not in MAY_CHANGE_ON_RESUME:
            raise RunError(f"{folder.path} was begun with {name} = {then!r}, not {now!r}; start a new run for that")
    if wanted != config:
        folder.change_config(wanted)
    return dataset, wanted


def _train(folder: RunFolder, dataset: Dataset, config: Config, progress: TrainingProgress) -> TrainedModel:
    device = config.training.device
    if config.training.precision == "bf16" and not fast_bf16(device):
        progress.notice("this machine has no bf16 instructions: training.precision=fp32 is many times faster here")
    model = _new_model(config, dataset).initialise(torch.Generator().manual_seed(config.training.seed)).to(device)
    _recalling(model, dataset)
    optimizer = optimizer_for(model, config)
    state = folder.load_checkpoint(model, optimizer) or State()
    state.stopped_early = state.stopped_early and state.looks_since_best >= config.validation.patience > 0
    gaps = torch.tensor(dataset.timeline.gaps, device=device) if config.regularizer.time_gaps else None
    objective = Objective.of(config, gaps)
    held = held_out(len(dataset.train), config.evidence.held_out, config.training.seed)
    facts = TrainingFacts(dataset.train[~held], model.sizes, device)
    with stop_requested() as stop:
        watcher = RunWatcher(folder, model, optimizer, progress, stop)
        progress.start(state, config, -(-len(facts) // config.training.batch_size))
        validate = (lambda model: _look(model, dataset)) if len(dataset.valid) else None
        try:
            state = fit(model, optimizer, facts, objective, config, state, watcher, validate)
        finally:
            progress.end()
    try:
        return _finish(folder, model, dataset, config, state, held, progress)
    except KeyboardInterrupt:
        raise Interrupted(
            f"stopped after the last epoch, which is saved; go on with: knowwhen train --run {folder.path} --resume"
        ) from None


def _finish(
    folder: RunFolder,
    model: TemporalModel,
    dataset: Dataset,
    config: Config,
    state: State,
    held: Bools,
    progress: TrainingProgress,
) -> TrainedModel:
    """What follows the last epoch: the best weights, weighing, calibration; then the folder holds a model."""
    model = folder.load_model(model).cpu()
    if held.any():
        began = time.perf_counter()
        _weigh(model, dataset, held, config, state, progress)
        folder.write_history(state.history)
        folder.append_timing({"epoch": state.epoch, "weighing": True, "seconds": round(time.perf_counter() - began, 3)})
    calibration = calibrate(model, dataset) if len(dataset.valid) >= ENOUGH_TO_CALIBRATE else None
    if calibration:
        with writing(folder.path):
            calibration.save(folder.model)  # before model.json, with which the folder is whole
    trained = TrainedModel(model, dataset, config, state.history, folder.path, calibration)
    folder.save_model(model, model_card(trained))
    return trained


def _weigh(
    model: TemporalModel, dataset: Dataset, held: Bools, config: Config, state: State, progress: TrainingProgress
) -> None:
    """Puts a weighing on the model, if valid agrees; what it gave is noted with the last epoch."""
    progress.notice(f"weighing: learning from {held.sum():,} training facts that were held out")
    learn_weighing(model, dataset.train, held, dataset.timeline.positions, config.training.seed)
    if not len(dataset.valid):
        return
    look = _look(model, dataset)
    if state.best_mrr >= 0:
        progress.notice(f"valid MRR {look['mrr']:.4f} with weighing, {state.best_mrr:.4f} without")
    if look["mrr"] > state.best_mrr:
        state.history[-1]["weighed"] = look
    else:
        progress.notice("it is left out: valid is better without")
        model.weighing = None


def _look(model: TemporalModel, dataset: Dataset) -> Record:
    """What a look at the valid split records."""
    metrics = evaluate(model, dataset, "valid").to_dict()
    return {key: metrics[key] for key in ("mrr", "hits@1", "hits@3", "hits@10", "count")}


def _new_model(config: Config, dataset: Dataset) -> TemporalModel:
    sizes = Sizes(
        entities=len(dataset.entities),
        predicates=len(dataset.predicates),
        timestamps=max(1, len(dataset.timeline)),  # facts that are all static still need one row
        undated_row=config.model.undated == "own",
    )
    model = model_named(config.model.name)(sizes, config.model.rank)
    for term in config.model.evidence:
        model.add_evidence(term, config.evidence.settings_of(term))
    return model


def _recalling(model: TemporalModel, dataset: Dataset) -> TemporalModel:
    """The model with the facts of train, and those added since, as its history; valid and test are never in it."""
    return model.recall(Facts.concatenate(dataset.train, dataset.added), dataset.timeline.positions)


def model_card(trained: TrainedModel) -> str:
    """A page for people who find the folder: what the model is, what it was trained on, how it did."""
    info = trained.info()
    lines = [f"# {info['model']} on {info['data']}", "", "A model made with knowwhen.", ""]
    lines += [f"- {key.replace('_', ' ')}: {value}" for key, value in info.items() if value is not None]
    lines += ["", "```python", "import knowwhen as kw", "", 'model = kw.open("this folder")', "```", ""]
    lines += ["## Settings", "", "```toml", trained.config.to_toml().rstrip(), "```", ""]
    return "\n".join(lines)
