"""TA-DistMult and TA-TransE: a recurrent network reads the predicate and the digits of the date."""

from __future__ import annotations

from typing import Any

import torch
from pydantic import Field
from torch import Tensor, nn

from knowwhen.models.base import Factor, RankOptions
from knowwhen.models.decompositions.calendar import CalendarModel
from knowwhen.models.registry import register
from knowwhen.models.scores import Distance, Product, Scores
from knowwhen.models.sizes import Sizes
from knowwhen.models.tables import Axis, Table, real_rows, xavier

DIGITS, MONTHS = 10, 13  # month 0 is that of facts without time
MONTH, DAY, TOKENS = DIGITS, DIGITS + MONTHS, DIGITS + MONTHS + DIGITS


class TAOptions(RankOptions):
    dropout: float = Field(0.0, ge=0, lt=1, description="Dropout on subjects and on the encoded date.")


class DateReader(CalendarModel):
    """Predicates in time (García-Durán et al. 2018): the last state of an LSTM over predicate and date.

    z_pt = LSTM(v_p, y₁, y₂, y₃, y₄, m, d₁, d₂)    v: predicate; digits of the year, the month, digits of the day

    Its gates are sigmoids; what enters and leaves a cell is linear.
    """

    Options = TAOptions

    u: Table
    v: Table
    tokens: Table
    input: Table
    recurrent: Table
    bias: Table

    def __init__(self, sizes: Sizes, options: Any = None) -> None:
        super().__init__(sizes, options)
        self.dropout = nn.Dropout(self.options.dropout)

    @classmethod
    def tables(cls, o: TAOptions) -> dict[str, Table]:
        r = o.rank
        shapes = {"tokens": (TOKENS, r), "input": (r, 4 * r), "recurrent": (r, 4 * r), "bias": (4 * r,)}
        found = {"u": real_rows(Axis.ENTITY, r, initial=xavier()), "v": real_rows(Axis.PREDICATE, r, initial=xavier())}
        return found | {name: real_rows(Axis.NONE, *shape, initial=xavier()) for name, shape in shapes.items()}

    def _tokens(self, t: Tensor) -> Tensor:  # (n,) -> (n, 7)
        year, month, day = self.calendar[t].long().unbind(-1)
        digits = [year.abs() // power % 10 for power in (1000, 100, 10, 1)]
        return torch.stack([*digits, MONTH + month, DAY + day // 10, DAY + day % 10], dim=-1)

    def relation(self, p: Tensor, t: Tensor) -> Tensor:  # (…, r)
        """z_pt; pairs that occur several times are read once."""
        p, t = torch.broadcast_tensors(p, t)  # type: ignore[no-untyped-call]
        T = len(self.calendar)
        pairs, number = torch.unique(p * T + t, return_inverse=True)
        words = self.tokens()[self._tokens(pairs % T)]  # (n, 7, r)
        h = cell = torch.zeros_like(words[:, 0])
        for word in (self.v(pairs // T), *words.unbind(1)):
            keep, write, show, value = (word @ self.input() + h @ self.recurrent() + self.bias()).chunk(4, dim=-1)
            cell = keep.sigmoid() * cell + write.sigmoid() * value
            h = show.sigmoid() * cell
        read: Tensor = self.dropout(h)[number]
        return read

    def _subject(self, s: Tensor) -> Tensor:
        subject: Tensor = self.dropout(self.u(s))
        return subject

    def factors(self, s: Tensor, p: Tensor, o: Tensor, t: Tensor) -> list[Factor]:
        return [Factor(1, self.u(s)), Factor(1, self.u(o)), Factor(1, self.relation(p, t))]

    separate_factors = factors


@register
class TADistMult(DateReader):
    """DistMult whose predicates know the date (García-Durán et al. 2018).

    X[s, p, o, t] = ⟨u_s, z_pt, u_o⟩    u: entity, z: predicate and date, as they are read
    """

    name = "tadistmult"
    formula = "⟨u_s, z_pt, u_o⟩, z: read by an LSTM"

    def score(self, s: Tensor, p: Tensor, o: Tensor, t: Tensor) -> Tensor:
        return (self._subject(s) * self.relation(p, t) * self.u(o)).sum(-1)

    def objects(self, s: Tensor, p: Tensor, t: Tensor) -> Scores:
        return Product(self._subject(s) * self.relation(p, t), self.u)


@register
class TATransE(DateReader):
    """TransE whose predicates know the date (García-Durán et al. 2018).

    X[s, p, o, t] = −‖u_s + z_pt − u_o‖₂    u: entity, z: predicate and date, as they are read
    """

    name = "tatranse"
    formula = "−‖u_s + z_pt − u_o‖₂, z: read by an LSTM"

    def score(self, s: Tensor, p: Tensor, o: Tensor, t: Tensor) -> Tensor:
        distance: Tensor = torch.linalg.vector_norm(self._subject(s) + self.relation(p, t) - self.u(o), dim=-1)
        return -distance

    def objects(self, s: Tensor, p: Tensor, t: Tensor) -> Scores:
        return Distance(self._subject(s) + self.relation(p, t), self.u, 2)
