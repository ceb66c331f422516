"""A model with room for entities and timestamps that training did not know."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import normalize

from knowwhen.facts.table import OPEN, Bools, Facts, Ints
from knowwhen.models.algebra import as_real
from knowwhen.models.base import Decomposition
from knowwhen.models.build import Specification, build
from knowwhen.models.composition import TemporalModel
from knowwhen.models.sizes import Sizes
from knowwhen.models.tables import Axis, Table, shared_lookups, tables_of

HALVINGS = 8  # of rows that went past what they were to come near, as they may in a model by distance
CAUTION = 2.0  # facts' worth of doubt: with so many, a new entity's row is half as long as that of a known one


@torch.no_grad()
def grown(model: TemporalModel, sizes: Sizes, earlier: Ints) -> TemporalModel:
    """The model at other sizes: new entities are zero, timestamp i takes the row of the earlier timestamp[i]."""
    new = build(Specification.of(model).resized(sizes)).to(next(model.parameters())).train(model.training)
    old, tables = dict(model.named_parameters()), tables_of(new)
    undated = torch.arange(model.sizes.timestamps, model.sizes.timestamps + model.sizes.undated_row)
    times = torch.cat([torch.from_numpy(earlier), undated])
    for name, parameter in new.named_parameters():
        table = tables.get(name.removesuffix(".weight"))
        if table is not None and table.axis is Axis.ENTITY:
            parameter.zero_()[: len(old[name])] = old[name]
        elif table is not None and table.axis is Axis.TIME:
            parameter.copy_(old[name][times.to(parameter.device)])
        else:
            parameter.copy_(old[name])
    for name, buffer in new.named_buffers():
        if name in model.state_dict():  # statistics of training, not what is made of facts
            buffer.copy_(model.get_buffer(name))
    return new


def place_unseen(model: TemporalModel, facts: Facts, seen: Bools, caution: float = CAUTION) -> None:
    """Gives entities that training never saw rows, from the facts that hold them.

    The slope of a fact's score by an entity's row says where the row should point: in a product it is the query itself.
    A row is the mean direction of the slopes of its facts with seen entities, as long as rows are on average, times
    n / (n + caution) for n facts: few facts are little to go by. Without such facts it is zero.
    """
    both = Facts.concatenate(facts, facts.reciprocal(model.sizes.predicates))
    unseen_objects = both[~seen[both.object] & seen[both.subject]]
    tables = [t for t in tables_of(model.decomposition).values() if t.axis is Axis.ENTITY and t.placed]
    known = torch.from_numpy(seen).to(model.device)
    with torch.no_grad():
        for table in tables:
            table.weight[~known] = 0
    if not len(unseen_objects) or not known.any():
        return
    placed = [_placed(model.decomposition, table, unseen_objects, known, caution) for table in tables]
    with torch.no_grad():
        columns = _columns(model.decomposition, unseen_objects, model.device)
        without = model.decomposition.score(*columns)
        for table, rows in zip(tables, placed, strict=True):
            table.weight[~known] = rows[~known]
        for _ in range(HALVINGS):
            gained = model.decomposition.score(*columns) - without
            worse = torch.zeros_like(known, dtype=gained.dtype).index_add_(0, columns[2], gained) < 0
            if not worse.any():
                return
            for table in tables:
                table.weight[worse] /= 2


def _placed(model: Decomposition, table: Table, facts: Facts, known: Tensor, caution: float) -> Tensor:  # (E, …)
    """A table's rows as the facts, all with unseen objects, would have them."""
    ids, slopes = _slopes(model, table, facts)
    weight = table.weight.detach()
    lengths = torch.linalg.vector_norm(weight.flatten(1), dim=-1)
    directions = normalize(slopes.flatten(1), dim=-1)
    total = torch.zeros_like(weight.flatten(1)).index_add_(0, ids, directions)
    count = torch.zeros_like(lengths).index_add_(0, ids, torch.ones_like(directions[:, 0]))
    rows: Tensor = total / (count + caution).clamp(min=1e-6)[:, None] * lengths[known].mean()
    return rows.view_as(weight)


def _slopes(model: Decomposition, table: Table, facts: Facts) -> tuple[Tensor, Tensor]:  # (n,), (n, …)
    """Unseen entities, and the slope of each fact's score by that entity's row of the table.

    A table that is not looked at for objects, as CP's of subjects, is asked from the other side.
    """
    P = model.sizes.predicates
    s, p, o, t = _columns(model, facts, table.weight.device)
    for subject, predicate, object in ((s, p, o), (o, (p + P) % (2 * P), s)):
        with torch.enable_grad(), shared_lookups():
            score = model.score(subject, predicate, object, t).sum()
            rows = table.looked_up(o)  # o are the unseen ones, on whichever side they stand
            if rows is not None:
                (slope,) = torch.autograd.grad(score, rows, allow_unused=True, materialize_grads=True)
                return o, as_real(slope)
    return o, torch.zeros_like(table.weight[o])


def _columns(model: Decomposition, facts: Facts, device: torch.device) -> list[Tensor]:
    """Where the begin is open the fact holds at its end; without time, at the undated row or any other."""
    t = np.where(facts.begin != OPEN, facts.begin, facts.end)
    t = np.where(t != OPEN, t, model.sizes.timestamps if model.sizes.undated_row else 0)
    return [torch.tensor(ids, device=device) for ids in (facts.subject, facts.predicate, facts.object, t)]
