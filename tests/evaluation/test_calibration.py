"""Calibration: by hand where it has a definition, planted where it must be found again."""

import json

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose

from knowwhen.errors import BadRequest, DamagedFile, NonFiniteScores
from knowwhen.evaluation import Calibration, calibrate, calibration_report
from knowwhen.evaluation.bins import reliability
from knowwhen.evaluation.calibration import Fit, draw_questions, fit_temperature, temperature_of


def test_reliability_by_hand():
    # Two bins of ten: three answers at about 0.15, one of them right; two at 0.9 and 1.0, both right.
    confidence, right = np.array([0.12, 0.15, 0.18, 0.92, 1.0]), np.array([True, False, False, True, True])
    found = reliability(confidence, right, bins=10)
    assert [one.count for one in found.bins] == [3, 2]
    assert [one.confidence for one in found.bins] == pytest.approx([0.15, 0.96])
    assert [one.accuracy for one in found.bins] == pytest.approx([1 / 3, 1])
    assert found.expected_calibration_error == pytest.approx((3 * abs(1 / 3 - 0.15) + 2 * 0.04) / 5)


def moments_of(scores, target):
    """Loss and derivatives by 1 / T, in float64 and without what is left out."""

    def moments(inverse):
        probability = torch.softmax(inverse * scores, -1)
        mean = (probability * scores).sum(-1)
        variance = (probability * scores**2).sum(-1) - mean**2
        chosen = scores[torch.arange(len(scores)), target]
        loss = torch.logsumexp(inverse * scores, -1) - inverse * chosen
        return tuple(float(x.mean()) for x in (loss, mean - chosen, variance))

    return moments


@pytest.mark.parametrize("temperature", [0.05, 0.4, 1.0, 3.0, 20.0])
def test_a_planted_temperature_is_found(temperature):
    generator = torch.Generator().manual_seed(0)
    scores = 2 * torch.randn(20_000, 6, generator=generator, dtype=torch.float64)
    target = torch.multinomial(torch.softmax(scores, -1), 1, generator=generator)[:, 0]
    fit = fit_temperature(moments_of(scores * temperature, target), 20_000)
    assert fit.temperature == pytest.approx(temperature, rel=0.05)
    assert fit.loss_after <= fit.loss_before
    best = min(moments_of(scores * temperature, target)(1 / t)[0] for t in temperature * np.linspace(0.9, 1.1, 41))
    assert fit.loss_after <= best + 1e-6


@pytest.mark.parametrize(("right", "limit"), [(True, 1e-3), (False, 1e3)])
def test_scores_that_are_always_right_or_always_wrong_stop_at_a_limit(right, limit):
    scores = torch.eye(3, dtype=torch.float64)
    target = torch.arange(3) if right else (torch.arange(3) + 1) % 3
    fit = fit_temperature(moments_of(scores, target), 3, passes=200)
    assert fit.temperature == pytest.approx(limit, rel=0.1) or fit.loss_after < 1e-3
    assert fit.loss_after <= fit.loss_before


@pytest.mark.parametrize("slot", ["object", "subject", "predicate", "time"])
def test_moments_are_the_loss_and_its_derivatives(world, slot):
    questions = draw_questions(world.model(), world.dataset(), "valid", slot, 100)
    for inverse in (0.3, 1.0, 2.0):
        loss, slope, curvature = questions.moments(inverse)
        step = 1e-4
        before, after = (questions.moments(inverse + x)[0] for x in (-step, step))
        assert slope == pytest.approx((after - before) / (2 * step), rel=1e-3, abs=1e-6)
        assert curvature == pytest.approx((after - 2 * loss + before) / step**2, rel=1e-2, abs=1e-4)


