"""Neighbours in the embedding, and the embedding itself as a table with names."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from io import BytesIO
from typing import Any, Literal

import numpy as np
import polars as pl
import torch
from torch import Tensor

from knowwhen.errors import BadRequest
from knowwhen.facts.dataset import Dataset
from knowwhen.models import TemporalModel
from knowwhen.models.tables import Axis, tables_of
from knowwhen.tabular import Listed, Tabular
from knowwhen.text import brief, table

Kind = Literal["entities", "predicates", "timestamps"]
KINDS: tuple[Kind, ...] = ("entities", "predicates", "timestamps")


@dataclass(frozen=True)
class Neighbour:
    name: str
    key: str
    similarity: float  # the cosine of the angle between both rows


@dataclass(frozen=True)
class Neighbours(Tabular, Listed[Neighbour]):
    """The nearest neighbours of an entity or timestamp in the embedding, nearest first."""

    of: str
    rows: tuple[Neighbour, ...]

    def listed(self) -> tuple[Neighbour, ...]:
        return self.rows

    def __repr__(self) -> str:
        names = [row.name for row in self.rows[:3]] + ["…"] * (len(self) > 3)
        return brief(self, f"of {self.of!r}: {', '.join(names)}")

    def to_dict(self) -> dict[str, Any]:
        """Everything as JSON types."""
        return {"of": self.of, "neighbours": self.to_dicts()}

    def to_dicts(self) -> list[dict[str, Any]]:
        return [asdict(row) for row in self.rows]

    def to_polars(self) -> pl.DataFrame:
        schema = {"name": pl.String, "key": pl.String, "similarity": pl.Float64}
        return pl.DataFrame(self.to_dicts(), schema=schema)

    def __str__(self) -> str:
        rows = [(row.name, f"{row.similarity:.4f}") for row in self.rows]
        return "\n".join(table([(f"like {self.of}", "similarity"), *rows]))


def similar(model: TemporalModel, dataset: Dataset, entity: str, top: int = 10) -> Neighbours:
    """The entities whose rows point most nearly the same way."""
    i, names = dataset.entities.id(entity), dataset.entities
    rows = [
        Neighbour(names.label(j), names.key(j), cosine)
        for j, cosine in _nearest(model.decomposition.entity_rows().detach(), i, top)
    ]
    return Neighbours(names.label(i), tuple(rows))


def nearest_times(model: TemporalModel, dataset: Dataset, time: object, top: int = 10) -> Neighbours:
    """The timestamps whose rows point most nearly the same way; `time` is one timestamp of the axis."""
    axis, timeline = embedding_rows(model, dataset, "timestamps"), dataset.timeline
    moment = timeline.moment(str(time))
    ids = moment.ids
    if len(ids) != 1:
        raise BadRequest(f"{str(time)!r} covers {len(ids)} timestamps; expected a single {timeline.granularity}")
    if moment.as_of is not None:
        raise BadRequest(f"{str(time)!r} is not on the time axis; the last timestamp before it is {moment.as_of}")
    labels = timeline.labels()
    rows = [Neighbour(labels[j], labels[j], cosine) for j, cosine in _nearest(axis, ids[0], top)]
    return Neighbours(labels[ids[0]], tuple(rows))


@torch.no_grad()
def _nearest(rows: Tensor, i: int, top: int) -> list[tuple[int, float]]:
    if top < 1:
        raise BadRequest(f"top is {top}; expected at least 1")
    lengths = torch.linalg.vector_norm(rows, dim=-1).clamp(min=torch.finfo(rows.dtype).tiny)
    cosine = rows @ rows[i] / lengths / lengths[i]
    cosine[i] = -torch.inf  # nothing is its own neighbour
    best, ids = cosine.topk(min(top, len(rows) - 1))
    return list(zip(ids.tolist(), best.tolist(), strict=True))


def embedding_rows(model: TemporalModel, dataset: Dataset, kind: str) -> Tensor:  # (n, d)
    """The rows of a kind: predicates without their inverses, those of all tables beside each other."""
    if kind == "entities":
        return model.decomposition.entity_rows().detach()
    if kind not in KINDS:
        raise BadRequest(f"no embeddings of {kind!r}; expected {', '.join(KINDS)}")
    axis = Axis.PREDICATE if kind == "predicates" else Axis.TIME
    tables = [table for table in tables_of(model.decomposition).values() if table.axis is axis]
    if not tables or (axis is Axis.TIME and not len(dataset.timeline)):
        raise BadRequest(f"{model.name} on {dataset.name} has no {kind} in its embedding; train tntcomplex")
    return torch.cat([table.weight[: table.on_axis].flatten(1) for table in tables], dim=1).detach()


def embeddings(model: TemporalModel, dataset: Dataset, kind: str) -> pl.DataFrame:
    """Key, label and row of each entity, predicate or timestamp, in order of their ids."""
    rows = embedding_rows(model, dataset, kind).float().cpu().numpy()
    if kind == "timestamps":
        keys = labels = pl.Series(dataset.timeline.labels(), dtype=pl.String)
    else:
        vocabulary = dataset.entities if kind == "entities" else dataset.predicates
        keys, labels = vocabulary.keys, vocabulary.keys
        if vocabulary.labels is not None:
            labels = pl.select(pl.coalesce(vocabulary.labels, vocabulary.keys)).to_series()
    vectors = pl.Series("embedding", rows, dtype=pl.Array(pl.Float32, rows.shape[1]))
    return pl.DataFrame({"key": keys, "label": labels, "embedding": vectors})


def embedding_bytes(frame: pl.DataFrame, kind: str) -> memoryview:
    """The content of a file: parquet, or npz with the arrays `keys`, `labels` and `embedding`, read without pickle."""
    content = BytesIO()
    if kind == "npz":
        keys, labels = (np.array(frame[name].to_list(), dtype=np.str_) for name in ("key", "label"))
        np.savez(content, keys=keys, labels=labels, embedding=frame["embedding"].to_numpy())
    else:
        frame.write_parquet(content)
    return content.getbuffer()
