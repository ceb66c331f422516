"""The time head of a model: its beliefs about when facts begin and end, for any decomposition."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.torch import load as load_tensors
from safetensors.torch import save as save_tensors
from torch import Tensor

from knowwhen import chunks
from knowwhen.dating.beliefs import Belief
from knowwhen.dating.gaps import Facing, GapHead
from knowwhen.dating.judging import Counted, Judge
from knowwhen.dating.neighbours import Around, Asked, Neighbourhood, Rows
from knowwhen.dating.survival import Survival
from knowwhen.errors import DamagedFile
from knowwhen.facts.dataset import Dataset
from knowwhen.facts.table import OPEN, Facts, Ints
from knowwhen.files import write_whole
from knowwhen.models import TemporalModel
from knowwhen.text import brief, plural

BEGINS, SPANS = 32, 256  # the most probable begins for which ends are scored; the most probable spans of these
FEW_BEGINS = 8  # enough where only the curve along time is wanted
BATCH = 64  # questions at once
NUMBERS, TENSORS = "times.json", "times.safetensors"


@dataclass(frozen=True)
class Fitted:
    """What valid chose: how far gaps and decomposition are believed, and how much mass an 80 % range holds."""

    begin_scale: float = 1.0  # of the scores from gaps
    model_scale: float = 0.0  # of the decomposition's log probabilities along time
    end_scale: float = 1.0
    begin_level: float = 0.8
    end_level: float = 0.8


@dataclass(frozen=True, eq=False)
class TimeHead:
    """Begin and end of facts, from the gaps to what is known about subject and object, and the decomposition."""

    begins: GapHead
    ends: GapHead | None  # None: training has events only
    fitted: Fitted = field(default_factory=Fitted)
    neighbourhood: Neighbourhood | None = None
    axis: Tensor = field(default_factory=lambda: torch.empty(0, dtype=torch.int64))  # (T,) positions
    known: Facts = field(default_factory=Facts.empty)  # what the neighbourhood was made of
    rows: Rows = field(default_factory=lambda: Rows(Facts.empty()))  # of these
    judge: Judge | None = None  # None: too few facts of valid to learn whether facts hold
    counted: Counted | None = None
    survival: Survival | None = None

    def __repr__(self) -> str:
        return brief(self, f"on {plural(len(self.known), 'fact')}{', with a judge' if self.judge else ''}")

    def recall(self, dataset: Dataset) -> TimeHead:
        """The head with the facts to draw on: those of train, and those added since."""
        facts, P = Facts.concatenate(dataset.train, dataset.added), len(dataset.predicates)
        axis = torch.from_numpy(dataset.timeline.positions.copy())
        return replace(
            self,
            neighbourhood=Neighbourhood(facts, P, dataset.timeline),
            axis=axis,
            known=facts,
            rows=Rows(facts),
            counted=Counted(facts, P, dataset.timeline),
            survival=Survival(facts, dataset.timeline),
        )

    def around(self, asked: Asked) -> Around:
        assert self.neighbourhood is not None, "recall comes first"
        return self.neighbourhood.around(asked)

    def facing(self, asked: Asked) -> Facing:
        return Facing(self.around(asked))

    @torch.no_grad()
    def begin_logs(self, asked: Asked, facing: Facing, model: TemporalModel | None) -> Tensor:  # (n, T)
        """log P(begin), by gaps and decomposition."""
        gaps: Tensor = self.begins(torch.from_numpy(asked.predicate.copy()), facing, self.axis)
        scores = self.fitted.begin_scale * gaps
        if model is not None and model.decomposition.temporal and self.fitted.model_scale:
            scores = scores + self.fitted.model_scale * model_logs(model, asked)
        return scores.double().log_softmax(-1)

    @torch.no_grad()
    def end_logs(self, asked: Asked, facing: Facing, begin: Tensor) -> Tensor:  # (n, T + 1)
        """log P(end | begin), the last column for no end; without intervals in training, facts end as they begin."""
        if self.ends is None:
            found = torch.full((len(asked), len(self.axis) + 1), -torch.inf, dtype=torch.float64)
            return found.scatter(1, begin[:, None], 0.0)
        scores: Tensor = self.ends(torch.from_numpy(asked.predicate.copy()), facing, self.axis, begin)
        return (self.fitted.end_scale * scores.double()).log_softmax(-1)

    def believe(
        self, asked: Asked, model: TemporalModel | None = None, begin: Ints | None = None, end: Ints | None = None
    ) -> Iterator[Belief]:
        """What is believed of each question, some at a time; `begin` and `end` are ids that are known, or OPEN."""
        none = np.full(len(asked), OPEN)
        begin, end = none if begin is None else begin, none if end is None else end
        for part in chunks.slices(len(asked), BATCH):
            yield self._believe(asked[part], model, begin[part], end[part])

    def curves(
        self, asked: Asked, model: TemporalModel | None, begin: Ints | None = None, end: Ints | None = None
    ) -> np.ndarray:  # (n, T)
        """The probability that each fact holds, along time: `Belief.holds`, from fewer begins."""
        none = np.full(len(asked), OPEN)
        begin, end = none if begin is None else begin, none if end is None else end
        found = [
            self._spans(asked[part], model, begin[part], end[part], FEW_BEGINS).holds().numpy()
            for part in chunks.slices(len(asked), BATCH)
        ]
        return np.concatenate(found) if found else np.empty((0, len(self.axis)))

    def _believe(self, asked: Asked, model: TemporalModel | None, begin: Ints, end: Ints) -> Belief:
        spans, T = self._spans(asked, model, begin, end, BEGINS), len(self.axis)
        closed = spans.joint[..., :T]
        weight, place = closed.flatten(1).topk(min(SPANS, closed[0].numel()), dim=1)
        place = torch.where(weight > 0, place, place[:, :1])  # where fewer are possible, the best again, for nothing
        values = {
            "begin": spans.starts.gather(1, place // T),
            "end": place % T,
            "weight": _normal(weight),
            "closed": closed.sum((1, 2)),
            "mass": weight.sum(1) / closed.sum((1, 2)).clamp(min=1e-30) * spans.covered,
            "covered": spans.covered,
            "begins": spans.first,
            "ends": closed.sum(1),
            "holds": spans.holds(),
        }
        return Belief(**{name: value.numpy() for name, value in values.items()}, positions=self.axis.numpy())

    @torch.no_grad()
    def _spans(self, asked: Asked, model: TemporalModel | None, begin: Ints, end: Ints, begins: int) -> _Spans:
        """P(begin) P(end | begin) of the most probable begins, given what is known."""
        facing, T, n = self.facing(asked), len(self.axis), len(asked)
        given_begin, given_end = (torch.from_numpy(ids.copy()) for ids in (begin, end))
        first = self.begin_logs(asked, facing, model).exp()
        first = _only(first, given_begin)
        fits = torch.arange(T) <= torch.where(given_end < 0, T, given_end)[:, None]
        first = _normal(first * fits)
        k = min(begins, T)
        chances, starts = first.topk(k, dim=1)  # (n, k)
        covered = chances.sum(1)
        rows = torch.arange(n).repeat_interleave(k)
        ends = self.end_logs(asked[rows.numpy()], facing[rows], starts.flatten()).exp().view(n, k, T + 1)
        if (given_end >= 0).any():
            only = _only(torch.ones(n, T + 1, dtype=ends.dtype), given_end)
            only[given_end >= 0, T] = 0
            ends = ends * only[:, None]
            chances = chances * ends.sum(-1)  # P(begin | end) ∝ P(begin) P(end | begin)
            first = _normal(torch.zeros_like(first).scatter(1, starts, chances))
            chances, ends, covered = first.gather(1, starts), _normal(ends), torch.ones_like(covered)
        else:
            chances = _normal(chances)
        return _Spans(first, starts, chances, chances[..., None] * ends, covered)

    def save(self, folder: Path) -> None:
        """Writes two files beside the model's."""
        parts = {"begins": self.begins, "ends": self.ends}
        tensors = {
            f"{n}.{k}": v.contiguous() for n, head in parts.items() if head for k, v in head.state_dict().items()
        }
        about = {"predicates": self.begins.predicates, **asdict(self.fitted)}
        write_whole(folder / TENSORS, save_tensors(tensors))
        write_whole(folder / NUMBERS, (json.dumps(about, indent=1) + "\n").encode())
        if self.judge:
            self.judge.save(folder)

    @classmethod
    def load(cls, folder: Path) -> TimeHead | None:
        """The time head of a model's folder; None where it has none."""
        if not (folder / NUMBERS).exists():
            return None
        for path in (folder / NUMBERS, folder / TENSORS):
            if not path.is_file():  # a pipe would have us wait for ever
                raise DamagedFile(f"{path} is {'not a regular file' if path.exists() else 'missing'}; train again")
        try:
            about = json.loads((folder / NUMBERS).read_text(encoding="utf-8"))
            tensors = load_tensors((folder / TENSORS).read_bytes())
            heads = {n: _head(tensors, n, int(about["predicates"])) for n in ("begins", "ends")}
            about.pop("predicates")
            begins = heads["begins"]
            if begins is None:
                raise ValueError("no table of begins")
            found = cls(begins, heads["ends"], Fitted(**about))
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RuntimeError, SafetensorError) as error:
            raise DamagedFile(f"cannot read {folder / NUMBERS}: {error}; train again") from error
        return replace(found, judge=Judge.load(folder))