def test_other_right_answers_are_no_rivals(world):
    model = world.model()
    facts = world.dataset(valid=[(0, 1, 2, 5, 5)])  # Ada leads Cy in 2006, when she leads Bob as well
    (scores, target), *rest = draw_questions(model, facts, "valid", "object", 10).batches()
    assert rest == []
    assert target.tolist() == [2]
    assert np.flatnonzero(np.isneginf(scores[0].numpy())).tolist() == [1]
    facts = world.dataset(valid=[(0, 1, 1, 0, 2)])  # Ada leads Bob from 2000 to 2002, and again in 2006
    ((scores, target),) = draw_questions(model, facts, "valid", "time", 10).batches()
    assert int(target) in (0, 1, 2)
    assert np.flatnonzero(np.isneginf(scores[0].numpy())).tolist() == [5]
    facts = world.dataset(valid=[(0, 2, 1, 2, 3)], train=[(0, 1, 1, 0, 5), (0, 0, 1, 0, 1)])
    ((scores, target),) = draw_questions(model, facts, "valid", "predicate", 10).batches()
    assert target.tolist() == [2]
    assert np.flatnonzero(np.isneginf(scores[0].numpy())).tolist() == [1]


@pytest.mark.parametrize("seed", range(4))
def test_calibration_never_raises_the_loss_on_valid(world, seed):
    model, data = world.model(seed=seed), world.dataset()
    found = calibrate(model, data)
    assert set(found.fits) == {"object", "subject", "predicate", "time"}
    assert all(fit.loss_after <= fit.loss_before for fit in found.fits.values())
    report = calibration_report(model, data, "valid", found)
    for slot, fit in found.fits.items():
        measured = report.slots[slot]
        assert_allclose([measured.loss_before, measured.loss_after], [fit.loss_before, fit.loss_after], atol=1e-9)


def test_a_static_model_is_calibrated_but_for_times(world):
    assert set(calibrate(world.model("complex"), world.dataset()).fits) == {"object", "subject", "predicate"}


def test_without_valid_there_is_no_calibration(world):
    data = world.dataset(valid=[])
    assert calibrate(world.model(), data) is None
    assert temperature_of(None, "object") == 1
    with pytest.raises(BadRequest, match="small has no facts in valid"):
        calibration_report(world.model(), data, "valid", None)


def test_the_same_seed_gives_the_same_calibration(world):
    assert calibrate(world.model(), world.dataset()) == calibrate(world.model(), world.dataset())


def test_scores_that_are_no_numbers_are_said(world):
    model = world.model()
    model.decomposition.u.weight.data[2] = torch.nan
    with pytest.raises(NonFiniteScores, match="tntcomplex gave scores that are not finite"):
        calibrate(model, world.dataset())


def test_a_calibration_is_saved_and_loaded(tmp_path):
    calibration = Calibration({"object": Fit(0.5, 2.0, 1.0, 10)}, 0.6)
    assert Calibration.load(tmp_path) is None
    calibration.save(tmp_path)
    assert Calibration.load(tmp_path) == calibration
    (tmp_path / "calibration.json").write_text("{}")
    with pytest.raises(DamagedFile, match=r"cannot read .*calibration.json: .*; delete it to ask without"):
        Calibration.load(tmp_path)


def test_the_report_reads_and_converts(world):
    data, model = world.dataset(), world.model()
    report = calibration_report(model, data, "test", None)
    assert "the model is not calibrated; ECE in 15 bins on test" in str(report)
    values = json.loads(json.dumps(report.to_dict()))
    assert values["slots"]["object"]["before"] == values["slots"]["object"]["after"]
    assert "temperatures fitted on valid" in str(calibration_report(model, data, "test", calibrate(model, data)))


def test_too_much_and_too_little_confidence_do_not_cancel():
    found = reliability(np.array([0.2, 0.8]), np.array([True, False]))
    assert found.expected_calibration_error == pytest.approx(0.8)


def test_the_rest_of_a_span_is_a_rival_also_where_spans_overlap(world):
    facts = world.dataset(train=[(0, 1, 1, 1, 4)], valid=[(0, 1, 1, 0, 2)])
    ((scores, target),) = draw_questions(world.model(), facts, "valid", "time", 10).batches()
    assert int(target) in (0, 1, 2)
    assert np.flatnonzero(np.isneginf(scores[0].numpy())).tolist() == [3, 4]


def test_a_fit_that_is_worse_is_not_taken():
    fit = fit_temperature(lambda inverse: (1.0 if inverse == 1 else 2.0, 0.5, 1.0), 1)
    assert (fit.temperature, fit.loss_after) == (1.0, 1.0)
