"""Weighing against its definition: a network on parts of scores and counts, wherever a term speaks of the object."""

import numpy as np
import pytest
import torch
from torch.testing import assert_close

from knowwhen.facts.index.counts import Counts
from knowwhen.facts.index.history import Lags
from knowwhen.facts.table import OPEN, Facts
from knowwhen.models import EVIDENCE, MODELS, EvidenceSettings, Sizes, algebra, base

SIZES = Sizes(entities=4, predicates=2, timestamps=5, undated_row=True)
POSITIONS = np.array([0, 1, 2, 5, 9])
ROWS = [(0, 0, 1, 1, 1), (0, 1, 1, 3, 3), (1, 0, 2, 0, 2), (2, 1, 3, OPEN, OPEN), (3, 0, 0, 1, OPEN), (0, 1, 2, 1, 1)]


def facts_of(rows):
    return Facts(*np.array(rows, np.int64).reshape(-1, 5).T.copy())


def weighed(name="tntcomplex", rows=ROWS, terms=tuple(EVIDENCE)):
    model = MODELS[name](SIZES, rank=2)
    for term in terms:
        model.add_evidence(term, EvidenceSettings(Lags((1, 3)), width=3))
    model.add_weighing()
    model.double()
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for table in model.parameters():
            table.copy_(torch.randn(table.shape, generator=generator, dtype=torch.float64))
        model.weighing.deviation.abs_().add_(0.5)
    return model.recall(facts_of(rows), POSITIONS)


def naive(model, rows, s, p, o, t):
    """X[s, p, o, t] of single ids, by the definition."""
    query = [torch.tensor([i]) for i in (s, p, o, t)]
    terms = model.evidence_terms()
    parts = [model.decomposition(*query), *(term.score(*query, model.candidates()) for term in terms)]
    total = sum(parts)
    if all(part == 0 for part, term in zip(parts[1:], terms, strict=True) if term.name != "context"):
        return total
    counts = Counts(facts_of(rows), 2, POSITIONS).of(*(np.array([i]) for i in (s, p, o, t)))[0]
    x = torch.cat([*parts, torch.tensor(np.log1p(counts))])
    w = model.weighing
    x = ((x - w.mean) / w.deviation).clamp(-4, 4)
    return total + w.out.weight[0] @ (w.hidden.weight @ x + w.hidden.bias).clamp(min=0)


@pytest.mark.parametrize("name", sorted(MODELS))
def test_every_scorer_is_corrected_alike(name):
    model = weighed(name)
    with torch.no_grad():
        X = torch.tensor([[naive(model, ROWS, s, p, o, t) for o in range(4)] for s, p, t in np.ndindex(4, 4, 6)])
        s, p, t = (torch.from_numpy(ids.ravel()) for ids in np.indices((4, 4, 6)))
        assert_close(model.score_objects(s, p, t), X)
        X = X.view(4, 4, 6, 4)
        s, p, t, o = (torch.from_numpy(ids.ravel()) for ids in np.indices(X.shape))
        assert_close(model.score(s, p, o, t), X.flatten())
        s, p, o = (torch.from_numpy(ids.ravel()) for ids in np.indices((4, 4, 4)))
        assert_close(model.score_timestamps(s, p, o), X[s, p, :, o][:, :5])
        s, o, t = (torch.from_numpy(ids.ravel()) for ids in np.indices((4, 4, 6)))
        assert_close(model.score_predicates(s, o, t), X[s, :, t, o])


def test_few_cells_are_made_without_the_whole_product(monkeypatch):
    model = weighed()
    s, p, t = (torch.tensor(ids) for ids in ([0, 1], [1, 0], [1, 3]))
    with torch.no_grad():
        whole = model.score_objects(s, p, t)
        monkeypatch.setattr(algebra, "PRODUCT_PAYS", 0)
        monkeypatch.setattr(algebra, "DOTS", 2)
        monkeypatch.setattr(base, "CORRECTED", 1)
        assert_close(model.score_objects(s, p, t), whole)


def test_it_begins_with_no_correction():
    model = weighed()
    before = model.score(*(torch.tensor([i]) for i in (0, 0, 1, 2))).item()
    model.weighing = None
    without = model.score(*(torch.tensor([i]) for i in (0, 0, 1, 2))).item()
    model.add_weighing().double().recall(facts_of(ROWS), POSITIONS)
    model.weighing.initialise(torch.Generator().manual_seed(0))
    fresh = model.score(*(torch.tensor([i]) for i in (0, 0, 1, 2))).item()
    assert fresh == without != before


def test_answers_that_no_term_speaks_of_are_left_alone():
    model = weighed(rows=[(0, 0, 1, 1, 1)], terms=("pair_history", "context"))
    s, p, t = (torch.tensor([i]) for i in (0, 1, 1))
    with torch.no_grad():
        corrected = model.score_objects(s, p, t)[0]
        model.weighing = None
        plain = model.score_objects(s, p, t)[0]
    assert (corrected != plain).tolist() == [False, True, False, False]


def test_inputs_far_from_all_that_was_seen_say_no_more():
    weighing = weighed().weighing
    far = weighing.mean + 1e6 * weighing.deviation
    farther = weighing.mean + 1e7 * weighing.deviation
    assert weighing(far[None]).item() == weighing(farther[None]).item()


def test_standardised_inputs_have_mean_0_and_deviation_1():
    weighing = weighed().weighing
    x = torch.randn(500, len(weighing.mean), dtype=torch.float64) * 3 + 2
    x[:, 0] = 7  # one that is always the same
    weighing.standardise(x)
    z = (x - weighing.mean) / weighing.deviation
    assert_close(z.mean(0), torch.zeros_like(z[0]), atol=1e-6, rtol=0)
    assert_close(z[:, 1:].std(0), torch.ones_like(z[0, 1:]))
