"""How many parameters a rank takes, as stored and as the paper's Table 1 counts them."""

from __future__ import annotations

from collections.abc import Callable

import torch

from knowwhen.errors import BadRequest
from knowwhen.models.base import Decomposition
from knowwhen.models.sizes import Sizes
from knowwhen.models.tables import tables_of

# 2r(…) of Table 1 with |P| as the paper takes it, which already holds reciprocals: ICEWS14 has 230 predicates, the
# paper 460. ComplEx is not in the table; 2r(|E| + 2|P|) gives its ranks. What is stored has |P| rows (TNTComplEx 2|P|),
# and |E| counts the entities of all splits, so true counts are smaller in predicates and larger in entities.
_PER_RANK: dict[str, Callable[[int, int, int], int]] = {
    "complex": lambda E, P, T: 2 * (E + 2 * P),
    "tcomplex": lambda E, P, T: 2 * (E + T + 2 * P),
    "tntcomplex": lambda E, P, T: 2 * (E + T + 4 * P),
}


def paper_parameter_count(model: str, rank: int, entities: int, predicates: int, timestamps: int) -> int:
    """The paper's Table 1: parameters of a model, |E|, |P| and |T| as the paper counts them."""
    if model not in _PER_RANK:
        raise BadRequest(f"the paper has no formula for {model!r}; it has {', '.join(_PER_RANK)}")
    return rank * _PER_RANK[model](entities, predicates, timestamps)


def de_simple_parameter_count(
    entities: int, predicates: int, dimension: int = 100, temporal_share: float = 0.5
) -> float:
    """The paper's Table 1 for DE-SimplE, 2d((3γ + (1 − γ))|E| + |P|): the budget of its comparisons."""
    return 2 * dimension * ((3 * temporal_share + (1 - temporal_share)) * entities + predicates)


def paper_rank(model: str, entities: int, predicates: int, timestamps: int) -> int:
    """The rank at which Table 1 gives a model as many parameters as DE-SimplE at d = 100."""
    budget = de_simple_parameter_count(entities, predicates)
    return int(budget // paper_parameter_count(model, 1, entities, predicates, timestamps))


def rank_for_budget(model: type[Decomposition], sizes: Sizes, budget: int) -> int:
    """The largest rank whose tables, as they are stored, hold at most `budget` numbers."""
    if stored(model, sizes, 1) > budget:
        raise BadRequest(
            f"{model.name} needs {stored(model, sizes, 1):,} parameters at rank 1; the budget is {budget:,}"
        )
    # Core tensors grow with a power of the rank, so the rank is searched for.
    high = 2
    while stored(model, sizes, high) <= budget:
        high *= 2
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if stored(model, sizes, middle) <= budget else (low, middle)
    return low


def stored(model: type[Decomposition], sizes: Sizes, rank: int) -> int:
    """How many numbers the tables of a model hold at a rank, other options at their defaults."""
    with torch.device("meta"):
        made = model(sizes, model.Options.model_validate({"rank": rank}))
    return sum(table.weight.numel() for table in tables_of(made).values())
