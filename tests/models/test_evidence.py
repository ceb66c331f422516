"""Evidence against its definition: a Python loop over all facts, for every scorer of every model."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.testing import assert_close

from knowwhen import chunks
from knowwhen.facts.index.history import Lags
from knowwhen.facts.table import OPEN, Facts
from knowwhen.models import EVIDENCE, MODELS, Background, Sizes, Specification, build
from knowwhen.models.algebra import as_complex
from knowwhen.models.evidence import base, kernels

LAGS = Lags((1, 3))
SIZES = Sizes(entities=4, predicates=2, timestamps=5, undated_row=True)
POSITIONS = np.array([0, 1, 2, 5, 9])


def facts_of(rows):
    return Facts(*np.array(rows, np.int64).reshape(-1, 5).T.copy())


def background(rows):
    return Background(facts_of(rows), POSITIONS, np.stack([POSITIONS, POSITIONS, POSITIONS], axis=1))


def term_options(name, **options):
    width = {"width": 3} if "width" in EVIDENCE[name].Options.model_fields else {}
    return {"lags": LAGS.edges, "window": 0, "cap": 0, **width, **options}


def model_with(rows, name="tntcomplex", seed=0, window=0, cap=0, terms=tuple(EVIDENCE)):
    generator = torch.Generator().manual_seed(seed)
    evidence = {term: term_options(term, window=window, cap=cap) for term in terms}
    model = build(Specification(name, SIZES, {"rank": 2}, evidence)).double().eval()
    with torch.no_grad():
        for table in model.parameters():
            table.copy_(torch.randn(table.shape, generator=generator, dtype=torch.float64))
    return model.recall(background(rows))


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
        u, m = model.decomposition.entity_rows().detach(), term.turned
        if model.decomposition.has_complex_rows:
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
    alone = model.decomposition
    assert_close(model.objects(s, p, t).whole(), alone.objects(s, p, t).whole() + H[s, p, :, t])
    s, p, o, t = (torch.from_numpy(ids.ravel()) for ids in np.indices(H.shape))
    assert_close(model.score(s, p, o, t), alone.score(s, p, o, t) + H[s, p, o, t])
    s, o, t = (torch.from_numpy(ids.ravel()) for ids in np.indices(H.shape[1:]))
    s, o, t = s % 4, o, t
    assert_close(model.predicates(s, o, t).whole(), alone.predicates(s, o, t).whole() + H[s, :, o, t])
    s, p, o = (torch.from_numpy(ids.ravel()) for ids in np.indices(H.shape[:3]))
    assert_close(model.times(s, p, o).whole(), alone.times(s, p, o).whole() + H[s, p, o, : SIZES.timestamps])


@given(ROWS, st.sampled_from([0, 1, 2]), st.sampled_from([0, 1, 3]))
def test_scorers_agree_within_windows_and_caps(rows, window, cap):
    model = model_with(rows, window=window, cap=cap)
    s, p, t = (torch.from_numpy(ids.ravel()) for ids in np.indices((4, 4, 5)))
    X = model.objects(s, p, t).whole()
    for o in range(4):
        assert_close(X[:, o], model.score(s, p, torch.full_like(s, o), t))
        assert_close(
            X[:, o].view(4, 4, 5).flatten(0, 1), model.times(s[::5], p[::5], torch.full_like(s[::5], o)).whole()
        )


ROW = [(0, 0, 1, 1, 1), (0, 1, 1, 2, 2), (0, 1, 2, 2, 2), (3, 1, 0, 0, 4), (1, 0, 2, OPEN, OPEN), (0, 0, 0, 2, 2)]
QUERIES = [torch.tensor(ids) for ids in ([0, 0, 1, 2], [0, 3, 1, 0], [1, 2, 2, 3], [1, 2, 3, 5])]


@pytest.mark.parametrize("table", [0, kernels.TABLE], ids=["one by one", "all at once"])
@pytest.mark.parametrize("name", ["unioncomplex", "cp"])
def test_gradients_are_those_of_the_definition(monkeypatch, table, name):
    monkeypatch.setattr(kernels, "TABLE", table)
    model = model_with(ROW, name)
    s, p, _, t = QUERIES
    evidence = model.objects(s, p, t).whole() - model.decomposition.objects(s, p, t).whole()
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
            model.objects(s, p, t).whole(),
            model.score(s, p, o, t),
            model.predicates(s, o, t).whole(),
            model.times(s, p, o).whole(),
        ]

    whole = scores()
    for entries, queries in ((1, 1), (5, 12)):
        monkeypatch.setattr(chunks, "ENTRIES", entries)
        monkeypatch.setattr(base, "CURVES", queries)
        assert len(model.evidence["pair_history"]._parts(s, p, t)) > 1
        for mine, theirs in zip(scores(), whole, strict=True):
            assert_close(mine, theirs)
    none = torch.empty(0, dtype=torch.int64)
    assert model.objects(none, none, none).whole().shape == (0, 4)
    assert model.times(none, none, none).whole().shape == (0, 5)


def test_cells_are_few_where_the_window_is_narrow():
    """A subject with many partners, of which one is near: no cell for each of the others."""
    sizes = Sizes(entities=3000, predicates=1, timestamps=3000)
    rows = [(0, 0, i, i, i) for i in range(1, 3000)]
    pair_history = EVIDENCE["pair_history"]
    term = pair_history(sizes, 4, is_complex=True, options=pair_history.Options(window=1))
    term.initialise(torch.Generator().manual_seed(0))
    term.recall(Background(facts_of(rows), np.arange(3000), np.zeros((3000, 3))))
    found = term.objects(*(torch.tensor([i]) for i in (0, 1, 50)), torch.empty(3000, 4))
    assert [column.tolist() for column in found[:2]] == [[0, 0, 0], [49, 50, 51]]


def test_a_fact_whose_only_support_is_itself_has_none():
    model = model_with([(0, 0, 1, 2, 2)])
    for s, p, o in ((0, 0, 1), (1, 2, 0)):  # from both sides
        query = [torch.tensor([i]) for i in (s, p, o, 2)]
        assert model.score(*query) == model.decomposition.score(*query)
    other = [torch.tensor([i]) for i in (0, 1, 1, 2)]
    assert model.score(*other) != model.decomposition.score(*other)  # another predicate on that day


@pytest.mark.parametrize("name", sorted(EVIDENCE))
@pytest.mark.parametrize("model_name", ["tntcomplex", "distmult"])
def test_reasons_add_up_to_the_score(name, model_name):
    model = model_with([*ROW, (0, 1, 1, 4, 4), (1, 1, 0, 3, 3), (2, 0, 1, 1, 1)], model_name, terms=[name])
    term, rows = model.evidence[name], model.decomposition.entity_rows()
    query = [torch.tensor([i]) for i in (0, 0, 1, 1)]
    reasons = term.reasons(0, 0, 1, 1, rows)
    assert reasons and 0 not in [reason.fact for reason in reasons]  # 0 is asked for
    assert sum(reason.value for reason in reasons) == pytest.approx(term.score(*query, rows).item())
    assert [abs(r.value) for r in reasons] == sorted((abs(r.value) for r in reasons), reverse=True)
    alone = model_with([(0, 0, 1, 1, 1)], model_name, terms=[name])
    assert alone.evidence[name].reasons(0, 0, 1, 1, rows) == []


def test_evidence_begins_as_the_logarithm_of_a_count():
    model = build(Specification("complex", SIZES, {"rank": 2}, {"pair_history": term_options("pair_history", width=8)}))
    model.initialise(torch.Generator()).recall(background([(0, 0, 1, i, i) for i in range(4)]))
    query = [torch.tensor([i]) for i in (0, 1, 1, 3)]
    assert model.evidence["pair_history"].score(*query, model.decomposition.entity_rows()).item() == pytest.approx(
        math.log(5), abs=0.2
    )


def test_without_evidence_nothing_is_added():
    model = build(Specification("complex", SIZES, {"rank": 2})).initialise(torch.Generator())
    dense, cells = model.objects(*QUERIES[:3]).split()
    assert cells is None
    assert dense.query.equal(model.decomposition.objects(*QUERIES[:3]).query)
    model.recall(background([]))  # nothing to draw on


def test_a_product_and_a_shift_of_its_query_stay_one_product():
    """The fast kernels take it as one; a distance and a shift are a sum of two."""
    kinds = {
        name: type(model_with(ROW, name, terms=("context",)).objects(*QUERIES[:2], QUERIES[3])).__name__
        for name in ("tntcomplex", "cp", "rgcn", "transe")
    }
    assert kinds == {"tntcomplex": "Product", "cp": "Product", "rgcn": "Total", "transe": "Total"}
