"""Scores along time: how likely each of several objects is, at each timestamp of a span."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl
import torch
from numpy.typing import NDArray

from knowwhen import chunks
from knowwhen.drawable import Drawable
from knowwhen.errors import BadRequest
from knowwhen.evaluation.calibration import Calibration, temperature_of
from knowwhen.evaluation.probabilities import log_normaliser
from knowwhen.facts.dataset import Dataset
from knowwhen.facts.table import span_labels
from knowwhen.models import TemporalModel
from knowwhen.tabular import Tabular
from knowwhen.text import brief, plural


@dataclass(frozen=True, eq=False)
class TimelineScores(Drawable, Tabular):
    """Scores and probabilities of k objects at T timestamps, with the known spans of each."""

    subject: str
    predicate: str
    objects: list[str]
    times: list[str]
    scores: NDArray[np.float32]  # (k, T)
    probabilities: NDArray[np.float64]  # (k, T), of the object among all entities at that time
    known: list[list[tuple[str | None, str | None]]]  # begin and end of each known span of each object; None is open
    keys: list[str] = field(default_factory=list)  # of the objects

    def __repr__(self) -> str:
        along = f"{plural(len(self.objects), 'object')} at {plural(len(self.times), 'timestamp')}"
        return brief(self, f"({self.subject}, {self.predicate}, …): {along}")

    def to_polars(self) -> pl.DataFrame:
        """One row per object and timestamp."""
        names = {"object": self.objects, "key": self.keys}
        return pl.DataFrame(
            {
                **{name: [one for one in values for _ in self.times] for name, values in names.items()},
                "time": self.times * len(self.objects),
                "score": self.scores.ravel(),
                "probability": self.probabilities.ravel(),
            }
        )

    def to_dict(self) -> dict[str, Any]:
        """Everything as JSON types."""
        names = {name: getattr(self, name) for name in ("subject", "predicate", "objects", "keys", "times")}
        known = [[list(span) for span in spans] for spans in self.known]
        return {**names, "scores": self.scores.tolist(), "probabilities": self.probabilities.tolist(), "known": known}


@torch.no_grad()
def timeline(
    model: TemporalModel,
    dataset: Dataset,
    subject: str,
    predicate: str,
    objects: Sequence[str] | None = None,
    span: str | None = None,
    *,
    calibration: Calibration | None = None,
) -> TimelineScores:
    """The scores of objects along time, or along a span of it; without objects, of those that are known in it."""
    if not len(dataset.timeline):
        raise BadRequest(f"{dataset.name} has no times, so there is no timeline")
    s, p = dataset.entities.id(subject), dataset.predicates.id(predicate)
    moment = dataset.timeline.moment(span or "")
    ids = moment.ids
    if objects is None:
        found = dataset.timeline.holding(dataset.spans.with_subject(s, p), moment)
        o = list(dict.fromkeys(found.object[np.argsort(found.begin, kind="stable")].tolist()))
        if not o:
            raise BadRequest(f"no object of {subject!r}, {predicate!r} is known in that span; name the objects")
    else:
        o = [dataset.entities.id(name) for name in objects]
        if not o:
            raise BadRequest("the list of objects is empty; name at least one")
    scores, probabilities = _along(model, s, p, o, ids, temperature_of(calibration, "object"))
    labels = dataset.timeline.labels()
    return TimelineScores(
        subject=dataset.entities.label(s),
        predicate=dataset.predicates.label(p),
        objects=[dataset.entities.label(i) for i in o],
        times=labels[ids.start : ids.stop],
        scores=scores,
        probabilities=probabilities,
        known=[span_labels(dataset.spans.of(s, p, i), labels) for i in o],
        keys=[dataset.entities.key(i) for i in o],
    )


def _along(
    model: TemporalModel, s: int, p: int, o: list[int], ids: range, temperature: float
) -> tuple[NDArray[np.float32], NDArray[np.float64]]:  # (k, T), (k, T)
    """Naive equivalent: `X[s, p, o, ids]` and its softmax over all objects, at each timestamp."""
    device = model.device
    scores = np.empty((len(o), len(ids)), np.float32)
    probabilities = np.empty((len(o), len(ids)))
    for part in chunks.slices(len(ids), chunks.rows_at_once(model.sizes.entities)):
        t = torch.arange(len(ids), device=device)[part] + ids.start
        found = model.objects(torch.full_like(t, s), torch.full_like(t, p), t).whole()  # (b, E)
        normaliser = log_normaliser(found, temperature, model.name)
        picked = found[:, torch.tensor(o, device=device)].double()  # (b, k)
        scores[:, part] = picked.mT.cpu().numpy()
        probabilities[:, part] = (picked / temperature - normaliser[:, None]).exp().mT.cpu().numpy()
    return scores, probabilities
