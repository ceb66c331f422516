"""What can be evaluated: a trained model, a model, or anything that gives a fact a number."""

from __future__ import annotations

import typing
from typing import Any

import torch
from torch import Tensor

from knowwhen.errors import BadRequest
from knowwhen.facts.dataset import Dataset
from knowwhen.models import Sizes
from knowwhen.models.scores import Computed, Scores


class ObjectScorer(typing.Protocol):
    """All that ranking needs: a model, or anything else that scores every entity as an answer."""

    @property
    def name(self) -> str: ...

    @property
    def sizes(self) -> Sizes: ...

    def objects(self, s: Tensor, p: Tensor, t: Tensor) -> Scores: ...  # (b, E), finite


class FactScorer(typing.Protocol):
    """The least that can be evaluated: a number for each fact (s[i], p[i], o[i], t[i]), higher for likelier ones.

    The ids are those of a dataset's `entities`, `predicates` and `timeline`, in tensors of one length; the numbers come
    back as a tensor, an array or a list.
    """

    def score(self, s: Tensor, p: Tensor, o: Tensor, t: Tensor) -> Any: ...  # (n,)


class Trained(typing.Protocol):
    """A model with the data it was trained on, such as `knowwhen.open` returns."""

    @property
    def trained(self) -> Any: ...  # without what was added since


Evaluated = ObjectScorer | FactScorer | Trained


def scorer_of(model: Evaluated, dataset: Dataset | None) -> tuple[ObjectScorer, Dataset]:
    """What ranks entities, and the data to rank them on: by default that of a trained model."""
    if not isinstance(dataset, Dataset | None):
        raise BadRequest(f"the data to evaluate on is {dataset!r}; expected a Dataset, as kw.load returns")
    if hasattr(model, "trained"):
        trained = model.trained
        model, own = trained.model, trained.dataset
        dataset = own if dataset is None else dataset
        if dataset is not own and not _same_names(dataset, own):
            raise BadRequest(f"{dataset.name} has different names from {own.name}, on which the model was trained")
    if dataset is None:
        raise BadRequest(f"name the data to evaluate {type(model).__name__} on; only a trained model brings its own")
    if hasattr(model, "objects") and hasattr(model, "sizes"):
        found = typing.cast(ObjectScorer, model)
    elif callable(getattr(model, "score", None)):
        found = EveryObject(typing.cast(FactScorer, model), Sizes.of(dataset))
    else:
        raise BadRequest(
            f"cannot evaluate {model!r}; expected a trained model, a model, or an object with score(s, p, o, t)"
        )
    _check_sizes(found, dataset)
    return found, dataset


class EveryObject:
    """Ranks entities by the scores of single facts: every entity is put in the place that is asked for."""

    def __init__(self, scorer: FactScorer, sizes: Sizes) -> None:
        self.scorer, self.sizes, self.name = scorer, sizes, str(getattr(scorer, "name", type(scorer).__name__))

    def objects(self, s: Tensor, p: Tensor, t: Tensor) -> Scores:  # (b, E)
        def score(row: Tensor, entity: Tensor) -> Tensor:
            row, entity = (ids.expand_as(row + entity) for ids in (row, entity))
            asked, predicate = s[row], p[row]
            inverse = predicate >= self.sizes.predicates  # (o, p + P, ?, t) asks for the subject of (?, p, o, t)
            facts = torch.where(inverse, entity, asked), predicate % self.sizes.predicates
            return self._score(*facts, torch.where(inverse, asked, entity), t[row])

        return Computed(len(s), self.sizes.entities, score)

    def _score(self, *facts: Tensor) -> Tensor:
        found = torch.as_tensor(self.scorer.score(*(ids.flatten() for ids in facts)))
        if found.shape != (facts[0].numel(),):
            raise BadRequest(
                f"{self.name}.score returned numbers of shape {tuple(found.shape)} for {facts[0].numel()} facts; "
                "expected one for each"
            )
        return found.reshape(facts[0].shape)


def _same_names(one: Dataset, other: Dataset) -> bool:
    same = (getattr(one, of).keys.equals(getattr(other, of).keys) for of in ("entities", "predicates"))
    return all(same) and one.timeline.labels() == other.timeline.labels()


def _check_sizes(model: ObjectScorer, dataset: Dataset) -> None:
    theirs, ours = (
        f"{n.entities} entities, {n.predicates} predicates and {n.timestamps} timestamps"
        for n in (model.sizes, Sizes.of(dataset))
    )
    if theirs != ours:
        raise BadRequest(f"{model.name} is for {theirs}, and {dataset.name} has {ours}; evaluate it on its own data")
