"""Evidence against its definition: a Python loop over all facts, for every scorer of every model."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.testing import assert_close

from knowwhen.facts.history import History, Lags
from knowwhen.facts.table import OPEN, Facts
from knowwhen.models import MODELS, EvidenceSettings, Sizes
from knowwhen.models import evidence as module

LAGS = Lags((1, 3))
SIZES = Sizes(entities=4, predicates=2, timestamps=5, undated_row=True)
POSITIONS = np.array([0, 1, 2, 5, 9])


def facts_of(rows):
    return Facts(*np.array(rows, np.int64).reshape(-1, 5).T.copy())


def model_with(rows, name="tntcomplex", seed=0, window=None, cap=None):
    generator = torch.Generator().manual_seed(seed)
    model = MODELS[name](SIZES, rank=2).double()
    model.add_evidence(EvidenceSettings(LAGS, width=3)).double()
    with torch.no_grad():
        for table in model.parameters():
            table.copy_(torch.randn(table.shape, generator=generator, dtype=torch.float64))
    model.recall(History(facts_of(rows), 4, 2, POSITIONS, lags=LAGS, window=window, cap=cap))
    return model


def lag_of(begin, end, t):
    """The class of one fact's distance, by the definition."""
    if begin == end == OPEN:
        return LAGS.undated_fact
    if t == SIZES.timestamps:
        return LAGS.undated_question
    begin = -math.inf if begin == OPEN else POSITIONS[begin]
    end = math.inf if end == OPEN else POSITIONS[end]
    distance = max(begin - POSITIONS[t], 0, POSITIONS[t] - end)
    step = 0 if distance == 0 else 1 if distance <= 1 else 2 if distance <= 3 else 3
    return step if begin > POSITIONS[t] or step == 0 else step + 3


def naive_evidence(term, rows):  # (E, 2P, E, T + 1)
    """H[s, p, o, t] = a_p log(1 + Σ exp⟨U[lag, p'], V[p]⟩ / e_p) over the facts that are not asked for."""
    P, R = SIZES.predicates, 2 * SIZES.predicates
    H = torch.zeros(SIZES.entities, R, SIZES.entities, SIZES.timestamps + 1, dtype=torch.float64)
    both = [*rows, *((o, p + P, s, b, e) for s, p, o, b, e in rows)]
    for s, p, o, t in np.ndindex(*H.shape):
        total = torch.zeros((), dtype=torch.float64)
        for s2, p2, o2, begin, end in both:
            if (s2, o2) != (s, o):
                continue
            lag = lag_of(begin, end, t)
            if lag in (0, LAGS.undated_fact) and (p2 == p or (s == o and p2 == (p + P) % R)):
                continue
            total = total + (term.lagged[lag * R + p2] @ term.asked[p]).exp()
        H[s, p, o, t] = term.strength[p] * torch.log1p(total / term.scale[p].exp())
    return H


ENDS = st.one_of(st.just(OPEN), st.integers(0, 4))
ROWS = st.lists(
    st.tuples(st.integers(0, 3), st.integers(0, 1), st.integers(0, 3), ENDS, ENDS).filter(
        lambda row: OPEN in row[3:] or row[3] <= row[4]
    ),
    max_size=10,
)


@given(ROWS, st.sampled_from(sorted(MODELS)), st.integers(0, 99))
def test_every_scorer_is_the_decomposition_plus_evidence(rows, name, seed):
    model = model_with(rows, name, seed)
    H = naive_evidence(model.evidence["pair_history"], rows).detach()
    grid = [torch.from_numpy(ids.ravel()) for ids in np.indices(H.shape[:2] + H.shape[3:])]  # every (s, p, t)
    s, p, t = grid
    dense = model.query(s, p, t) @ model.candidates().mT
    assert_close(model.score_objects(s, p, t), dense + H[s, p, :, t])
    s, p, o, t = (torch.from_numpy(ids.ravel()) for ids in np.indices(H.shape))
    assert_close(model.score(s, p, o, t), model.decomposition(s, p, o, t) + H[s, p, o, t])
    s, o, t = (torch.from_numpy(ids.ravel()) for ids in np.indices(H.shape[1:]))
    s, o, t = s % 4, o, t
    assert_close(model.score_predicates(s, o, t), model.predicate_scores(s, o, t) + H[s, :, o, t])
    s, p, o = (torch.from_numpy(ids.ravel()) for ids in np.indices(H.shape[:3]))
    varying, constant = model.time_query(s, p, o)
    dense = varying @ model.time_axis().mT + constant[:, None]
    assert_close(model.score_timestamps(s, p, o), dense + H[s, p, o, : SIZES.timestamps])


