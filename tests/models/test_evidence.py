"""Evidence against its definition: a Python loop over all facts, for every scorer of every model."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.testing import assert_close

from knowwhen.facts.index.history import Lags
from knowwhen.facts.table import OPEN, Facts
from knowwhen.models import EVIDENCE, MODELS, EvidenceSettings, Sizes, kernels
from knowwhen.models import evidence as module
from knowwhen.models.algebra import as_complex

LAGS = Lags((1, 3))
SIZES = Sizes(entities=4, predicates=2, timestamps=5, undated_row=True)
POSITIONS = np.array([0, 1, 2, 5, 9])


def facts_of(rows):
    return Facts(*np.array(rows, np.int64).reshape(-1, 5).T.copy())


def model_with(rows, name="tntcomplex", seed=0, window=0, cap=0, terms=tuple(EVIDENCE)):
    generator = torch.Generator().manual_seed(seed)
    model = MODELS[name](SIZES, rank=2).double()
    for term in terms:
        model.add_evidence(term, EvidenceSettings(LAGS, 3, window, cap)).double()
    with torch.no_grad():
        for table in model.parameters():
            table.copy_(torch.randn(table.shape, generator=generator, dtype=torch.float64))
    return model.recall(facts_of(rows), POSITIONS)


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


def naive_others(term, rows):  # (E, 2P, E, T + 1)
    """Σ exp K[p, lag] over the dated facts (x, p, o) of others than s."""
    P, R = SIZES.predicates, 2 * SIZES.predicates
    W = torch.zeros(SIZES.entities, R, SIZES.entities, SIZES.timestamps + 1, dtype=torch.float64)
    for x, p, o, begin, end in [*rows, *((o, p + P, s, b, e) for s, p, o, b, e in rows)]:
        for s, t in np.ndindex(SIZES.entities, SIZES.timestamps + 1):
            lag = lag_of(begin, end, t)
            if x != s and lag != LAGS.undated_fact:
                cell = torch.zeros_like(W)
                cell[s, p, o, t] = 1
                W = W + cell * term.kernel.table[p, lag].exp()
    return W


def naive_weights(term, rows):  # (E, 2P, E, T + 1)
    """Σ exp⟨U[lag, p'], V[p]⟩ over the facts (s, p', o) that are not asked for."""
    P, R = SIZES.predicates, 2 * SIZES.predicates
    W = torch.zeros(SIZES.entities, R, SIZES.entities, SIZES.timestamps + 1, dtype=torch.float64)
    for s, p, o, begin, end in [*rows, *((o, p + P, s, b, e) for s, p, o, b, e in rows)]:
        for asked, t in np.ndindex(R, SIZES.timestamps + 1):
            lag = lag_of(begin, end, t)
            if lag in (0, LAGS.undated_fact) and (asked == p or (s == o and asked == (p + P) % R)):
                continue
            cell = torch.zeros_like(W)
            cell[s, asked, o, t] = 1
            W = W + cell * (term.kernel.lagged[lag * R + p] @ term.kernel.asked[asked]).exp()
    return W


def naive_evidence(model, rows):  # (E, 2P, E, T + 1)
    """The terms by their definitions: a log(1 + W / (e + c Σ_x W_x)), and ⟨m ⊙ Σ_x W_x u_x / (1 + Σ_x W_x), ū_o⟩."""
    found = torch.zeros((), dtype=torch.float64)
    for name, term in model.evidence.items():
        W = naive_others(term, rows) if name == "predicate_history" else naive_weights(term, rows)
        if name in ("pair_history", "predicate_history"):
            a, e, c = (x[:, None, None] for x in (term.strength, term.scale.exp(), term.share.exp()))
            found = found + a * torch.log1p(W / (e + c * W.sum(2, keepdim=True)))
            continue
        shares = W / (1 + W.sum(2, keepdim=True))
        u, m = model.candidates().detach(), term.turned
        if model.is_complex:
            u, m = as_complex(u), as_complex(m)
        shares = shares.to(u.dtype)
        found = found + torch.einsum("spxt,xr,pr,or->spot", shares, u, m, u.conj()).real
    return found


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
    H = naive_evidence(model, rows).detach()
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


@given(ROWS, st.sampled_from([0, 1, 2]), st.sampled_from([0, 1, 3]))
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


@pytest.mark.parametrize("table", [0, kernels.TABLE], ids=["one by one", "all at once"])
@pytest.mark.parametrize("name", ["unioncomplex", "cp"])
def test_gradients_are_those_of_the_definition(monkeypatch, table, name):
    monkeypatch.setattr(kernels, "TABLE", table)
    model = model_with(ROW, name)
    s, p, _, t = QUERIES
    evidence = model.score_objects(s, p, t) - (model.query(s, p, t) @ model.candidates().mT)
    evidence.square().sum().backward()
    ours = [table.grad for table in model.evidence.parameters()]
    naive = torch.autograd.grad(
        naive_evidence(model, ROW)[s, p, :, t].square().sum(), list(model.evidence.parameters())
    )
    for mine, theirs in zip(ours, naive, strict=True):
        assert_close(mine, theirs)


def test_parts_change_nothing(monkeypatch):
    """However few facts are looked at at once, scores are the same; a batch may also be empty."""
    model = model_with(ROW)
    s, p, o, t = (torch.cat([column, column]) for column in QUERIES)

    def scores():
        return [
            model.score_objects(s, p, t),
            model.score(s, p, o, t),
            model.score_predicates(s, o, t),
            model.score_timestamps(s, p, o),
        ]

    whole = scores()
    for entries, queries in ((1, 1), (5, 12)):
        monkeypatch.setattr(module, "ENTRIES", entries)
        monkeypatch.setattr(module, "QUERIES", queries)
        assert len(model.evidence["pair_history"]._parts(s, p, t)) > 1
        for mine, theirs in zip(scores(), whole, strict=True):
            assert_close(mine, theirs)
    none = torch.empty(0, dtype=torch.int64)
    assert model.score_objects(none, none, none).shape == (0, 4)
    assert model.score_timestamps(none, none, none).shape == (0, 5)


def test_cells_are_few_where_the_window_is_narrow():
    """A subject with many partners, of which one is near: no cell for each of the others."""
    sizes = Sizes(entities=3000, predicates=1, timestamps=3000)
    rows = [(0, 0, i, i, i) for i in range(1, 3000)]
    settings = EvidenceSettings(LAGS, 2, window=1)
    term = module.PairHistory(sizes, 4, is_complex=True, settings=settings)
    term.initialise(torch.Generator().manual_seed(0))
    term.recall(facts_of(rows), np.arange(3000))
    found = term.cells(*(torch.tensor([i]) for i in (0, 1, 50)))
    assert [column.tolist() for column in found[:2]] == [[0, 0, 0], [49, 50, 51]]


def test_a_fact_whose_only_support_is_itself_has_none():
    model = model_with([(0, 0, 1, 2, 2)])
    for s, p, o in ((0, 0, 1), (1, 2, 0)):  # from both sides
        query = [torch.tensor([i]) for i in (s, p, o, 2)]
        assert model.score(*query) == model.decomposition(*query)
    other = [torch.tensor([i]) for i in (0, 1, 1, 2)]
    assert model.score(*other) != model.decomposition(*other)  # another predicate on that day


@pytest.mark.parametrize("name", sorted(EVIDENCE))
@pytest.mark.parametrize("model_name", ["tntcomplex", "distmult"])
def test_reasons_add_up_to_the_score(name, model_name):
    model = model_with([*ROW, (0, 1, 1, 4, 4), (1, 1, 0, 3, 3), (2, 0, 1, 1, 1)], model_name, terms=[name])
    term, candidates = model.evidence[name], model.candidates()
    query = [torch.tensor([i]) for i in (0, 0, 1, 1)]
    reasons = term.reasons(0, 0, 1, 1, candidates)
    assert reasons and 0 not in [reason.fact for reason in reasons]  # 0 is asked for
    assert sum(reason.value for reason in reasons) == pytest.approx(term.score(*query, candidates).item())
    assert [abs(r.value) for r in reasons] == sorted((abs(r.value) for r in reasons), reverse=True)
    alone = model_with([(0, 0, 1, 1, 1)], model_name, terms=[name])
    assert alone.evidence[name].reasons(0, 0, 1, 1, alone.candidates()) == []


def test_evidence_begins_as_the_logarithm_of_a_count():
    model = MODELS["complex"](SIZES, 2).add_evidence("pair_history", EvidenceSettings(LAGS, 8))
    model.initialise(torch.Generator()).recall(facts_of([(0, 0, 1, i, i) for i in range(4)]), POSITIONS)
    query = [torch.tensor([i]) for i in (0, 1, 1, 3)]
    assert model.evidence["pair_history"].score(*query, model.candidates()).item() == pytest.approx(
        math.log(5), abs=0.2
    )


def test_without_evidence_nothing_is_added():
    model = MODELS["complex"](SIZES, 2).initialise(torch.Generator())
    assert model.cells(*QUERIES[:3]) is None
    assert model.whole_query(*QUERIES[:3]).equal(model.query(*QUERIES[:3]))
    model.recall(facts_of([]), POSITIONS)  # nothing to tell
