"""The cross-entropy of every kind of scores: that of the whole matrix, which is never made."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn.functional import cross_entropy as naive_cross_entropy
from torch.nn.functional import dropout
from torch.testing import assert_close

from knowwhen import chunks
from knowwhen.facts.table import Facts
from knowwhen.models import MODELS, Background, Decomposition, Sizes
from knowwhen.models.scores import Computed, Scores
from knowwhen.models.tables import Axis, real_rows
from knowwhen.training import losses, softmax
from knowwhen.training.losses import cross_entropy
from tests.models.kinds_of_scores import Case, cases, gradients, naive_gradients


class Blocks:
    """Sets how many columns are made at once; the kernel of products has limits of its own."""

    def __init__(self, columns: int) -> None:
        self.columns = columns

    def __enter__(self) -> None:
        self.patch = pytest.MonkeyPatch()
        self.patch.setattr(chunks, "rows_at_once", lambda *sizes: self.columns)
        self.patch.setattr(softmax, "TILE_BYTES", self.columns * 8)

    def __exit__(self, *error: object) -> None:
        self.patch.undo()


@given(cases(), st.integers(1, 6))
def test_value_and_gradients_are_those_of_the_whole_matrix(case, columns):
    made = case.made()
    targets = torch.randint(case.n, (case.b,), generator=torch.Generator().manual_seed(case.seed))
    wanted = naive_cross_entropy(made.whole, targets)
    with Blocks(columns):
        loss = cross_entropy(made.scores, targets)
        with torch.no_grad():
            assert_close(cross_entropy(made.scores, targets), wanted.detach())
        (3 * loss).backward()
    assert_close(loss, wanted)
    assert_close(gradients(made), naive_gradients(made, 3 * wanted))


@settings(max_examples=50)
@given(cases(), st.integers(1, 6), st.integers(0, 99))
def test_chosen_columns_in_blocks_are_those_of_the_whole_matrix(case, width, seed):
    made = case.made()
    g = torch.Generator().manual_seed(seed)
    columns = torch.randperm(case.n, generator=g)[: 1 + seed % case.n]
    weights = torch.rand(case.b, len(columns), generator=g).double()
    with Blocks(width), pytest.MonkeyPatch.context() as patch:
        patch.setattr(losses, "REMADE_BYTES", 0)
        found = losses.chosen(made.scores, columns)
        (found * weights).sum().backward()
    assert_close(found, made.whole[:, columns])
    assert_close(gradients(made), naive_gradients(made, (made.whole[:, columns] * weights).sum()))


class Recorded(Scores):
    """Notes how wide the blocks are that it is asked for, and how many are alive at once."""

    def __init__(self, X: torch.Tensor) -> None:
        self.X, self.widths = X, []
        self.rows, self.columns = X.shape

    def at(self, columns):
        assert isinstance(columns, slice)
        self.widths.append(columns.stop - columns.start)
        return self.X[:, columns].clone()

    def cells(self, rows, columns):
        return self.X[rows, columns]

    def whole(self):
        raise AssertionError("the whole matrix was asked for")


def test_no_more_than_a_block_is_made_at_once(monkeypatch):
    limit, b, E = 4096, 8, 1000
    monkeypatch.setattr(chunks, "rows_at_once", lambda width: max(1, limit // (4 * width)))
    scores = Recorded(torch.randn(b, E, requires_grad=True))
    targets = torch.arange(b) * 100
    kept = []
    with torch.autograd.graph.saved_tensors_hooks(lambda x: kept.append(x.shape) or x, lambda x: x):
        loss = cross_entropy(scores, targets)
    assert max(scores.widths) == limit // (4 * b) < E and sum(scores.widths) == E
    assert (b, E) not in kept and sum(np.prod(shape, dtype=int) for shape in kept) < b * E / 2, "blocks are not kept"
    loss.backward()
    assert sum(scores.widths) == 2 * E, "each block is made once more, for its gradient"
    assert_close(scores.X.grad, torch.autograd.grad(naive_cross_entropy(scores.X, targets), scores.X)[0])


def test_the_width_of_a_block_follows_from_the_limit():
    """The real limit, on a matrix that is too wide for it."""
    b = 1 << 14
    scores = Recorded(torch.zeros(1, 3000).expand(b, 3000))
    with torch.no_grad():
        assert cross_entropy(scores, torch.zeros(b, dtype=torch.int64)).item() == pytest.approx(np.log(3000))
    assert len(scores.widths) == 3 and max(scores.widths) * b * 4 <= chunks.SCORE_BYTES


def test_what_is_dropped_out_of_a_block_is_dropped_again_for_its_gradient():
    """Naive equivalent: the same masks, drawn block by block."""
    rows, table, targets = torch.randn(4, 6), torch.randn(9, 6, requires_grad=True), torch.tensor([0, 8, 3, 3])

    def score(i, j):
        return dropout(rows[i] * table[j], 0.5, training=True).sum(-1)

    scores = Computed(4, 9, score)
    with Blocks(2):
        torch.manual_seed(3)
        loss = cross_entropy(scores, targets)
        loss.backward()
        ours, table.grad = table.grad, None
        torch.manual_seed(3)
        whole = torch.cat([scores.at(part) for part in chunks.slices(9, 2)], dim=1)
    wanted = naive_cross_entropy(whole, targets)
    wanted.backward()
    assert_close(loss, wanted)
    assert_close(ours, table.grad)


class Twice(Decomposition):
    """A formula alone, which looks the same rows up twice."""

    name = "twice"

    @classmethod
    def tables(cls, o):
        return {"u": real_rows(Axis.ENTITY, o.rank), "w": real_rows(Axis.TIME, o.rank)}

    def score(self, s, p, o, t):
        return (self.u(s) * self.u(o) * self.w(t)).sum(-1) + (self.u(s) + self.u(o)).square().sum(-1)


@pytest.mark.parametrize("name", ["desimple", "transe", "twice"])
@pytest.mark.parametrize("columns", [1, 3, 100])
def test_blocks_made_after_a_step_are_those_made_in_it(name, columns):
    """A step shares look-ups, and its blocks are made again for their gradients when it is over."""
    model = (Twice if name == "twice" else MODELS[name])(Sizes(7, 2, 4)).double().eval()
    model.initialise(torch.Generator().manual_seed(0))
    calendar = np.array([[2000, 1, 1], [2000, 1, 2], [2001, 5, 3], [2002, 1, 9]])
    model.recall(Background(Facts(*np.zeros((5, 1), np.int64)), np.arange(4), calendar))
    s, p, o, t = (torch.randint(n, (6,), generator=torch.Generator().manual_seed(n)) for n in (7, 3, 6, 4))
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(30)

    def gradients(loss):
        model.zero_grad()
        loss().backward()
        return [torch.zeros_like(x) if x.grad is None else x.grad.clone() for x in model.parameters()]

    def ours():
        with model.step(s, p, o):
            return cross_entropy(model.objects(s, p, t), o) + cross_entropy(model.times(s, p, o), t)

    def naive():
        objects, times = model.objects(s, p, t).whole(), model.times(s, p, o).whole()
        return naive_cross_entropy(objects, o) + naive_cross_entropy(times, t)

    with Blocks(columns):
        assert_close(ours(), naive())
        assert_close(gradients(ours), gradients(naive))


def test_products_keep_their_kernel_whatever_is_added(monkeypatch):
    """All others are slower: a change that sends a product through blocks is not noticed by its numbers."""
    monkeypatch.setattr(losses, "_by_blocks", lambda *scores: pytest.fail("a product went through blocks"))
    for kind in ("product", "product with constant", "complex product", "sparse on product"):
        cross_entropy(Case(kind, 3, 5, 2, 0).made().scores, torch.tensor([0, 1, 4]))
