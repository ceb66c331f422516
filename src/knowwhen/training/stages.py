"""Training in stages, each from values to values: fit and correct, then calibrate and learn times."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import torch

from knowwhen.dating import TimeHead, learn_holding, learn_times
from knowwhen.errors import BadRequest, Interrupted
from knowwhen.evaluation import Calibration, calibrate, evaluate
from knowwhen.facts.dataset import Dataset
from knowwhen.facts.table import Bools
from knowwhen.models import Background, Sizes, TemporalModel, build
from knowwhen.training.config import Config
from knowwhen.training.correction import held_out, learn_correction, learn_weights
from knowwhen.training.loop import Learner, Leaving, Record, Spent, State, TrainingFacts, fit
from knowwhen.training.objective import Objective
from knowwhen.training.run import RunFolder
from knowwhen.training.session import RunWatcher, TrainingProgress, stop_requested
from knowwhen.training.softmax import fast_bf16

ENOUGH_TO_CALIBRATE = 30  # facts in valid: fewer would set a temperature by chance


@dataclass(frozen=True)
class Trained:
    """What training gives."""

    model: TemporalModel
    records: list[Record]  # of epochs
    calibration: Calibration | None
    times: TimeHead | None


def new_model(config: Config, dataset: Dataset) -> TemporalModel:
    """The model that settings describe, without values, drawing on the facts of train."""
    spec = config.specification(Sizes.of(dataset, config.model.undated == "own"))
    return build(spec).recall(Background.of(dataset))


def train_stages(folder: RunFolder, dataset: Dataset, config: Config, progress: TrainingProgress) -> Trained:
    """All stages, in a folder that holds the state of each."""
    model, state = learn_stages(folder, dataset, config, progress)
    with epochs_saved(folder):
        calibration = calibrate(model, dataset) if len(dataset.valid) >= ENOUGH_TO_CALIBRATE else None
        times = date_stage(model, dataset, config, progress)
    return Trained(model, state.records, calibration, times)


def learn_stages(
    folder: RunFolder, dataset: Dataset, config: Config, progress: TrainingProgress
) -> tuple[TemporalModel, State]:
    """The stages that answers depend on: the model, fitted and corrected, and where its run ended."""
    check_device(config.training.device)
    if config.training.precision == "bf16" and not fast_bf16(config.training.device):
        progress.notice("this CPU has no bf16 instructions; training.precision=fp32 is many times faster")
    held = held_out(len(dataset.train), config.correction.held_out, config.training.seed)
    model, state = fit_stage(folder, dataset, config, held, progress)
    if held.any():
        with epochs_saved(folder):
            model = correct_stage(folder, model, dataset, config, held, state, progress)
    return model, state


@contextmanager
def epochs_saved(folder: RunFolder) -> Iterator[None]:
    """Says on Ctrl-C that no epoch is lost."""
    try:
        yield
    except KeyboardInterrupt:
        raise Interrupted(
            f"stopped after the last epoch, which is saved; continue with: knowwhen train --run {folder.path} --resume"
        ) from None


def check_device(device: str) -> None:
    """An error before anything is begun, where the device is not there."""
    available = {"cpu": True, "cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available()}
    kind, colon, index = device.partition(":")
    if kind not in available or (colon and not index.isdecimal()):
        raise BadRequest(f"unknown device {device!r}; expected {', '.join(available)}")
    if not available[kind]:
        raise BadRequest(f"torch finds no {device!r} device on this machine; use cpu")


def fit_stage(
    folder: RunFolder, dataset: Dataset, config: Config, held: Bools, progress: TrainingProgress
) -> tuple[TemporalModel, State]:
    """Decomposition and evidence, learned on what is not held out: the best of them, and where the run ended."""
    device = config.training.device
    model = new_model(config, dataset).initialise(torch.Generator().manual_seed(config.training.seed)).to(device)
    learner = Learner(model, config)
    state = folder.load_checkpoint(learner) or State()
    state.stopped_early = state.stopped_early and state.validations_since_best >= config.validation.patience > 0
    gaps = torch.tensor(dataset.timeline.gaps, device=device) if config.regularizer.time_gaps else None
    itself, leaving = config.evidence.leave_out == "itself", None
    if model.terms:
        leaving = Leaving(dataset.train, model.sizes, np.flatnonzero(~held), others=itself)
    facts = TrainingFacts(dataset.train[~held], model.sizes, device, leaving)
    with stop_requested() as stop:
        watcher = RunWatcher(folder, learner, progress, stop)
        progress.start(state, config, -(-len(facts) // config.training.batch_size))
        validate = (lambda model: validation(model, dataset, config)) if len(dataset.valid) else None
        try:
            objective = Objective.of(config, gaps, facts.sampler(config), facts.known(config))
            state = fit(learner, facts, objective, state, watcher, validate)
        finally:
            progress.end()
    return folder.load_weights(model).eval(), state


def correct_stage(
    folder: RunFolder,
    model: TemporalModel,
    dataset: Dataset,
    config: Config,
    held: Bools,
    state: State,
    progress: TrainingProgress,
) -> TemporalModel:
    """The model with a correction where valid agrees, else as it was; its record is noted with the last epoch."""
    began = Spent.now()
    progress.notice(f"correction: training on {held.sum():,} held-out training facts")
    background, seed = Background.of(dataset), config.training.seed
    if model.apart:
        model, state.best_mrr = weigh_stage(model, dataset, config, held, state.best_mrr, progress)
    corrected = learn_correction(model, background, held, seed)
    if len(dataset.valid):
        found = validation(corrected, dataset, config)
        if state.best_mrr >= 0:
            progress.notice(f"valid MRR {found['mrr']:.4f} with the correction, {state.best_mrr:.4f} without")
        if found["mrr"] > state.best_mrr:
            state.records[-1]["corrected"] = found
        else:
            progress.notice("validation MRR is better without the correction, so it is not used")
            corrected = model
    folder.write_records(state.records)
    folder.append_timing({"epoch": state.epoch, "correction": True, **Spent.now().since(began).to_dict()})
    return corrected


def weigh_stage(
    model: TemporalModel,
    dataset: Dataset,
    config: Config,
    held: Bools,
    best_mrr: float,
    progress: TrainingProgress,
) -> tuple[TemporalModel, float]:
    """The model with weights of its decomposition learned on what was held out, where valid agrees; and its MRR."""
    weighted = learn_weights(model, Background.of(dataset), held, config.training.seed)
    assert weighted.weights is not None
    low, high = weighted.weights.min().item(), weighted.weights.max().item()
    said = f"decomposition: weights {low:.2f} to {high:.2f} by predicate, from {held.sum():,} held-out training facts"
    if not len(dataset.valid):
        progress.notice(said)
        return weighted, best_mrr
    found = validation(weighted, dataset, config)["mrr"]
    progress.notice(f"{said}; valid MRR {found:.4f} with them, {best_mrr:.4f} without")
    return (weighted, found) if found > best_mrr else (model, best_mrr)


def date_stage(model: TemporalModel, dataset: Dataset, config: Config, progress: TrainingProgress) -> TimeHead | None:
    """The time head, where the settings want one and the facts have times."""
    if not config.dating.passes:
        return None
    dated = int((~dataset.train.is_static).sum())
    progress.notice(f"time head: training on {dated:,} dated facts")
    head = learn_times(dataset, model, epochs=config.dating.passes, seed=config.training.seed)
    return head and learn_holding(head, model, dataset, config.training.seed)


def validation(model: TemporalModel, dataset: Dataset, config: Config) -> Record:
    """What a validation records; `count` says on how many questions."""
    metrics = evaluate(model, dataset, "valid", sample=config.validation.sample or None).to_dict()
    return {key: metrics[key] for key in ("mrr", "hits@1", "hits@3", "hits@10", "count")}
