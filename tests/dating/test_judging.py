"""The judge: its inputs against loops, its network on planted truth, its scales by hand, its files."""

import json
from dataclasses import replace

import numpy as np
import pytest
import torch

from knowwhen.dating.holding import area_under_roc, learn_holding, measure_holding, new_facts_hold
from knowwhen.dating.judging import FILE, Counted, Judge, judge_inputs, learn_judge, link_probability, scale_of
from knowwhen.dating.learning import learn_times
from knowwhen.dating.moments import Moments
from knowwhen.errors import DamagedFile
from knowwhen.facts.table import Facts
from knowwhen.models import Sizes, Specification, build
from tests.dating.conftest import E, P, T, dataset_of, random_facts


def random_moments(seed: int, n: int = 30) -> Moments:
    rng = np.random.default_rng(seed)
    return Moments(*(rng.integers(0, size, n) for size in (E, P, E, T)))


def naive_counts(facts: Facts, at: np.ndarray, s: int, p: int, o: int, t: int) -> list[float]:
    rows = facts.rows().tolist()
    spans = [(b if b != -1 else 0, e if e != -1 else T - 1) for x, q, y, b, e in rows if (x, q, y) == (s, p, o)]
    dated = [
        span
        for span, row in zip(spans, [r for r in rows if tuple(r[:3]) == (s, p, o)], strict=True)
        if row[3:] != [-1, -1]
    ]
    gaps = [max(0, at[b] - at[t], at[t] - at[e]) for b, e in dated]

    def holds(row):
        return row[3] <= t and (row[4] == -1 or t <= row[4])

    def others(rows, own):
        return sum(map(holds, rows)) - sum(holds(row) for row in rows if own(row))

    mine, theirs = [r for r in rows if r[:2] == [s, p]], [r for r in rows if r[1:3] == [p, o]]
    counts = [
        others(mine, lambda r: r[2] == o),
        others(theirs, lambda r: r[0] == s),
        len(mine),
        len(theirs),
        len(spans),
        sum(r[0] == s and r[2] == o for r in rows),
    ]
    return [float(bool(gaps)), np.log1p(min(gaps)) if gaps else 0.0, *(np.log1p(n) for n in counts)]


@pytest.mark.parametrize("seed", range(5))
def test_counts_are_those_of_a_loop(seed):
    data, moments = dataset_of(random_facts(seed)), random_moments(seed)
    found = Counted(data.train, P, data.timeline).of(moments)
    for row, moment in zip(found, zip(*vars(moments).values(), strict=True), strict=True):
        np.testing.assert_allclose(row, naive_counts(data.train, data.timeline.positions, *map(int, moment)))


def test_inputs_are_softmax_lead_and_curve():
    data, moments = dataset_of(random_facts(0)), random_moments(1, 8)
    model = build(Specification("tntcomplex", Sizes.of(data), {"rank": 3})).initialise(torch.Generator()).eval()
    along = np.random.default_rng(0).random((8, T))
    found = judge_inputs(model, Counted(data.train, P, data.timeline), moments, along)
    for i, (s, p, o, t) in enumerate(zip(*(torch.from_numpy(c) for c in vars(moments).values()), strict=True)):
        for place, (a, q, target) in enumerate(((s, p, o), (o, p + P, s))):
            with torch.no_grad():
                scores = model.score(a, q, torch.arange(E), t)
            rivals = [float(x) for j, x in enumerate(scores) if j != target]
            np.testing.assert_allclose(found[i, 2 * place], float(scores.log_softmax(0)[target]), atol=1e-5)
            np.testing.assert_allclose(found[i, 2 * place + 1], float(scores[target]) - max(rivals), atol=1e-5)
        curve = along[i] + 1e-4
        np.testing.assert_allclose(found[i, 4:6], [np.log(curve[t]), np.log(curve[t] / curve.max())], rtol=1e-6)
    np.testing.assert_allclose(link_probability(model, moments), np.exp(found[:, 0]))


