"""Ranks are those of a sort in Python, whatever the filter, the ties, the times, the sides and the pieces."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from knowwhen.errors import BadRequest, NonFiniteScores
from knowwhen.evaluation import Protocol, ask, rank_objects, ranking
from knowwhen.evaluation.questions import count_questions
from knowwhen.facts.index.known import KnownFacts
from knowwhen.facts.table import OPEN, Facts
from knowwhen.models import MODELS, Sizes, Specification, build


@dataclass(frozen=True)
class Case:
    model: object
    facts: Facts
    others: Facts  # known as well
    protocol: Protocol

    @property
    def known(self) -> KnownFacts:
        return KnownFacts(Facts.concatenate(self.facts, self.others), self.model.sizes.predicates)

    def ranks(self, facts: Facts | None = None, **changes):
        protocol = replace(self.protocol, **changes)
        facts = self.facts if facts is None else facts
        return rank_objects(self.model, ask(facts, self.model.sizes, protocol), self.known, protocol)


@pytest.fixture(scope="session")
def cases(tools):
    @st.composite
    def draw_case(draw):
        sizes = Sizes(draw(st.integers(1, 6)), draw(st.integers(1, 3)), draw(st.integers(1, 5)), draw(st.booleans()))
        protocol = Protocol(
            filter=draw(st.sampled_from(["time", "static", "raw"])),
            ties=draw(st.sampled_from(["half", "pessimistic", "optimistic"])),
            directions=draw(st.sampled_from(["both", "objects"])),
            times=draw(st.sampled_from(["sample", "all", 3])),
            seed=draw(st.integers(0, 9)),
        )
        model = draw_model(draw(st.sampled_from(["tensor", *sorted(MODELS)])), sizes, draw(st.integers(0, 99)))
        return Case(model, draw(tools.facts_of(sizes, 1)), draw(tools.facts_of(sizes)), protocol)

    def draw_model(name, sizes, seed):
        """Tables of small whole numbers: scores are exact, and ties are many."""
        generator = torch.Generator().manual_seed(seed)
        if name == "tensor":
            shape = (sizes.entities, 2 * sizes.predicates, sizes.entities, sizes.timestamps + sizes.undated_row)
            return tools.TensorModel(torch.randint(-1, 2, shape, generator=generator).float(), sizes.undated_row)
        model = build(Specification(name, sizes, {"rank": 2})).eval()
        with torch.no_grad():
            for values in model.parameters():
                values.copy_(torch.randint(-1, 2, values.shape, generator=generator))
        return model

    return draw_case()


def true_at(facts: Facts, P: int, s: int, p: int, t: int | None, T: int) -> set[int]:
    """The definition of a filter: every fact that holds at t (at T, which is after all times, those with no end)."""
    found = set()
    for fact in (facts, facts.reciprocal(P)):
        for subject, predicate, object, begin, end in fact.rows().tolist():
            holds = t is None or ((begin == OPEN or begin <= t) and (end == OPEN or t <= end))
            if (subject, predicate) == (s, p) and holds:
                found.add(object)
    return found


def naive_rank(case: Case, s: int, p: int, o: int, t: int) -> float:
    """The place of the answer when the answer and its rivals are sorted by score."""
    sizes, protocol = case.model.sizes, case.protocol
    scores = case.model.objects(*(torch.tensor([x]) for x in (s, p, t))).whole()[0].tolist()
    known = Facts.concatenate(case.facts, case.others)
    out = set()
    if protocol.filter != "raw":
        out = true_at(known, sizes.predicates, s, p, t if protocol.filter == "time" else None, sizes.timestamps)
    rivals = [e for e in range(sizes.entities) if e == o or e not in out]
    places = [i for i, score in enumerate(sorted((scores[e] for e in rivals), reverse=True), 1) if score == scores[o]]
    return {"pessimistic": places[-1], "optimistic": places[0], "half": sum(places) / len(places)}[protocol.ties]


def test_ranks_are_those_of_a_sort(cases):
    @given(cases)
    def run(case):
        ranks = case.ranks()
        q = ranks.questions
        naive = [naive_rank(case, *ids) for ids in zip(*(c.tolist() for c in (q.s, q.p, q.o, q.t)), strict=True)]
        assert_array_equal(ranks.rank(), naive)

    run()


def test_queries_are_counted_before_they_are_asked(cases):
    @given(cases)
    def run(case):
        asked = ask(case.facts, case.model.sizes, case.protocol)
        assert count_questions(case.facts, case.model.sizes, case.protocol) == len(asked)

    run()


def test_tiles_of_entities_and_batches_change_nothing(cases, monkeypatch):
    @given(cases, st.integers(1, 3), st.integers(1, 60))
    def run(case, batch, tile_bytes):
        whole = case.ranks()
        with monkeypatch.context() as patch:
            patch.setattr(ranking, "BATCH", batch)
            patch.setattr(ranking, "TILE_BYTES", tile_bytes)
            pieces = case.ranks()
        assert_array_equal(whole.better, pieces.better)
        assert_array_equal(whole.equal, pieces.equal)

    run()


def test_twice_is_once_and_changes_nothing(cases):
    @given(cases)
    def run(case):
        known, queries = case.known, ask(case.facts, case.model.sizes, case.protocol)
        first, again = (rank_objects(case.model, queries, known, case.protocol) for _ in range(2))
        assert_array_equal(first.better, again.better)
        assert_array_equal(first.equal, again.equal)
        assert_array_equal(first.questions.t, case.ranks().questions.t)

    run()


def test_a_fact_ranks_the_same_alone(cases):
    @given(cases)
    def run(case):
        together = case.ranks(times="all")
        for row in range(len(case.facts)):
            alone = case.ranks(case.facts[row : row + 1], times="all")
            assert_array_equal(together.rank()[together.questions.fact == row], alone.rank())

    run()


def test_a_fact_is_asked_inside_its_span_and_weighs_one(cases):
    @given(cases)
    def run(case):
        queries, sizes = case.ranks().questions, case.model.sizes
        for row, (_, _, _, begin, end) in enumerate(case.facts.rows().tolist()):
            static = begin == end == OPEN
            first, last = max(begin, 0), end if end != OPEN else sizes.timestamps - 1
            inside = {sizes.timestamps} if static and sizes.undated_row else set(range(first, last + 1))
            for side in {False, case.protocol.directions == "both"}:
                mine = (queries.fact == row) & (queries.asks_subject == side)
                asked = queries.t[mine].tolist()
                assert set(asked) == inside if case.protocol.times == "all" else set(asked) <= inside
                assert queries.weight[mine].sum() == pytest.approx(1)
                assert len(asked) == {"all": len(inside), "sample": 1, 3: 3}[case.protocol.times]

    run()


@pytest.fixture
def by_hand(tools):
    """Three facts among four entities: one event at 0, one interval 0 … 1, one static fact.

    Scores of the objects 0 … 3 of (0, 0, ?):  at 0: 5 5 3 9    at 1: 1 2 2 2
    """
    X = torch.zeros(4, 2, 4, 2)
    X[0, 0, :, 0] = torch.tensor([5.0, 5, 3, 9])
    X[0, 0, :, 1] = torch.tensor([1.0, 2, 2, 2])
    facts = tools.table((0, 0, 2, 0, 0), (0, 0, 1, 0, 1), (0, 0, 3, OPEN, OPEN))
    return tools.TensorModel(X), facts, KnownFacts(facts, 1)


@pytest.mark.parametrize(
    ("filter", "expected"),
    [
        # At 0 all three facts hold: object 2 has the rival 0; object 1 ties with 0; object 3 beats 0.
        # At 1 the interval and the static fact hold: 1 has rivals 0 and 2 (tied), 3 has rivals 0 and 2 (tied).
        ("time", [[2], [1.5, 1.5], [1, 1.5]]),
        ("static", [[2], [1.5, 1], [1, 1]]),
        ("raw", [[4], [2.5, 2], [1, 2]]),
    ],
)
def test_three_facts_computed_by_hand(by_hand, filter, expected):
    model, facts, known = by_hand
    protocol = Protocol(filter=filter, directions="objects", times="all")
    ranks = rank_objects(model, ask(facts, model.sizes, protocol), known, protocol)
    assert [ranks.rank()[ranks.questions.fact == row].tolist() for row in range(3)] == expected


def test_subjects_are_asked_through_the_inverse_predicate(by_hand):
    model, facts, _ = by_hand
    queries = ask(facts, model.sizes, Protocol())
    assert queries.s.tolist() == [0, 0, 0, 2, 1, 3]
    assert queries.p.tolist() == [0, 0, 0, 1, 1, 1]
    assert queries.o.tolist() == [2, 1, 3, 0, 0, 0]
    assert_array_equal(queries.t[:3], queries.t[3:])


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), -float("inf")])
@pytest.mark.parametrize("where", [1, 3])  # the answer itself, a rival
def test_scores_that_are_not_finite_are_an_error(by_hand, bad, where):
    model, facts, known = by_hand
    model.X[0, 0, where, 0] = bad
    protocol = Protocol(times="all")
    with pytest.raises(NonFiniteScores, match=r"tensor gave scores that are not finite; lower training\.learning_rate"):
        rank_objects(model, ask(facts, model.sizes, protocol), known, protocol)


def test_large_scores_are_not_mistaken_for_infinite_ones(by_hand):
    model, facts, known = by_hand
    model.X[0, 0, :, 0] = 3e38  # the sum is infinite
    protocol = Protocol(directions="objects")
    ranks = rank_objects(model, ask(facts[:1], model.sizes, protocol), known, protocol)
    assert ranks.rank().tolist() == [1.5]


def test_entities_that_training_never_saw_are_marked(by_hand):
    model, facts, known = by_hand
    queries, seen = ask(facts, model.sizes, Protocol()), np.array([True, True, False, True])
    ranks = rank_objects(model, queries, known, Protocol(), seen=seen)
    assert ranks.unseen.tolist() == [True, False, False] * 2


def test_progress_ends_with_all_queries(by_hand, monkeypatch):
    monkeypatch.setattr(ranking, "BATCH", 2)
    model, facts, known = by_hand
    calls = []
    queries = ask(facts, model.sizes, Protocol())
    rank_objects(model, queries, known, Protocol(), progress=lambda done, total: calls.append((done, total)))
    assert calls == [(2, 6), (4, 6), (6, 6)]


@pytest.mark.parametrize(
    ("choice", "message"),
    [
        ({"filter": "none"}, "filter is 'none'; expected time, static, raw"),
        ({"ties": "mean"}, "ties is 'mean'; expected half, pessimistic, optimistic"),
        ({"directions": "subjects"}, "directions is 'subjects'; expected both, objects"),
        ({"times": 0}, "times is 0; expected sample, all or a positive number"),
        ({"times": "some"}, "times is 'some'; expected sample, all or a positive number"),
    ],
)
def test_a_protocol_that_does_not_exist_is_named(choice, message):
    with pytest.raises(BadRequest, match=message):
        Protocol(**choice)
