"""A model with room for entities and timestamps that training did not know."""

from __future__ import annotations

import numpy as np
import torch

from knowwhen.facts.table import OPEN, Bools, Facts, Ints
from knowwhen.models.base import TemporalModel
from knowwhen.models.sizes import Sizes

ENTITY_TABLES = ("entity", "subject", "object")  # by entity; those by timestamp begin with "timestamp"
CAUTION = 2.0  # facts' worth of doubt: with so many, a new entity's row is half as long as that of a known one


@torch.no_grad()
def grown(model: TemporalModel, sizes: Sizes, earlier: Ints) -> TemporalModel:
    """The model at other sizes: new entities are zero, timestamp i takes the row of the earlier timestamp[i]."""
    new = type(model)(sizes, model.rank).to(model.candidates())
    for term in model.evidence_terms():
        new.add_evidence(term.name, term.settings)
    if model.weighing is not None:
        new.add_weighing()
    new.to(model.candidates())
    rows = torch.from_numpy(earlier)
    undated = torch.arange(model.sizes.timestamps, model.sizes.timestamps + model.sizes.undated_row)
    old = dict(model.named_parameters())
    for name, table in new.named_parameters():
        if name in ENTITY_TABLES:
            table.zero_()[: len(old[name])] = old[name]
        elif name.startswith("timestamp"):
            table.copy_(old[name][torch.cat([rows, undated])])
        else:
            table.copy_(old[name])
    return new


@torch.no_grad()
def place_unseen(model: TemporalModel, facts: Facts, seen: Bools, caution: float = CAUTION) -> None:
    """Gives entities that training never saw a row, from facts that hold them: a mean of what asks for them.

    A fact (s, p, o, t) with o unseen says that o answers query(s, p, t), so o's row should point that way. The row is
    the mean of the directions of its queries from seen subjects, as long as rows are in the mean, times
    n / (n + caution) for n facts: few facts are little to go by. Without such facts the row is zero.
    """
    both = Facts.concatenate(facts, facts.reciprocal(model.sizes.predicates))
    told = both[~seen[both.object] & seen[both.subject]]
    table = model.candidates()
    lengths = torch.linalg.vector_norm(table, dim=-1)
    known = torch.from_numpy(seen).to(table.device)
    table[~known] = 0
    if not len(told) or not known.any():
        return
    # Where the begin is open the fact holds at its end; without time, at the undated row or any other.
    t = np.where(told.begin != OPEN, told.begin, told.end)
    t = np.where(t != OPEN, t, model.sizes.timestamps if model.sizes.undated_row else 0)
    columns = (told.subject, told.predicate, t, told.object)
    s, p, at, o = (torch.tensor(column, device=table.device) for column in columns)
    directions = torch.nn.functional.normalize(model.query(s, p, at), dim=-1)
    total = torch.zeros_like(table).index_add_(0, o, directions)
    count = torch.zeros_like(lengths).index_add_(0, o, torch.ones_like(directions[:, 0]))
    mean_length = lengths[known].mean()
    rows = total / (count + caution).clamp(min=1e-6)[:, None] * mean_length
    table[~known] = rows[~known]