def test_a_planted_rule_is_learned_and_probabilities_are_its_shares():
    """True with probability sigmoid(2x) of the first input; the second is noise."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(3000, 2))
    share = 1 / (1 + np.exp(-2 * x[:, 0]))
    truth, p = rng.random(3000) < share, rng.integers(0, P, 3000)
    judge = learn_judge(x, p, truth, np.arange(3000), {}, predicates=P)
    assert abs(judge.new(x, p) - share).mean() < 0.05


def test_scales_find_what_was_planted():
    rng = np.random.default_rng(0)
    logits = rng.normal(0, 2, 20_000)
    truth = rng.random(20_000) < 1 / (1 + np.exp(-(0.5 * logits + 1)))
    assert scale_of(logits, truth) == pytest.approx((0.5, 1), abs=0.06)
    assert scale_of(logits, np.ones(20_000, np.bool_)) == (1, 0)
    assert scale_of(-logits, truth) == (1, 0)  # upside down: not believed at all


def test_area_under_roc_by_hand():
    found = area_under_roc(np.array([0.9, 0.4, 0.4, 0.1]), np.array([True, True, False, False]))
    assert found == (1 + 1 + 0.5 + 1) / 4


@pytest.fixture(scope="module")
def learned():
    """Every entity holds its own office for ever; who it is with is in train, so that only the true are likely."""
    facts = random_facts(5, 400)
    data = dataset_of(facts[:300], facts[300:360], facts[360:])
    model = build(Specification("tntcomplex", Sizes.of(data), {"rank": 3})).initialise(torch.Generator()).eval()
    return data, model, learn_holding(learn_times(data, model), model, data)


def test_a_judge_is_measured_on_a_split(learned):
    data, model, head = learned
    found = measure_holding(head, model, data, "test")
    assert 0 <= found.auc <= 1 and 0 <= found.brier <= 1 and found.count > 100
    assert found.to_dict()["ece"] == found.reliability.expected_calibration_error
    assert measure_holding(head, model, data, "train") is None  # known facts are not judged


def test_shuffled_truth_teaches_the_base_rate(learned):
    """Random facts of a random world: the judge must not find what is not there."""
    data, model, head = learned
    found = measure_holding(head, model, data, "test")
    assert found.reliability.expected_calibration_error < 0.12


def test_one_by_one_is_the_same_as_together(learned):
    _, model, head = learned
    moments = random_moments(2, 6)
    together = new_facts_hold(head, model, moments)
    apart = np.concatenate([new_facts_hold(head, model, moments[i : i + 1]) for i in range(6)])
    np.testing.assert_allclose(together, apart, rtol=1e-4)


def test_too_few_facts_make_no_judge(learned):
    data, model, head = learned
    bare = replace(head, judge=None)
    assert learn_holding(bare, model, dataset_of(data.train, data.valid[:10])).judge is None


def test_saved_and_loaded_it_judges_the_same(learned, tmp_path):
    _, _, head = learned
    head.judge.save(tmp_path)
    again, x, p = Judge.load(tmp_path), np.random.default_rng(0).normal(size=(4, 14)), np.arange(4) % P
    np.testing.assert_array_equal(again.new(x, p), head.judge.new(x, p))
    np.testing.assert_array_equal(again.half("open", np.array([0.2])), head.judge.half("open", np.array([0.2])))
    assert Judge.load(tmp_path / "nothing") is None


@pytest.mark.parametrize("damage", ["{", "[]", "no scales", "wrong shape"])
def test_a_damaged_judge_is_named(learned, tmp_path, damage):
    _, _, head = learned
    head.judge.save(tmp_path)
    values = json.loads((tmp_path / FILE).read_text())
    if damage == "no scales":
        damage = json.dumps({**values, "scales": {}})
    elif damage == "wrong shape":
        damage = json.dumps({**values, "mean": values["mean"][:3]})
    (tmp_path / FILE).write_text(damage)
    with pytest.raises(DamagedFile, match=r"holds.json.*train again"):
        Judge.load(tmp_path)
