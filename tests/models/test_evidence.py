"""Evidence against its definition: a Python loop over all facts, for every scorer of every model."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.testing import assert_close

from knowwhen import chunks
from knowwhen.distributed.shard import Shard, splitting
from knowwhen.errors import BadRequest
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
    every = {"lags": LAGS.edges, "window": 0, "cap": 0, "width": 3, "near": 0, "hub": 0, **options}
    return {key: value for key, value in every.items() if key in EVIDENCE[name].Options.model_fields}


def model_with(rows, name="tntcomplex", seed=0, terms=tuple(EVIDENCE), spec=None, **options):
    generator = torch.Generator().manual_seed(seed)
    evidence = {term: term_options(term, **options) for term in terms}
    model = build(Specification(name, SIZES, {"rank": 2}, evidence, **(spec or {}))).double().eval()
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


def naive_weights(term, rows, without=None):  # (E, 2P, E, T + 1)
    """Σ exp⟨U[lag, p'], V[p]⟩ over the facts (s, p', o) that are not asked for; or, by row, over all but one."""
    P, R = SIZES.predicates, 2 * SIZES.predicates
    W = torch.zeros(SIZES.entities, R, SIZES.entities, SIZES.timestamps + 1, dtype=torch.float64)
    for s, p, o, begin, end in both_sides(rows, without if term.leave_out == "itself" else None):
        for asked, t in np.ndindex(R, SIZES.timestamps + 1):
            lag = lag_of(begin, end, t)
            may_be_asked = lag in (0, LAGS.undated_fact) and (asked == p or (s == o and asked == (p + P) % R))
            if term.leave_out == "holding" and may_be_asked:
                continue
            cell = torch.zeros_like(W)
            cell[s, asked, o, t] = 1
            W = W + cell * (term.kernel.lagged[lag * R + p] @ term.kernel.asked[asked]).exp()
    return W


def both_sides(rows, without=None):
    """Facts in both directions; without the one of a row."""
    rows = [row for i, row in enumerate(rows) if i != without]
    return [*rows, *((o, p + SIZES.predicates, s, b, e) for s, p, o, b, e in rows)]


def octave(count):
    return min(int(math.log2(max(count, 1))), 11)


def overlap_of(one, other):
    """The class of the time between two spans: 0 where they overlap, then up to 1, 3, 6, 12 or more, 6 without time."""
    if OPEN == one[3] == one[4] or OPEN == other[3] == other[4]:
        return 6
    begin = max(-math.inf if row[3] == OPEN else POSITIONS[row[3]] for row in (one, other))
    end = min(math.inf if row[4] == OPEN else POSITIONS[row[4]] for row in (one, other))
    return 0 if begin <= end else 1 + sum(begin - end > edge for edge in (1, 3, 6, 12))


def step_of(one, other):
    """The class of how much later the other begins; a fact without a begin is where it ends."""
    if OPEN == one[3] == one[4] or OPEN == other[3] == other[4]:
        return LAGS.undated_fact
    at = [POSITIONS[row[4] if row[3] == OPEN else row[3]] for row in (one, other)]
    distance = abs(at[1] - at[0])
    step = 0 if distance == 0 else 1 if distance <= 1 else 2 if distance <= 3 else 3
    return step if at[1] > at[0] or step == 0 else step + 3


def naive_paths(term, rows, without=None):  # (E, 2P, E, T + 1)
    """Σ w₁ w₂ over s –r– a –r– x –p– o, one path after the other."""
    P, R = SIZES.predicates, 2 * SIZES.predicates
    W = torch.zeros(SIZES.entities, R, SIZES.entities, SIZES.timestamps + 1, dtype=torch.float64)
    facts = both_sides(rows, without)
    first, last = (
        {name: table.table() for name, table in half.items()} for half in (term.kernel.first, term.kernel.last)
    )
    for one in facts:
        s, r, a = one[:3]
        for back in [fact for fact in facts if fact[:2] == (a, (r + P) % R) and a != s and fact[2] != s]:
            for end in [fact for fact in facts if fact[0] == back[2]]:
                (x, p, o), degree = end[:3], sum(fact[:2] == back[:2] for fact in facts)
                others = sum(fact[1] == p and fact[2] == o and fact[0] != s for fact in facts)
                done = sum(fact[:2] == (x, p) for fact in facts)
                for t in range(SIZES.timestamps + 1):
                    lags = [lag_of(*fact[3:], t) for fact in (one, back, end)]
                    log = first["link"][p, r] + first["lag"][p, lags[0]] + first["other_lag"][p, lags[1]]
                    log = log + first["overlap"][p, overlap_of(one, back)] + first["degree"][p, octave(degree)]
                    log = log + last["lag"][p, lags[2]] + last["facts"][p, octave(done)]
                    log = log + last["onward"][p, lags[0] * LAGS.count + step_of(back, end)]
                    log = log + last["back"][p, lags[2] * LAGS.count + step_of(back, one)]
                    cell = torch.zeros_like(W)
                    cell[s, p, o, t] = 1
                    W = W + cell * (log + last["popularity"][p, octave(others)]).exp()
    return W


def naive_profile(term, rows):  # (E, 2P, E, T + 1)
    """B[since, until, holding, static] + N[octave] of the facts (x, p, o), x ≠ s; 0 where there are none."""
    shape = (SIZES.entities, 2 * SIZES.predicates, SIZES.entities, SIZES.timestamps + 1)
    table, counts = term.kernel.profile_table(), term.kernel.counts.table()
    found = {}
    for s, p, o, t in np.ndindex(*shape):
        spans = [(b, e) for x, p_, o_, b, e in both_sides(rows) if (p_, o_) == (p, o) and x != s]
        if not spans:
            continue
        static = sum(b == e == OPEN for b, e in spans)
        lags = [lag_of(b, e, t) for b, e in spans if not b == e == OPEN]
        before = [lag - 3 for lag in lags if 3 < lag < LAGS.undated_fact]  # steps 1, 2, 3
        after, holding = [lag for lag in lags if 0 < lag <= 3], lags.count(0)
        if t == SIZES.timestamps:
            before, after, holding = [], [], static
        since, until = min(before, default=0), min(after, default=0)
        place = ((since * 4 + until) * 4 + min(holding, 3)) * 2 + (static > 0)
        found[s, p, o, t] = table[p, place] + counts[p, octave(len(spans))]
    values = torch.zeros(shape, dtype=torch.float64)
    if not found:
        return values
    return values.index_put([torch.tensor(ids) for ids in zip(*found, strict=True)], torch.stack([*found.values()]))


def naive_repeats(term, rows, without=None):  # (E, 2P, E, T + 1)
    """Σ B[p, c] over the different lag classes c of the facts (s, p, o) that are not asked for."""
    shape = (SIZES.entities, 2 * SIZES.predicates, SIZES.entities, SIZES.timestamps + 1)
    facts, table = both_sides(rows, without if term.leave_out == "itself" else None), term.kernel.table()
    found = torch.zeros(shape, dtype=torch.float64)
    for s, p, o, t in np.ndindex(*shape):
        classes = {lag_of(b, e, t) for s_, p_, o_, b, e in facts if (s_, p_, o_) == (s, p, o)}
        if term.leave_out == "holding":
            classes -= {0, LAGS.undated_fact}
        if classes:
            cell = torch.zeros(shape, dtype=torch.float64)
            cell[s, p, o, t] = 1
            found = found + cell * table[p, sorted(classes)].sum()
    return found


def naive_evidence(model, rows, without=None):  # (E, 2P, E, T + 1)
    """The terms by their definitions: a log(1 + W / (e + c Σ_x W_x)), and ⟨m ⊙ Σ_x W_x u_x / (1 + Σ_x W_x), ū_o⟩.

    Where decomposition and evidence are learned apart, what shifts queries counts w_p times.
    """
    found = torch.zeros((), dtype=torch.float64)
    weighed = {"predicate_history": lambda term, rows, _: naive_others(term, rows), "path_history": naive_paths}
    for name, term in model.evidence.items():
        if name == "object_profile":
            found = found + naive_profile(term, rows)
            continue
        if name == "repeat_history":
            found = found + naive_repeats(term, rows, without)
            continue
        W = weighed.get(name, naive_weights)(term, rows, without)
        if name != "context":
            a, e, c = (x[:, None, None] for x in (term.strength, term.scale.exp(), term.share.exp()))
            found = found + a * torch.log1p(W / (e + c * W.sum(2, keepdim=True)))
            continue
        shares = W / (1 + W.sum(2, keepdim=True))
        u, m = model.decomposition.entity_rows().detach(), term.turned
        if model.decomposition.has_complex_rows:
            u, m = as_complex(u), as_complex(m)
        shares, weights = shares.to(u.dtype), 1.0 if model.weights is None else model.weights[:, None, None]
        found = found + weights * torch.einsum("spxt,xr,pr,or->spot", shares, u, m, u.conj()).real
    return found


ENDS = st.one_of(st.just(OPEN), st.integers(0, 4))
ROWS = st.lists(
    st.tuples(st.integers(0, 3), st.integers(0, 1), st.integers(0, 3), ENDS, ENDS).filter(
        lambda row: OPEN in row[3:] or row[3] <= row[4]
    ),
    max_size=10,
)


SPECS = [{}, {"leave_out": "itself"}, {"leave_out": "itself", "apart": True}]


@settings(max_examples=40)
@given(ROWS, st.sampled_from(sorted(MODELS)), st.integers(0, 99), st.sampled_from(SPECS))
def test_every_scorer_is_the_decomposition_plus_evidence(rows, name, seed, spec):
    model = model_with(rows, name, seed, spec=spec)
    H = naive_evidence(model, rows).detach()
    w = torch.ones(4, dtype=torch.float64) if model.weights is None else model.weights
    grid = [torch.from_numpy(ids.ravel()) for ids in np.indices(H.shape[:2] + H.shape[3:])]  # every (s, p, t)
    s, p, t = grid
    alone = model.decomposition
    assert_close(model.objects(s, p, t).whole(), alone.objects(s, p, t).whole() * w[p, None] + H[s, p, :, t])
    s, p, o, t = (torch.from_numpy(ids.ravel()) for ids in np.indices(H.shape))
    assert_close(model.score(s, p, o, t), alone.score(s, p, o, t) * w[p] + H[s, p, o, t])
    s, o, t = (torch.from_numpy(ids.ravel()) for ids in np.indices(H.shape[1:]))
    s, o, t = s % 4, o, t
    assert_close(model.predicates(s, o, t).whole(), alone.predicates(s, o, t).whole() * w + H[s, :, o, t])
    s, p, o = (torch.from_numpy(ids.ravel()) for ids in np.indices(H.shape[:3]))
    expected = alone.times(s, p, o).whole() * w[p, None] + H[s, p, o, : SIZES.timestamps]
    assert_close(model.times(s, p, o).whole(), expected)


@settings(max_examples=25)
@given(ROWS.filter(len), st.integers(0, 99), st.booleans())
def test_an_asked_fact_is_left_out_as_if_it_were_not_there(rows, seed, apart):
    """By its row, from both sides, of every weight and every count; all other facts stay."""
    model = model_with(rows, seed=seed, spec={"leave_out": "itself", "apart": apart})
    asked, t = seed % len(rows), torch.arange(SIZES.timestamps + 1)
    subject, predicate, object = rows[asked][:3]
    for ids in ((subject, predicate), (object, predicate + SIZES.predicates)):
        s, p = (torch.full_like(t, i) for i in ids)
        alone = model.decomposition.objects(s, p, t).whole() * (model.weights[p, None] if apart else 1)
        with_itself_left_out = model.objects(s, p, t, asked=torch.full_like(t, asked)).whole() - alone
        assert_close(with_itself_left_out, naive_evidence(model, rows, asked)[s, p, :, t].detach())


@settings(max_examples=40)
@given(ROWS, st.sampled_from([0, 1, 2]), st.sampled_from([0, 1, 3]), st.sampled_from([0, 1, 2]))
def test_scorers_agree_within_windows_and_caps(rows, window, cap, near):
    model = model_with(rows, window=window, cap=cap, near=near, hub=near)
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
    model = model_with(
        [*ROW, *((0, p, 1, 4, 4) for p in (0, 1)), (1, 1, 0, 3, 3), (2, 0, 1, 1, 1)], model_name, terms=[name]
    )
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


@pytest.mark.parametrize(
    ("terms", "spec"),
    [(["object_profile"], {}), (["path_history"], {"apart": True}), (["pair_history"], {"leave_out": "itself"})],
)
def test_what_several_processes_cannot_share_is_refused(terms, spec):
    evidence = {term: term_options(term) for term in terms}
    with splitting(Shard(0, 2)), pytest.raises(BadRequest, match="cannot be split over processes; use one process"):
        build(Specification("tntcomplex", SIZES, {"rank": 2}, evidence, **spec))


def test_questions_of_one_predicate_and_time_share_profiles(monkeypatch):
    rows = [(0, 0, 1, 1, 2), (2, 0, 3, 0, 0), (3, 1, 0, OPEN, OPEN), (1, 1, 2, 3, OPEN), (1, 0, 3, 2, 4)]
    model = model_with(rows, terms=("object_profile",))
    s, p, t = (torch.tensor(ids) for ids in ([0, 1, 2, 3, 0], [1, 0, 1, 0, 3], [2, 5, 2, 0, 4]))
    with torch.no_grad():
        found = []
        for limit in (chunks.SCORE_BYTES, 1):  # shared, and one by one
            monkeypatch.setattr(chunks, "SCORE_BYTES", limit)
            profiles = model.terms[0].objects(s, p, t, None).dense
            assert (profiles._shared is None) == (limit == 1)
            out = torch.ones(5, 3, dtype=torch.float64)
            profiles.add_to(slice(1, 4), out)
            every = [ids.flatten() for ids in torch.meshgrid(torch.arange(5), torch.arange(4), indexing="ij")]
            found.append((profiles.whole(), profiles.at(torch.tensor([3, 0])), profiles.cells(*every), out))
    for shared, single in zip(*found, strict=True):
        assert_close(shared, single)
    assert len(found[0][0].unique()) > 3
    assert model.terms[0].objects(s, p, t, None).dense._shared is None  # a gradient is wanted


@pytest.mark.parametrize("facts", [50, 500])
def test_a_question_costs_no_more_than_the_bounds_however_busy_its_entities(facts):
    """A hub with its neighbours, who all are alike: without bounds there would be facts² paths."""
    near, hub, cap = 4, 5, 3
    star = [(0, i % 2, 1 + i % 3, i % 5, i % 5) for i in range(facts)]
    model = model_with(star, terms=("repeat_history", "path_history"), near=near, hub=hub, cap=cap)
    repeat, path = model.terms
    for s, p, t in np.ndindex(4, 4, 5):
        query, ids = ([made([i]) for i in (s, p, t)] for made in (torch.tensor, np.array))
        assert len(path._paths(*query, None).row) <= near * hub * cap
        assert len(repeat._repeats(*ids, np.array([-1])).place) <= cap
