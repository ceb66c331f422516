"""A head learns planted dates, is no evidence for itself, and comes back from its files."""

import numpy as np
import pytest
import torch

from knowwhen.dating import Asked, TimeHead, believed, learn_times
from knowwhen.dating.head import NUMBERS, TENSORS
from knowwhen.errors import DamagedFile
from knowwhen.evaluation.evaluate import evaluate_times
from knowwhen.facts.table import OPEN, Facts
from knowwhen.models import Sizes, Specification, build
from tests.dating.conftest import T, dataset_of, random_facts

OFFICES, MARRIED, OFFICE = 60, 0, 1


@pytest.fixture(scope="module")
def planted():
    """People who marry, and take an office two timestamps later, for three; the wedding dates the office."""
    rng = np.random.default_rng(0)
    wedding = rng.integers(0, T - 5, OFFICES)
    person, partner, office = (
        np.arange(OFFICES),
        OFFICES + np.arange(OFFICES),
        2 * OFFICES + rng.integers(0, 5, OFFICES),
    )
    weddings = Facts(person, np.full(OFFICES, MARRIED), partner, wedding, wedding)
    terms = Facts(person, np.full(OFFICES, OFFICE), office, wedding + 2, wedding + 4)
    train = Facts.concatenate(weddings, terms[:40])
    return dataset_of(train, terms[40:50], terms[50:], entities=2 * OFFICES + 5)


@pytest.fixture(scope="module")
def head(planted):
    return learn_times(planted)


def spans(head, facts, **given):
    return [
        (int(b), int(e))
        for belief in head.believe(Asked.of(facts), None, **given)
        for b, e in zip(*(column[:, 0] for column in belief.spans(1)[:2]), strict=True)
    ]


def test_planted_terms_are_found(planted, head):
    test = planted.test
    assert spans(head, test) == list(zip(test.begin.tolist(), test.end.tolist(), strict=True))


def test_a_given_end_or_begin_is_kept(planted, head):
    test = planted.test
    later = test.end + 1
    assert [e for _, e in spans(head, test, end=later)] == later.tolist()
    assert [b for b, _ in spans(head, test, begin=test.begin + 1)] == (test.begin + 1).tolist()


def test_beliefs_are_distributions(planted, head):
    (belief,) = head.believe(Asked.of(planted.test))
    np.testing.assert_allclose(belief.begins.sum(1), 1)
    np.testing.assert_allclose(belief.ends.sum(1), belief.closed, rtol=1e-6)
    np.testing.assert_allclose(belief.weight.sum(1), 1)
    assert (belief.end >= belief.begin).all() and (belief.holds >= 0).all() and (belief.holds <= 1).all()
    inside = belief.holds[np.arange(len(belief)), planted.test.begin]
    assert (inside > 0.9).all()


def test_holding_is_the_sum_over_spans(planted, head):
    (belief,) = head.believe(Asked.of(planted.test))
    t = np.arange(T)
    covers = (belief.begin[..., None] <= t) & (t <= belief.end[..., None])  # (n, m, T)
    closed = (belief.weight[..., None] * covers).sum(1) * (belief.mass * belief.closed)[:, None]
    assert (closed <= belief.holds + 1e-6).all()  # the rest have no end, or are less probable


def test_begins_that_were_not_followed_up_are_not_forgotten(planted, monkeypatch):
    """With ends scored for one begin only, its spans are no more probable than that begin."""
    untaught = learn_times(planted, epochs=1)
    monkeypatch.setattr("knowwhen.dating.head.BEGINS", 1)
    (belief,) = untaught.believe(Asked.of(planted.test[:3]))
    np.testing.assert_allclose(belief.covered, belief.begins.max(1))
    assert (belief.spans(5)[2].sum(1) <= belief.begins.max(1) + 1e-6).all() and (belief.covered < 1).all()


def test_a_fact_is_no_evidence_for_itself(planted, head):
    """Its scores are those of a world in which it has other dates."""
    row = len(planted.train) - 1
    begin, end = (column.copy() for column in (planted.train.begin, planted.train.end))
    begin[row], end[row] = 0, 11
    other = dataset_of(Facts(*planted.train.rows().T[:3].copy(), begin, end), entities=2 * OFFICES + 5)
    asked = Asked.of(planted.train[row : row + 1], np.array([row]))
    scores = [h.begin_logs(asked, h.facing(asked), None) for h in (head, head.recall(other))]
    torch.testing.assert_close(*scores)


def test_shuffled_dates_teach_nothing(planted):
    """With dates at random, what is believed of test is no better than the frequency of dates."""
    rng = np.random.default_rng(1)

    def shuffled(facts):
        begin = rng.permutation(T - 5)[rng.integers(0, T - 5, len(facts))]
        return Facts(facts.subject, facts.predicate, facts.object, begin, begin)

    data = dataset_of(*(shuffled(part) for part in (planted.train, planted.valid, planted.test)), entities=125)
    found = learn_times(data)
    logs = torch.cat([found.begin_logs(Asked.of(data.test), found.facing(Asked.of(data.test)), None)])
    loss = -logs[torch.arange(len(data.test)), torch.from_numpy(data.test.begin.copy())].mean()
    assert loss > 0.9 * np.log(T - 5)


def test_saved_and_loaded_it_says_the_same(planted, head, tmp_path):
    head.save(tmp_path)
    again = TimeHead.load(tmp_path).recall(planted)
    asked = Asked.of(planted.test)
    one, other = (h.begin_logs(asked, h.facing(asked), None) for h in (head, again))
    assert torch.equal(one, other) and again.fitted == head.fitted
    assert TimeHead.load(tmp_path / "nothing") is None


@pytest.mark.parametrize("file", [NUMBERS, TENSORS])
def test_damaged_files_are_named(head, tmp_path, file):
    head.save(tmp_path)
    (tmp_path / file).write_bytes(b"{")
    with pytest.raises(DamagedFile, match=r"times.json.*train again"):
        TimeHead.load(tmp_path)


def test_the_same_seed_gives_the_same_head(planted, head):
    again = learn_times(planted)
    assert all(torch.equal(a, b) for a, b in zip(head.begins.parameters(), again.begins.parameters(), strict=True))


def test_events_alone_need_no_ends(planted):
    events = planted.train[planted.train.is_event]
    found = learn_times(dataset_of(events, entities=125))
    assert found.ends is None
    assert all(b == e for b, e in spans(found, events[:5]))


def test_no_dates_no_head():
    facts = random_facts(0)
    static = Facts(facts.subject, facts.predicate, facts.object, *(np.full(len(facts), OPEN) for _ in range(2)))
    assert learn_times(dataset_of(static)) is None


def test_measured_by_hand(planted, head):
    """All ten test facts are found exactly: every fit is 1, every error 0."""
    model = build(Specification("tntcomplex", Sizes.of(planted), {"rank": 2})).initialise(torch.Generator())
    found = evaluate_times(model, planted, head=believed(head, None))
    assert found.model.closed.best_of["aeIOU@1"] == found.model.closed.best_of["TAC@1"] == 1
    assert found.model.begins.mean_error == found.model.ends.mean_error == 0
    assert found.model.begins.count == 10 and "greedy" in found.baselines
    assert found.to_dict()["model"]["begins"]["coverage"] == 1
