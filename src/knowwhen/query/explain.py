"""Why an answer has its score: the share of the decomposition, and that of each fact that spoke for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import torch

from knowwhen import chunks
from knowwhen.evaluation.questions import Floats
from knowwhen.facts.dataset import Dataset
from knowwhen.models import Background, TemporalModel
from knowwhen.models.evidence import EvidenceTerm
from knowwhen.text import brief, plural

NAMED_AT = 366  # timestamps of one question at which facts are named: those where evidence says most
NO_EVIDENCE = (
    'this model has no evidence terms, so no facts explain its scores; train with model.evidence=["pair_history"]'
)

Named = tuple[int, ...]
"""A fact by its row in the data, behind the rows of those that lead to it."""
Ids = tuple[int, int, int]
"""Subject, predicate and object as the model is asked, with inverse predicates."""


@dataclass(frozen=True)
class NamedFact:
    """A fact as it stands in the data."""

    subject: str
    predicate: str
    object: str
    keys: tuple[str, str, str]  # of subject, predicate and object
    begin: str | None  # None where unknown
    end: str | None


@dataclass(frozen=True)
class FactShare(NamedFact):
    """A fact that spoke for an answer, or against it, and how much of the score it is."""

    lag: str | None  # '2 to 3 days before'; None where a question covers several distances, or no time
    value: float
    path: tuple[NamedFact, ...] = ()  # the facts that lead from the subject to it, where it is about others


@dataclass(frozen=True)
class Explanation:
    """The shares of a score, which they add up to; of a mean over timestamps, the mean shares."""

    decomposition: float
    facts: tuple[FactShare, ...]  # the largest first, whatever their sign
    others: float = 0.0  # of facts at timestamps beyond those that are looked at one by one
    correction: float = 0.0  # by how many facts there are about the answer, where it was learned
    time: str | None = None  # that of a question for the time
    note: str | None = None  # why there are no facts, where there cannot be

    @property
    def score(self) -> float:
        return self.decomposition + sum(fact.value for fact in self.facts) + self.others + self.correction

    def __repr__(self) -> str:
        return brief(self, f"of a score of {self.score:.2f}: {plural(len(self.facts), 'fact')}")

    def to_dict(self) -> dict[str, Any]:
        """Everything as JSON types."""
        return asdict(self)


class Explainer:
    """Takes the scores of a model apart, and names the facts."""

    def __init__(self, model: TemporalModel, dataset: Dataset) -> None:
        self.model, self.dataset = model, dataset
        self.terms = [_Term(term, model, dataset) for term in model.terms]
        self.note = None if self.terms else NO_EVIDENCE

    @torch.no_grad()
    def explain(
        self, answers: Sequence[Ids], scores: Sequence[float], times: range, time: str | None = None
    ) -> list[Explanation]:
        """Why answers have the scores they have, or the mean scores over several timestamps."""
        said = self._decomposition(answers, times).tolist()
        return [self._explanation(*one, times, time) for one in zip(answers, scores, said, strict=True)]

    def _explanation(self, ids: Ids, score: float, decomposition: float, times: range, time: str | None) -> Explanation:
        parts = [term.shares(*ids, times) for term in self.terms]
        shares: dict[Named, FactShare] = {}
        for named, _ in parts:
            for fact, share in named.items():  # what several terms make of a fact is one share
                shares[fact] = replace(share, value=share.value + (shares[fact].value if fact in shares else 0))
        facts = tuple(sorted(shares.values(), key=lambda share: -abs(share.value)))
        found = Explanation(decomposition, facts, float(sum(rest for _, rest in parts)), 0.0, time, self.note)
        scored = any(named or rest for (named, rest), term in zip(parts, self.terms, strict=True) if term.is_sparse)
        if self.model.correction is None or not scored:
            return found
        return replace(found, correction=score - found.score)  # all that decomposition and facts leave

    def _decomposition(self, answers: Sequence[Ids], times: range) -> Floats:  # (n,)
        """What the decomposition says of each answer, in the mean over timestamps."""
        device = self.model.device
        ids = torch.tensor(answers, dtype=torch.int64, device=device).view(-1, 3)
        total = torch.zeros(len(ids), dtype=torch.float64, device=device)
        width = self.model.decomposition.entity_rows().shape[1]
        for part in chunks.slices(len(ids) * len(times), chunks.rows_at_once(width)):
            cell = torch.arange(part.start, part.stop, device=device)
            row = cell // len(times)
            s, p, o = ids[row].unbind(-1)
            said = self.model.decomposition.score(s, p, o, cell % len(times) + times.start)
            said = said if self.model.weights is None else said * self.model.weights[p]
            total.index_add_(0, row, said.double())
        return (total / len(times)).cpu().numpy()


class _Term:
    """The facts behind one evidence term."""

    def __init__(self, term: EvidenceTerm, model: TemporalModel, dataset: Dataset) -> None:
        self.term, self.dataset, self.rows = term, dataset, model.decomposition.entity_rows()
        self.is_sparse = term.is_sparse
        self.unit = str(dataset.timeline.granularity)
        self.facts = Background.of(dataset).facts
        self.dates = [*dataset.timeline.labels(), None]  # OPEN = -1 takes the last
        self.weights = model.weights if term.shifts else None

    def shares(self, s: int, p: int, o: int, times: range) -> tuple[dict[Named, FactShare], float]:
        """The facts behind the term's mean over timestamps, and what is left to those that are not named."""
        named, rest = self._named(s, p, o, times)
        weight = (1.0 if self.weights is None else self.weights[p].item()) / len(times)
        values, lags = dict[Named, float](), dict[Named, set[int]]()
        for t in named:
            for reason in self.term.reasons(s, p, o, t, self.rows):
                key = (*reason.path, reason.fact)
                values[key] = values.get(key, 0.0) + reason.value * weight
                lags.setdefault(key, set()).add(reason.lag)
        return {key: self._share(key, lags[key], value) for key, value in values.items()}, rest * weight

    def _named(self, s: int, p: int, o: int, times: range) -> tuple[Sequence[int], float]:
        """The timestamps at which facts are looked at one by one, and what the term adds at all others."""
        if len(times) == 1:
            return times, 0.0
        ids = [torch.tensor([i], device=self.rows.device) for i in (s, p, o)]
        scores = self.term.times(ids[0], ids[1], ids[2], self.rows)[0, times.start : times.stop]
        along = scores.double().cpu().numpy()
        order = np.argsort(-np.abs(along), kind="stable")
        named = order[:NAMED_AT][along[order[:NAMED_AT]] != 0]
        return [times[i] for i in np.sort(named)], float(along[order[NAMED_AT:]].sum())

    def _share(self, named: Named, lags: set[int], value: float) -> FactShare:
        path, fact = [self._fact(row) for row in named[:-1]], self._fact(named[-1])
        return FactShare(**vars(fact), lag=self._lag(lags), value=value, path=tuple(path))

    def _fact(self, row: int) -> NamedFact:
        s, p, o, begin, end = (int(column[row]) for _, column in self.facts.columns())
        entities, predicates = self.dataset.entities, self.dataset.predicates
        labels = entities.label(s), predicates.label(p), entities.label(o)
        keys = entities.key(s), predicates.key(p), entities.key(o)
        return NamedFact(*labels, keys, self.dates[begin], self.dates[end])

    def _lag(self, lags: set[int]) -> str | None:
        if len(lags) > 1 or self.term.lags.undated_question in lags:
            return None
        return self.term.lags.name(next(iter(lags)), self.unit)
