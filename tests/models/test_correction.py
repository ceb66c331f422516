"""The correction against its definition: a network on parts of scores and counts, where a term scores the object."""

import numpy as np
import pytest
import torch
from torch.testing import assert_close

from knowwhen import chunks
from knowwhen.facts.index.counts import Counts
from knowwhen.facts.table import OPEN, Facts
from knowwhen.models import (
    EVIDENCE,
    Background,
    Sizes,
    Specification,
    TemporalModel,
    algebra,
    build,
    composition,
)
from knowwhen.models.correction import WIDTH

SIZES = Sizes(entities=4, predicates=2, timestamps=5, undated_row=True)
POSITIONS = np.array([0, 1, 2, 5, 9])
ROWS = [(0, 0, 1, 1, 1), (0, 1, 1, 3, 3), (1, 0, 2, 0, 2), (2, 1, 3, OPEN, OPEN), (3, 0, 0, 1, OPEN), (0, 1, 2, 1, 1)]


def facts_of(rows):
    return Facts(*np.array(rows, np.int64).reshape(-1, 5).T.copy())


def background(rows=ROWS):
    return Background(facts_of(rows), POSITIONS, np.stack([POSITIONS] * 3, axis=1))


def corrected(name="tntcomplex", rows=ROWS, terms=tuple(EVIDENCE)):
    every = {"lags": (1, 3), "window": 0, "cap": 0}
    evidence = {term: {k: v for k, v in every.items() if k in EVIDENCE[term].Options.model_fields} for term in terms}
    model = build(Specification(name, SIZES, {"rank": 2}, evidence, corrected=True)).double().eval()
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for table in model.parameters():
            table.copy_(torch.randn(table.shape, generator=generator, dtype=torch.float64))
        model.correction.deviation.abs_().add_(0.5)
    return model.recall(background(rows))


def without(model):
    return TemporalModel(model.decomposition, dict(model.evidence.items()))


def naive(model, rows, s, p, o, t):
    """X[s, p, o, t] of single ids, by the definition."""
    query = [torch.tensor([i]) for i in (s, p, o, t)]
    terms, rows_of = model.terms, model.decomposition.entity_rows()
    parts = [model.decomposition.score(*query), *(term.score(*query, rows_of) for term in terms)]
    total = sum(parts)
    if all(part == 0 for part, term in zip(parts[1:], terms, strict=True) if term.is_sparse):
        return total
    counts = Counts(facts_of(rows), 2, POSITIONS).of(*(np.array([i]) for i in (s, p, o, t)))[0]
    x = torch.cat([*parts, torch.tensor(np.log1p(counts))])
    w = model.correction
    x = ((x - w.mean) / w.deviation).clamp(-4, 4)
    return total + w.out.weight[0] @ (w.hidden.weight @ x + w.hidden.bias).clamp(min=0)


@pytest.mark.parametrize("name", ["complex", "tntcomplex", "cp", "desimple", "rgcn"])
def test_every_scorer_is_corrected_alike(name):
    model = corrected(name)
    with torch.no_grad():
        X = torch.tensor([[naive(model, ROWS, s, p, o, t) for o in range(4)] for s, p, t in np.ndindex(4, 4, 6)])
        s, p, t = (torch.from_numpy(ids.ravel()) for ids in np.indices((4, 4, 6)))
        assert_close(model.objects(s, p, t).whole(), X)
        X = X.view(4, 4, 6, 4)
        s, p, t, o = (torch.from_numpy(ids.ravel()) for ids in np.indices(X.shape))
        assert_close(model.score(s, p, o, t), X.flatten())
        s, p, o = (torch.from_numpy(ids.ravel()) for ids in np.indices((4, 4, 4)))
        assert_close(model.times(s, p, o).whole(), X[s, p, :, o][:, :5])
        s, o, t = (torch.from_numpy(ids.ravel()) for ids in np.indices((4, 4, 6)))
        assert_close(model.predicates(s, o, t).whole(), X[s, :, t, o])


def test_few_cells_are_made_without_the_whole_product(monkeypatch):
    model = corrected()
    s, p, t = (torch.tensor(ids) for ids in ([0, 1], [1, 0], [1, 3]))
    with torch.no_grad():
        whole = model.objects(s, p, t).whole()
        monkeypatch.setattr(algebra, "PRODUCT_PAYS", 0)
        monkeypatch.setattr(algebra, "DOTS", 2)
        monkeypatch.setattr(composition, "CORRECTED", 1)
        assert_close(model.objects(s, p, t).whole(), whole)


def test_it_begins_with_no_correction():
    model, query = corrected(), [torch.tensor([i]) for i in (0, 0, 1, 2)]
    before, plain = model.score(*query).item(), without(model).score(*query).item()
    model.correction.initialise(torch.Generator().manual_seed(0))
    assert model.score(*query).item() == plain != before


def test_answers_that_no_term_scores_are_left_alone():
    model = corrected(rows=[(0, 0, 1, 1, 1)], terms=("pair_history", "context"))
    s, p, t = (torch.tensor([i]) for i in (0, 1, 1))
    with torch.no_grad():
        with_it, plain = (one.objects(s, p, t).whole()[0] for one in (model, without(model)))
    assert torch.isclose(with_it, plain).tolist() == [True, False, True, True]


def test_query_and_context_are_made_once():
    """What a correction looks at comes from the same values as the scores."""
    model, made = corrected(), []
    own, context = model.decomposition.objects, model.evidence["context"]._shift
    model.decomposition.objects = lambda *ids: made.append("query") or own(*ids)
    model.evidence["context"]._shift = lambda *ids: made.append("context") or context(*ids)
    with torch.no_grad():
        model.objects(*(torch.tensor([i]) for i in (0, 0, 2)))
    assert sorted(made) == ["context", "query"]


def test_inputs_far_from_all_that_was_seen_say_no_more():
    correction = corrected().correction
    far = correction.mean + 1e6 * correction.deviation
    farther = correction.mean + 1e7 * correction.deviation
    assert correction(far[None]).item() == correction(farther[None]).item()


def test_standardised_inputs_have_mean_0_and_deviation_1():
    correction = corrected().correction
    x = torch.randn(500, len(correction.mean), dtype=torch.float64) * 3 + 2
    x[:, 0] = 7  # one that is always the same
    correction.standardise(x)
    z = (x - correction.mean) / correction.deviation
    assert_close(z.mean(0), torch.zeros_like(z[0]), atol=1e-6, rtol=0)
    assert_close(z[:, 1:].std(0), torch.ones_like(z[0, 1:]))


def test_without_a_gradient_the_network_runs_in_pieces(monkeypatch):
    correction = corrected().correction
    x = torch.randn(7, len(correction.mean), dtype=torch.float64)
    whole = correction(x)
    monkeypatch.setattr(chunks, "CACHE_BYTES", 8 * WIDTH * 3)
    with torch.no_grad():
        assert_close(correction(x), whole)
        assert correction(x[:0]).shape == (0,)
    assert whole.requires_grad