@given(ROWS, st.sampled_from([None, 0, 2]), st.sampled_from([None, 1, 3]))
def test_scorers_agree_within_windows_and_caps(rows, window, cap):
    model = model_with(rows, window=window, cap=cap)
    s, p, t = (torch.from_numpy(ids.ravel()) for ids in np.indices((4, 4, 5)))
    X = model.score_objects(s, p, t)
    for o in range(4):
        assert_close(X[:, o], model.score(s, p, torch.full_like(s, o), t))
        assert_close(
            X[:, o].view(4, 4, 5).flatten(0, 1), model.score_timestamps(s[::5], p[::5], torch.full_like(s[::5], o))
        )


ROW = [(0, 0, 1, 1, 1), (0, 1, 1, 2, 2), (0, 1, 2, 2, 2), (3, 1, 0, 0, 4), (1, 0, 2, OPEN, OPEN), (0, 0, 0, 2, 2)]
QUERIES = [torch.tensor(ids) for ids in ([0, 0, 1, 2], [0, 3, 1, 0], [1, 2, 2, 3], [1, 2, 3, 5])]


@pytest.mark.parametrize("table", [0, module.TABLE], ids=["one by one", "all at once"])
def test_gradients_are_those_of_the_definition(monkeypatch, table):
    monkeypatch.setattr(module, "TABLE", table)
    model = model_with(ROW)
    term = model.evidence["pair_history"]
    s, p, _, t = QUERIES
    rows, objects, values = term.objects(s, p, t)
    dense = torch.zeros(4, 4, dtype=torch.float64).index_put((rows, objects), values, accumulate=True)
    ours = torch.autograd.grad(dense.square().sum(), list(term.parameters()))
    naive = torch.autograd.grad(naive_evidence(term, ROW)[s, p, :, t].square().sum(), list(term.parameters()))
    for mine, theirs in zip(ours, naive, strict=True):
        assert_close(mine, theirs)


def test_cells_are_few_where_the_window_is_narrow():
    """A subject with many partners, of which one is near: no cell for each of the others."""
    sizes = Sizes(entities=3000, predicates=1, timestamps=3000)
    rows = [(0, 0, i, i, i) for i in range(1, 3000)]
    term = module.PairHistory(sizes, EvidenceSettings(LAGS, 2))
    term.initialise(torch.Generator().manual_seed(0))
    term.recall(History(facts_of(rows), 3000, 1, np.arange(3000), lags=LAGS, window=1))
    found = term.objects(*(torch.tensor([i]) for i in (0, 1, 50)))
    assert [column.tolist() for column in found[:2]] == [[0, 0, 0], [49, 50, 51]]


def test_a_fact_whose_only_support_is_itself_has_none():
    model = model_with([(0, 0, 1, 2, 2)])
    for s, p, o in ((0, 0, 1), (1, 2, 0)):  # from both sides
        query = [torch.tensor([i]) for i in (s, p, o, 2)]
        assert model.evidence["pair_history"].score(*query) == 0
    other = [torch.tensor([i]) for i in (0, 1, 1, 2)]
    assert model.evidence["pair_history"].score(*other) != 0  # another predicate on that day


def test_reasons_add_up_to_the_score():
    model = model_with([*ROW, (0, 1, 1, 4, 4), (1, 1, 0, 3, 3)])
    term = model.evidence["pair_history"]
    query = [torch.tensor([i]) for i in (0, 0, 1, 1)]
    reasons = term.reasons(0, 0, 1, 1)
    assert [reason.fact for reason in reasons] != [] and 0 not in [reason.fact for reason in reasons]  # 0 is asked for
    assert sum(reason.value for reason in reasons) == pytest.approx(term.score(*query).item())
    assert [abs(r.value) for r in reasons] == sorted((abs(r.value) for r in reasons), reverse=True)
    assert term.reasons(2, 0, 3, 0) == []


def test_evidence_begins_as_the_logarithm_of_a_count():
    model = MODELS["complex"](SIZES, 2).add_evidence(EvidenceSettings(LAGS, 8)).initialise(torch.Generator())
    model.recall(History(facts_of([(0, 0, 1, i, i) for i in range(4)]), 4, 2, POSITIONS, lags=LAGS))
    query = [torch.tensor([i]) for i in (0, 1, 1, 3)]
    assert model.evidence["pair_history"].score(*query).item() == pytest.approx(math.log(5), abs=0.2)


def test_without_evidence_nothing_is_added():
    model = MODELS["complex"](SIZES, 2).initialise(torch.Generator())
    assert model.cells(*QUERIES[:3]) is None
    model.recall(History(facts_of([]), 4, 2, POSITIONS, lags=LAGS))  # nothing to tell
