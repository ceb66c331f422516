"""The service: requests in, values out. No web in it; the HTTP API, the page and the agents' door stand on it."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

from knowwhen.errors import BadRequest, KnowwhenError, NotFound, closest, did_you_mean
from knowwhen.facts.dataset import Dataset
from knowwhen.facts.table import Ints
from knowwhen.query import AsOf, EntityFacts, Holds, Neighbours, Question, TimelineScores, answer, read_question
from knowwhen.query import When as WhenAnswer
from knowwhen.query.answers import Answers, TimeAnswers
from knowwhen.query.ask import check_answerable
from knowwhen.query.entities import Kind, entity_facts, fact_counts, find_names
from knowwhen.serve import requests as ask_for
from knowwhen.serve.adding import new_facts
from knowwhen.serve.edges import EdgeMemory
from knowwhen.serve.settings import ServeSettings
from knowwhen.trained import TrainedModel

Found = Answers | TimeAnswers


class UnknownRun(NotFound):
    """A run that this server does not have."""


class NotWritable(KnowwhenError):
    """A server that takes no facts."""

    status = 403


@dataclass(frozen=True)
class AskedOptions:
    """What questions must share to be answered in one pass."""

    top: int
    novel: bool
    min_probability: float
    explain: bool


@dataclass(frozen=True, eq=False)
class Served:
    """One run, with what is worked out once for it; immutable: one with more facts takes its place."""

    name: str
    trained: TrainedModel

    @property
    def dataset(self) -> Dataset:
        return self.trained.dataset

    @cached_property
    def counts(self) -> dict[Kind, Ints]:
        kinds: tuple[Kind, ...] = ("entity", "predicate")
        return {kind: fact_counts(self.dataset, kind) for kind in kinds}

    @cached_property
    def about(self) -> dict[str, Any]:
        """All that a page needs to know of a model before it asks."""
        predicates, data = self.dataset.predicates, self.dataset.info()
        counts = self.counts["predicate"].tolist()
        return {
            "run": self.name,
            "model": self.trained.info(),
            "data": data,
            "about": dict(self.dataset.about),
            "calibrated": self.trained.calibration is not None,
            "predicates": [
                {"key": predicates.key(i), "name": predicates.label(i), "facts": counts[i]}
                for i in range(len(predicates))
            ],
            "times": self.dataset.timeline.labels(),
            "card": self.trained.card(),
        }

    def warm(self) -> None:
        """Builds the indexes that a first question would wait for."""
        _ = self.about
        for vocabulary in (self.dataset.entities, self.dataset.predicates):
            vocabulary.lookup.complete(
                "warm", self.counts["entity" if vocabulary is self.dataset.entities else "predicate"]
            )
        self.dataset.spans.about(0)
        self.dataset.spans.of(0, 0, 0)
        self.dataset.spans.between(0, 0)


class Service:
    """Answers requests about one or several runs, under limits."""

    def __init__(
        self, runs: Mapping[str, TrainedModel], settings: ServeSettings | None = None, *, writable: bool = False
    ) -> None:
        if not runs:
            raise BadRequest("no run to serve; name at least one")
        self.settings, self.writable = settings or ServeSettings(), writable
        self._runs = {name: Served(name, trained) for name, trained in runs.items()}
        self._first = next(iter(self._runs))
        self._adding, self._evaluating = threading.Lock(), threading.Lock()
        self._evaluations: dict[tuple[str, str], dict[str, Any]] = {}

    @property
    def names(self) -> list[str]:
        return list(self._runs)

    def run(self, name: str | None = None) -> Served:
        """A run by its name; the first where none is named."""
        wanted = self._first if name is None else name
        if wanted not in self._runs:
            hint = did_you_mean(wanted, self._runs)
            message = f"no run {wanted!r}; expected {', '.join(self._runs)}{hint}"
            raise UnknownRun(message, closest(wanted, self._runs), name=wanted)
        return self._runs[wanted]

    def warm(self) -> None:
        for name in self.names:
            self.run(name).warm()

    # Questions are read one by one, so that a bad one is the fault of no other, and answered together.

    def read(self, served: Served, asked: ask_for.Question, candidates: Sequence[str] | None, novel: bool) -> Question:
        """A question with names as ids, checked so that answering it cannot fail."""
        allowed: Sequence[str] | str | None = candidates
        if candidates is not None:
            self._check("candidates", len(candidates), self.settings.max_candidates, "name fewer")
            if list(candidates) == ["seen"]:
                allowed = "seen"
        names = (asked.subject, asked.predicate, asked.object, asked.time)
        question = read_question(served.dataset, *names, candidates=allowed)
        if question.times is not None:
            self._check_span(len(question.times))
        check_answerable(served.trained.model, served.dataset, question, novel=novel)
        return question

    def options(self, asked: ask_for.AskOptions) -> AskedOptions:
        self._check("top", asked.top, self.settings.max_top, "ask for fewer answers")
        return AskedOptions(asked.top, asked.novel, asked.min_probability, asked.explain)

    def answer(self, served: Served, questions: Sequence[Question], options: AskedOptions) -> list[Found]:
        """The answers to questions that are read, in one pass."""
        trained = served.trained
        return answer(
            trained.model,
            trained.dataset,
            questions,
            calibration=trained.calibration,
            times=trained.times,
            **asdict(options),
        )

    def ask_together(self, asked: Sequence[ask_for.Ask]) -> list[Found | KnowwhenError]:
        """The answers to questions of different people, those with equal options in one pass; errors are one's own."""
        found: dict[int, Found | KnowwhenError] = {}
        groups: dict[tuple[Served, AskedOptions], list[tuple[int, Question]]] = {}
        for i, one in enumerate(asked):
            try:
                served = self.run(one.run)
                question = self.read(served, one, one.candidates, one.novel)
                groups.setdefault((served, self.options(one)), []).append((i, question))
            except KnowwhenError as error:
                found[i] = error
        for (served, options), members in groups.items():
            places, questions = zip(*members, strict=True)
            try:
                found |= zip(places, self.answer(served, questions, options), strict=True)
            except KnowwhenError as error:
                found |= dict.fromkeys(places, error)
        return [found[i] for i in range(len(asked))]

    def ask(self, asked: ask_for.Ask) -> Found:
        found = self.ask_together([asked])[0]
        if isinstance(found, KnowwhenError):
            raise found
        return found

    def ask_many(self, asked: ask_for.AskMany) -> list[Found]:
        self._check("questions", len(asked.questions), self.settings.max_batch, "send them in several requests")
        served, options = self.run(asked.run), self.options(asked)
        questions = [self.read(served, one, asked.candidates, asked.novel) for one in asked.questions]
        return self.answer(served, questions, options)

    def when(self, asked: ask_for.When) -> WhenAnswer:
        trained = self.run(asked.run).trained
        return trained.when(asked.subject, asked.predicate, asked.object, infer_known=asked.infer)

    def when_many(self, asked: ask_for.WhenMany) -> list[WhenAnswer]:
        self._check("facts", len(asked.facts), self.settings.max_batch, "send them in several requests")
        rows = [(fact.subject, fact.predicate, fact.object) for fact in asked.facts]
        return self.run(asked.run).trained.when(rows, infer_known=asked.infer)

    def holds(self, asked: ask_for.Holds) -> Holds:
        return self.run(asked.run).trained.holds(asked.subject, asked.predicate, asked.object, asked.time)

    def holds_many(self, asked: ask_for.HoldsMany) -> list[Holds]:
        self._check("facts", len(asked.facts), self.settings.max_batch, "send them in several requests")
        rows = [(fact.subject, fact.predicate, fact.object, fact.time) for fact in asked.facts]
        return self.run(asked.run).trained.holds(rows)

    def as_of(self, asked: ask_for.AsOf) -> AsOf:
        self._check("top", asked.top, self.settings.max_top, "ask for fewer answers")
        trained = self.run(asked.run).trained
        return trained.as_of(asked.subject, asked.predicate, asked.object, asked.time, asked.top)

    def timeline(self, asked: ask_for.Timeline) -> TimelineScores:
        served = self.run(asked.run)
        self._check("objects", len(asked.objects or ()), self.settings.max_objects, "name fewer")
        axis = served.dataset.timeline
        self._check_span(len(axis) if asked.span is None else len(axis.ids(asked.span)) if len(axis) else 0)
        return served.trained.timeline(asked.subject, asked.predicate, asked.objects, asked.span)

    def similar(self, asked: ask_for.Similar) -> Neighbours:
        self._check("top", asked.top, self.settings.max_top, "ask for fewer")
        return self.run(asked.run).trained.similar(asked.entity, asked.top)

    def find_names(self, asked: ask_for.Names) -> dict[str, Any]:
        self._check("limit", asked.limit, self.settings.max_top, "ask for fewer names")
        served = self.run(asked.run)
        found = find_names(served.dataset, asked.q, asked.kind, asked.limit, served.counts[asked.kind])
        return {"q": asked.q, "kind": asked.kind, "names": [asdict(one) for one in found]}

    def entity(self, key: str, asked: ask_for.Entity) -> EntityFacts:
        limit = self.settings.max_facts if asked.limit is None else asked.limit
        self._check("limit", limit, self.settings.max_facts, "ask for fewer facts, and use first to continue")
        return entity_facts(self.run(asked.run).dataset, key, asked.time, first=asked.first, limit=limit)

    def info(self, asked: ask_for.Chosen) -> dict[str, Any]:
        runs = [
            {"run": one.name, "data": one.dataset.name, "model": one.trained.model.name} for one in self._runs.values()
        ]
        here = {"runs": runs, "writable": self.writable, "limits": self.settings.model_dump()}
        return {**self.run(asked.run).about, **here}

    def add(self, asked: ask_for.AddFacts) -> dict[str, Any]:
        """Adds facts to a run, as `knowwhen add` does; questions go on being answered, from what was known before."""
        if not self.writable:
            raise NotWritable("this server is read-only; start it with --writable to add facts")
        self._check("facts", len(asked.facts), self.settings.max_facts, "send them in several requests")
        with self._adding:
            served = self.run(asked.run)
            before = served.dataset
            after = Served(served.name, served.trained.add(new_facts(before, asked.facts)))
            after.warm()
            self._runs[served.name] = after
        return {
            "run": served.name,
            "added": len(after.dataset.added) - len(before.added),
            "added_in_all": len(after.dataset.added),
            "new_entities": len(after.dataset.entities) - len(before.entities),
            "new_timestamps": len(after.dataset.timeline) - len(before.timeline),
        }

    def edges(self, asked: ask_for.Edges) -> dict[str, Any]:
        """The edges of an entity, with what is inferred of their dates."""
        self._check("limit", asked.limit, self.settings.max_batch, "ask for fewer edges")
        found = EdgeMemory(self.run(asked.run).trained).read(asked.entity, asked.time, limit=asked.limit)
        return {"entity": asked.entity, "time": asked.time, "edges": [edge.to_dict() for edge in found]}

    def add_edges(self, asked: ask_for.AddEdges) -> dict[str, Any]:
        return self.add(ask_for.AddFacts(facts=[edge.fact() for edge in asked.edges], run=asked.run))

    def evaluation(self, asked: ask_for.Chosen, split: str = "test") -> dict[str, Any]:
        """Metrics with their protocol, calibration and time questions of a sample of a split; measured once."""
        served = self.run(asked.run)
        with self._evaluating:
            found = self._evaluations.get((served.name, split))
            if found is None:
                found = self._evaluations[served.name, split] = self._evaluate(served.trained, split)
        return {"run": served.name, **found}

    def _evaluate(self, trained: TrainedModel, split: str) -> dict[str, Any]:
        facts, sample = len(trained.trained.dataset.facts(split)), self.settings.evaluated
        if not facts:
            raise BadRequest(f"{trained.dataset.name} has no facts in {split}, so there is nothing to evaluate")
        sample = min(sample, facts)
        dated = len(trained.dataset.timeline) > 0 and trained.model.temporal
        return {
            "split": split,
            "facts": facts,
            "measured": sample,
            "ranking": trained.evaluate(split, sample=sample).to_dict(),
            "calibration": trained.evaluate_calibration(split, sample=sample).to_dict(),
            "time_questions": trained.evaluate_times(split, sample=sample).to_dict() if dated else None,
        }

    def _check_span(self, timestamps: int) -> None:
        self._check("the time covers timestamps", timestamps, self.settings.max_span, "ask about a shorter time")

    def _check(self, what: str, given: int, most: int, remedy: str) -> None:
        if given > most:
            raise BadRequest(f"{what}: {given:,} given, but the limit is {most:,}; {remedy}")