@dataclass(frozen=True, eq=False)
class _Spans:
    """Of n questions, the chances of spans that start at the k most probable begins."""

    first: Tensor  # (n, T), of all begins
    starts: Tensor  # (n, k) ids
    chances: Tensor  # (n, k), sum to 1
    joint: Tensor  # (n, k, T + 1), of begin and end; the last column is that of no end
    covered: Tensor  # (n,), how probable it is that the begin is one of the k

    def holds(self) -> Tensor:  # (n, T)
        """The probability that the fact holds at each timestamp: begun, and not yet over."""
        T = self.joint.shape[-1] - 1
        closed = self.joint[..., :T]
        over = closed.cumsum(-1) - closed  # ended before t
        begun = (self.starts[..., None] <= torch.arange(T)) * self.chances[..., None]
        return (begun - over).clamp(min=0).sum(1).clamp(max=1)


def model_logs(model: TemporalModel, asked: Asked) -> Tensor:  # (n, T)
    """The decomposition's log probabilities along time."""
    ids = (
        torch.from_numpy(column.copy()).to(model.device) for column in (asked.subject, asked.predicate, asked.object)
    )
    return model.decomposition.times(*ids).whole().log_softmax(-1).cpu()


def _head(tensors: dict[str, Tensor], name: str, predicates: int) -> GapHead | None:
    state: dict[str, Any] = {k.partition(".")[2]: v for k, v in tensors.items() if k.startswith(f"{name}.")}
    if not state:
        return None
    head = GapHead(predicates, state["positions"].numpy(), state["pairs"].numpy(), ends=name == "ends")
    head.load_state_dict(state)
    return head


def _only(probability: Tensor, given: Tensor) -> Tensor:
    """All mass on what is given, where it is."""
    rows = (given >= 0).nonzero()[:, 0]
    found = probability.clone()
    found[rows] = 0
    found[rows, given[rows]] = 1
    return found


def _normal(values: Tensor) -> Tensor:
    return values / values.sum(-1, keepdim=True).clamp(min=1e-30)
